"""Zero-window search for endgames above the tables, with tables as leaves.

Each search asks whether the leader reaches a number of points, where a point is a trick taken, or
in a low contract a trick given to the opponent. Both players want points, so one search serves both
contracts. All functions here are compiled and can be called from compiled code, with the tables and
a scratch; a scratch belongs to one thread at a time and may serve any positions and tables, since
the bounds in its transposition table stay true.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...common.jit.compiler import forceinline, inline_ir, jit, noinline
from ..bitset import NO_CARDS, ONE, highest, lowest, popcount
from ..play import row
from .index import (
    MAX_CARDS,
    EndgameIndex,
    after_trick,
    entry,
    index_hands,
    pattern_of,
    rank_of,
    run_bottoms,
    suit_of,
)

BASE_CARDS = 10
"""Layers up to this one share an array and a file; each higher one has its own."""


class Tables(NamedTuple):
    """Tablebases of one kind of contract, for compiled code."""

    endgame_index: EndgameIndex
    low: int
    """1 when both players want few tricks."""
    cards: int
    """Largest hand with tabled endgames; 0: none, all is searched."""
    starts: np.ndarray
    """First entry of each layer in `base`."""
    base: np.ndarray
    """Layers 0 to 10, or fewer."""
    eleven: np.ndarray
    twelve: np.ndarray
    thirteen: np.ndarray


class Node(NamedTuple):
    """Endgame at the start of a trick, as class and pattern."""

    n: int
    """Cards in each hand."""
    c: int
    """The class."""
    pattern: np.uint64
    """Bits of the cards of the player on lead."""


class Ending(NamedTuple):
    """Cards of an endgame position."""

    mover_hand: np.uint64
    """Hand of the player to move, as a card set."""
    other_hand: np.uint64
    """Hand of the opponent."""
    trump: int
    """A suit, or any other number (4 by convention) with tables for no trumps."""
    led: int
    """The led card, which is in neither hand; -1 at the start of a trick."""


OPEN_NODE = np.dtype(
    [
        ("c", "i8"),
        ("pattern", "u8"),
        ("target", "i8", (3,)),  # as of `Target`
        ("leads", "u8"),  # still to be tried
        ("replies", "u8"),  # still to be tried, to the current lead
        ("lead", "i8"),
        ("suit", "i8"),  # of the lead
        ("wins", "i8"),  # 1: the leader won the searched trick
    ]
)
"""A search node on the stack, waiting for the result of a child."""


Target = tuple[int, int, int]
"""Points that the leader has to reach; in a race the tricks that the leader and the opponent need,
and the goal: 1 to win it, 0 not to lose it."""


class Scratch(NamedTuple):
    """Working memory of one thread."""

    transpositions: np.ndarray
    """Transposition table of bounds, one entry per slot, always replaced."""
    stack: np.ndarray
    """`OPEN_NODE` records, one per number of cards."""
    cards: np.ndarray
    """Card id of each bit of the current pattern."""


def new_scratch(bits: int = 14) -> Scratch:
    """Working memory with a transposition table of `2**bits` entries (eight bytes each)."""
    if not 1 <= bits <= 31:
        raise ValueError(f"bits is {bits}; a scratch remembers 2**bits positions, bits 1 to 31")
    stack = np.zeros(MAX_CARDS + 1, OPEN_NODE)
    return Scratch(np.zeros(1 << bits, np.uint64), stack, np.zeros(2 * MAX_CARDS, np.int64))


@jit
def bit_of(cards: np.ndarray, card: int) -> int:
    bit = 0
    while cards[bit] != card:
        bit += 1
    return bit


@forceinline
def node_of(tables: Any, scratch: Any, ending: Ending) -> tuple[Node, int]:
    """Node of an endgame, and the bit of the led card; -1 at the start of a trick.

    After a lead, the node is the position before it, with the opponent on lead.
    """
    n = popcount(ending.mover_hand)
    if ending.led >= 0:
        lead_hand = ending.other_hand | (ONE << np.uint64(ending.led))
        c, pattern = index_hands(
            tables.endgame_index, lead_hand, ending.mover_hand, ending.trump, scratch.cards
        )
        return Node(n, c, pattern), bit_of(scratch.cards, ending.led)
    c, pattern = index_hands(
        tables.endgame_index, ending.mover_hand, ending.other_hand, ending.trump, scratch.cards
    )
    return Node(n, c, pattern), -1


@forceinline
def table_points(tables: Any, node: Node) -> int:
    """Points of the leader, from the tables."""
    n, c, pattern = node
    index = tables.endgame_index
    offset = index.class_offsets[c] + rank_of(index, n, pattern)
    if n <= BASE_CARDS:
        tricks = entry(tables.base, tables.starts[n] + offset)
    elif n == 11:
        tricks = entry(tables.eleven, offset)
    elif n == 12:
        tricks = entry(tables.twelve, offset)
    else:
        tricks = entry(tables.thirteen, offset)
    return n - tricks if tables.low else tricks


@forceinline
def _lowest_bit(cards: np.uint64) -> np.uint64:
    return cards ^ (cards & (cards - ONE)) if cards else cards


@forceinline
def every_reply(index: Any, c: int, other: np.uint64, i: int) -> np.uint64:
    """All different replies."""
    follows = other & index.suits[c, i]
    return run_bottoms(follows if follows else other, index.bottoms[c])


@forceinline
def replies_to(tables: Any, c: int, other: np.uint64, i: int, lead: int) -> np.uint64:
    """Replies to try: in high contracts the cheapest winner and the lowest loser."""
    index = tables.endgame_index
    if tables.low:
        return every_reply(index, c, other, i)
    follows = other & index.suits[c, i]
    if follows:
        higher = (follows >> np.uint64(lead)) << np.uint64(lead)
        return _lowest_bit(higher) | _lowest_bit(follows ^ higher)
    replies = NO_CARDS
    for j in range(4):
        replies |= _lowest_bit(other & index.suits[c, j])
    return replies


@forceinline
def next_reply(index: Any, c: int, i: int, replies: np.uint64) -> int:
    """Reply to try first: the highest card that follows suit, or else a ruff."""
    if replies & index.suits[c, i]:
        return highest(replies)
    return lowest(replies)


@forceinline
def play_trick(index: Any, node: Node, i: int, lead: int, reply: int) -> tuple[Node, bool]:
    """Node after a trick, from its winner's perspective, and whether the leader won it."""
    n, c, pattern = node
    j = suit_of(index, c, reply)
    wins = lead > reply if i == j else j > 0 or index.trumps == 0
    step = row(index.transitions[c, i], j)
    after = after_trick(step, pattern, lead, reply)
    if not wins:
        after ^= (ONE << np.uint64(2 * n - 2)) - ONE
    return Node(n - 1, np.int64(step.c), after), wins


