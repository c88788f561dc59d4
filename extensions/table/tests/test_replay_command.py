"""`german-whist replay` prints a hand, values it, writes it as a page, and says what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from german_whist import Game
from german_whist.engine.records import write_records
from german_whist.table.review.replay import make_replay
from support import random_hand

SYMBOL = re.compile(r"(?:10|[2-9JQKA])[♣♦♥♠]")


@pytest.fixture
def path(tmp_path) -> Path:
    records = [
        random_hand("classic", 1, players=["ann", "bob"]),
        random_hand("draft", 2),
        random_hand("race-7", 3),
    ]
    write_records(tmp_path / "hands.jsonl", records)
    return tmp_path / "hands.jsonl"


def test_it_lists_the_hands(path: Path, whist) -> None:
    lines = whist("replay", path, "--list").out.splitlines()
    names = ["classic:", "draft:", "race-7:"]
    assert [line.split()[:2] for line in lines] == [[str(k + 1), names[k]] for k in range(3)]
    assert "ann and bob" in lines[0]


def test_many_broken_lines_are_counted_after_the_first(path: Path, whist) -> None:
    good = path.read_bytes()
    path.write_bytes(good + b"\xff\n" * 2000)
    out, err = whist("replay", path, "--list")
    assert len(out.splitlines()) == 3
    assert len(err.splitlines()) == 6
    assert err.endswith(f"{path}: 1,995 more are left out\n")
    path.write_bytes(b"\xff\n" * 2000)
    assert whist("replay", path, status=2).err.endswith("`evaluate --records` or the table wrote\n")


def test_it_prints_every_card_of_a_hand(path: Path, whist) -> None:
    for number, rules in enumerate(("classic", "draft", "race-7"), 1):
        out = whist("replay", path, "--hand", number).out
        assert out.startswith(f"hand {number} of 3\n{rules}: ")
        tricks = [line for line in out.splitlines() if re.match(r" {1,3}\d+  ", line)]
        replay = make_replay(random_hand(rules, number, players=["ann", "bob"]))
        assert len(tricks) == replay.steps[-1].trick
        if rules == "classic":
            assert {*SYMBOL.findall(out)} == {card.symbol for card in Game().rules.deck}


def test_decisions_are_valued_and_mistakes_listed(path: Path, whist) -> None:
    words = (path, "--analyze", "--search", "flat-mc:25,voids,playout=counting")
    out = whist("replay", *words).out
    assert len(re.findall(r"^ {7}(?:ann|bob) ", out, re.MULTILINE)) == 52
    assert "of the tricks left" in out
    assert "what ann could expect" in out
    assert out == whist("replay", *words).out
    one = whist("replay", *words, "--seat", 1).out
    assert len(re.findall(r"^ {7}bob ", one, re.MULTILINE)) == 26
    assert not re.search(r"^ {7}ann ", one, re.MULTILINE)
    assert "could expect" not in one  # which is what ann saw in her hand


def test_broken_lines_are_numbered_and_good_ones_stay(path: Path, whist) -> None:
    good = path.read_text(encoding="utf-8").splitlines()
    cheat = json.loads(good[1])
    cheat["result"]["pays"] = [0, 0]
    loud = {**json.loads(good[2]), "rules": {"name": "\x1b[2J", "sutis": 4}}
    good[0] = random_hand("classic", 1, players=["\x1b[31mred\x07", "a\r\nb"]).to_line()
    lines = [good[0], "{", json.dumps(cheat), "", json.dumps(loud), good[2]]
    path.write_text("\n".join(lines), encoding="utf-8")
    out, err = whist("replay", path, "--list")
    assert len(out.splitlines()) == 2
    left_out = re.findall(r"line (\d+) is left out: (.*)", err)
    assert [number for number, _ in left_out] == ["2", "3", "5"]
    assert "not a line of JSON" in left_out[0][1]
    assert "the result is recorded as" in left_out[1][1]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out + err + whist("replay", path).out)
