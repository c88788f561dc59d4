"""How an ending becomes a number: suit lengths, ownership pattern, rank.

Only the order of the remaining cards matters, so an ending with `n` cards each
is a *class*, the lengths of the four suits, and a *pattern* of `2n` bits, suit
after suit and low cards first, in which a bit is set when the card belongs to
the player on lead. Suits that play the same part are sorted by length: the
three side suits beside a trump suit (which comes first), or all four without
trumps. A pattern's number is its rank among all patterns with `n` set bits, in
rising numerical order; a class's endings follow each other by that rank, and
the classes of a layer follow each other by their lengths.

Exchanging the two players complements the pattern, which turns rank `r` of `s`
into `s - 1 - r`, so the other player on lead needs no table of its own.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from math import comb
from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, SUIT_BITS, lowest, popcount
from ...common.jit.compiler import inlined, jit
from ..play import Record

MOST_CARDS = 13
"""The largest hand: a suit has thirteen cards and two full hands have 26."""

STEP = np.dtype(
    [
        ("c", "u4"),  # the class after the trick
        ("moves", "u4"),  # 1: suits change places
        ("masks", "u4", (4,)),  # where each suit lies before
        ("shifts", "u4", (4,)),  # by how much it moves, plus 32
    ]
)
"""What a trick does to a class."""


class Layout(NamedTuple):
    """Everything that places an ending in a tablebase; arrays only, fit for compiled code."""

    trumps: int
    """1 when the first suit of a class is trumps, 0 without trumps."""
    first: np.ndarray
    """`first[n]` is the number of the first class with `n` cards each."""
    sizes: np.ndarray
    """`sizes[n]`: how many patterns each class with `n` cards has."""
    base: np.ndarray
    """Where a class begins, counted in endings from the start of its layer."""
    suits: np.ndarray
    """`suits[c, s]`: the bits of suit `s` in the patterns of class `c`."""
    bottoms: np.ndarray
    """`bottoms[c]`: the lowest bit of every suit, where runs of cards end."""
    steps: np.ndarray
    """`steps[c, i, j]`: the `STEP` of class `c` by one card of suit `i` and one of suit `j`."""
    find: np.ndarray
    """The class of four lengths."""
    rank_low: np.ndarray
    """Rank of the lower half of a pattern."""
    rank_high: np.ndarray
    """Rank added by the upper half, for `n` cards from index `2**n` on."""


def layer_size(layout: Layout, n: int) -> int:
    """How many endings with `n` cards each there are."""
    return int(layout.first[n + 1] - layout.first[n]) * int(layout.sizes[n])


def layer_bytes(layout: Layout, n: int) -> int:
    """The bytes a layer takes, two endings each."""
    return (layer_size(layout, n) + 1) // 2


def class_lengths(trumps: bool, n: int) -> list[tuple[int, int, int, int]]:
    """The classes of a layer in order: trumps first where there are any, the rest sorted."""
    found = []
    for a, b, c in product(range(MOST_CARDS + 1), repeat=3):
        d = 2 * n - a - b - c
        sides = (b, c, d) if trumps else (a, b, c, d)
        if 0 <= d <= MOST_CARDS and all(x <= y for x, y in pairwise(sides)):
            found.append((a, b, c, d))
    return found


@cache
def layout(trumps: bool) -> Layout:
    """The layout of all endings with up to thirteen cards each."""
    by_layer = [class_lengths(trumps, n) for n in range(MOST_CARDS + 1)]
    sizes = np.array([comb(2 * n, n) for n in range(MOST_CARDS + 1)], np.uint64)
    lengths = np.array([c for classes in by_layer for c in classes], np.int64)
    counts = [len(classes) for classes in by_layer]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    base = np.concatenate([np.arange(k) * int(s) for k, s in zip(counts, sizes, strict=True)])
    find = np.full((MOST_CARDS + 1,) * 4, -1, np.int16)
    find[tuple(lengths.T)] = np.arange(len(lengths))
    offsets = _offsets(lengths)
    bottoms = ((1 << offsets) * (lengths > 0)).sum(axis=1)
    low, high = _rank_tables()
    return Layout(
        int(trumps),
        first,
        sizes,
        base.astype(np.uint64),
        (((1 << lengths) - 1) << offsets).astype(np.uint64),
        bottoms.astype(np.uint64),
        _steps(lengths, find, trumps),
        find,
        low,
        high,
    )


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.cumsum(lengths, axis=-1) - lengths


def _steps(lengths: np.ndarray, find: np.ndarray, trumps: bool) -> np.ndarray:
    """Where every class leads when a trick takes one card of suit `i` and one of suit `j`."""
    steps = np.zeros((len(lengths), 4, 4), STEP)
    fixed = 1 if trumps else 0
    for i, j in product(range(4), repeat=2):
        left = lengths.copy()
        left[:, i] -= 1
        left[:, j] -= 1
        possible = (left >= 0).all(axis=1)
        left[~possible] = 0
        order = np.argsort(left[:, fixed:], axis=1, kind="stable") + fixed
        order = np.concatenate([np.zeros((len(left), fixed), np.int64), order], axis=1)
        ordered = np.take_along_axis(left, order, axis=1)
        before = _offsets(left)
        after = np.empty_like(before)
        np.put_along_axis(after, order, _offsets(ordered), axis=1)
        step = steps[:, i, j]
        step["c"] = np.where(possible, find[tuple(ordered.T)], 0)
        step["moves"] = ((after != before) & (left > 0)).any(axis=1)
        step["masks"] = ((1 << left) - 1) << before
        step["shifts"] = 32 + after - before
    return steps


def _rank_tables() -> tuple[np.ndarray, np.ndarray]:
    """The rank of a pattern, as a sum over its two halves of `n` bits each."""
    choose = np.array([[comb(p, k) for k in range(28)] for p in range(28)], np.int64)
    half = np.arange(1 << MOST_CARDS)
    held = np.array([int(h).bit_count() for h in half])

    def ranks(patterns: np.ndarray, start: int, below: np.ndarray) -> np.ndarray:
        total = np.zeros(len(patterns), np.int64)
        seen = below.copy()
        for place in range(MOST_CARDS):
            here = (patterns >> place) & 1
            seen += here
            total += here * choose[min(start + place, 27), np.clip(seen, 0, 27)]
        return total

    low = ranks(half, 0, np.zeros(len(half), np.int64))
    high = np.zeros(2 << MOST_CARDS, np.int64)
    for n in range(MOST_CARDS + 1):
        some = half[: 1 << n]
        high[1 << n : 2 << n] = ranks(some, n, n - held[: 1 << n])
    return low.astype(np.uint32), high.astype(np.uint32)


@inlined
def rank_of(layout: Any, n: int, pattern: np.uint64) -> np.uint64:
    """The rank of a pattern among those of its size."""
    half = ONE << np.uint64(n)
    low = layout.rank_low[pattern & (half - ONE)]
    return np.uint64(low) + np.uint64(layout.rank_high[half + (pattern >> np.uint64(n))])


@inlined
def without(pattern: np.uint64, card: int) -> np.uint64:
    """The pattern after a card has left: the ones above it move down."""
    below = (ONE << np.uint64(card)) - ONE
    return (pattern & below) | ((pattern >> ONE) & ~below)


@inlined
def reordered(step: Record, pattern: np.uint64) -> np.uint64:
    """The pattern with its suits in the order of the class it now belongs to."""
    if step.moves == 0:
        return pattern
    moved = np.uint64(0)
    for s in range(4):
        moved |= (pattern & np.uint64(step.masks[s])) << np.uint64(step.shifts[s])
    # A suit moves down as well as up, and a shift by a negative number is undefined: all are
    # shifted 32 too far.
    return moved >> np.uint64(32)


@inlined
def after_trick(step: Record, pattern: np.uint64, first: int, second: int) -> np.uint64:
    """The pattern after both cards of a trick have left, seen by the same player as before."""
    if first > second:
        return reordered(step, without(without(pattern, first), second))
    return reordered(step, without(without(pattern, second), first))


@inlined
def entry(table: np.ndarray, index: np.uint64) -> int:
    """The four bits stored for an ending."""
    byte = np.uint64(table[index >> ONE])
    return np.int64((byte >> ((index & ONE) << np.uint64(2))) & np.uint64(15))


@inlined
def run_bottoms(cards: np.uint64, bottoms: np.uint64) -> np.uint64:
    """The lowest card of every run of neighbours, suit by suit."""
    return cards & ~((cards << ONE) & ~bottoms)


@inlined
def suit_of(lay: Any, c: int, card: int) -> int:
    """The suit a pattern's card belongs to."""
    suit = 0
    while not (lay.suits[c, suit] >> np.uint64(card)) & ONE:
        suit += 1
    return suit


