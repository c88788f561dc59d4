"""Enumeration of all deals of a small deck."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations

import numpy as np

from ..common.typing import Array
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


def all_deals(rules: Rules) -> Array:
    check_deals(rules)
    deck = [int(card) for card in rules.deck]
    deals: list[list[int]] = []
    for *hands, dealer in _hands(deck, rules.hand, rules.hands_dealt):
        # In an exchange each card of the dealer's in turn is turned up, which is dealt last.
        for turned in dealer if rules.exchange and rules.faced == "every" else dealer[-1:]:
            last = [*(card for card in dealer if card != turned), turned]
            dealt = [card for round_ in zip(*hands, last, strict=True) for card in round_]
            left = [card for card in deck if card not in dealt]
            for stock in permutations(left, rules.stock_cards):
                deals.append([*dealt, *stock, *(card for card in left if card not in stock)])
    return np.array(deals, np.uint8)


def deals_by_first_view(rules: Rules, seat: int, upcards: Iterable[int]) -> Iterator[Array]:
    """All deals with these first upcards, in parts: what a seat sees when the hand begins.

    Seat 1 deals. All parts have the same number of deals.
    """
    deck = [int(card) for card in rules.deck]
    for upcard in upcards:
        others = [card for card in deck if card != upcard]
        for own in combinations(others, rules.hand):
            unseen = [card for card in others if card not in own]
            deals: list[list[int]] = []
            for other in combinations(unseen, rules.hand):
                hands = (own, other) if seat == 0 else (other, own)
                dealt = [card for round_ in zip(*hands, strict=True) for card in round_]
                left = [card for card in unseen if card not in other]
                for stock in permutations(left, rules.stock_cards - 1):
                    set_aside = [card for card in left if card not in stock]
                    deals.append([*dealt, upcard, *stock, *set_aside])
            yield np.array(deals, np.uint8)


def count_first_views(rules: Rules) -> int:
    """Number of first upcards, each with all hands that a seat may hold."""
    return len(rules.deck) * math.comb(len(rules.deck) - 1, rules.hand)


def _hands(cards: list[int], hand: int, count: int) -> Iterator[list[tuple[int, ...]]]:
    if count == 0:
        yield []
        return
    for first in combinations(cards, hand):
        left = [card for card in cards if card not in first]
        for hands in _hands(left, hand, count - 1):
            yield [first, *hands]
