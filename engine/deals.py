"""Every deal of a small deck, for what walks all of them."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import Any

import numpy as np

from .rules import Rules
from .state import SEATS

MOST_DEALS = 200_000


def count_deals(rules: Rules) -> int:
    """Deals that differ: the order of cards within a hand, or of those set aside, is no matter."""
    cards, hand = len(rules.deck), rules.hand
    hands = math.comb(cards, hand) * math.comb(cards - hand, hand)
    return hands * math.perm(cards - SEATS * hand, rules.stock_cards)


def check_deals(rules: Rules) -> None:
    """Refuse a deck with too many deals to list."""
    count = count_deals(rules)
    if count > MOST_DEALS:
        raise ValueError(
            f"the rules {rules.name} have {count:.3g} deals, and at most {MOST_DEALS:,} are "
            "listed: 2 suits of 4 ranks with hands of 2 are small enough"
        )


def all_deals(rules: Rules) -> np.ndarray[Any, Any]:
    """Every deal in dealing order, one a row."""
    check_deals(rules)
    hand = rules.hand
    deck = [int(card) for card in rules.deck]
    found = []
    for first in combinations(deck, hand):
        others = [card for card in deck if card not in first]
        for second in combinations(others, hand):
            rest = [card for card in others if card not in second]
            dealt = [card for pair in zip(first, second, strict=True) for card in pair]
            for turned in permutations(rest, rules.stock_cards):
                aside = [card for card in rest if card not in turned]
                found.append([*dealt, *turned, *aside])
    return np.array(found, np.uint8)
