# pyright: reportReturnType=false
"""Index of endgames in a tablebase: suit lengths, ownership pattern, rank.

Only the order of the remaining cards matters, so an endgame with `n` cards each is a *class*, the
lengths of the four suits, and a *pattern* of `2n` bits, suit after suit and low cards first, in
which a bit is set when the card belongs to the player on lead. Equivalent suits are sorted by
length: the three side suits beside a trump suit (which comes first), or all four without trumps. A
pattern's number is its rank among all patterns with `n` set bits, in increasing order; the endgames
of a class follow each other by rank, and the classes of a layer by their lengths.

Exchanging the two players complements the pattern, which turns rank `r` of `s` into `s - 1 - r`, so
no second table is needed for the other player on lead.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from math import comb
from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import forceinline, jit
from ..bitset import NO_CARDS, ONE, SUIT_BITS, lowest, popcount
from ..play import Record

MAX_CARDS = 13
"""The largest hand: a suit has thirteen cards and two full hands have 26."""

TRANSITION = np.dtype(
    [
        ("class_id", "u4"),  # the class after the trick
        ("moves", "u4"),  # 1: the order of suits changes
        ("masks", "u4", (4,)),  # bits of each suit before
        ("shifts", "u4", (4,)),  # shift of each suit, plus 32
    ]
)
"""Change of class by a trick."""


class IndexScheme(NamedTuple):
    """Index arrays of a tablebase for compiled code."""

    trumps: int
    """1 when the first suit of a class is trumps, 0 without trumps."""
    first_class: np.ndarray
    """`first_class[n]` is the number of the first class with `n` cards each."""
    class_sizes: np.ndarray
    """`class_sizes[n]`: how many patterns each class with `n` cards has."""
    class_offsets: np.ndarray
    """First entry of each class in its layer."""
    suits: np.ndarray
    """`suits[class_id, suit]`: the bits of a suit in the patterns of a class."""
    bottoms: np.ndarray
    """`bottoms[class_id]`: the lowest bit of every suit, where runs of cards end."""
    transitions: np.ndarray
    """`transitions[class_id, lead_suit, reply_suit]`: the `TRANSITION` of a class by a trick."""
    class_ids: np.ndarray
    """Class of four suit lengths."""
    rank_low: np.ndarray
    """Rank of the lower half of a pattern."""
    rank_high: np.ndarray
    """Rank added by the upper half, for `n` cards from index `2**n` on."""


def layer_size(scheme: IndexScheme, n: int) -> int:
    """Number of endgames with `n` cards each."""
    return int(scheme.first_class[n + 1] - scheme.first_class[n]) * int(scheme.class_sizes[n])


def layer_bytes(scheme: IndexScheme, n: int) -> int:
    return (layer_size(scheme, n) + 1) // 2


def class_lengths(trumps: bool, n: int) -> list[tuple[int, int, int, int]]:
    """Classes of a layer in order: trumps first if there are any, the rest sorted."""
    lengths = []
    for first, second, third in product(range(MAX_CARDS + 1), repeat=3):
        fourth = 2 * n - first - second - third
        sides = (second, third, fourth)
        if not trumps:
            sides = (first, *sides)
        if 0 <= fourth <= MAX_CARDS and all(
            shorter <= longer for shorter, longer in pairwise(sides)
        ):
            lengths.append((first, second, third, fourth))
    return lengths


@cache
def index_scheme(trumps: bool) -> IndexScheme:
    """Index of all endgames with up to thirteen cards each."""
    by_layer = [class_lengths(trumps, n) for n in range(MAX_CARDS + 1)]
    sizes = np.array([comb(2 * n, n) for n in range(MAX_CARDS + 1)], np.uint64)
    lengths = np.array([c for classes in by_layer for c in classes], np.int64)
    counts = [len(classes) for classes in by_layer]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    base = np.concatenate([np.arange(k) * int(s) for k, s in zip(counts, sizes, strict=True)])
    find = np.full((MAX_CARDS + 1,) * 4, -1, np.int16)
    find[tuple(lengths.T)] = np.arange(len(lengths))
    offsets = _offsets(lengths)
    bottoms = ((1 << offsets) * (lengths > 0)).sum(axis=1)
    low, high = _rank_tables()
    return IndexScheme(
        trumps=int(trumps),
        first_class=first,
        class_sizes=sizes,
        class_offsets=base.astype(np.uint64),
        suits=(((1 << lengths) - 1) << offsets).astype(np.uint64),
        bottoms=bottoms.astype(np.uint64),
        transitions=_steps(lengths, find, trumps),
        class_ids=find,
        rank_low=low,
        rank_high=high,
    )


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.cumsum(lengths, axis=-1) - lengths


def _steps(lengths: np.ndarray, find: np.ndarray, trumps: bool) -> np.ndarray:
    steps = np.zeros((len(lengths), 4, 4), TRANSITION)
    fixed = 1 if trumps else 0
    for lead_suit, reply_suit in product(range(4), repeat=2):
        left = lengths.copy()
        left[:, lead_suit] -= 1
        left[:, reply_suit] -= 1
        possible = (left >= 0).all(axis=1)
        left[~possible] = 0
        order = np.argsort(left[:, fixed:], axis=1, kind="stable") + fixed
        order = np.concatenate([np.zeros((len(left), fixed), np.int64), order], axis=1)
        ordered = np.take_along_axis(left, order, axis=1)
        before = _offsets(left)
        after = np.empty_like(before)
        np.put_along_axis(after, order, _offsets(ordered), axis=1)
        step = steps[:, lead_suit, reply_suit]
        step["class_id"] = np.where(possible, find[tuple(ordered.T)], 0)
        step["moves"] = ((after != before) & (left > 0)).any(axis=1)
        step["masks"] = ((1 << left) - 1) << before
        step["shifts"] = 32 + after - before
    return steps


def _rank_tables() -> tuple[np.ndarray, np.ndarray]:
    """Rank of a pattern, as a sum over its two halves of `n` bits each."""
    choose = np.array([[comb(p, k) for k in range(28)] for p in range(28)], np.int64)
    half = np.arange(1 << MAX_CARDS)
    bit_counts = np.array([int(h).bit_count() for h in half])

    def ranks(patterns: np.ndarray, start: int, below: np.ndarray) -> np.ndarray:
        total = np.zeros(len(patterns), np.int64)
        n_set = below.copy()
        for place in range(MAX_CARDS):
            bit = (patterns >> place) & 1
            n_set += bit
            total += bit * choose[min(start + place, 27), np.clip(n_set, 0, 27)]
        return total

    low = ranks(half, 0, np.zeros(len(half), np.int64))
    high = np.zeros(2 << MAX_CARDS, np.int64)
    for n in range(MAX_CARDS + 1):
        halves = half[: 1 << n]
        high[1 << n : 2 << n] = ranks(halves, n, n - bit_counts[: 1 << n])
    return low.astype(np.uint32), high.astype(np.uint32)


@forceinline
def rank_of(scheme: IndexScheme, n: int, pattern: np.uint64) -> np.uint64:
    """Rank of a pattern among those of its size."""
    half = ONE << np.uint64(n)
    low = scheme.rank_low[pattern & (half - ONE)]
    return np.uint64(low) + np.uint64(scheme.rank_high[half + (pattern >> np.uint64(n))])


@forceinline
def without(pattern: np.uint64, card: int) -> np.uint64:
    """Pattern after removal of a card: the higher bits move down."""
    below = (ONE << np.uint64(card)) - ONE
    return (pattern & below) | ((pattern >> ONE) & ~below)


@forceinline
def reordered(step: Record, pattern: np.uint64) -> np.uint64:
    """Pattern with its suits in the order of the class after the trick."""
    if step.moves == 0:
        return pattern
    moved = np.uint64(0)
    for suit in range(4):
        moved |= (pattern & np.uint64(step.masks[suit])) << np.uint64(step.shifts[suit])
    # Suits move both ways, and negative shifts are undefined: all are shifted by 32 more.
    return moved >> np.uint64(32)


@forceinline
def after_trick(step: Record, pattern: np.uint64, first: int, second: int) -> np.uint64:
    """Pattern after removal of both cards of a trick, from the same player's perspective."""
    if first > second:
        return reordered(step, without(without(pattern, first), second))
    return reordered(step, without(without(pattern, second), first))


