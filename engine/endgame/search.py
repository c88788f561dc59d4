# pyright: reportArgumentType=false, reportReturnType=false
"""Zero-window search for endgames above the tablebase, whose entries are the leaves.

Each search asks whether the leader reaches a number of points, where a point is a trick taken, or
in a low contract a trick given to the opponent. Both players want points, so one search serves both
contracts. All functions here are compiled and can be called from compiled code, with a tablebase
and a scratch; a scratch belongs to one thread at a time and may serve any positions and tablebases,
since the bounds in its transposition table stay true.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import forceinline, inline_ir, jit, noinline
from ..bitset import NO_CARDS, ONE, highest, lowest, popcount
from ..play import Record, row
from .index import (
    MAX_CARDS,
    IndexScheme,
    after_trick,
    entry,
    index_hands,
    pattern_of,
    rank_of,
    run_bottoms,
    suit_of,
)
from .tablebase import BASE_CARDS, Tablebase


class Node(NamedTuple):
    """Endgame at the start of a trick, as class and pattern."""

    n: int
    """Cards in each hand."""
    class_id: int
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
    """A suit, or any other number (4 by convention) with a tablebase for no trumps."""
    led: int
    """The led card, which is in neither hand; -1 at the start of a trick."""


OPEN_NODE = np.dtype(
    [
        ("class_id", "i8"),
        ("pattern", "u8"),
        ("need", "i8"),  # with the next two, the target
        ("other_need", "i8"),
        ("goal", "i8"),
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
def node_of(tablebase: Tablebase, scratch: Scratch, ending: Ending) -> tuple[Node, int]:
    """Node of an endgame, and the bit of the led card; -1 at the start of a trick.

    After a lead, the node is the position before it, with the opponent on lead.
    """
    n = popcount(ending.mover_hand)
    if ending.led >= 0:
        lead_hand = ending.other_hand | (ONE << np.uint64(ending.led))
        class_id, pattern = index_hands(
            tablebase.scheme, lead_hand, ending.mover_hand, ending.trump, scratch.cards
        )
        return Node(n, class_id, pattern), bit_of(scratch.cards, ending.led)
    class_id, pattern = index_hands(
        tablebase.scheme, ending.mover_hand, ending.other_hand, ending.trump, scratch.cards
    )
    return Node(n, class_id, pattern), -1


@forceinline
def tablebase_points(tablebase: Tablebase, node: Node) -> int:
    """Tricks of the leader, at the offset of the class plus the rank of the pattern."""
    n, class_id, pattern = node
    scheme = tablebase.scheme
    offset = scheme.class_offsets[class_id] + rank_of(scheme, n, pattern)
    if n <= BASE_CARDS:
        tricks = entry(tablebase.base, tablebase.starts[n] + offset)
    elif n == 11:
        tricks = entry(tablebase.eleven, offset)
    elif n == 12:
        tricks = entry(tablebase.twelve, offset)
    else:
        tricks = entry(tablebase.thirteen, offset)
    return n - tricks if tablebase.low else tricks


@forceinline
def _lowest_bit(cards: np.uint64) -> np.uint64:
    return cards ^ (cards & (cards - ONE)) if cards else cards


@forceinline
def every_reply(scheme: IndexScheme, class_id: int, other: np.uint64, lead_suit: int) -> np.uint64:
    """All different replies."""
    follows = other & scheme.suits[class_id, lead_suit]
    return run_bottoms(follows if follows else other, scheme.bottoms[class_id])


@forceinline
def replies_to(
    tablebase: Tablebase, class_id: int, other: np.uint64, lead_suit: int, lead: int
) -> np.uint64:
    """Replies to try: in high contracts the cheapest winner and the lowest loser."""
    scheme = tablebase.scheme
    if tablebase.low:
        return every_reply(scheme, class_id, other, lead_suit)
    follows = other & scheme.suits[class_id, lead_suit]
    if follows:
        higher = (follows >> np.uint64(lead)) << np.uint64(lead)
        return _lowest_bit(higher) | _lowest_bit(follows ^ higher)
    replies = NO_CARDS
    for reply_suit in range(4):
        replies |= _lowest_bit(other & scheme.suits[class_id, reply_suit])
    return replies


@forceinline
def next_reply(scheme: IndexScheme, class_id: int, lead_suit: int, replies: np.uint64) -> int:
    """Reply to try first: the highest card that follows suit, or else a ruff."""
    if replies & scheme.suits[class_id, lead_suit]:
        return highest(replies)
    return lowest(replies)


@forceinline
def play_trick(
    scheme: IndexScheme, node: Node, lead_suit: int, lead: int, reply: int
) -> tuple[Node, bool]:
    """Node after a trick, from its winner's perspective, and whether the leader won it."""
    n, class_id, pattern = node
    reply_suit = suit_of(scheme, class_id, reply)
    wins = lead > reply if lead_suit == reply_suit else reply_suit > 0 or scheme.trumps == 0
    step = row(scheme.transitions[class_id, lead_suit], reply_suit)
    after = after_trick(step, pattern, lead, reply)
    if not wins:
        after ^= (ONE << np.uint64(2 * n - 2)) - ONE
    return Node(n - 1, np.int64(step.class_id), after), wins


