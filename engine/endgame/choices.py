"""What each legal card of an ending is worth, and the card to play, for compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.bitset import ONE, lowest
from ...common.jit.compiler import called, jit
from .index import run_bottoms, suit_of
from .search import (
    Ending,
    Node,
    next_reply,
    node_of,
    played,
    points,
    reaches,
    replies_to,
    still_needed,
)

ILLEGAL = -1


@jit
def _lead_reaches(tables: Any, scratch: Any, node: Node, lead: int, need: int) -> bool:
    """Whether a lead reaches `need` points for the leader."""
    n, c, pattern = node
    lay = tables.lay
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    i = suit_of(lay, c, lead)
    replies = replies_to(tables, c, other, i, lead)
    while replies:
        reply = next_reply(lay, c, i, replies)
        replies ^= ONE << np.uint64(reply)
        after, wins = played(lay, node, i, lead, reply)
        target = still_needed(tables, n, need, wins)
        if reaches(tables, scratch, after, target) != wins:
            return False
    return True


@called
def _reply_points(tables: Any, scratch: Any, node: Node, lead: int, reply: int) -> int:
    """The follower's points, this trick's among them, after a reply."""
    after, wins = played(tables.lay, node, suit_of(tables.lay, node.c, lead), lead, reply)
    reached = points(tables, scratch, after)
    if wins:
        return after.n - reached + tables.low
    return reached + 1 - tables.low


@called
def solve_moves(tables: Any, scratch: Any, ending: Ending, tricks: np.ndarray) -> int:
    """Fill `tricks[52]` for the player to move; returns the best of them.

    `tricks[card]` is how many tricks that player takes, the present one
    included, when the card is played and both play their best from then on; -1
    stands for a card that may not be played.
    """
    lay = tables.lay
    tricks[:] = ILLEGAL
    node, lead = node_of(tables, scratch, ending)
    n, c, pattern = node
    held = pattern if lead < 0 else ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    runs = run_bottoms(held, lay.bottoms[c])
    legal = held
    most = 0
    if lead < 0:
        most = points(tables, scratch, node)
    elif held & lay.suits[c, suit_of(lay, c, lead)]:
        legal = held & lay.suits[c, suit_of(lay, c, lead)]
    value = 0
    best = ILLEGAL
    while legal:
        at = lowest(legal)
        legal &= legal - ONE
        # Cards of a run are worth the same: the value of its lowest one stands for all.
        if (runs >> np.uint64(at)) & ONE:
            if lead < 0:
                value = most
                while not _lead_reaches(tables, scratch, node, at, value):
                    value -= 1
            else:
                value = _reply_points(tables, scratch, node, lead, at)
            if tables.low:
                value = n - value
        card = scratch.cards[at]
        tricks[card] = value
        if best == ILLEGAL or (value < best if tables.low else value > best):
            best = value
    return best


@jit
def _humblest(cards: np.ndarray, choice: np.uint64, trump: int) -> int:
    """The bit of the lowest card: by rank, trumps above all others, then by suit."""
    best = -1
    least = 1 << 30
    while choice:
        at = lowest(choice)
        choice &= choice - ONE
        card = cards[at]
        order = (card % 13) * 4 + card // 13 + (64 if card // 13 == trump else 0)
        if order < least:
            best = at
            least = order
    return best


@jit
def best_card_compiled(tables: Any, scratch: Any, ending: Ending) -> int:
    """The lowest of the best cards of the player to move.

    Low is by rank; a trump counts as higher than any other card, and equal
    ranks go by suit, clubs first. Cheaper than the values of all cards, since
    cards are only asked whether they are better.
    """
    lay = tables.lay
    trump = ending.trump
    node, lead = node_of(tables, scratch, ending)
    n, c, pattern = node
    if lead < 0:
        choice = run_bottoms(pattern, lay.bottoms[c])
        need = points(tables, scratch, node) if choice & (choice - ONE) else 0
        while choice & (choice - ONE):
            at = _humblest(scratch.cards, choice, trump)
            if _lead_reaches(tables, scratch, node, at, need):
                return scratch.cards[at]
            choice ^= ONE << np.uint64(at)
        return scratch.cards[lowest(choice)]
    i = suit_of(lay, c, lead)
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    choice = replies_to(tables, c, other, i, lead)
    best = -1
    reached = -1
    while choice:
        at = _humblest(scratch.cards, choice, trump)
        choice ^= ONE << np.uint64(at)
        if best < 0 and not choice:
            return scratch.cards[at]
        after, wins = played(lay, node, i, lead, at)
        if best < 0:
            better = True
        elif wins:  # more than `reached` is one window's question to the next leader
            better = not reaches(tables, scratch, after, n - 1 + tables.low - reached)
        else:
            better = reaches(tables, scratch, after, reached + tables.low)
        if better:
            best = at
            reached = _reply_points(tables, scratch, node, lead, at)
    return scratch.cards[best]