@forceinline
def next_target(tables: Any, n: int, need: int, wins: bool) -> int:
    """Points that the next leader has to reach so that this leader reaches, or misses, `need`."""
    return need - 1 + tables.low if wins else n - need + tables.low


@forceinline
def _key(tables: Any, c: int, pattern: np.uint64) -> np.uint64:
    kind = np.uint64(4 + 2 * tables.endgame_index.trumps + tables.low)
    return (pattern << np.uint64(16)) | (np.uint64(c) << np.uint64(4)) | kind


@forceinline
def slot_of(transpositions: np.ndarray, key: np.uint64) -> np.uint64:
    mixed = (key ^ (key >> np.uint64(21))) & np.uint64(0x7FFFFFFF)
    return ((mixed * np.uint64(0x9E3779B1)) >> np.uint64(24)) & np.uint64(len(transpositions) - 1)


@forceinline
def _lookup(transpositions: np.ndarray, key: np.uint64, need: int) -> int:
    slot_value = transpositions[slot_of(transpositions, key)]
    if slot_value >> np.uint64(8) == key:
        if np.int64((slot_value >> np.uint64(4)) & np.uint64(15)) >= need:
            return 1
        if np.int64(slot_value & np.uint64(15)) < need:
            return 0
    return -1


@forceinline
def _store(transpositions: np.ndarray, key: np.uint64, n: int, need: int, verdict: int) -> None:
    slot = slot_of(transpositions, key)
    slot_value = transpositions[slot]
    least = NO_CARDS
    most = np.uint64(n)
    if slot_value >> np.uint64(8) == key:
        least = (slot_value >> np.uint64(4)) & np.uint64(15)
        most = slot_value & np.uint64(15)
    if verdict:
        least = np.uint64(need)
    else:
        most = np.uint64(need - 1)
    transpositions[slot] = (key << np.uint64(8)) | (least << np.uint64(4)) | most


