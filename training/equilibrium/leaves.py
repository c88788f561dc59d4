"""What the ends of the public tree are worth: every ending of a small deck, solved before.

When the stock is gone the other hand is the complement of one's own, so what is left of the
hand is an exact ending: one look-up by the cards that are left and those of the leader.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...engine.bits import popcount
from ...engine.compiled import inlined
from ...engine.endgame import values
from ...engine.play import pay_for
from ...engine.rules import Rules

_BYTE = 8


class Leaves(NamedTuple):
    """The worth of all endings, fit for compiled code."""

    row_of: np.ndarray
    """By the set of the cards that are left: its row."""
    worth: np.ndarray
    """`worth[taken, row, hand]`: what the hand pays the leader, who took `taken` of the tricks
    that count; `hand` is the leader's, as bits among the cards that are left."""
    packed: np.ndarray
    """`packed[mask, bits]`: the bits of a byte that lie under the mask, moved together."""


def _packed() -> np.ndarray:
    table = np.zeros((1 << _BYTE, 1 << _BYTE), np.uint8)
    for mask in range(1 << _BYTE):
        places = [place for place in range(_BYTE) if mask >> place & 1]
        for to, place in enumerate(places):
            table[mask] |= ((np.arange(1 << _BYTE) >> place & 1) << to).astype(np.uint8)
    return table


@inlined
def packed_in(packed: np.ndarray, cards: np.uint64, mask: np.uint64) -> np.uint64:
    """The cards that lie under a mask of up to 24 places, moved together."""
    byte = np.uint64(255)
    first, second = mask & byte, (mask >> np.uint64(8)) & byte
    found = np.uint64(packed[first, cards & byte])
    at = np.uint64(popcount(first))
    found |= np.uint64(packed[second, (cards >> np.uint64(8)) & byte]) << at
    at += np.uint64(popcount(second))
    third = (mask >> np.uint64(16)) & byte
    return found | np.uint64(packed[third, (cards >> np.uint64(16)) & byte]) << at


def leaves(rules: Rules) -> Leaves:
    """Solve every ending of a rule set's deck."""
    cards, left, hand = len(rules.deck), 2 * rules.hand, rules.hand
    deck = np.array([int(card) for card in rules.deck], np.uint64)
    kept = np.array(list(combinations(range(cards), left)), np.int64)
    row_of = np.full(1 << cards, -1, np.int32)
    row_of[(1 << kept).sum(axis=1)] = np.arange(len(kept))
    held = np.array(list(combinations(range(left), hand)), np.int64)
    bits = np.uint64(1) << deck[kept]
    every = bits.sum(axis=1)
    hands = np.zeros((len(kept), len(held), 2), np.uint64)
    hands[:, :, 0] = bits[:, held].sum(axis=2)
    hands[:, :, 1] = every[:, None] - hands[:, :, 0]
    trump = 0 if rules.trumps == "upcard" else 4
    low = rules.lows[0]
    tricks = values(hands.reshape(-1, 2), trump, 0, low).reshape(len(kept), len(held))
    played = rules.foreplay_tricks if rules.counts == "all" else 0
    record = rules.record()[0]
    worth = np.zeros((played + 1, len(kept), 1 << left), np.int16)
    masks = (1 << held).sum(axis=1)
    for taken in range(played + 1):
        pays = [
            pay_for(record, int(low), taken + won, played - taken + hand - won)
            for won in range(hand + 1)
        ]
        worth[taken][:, masks] = np.array(pays, np.int16)[tricks]
    return Leaves(row_of, worth, _packed())
