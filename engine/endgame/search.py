"""Endings above the tables: zero-window search that ends in the tables.

Every question is "does the leader reach so many points?", where a point is a
trick taken, or in a low contract a trick left to the other. Both players want
points, so one search serves both contracts. All functions here are compiled and
can be called from compiled code, with the tables and a scratch passed along; a
scratch belongs to one thread at a time and may serve any number of positions
and any tables, since what it remembers is true for good.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, highest, lowest, popcount
from ...common.jit.compiler import called, inlined, jit
from ..play import row
from .index import (
    MOST_CARDS,
    Layout,
    after_trick,
    entry,
    pattern_of,
    place,
    rank_of,
    run_bottoms,
    suit_of,
)

BASE_CARDS = 10
"""Layers up to this one lie in one array and one file, those above in one each."""


class Tables(NamedTuple):
    """Known endings of one kind of contract, fit for compiled code."""

    lay: Layout
    low: int
    """1 when both players want few tricks."""
    cards: int
    """All endings with up to so many cards each are known; 0: none, all is searched."""
    starts: np.ndarray
    """Where each layer begins in `base`, counted in endings."""
    base: np.ndarray
    """Layers 0 to 10, as far as they are known."""
    eleven: np.ndarray
    twelve: np.ndarray
    thirteen: np.ndarray


class Node(NamedTuple):
    """An ending as the search has it, at the start of a trick."""

    n: int
    """Cards in each hand."""
    c: int
    """The class."""
    pattern: np.uint64
    """A bit for each card of the player on lead."""


class Ending(NamedTuple):
    """The open cards of an ending."""

    mine: np.uint64
    """The hand of the player to move, as a card set."""
    theirs: np.uint64
    """The hand of the other."""
    trump: int
    """A suit, or any other number (4 by custom) with tables for no trumps."""
    led: int
    """The card on the table, which neither hand holds any more; -1 at the start of a trick."""


OPEN_NODE = np.dtype(
    [
        ("c", "i8"),
        ("pattern", "u8"),
        ("need", "i8"),  # the points to be reached; in a race 1 to win it, 0 not to lose it
        ("leads", "u8"),  # still to be tried
        ("replies", "u8"),  # still to be tried, to the lead under way
        ("lead", "i8"),
        ("suit", "i8"),  # of the lead
        ("wins", "i8"),  # 1: the leader won the trick that is searched
        ("wanted", "i8", (2,)),  # in a race: by the leader, by the other
    ]
)
"""A node whose answer waits for that of a node below it."""


class Scratch(NamedTuple):
    """Working memory of one thread."""

    memory: np.ndarray
    """Bounds of positions searched before, one in each slot, the newest staying."""
    stack: np.ndarray
    """`OPEN_NODE` records, one for each number of cards."""
    cards: np.ndarray
    """The card id of every bit of the pattern at hand."""


def new_scratch(bits: int = 14) -> Scratch:
    """Working memory that remembers up to `2**bits` positions (eight bytes each)."""
    if not 1 <= bits <= 31:
        raise ValueError(f"bits is {bits}; a scratch remembers 2**bits positions, bits 1 to 31")
    stack = np.zeros(MOST_CARDS + 1, OPEN_NODE)
    return Scratch(np.zeros(1 << bits, np.uint64), stack, np.zeros(2 * MOST_CARDS, np.int64))


@jit
def bit_of(cards: np.ndarray, card: int) -> int:
    """The bit of the pattern that stands for a card."""
    at = 0
    while cards[at] != card:
        at += 1
    return at


@jit
def node_of(tables: Any, scratch: Any, ending: Ending) -> tuple[Node, int]:
    """The node of an ending, and the bit of the card led; -1 at the start of a trick.

    While a card lies on the table the node is that before it was led: the other is on lead.
    """
    n = popcount(ending.mine)
    if ending.led >= 0:
        lead = ending.theirs | (ONE << np.uint64(ending.led))
        c, pattern = place(tables.lay, lead, ending.mine, ending.trump, scratch.cards)
        return Node(n, c, pattern), bit_of(scratch.cards, ending.led)
    c, pattern = place(tables.lay, ending.mine, ending.theirs, ending.trump, scratch.cards)
    return Node(n, c, pattern), -1


@inlined
def stored(tables: Any, node: Node) -> int:
    """The leader's points, read from the tables."""
    n, c, pattern = node
    index = tables.lay.base[c] + rank_of(tables.lay, n, pattern)
    if n <= BASE_CARDS:
        tricks = entry(tables.base, tables.starts[n] + index)
    elif n == 11:
        tricks = entry(tables.eleven, index)
    elif n == 12:
        tricks = entry(tables.twelve, index)
    else:
        tricks = entry(tables.thirteen, index)
    return n - tricks if tables.low else tricks