@forceinline
def _reaches_by_table(tables: Any, node: Node, need: int) -> bool:
    n, c, pattern = node
    index = tables.endgame_index
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    leads = run_bottoms(pattern, index.bottoms[c])
    while leads:
        lead = highest(leads)
        leads ^= ONE << np.uint64(lead)
        i = suit_of(index, c, lead)
        replies = replies_to(tables, c, other, i, lead)
        reached = True
        while replies and reached:
            reply = next_reply(index, c, i, replies)
            replies ^= ONE << np.uint64(reply)
            after, wins = play_trick(index, node, i, lead, reply)
            target = next_target(tables, n, need, wins)
            reached = (target <= 0 or table_points(tables, after) >= target) == wins
        if reached:
            return True
    return False


@forceinline
def _verdict(tables: Any, scratch: Any, node: Node, need: int) -> int:
    """1 or 0 if it is known whether the leader reaches `need` points, else -1."""
    if need <= 0 or need > node.n:
        return np.int64(need <= 0)
    if node.n <= tables.cards:
        return np.int64(table_points(tables, node) >= need)
    transpositions, key = scratch.transpositions, _key(tables, node.c, node.pattern)
    verdict = _lookup(transpositions, key, need)
    if verdict < 0 and node.n == tables.cards + 1:
        verdict = np.int64(_reaches_by_table(tables, node, need))
        _store(transpositions, key, node.n, need, verdict)
    return verdict


@forceinline
def _race_key(tables: Any, node: Node, target: Target) -> Any:
    need, other_need, goal = target
    needs = np.uint64(need) | np.uint64(other_need) << np.uint64(4)
    needs |= np.uint64(goal) << np.uint64(8)
    kind = np.uint64(8 + tables.endgame_index.trumps)
    return (
        (needs << np.uint64(42))
        | (node.pattern << np.uint64(16))
        | np.uint64(node.c) << np.uint64(4)
        | kind
    )


@forceinline
def _race_verdict(tables: Any, scratch: Any, node: Node, target: Target) -> int:
    need, other_need, goal = target
    if need == 0:
        return 1
    if other_need == 0:
        return 0
    if node.n == 0:
        return 1 - goal
    key = _race_key(tables, node, target)
    slot_value = scratch.transpositions[slot_of(scratch.transpositions, key)]
    return np.int64(slot_value & ONE) if slot_value >> np.uint64(8) == key else -1