@forceinline
def entry(table: np.ndarray, index: np.uint64) -> int:
    """The four-bit value of an endgame."""
    byte = np.uint64(table[index >> ONE])
    return np.int64((byte >> ((index & ONE) << np.uint64(2))) & np.uint64(15))


@forceinline
def run_bottoms(cards: np.uint64, bottoms: np.uint64) -> np.uint64:
    """Lowest card of each run of adjacent cards, suit by suit."""
    return cards & ~((cards << ONE) & ~bottoms)


@forceinline
def suit_of(scheme: IndexScheme, class_id: int, card: int) -> int:
    suit = 0
    while not (scheme.suits[class_id, suit] >> np.uint64(card)) & ONE:
        suit += 1
    return suit


@forceinline
def _length_and_suit(all_cards: np.uint64, suit: np.uint64) -> int:
    suit &= np.uint64(3)
    length = popcount((all_cards >> (np.uint64(13) * suit)) & SUIT_BITS)
    return 4 * length + np.int64(suit)


@forceinline
def _moved_suit(cards: np.uint64, suit: int, place: int) -> np.uint64:
    return ((cards >> np.uint64(13 * (suit & 3))) & SUIT_BITS) << np.uint64(13 * place)


@jit
def pattern_of(
    find: np.ndarray, trumps: int, hand: np.uint64, other_hand: np.uint64, trump: int
) -> tuple[int, np.uint64, int]:
    """Class and pattern of two hands, `hand` on lead, and the suits in class order.

    It takes only the arrays that it needs, which makes the call cheap; the suits are given as two
    bits each, leading suit lowest.
    """
    all_cards = hand | other_hand
    leading = np.uint64(trump if 0 < trump < 4 else 0)
    first = _length_and_suit(all_cards, leading)
    second = _length_and_suit(all_cards, np.uint64(0) if leading == 1 else np.uint64(1))
    third = _length_and_suit(all_cards, np.uint64(0) if leading == 2 else np.uint64(2))
    fourth = _length_and_suit(all_cards, np.uint64(0) if leading == 3 else np.uint64(3))
    second, third = min(second, third), max(second, third)
    third, fourth = min(third, fourth), max(third, fourth)
    second, third = min(second, third), max(second, third)
    if not trumps:
        first, second = min(first, second), max(first, second)
        second, third = min(second, third), max(second, third)
        third, fourth = min(third, fourth), max(third, fourth)
    all_cards = (
        _moved_suit(all_cards, first, 0)
        | _moved_suit(all_cards, second, 1)
        | _moved_suit(all_cards, third, 2)
        | _moved_suit(all_cards, fourth, 3)
    )
    own_cards = (
        _moved_suit(hand, first, 0)
        | _moved_suit(hand, second, 1)
        | _moved_suit(hand, third, 2)
        | _moved_suit(hand, fourth, 3)
    )
    pattern = NO_CARDS
    while own_cards:
        pattern |= ONE << np.uint64(
            popcount(all_cards & ((ONE << np.uint64(lowest(own_cards))) - ONE))
        )
        own_cards &= own_cards - ONE
    suits = first & 3 | (second & 3) << 2 | (third & 3) << 4 | (fourth & 3) << 6
    return np.int64(find[first >> 2, second >> 2, third >> 2, fourth >> 2]), pattern, suits


@jit
def index_hands(
    scheme: IndexScheme, hand: np.uint64, other_hand: np.uint64, trump: int, cards: np.ndarray
) -> tuple[int, np.uint64]:
    """Class and pattern of two hands; `cards` receives the card id of each bit."""
    class_id, pattern, suits = pattern_of(scheme.class_ids, scheme.trumps, hand, other_hand, trump)
    bit = 0
    for place in range(4):
        left = (hand | other_hand) & (SUIT_BITS << np.uint64(13 * ((suits >> 2 * place) & 3)))
        while left:
            cards[bit] = lowest(left)
            left &= left - ONE
            bit += 1
    return class_id, pattern
