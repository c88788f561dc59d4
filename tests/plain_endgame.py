"""Endings solved a second time, plainly: cards in tuples, every legal card, a memo, no pruning."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

Hand = tuple[int, ...]


def suit(card: int) -> int:
    return card // 13


def legal_replies(led: int, hand: Hand) -> Hand:
    return tuple(card for card in hand if suit(card) == suit(led)) or hand


def leader_wins(led: int, reply: int, trump: int | None) -> bool:
    return led > reply if suit(led) == suit(reply) else suit(reply) != trump


def card_set(hand: Iterable[int]) -> np.uint64:
    return np.uint64(sum(1 << card for card in hand))


def without(hand: Hand, card: int) -> Hand:
    return tuple(other for other in hand if other != card)


class PlainEnding:
    """The value of endings by minimax, with one trump suit or none, high or low."""

    def __init__(self, trump: int | None, low: bool = False) -> None:
        self.trump = trump
        self.best: Callable[..., int] = min if low else max
        self.worst: Callable[..., int] = max if low else min
        self.value = cache(self._value)

    def _value(self, leader: Hand, other: Hand) -> int:
        """The tricks that the player on lead takes."""
        return self.best(self.leads(leader, other).values()) if leader else 0

    def leads(self, leader: Hand, other: Hand) -> dict[int, int]:
        return {
            led: self.worst(self.replies(led, without(leader, led), other).values())
            for led in leader
        }

    def replies(self, led: int, leader: Hand, other: Hand) -> dict[int, int]:
        """The leader's tricks with each reply; the card led has left the leader's hand."""
        values = {}
        for reply in legal_replies(led, other):
            left = without(other, reply)
            if leader_wins(led, reply, self.trump):
                values[reply] = 1 + self.value(leader, left)
            else:
                values[reply] = len(left) - self.value(left, leader)
        return values


class PlainRace:
    """Who is first to take the tricks still wanting: 1 the leader, -1 the other, 0 nobody."""

    def __init__(self, trump: int | None) -> None:
        self.trump = trump
        self.value = cache(self._value)

    def _value(self, leader: Hand, other: Hand, mine: int, theirs: int) -> int:
        if mine == 0 or theirs == 0:
            return 1 if mine == 0 else -1
        return max(self.leads(leader, other, mine, theirs).values()) if leader else 0

    def leads(self, leader: Hand, other: Hand, mine: int, theirs: int) -> dict[int, int]:
        return {
            led: min(self.replies(led, without(leader, led), other, mine, theirs).values())
            for led in leader
        }

    def replies(
        self, led: int, leader: Hand, other: Hand, mine: int, theirs: int
    ) -> dict[int, int]:
        values = {}
        for reply in legal_replies(led, other):
            left = without(other, reply)
            if leader_wins(led, reply, self.trump):
                values[reply] = self.value(leader, left, mine - 1, theirs)
            else:
                values[reply] = -self.value(left, leader, theirs - 1, mine)
        return values


def random_ending(source: random.Random, most: int, ranks: int = 13) -> tuple[Hand, Hand]:
    """Two hands of one to `most` cards out of the highest ranks of each suit."""
    n = source.randint(1, most)
    deck = [card for card in range(52) if card % 13 >= 13 - ranks]
    cards = source.sample(deck, 2 * n)
    return tuple(sorted(cards[:n])), tuple(sorted(cards[n:]))