@inlined
def _sized(every: np.uint64, suit: np.uint64) -> int:
    suit &= np.uint64(3)
    length = popcount((every >> (np.uint64(13) * suit)) & SUIT_BITS)
    return 4 * length + np.int64(suit)


@inlined
def _moved(cards: np.uint64, suit: int, to: int) -> np.uint64:
    return ((cards >> np.uint64(13 * (suit & 3))) & SUIT_BITS) << np.uint64(13 * to)


@jit
def pattern_of(
    find: np.ndarray, trumps: int, mine: np.uint64, theirs: np.uint64, trump: int
) -> tuple[int, np.uint64, int]:
    """The class and the pattern of two hands, `mine` on lead, and the suits in class order.

    Takes of the layout no more than it needs, which makes it cheap to call; the
    suits are given as two bits each, first suit lowest.
    """
    every = mine | theirs
    first = np.uint64(trump if 0 < trump < 4 else 0)
    a = _sized(every, first)
    b = _sized(every, np.uint64(0) if first == 1 else np.uint64(1))
    c = _sized(every, np.uint64(0) if first == 2 else np.uint64(2))
    d = _sized(every, np.uint64(0) if first == 3 else np.uint64(3))
    b, c = min(b, c), max(b, c)
    c, d = min(c, d), max(c, d)
    b, c = min(b, c), max(b, c)
    if not trumps:
        a, b = min(a, b), max(a, b)
        b, c = min(b, c), max(b, c)
        c, d = min(c, d), max(c, d)
    every = _moved(every, a, 0) | _moved(every, b, 1) | _moved(every, c, 2) | _moved(every, d, 3)
    own = _moved(mine, a, 0) | _moved(mine, b, 1) | _moved(mine, c, 2) | _moved(mine, d, 3)
    pattern = NO_CARDS
    while own:
        pattern |= ONE << np.uint64(popcount(every & ((ONE << np.uint64(lowest(own))) - ONE)))
        own &= own - ONE
    suits = a & 3 | (b & 3) << 2 | (c & 3) << 4 | (d & 3) << 6
    return np.int64(find[a >> 2, b >> 2, c >> 2, d >> 2]), pattern, suits


@jit
def place(
    lay: Any, mine: np.uint64, theirs: np.uint64, trump: int, cards: np.ndarray
) -> tuple[int, np.uint64]:
    """The class and the pattern of two hands; `cards` gets the card id of each of its bits."""
    c, pattern, suits = pattern_of(lay.find, lay.trumps, mine, theirs, trump)
    at = 0
    for s in range(4):
        left = (mine | theirs) & (SUIT_BITS << np.uint64(13 * ((suits >> 2 * s) & 3)))
        while left:
            cards[at] = lowest(left)
            left &= left - ONE
            at += 1
    return c, pattern
