"""Compiled values of the legal cards of an endgame, and the best card."""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import jit, noinline
from ..bitset import ONE, lowest
from .index import run_bottoms, suit_of
from .search import (
    Ending,
    Node,
    Scratch,
    Tablebase,
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
def _lead_reaches(tablebase: Tablebase, scratch: Scratch, node: Node, lead: int, need: int) -> bool:
    n, class_id, pattern = node
    scheme = tablebase.scheme
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    lead_suit = suit_of(scheme, class_id, lead)
    replies = replies_to(tablebase, class_id, other, lead_suit, lead)
    while replies:
        reply = next_reply(scheme, class_id, lead_suit, replies)
        replies ^= ONE << np.uint64(reply)
        after, wins = play_trick(scheme, node, lead_suit, lead, reply)
        target = next_target(tablebase, n, need, wins)
        if reaches(tablebase, scratch, after, target) != wins:
            return False
    return True


@noinline
def _reply_points(tablebase: Tablebase, scratch: Scratch, node: Node, lead: int, reply: int) -> int:
    scheme = tablebase.scheme
    after, wins = play_trick(scheme, node, suit_of(scheme, node.class_id, lead), lead, reply)
    reached = leader_points(tablebase, scratch, after)
    if wins:
        return after.n - reached + tablebase.low
    return reached + 1 - tablebase.low


@noinline
def solve_moves(tablebase: Tablebase, scratch: Scratch, ending: Ending, tricks: np.ndarray) -> int:
    """Fill `tricks[52]` for the player to move; returns the best value.

    `tricks[card]` is the number of tricks that the player takes with perfect play after the card,
    this trick included; -1 for an illegal card.
    """
    scheme = tablebase.scheme
    tricks[:] = ILLEGAL
    node, lead = node_of(tablebase, scratch, ending)
    n, class_id, pattern = node
    hand = pattern if lead < 0 else ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    runs = run_bottoms(hand, scheme.bottoms[class_id])
    legal = hand
    most = 0
    if lead < 0:
        most = leader_points(tablebase, scratch, node)
    elif hand & scheme.suits[class_id, suit_of(scheme, class_id, lead)]:
        legal = hand & scheme.suits[class_id, suit_of(scheme, class_id, lead)]
    value = 0
    best = ILLEGAL
    while legal:
        bit = lowest(legal)
        legal &= legal - ONE
        # All cards of a run have the value of its lowest one.
        if (runs >> np.uint64(bit)) & ONE:
            if lead < 0:
                value = most
                while not _lead_reaches(tablebase, scratch, node, bit, value):
                    value -= 1
            else:
                value = _reply_points(tablebase, scratch, node, lead, bit)
            if tablebase.low:
                value = n - value
        card = scratch.cards[bit]
        tricks[card] = value
        if best == ILLEGAL or (value < best if tablebase.low else value > best):
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
def best_card_compiled(tablebase: Tablebase, scratch: Scratch, ending: Ending) -> int:
    """Lowest of the best cards of the player to move.

    Lowest by rank; trumps count above all other cards, and equal ranks go by suit, clubs first.
    Cheaper than the values of all cards: cards are only compared with the best so far.
    """
    scheme = tablebase.scheme
    trump = ending.trump
    node, lead = node_of(tablebase, scratch, ending)
    n, class_id, pattern = node
    if lead < 0:
        candidates = run_bottoms(pattern, scheme.bottoms[class_id])
        need = leader_points(tablebase, scratch, node) if candidates & (candidates - ONE) else 0
        while candidates & (candidates - ONE):
            bit = _lowest_card(scratch.cards, candidates, trump)
            if _lead_reaches(tablebase, scratch, node, bit, need):
                return scratch.cards[bit]
            candidates ^= ONE << np.uint64(bit)
        return scratch.cards[lowest(candidates)]
    lead_suit = suit_of(scheme, class_id, lead)
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    candidates = replies_to(tablebase, class_id, other, lead_suit, lead)
    best = -1
    reached = -1
    while candidates:
        bit = _lowest_card(scratch.cards, candidates, trump)
        candidates ^= ONE << np.uint64(bit)
        if best < 0 and not candidates:
            return scratch.cards[bit]
        after, wins = play_trick(scheme, node, lead_suit, lead, bit)
        if best < 0:
            better = True
        elif wins:  # whether it exceeds `reached` is one zero-window search
            better = not reaches(tablebase, scratch, after, n - 1 + tablebase.low - reached)
        else:
            better = reaches(tablebase, scratch, after, reached + tablebase.low)
        if better:
            best = bit
            reached = _reply_points(tablebase, scratch, node, lead, bit)
    return scratch.cards[best]
