"""Every deal of a small deck, for what walks all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np

from .dtypes import SEATS
from .rules import Rules

MOST_DEALS = 200_000


def count_deals(rules: Rules) -> int:
    """Deals that differ: the order of cards within a hand, or of those set aside, is no matter."""
    cards, hand = len(rules.deck), rules.hand
    if rules.exchange:
        turned = hand if rules.faced == "every" else 1
        return turned * math.prod(math.comb(cards - gone * hand, hand) for gone in range(4))
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
    if rules.exchange:
        return np.array([*_four_hands(deck, rules)], np.uint8)
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


def _four_hands(deck: list[int], rules: Rules) -> Iterator[list[int]]:
    """Every deal for an exchange: each card of the dealer's in turn is the one turned up."""
    hand = rules.hand

    def hands(left: list[int], count: int) -> Iterator[list[tuple[int, ...]]]:
        if count == 0:
            yield []
            return
        for chosen in combinations(left, hand):
            rest = [card for card in left if card not in chosen]
            for others in hands(rest, count - 1):
                yield [chosen, *others]

    for blind, non_dealer, second, dealers in hands(deck, 4):
        for turned in dealers if rules.faced == "every" else dealers[-1:]:
            last = [*(card for card in dealers if card != turned), turned]
            rounds = zip(blind, non_dealer, second, last, strict=True)
            dealt = [card for each in rounds for card in each]
            yield dealt + [card for card in deck if card not in dealt]
