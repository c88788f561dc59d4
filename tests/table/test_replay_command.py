"""`german-whist replay` prints a hand, values it, writes it as a page, and says what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from german_whist import Game
from german_whist.cli import main
from german_whist.engine.records import write_records
from german_whist.table.review.replay import make_replay
from support import random_hand

SYMBOL = re.compile(r"(?:10|[2-9JQKA])[♣♦♥♠]")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    records = [
        random_hand("classic", 1, players=["ann", "bob"]),
        random_hand("draft", 2),
        random_hand("race-7", 3),
    ]
    write_records(tmp_path / "hands.jsonl", records)
    return tmp_path / "hands.jsonl"


def run(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> tuple[str, str]:
    """Output and errors of the command."""
    assert main(["replay", *map(str, words)]) == status
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_it_lists_the_hands(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, path, "--list")[0].splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["1", "classic:"],
        ["2", "draft:"],
        ["3", "race-7:"],
    ]
    assert "ann and bob" in lines[0]


def test_of_many_broken_lines_some_are_told_and_the_others_counted(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = path.read_bytes()
    path.write_bytes(good + b"\xff\n" * 2000)
    out, err = run(capsys, path, "--list")
    assert len(out.splitlines()) == 3
    assert len(err.splitlines()) == 6
    assert err.endswith(f"{path}: 1,995 more are left out\n")
    path.write_bytes(b"\xff\n" * 2000)
    assert run(capsys, path, status=2)[1].endswith("`evaluate --records` or the table wrote\n")


def test_it_prints_every_card_of_a_hand(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, rules in enumerate(("classic", "draft", "race-7"), 1):
        out = run(capsys, path, "--hand", number)[0]
        assert out.startswith(f"hand {number} of 3\n{rules}: ")
        tricks = [line for line in out.splitlines() if re.match(r" {1,3}\d+  ", line)]
        replay = make_replay(random_hand(rules, number, players=["ann", "bob"]))
        assert len(tricks) == replay.steps[-1].trick
        if rules == "classic":
            assert {*SYMBOL.findall(out)} == {card.symbol for card in Game().rules.deck}


def test_from_one_seat_nothing_is_told_that_it_did_not_see(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = random_hand("classic", 1)
    for seat in (0, 1):
        lines = run(capsys, path, "--seat", seat)[0].split("the stock is gone")[0].splitlines()
        game, actions = record.start(), list(record.actions)
        seen = {*game.view(seat).hand, *game.upcards}
        for line in lines:
            if re.match(r" {1,3}\d+  ", line):
                for _ in range(2):
                    game.play(actions.pop(0))
                view = game.view(seat)
                seen |= {
                    *view.hand,
                    *view.played_by_me,
                    *view.played_by_opponent,
                    *view.opponent_known,
                }
            assert {*SYMBOL.findall(line)} <= {card.symbol for card in seen}, line


def test_decisions_are_valued_and_mistakes_told(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (path, "--analyse", "--search", "flat-mc:25,voids,playout=counting")
    out = run(capsys, *words)[0]
    assert len(re.findall(r"^ {7}(?:ann|bob) ", out, re.MULTILINE)) == 52
    assert "of the tricks left" in out
    assert "what ann could expect" in out
    assert out == run(capsys, *words)[0]
    one = run(capsys, *words, "--seat", 1)[0]
    assert len(re.findall(r"^ {7}bob ", one, re.MULTILINE)) == 26
    assert not re.search(r"^ {7}ann ", one, re.MULTILINE)
    assert "could expect" not in one  # which is what ann saw in her hand


def test_broken_lines_are_told_with_numbers_and_the_others_stay(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = path.read_text(encoding="utf-8").splitlines()
    cheat = json.loads(good[1])
    cheat["result"]["pays"] = [0, 0]
    loud = {**json.loads(good[2]), "rules": {"name": "\x1b[2J", "sutis": 4}}
    lines = [good[0], "{", json.dumps(cheat), "", json.dumps(loud), good[2]]
    path.write_text("\n".join(lines), encoding="utf-8")
    out, err = run(capsys, path, "--list")
    assert len(out.splitlines()) == 2
    left_out = re.findall(r"line (\d+) is left out: (.*)", err)
    assert [number for number, _ in left_out] == ["2", "3", "5"]
    assert "not a line of JSON" in left_out[0][1]
    assert "the result is told as" in left_out[1][1]
    assert "\x1b" not in err


def test_what_can_not_be_done_is_told_in_sentences(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    for words, sentence in (
        ((tmp_path / "none.jsonl",), "cannot be read: No such file"),
        ((tmp_path,), "cannot be read: Is a directory"),
        ((empty,), "holds no hand"),
        ((path, "--hand", 4), "has hands 1 to 3"),
        ((path, "--hand", 0), "has hands 1 to 3"),
        ((path, "--list", "--analyse"), "only lists"),
        ((path, "--search", "random"), "not a search with a number of samples"),
        ((path, "--analyse", "--network", "threshold"), "not a network"),
    ):
        out, err = run(capsys, *words, status=2)
        assert out == ""
        assert sentence in err
        assert "Traceback" not in err


def test_names_from_a_file_do_not_reach_the_terminal_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "loud.jsonl"
    write_records(path, [random_hand("classic", 1, players=["\x1b[31mred\x07", "a\r\nb"])])
    for words in ((), ("--list",)):
        out, err = run(capsys, path, *words)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out + err)
