# pyright: reportArgumentType=false
"""Tablebase generator: retrograde computation of one layer from the layer below.

In a high contract a winning reply may as well be the cheapest one, and a losing one the lowest card
of its suit: keeping the higher of two cards never costs a trick. This relies on a property of the
layer below: an own card exchanged for the opponent's next higher one never costs its new owner a
trick. `check_classes` counts the endgames that violate it, and there is none, so each counted layer
proves the reduction for the next one. In low contracts the property fails from five cards on, and
every different reply is tried.

Cards of one hand are equivalent to lead, or to reply with, while every card between them belongs to
that hand; the led card still counts as being there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import forceinline, inline_ir, jit
from ..bitset import ONE, lowest
from ..play import row
from .index import IndexScheme, after_trick, entry, rank_of, run_bottoms
from .search import Node


class TrickCards(NamedTuple):
    """Two cards by their bits in a pattern, and their suits by their index in the class."""

    lead_suit: int
    reply_suit: int
    lead: int
    reply: int


class Classes(NamedTuple):
    """Range of classes of a layer."""

    n: int
    """Cards in each hand."""
    first: int
    end: int
    """The class after the last one."""


@forceinline
def _value_after(
    scheme: IndexScheme, node: Node, below: np.ndarray, trick: TrickCards, leader_wins: bool
) -> int:
    n = node.n
    step = row(scheme.transitions[node.class_id, trick.lead_suit], trick.reply_suit)
    rank = rank_of(scheme, n - 1, after_trick(step, node.pattern, trick.lead, trick.reply))
    base = scheme.class_offsets[step.class_id]
    if leader_wins:
        return 1 + entry(below, base + rank)
    # The opponent is on lead then: exchanging the players reverses the ranks of a class.
    return n - 1 - entry(below, base + scheme.class_sizes[n - 1] - ONE - rank)


@jit
def _max_tricks(scheme: IndexScheme, node: Node, below: np.ndarray) -> int:
    n, class_id, pattern = node
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    leads = run_bottoms(pattern, scheme.bottoms[class_id])
    best = 0
    for lead_suit in range(4):
        leader_cards = leads & scheme.suits[class_id, lead_suit]
        replies = other & scheme.suits[class_id, lead_suit]
        while leader_cards and replies:
            lead = lowest(leader_cards)
            leader_cards &= leader_cards - ONE
            higher = replies >> np.uint64(lead)
            lead_value = n
            if higher:
                reply = lead + lowest(higher)
                trick = TrickCards(lead_suit, lead_suit, lead, reply)
                lead_value = _value_after(scheme, node, below, trick, False)
            if lead_value > best and lowest(replies) < lead:
                reply = lowest(replies)
                trick = TrickCards(lead_suit, lead_suit, lead, reply)
                lead_value = min(lead_value, _value_after(scheme, node, below, trick, True))
            best = max(best, lead_value)
        if leader_cards and not replies:
            lead = lowest(leader_cards)
            lead_value = n
            for reply_suit in range(4):
                cards = other & scheme.suits[class_id, reply_suit]
                if cards and lead_value > best:
                    wins = reply_suit > 0 or scheme.trumps == 0
                    reply = lowest(cards)
                    trick = TrickCards(lead_suit, reply_suit, lead, reply)
                    lead_value = min(lead_value, _value_after(scheme, node, below, trick, wins))
            best = max(best, lead_value)
    return best


@jit
def _min_tricks(scheme: IndexScheme, node: Node, below: np.ndarray) -> int:
    n, class_id, pattern = node
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    leads = run_bottoms(pattern, scheme.bottoms[class_id])
    replies = run_bottoms(other, scheme.bottoms[class_id])
    best = n
    for lead_suit in range(4):
        leader_cards = leads & scheme.suits[class_id, lead_suit]
        follows = (other & scheme.suits[class_id, lead_suit]) != 0
        while leader_cards:
            lead = lowest(leader_cards)
            leader_cards &= leader_cards - ONE
            lead_value = 0
            for reply_suit in range(4):
                cards = replies & scheme.suits[class_id, reply_suit]
                if follows and lead_suit != reply_suit:
                    continue
                while cards and lead_value < best:
                    reply = lowest(cards)
                    cards &= cards - ONE
                    wins = (
                        lead > reply
                        if lead_suit == reply_suit
                        else reply_suit > 0 or scheme.trumps == 0
                    )
                    trick = TrickCards(lead_suit, reply_suit, lead, reply)
                    lead_value = max(lead_value, _value_after(scheme, node, below, trick, wins))
            best = min(best, lead_value)
    return best


@forceinline
def next_pattern(pattern: np.uint64) -> np.uint64:
    """Next higher pattern with the same number of bits (Gosper's hack)."""
    step = pattern & (~pattern + ONE)
    carried = pattern + step
    return carried | (((pattern ^ carried) >> np.uint64(2)) >> np.uint64(lowest(step)))


@inline_ir
def _fill(
    scheme: IndexScheme, classes: Classes, below: np.ndarray, out: np.ndarray, low: bool
) -> None:
    n, first, end = classes
    at = scheme.class_offsets[first] >> ONE
    for class_id in range(first, end):
        pattern = (ONE << np.uint64(n)) - ONE
        for _ in range(scheme.class_sizes[n] >> ONE):
            byte = 0
            for nibble in range(2):
                if low:
                    value = _min_tricks(scheme, Node(n, class_id, pattern), below)
                else:
                    value = _max_tricks(scheme, Node(n, class_id, pattern), below)
                pattern = next_pattern(pattern)
                byte |= value << (4 * nibble)
            out[at] = byte
            at += ONE


@jit
def fill_high(scheme: IndexScheme, classes: Classes, below: np.ndarray, out: np.ndarray) -> None:
    """Write the values of a range of classes."""
    _fill(scheme, classes, below, out, False)


@jit
def fill_low(scheme: IndexScheme, classes: Classes, below: np.ndarray, out: np.ndarray) -> None:
    """`fill_high` for a low contract, compiled apart: one function for both is slower."""
    _fill(scheme, classes, below, out, True)


@jit
def check_classes(scheme: IndexScheme, classes: Classes, table: np.ndarray) -> tuple[int, int, int]:
    """Sum of values, majorities of the leader, and harmful swaps of a range of classes.

    A swap exchanges a leader's card for the opponent's next higher one; it is harmful if the table
    then gives the leader fewer tricks.
    """
    n, first, end = classes
    total = 0
    majorities = 0
    harmful = 0
    for class_id in range(first, end):
        pattern = (ONE << np.uint64(n)) - ONE
        base = scheme.class_offsets[class_id]
        for rank in range(scheme.class_sizes[n]):
            value = entry(table, base + np.uint64(rank))
            total += value
            majorities += 2 * value > n
            upper = (ONE << np.uint64(2 * n)) - ONE
            swaps = (
                pattern & ~(pattern >> ONE) & ~(scheme.bottoms[class_id] >> ONE) & (upper >> ONE)
            )
            while swaps:
                swap_bits = np.uint64(3) << np.uint64(lowest(swaps))
                swaps &= swaps - ONE
                harmful += entry(table, base + rank_of(scheme, n, pattern ^ swap_bits)) < value
            pattern = next_pattern(pattern)
    return total, majorities, harmful
