"""The command that values an ending, card by card."""

from __future__ import annotations

import json

import pytest

from german_whist.engine import endgame

HANDS = ["AS KS 2H", "QS JS 3H"]


def test_an_ending_is_valued_card_by_card(whist) -> None:
    told = whist("endgame", *HANDS, "--trump", "none").out
    assert told.startswith("the leader takes 2 of 3 tricks with best play by both\n")
    cards = endgame.moves(HANDS, None, 0)
    assert all(f"\n  {card}  {tricks:>3}" in told for card, tricks in cards.items())
    assert told.count("best") == 1 + [*cards.values()].count(2)


@pytest.mark.parametrize("trump", ["H", "none"])
@pytest.mark.parametrize("words", [[], ["--low"]])
def test_json_output_equals_the_python_result(trump: str, words: list[str], whist) -> None:
    suit, low = (None if trump == "none" else trump), bool(words)
    hands = ["4S JS 3S", "6S 3H 9H"]  # in a low contract the jack is a mistake
    options = ["--trump", trump, "--json", *words]
    told = json.loads(whist("endgame", *hands, *options).out)
    assert told["value"] == endgame.value(hands, suit, 0, low=low)
    wanted = endgame.moves(hands, suit, 0, low=low)
    assert told["cards"] == {str(card): tricks for card, tricks in wanted.items()}


def test_after_a_lead_the_other_is_to_move(whist) -> None:
    words = ["endgame", "KS 2H", "QS JS 3H", "--led", "AS", "--trump", "none", "--json"]
    told = json.loads(whist(*words).out)
    assert (told["tricks"], told["cards"].keys()) == (3, {"QS", "JS"})
    assert told["value"] == 3 - max(told["cards"].values())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["AS KS", "QS", "--trump", "none"], "both need as many, from 1 to 13"),
        (["AS", "AS", "--trump", "none"], "AS is in two places"),
        (["AX", "QS", "--trump", "none"], "'AX' is not a card"),
        (["AS", "QS", "--trump", "4"], "--trump is '4': it has to be C, D, H or S, or none"),
        (["AS", "QS", "--trump", ""], "C, D, H or S, or none"),
        (["AS", "QS"], "--trump"),
    ],
)
def test_what_is_no_ending_is_refused(words: list[str], told: str, whist) -> None:
    assert told in whist("endgame", *words, status=2).err
