"""Rule-based agents: their rules card by card, and their strength."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from german_whist import card, card_set
from german_whist.agents import load_agent
from german_whist.engine.dtypes import VIEW
from german_whist.evaluation import evaluate
from support import KEY


def card_played(
    agent: str,
    hand: str,
    upcard: str,
    led: str = "",
    unseen: str = "",
    rules: Any = "classic",
    **fields: int,
) -> str:
    """Card that an agent plays with hearts trumps, in the foreplay unless `fields` differ."""
    view = np.zeros(1, VIEW)
    view["hand"], view["unseen"] = card_set(hand), card_set(unseen)
    view["upcards"] = 255
    if upcard:
        view["upcards"][0, 0] = card(upcard)
    view["trump"], view["stock_left"], view["to_move"] = 2, 20, 1
    view["led"], view["opponent_hand_size"] = 255, len(hand.split())
    if led:
        view["led"], view["phase"] = card(led), 1
    for name, number in fields.items():
        view[name] = number
    return str(card(int(load_agent(agent, rules).act(view, np.zeros(1, np.uint64))[0])))


@pytest.mark.parametrize(
    ("hand", "upcard", "led", "plays"),
    [
        ("2C KD 5S AH", "QC", "", "KD"),  # wants a queen: highest non-trump
        ("2C KD 5S AH", "JC", "", "2C"),  # does not want a jack: lowest non-trump
        ("2C KD 5S AH", "2H", "", "KD"),  # wants a trump
        ("KC KD 5S", "AS", "", "KC"),  # equal ranks: the first suit
        ("2S 2D 5S", "3S", "", "2D"),
        ("9H 3H AH", "AS", "", "AH"),  # nothing but trumps
        ("9H 3H AH", "3S", "", "3H"),
        ("2C TC KC AH", "QS", "9C", "TC"),  # wins as cheaply as it can
        ("2C TC KC AH", "8S", "9C", "2C"),  # saves
        ("2C 3C AH", "QS", "9C", "2C"),  # cannot win
        ("2D 3S AH 4H", "QS", "9C", "4H"),  # wins with the lowest trump
        ("2D 3S AH 4H", "8S", "9C", "2D"),  # throws its lowest non-trump
        ("3H 5H KH", "QS", "4H", "5H"),  # trumps led
        ("AH 4H", "8S", "9C", "4H"),  # only trumps: the lowest
    ],
)
def test_threshold_follows_the_rules_of_thumb(hand: str, upcard: str, led: str, plays: str) -> None:
    assert card_played("threshold", hand, upcard, led) == plays


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
def test_value_weighs_its_gains(hand: str, upcard: str, unseen: str, led: str, plays: str) -> None:
    assert card_played("upcard-value", hand, upcard, led, unseen) == plays


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
def test_without_a_stock_tricks_have_a_price(hand: str, led: str, low: int, plays: str) -> None:
    fields = {"rules": "humbug", "stock_left": 0, "low": low}
    assert card_played("upcard-value", hand, "", led, "4S 5S", **fields) == plays


def test_value_gives_high_cards_away_in_a_low_contract() -> None:
    assert card_played("upcard-value", "2C TC QC", "KS", "JC", "4S 5S", low=1) == "TC"
    assert card_played("upcard-value", "2C TC QC", "2S", "9C", "KS QS", low=1) == "QC"
    assert card_played("upcard-value", "2D 3H", "KS", "9C", "4S 5S", low=1) == "3H"


@pytest.mark.parametrize(
    ("other", "rules", "win_rate"),
    [
        *((other, "classic", 0.57) for other in ("threshold", "upcard-value")),
        *(
            ("threshold", rules, 0.5)
            for rules in ("all-margin", "colour", "no-trump", "open-stock")
        ),
        ("threshold", "draft", 0.5),
    ],
)
def test_counting_beats_the_simpler_rules(other: str, rules: str, win_rate: float) -> None:
    hands = 8000 if rules == "classic" else 2000
    pairing = evaluate("counting", other, rules, hands=hands, seed=8, key=KEY).pairings[0]
    assert pairing.win_rate.value > win_rate
