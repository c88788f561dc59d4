"""Game records can be read by people, replay to the same result, and are checked on reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from german_whist import Game, Match, Rules, cards_of, named_rules
from german_whist.engine.records import (
    GameRecord,
    RecordError,
    append_records,
    read_records,
    record_of,
    write_records,
)
from support import played_out

ODD = [
    Rules(name="own", suits=4, ranks=7, hand=5, stock=10, pay="margin"),
    Rules(name="two by six", suits=2, ranks=6, hand=3),
    Rules(stock=0, hand=26, trumps="none", pay="over_book", slam_pay=30),
    Rules(choice=True, faced="after-first", trumps="none"),
]


def played(rules: str | Rules = "classic", seed: int = 7, **how: Any) -> Game:
    return played_out(Game(rules, seed=seed, **how), seed)


def mapping_with(**changes: Any) -> dict[str, Any]:
    return record_of(played()).as_mapping() | changes


@pytest.mark.parametrize("rules", [*named_rules(), *ODD], ids=str)
def test_a_record_reads_back_and_replays_to_the_same_end(rules: str | Rules) -> None:
    for seed in range(5):
        game = played(rules, seed)
        record = record_of(game, {"players": ["Ann", "Bo♥"], "date": "2024-01-31"})
        line = record.to_line()
        assert "\n" not in line
        again = GameRecord.from_line(line)
        assert again == record
        replayed = again.replay()
        assert replayed.actions == game.actions
        assert replayed.array.tobytes() == game.array.tobytes()


def test_a_hand_of_a_match_keeps_the_score_before_it() -> None:
    game = played("margin", 3, match=Match(target=40))
    while not game.match_over:
        game.deal_next()
        played_out(game)
        record = GameRecord.from_line(record_of(game).to_line())
        replayed = record.replay()
        assert replayed.points == game.points
        assert replayed.hands_won == game.hands_won
        assert replayed.match_over == game.match_over
        assert replayed.view(0) == game.view(0)
        assert record_of(replayed) == record


def test_cards_that_no_seed_dealt_are_written_out() -> None:
    game = Game("small-all")
    order = [*game.rules.deck][::-1]
    game.deal_cards(order, dealer=1)
    mapping = record_of(played_out(game)).as_mapping()
    assert mapping["deal"].startswith("AS KS QS")
    assert "seed" not in mapping
    assert GameRecord.from_line(json.dumps(mapping)).replay().cards_dealt == order


def test_a_deal_may_be_played_with_the_dealers_exchanged() -> None:
    numbered = Game("classic", seed=2, number=5)
    game = Game("classic", seed=2, number=5)
    game.deal_cards(numbered.cards_dealt, 1 - numbered.dealer)
    record = record_of(played_out(game))
    assert (record.seed, record.number, record.dealer) == (2, 5, 1 - numbered.dealer)
    assert record.replay().payoffs == game.payoffs


def test_people_can_follow_a_record() -> None:
    game = played("draft", 11)
    mapping = record_of(game).as_mapping()
    assert mapping["rules"] == "draft"
    assert len(mapping["tricks"]) == 26
    leader, first, *_ = mapping["tricks"][0].replace(":", "").split()
    assert int(leader) == 1 - game.dealer
    assert first == str(cards_of(1 << game.actions[0])[0])
    assert any(trick.endswith(" hidden") for trick in mapping["tricks"])
    assert mapping["result"] == {"tricks": list(game.counting_tricks), "pays": list(game.payoffs)}


def test_record_holds_custom_rules_and_refuses_unfinished_hands() -> None:
    assert record_of(played(ODD[1])).as_mapping()["rules"] == ODD[1].as_mapping()
    with pytest.raises(RecordError, match="not over"):
        record_of(Game("classic"))


def _without(name: str) -> dict[str, Any]:
    mapping = mapping_with()
    del mapping[name]
    return mapping


TRICKS = mapping_with()["tricks"]
OTHER_LEADER = f"{1 - int(TRICKS[3][0])}{TRICKS[3][1:]}"
BROKEN = {
    "not JSON": ("{", "not a line of JSON"),
    "a list": ("[]", "the record: it is an empty list"),
    "too deep": ("[" * 100_000, "not a line of JSON"),
    "empty": ({}, "'record'"),
    "of a later version": (mapping_with(record=2), "record is 2"),
    "without rules": (_without("rules"), "'rules'"),
    "of an unknown rule set": (mapping_with(rules="clasic"), "'clasic'"),
    "of impossible rules": (mapping_with(rules={"hand": 30}), "hand is 30"),
    "of unknown rules": (mapping_with(rules={"hands": 3}), "'hands'"),
    "with rules of a strange kind": (mapping_with(rules=7), "rules is 7"),
    "with an unknown part": (mapping_with(colour="blue"), "'colour'"),
    "without a deal": (_without("seed"), "either seed"),
    "with two deals": (mapping_with(deal="AS"), "either seed"),
    "with a number beside a deal": (
        {**_without("seed"), "deal": "AS KS", "number": 3},
        "number is 3 beside a deal",
    ),
    "with too few cards": ({**_without("seed"), "deal": "AS KS"}, "52 cards"),
    "with no cards": ({**_without("seed"), "deal": ["AS"]}, "deal is"),
    "with a negative seed": (mapping_with(seed=-1), "seed is -1"),
    "with a seed in words": (mapping_with(seed="one"), "seed is 'one'"),
    "with a third dealer": (mapping_with(dealer=2), "dealer is 2"),
    "with a broken trick": (mapping_with(tricks=["AS KS"]), "'AS KS' is not a trick"),
    "with a card that is none": (mapping_with(tricks=["0: AX KS"]), "'AX' is not a card"),
    "with a trick missing": (mapping_with(tricks=TRICKS[:-1]), "not over after 50"),
    "with a trick too many": (mapping_with(tricks=[*TRICKS, "0: 2C 3C"]), "is over"),
    "with a wrong leader": (
        mapping_with(tricks=[*TRICKS[:3], OTHER_LEADER, *TRICKS[4:]]),
        "trick 4 is recorded as",
    ),
    "with a wrong count": (
        mapping_with(result={"tricks": [13, 0], "pays": [1, -1]}),
        r"the result is recorded as tricks \[13, 0\]",
    ),
    "with one pay": (mapping_with(result={"tricks": [7, 6], "pays": [1]}), "list of 2 whole"),
    "with a list for meta": (mapping_with(meta=[1]), "meta is"),
    "with a match without score": (mapping_with(match={"target": 10}), "'points'"),
    "after the end of its match": (
        mapping_with(match={"target": 10, "points": [10, 0], "hands_won": [2, 0], "hands": 2}),
        "was over before",
    ),
}


@pytest.mark.parametrize(("line", "word"), BROKEN.values(), ids=BROKEN)
def test_a_broken_record_is_refused_with_a_sentence(line: Any, word: str) -> None:
    text = line if isinstance(line, str) else json.dumps(line)
    with pytest.raises(RecordError, match=word):
        GameRecord.from_line(text)


def test_read_records_reports_broken_lines_and_keeps_others(tmp_path: Path) -> None:
    records = [record_of(played(seed=seed)) for seed in range(3)]
    path = tmp_path / "hands.jsonl"
    lines = [record.to_line().encode() for record in records]
    lines[1:1] = [b"", b"{torn", b"\xff\xfe"]
    path.write_bytes(b"\n".join(lines))
    read, problems = read_records(path)
    assert read == records
    assert [problem.line for problem in problems] == [3, 4]
    assert str(problems[0]).startswith(f"{path}, line 3: is not a line of JSON")


def test_write_records_replaces_and_append_records_keeps(tmp_path: Path) -> None:
    records = [record_of(played(seed=seed)) for seed in range(4)]
    path = tmp_path / "folder" / "hands.jsonl"
    append_records(path, records[:1])
    write_records(path, records[:2])
    append_records(path, records[2:3])
    with path.open("a") as file:
        file.write('{"record": 1, "rul')  # a program died while it wrote
    append_records(path, records[3:])
    read, problems = read_records(path)
    assert read == records
    assert [problem.line for problem in problems] == [4]


def test_what_can_not_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "hands.jsonl"
    write_records(path, [record_of(played())])
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_records(path, [record_of(played()), record_of(played(), {"odd": object()})])
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["hands.jsonl"]


@pytest.mark.parametrize("write", [write_records, append_records])
def test_lone_surrogate_in_meta_is_written_and_read_back(write: Any, tmp_path: Path) -> None:
    record = record_of(played(), {"player": "A\ud800nn", "other": "Bo♥"})
    write(tmp_path / "games.jsonl", [record])
    assert read_records(tmp_path / "games.jsonl") == ([record], [])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_number_that_json_lacks_is_neither_written_nor_read(value: float) -> None:
    record = record_of(played(), {"score": value})
    with pytest.raises(RecordError, match="cannot be written as JSON"):
        record.to_line()
    line = json.dumps(record_of(played()).as_mapping() | {"meta": {"score": value}})
    with pytest.raises(RecordError, match="which is no number of JSON"):
        GameRecord.from_line(line)