@inlined
def _lowest_bit(cards: np.uint64) -> np.uint64:
    return cards ^ (cards & (cards - ONE)) if cards else cards


@inlined
def replies_to(tables: Any, c: int, other: np.uint64, i: int, lead: int) -> np.uint64:
    """The replies worth trying: in high contracts the cheapest winner and the lowest loser."""
    lay = tables.lay
    follows = other & lay.suits[c, i]
    if tables.low:
        return run_bottoms(follows if follows else other, lay.bottoms[c])
    if follows:
        higher = (follows >> np.uint64(lead)) << np.uint64(lead)
        return _lowest_bit(higher) | _lowest_bit(follows ^ higher)
    replies = NO_CARDS
    for j in range(4):
        replies |= _lowest_bit(other & lay.suits[c, j])
    return replies


@inlined
def next_reply(lay: Any, c: int, i: int, replies: np.uint64) -> int:
    """The reply to try first: the highest card that follows, or else a ruff."""
    if replies & lay.suits[c, i]:
        return highest(replies)
    return lowest(replies)


@inlined
def played(lay: Any, node: Node, i: int, lead: int, reply: int) -> tuple[Node, bool]:
    """The node after a trick, as its winner sees it, and whether the leader won it."""
    n, c, pattern = node
    j = suit_of(lay, c, reply)
    wins = lead > reply if i == j else j > 0 or lay.trumps == 0
    step = row(lay.steps[c, i], j)
    after = after_trick(step, pattern, lead, reply)
    if not wins:
        after ^= (ONE << np.uint64(2 * n - 2)) - ONE
    return Node(n - 1, np.int64(step.c), after), wins


@inlined
def still_needed(tables: Any, n: int, need: int, wins: bool) -> int:
    """What the next leader has to reach so that this leader reaches, or misses, `need`."""
    return need - 1 + tables.low if wins else n - need + tables.low


@inlined
def _key(tables: Any, c: int, pattern: np.uint64) -> np.uint64:
    kind = np.uint64(4 + 2 * tables.lay.trumps + tables.low)
    return (pattern << np.uint64(16)) | (np.uint64(c) << np.uint64(4)) | kind


@inlined
def slot_of(memory: np.ndarray, key: np.uint64) -> np.uint64:
    """Where a key is remembered."""
    mixed = (key ^ (key >> np.uint64(21))) & np.uint64(0x7FFFFFFF)
    return ((mixed * np.uint64(0x9E3779B1)) >> np.uint64(24)) & np.uint64(len(memory) - 1)


@inlined
def _recall(memory: np.ndarray, key: np.uint64, need: int) -> int:
    """1 or 0 when the answer is remembered, -1 when it is not."""
    held = memory[slot_of(memory, key)]
    if held >> np.uint64(8) == key:
        if np.int64((held >> np.uint64(4)) & np.uint64(15)) >= need:
            return 1
        if np.int64(held & np.uint64(15)) < need:
            return 0
    return -1


@inlined
def _remember(memory: np.ndarray, key: np.uint64, n: int, need: int, verdict: int) -> None:
    slot = slot_of(memory, key)
    held = memory[slot]
    least = NO_CARDS
    most = np.uint64(n)
    if held >> np.uint64(8) == key:
        least = (held >> np.uint64(4)) & np.uint64(15)
        most = held & np.uint64(15)
    if verdict:
        least = np.uint64(need)
    else:
        most = np.uint64(need - 1)
    memory[slot] = (key << np.uint64(8)) | (least << np.uint64(4)) | most


@inlined
def _reaches_by_table(tables: Any, node: Node, need: int) -> bool:
    """Whether the leader reaches `need` when every trick ends in the tables."""
    n, c, pattern = node
    lay = tables.lay
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    leads = run_bottoms(pattern, lay.bottoms[c])
    while leads:
        lead = highest(leads)
        leads ^= ONE << np.uint64(lead)
        i = suit_of(lay, c, lead)
        replies = replies_to(tables, c, other, i, lead)
        reached = True
        while replies and reached:
            reply = next_reply(lay, c, i, replies)
            replies ^= ONE << np.uint64(reply)
            after, wins = played(lay, node, i, lead, reply)
            target = still_needed(tables, n, need, wins)
            reached = (target <= 0 or stored(tables, after) >= target) == wins
        if reached:
            return True
    return False


