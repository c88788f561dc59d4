"""Sessions are stored once and unchanged, next to those of other programs."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from test_session import play_on

from german_whist import Match, load_rules
from german_whist.table.game.database import FILE, new_id
from german_whist.table.game.session import Session, SessionSettings
from german_whist.table.game.statistics import as_csv, as_records, compute_statistics
from german_whist.table.game.store import RevisionConflict, Store
from german_whist.table.rating import Rating, strengths
from german_whist.table.terminal.play import SessionSaver, find_session
from german_whist.table.text.words import rating_change

QUICK = load_rules("quick")


def finished(seed: int, **settings: Any) -> Session:
    session = Session(
        SessionSettings(**{"rules": QUICK, "opponent": "threshold", **settings}, seed=seed)
    )
    play_on(session, random.Random(seed))
    return session


def test_a_session_is_stored_and_loaded(store: Store) -> None:
    session = Session(SessionSettings(QUICK, "threshold", match=Match(best_of=3), seed=1))
    name, revision = new_id(), 0
    while not session.over:
        play_on(session, random.Random(1), 3)
        extra = {"n": revision}
        revision = store.save(name, session, revision=revision, extra=extra)
        stored = Store(store.path.parent).load(name)
        assert stored is not None
        assert stored.state == session.state()
        assert (stored.over, stored.revision, stored.extra) == (session.over, revision, extra)
    assert len(store.hands.latest()) == len(session.records) > 1
    assert [stored.id for stored in store.sessions()] == [name]
    store.forget(name)
    assert store.load(name) is None
    assert len(store.hands.latest()) == len(session.records)


def test_terminal_resumes_no_hand_that_is_played_from_memory(store: Store) -> None:
    for memory, found in ((True, False), (False, True)):
        settings = SessionSettings(QUICK, "easy", seed=3, memory=memory)
        store.save(new_id(), Session(settings))
        assert (find_session(store, settings, ()) is not None) == found


def test_hands_and_matches_saved_often_count_once(store: Store) -> None:
    session = finished(3, match=Match(best_of=3))
    name, revision = new_id(), 0
    for _ in range(3):
        revision = store.save(name, session, revision=revision)
        again = Session.from_state(session.state())
        revision = store.save(name, again, revision=revision)
    total = compute_statistics(store).total
    assert (total["hands"], total["matches"]) == (len(session.results), 1)


def test_statistics_add_up(store: Store) -> None:
    sessions = [finished(seed) for seed in range(12)]
    for session in sessions:
        store.save(new_id(), session)
    store.save(new_id(), finished(50, player="easy"))
    (row,) = compute_statistics(store).rows
    results = [session.results[0] for session in sessions]
    margins = [result.tricks[0] - result.tricks[1] for result in results]
    payoffs = [result.payoffs[0] for result in results]
    assert (row.opponent, row.rules, row.hands) == ("Threshold", "quick", 12)
    assert (row.won, row.drawn, row.lost) == tuple(map(payoffs.count, (1, 0, -1)))
    assert row.margin == pytest.approx(sum(margins) / 12, abs=0.01)
    assert row.best == max(margins)
    assert len(as_csv(store).splitlines()) == 13
    assert len(as_records(store).splitlines()) == 13


def test_margin_of_low_hands_favors_fewer_tricks(store: Store) -> None:
    for seed in range(6):
        store.save(new_id(), finished(seed, rules=load_rules("colour")))
        hand = store.hands.latest()[0]
        assert (hand.margin > 0) == (hand.pay > 0)
        assert abs(hand.margin) == abs(hand.tricks - hand.tricks_other)


def test_no_program_overwrites_what_another_has_saved(store: Store) -> None:
    session, name = Session(SessionSettings(QUICK, "easy", seed=1)), new_id()
    revision = store.save(name, session)
    play_on(session, random.Random(0), 2)
    Store(store.path.parent).save(name, session, revision=revision)
    for stale in (revision, 0):
        with pytest.raises(RevisionConflict):
            store.save(name, Session(SessionSettings(QUICK, "easy", seed=1)), revision=stale)
    stored = store.load(name)
    assert stored is not None
    assert stored.state == session.state()


@pytest.mark.parametrize("damage", ["text", "torn", "middle"])
def test_a_damaged_file_is_moved_aside_with_a_sentence(damage: str, tmp_path) -> None:
    store = Store(tmp_path)
    store.save(new_id(), finished(1))
    store.close()
    path = tmp_path / FILE
    content = path.read_bytes()
    middle = content[:4096] + b"\xff" * 8192 + content[4096 + 8192 :]
    damaged = {"text": b"no database" * 100, "torn": content[:6000], "middle": middle}
    path.write_bytes(damaged[damage])
    store = Store(tmp_path)
    assert store.notice is not None
    assert "is damaged" in store.notice
    assert len(list(tmp_path.glob(f"{FILE}.damaged-*"))) == 1
    store.save(new_id(), finished(2))
    store.close()
    assert Store(tmp_path).notice is None


@pytest.mark.parametrize("version", [1, 99])
def test_a_file_of_another_version_is_left_alone(version: int, tmp_path) -> None:
    Store(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute(f"PRAGMA user_version={version}")
    with pytest.raises(ValueError, match=f"layout {version}"):
        Store(tmp_path)


def test_play_without_writable_folder_stays_in_memory(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="--data"):
        Store(tmp_path / "file" / "folder")
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(tmp_path / "file"))
    store = Store()
    assert store.notice == (
        f"{tmp_path / 'file' / FILE} cannot be opened (File exists), so what you play is not "
        "kept: name another folder with --data or GERMAN_WHIST_DATA"
    )
    assert not store.persistent
    store.save(new_id(), finished(1))
    assert len(store.hands.latest()) == 1
    assert Store(tmp_path).persistent


@pytest.mark.skipif(os.name != "posix", reason="Windows has other permissions")
@pytest.mark.parametrize("before", ["", "closed", "open to all"])
def test_database_files_are_readable_by_their_user_alone(before: str, tmp_path) -> None:
    if before:
        Store(tmp_path).close()
    if before == "open to all":
        (tmp_path / FILE).chmod(0o644)
    with closing(Store(tmp_path)) as store:
        store.save(new_id(), Session(SessionSettings(QUICK, "easy", seed=1)))
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys([FILE, f"{FILE}-wal", f"{FILE}-shm"], "0o600")


def test_a_full_disk_leaves_saved_sessions_intact(store: Store) -> None:
    saver, session = SessionSaver(store), finished(1)
    saver.save(session)
    assert saver.trouble is None
    (pages,) = store.rows("PRAGMA page_count")
    store.rows(f"PRAGMA max_page_count={pages[0]}")
    for seed in range(2, 12):
        other_saver, other = SessionSaver(store), finished(seed)
        other_saver.save(other)
    assert other_saver.trouble == f"{store.path} cannot be written (database or disk is full)"
    store.rows("PRAGMA max_page_count=1000000")
    other_saver.save(other)
    assert other_saver.trouble is None
    stored = store.load(saver.name)
    assert stored is not None
    assert stored.state == session.state()


# -- ratings


def old_database(folder: Path, hands: list[tuple[str, float, int]]) -> None:
    """A file of layout 5, with hands of several rule sets in one rating, and five lessons."""
    with closing(Store(folder)) as store, store.transaction() as connection:
        rating = Rating()
        for rules, finished, pay in hands:
            row = (f"s{finished}", 1, finished, rules, "medium", "human", 7, 6, pay, 1, "", 0)
            connection.execute(f"INSERT INTO hands VALUES ({', '.join('?' * 12)})", row)
            rating = rating.after([(Rating(*strengths()["medium"]), (1 + pay) / 2)])
            connection.execute("INSERT INTO ratings VALUES ('play', ?, ?, ?)", (finished, *rating))
        connection.execute("INSERT INTO ratings VALUES ('memory', 9.5, 900, 200)")
        connection.execute("INSERT INTO ratings VALUES ('puzzles', 9.0, 1100, 90)")
        for lesson in (2, 3, 4, 5):
            state = json.dumps({"settings": {"lesson": lesson}})
            values = (f"lesson {lesson}", 1, 0.0, 1, "{}", state, "{}")
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        connection.execute("PRAGMA user_version=5")


def test_mixed_ratings_are_converted_to_classic_hands_alone(tmp_path) -> None:
    results = [("classic", 1.0, 1), ("no-trump", 2.0, -1), ("classic", 3.0, 1), ("draft", 4.0, -1)]
    old_database(tmp_path, results)
    for _ in range(2):  # what is converted stays as it is
        with closing(Store(tmp_path)) as store:
            expected, medium = Rating(), Rating(*strengths()["medium"])
            for finished in (1.0, 3.0):
                days = (2.0 if finished == 3.0 else 0.0) / 86400
                expected = expected.after([(medium, 1.0)], days)
            assert store.progress.rating("play") == pytest.approx(expected)
            assert store.progress.rating("puzzles").value == 1100
            kinds = dict(store.rows("SELECT kind, COUNT(*) FROM ratings GROUP BY kind"))
            assert kinds == {"all-rules": 4, "memory": 1, "play": 2, "puzzles": 1}
            assert len(store.hands.latest()) == 4
            assert store.progress.lessons().done == [2, 3]
            change = store.progress.rating_change("s3.0", 1)
            assert change is not None
            assert (change.hands, change.after) == (2, pytest.approx(expected.value))
            assert store.progress.rating_change("s2.0", 1) is None


def test_rating_is_provisional_for_ten_hands() -> None:
    assert rating_change(1000, 1012.4, 9) == (
        "Your rating: about 1012, provisional after 9 hands of 10"
    )
    assert rating_change(1000, 1012.4, 10) == "Your rating: 1012 (+12)"