@forceinline
def next_target(tablebase: Tablebase, n: int, need: int, wins: bool) -> int:
    """Points that the next leader has to reach so that this leader reaches, or misses, `need`."""
    return need - 1 + tablebase.low if wins else n - need + tablebase.low


@forceinline
def _key(tablebase: Tablebase, class_id: int, pattern: np.uint64) -> np.uint64:
    kind = np.uint64(4 + 2 * tablebase.scheme.trumps + tablebase.low)
    return (pattern << np.uint64(16)) | (np.uint64(class_id) << np.uint64(4)) | kind


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
def _reaches_by_table(tablebase: Tablebase, node: Node, need: int) -> bool:
    n, class_id, pattern = node
    scheme = tablebase.scheme
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    leads = run_bottoms(pattern, scheme.bottoms[class_id])
    while leads:
        lead = highest(leads)
        leads ^= ONE << np.uint64(lead)
        lead_suit = suit_of(scheme, class_id, lead)
        replies = replies_to(tablebase, class_id, other, lead_suit, lead)
        reached = True
        while replies and reached:
            reply = next_reply(scheme, class_id, lead_suit, replies)
            replies ^= ONE << np.uint64(reply)
            after, wins = play_trick(scheme, node, lead_suit, lead, reply)
            target = next_target(tablebase, n, need, wins)
            reached = (target <= 0 or tablebase_points(tablebase, after) >= target) == wins
        if reached:
            return True
    return False


@forceinline
def _verdict(tablebase: Tablebase, scratch: Scratch, node: Node, need: int) -> int:
    """1 or 0 if it is known whether the leader reaches `need` points, else -1."""
    if need <= 0 or need > node.n:
        return np.int64(need <= 0)
    if node.n <= tablebase.cards:
        return np.int64(tablebase_points(tablebase, node) >= need)
    transpositions, key = scratch.transpositions, _key(tablebase, node.class_id, node.pattern)
    verdict = _lookup(transpositions, key, need)
    if verdict < 0 and node.n == tablebase.cards + 1:
        verdict = np.int64(_reaches_by_table(tablebase, node, need))
        _store(transpositions, key, node.n, need, verdict)
    return verdict


@forceinline
def _race_key(tablebase: Tablebase, node: Node, target: Target) -> np.uint64:
    need, other_need, goal = target
    needs = np.uint64(need) | np.uint64(other_need) << np.uint64(4)
    needs |= np.uint64(goal) << np.uint64(8)
    kind = np.uint64(8 + tablebase.scheme.trumps)
    return (
        (needs << np.uint64(42))
        | (node.pattern << np.uint64(16))
        | np.uint64(node.class_id) << np.uint64(4)
        | kind
    )


@forceinline
def _race_verdict(tablebase: Tablebase, scratch: Scratch, node: Node, target: Target) -> int:
    need, other_need, goal = target
    if need == 0:
        return 1
    if other_need == 0:
        return 0
    if node.n == 0:
        return 1 - goal
    key = _race_key(tablebase, node, target)
    slot_value = scratch.transpositions[slot_of(scratch.transpositions, key)]
    return np.int64(slot_value & ONE) if slot_value >> np.uint64(8) == key else -1


@forceinline
def _known_verdict(
    tablebase: Tablebase, scratch: Scratch, node: Node, target: Target, racing: bool
) -> int:
    """1 or 0 if it is known whether the leader reaches the target, else -1."""
    if racing:
        return _race_verdict(tablebase, scratch, node, target)
    return _verdict(tablebase, scratch, node, target[0])


@forceinline
def _remember(
    tablebase: Tablebase, scratch: Scratch, node: Node, target: Target, verdict: int, racing: bool
) -> None:
    transpositions = scratch.transpositions
    if racing:
        race_key = _race_key(tablebase, node, target)
        slot = slot_of(transpositions, race_key)
        transpositions[slot] = (race_key << np.uint64(8)) | np.uint64(verdict)
    else:
        key = _key(tablebase, node.class_id, node.pattern)
        _store(transpositions, key, node.n, target[0], verdict)


@forceinline
def _next_target(tablebase: Tablebase, n: int, target: Target, wins: bool, racing: bool) -> Target:
    need, other_need, goal = target
    if not racing:
        return next_target(tablebase, n, need, wins), other_need, goal
    if wins:
        return need - 1, other_need, goal
    # The opponent leads now: it does not lose where this leader does not win, and the reverse.
    return other_need - 1, need, 1 - goal


@forceinline
def _target_of(waiting: Record, racing: bool) -> Target:
    if not racing:
        return waiting.need, 0, 0
    return waiting.need, waiting.other_need, waiting.goal