@inline_ir
def _search(tables: Any, scratch: Any, node: Node, target: Target, racing: bool) -> bool:
    """Whether the leader reaches a target; `racing` is constant in each caller.

    It keeps a stack of its own: numba cannot cache recursive functions.
    """
    n, c, pattern = node
    need, other_need, goal = target
    index = tables.endgame_index
    transpositions = scratch.transpositions
    stack = scratch.stack
    top = n
    while True:
        leads = NO_CARDS
        replies = NO_CARDS
        lead = 0
        i = 0
        if racing:
            verdict = _race_verdict(tables, scratch, Node(n, c, pattern), (need, other_need, goal))
        else:
            verdict = _verdict(tables, scratch, Node(n, c, pattern), need)
        if verdict < 0:
            leads = run_bottoms(pattern, index.bottoms[c])
        while verdict >= 0:  # return the result to the parent, and up while it is decided
            if n == top:
                return verdict == 1
            n += 1
            parent = row(stack, n)
            c = parent.c
            pattern = parent.pattern
            need = parent.target[0]
            if racing:
                other_need = parent.target[1]
                goal = parent.target[2]
            leads = parent.leads
            replies = parent.replies
            lead = parent.lead
            i = parent.suit
            reached = verdict == parent.wins
            if not reached:
                replies = NO_CARDS
            if replies or (leads and not reached):
                verdict = -1
                continue
            verdict = np.int64(reached)
            if racing:
                key = _race_key(tables, Node(n, c, pattern), (need, other_need, goal))
                transpositions[slot_of(transpositions, key)] = (key << np.uint64(8)) | np.uint64(
                    verdict
                )
            else:
                _store(transpositions, _key(tables, c, pattern), n, need, verdict)
        if not replies:
            lead = highest(leads)
            leads ^= ONE << np.uint64(lead)
            i = suit_of(index, c, lead)
            other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
            if racing:
                replies = every_reply(index, c, other, i)
            else:
                replies = replies_to(tables, c, other, i, lead)
        reply = next_reply(index, c, i, replies)
        replies ^= ONE << np.uint64(reply)
        after, wins = play_trick(index, Node(n, c, pattern), i, lead, reply)
        frame = row(stack, n)
        frame.c = c
        frame.pattern = pattern
        frame.target[0] = need
        if racing:
            frame.target[1] = other_need
            frame.target[2] = goal
        frame.leads = leads
        frame.replies = replies
        frame.lead = lead
        frame.suit = i
        frame.wins = wins
        if not racing:
            need = next_target(tables, n, need, wins)
        elif wins:
            need -= 1
        else:
            need, other_need = other_need - 1, need
            goal = 1 - goal
        n, c, pattern = after


@noinline
def reaches(tables: Any, scratch: Any, node: Node, need: int) -> bool:
    """Whether the leader can reach `need` points."""
    return _search(tables, scratch, node, (need, 0, 0), False)


@noinline
def race_reaches(tables: Any, scratch: Any, node: Node, target: Target) -> bool:
    """Whether the leader wins (goal 1), or does not lose (goal 0), a race.

    Every different card is tried: that a higher card is never worse is known for the number of
    tricks, not for races.
    """
    return _search(tables, scratch, node, target, True)


@forceinline
def _first_guess(tables: Any, node: Node) -> int:
    n, c, pattern = node
    index = tables.endgame_index
    tricks = 50 * n + 50
    offset = 0
    for s in range(4):
        size = popcount(index.suits[c, s])
        leader_cards = pattern & index.suits[c, s]
        count = popcount(leader_cards)
        tricks -= 12 * count * (2 * offset + size - 1)
        while leader_cards:
            tricks += 24 * lowest(leader_cards)
            leader_cards &= leader_cards - ONE
        if s == 0 and index.trumps:
            tricks += 52 * (2 * count - size)
        offset += size
    guess = min(max(tricks // 100, 1), n)
    return n + 1 - guess if tables.low else guess


@noinline
def leader_points(tables: Any, scratch: Any, node: Node) -> int:
    """Points of the leader with perfect play by both."""
    if node.n <= tables.cards:
        return table_points(tables, node)
    best = _first_guess(tables, node)
    if reaches(tables, scratch, node, best):
        while best < node.n and reaches(tables, scratch, node, best + 1):
            best += 1
        return best
    best -= 1
    while not reaches(tables, scratch, node, best):
        best -= 1
    return best


@forceinline
def solve(tables: Any, scratch: Any, hand: np.uint64, other_hand: np.uint64, trump: int) -> int:
    """Tricks that the player on lead, who holds `hand`, takes with perfect play by both.

    Hands are equally large sets of card ids; `trump` is a suit, or any other number (4 by
    convention) with tables for no trumps.
    """
    index = tables.endgame_index
    c, pattern, _ = pattern_of(index.class_ids, index.trumps, hand, other_hand, trump)
    n = popcount(hand)
    node = Node(n, c, pattern)
    # `points` reads the tables too, but is a call: most endgames are in the tables.
    reached = (
        table_points(tables, node) if n <= tables.cards else leader_points(tables, scratch, node)
    )
    return n - reached if tables.low else reached
