"""Compiled values of the legal cards of an endgame, and the best card."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.compiler import jit, noinline
from ..bitset import ONE, lowest
from .index import run_bottoms, suit_of
from .search import (
    Ending,
    Node,
    leader_points,
    next_reply,
    next_target,
    node_of,
    play_trick,
    reaches,
    replies_to,
)

ILLEGAL = -1


@jit
def _lead_reaches(tables: Any, scratch: Any, node: Node, lead: int, need: int) -> bool:
    n, c, pattern = node
    index = tables.endgame_index
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    i = suit_of(index, c, lead)
    replies = replies_to(tables, c, other, i, lead)
    while replies:
        reply = next_reply(index, c, i, replies)
        replies ^= ONE << np.uint64(reply)
        after, wins = play_trick(index, node, i, lead, reply)
        target = next_target(tables, n, need, wins)
        if reaches(tables, scratch, after, target) != wins:
            return False
    return True


@noinline
def _reply_points(tables: Any, scratch: Any, node: Node, lead: int, reply: int) -> int:
    index = tables.endgame_index
    after, wins = play_trick(index, node, suit_of(index, node.c, lead), lead, reply)
    reached = leader_points(tables, scratch, after)
    if wins:
        return after.n - reached + tables.low
    return reached + 1 - tables.low


@noinline
def solve_moves(tables: Any, scratch: Any, ending: Ending, tricks: np.ndarray) -> int:
    """Fill `tricks[52]` for the player to move; returns the best value.

    `tricks[card]` is the number of tricks that the player takes with perfect play after the card,
    this trick included; -1 for an illegal card.
    """
    index = tables.endgame_index
    tricks[:] = ILLEGAL
    node, lead = node_of(tables, scratch, ending)
    n, c, pattern = node
    hand = pattern if lead < 0 else ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    runs = run_bottoms(hand, index.bottoms[c])
    legal = hand
    most = 0
    if lead < 0:
        most = leader_points(tables, scratch, node)
    elif hand & index.suits[c, suit_of(index, c, lead)]:
        legal = hand & index.suits[c, suit_of(index, c, lead)]
    value = 0
    best = ILLEGAL
    while legal:
        bit = lowest(legal)
        legal &= legal - ONE
        # All cards of a run have the value of its lowest one.
        if (runs >> np.uint64(bit)) & ONE:
            if lead < 0:
                value = most
                while not _lead_reaches(tables, scratch, node, bit, value):
                    value -= 1
            else:
                value = _reply_points(tables, scratch, node, lead, bit)
            if tables.low:
                value = n - value
        card = scratch.cards[bit]
        tricks[card] = value
        if best == ILLEGAL or (value < best if tables.low else value > best):
            best = value
    return best


@jit
def _lowest_card(cards: np.ndarray, candidates: np.uint64, trump: int) -> int:
    best = -1
    least = 1 << 30
    while candidates:
        bit = lowest(candidates)
        candidates &= candidates - ONE
        card = cards[bit]
        order = (card % 13) * 4 + card // 13 + (64 if card // 13 == trump else 0)
        if order < least:
            best = bit
            least = order
    return best


@jit
def best_card_compiled(tables: Any, scratch: Any, ending: Ending) -> int:
    """Lowest of the best cards of the player to move.

    Lowest by rank; trumps count above all other cards, and equal ranks go by suit, clubs first.
    Cheaper than the values of all cards: cards are only compared with the best so far.
    """
    index = tables.endgame_index
    trump = ending.trump
    node, lead = node_of(tables, scratch, ending)
    n, c, pattern = node
    if lead < 0:
        candidates = run_bottoms(pattern, index.bottoms[c])
        need = leader_points(tables, scratch, node) if candidates & (candidates - ONE) else 0
        while candidates & (candidates - ONE):
            bit = _lowest_card(scratch.cards, candidates, trump)
            if _lead_reaches(tables, scratch, node, bit, need):
                return scratch.cards[bit]
            candidates ^= ONE << np.uint64(bit)
        return scratch.cards[lowest(candidates)]
    i = suit_of(index, c, lead)
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    candidates = replies_to(tables, c, other, i, lead)
    best = -1
    reached = -1
    while candidates:
        bit = _lowest_card(scratch.cards, candidates, trump)
        candidates ^= ONE << np.uint64(bit)
        if best < 0 and not candidates:
            return scratch.cards[bit]
        after, wins = play_trick(index, node, i, lead, bit)
        if best < 0:
            better = True
        elif wins:  # whether it exceeds `reached` is one zero-window search
            better = not reaches(tables, scratch, after, n - 1 + tables.low - reached)
        else:
            better = reaches(tables, scratch, after, reached + tables.low)
        if better:
            best = bit
            reached = _reply_points(tables, scratch, node, lead, bit)
    return scratch.cards[best]
