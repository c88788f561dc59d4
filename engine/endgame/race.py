"""The open remainder of a race: who takes the tricks still wanting first.

A race ends in mid-hand, so how many of all remaining tricks a player could take
does not answer it, unless the hand is too short for both to arrive; then it is
read from the value of the ending. Otherwise the search goes only as deep as the
race can last, and tries every card that differs: that a higher card is never
worse is known for the count of tricks, not for races.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, highest, lowest
from ...common.jit.compiler import called, inlined, jit
from ..play import row
from .index import run_bottoms, suit_of
from .search import Ending, Node, next_reply, node_of, played, points, slot_of

NOT_LEGAL = 2
"""What `solve_race_moves` writes beside cards that may not be played."""


class Race(NamedTuple):
    """How many tricks the two players still want."""

    wanted: int
    """By the player to move; in the search, by the player on lead."""
    wanted_by_other: int


@inlined
def _turned(race: Race) -> Race:
    return Race(race.wanted_by_other, race.wanted)


@inlined
def _race_key(tables: Any, node: Node, race: Race, goal: int) -> Any:
    wanting = np.uint64(race.wanted) | np.uint64(race.wanted_by_other) << np.uint64(4)
    wanting |= np.uint64(goal) << np.uint64(8)
    kind = np.uint64(8 + tables.lay.trumps)
    return (
        (wanting << np.uint64(42))
        | (node.pattern << np.uint64(16))
        | np.uint64(node.c) << np.uint64(4)
        | kind
    )


@inlined
def _all_replies(lay: Any, c: int, other: np.uint64, i: int) -> np.uint64:
    follows = other & lay.suits[c, i]
    return run_bottoms(follows if follows else other, lay.bottoms[c])


@called
def race_reaches(tables: Any, scratch: Any, node: Node, race: Race, goal: int) -> bool:
    """Whether the leader wins (goal 1), or does not lose (goal 0), a race.

    The walk is the one of `search.reaches`, with the tricks still wanting in place of points.
    """
    n, c, pattern = node
    mine, theirs = race
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
        if mine == 0:
            verdict = 1
        elif theirs == 0:
            verdict = 0
        elif n == 0:
            verdict = 1 - goal
        else:
            key = _race_key(tables, Node(n, c, pattern), Race(mine, theirs), goal)
            held = memory[slot_of(memory, key)]
            if held >> np.uint64(8) == key:
                verdict = np.int64(held & ONE)
            leads = run_bottoms(pattern, lay.bottoms[c])
        while verdict >= 0:
            if n == top:
                return verdict == 1
            n += 1
            above = row(stack, n)
            c = above.c
            pattern = above.pattern
            goal = above.need
            leads = above.leads
            replies = above.replies
            lead = above.lead
            i = above.suit
            mine = above.wanted[0]
            theirs = above.wanted[1]
            reached = verdict == above.wins
            if not reached:
                replies = NO_CARDS
            if replies or (leads and not reached):
                verdict = -1
            else:
                verdict = np.int64(reached)
                key = _race_key(tables, Node(n, c, pattern), Race(mine, theirs), goal)
                memory[slot_of(memory, key)] = (key << np.uint64(8)) | np.uint64(verdict)
        if not replies:
            lead = highest(leads)
            leads ^= ONE << np.uint64(lead)
            i = suit_of(lay, c, lead)
            replies = _all_replies(lay, c, ((ONE << np.uint64(2 * n)) - ONE) ^ pattern, i)
        reply = next_reply(lay, c, i, replies)
        replies ^= ONE << np.uint64(reply)
        after, wins = played(lay, Node(n, c, pattern), i, lead, reply)
        waiting = row(stack, n)
        waiting.c = c
        waiting.pattern = pattern
        waiting.need = goal
        waiting.leads = leads
        waiting.replies = replies
        waiting.lead = lead
        waiting.suit = i
        waiting.wins = wins
        waiting.wanted[0] = mine
        waiting.wanted[1] = theirs
        if wins:
            mine -= 1
        else:
            mine, theirs = theirs - 1, mine
            goal = 1 - goal
        n, c, pattern = after


@called
def race_outcome(tables: Any, scratch: Any, node: Node, race: Race) -> int:
    """1 when the leader wins the race, -1 when the other does, 0 when nobody arrives."""
    mine, theirs = race
    if mine <= 0 or theirs <= 0:
        return 1 if mine <= 0 else -1
    if mine + theirs > node.n:  # too few tricks for both to arrive: only their number counts
        reached = points(tables, scratch, node)
        if reached >= mine:
            return 1
        return -1 if node.n - reached >= theirs else 0
    return 1 if race_reaches(tables, scratch, node, race, 1) else -1


@jit
def solve_race(tables: Any, scratch: Any, ending: Ending, race: Race) -> int:
    """Who wins a race from the start of a trick: 1 for the player on lead, -1, or 0 for nobody.

    The tables have to be for a high contract.
    """
    node, _ = node_of(tables, scratch, ending)
    return race_outcome(tables, scratch, node, race)


@jit
def solve_race_moves(
    tables: Any, scratch: Any, ending: Ending, race: Race, outcomes: np.ndarray
) -> int:
    """Fill `outcomes[52]` with 1, 0 or -1 for the player to move; returns the best of them.

    As `solve_moves`, but for a race; 2 stands for a card that may not be played.
    """
    lay = tables.lay
    outcomes[:] = NOT_LEGAL
    node, lead = node_of(tables, scratch, ending)
    _, c, pattern = node
    other = ((ONE << np.uint64(2 * node.n)) - ONE) ^ pattern
    legal = pattern
    if lead >= 0:
        follows = other & lay.suits[c, suit_of(lay, c, lead)]
        legal = follows if follows else other
    best = -2
    value = 0
    runs = run_bottoms(legal, lay.bottoms[c])
    while legal:
        at = lowest(legal)
        legal &= legal - ONE
        if (runs >> np.uint64(at)) & ONE:
            if lead >= 0:
                value = -_race_after(tables, scratch, node, (lead, at), _turned(race))
            else:
                value = 1
                i = suit_of(lay, c, at)
                replies = _all_replies(lay, c, other, i)
                while replies and value > -1:
                    reply = next_reply(lay, c, i, replies)
                    replies ^= ONE << np.uint64(reply)
                    value = min(value, _race_after(tables, scratch, node, (at, reply), race))
        outcomes[scratch.cards[at]] = value
        best = max(best, value)
    return best


@jit
def _race_after(tables: Any, scratch: Any, node: Node, trick: tuple[int, int], race: Race) -> int:
    """How the race ends for the leader of a trick: the card led, and the reply."""
    lead, reply = trick
    after, wins = played(tables.lay, node, suit_of(tables.lay, node.c, lead), lead, reply)
    mine, theirs = race
    if wins:
        return race_outcome(tables, scratch, after, Race(mine - 1, theirs))
    return -race_outcome(tables, scratch, after, Race(theirs - 1, mine))
