"""Cards and rule sets: texts both ways, the facts of the named sets, refusals in sentences."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rule_parameters import results

from german_whist.engine.cards import CARDS, SUITS, Card, card, card_set, cards, cards_of, text_of
from german_whist.engine.play import payoff_of_tricks, row
from german_whist.engine.rules import Match, Rules, RulesError, load_rules
from support import EVERY_SET, engine_rules, plain_rules


def test_card_ids_run_by_suit_then_rank() -> None:
    assert text_of(range(13)) == "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AC"
    assert text_of((13, 26, 39, 51)) == "2D 2H 2S AS"
    assert [13 * card.suit + card.rank for card in CARDS] == list(range(52))
    assert {card.rank for card in CARDS} == {*range(13)}


@pytest.mark.parametrize("each", CARDS)
def test_every_text_form_is_read_back(each: Card) -> None:
    texts = {str(each), repr(each), each.symbol, str(each).lower(), f" {each} "}
    if each.rank == 8:
        texts |= {"10" + SUITS[each.suit], "10" + SUITS[each.suit].lower()}
    for text in texts:
        assert card(text) is each
    assert card(int(each)) is each
    assert card(np.int8(each)) is each


def test_card_parses_every_spelling_and_sets_round_trip() -> None:
    assert card("TD").symbol == "10♦"
    assert card("10♦").name == "ten of diamonds"
    assert card("AS").symbol == "A♠"
    assert text_of(cards("as 10h 2♣")) == "AS TH 2C"
    assert card_set("2C AS") == 1 + (1 << 51)
    assert cards_of(card_set(CARDS)) == list(CARDS)
    assert cards_of(0) == []
    assert cards_of(np.uint64(5)) == cards("2C 4C")


@pytest.mark.parametrize("each", CARDS)
def test_card_is_read_by_its_name_in_words(each: Card) -> None:
    assert card(each.name) is card(f" {each.name.title()}  ") is each


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        *(
            (text, ".*rank then suit.*TD")
            for text in ("", "T", "1D", "11D", "TX", "DT", "T D", "AS.")
        ),
        *((number, r" .*from 0 \(2C\) to 51 \(AS\)") for number in (-1, 52, 255, 2**70)),
        *((other, ".* card") for other in (True, 1.0, None, b"TD", [3])),
    ],
)
def test_what_is_no_card_is_refused_with_the_way_to_write_one(wrong: Any, remedy: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(repr(wrong)) + remedy):
        card(wrong)


def test_what_is_no_set_of_cards_is_refused() -> None:
    with pytest.raises(ValueError, match="TD comes twice"):
        card_set("TD 2C 10♦")
    for wrong in (1 << 52, -1):
        with pytest.raises(ValueError, match=f"{wrong} is not a set of cards"):
            cards_of(wrong)


@pytest.mark.parametrize("name", EVERY_SET)
def test_payoffs_equal_those_of_the_reference(name: str) -> None:
    rules, found = engine_rules(name), results(plain_rules(name))
    record = row(rules.array(), 0)
    for low, own, other, (payoff, other_paid) in found:
        assert payoff_of_tricks(record, low, own, other) == payoff == -other_paid
        assert payoff_of_tricks(record, low, other, own) == -payoff
    assert rules.max_payoff == max(payoff for *_, (payoff, _) in found)


@pytest.mark.parametrize("name", EVERY_SET)
def test_a_rule_set_comes_back_from_its_mapping(name: str, tmp_path: Path) -> None:
    rules = engine_rules(name)
    mapping = rules.as_mapping()
    assert Rules(**mapping) == load_rules(mapping) == rules
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps(mapping))  # which is YAML, too
    assert load_rules(path) == load_rules(str(path)) == rules
    assert hash(load_rules(path)) == hash(rules)


def test_rules_can_not_be_changed() -> None:
    rules = load_rules("classic")
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.hand = 5  # type: ignore[misc]
    record = rules.array()
    record["hand"] = 5
    assert rules.array()["hand"][0] == 13
    assert load_rules(rules) is rules
    assert load_rules("classic") is rules


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"stock": 25}, r"stock is 25: .*even"),
        ({"hand": 12, "ranks": 7, "suits": 3}, r"hand is 12: .*24 cards .*21"),
        ({"stock": 28}, r"stock is 28: .*26 of 52"),
        ({"hand": 20, "stock": 14}, r"stock is 14: .*only 12 of 52"),
        ({"race": 14}, r"race is 14: only 13 tricks count"),
        ({"trumps": "hearts"}, r"trumps is 'hearts': .*upcard, none"),
        ({"contract": "misere"}, r"contract is 'misere': .*high, low, colour"),
        ({"counts": "first"}, r"counts is 'first': .*last, all"),
        ({"pay": "lots"}, r"pay is 'lots': .*win, margin, over_book"),
        ({"faced": "sometimes"}, r"faced is 'sometimes': .*every, after-first, never"),
        ({"choice": "yes"}, r"choice is 'yes': .*true or false"),
        ({"hand": "13"}, r"hand is '13': .*whole number"),
        ({"race": True}, r"race is True: .*whole number"),
        ({"trumps": None}, r"trumps is None: .*upcard, none"),
        ({"name": ""}, r"name is '': "),
        ({"name": 7}, r"name is 7: "),
        ({"name": "a" * 11_000}, r"name is 'aaa.{0,60}…: .*at most 80 characters .* printed$"),
        ({"name": "two\nlines"}, r"name is 'two\\nlines': .*that can be printed$"),
        ({"about": "a" * 11_000}, r"about is 'aaa.{0,60}…: .*a text of at most 500 characters$"),
        ({"book": 6}, r"book is 6: .*over_book"),
        ({"slam_pay": 6, "pay": "margin"}, r"slam_pay is 6: .*over_book.*'margin'"),
        (
            {"book": 14, "pay": "over_book", "slam_pay": 10},
            r"book is 14: nobody takes more than 13 .*less than 13, or with slam_pay at most all",
        ),
        (
            {"book": 13, "pay": "over_book"},
            r"book is 13: nobody takes more than 13 counting tricks, so no hand would ever pay",
        ),
        (
            {"race": 6, "pay": "over_book"},
            r"book is 6, half of the counting tricks: .* 6 .* tricks in a race to 6, .*than 6$",
        ),
        (
            {"race": 5, "pay": "over_book", "book": 2, "slam_pay": 9},
            r"slam_pay is 9: the race to 5 ends a hand before anybody has all 13",
        ),
        *(
            (
                {"stock": 2, "trumps": "none", "faced": "after-first", "choice": choice},
                r"faced is 'after-first', but with stock 2 .*never",
            )
            for choice in (False, True)
        ),
        ({"stock": 0, "trumps": "none", "face_up": 2}, r"face_up is 2, but with stock 0 .*to 1"),
        ({"faced": "never", "trumps": "none", "face_up": 2}, r"face_up is 2, .*faced 'never'"),
        ({"choice": True, "race": 1, "counts": "all"}, r"choice is true, but with race 1 "),
        ({"stock": 0}, r"trumps is 'upcard', but with stock 0 .*trumps to none"),
        ({"faced": "never"}, r"trumps is 'upcard', .*faced 'never'.*none"),
        ({"faced": "after-first"}, r"trumps is 'upcard', .*faced 'after-first'"),
        ({"faced": "never", "trumps": "none", "contract": "colour"}, r"contract is 'colour'"),
        ({"faced": "never", "trumps": "none", "choice": True}, r"choice is [Tt]rue, .*'never'"),
        ({"stock": 0, "trumps": "none", "choice": True}, r"choice is [Tt]rue, .*stock 0"),
    ],
)
def test_what_can_not_be_played_is_refused_with_its_value(values: Any, sentence: str) -> None:
    with pytest.raises(RulesError, match="^" + sentence):
        Rules(**values)
    with pytest.raises(RulesError, match=f"^rules: {sentence}"):
        load_rules(values)


def _nested_aliases(levels: int) -> str:
    """A list in which each level holds the one before ten times."""
    lines = ["x0: &x0 [x]"]
    for level in range(1, levels):
        lines.append(f"x{level}: &x{level} [{', '.join(10 * [f'*x{level - 1}'])}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: x\nstok: 26\n", "'stok' is not a parameter.*'stock'"),
        ("hand: true\n", "hand is True"),
        ("name: classic\nranks: 8\n", "another rule set's: give it a name of its own"),
        ("- classic\n- margin\n", "name: value.*a list"),
        ("just words\n", "name: value.*only 'just words"),
        ("", "name: value.*nothing"),
        ("3: 4\n", "word"),
        ("hand: [1, 2\n", "line 2 is not valid YAML: expected"),
        ("hand: 3\nhand: 3\n", "line 2 is not valid YAML: 'hand' stands there twice$"),
        ("hand: \x01\n", "is not valid YAML: unacceptable character #x0001[^\\n]*allowed$"),
        ("hand: 2020-99-99\n", "not valid YAML: month"),
        ("hand: " + 5000 * "9" + "\n", "not valid YAML"),
        ("name: \xff\xfe\n", "is not valid YAML"),
        ("name: !!python/object/apply:os.getcwd []\n", "not valid YAML"),
        (_nested_aliases(20), "line 6 is not valid YAML: it holds more than 100,000 values"),
        (
            _nested_aliases(3) + "\nname: &a [*a]\n",
            "line 4 is not valid YAML: an alias stands within its own anchor",
        ),
        ("name: x\n" + 200_000 * "#......\n", "not valid YAML: more than 1,000,000 bytes"),
    ],
)
def test_broken_files_are_refused_with_their_name(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=rf"(?s)mine\.yaml: .*{sentence}"):
        load_rules(path)


def test_files_that_can_not_be_read_are_refused_with_their_name(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for name in ("absent", "folder"):
        with pytest.raises(ValueError, match=rf"{name}\.yaml: cannot be read"):
            load_rules(tmp_path / f"{name}.yaml")


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("clasic", r"'clasic' is not a rule set; did you mean 'classic'"),
        ("zzz", r"'zzz' is not a rule set; there are classic, .*race-9"),
        (Path("mine.txt"), r"'mine\.txt' is not a rule set"),
        (7, r"7 is of type int"),
        (None, r"None is of type NoneType"),
    ],
)
def test_unknown_rule_sets_are_refused_with_a_suggestion(rules: Any, sentence: str) -> None:
    with pytest.raises(RulesError, match=sentence):
        load_rules(rules)


@pytest.mark.parametrize("make", [dict, lambda **values: Rules(**values)], ids=["mapping", "Rules"])
def test_the_name_of_a_named_set_stands_for_no_other_game(make: Any) -> None:
    assert load_rules(make(name="classic")) == load_rules("classic")
    assert load_rules(make(name="quick", ranks=8, hand=10)) == load_rules("quick")
    with pytest.raises(RulesError, match=r"^rules: name is 'quick', which is another rule set's"):
        load_rules(make(name="quick", ranks=8, hand=8))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "target=None and best_of=None"),
        ({"target": 5, "best_of": 3}, "target=5 and best_of=3"),
        ({"target": -10}, "target is -10"),
        ({"target": True}, "target is True"),
        ({"target": 2.5}, "target is 2.5"),
        ({"best_of": 4}, "best_of is 4: .*odd"),
        ({"best_of": "3"}, "best_of is '3'"),
    ],
)
def test_matches_that_can_not_be_played_are_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RulesError, match=sentence):
        Match(**values)
