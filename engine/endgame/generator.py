"""The tablebase generator: one layer of endings out of the layer below it.

In a high contract a reply that wins may as well be the cheapest one, and a
reply that loses the lowest card of its suit: keeping the higher of two cards
never costs a trick. That rests on a property of the layer below, that an own
card exchanged for the opponent's next higher one never costs its new owner
anything, and `swaps_that_hurt` counts the endings that break it: none does. So
each layer, once counted, proves the short cut of the next. In low contracts the
property fails from five cards on, and every reply that differs is tried.

Cards of one hand are the same to lead, or to reply with, while every card
between them belongs to that hand; the led card still counts as being there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import ONE, lowest
from ...common.jit.compiler import inlined, jit
from ..play import row
from .index import after_trick, entry, rank_of, run_bottoms
from .search import Node


class Trick(NamedTuple):
    """Two cards by their bits of a pattern, and their suits by their places in the class."""

    lead_suit: int
    reply_suit: int
    lead: int
    reply: int


class Classes(NamedTuple):
    """Some neighbouring classes of a layer."""

    n: int
    """Cards in each hand."""
    first: int
    end: int
    """The first class behind them."""


@inlined
def _outcome(lay: Any, node: Node, below: np.ndarray, trick: Trick, leader_wins: bool) -> int:
    """The leader's tricks when this trick is played and the rest is known."""
    n = node.n
    step = row(lay.steps[node.c, trick.lead_suit], trick.reply_suit)
    rank = rank_of(lay, n - 1, after_trick(step, node.pattern, trick.lead, trick.reply))
    base = lay.base[step.c]
    if leader_wins:
        return 1 + entry(below, base + rank)
    # The other is on lead then: exchanging the players turns the ranks of a class round.
    return n - 1 - entry(below, base + lay.sizes[n - 1] - ONE - rank)


@jit
def _most(lay: Any, node: Node, below: np.ndarray) -> int:
    """The leader's tricks when both want many."""
    n, c, pattern = node
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    leads = run_bottoms(pattern, lay.bottoms[c])
    best = 0
    for i in range(4):
        mine = leads & lay.suits[c, i]
        theirs = other & lay.suits[c, i]
        while mine and theirs:
            lead = lowest(mine)
            mine &= mine - ONE
            higher = theirs >> np.uint64(lead)
            held = n
            if higher:
                reply = lead + lowest(higher)
                held = _outcome(lay, node, below, Trick(i, i, lead, reply), False)
            if held > best and lowest(theirs) < lead:
                reply = lowest(theirs)
                held = min(held, _outcome(lay, node, below, Trick(i, i, lead, reply), True))
            best = max(best, held)
        if mine and not theirs:
            lead = lowest(mine)
            held = n
            for j in range(4):
                cards = other & lay.suits[c, j]
                if cards and held > best:
                    wins = j > 0 or lay.trumps == 0
                    reply = lowest(cards)
                    held = min(held, _outcome(lay, node, below, Trick(i, j, lead, reply), wins))
            best = max(best, held)
    return best


@jit
def _fewest(lay: Any, node: Node, below: np.ndarray) -> int:
    """The leader's tricks when both want few."""
    n, c, pattern = node
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    leads = run_bottoms(pattern, lay.bottoms[c])
    replies = run_bottoms(other, lay.bottoms[c])
    best = n
    for i in range(4):
        mine = leads & lay.suits[c, i]
        follows = (other & lay.suits[c, i]) != 0
        while mine:
            lead = lowest(mine)
            mine &= mine - ONE
            held = 0
            for j in range(4):
                cards = replies & lay.suits[c, j]
                if follows and i != j:
                    continue
                while cards and held < best:
                    reply = lowest(cards)
                    cards &= cards - ONE
                    wins = lead > reply if i == j else j > 0 or lay.trumps == 0
                    held = max(held, _outcome(lay, node, below, Trick(i, j, lead, reply), wins))
            best = min(best, held)
    return best


@inlined
def next_pattern(pattern: np.uint64) -> np.uint64:
    """The next higher pattern with as many bits set."""
    step = pattern & (~pattern + ONE)
    carried = pattern + step
    return carried | (((pattern ^ carried) >> np.uint64(2)) >> np.uint64(lowest(step)))


@jit
def fill_high(lay: Any, classes: Classes, below: np.ndarray, out: np.ndarray) -> int:
    """Write the endings of some classes; returns the sum of the leaders' tricks."""
    n, first, end = classes
    total = 0
    at = lay.base[first] >> ONE
    for c in range(first, end):
        pattern = (ONE << np.uint64(n)) - ONE
        for _ in range(lay.sizes[n] >> ONE):
            byte = 0
            for nibble in range(2):
                value = _most(lay, Node(n, c, pattern), below)
                pattern = next_pattern(pattern)
                total += value
                byte |= value << (4 * nibble)
            out[at] = byte
            at += ONE
    return total


@jit
def fill_low(lay: Any, classes: Classes, below: np.ndarray, out: np.ndarray) -> int:
    """`fill_high` for a low contract: a twin, since one loop for both compiles to slower code."""
    n, first, end = classes
    total = 0
    at = lay.base[first] >> ONE
    for c in range(first, end):
        pattern = (ONE << np.uint64(n)) - ONE
        for _ in range(lay.sizes[n] >> ONE):
            byte = 0
            for nibble in range(2):
                value = _fewest(lay, Node(n, c, pattern), below)
                pattern = next_pattern(pattern)
                total += value
                byte |= value << (4 * nibble)
            out[at] = byte
            at += ONE
    return total


@jit
def check_classes(lay: Any, classes: Classes, table: np.ndarray) -> tuple[int, int, int]:
    """What the classes hold: their sum, the leader's majorities, and `swaps_that_hurt`.

    The last counts the exchanges of a leader's card for the opponent's next
    higher one after which the table gives the leader fewer tricks.
    """
    n, first, end = classes
    total = 0
    majorities = 0
    hurt = 0
    for c in range(first, end):
        pattern = (ONE << np.uint64(n)) - ONE
        base = lay.base[c]
        for rank in range(lay.sizes[n]):
            value = entry(table, base + np.uint64(rank))
            total += value
            majorities += 2 * value > n
            upper = (ONE << np.uint64(2 * n)) - ONE
            swaps = pattern & ~(pattern >> ONE) & ~(lay.bottoms[c] >> ONE) & (upper >> ONE)
            while swaps:
                two = np.uint64(3) << np.uint64(lowest(swaps))
                swaps &= swaps - ONE
                hurt += entry(table, base + rank_of(lay, n, pattern ^ two)) < value
            pattern = next_pattern(pattern)
    return total, majorities, hurt
