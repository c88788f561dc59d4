"""What each legal card of an ending is worth, and the card to play, for compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.bitset import ONE, lowest, popcount
from ...common.jit.compiler import called, jit
from .index import place, run_bottoms, suit_of
from .search import next_reply, played, points, reaches, replies_to, still_needed

ILLEGAL = -1


@jit
def _lead_reaches(
    tables: Any, scratch: Any, n: int, c: int, pattern: np.uint64, lead: int, need: int
) -> bool:
    """Whether a lead reaches `need` points for the leader."""
    lay = tables.lay
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    i = suit_of(lay, c, lead)
    replies = replies_to(tables, c, other, i, lead)
    while replies:
        reply = next_reply(lay, c, i, replies)
        replies ^= ONE << np.uint64(reply)
        sub, after, wins = played(lay, n, c, pattern, i, lead, reply)
        target = still_needed(tables, n, need, wins)
        if reaches(tables, scratch, n - 1, sub, after, target) != wins:
            return False
    return True


@called
def _reply_points(
    tables: Any, scratch: Any, n: int, c: int, pattern: np.uint64, lead: int, reply: int
) -> int:
    """The follower's points, this trick's among them, after a reply."""
    sub, after, wins = played(tables.lay, n, c, pattern, suit_of(tables.lay, c, lead), lead, reply)
    reached = points(tables, scratch, n - 1, sub, after)
    if wins:
        return n - 1 - reached + tables.low
    return reached + 1 - tables.low


@jit
def bit_of(cards: np.ndarray, card: int) -> int:
    """The bit of the pattern that stands for a card."""
    at = 0
    while cards[at] != card:
        at += 1
    return at


@called
def solve_moves(
    tables: Any, scratch: Any, mine: np.uint64, theirs: np.uint64, trump: int, led: int,
    tricks: np.ndarray,
) -> int:  # fmt: skip
    """Fill `tricks[52]` for the player to move, who holds `mine`; returns the best of them.

    `tricks[card]` is how many tricks that player takes, the present one
    included, when the card is played and both play their best from then on; -1
    stands for a card that may not be played. `led` is the card on the table,
    which neither hand holds any more, or -1 at the start of a trick.
    """
    n = popcount(mine)
    lay = tables.lay
    tricks[:] = ILLEGAL
    if led >= 0:
        c, pattern = place(lay, theirs | (ONE << np.uint64(led)), mine, trump, scratch.cards)
        lead = bit_of(scratch.cards, led)
    else:
        c, pattern = place(lay, mine, theirs, trump, scratch.cards)
        lead = -1
    held = pattern if led < 0 else ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    runs = run_bottoms(held, lay.bottoms[c])
    legal = held
    most = 0
    if led < 0:
        most = points(tables, scratch, n, c, pattern)
    elif held & lay.suits[c, suit_of(lay, c, lead)]:
        legal = held & lay.suits[c, suit_of(lay, c, lead)]
    value = 0
    best = ILLEGAL
    while legal:
        at = lowest(legal)
        legal &= legal - ONE
        if (runs >> np.uint64(at)) & ONE:
            if led < 0:
                value = most
                while not _lead_reaches(tables, scratch, n, c, pattern, at, value):
                    value -= 1
            else:
                value = _reply_points(tables, scratch, n, c, pattern, lead, at)
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
def best_card_compiled(
    tables: Any, scratch: Any, mine: np.uint64, theirs: np.uint64, trump: int, led: int
) -> int:
    """The lowest of the best cards of the player to move, who holds `mine`.

    Low is by rank; a trump counts as higher than any other card, and equal
    ranks go by suit, clubs first. `led` is as for `solve_moves`. Cheaper than
    the values of all cards, since cards are only asked whether they are better.
    """
    n = popcount(mine)
    lay = tables.lay
    if led < 0:
        c, pattern = place(lay, mine, theirs, trump, scratch.cards)
        choice = run_bottoms(pattern, lay.bottoms[c])
        need = points(tables, scratch, n, c, pattern) if choice & (choice - ONE) else 0
        while choice & (choice - ONE):
            at = _humblest(scratch.cards, choice, trump)
            if _lead_reaches(tables, scratch, n, c, pattern, at, need):
                return scratch.cards[at]
            choice ^= ONE << np.uint64(at)
        return scratch.cards[lowest(choice)]
    c, pattern = place(lay, theirs | (ONE << np.uint64(led)), mine, trump, scratch.cards)
    lead = bit_of(scratch.cards, led)
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    choice = replies_to(tables, c, other, suit_of(lay, c, lead), lead)
    best = -1
    reached = -1
    while choice:
        at = _humblest(scratch.cards, choice, trump)
        choice ^= ONE << np.uint64(at)
        if best < 0 and not choice:
            return scratch.cards[at]
        sub, after, wins = played(lay, n, c, pattern, suit_of(lay, c, lead), lead, at)
        if best < 0:
            better = True
        elif wins:  # more than `reached` is one window's question to the next leader
            most = n - 1 + tables.low - reached
            better = not reaches(tables, scratch, n - 1, sub, after, most)
        else:
            better = reaches(tables, scratch, n - 1, sub, after, reached + tables.low)
        if better:
            best = at
            reached = _reply_points(tables, scratch, n, c, pattern, lead, at)
    return scratch.cards[best]
