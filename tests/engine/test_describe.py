"""The words for a rule set say what is true of it, and its examples pay what the engine pays."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from german_whist import Game, Rules, load_rules, named_rules
from german_whist.engine.describe import as_yaml, chapters, describe
from support import played_out

ALWAYS = ["Two players", "ace high", "follow suit", "The non-dealer leads", "best of 3 or 5"]
# Rule sets that docs/reference/rules.md does not show, and what a player has to be told of each.
ODD: dict[str, tuple[Rules, list[str]]] = {
    "low": (
        Rules(suits=2, ranks=6, hand=3, contract="low", pay="margin"),
        [
            "12 cards, nine to ace of clubs and diamonds",
            "play low",
            "after 3–0 the player with 0 tricks gets the 3 points",
        ],
    ),
    "two cards": (
        Rules(suits=1, ranks=2, hand=1, trumps="none"),
        ["a short pack of 2 cards", "There are no trumps", "Play: 1 trick", "Every win pays 1"],
    ),
    "set aside": (
        Rules(suits=3, ranks=5, hand=3, stock=8),
        ["1 card is left over and set aside", "cannot be sure of the other's hand", "4 tricks"],
    ),
    "all dealt": (
        Rules(hand=26, trumps="none", pay="over_book", slam_pay=30),
        ["both players hold 26", "17–9 pays 4", "26–0 pays 30", "13–13 is a tie"],
    ),
    "blind": (
        Rules(faced="never", trumps="none", contract="low", counts="all", race=14, pay="margin"),
        ["each unseen by the other", "taken 14 tricks, and that player loses", "drawn and pays"],
    ),
    "colour": (
        Rules(contract="colour", counts="all", race=20, pay="over_book", book=3),
        ["If it was black (play low), that player loses", "above 3 that the player"],
    ),
    "late choice": (
        Rules(choice=True, face_up=2, faced="after-first", trumps="none"),
        ["At the first trick the whole stock lies face down", "chooses one of them"],
    ),
    "two up": (
        Rules(face_up=2, counts="all", race=26, pay="over_book", slam_pay=100),
        ["suit of the upper one is trumps", "takes the upper one", "26–0 pays 100"],
    ),
    "aces": (
        Rules(suits=4, ranks=1, hand=1, counts="all"),
        ["the ace of all four suits", "All 2 tricks count", "1–1 is a tie"],
    ),
    "exchange": (
        Rules(suits=3, ranks=7, hand=5, contract="colour", exchange=True, race=3),
        [
            "four hands of 5",
            "The last card, the dealer's, is turned",
            "the color of the turned card",
        ],
    ),
    "nothing turned": (
        Rules(ranks=4, hand=4, trumps="none", faced="never", exchange=True),
        [
            "put it aside face down",
            "8 cards stay out of play",
            "2–2 is a tie",
            "a target, usually 5 or 10 points",
        ],
    ),
}
ALL = [*named_rules().values(), *(rules for rules, _ in ODD.values())]


def words(rules: Rules) -> str:
    return " ".join(describe(rules).split())


@pytest.mark.parametrize("name", ODD)
def test_a_set_is_told_with_its_key_facts(name: str) -> None:
    rules, facts = ODD[name]
    text = words(rules)
    for fact in [*ALWAYS, *facts]:
        assert fact in text, f"{fact!r} is missing in: {text}"


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: rules.name)
def test_description_examples_equal_the_engine_payoffs(rules: Rules) -> None:
    examples = re.findall(r"(\d+)–(\d+) pays (\w+)", words(rules))
    if rules.pay == "win":
        examples = [(*pair, "1") for pair in re.findall(r"(\d+)–(\d+)(?! is)", words(rules))]
    examples += [(*pair, "nobody") for pair in re.findall(r"(\d+)–(\d+) is a tie", words(rules))]
    assert examples
    game = played_out(Game(rules))
    for most, least, pay in examples:
        game.array["tricks"][0] = int(most), int(least)
        amount = 0 if pay in ("nothing", "nobody") else int(pay)
        assert game.payoffs == ((-amount, amount) if game.low else (amount, -amount))


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: rules.name)
def test_words_are_whole_sentences_within_the_width(rules: Rules) -> None:
    for chapter in chapters(rules):
        for paragraph in chapter.paragraphs:
            assert paragraph[0].isupper() or paragraph[0].isdigit()
            assert paragraph.endswith(".")
            assert "None" not in paragraph
            assert "  " not in paragraph
    assert max(map(len, describe(rules).splitlines())) <= 88


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: rules.name)
def test_the_yaml_of_a_set_is_the_set_under_a_name_of_its_own(rules: Rules, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(as_yaml(rules), encoding="utf-8")
    again = load_rules(path)
    for field in fields(Rules):
        if field.name != "name":
            assert getattr(again, field.name) == getattr(rules, field.name)
    assert again.name == f"my-{rules.name}"
    lines = [line for line in as_yaml(rules).splitlines() if line[0] != "#"]
    assert len(lines) == len(fields(Rules))


def test_the_command_lists_every_set_and_explains_one(tmp_path: Path, whist: Any) -> None:
    lines = [line.split() for line in whist("rules").out.splitlines()]
    for name, rules in named_rules().items():
        assert [name, *rules.about.split()] in lines
    assert whist("rules", "draft").out.strip() == describe(load_rules("draft"))
    path = tmp_path / "own.yaml"
    path.write_text(whist("rules", "draft", "--yaml").out, encoding="utf-8")
    assert whist("rules", path).out.startswith("my-draft: ")