@inline_ir
def _search(
    tablebase: Tablebase, scratch: Scratch, node: Node, target: Target, racing: bool
) -> bool:
    """Whether the leader reaches a target; `racing` is constant in each caller.

    It keeps a stack of its own: numba cannot cache recursive functions.
    """
    scheme, stack, top = tablebase.scheme, scratch.stack, node.n
    while True:
        # Only needed without a verdict, but found here: a branch of its own before the loop over
        # verdicts, or a `continue` in it, costs a fifth of the speed.
        leads = run_bottoms(node.pattern, scheme.bottoms[node.class_id])
        replies = NO_CARDS
        lead = 0
        lead_suit = 0
        verdict = _known_verdict(tablebase, scratch, node, target, racing)
        while verdict >= 0:  # return the result to the parent, and up while it is decided
            if node.n == top:
                return verdict == 1
            parent = row(stack, node.n + 1)
            node = Node(node.n + 1, parent.class_id, parent.pattern)
            target = _target_of(parent, racing)
            leads = parent.leads
            replies = parent.replies
            lead = parent.lead
            lead_suit = parent.suit
            reached = verdict == parent.wins
            if not reached:
                replies = NO_CARDS
            if replies or (leads and not reached):
                verdict = -1
            else:
                verdict = np.int64(reached)
                _remember(tablebase, scratch, node, target, verdict, racing)
        if not replies:
            lead = highest(leads)
            leads ^= ONE << np.uint64(lead)
            lead_suit = suit_of(scheme, node.class_id, lead)
            other = ((ONE << np.uint64(2 * node.n)) - ONE) ^ node.pattern
            if racing:
                replies = every_reply(scheme, node.class_id, other, lead_suit)
            else:
                replies = replies_to(tablebase, node.class_id, other, lead_suit, lead)
        reply = next_reply(scheme, node.class_id, lead_suit, replies)
        replies ^= ONE << np.uint64(reply)
        after, wins = play_trick(scheme, node, lead_suit, lead, reply)
        frame = row(stack, node.n)
        frame.class_id = node.class_id
        frame.pattern = node.pattern
        frame.need = target[0]
        if racing:
            frame.other_need = target[1]
            frame.goal = target[2]
        frame.leads = leads
        frame.replies = replies
        frame.lead = lead
        frame.suit = lead_suit
        frame.wins = wins
        target = _next_target(tablebase, node.n, target, wins, racing)
        node = after


@noinline
def reaches(tablebase: Tablebase, scratch: Scratch, node: Node, need: int) -> bool:
    """Whether the leader can reach `need` points."""
    return _search(tablebase, scratch, node, (need, 0, 0), False)


@noinline
def race_reaches(tablebase: Tablebase, scratch: Scratch, node: Node, target: Target) -> bool:
    """Whether the leader wins (goal 1), or does not lose (goal 0), a race.

    Every different card is tried: that a higher card is never worse is known for the number of
    tricks, not for races.
    """
    return _search(tablebase, scratch, node, target, True)


@forceinline
def _first_guess(tablebase: Tablebase, node: Node) -> int:
    n, class_id, pattern = node
    scheme = tablebase.scheme
    tricks = 50 * n + 50
    offset = 0
    for suit in range(4):
        size = popcount(scheme.suits[class_id, suit])
        leader_cards = pattern & scheme.suits[class_id, suit]
        count = popcount(leader_cards)
        tricks -= 12 * count * (2 * offset + size - 1)
        while leader_cards:
            tricks += 24 * lowest(leader_cards)
            leader_cards &= leader_cards - ONE
        if suit == 0 and scheme.trumps:
            tricks += 52 * (2 * count - size)
        offset += size
    guess = min(max(tricks // 100, 1), n)
    return n + 1 - guess if tablebase.low else guess


@noinline
def leader_points(tablebase: Tablebase, scratch: Scratch, node: Node) -> int:
    """Points of the leader with perfect play by both."""
    if node.n <= tablebase.cards:
        return tablebase_points(tablebase, node)
    best = _first_guess(tablebase, node)
    if reaches(tablebase, scratch, node, best):
        while best < node.n and reaches(tablebase, scratch, node, best + 1):
            best += 1
        return best
    best -= 1
    while not reaches(tablebase, scratch, node, best):
        best -= 1
    return best


@forceinline
def solve(
    tablebase: Tablebase, scratch: Scratch, hand: np.uint64, other_hand: np.uint64, trump: int
) -> int:
    """Tricks that the player on lead, who holds `hand`, takes with perfect play by both.

    Hands are equally large sets of card ids; `trump` is a suit, or any other number (4 by
    convention) with a tablebase for no trumps.
    """
    scheme = tablebase.scheme
    class_id, pattern, _ = pattern_of(scheme.class_ids, scheme.trumps, hand, other_hand, trump)
    n = popcount(hand)
    node = Node(n, class_id, pattern)
    # `leader_points` reads the tablebase too, but is a call: most endgames are in the tablebase.
    reached = (
        tablebase_points(tablebase, node)
        if n <= tablebase.cards
        else leader_points(tablebase, scratch, node)
    )
    return n - reached if tablebase.low else reached
