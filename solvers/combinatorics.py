"""Combinatorial numbers of card subsets, and index maps for cards that become public.

The hidden cards of a hand are a subset of the unseen cards. Subsets of one size are numbered in
rising order of their bits, which does not depend on the number of unseen cards. A card that
becomes public leaves the unseen ones, and the bits above it move down; the maps give the number
that each smaller subset had before.
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np

from ..engine.rules import Rules


class Subsets(NamedTuple):
    """Index maps for compiled code."""

    without_card_at: np.ndarray
    """`without_card[without_card_at[j, u] + i]`: subset `i` of `u` cards with a gap at `j`."""
    without_card: np.ndarray
    with_card_at: np.ndarray
    """`with_card[with_card_at[j, u] + i]`: subset `i` of `u` cards with a further card at `j`."""
    with_card: np.ndarray
    without_suit_at: np.ndarray
    """`without_suit[without_suit_at[lo, n, u] + i]`: subset `i` of `u` with `n` gaps from `lo`."""
    without_suit: np.ndarray
    drop_one_at: np.ndarray
    """`drop_one[drop_one_at[u] + u * i + k]`: subset `i` of `u` cards without its `k`-th."""
    drop_one: np.ndarray
    complement_at: np.ndarray
    """`complement[complement_at[m, u] + (m - u) * i + k]`: the complement among `m` cards of
    subset `i` of `u`, without its `k`-th card."""
    complement: np.ndarray
    card_bits_at: np.ndarray
    """`card_bits[card_bits_at[cards, u] + i]`: the bits of subset `i` of `u` of a set of cards."""
    card_bits: np.ndarray


def _number_subsets(most: int) -> tuple[list[np.ndarray], np.ndarray]:
    bits = np.arange(1 << most, dtype=np.uint32)
    sizes = np.bitwise_count(bits)
    by_size = [bits[sizes == u] for u in range(most + 1)]
    rank = np.zeros(1 << most, np.uint32)
    for of_size in by_size:
        rank[of_size] = np.arange(len(of_size))
    return by_size, rank


def _with_gap(bits: np.ndarray, low: int, count: int) -> np.ndarray:
    """The same sets with a gap of `count` bits from bit `low` on."""
    below = np.uint32((1 << low) - 1)
    return (bits & below) | ((bits & ~below) << np.uint32(count))


class _IndexLists:
    """Concatenated lists of indices; the first is an identity map, at position 0."""

    def __init__(self, identity: int) -> None:
        self.parts = [np.arange(identity)]
        self.size = identity

    def add(self, part: np.ndarray) -> int:
        at = self.size
        self.parts.append(part.ravel())
        self.size += part.size
        return at

    def array(self) -> np.ndarray:
        indices = np.concatenate(self.parts)
        # Of 20 cards, 10 can be held in 184,756 ways.
        small = indices.max(initial=0) <= np.iinfo(np.uint16).max
        return indices.astype(np.uint16 if small else np.uint32)


def _drop_each(bits: np.ndarray, count: int) -> np.ndarray:
    remaining, columns = bits.copy(), []
    for _ in range(count):
        lowest = remaining & -remaining.astype(np.int64).astype(np.uint32)
        columns.append(bits ^ lowest)
        remaining ^= lowest
    return np.stack(columns, axis=1) if columns else np.zeros((len(bits), 0), np.uint32)


@cache
def subsets(rules: Rules) -> Subsets:
    most, longest_suit, hand = len(rules.deck) - 1, rules.ranks, rules.hand
    by_size, rank = _number_subsets(most)
    identity = max(map(len, by_size))
    without_card, with_card, without_suit = (
        _IndexLists(identity),
        _IndexLists(identity),
        _IndexLists(identity),
    )
    drop_one, complement = _IndexLists(0), _IndexLists(0)
    without_card_at = np.zeros((most + 1, most + 1), np.int64)
    with_card_at, complement_at = without_card_at.copy(), without_card_at.copy()
    without_suit_at = np.zeros((most + 1, longest_suit + 1, most + 1), np.int64)
    drop_one_at = np.zeros(most + 1, np.int64)
    for u in range(hand + 1):
        smaller = by_size[u][: comb(most - 1, u)]
        for j in range(most):
            with_gap = _with_gap(smaller, j, 1)
            without_card_at[j, u] = without_card.add(rank[with_gap])
            with_card_at[j, u] = with_card.add(rank[with_gap | np.uint32(1 << j)])
            for count in range(1, min(longest_suit, most - j) + 1):
                smaller_suit = by_size[u][: comb(most - count, u)]
                without_suit_at[j, count, u] = without_suit.add(
                    rank[_with_gap(smaller_suit, j, count)]
                )
        drop_one_at[u] = drop_one.add(rank[_drop_each(by_size[u], u)])
        for m in range(u + 1, min(most, 2 * hand + 1) + 1):
            left = by_size[u][: comb(m, u)] ^ np.uint32((1 << m) - 1)
            complement_at[m, u] = complement.add(rank[_drop_each(left, m - u)])
    card_bits_at, card_bits = _card_bits(2 * hand, hand, rules.foreplay_tricks)
    return Subsets(
        without_card_at=without_card_at,
        without_card=without_card.array(),
        with_card_at=with_card_at,
        with_card=with_card.array(),
        without_suit_at=without_suit_at,
        without_suit=without_suit.array(),
        drop_one_at=drop_one_at,
        drop_one=drop_one.array(),
        complement_at=complement_at,
        complement=complement.array(),
        card_bits_at=card_bits_at,
        card_bits=card_bits,
    )


def _card_bits(cards: int, hand: int, n_public: int) -> tuple[np.ndarray, np.ndarray]:
    """The subsets, by size, of every set that lacks at most `n_public` of so many cards."""
    at = np.zeros((1 << cards, hand + 1), np.int64)
    parts: list[np.ndarray] = []
    size = 0
    for mask in range(1 << cards):
        positions = [place for place in range(cards) if mask >> place & 1]
        if len(positions) < cards - n_public:
            continue
        subset_bits = np.zeros(1, np.uint32)
        for place in positions:
            subset_bits = np.concatenate([subset_bits, subset_bits | np.uint32(1 << place)])
        counts = np.bitwise_count(subset_bits)
        for u in range(hand + 1):
            of_size = subset_bits[counts == u]
            at[mask, u] = size
            parts.append(of_size)
            size += len(of_size)
    return at, np.concatenate(parts)
