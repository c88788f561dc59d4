"""Terminal values of the public tree: every ending of a small deck, solved in advance.

When the stock is empty the opponent's hand is the complement of one's own, so the rest of the
hand is an exact ending: one look-up by the cards in play and those of the leader.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..common.jit.compiler import forceinline
from ..engine.bitset import popcount
from ..engine.endgame import values
from ..engine.play import payoff_of_tricks, row
from ..engine.rules import Rules

_BYTE = 8


class TerminalValues(NamedTuple):
    """Payoffs of all endings, for compiled code."""

    row_of: np.ndarray
    """Row of a set of cards in play."""
    payoffs: np.ndarray
    """`payoffs[taken, row, hand]`: payoff of the leader, who took `taken` of the counting tricks;
    `hand` is the leader's, as bits among the cards in play."""
    payoffs_of_other: np.ndarray
    """Payoffs of the other player: their negatives."""
    pack_table: np.ndarray
    """`pack_table[mask, bits]`: the bits of a byte under the mask, packed."""


def _pack_table() -> np.ndarray:
    table = np.zeros((1 << _BYTE, 1 << _BYTE), np.uint8)
    for mask in range(1 << _BYTE):
        places = [place for place in range(_BYTE) if mask >> place & 1]
        for to, place in enumerate(places):
            table[mask] |= ((np.arange(1 << _BYTE) >> place & 1) << to).astype(np.uint8)
    return table


@forceinline
def pack_bits(pack_table: np.ndarray, cards: np.uint64, mask: np.uint64) -> np.uint64:
    """The bits of a set under a mask of up to 24 bits, packed (PEXT)."""
    byte = np.uint64(255)
    first, second = mask & byte, (mask >> np.uint64(8)) & byte
    bits = np.uint64(pack_table[first, cards & byte])
    shift = np.uint64(popcount(first))
    bits |= np.uint64(pack_table[second, (cards >> np.uint64(8)) & byte]) << shift
    shift += np.uint64(popcount(second))
    third = (mask >> np.uint64(16)) & byte
    return bits | np.uint64(pack_table[third, (cards >> np.uint64(16)) & byte]) << shift


def terminal_values(rules: Rules) -> TerminalValues:
    """Solve every ending of a rule set's deck."""
    cards, n_remaining, hand = len(rules.deck), 2 * rules.hand, rules.hand
    deck = np.array([int(card) for card in rules.deck], np.uint64)
    remaining = np.array(list(combinations(range(cards), n_remaining)), np.int64)
    row_of = np.full(1 << cards, -1, np.int32)
    row_of[(1 << remaining).sum(axis=1)] = np.arange(len(remaining))
    leader_hands = np.array(list(combinations(range(n_remaining), hand)), np.int64)
    bits = np.uint64(1) << deck[remaining]
    all_bits = bits.sum(axis=1)
    hands = np.zeros((len(remaining), len(leader_hands), 2), np.uint64)
    hands[:, :, 0] = bits[:, leader_hands].sum(axis=2)
    hands[:, :, 1] = all_bits[:, None] - hands[:, :, 0]
    trump = 0 if rules.trumps == "upcard" else 4
    low = rules.lows[0]
    tricks = values(hands.reshape(-1, 2), trump, 0, low).reshape(len(remaining), len(leader_hands))
    played = rules.foreplay_tricks if rules.counts == "all" else 0
    record = row(rules.array(), 0)
    payoffs = np.zeros((played + 1, len(remaining), 1 << n_remaining), np.int16)
    masks = (1 << leader_hands).sum(axis=1)
    for taken in range(played + 1):
        outcomes = [
            payoff_of_tricks(record, int(low), taken + won, played - taken + hand - won)
            for won in range(hand + 1)
        ]
        payoffs[taken][:, masks] = np.array(outcomes, np.int16)[tricks]
    return TerminalValues(row_of, payoffs, -payoffs, _pack_table())