@called
def reaches(tables: Any, scratch: Any, node: Node, need: int) -> bool:
    """Whether the leader can reach `need` points.

    A stack of its own takes the place of recursion, which numba cannot keep in
    its cache.
    """
    n, c, pattern = node
    lay = tables.lay
    memory = scratch.memory
    stack = scratch.stack
    top = n
    while True:
        verdict = -1
        leads = NO_CARDS
        replies = NO_CARDS
        lead = 0
        i = 0
        if need <= 0 or need > n:
            verdict = np.int64(need <= 0)
        elif n <= tables.cards:
            verdict = np.int64(stored(tables, Node(n, c, pattern)) >= need)
        else:
            verdict = _recall(memory, _key(tables, c, pattern), need)
            if verdict < 0 and n == tables.cards + 1:
                verdict = np.int64(_reaches_by_table(tables, Node(n, c, pattern), need))
                _remember(memory, _key(tables, c, pattern), n, need, verdict)
            leads = run_bottoms(pattern, lay.bottoms[c])
        while verdict >= 0:  # answer the position above, and on up while that settles it
            if n == top:
                return verdict == 1
            n += 1
            above = row(stack, n)
            c = above.c
            pattern = above.pattern
            need = above.need
            leads = above.leads
            replies = above.replies
            lead = above.lead
            i = above.suit
            reached = verdict == above.wins
            if not reached:
                replies = NO_CARDS
            if replies or (leads and not reached):
                verdict = -1
            else:
                verdict = np.int64(reached)
                _remember(memory, _key(tables, c, pattern), n, need, verdict)
        if not replies:
            lead = highest(leads)
            leads ^= ONE << np.uint64(lead)
            i = suit_of(lay, c, lead)
            other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
            replies = replies_to(tables, c, other, i, lead)
        reply = next_reply(lay, c, i, replies)
        replies ^= ONE << np.uint64(reply)
        after, wins = played(lay, Node(n, c, pattern), i, lead, reply)
        waiting = row(stack, n)
        waiting.c = c
        waiting.pattern = pattern
        waiting.need = need
        waiting.leads = leads
        waiting.replies = replies
        waiting.lead = lead
        waiting.suit = i
        waiting.wins = wins
        need = still_needed(tables, n, need, wins)
        n, c, pattern = after


@inlined
def _expected(tables: Any, node: Node) -> int:
    """A first guess at the leader's points: half of them, more for trumps and high cards.

    The weights are a least-squares fit to random endings; they decide only
    where the search begins.
    """
    n, c, pattern = node
    lay = tables.lay
    tricks = 50 * n + 50
    at = 0
    for s in range(4):
        size = popcount(lay.suits[c, s])
        mine = pattern & lay.suits[c, s]
        held = popcount(mine)
        tricks -= 12 * held * (2 * at + size - 1)
        while mine:
            tricks += 24 * lowest(mine)
            mine &= mine - ONE
        if s == 0 and lay.trumps:
            tricks += 52 * (2 * held - size)
        at += size
    guess = min(max(tricks // 100, 1), n)
    return n + 1 - guess if tables.low else guess


@called
def points(tables: Any, scratch: Any, node: Node) -> int:
    """The leader's points with best play by both."""
    if node.n <= tables.cards:
        return stored(tables, node)
    best = _expected(tables, node)
    if reaches(tables, scratch, node, best):
        while best < node.n and reaches(tables, scratch, node, best + 1):
            best += 1
        return best
    best -= 1
    while not reaches(tables, scratch, node, best):
        best -= 1
    return best


@inlined
def solve(tables: Any, scratch: Any, mine: np.uint64, theirs: np.uint64, trump: int) -> int:
    """The tricks that the player on lead, who holds `mine`, takes with best play by both.

    Hands are sets of card ids and equally long; `trump` is a suit, or any
    other number (4 by custom) with tables for no trumps.
    """
    lay = tables.lay
    c, pattern, _ = pattern_of(lay.find, lay.trumps, mine, theirs, trump)
    n = popcount(mine)
    node = Node(n, c, pattern)
    # `points` looks too, but is a call: most endings are in the tables.
    reached = stored(tables, node) if n <= tables.cards else points(tables, scratch, node)
    return n - reached if tables.low else reached
