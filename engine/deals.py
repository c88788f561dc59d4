"""Enumeration of all deals of a small deck."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np

from .dtypes import SEATS
from .rules import Rules

MAX_DEALS = 200_000


def count_deals(rules: Rules) -> int:
    """Number of different deals; the order within a hand or of cards set aside does not matter."""
    cards, hand = len(rules.deck), rules.hand
    if rules.exchange:
        turned = hand if rules.faced == "every" else 1
        return turned * math.prod(math.comb(cards - index * hand, hand) for index in range(4))
    hands = math.comb(cards, hand) * math.comb(cards - hand, hand)
    return hands * math.perm(cards - SEATS * hand, rules.stock_cards)


def check_deals(rules: Rules) -> None:
    count = count_deals(rules)
    if count > MAX_DEALS:
        raise ValueError(
            f"the rules {rules.name} have {count:.3g} deals, and at most {MAX_DEALS:,} are "
            "listed: 2 suits of 4 ranks with hands of 2 are small enough"
        )


def all_deals(rules: Rules) -> np.ndarray[Any, Any]:
    check_deals(rules)
    hand = rules.hand
    deck = [int(card) for card in rules.deck]
    if rules.exchange:
        return np.array([*_exchange_deals(deck, rules)], np.uint8)
    deals = []
    for first in combinations(deck, hand):
        undealt = [card for card in deck if card not in first]
        for second in combinations(undealt, hand):
            left = [card for card in undealt if card not in second]
            dealt = [card for pair in zip(first, second, strict=True) for card in pair]
            for turned in permutations(left, rules.stock_cards):
                aside = [card for card in left if card not in turned]
                deals.append([*dealt, *turned, *aside])
    return np.array(deals, np.uint8)


def _exchange_deals(deck: list[int], rules: Rules) -> Iterator[list[int]]:
    hand = rules.hand

    def hands(cards: list[int], count: int) -> Iterator[list[tuple[int, ...]]]:
        if count == 0:
            yield []
            return
        for first in combinations(cards, hand):
            left = [card for card in cards if card not in first]
            for further in hands(left, count - 1):
                yield [first, *further]

    for blind, non_dealer, second, dealer in hands(deck, 4):
        # Each card of the dealer's in turn is the one turned up, which is dealt last.
        for turned in dealer if rules.faced == "every" else dealer[-1:]:
            last = [*(card for card in dealer if card != turned), turned]
            rounds = zip(blind, non_dealer, second, last, strict=True)
            dealt = [card for round_ in rounds for card in round_]
            yield dealt + [card for card in deck if card not in dealt]
