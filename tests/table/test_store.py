"""What people play is kept: the same again, once, and beside others."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from msgspec import to_builtins
from test_session import play_on

from german_whist import Match, load_rules
from german_whist.table.game.database import FILE, StoreError, new_id
from german_whist.table.game.session import Session, Settings
from german_whist.table.game.statistics import as_csv, as_records, compute_statistics
from german_whist.table.game.store import RevisionConflict, Store
from german_whist.table.terminal.play import SessionSaver

QUICK = load_rules("quick")


def finished(seed: int, **settings: object) -> Session:
    session = Session(Settings(QUICK, "threshold", seed=seed, **settings))
    play_on(session, random.Random(seed))
    return session


def test_a_sitting_is_kept_and_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    session = Session(Settings(QUICK, "threshold", match=Match(best_of=3), seed=1))
    name, revision = new_id(), 0
    while not session.over:
        play_on(session, random.Random(1), 3)
        revision = store.save(name, "me", session, revision=revision, extra={"n": revision})
        kept = Store(tmp_path).load(name)
        assert kept is not None
        assert kept.state == session.state()
        assert (kept.over, kept.revision, kept.extra) == (
            session.over,
            revision,
            {"n": revision - 1},
        )
    assert len(store.hands.by_person("me")) == len(session.records) > 1
    assert [kept.id for kept in store.sessions("me")] == [name]
    assert store.sessions("you") == []
    store.forget(name)
    assert store.load(name) is None
    assert len(store.hands.by_person("me")) == len(session.records)


def test_hands_and_matches_count_once_however_often_they_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    session = finished(3, match=Match(best_of=3))
    name, revision = new_id(), 0
    for _ in range(3):
        revision = store.save(name, "me", session, revision=revision)
        again = Session.from_state(session.state())
        revision = store.save(name, "me", again, revision=revision)
    total = to_builtins(compute_statistics(store, "me").total)
    assert (total["hands"], total["matches"]) == (len(session.results), 1)


def test_statistics_add_up(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sessions = [finished(seed) for seed in range(12)]
    for session in sessions:
        store.save(new_id(), "me", session)
    store.save(new_id(), "you", sessions[0])
    store.save(new_id(), "me", finished(50, player="easy"))
    (row,) = to_builtins(compute_statistics(store, "me").rows)
    margins = [each.results[0].tricks[0] - each.results[0].tricks[1] for each in sessions]
    pays = [each.results[0].pays[0] for each in sessions]
    assert (row["opponent"], row["rules"], row["hands"]) == ("threshold", "quick", 12)
    assert (row["won"], row["drawn"], row["lost"]) == tuple(map(pays.count, (1, 0, -1)))
    assert row["margin"] == pytest.approx(sum(margins) / 12, abs=0.01)
    assert row["best"] == max(margins)
    assert len(as_csv(store, "me").splitlines()) == 13
    assert len(as_records(store, "me").splitlines()) == 13


def test_fewer_tricks_are_a_better_margin_where_hands_are_played_low(tmp_path: Path) -> None:
    store = Store(tmp_path)
    colour = load_rules("colour")
    for seed in range(6):
        session = Session(Settings(colour, "threshold", seed=seed))
        play_on(session, random.Random(seed))
        store.save(new_id(), "me", session)
        hand = store.hands.by_person("me")[0]
        assert (hand.margin > 0) == (hand.pay > 0)
        assert abs(hand.margin) == abs(hand.tricks - hand.tricks_other)


def test_nobody_writes_over_what_was_played_elsewhere(tmp_path: Path) -> None:
    first, second = Store(tmp_path), Store(tmp_path)
    session, name = Session(Settings(QUICK, "easy", seed=1)), new_id()
    revision = first.save(name, "me", session)
    play_on(session, random.Random(0), 2)
    second.save(name, "me", session, revision=revision)
    for wrong in (revision, 0):
        with pytest.raises(RevisionConflict):
            first.save(name, "me", Session(Settings(QUICK, "easy", seed=1)), revision=wrong)
    kept = first.load(name)
    assert kept is not None
    assert kept.state == session.state()


def test_the_owner_stays_the_same_person(tmp_path: Path) -> None:
    owner = Store(tmp_path).owner()
    assert Store(tmp_path).owner() == owner
    assert len(owner) == 24


@pytest.mark.parametrize("damage", ["text", "torn", "middle"])
def test_a_damaged_file_is_moved_aside_with_a_sentence(damage: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(new_id(), "me", finished(1))
    store.close()
    path = tmp_path / FILE
    content = path.read_bytes()
    middle = content[:4096] + b"\xff" * 8192 + content[4096 + 8192 :]
    changed = {"text": b"no database" * 100, "torn": content[:6000], "middle": middle}
    path.write_bytes(changed[damage])
    store = Store(tmp_path)
    assert store.notice is not None
    assert "is damaged" in store.notice
    assert len(list(tmp_path.glob(f"{FILE}.damaged-*"))) == 1
    store.save(new_id(), "me", finished(2))
    store.close()
    assert Store(tmp_path).notice is None


@pytest.mark.parametrize("version", [1, 99])
def test_a_file_of_another_version_is_left_alone(version: int, tmp_path: Path) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    with pytest.raises(StoreError, match=f"layout {version}"):
        Store(tmp_path)


def test_a_folder_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--data"):
        Store(tmp_path / "file" / "folder")


def test_where_the_usual_folder_can_not_be_written_play_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(tmp_path / "file"))
    store = Store()
    assert store.notice == (
        f"{tmp_path / 'file' / FILE} cannot be opened (File exists), so what you play is not "
        "kept: name another folder with --data or GERMAN_WHIST_DATA"
    )
    assert not store.persistent
    store.save(new_id(), store.owner(), finished(1))
    assert len(store.hands.by_person(store.owner())) == 1
    assert Store(tmp_path).persistent


def test_a_disk_that_fills_leaves_what_was_kept_and_takes_more_when_there_is_room(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    keeper = SessionSaver(store)
    session = finished(1)
    keeper.save(session)
    assert keeper.trouble is None
    (pages,) = store.rows("PRAGMA page_count")
    store.rows(f"PRAGMA max_page_count={pages[0]}")
    many = [finished(seed) for seed in range(2, 12)]
    others = [SessionSaver(store) for _ in many]
    for other, each in zip(others, many, strict=True):
        other.save(each)
    assert others[-1].trouble == (f"{store.path} cannot be written (database or disk is full)")
    store.rows("PRAGMA max_page_count=1000000")
    others[-1].save(many[-1])
    assert others[-1].trouble is None
    kept = store.load(keeper.name)
    assert kept is not None
    assert kept.state == session.state()
