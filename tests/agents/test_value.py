"""`value` weighs the upcard against what winning it costs."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist import card, card_set
from german_whist.agents import make_agent
from german_whist.engine.dtypes import VIEW


def value_plays(
    hand: str, upcard: str, unseen: str, led: str = "", rules: str = "classic", **also: int
) -> str:
    """What `value:13` plays with hearts trumps, of the classic game's foreplay."""
    view = np.zeros(1, VIEW)
    view["hand"], view["unseen"] = card_set(hand), card_set(unseen)
    view["upcards"] = 255
    if upcard:
        view["upcards"][0, 0] = card(upcard)
    view["trump"], view["stock_left"], view["to_move"] = 2, 20, 1
    view["led"], view["opponent_hand_size"] = 255, len(hand.split())
    if led:
        view["led"], view["phase"] = card(led), 1
    for name, number in also.items():
        view[name] = number
    agent = make_agent("value:13", rules)
    return str(card(int(agent.act(view, np.zeros(1, np.uint64))[0])))


@pytest.mark.parametrize(
    ("hand", "upcard", "unseen", "led", "plays"),
    [
        ("2C KD 5H", "TS", "8S 9S", "", "KD"),  # 10 against a mean of 8.5
        ("2C KD 5H", "8S", "8C 9S", "", "2C"),
        ("2H 5H", "AH", "2S 3S", "", "2H"),  # nothing but trumps
        ("2C TC", "KS", "4S 5S", "9C", "TC"),  # a gain of 8.5 for a cost of 8
        ("2C TC", "KS", "5S 5D", "9C", "2C"),  # a gain of 8 for a cost of 8
        ("TC QC", "2S", "4S 5S", "9C", "TC"),  # every card wins: the cheapest
        ("2D 3H", "AH", "4S 5S", "9C", "3H"),  # ruffs for a trump
        ("2D 3H", "AS", "4S 5S", "9C", "2D"),  # a ruff costs 14, the gain is 9.5
        ("2C 3C 4D", "AH", "4S 5S", "9C", "2C"),  # cannot win
    ],
)
def test_value_weighs_gain_against_cost(
    hand: str, upcard: str, unseen: str, led: str, plays: str
) -> None:
    assert value_plays(hand, upcard, unseen, led) == plays


@pytest.mark.parametrize(
    ("hand", "led", "low", "plays"),
    [
        ("2D AH", "9C", 0, "AH"),  # a trump that is kept wins nothing
        ("2C AC", "9C", 0, "AC"),
        ("2C KD 5H", "", 0, "KD"),
        ("2C AC", "9C", 1, "2C"),
        ("8C 2C AC", "9C", 1, "8C"),
    ],
)
def test_without_a_stock_every_trick_is_worth_its_price(
    hand: str, led: str, low: int, plays: str
) -> None:
    found = value_plays(hand, "", "4S 5S", led, rules="humbug", stock_left=0, low=low)
    assert found == plays


def test_in_a_low_contract_high_cards_and_trumps_are_what_it_gives_away() -> None:
    assert value_plays("2C TC QC", "KS", "4S 5S", "JC", low=1) == "TC"
    assert value_plays("2C TC QC", "2S", "KS QS", "9C", low=1) == "QC"
    assert value_plays("2D 3H", "KS", "4S 5S", "9C", low=1) == "3H"
