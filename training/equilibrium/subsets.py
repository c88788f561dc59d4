"""Sets of unseen cards as numbers: how vectors over hands change when cards become public.

What others do not know of a hand is a subset of the cards that nobody has seen. Subsets of
one size are numbered in rising order of their bits, which does not depend on how many cards
they are chosen from. A card that becomes public leaves the unseen ones, and the bits above
it move down; tables tell which number each smaller subset had before.
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np

from ...engine.rules import Rules


class Subsets(NamedTuple):
    """Tables for subsets of up to `most` cards; arrays only, fit for compiled code."""

    kept_at: np.ndarray
    """`kept[kept_at[j, u] + i]`: subset `i` of `u` cards, with a place left free at `j`."""
    kept: np.ndarray
    played_at: np.ndarray
    """`played[played_at[j, u] + i]`: subset `i` of `u` cards, with one more card at `j`."""
    played: np.ndarray
    void_at: np.ndarray
    """`void[void_at[lo, n, u] + i]`: subset `i` of `u`, with `n` places left free from `lo` on."""
    void: np.ndarray
    less_at: np.ndarray
    """`less[less_at[u] + u * i + k]`: subset `i` of `u` cards without its `k`-th."""
    less: np.ndarray
    rest_at: np.ndarray
    """`rest[rest_at[m, u] + (m - u) * i + k]`: the `m` cards without subset `i` of `u` of them,
    and without the `k`-th of those that are left."""
    rest: np.ndarray
    placed_at: np.ndarray
    """`placed[placed_at[cards, u] + i]`: the bits of subset `i` of `u` of a set of cards."""
    placed: np.ndarray


def _ranks(most: int) -> tuple[list[np.ndarray], np.ndarray]:
    """All subsets by size, and the number of each."""
    every = np.arange(1 << most, dtype=np.uint32)
    sizes = np.bitwise_count(every)
    by_size = [every[sizes == u] for u in range(most + 1)]
    rank = np.zeros(1 << most, np.uint32)
    for some in by_size:
        rank[some] = np.arange(len(some))
    return by_size, rank


def _freed(bits: np.ndarray, low: int, count: int) -> np.ndarray:
    """The same sets with `count` places left free from `low` on."""
    below = np.uint32((1 << low) - 1)
    return (bits & below) | ((bits & ~below) << np.uint32(count))


class _Lists:
    """Lists of numbers one after another; the first counts up, so that place 0 changes nothing."""

    def __init__(self, identity: int) -> None:
        self.parts = [np.arange(identity)]
        self.size = identity

    def add(self, part: np.ndarray) -> int:
        at = self.size
        self.parts.append(part.ravel())
        self.size += part.size
        return at

    def array(self) -> np.ndarray:
        return np.concatenate(self.parts).astype(np.uint16)


def _without_each(bits: np.ndarray, count: int) -> np.ndarray:
    """Each set without its first, second, ... card, one column each."""
    left, columns = bits.copy(), []
    for _ in range(count):
        lowest = left & -left.astype(np.int64).astype(np.uint32)
        columns.append(bits ^ lowest)
        left ^= lowest
    return np.stack(columns, axis=1) if columns else np.zeros((len(bits), 0), np.uint32)


@cache
def subsets(rules: Rules) -> Subsets:
    """The tables that the walks over a rule set's tree need."""
    most, longest_suit, hand = len(rules.deck) - 1, rules.ranks, rules.hand
    by_size, rank = _ranks(most)
    identity = max(map(len, by_size))
    kept, played, void = _Lists(identity), _Lists(identity), _Lists(identity)
    less, rest = _Lists(0), _Lists(0)
    kept_at = np.zeros((most + 1, most + 1), np.int64)
    played_at, rest_at = kept_at.copy(), kept_at.copy()
    void_at = np.zeros((most + 1, longest_suit + 1, most + 1), np.int64)
    less_at = np.zeros(most + 1, np.int64)
    for u in range(hand + 1):
        smaller = by_size[u][: comb(most - 1, u)]
        for j in range(most):
            freed = _freed(smaller, j, 1)
            kept_at[j, u] = kept.add(rank[freed])
            played_at[j, u] = played.add(rank[freed | np.uint32(1 << j)])
            for count in range(1, min(longest_suit, most - j) + 1):
                some = by_size[u][: comb(most - count, u)]
                void_at[j, count, u] = void.add(rank[_freed(some, j, count)])
        less_at[u] = less.add(rank[_without_each(by_size[u], u)])
        for m in range(u + 1, min(most, 2 * hand + 1) + 1):
            left = by_size[u][: comb(m, u)] ^ np.uint32((1 << m) - 1)
            rest_at[m, u] = rest.add(rank[_without_each(left, m - u)])
    placed_at, placed = _placed(2 * hand, hand, rules.foreplay_tricks)
    return Subsets(
        kept_at, kept.array(), played_at, played.array(), void_at, void.array(),
        less_at, less.array(), rest_at, rest.array(), placed_at, placed,
    )  # fmt: skip


def _placed(cards: int, hand: int, known: int) -> tuple[np.ndarray, np.ndarray]:
    """The subsets of every set that lacks at most `known` of so many cards, by size."""
    at = np.zeros((1 << cards, hand + 1), np.int64)
    parts: list[np.ndarray] = []
    size = 0
    for chosen in range(1 << cards):
        places = [place for place in range(cards) if chosen >> place & 1]
        if len(places) < cards - known:
            continue
        found = np.zeros(1, np.uint32)
        for place in places:
            found = np.concatenate([found, found | np.uint32(1 << place)])
        counts = np.bitwise_count(found)
        for u in range(hand + 1):
            some = found[counts == u]
            at[chosen, u] = size
            parts.append(some)
            size += len(some)
    return at, np.concatenate(parts)
