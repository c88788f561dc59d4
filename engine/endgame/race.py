"""Open endgames of a race: who first takes the tricks still needed.

A race ends before all tricks are played, so the number of remaining tricks that a player could take
does not decide it, unless the hand is too short for both to reach the target; then the endgame
value does. Otherwise the search goes only as deep as the race can last, and tries every different
card: that a higher card is never worse is known for the number of tricks, not for races.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...common.jit.compiler import forceinline, jit, noinline
from ..bitset import NO_CARDS, ONE, highest, lowest
from ..play import row
from .index import run_bottoms, suit_of
from .search import Ending, Node, leader_points, next_reply, node_of, play_trick, slot_of

NOT_LEGAL = 2
"""Value of an illegal card in `solve_race_moves`."""


class Race(NamedTuple):
    """Tricks that the two players still need."""

    needed: int
    """By the player to move; in the search, by the leader."""
    needed_by_other: int


@forceinline
def _race_key(tables: Any, node: Node, race: Race, goal: int) -> Any:
    needs = np.uint64(race.needed) | np.uint64(race.needed_by_other) << np.uint64(4)
    needs |= np.uint64(goal) << np.uint64(8)
    kind = np.uint64(8 + tables.endgame_index.trumps)
    return (
        (needs << np.uint64(42))
        | (node.pattern << np.uint64(16))
        | np.uint64(node.c) << np.uint64(4)
        | kind
    )


@forceinline
def _all_replies(index: Any, c: int, other: np.uint64, i: int) -> np.uint64:
    follows = other & index.suits[c, i]
    return run_bottoms(follows if follows else other, index.bottoms[c])


@noinline
def race_reaches(tables: Any, scratch: Any, node: Node, race: Race, goal: int) -> bool:
    """Whether the leader wins (goal 1), or does not lose (goal 0), a race.

    The search is that of `search.reaches`, with tricks still needed in place of points.
    """
    n, c, pattern = node
    leader_needs, other_needs = race
    index = tables.endgame_index
    transpositions = scratch.transpositions
    stack = scratch.stack
    top = n
    while True:
        verdict = -1
        leads = NO_CARDS
        replies = NO_CARDS
        lead = 0
        i = 0
        if leader_needs == 0:
            verdict = 1
        elif other_needs == 0:
            verdict = 0
        elif n == 0:
            verdict = 1 - goal
        else:
            key = _race_key(tables, Node(n, c, pattern), Race(leader_needs, other_needs), goal)
            slot_value = transpositions[slot_of(transpositions, key)]
            if slot_value >> np.uint64(8) == key:
                verdict = np.int64(slot_value & ONE)
            leads = run_bottoms(pattern, index.bottoms[c])
        while verdict >= 0:
            if n == top:
                return verdict == 1
            n += 1
            parent = row(stack, n)
            c = parent.c
            pattern = parent.pattern
            goal = parent.need
            leads = parent.leads
            replies = parent.replies
            lead = parent.lead
            i = parent.suit
            leader_needs = parent.needs[0]
            other_needs = parent.needs[1]
            reached = verdict == parent.wins
            if not reached:
                replies = NO_CARDS
            if replies or (leads and not reached):
                verdict = -1
            else:
                verdict = np.int64(reached)
                key = _race_key(tables, Node(n, c, pattern), Race(leader_needs, other_needs), goal)
                transpositions[slot_of(transpositions, key)] = (key << np.uint64(8)) | np.uint64(
                    verdict
                )
        if not replies:
            lead = highest(leads)
            leads ^= ONE << np.uint64(lead)
            i = suit_of(index, c, lead)
            replies = _all_replies(index, c, ((ONE << np.uint64(2 * n)) - ONE) ^ pattern, i)
        reply = next_reply(index, c, i, replies)
        replies ^= ONE << np.uint64(reply)
        after, wins = play_trick(index, Node(n, c, pattern), i, lead, reply)
        frame = row(stack, n)
        frame.c = c
        frame.pattern = pattern
        frame.need = goal
        frame.leads = leads
        frame.replies = replies
        frame.lead = lead
        frame.suit = i
        frame.wins = wins
        frame.needs[0] = leader_needs
        frame.needs[1] = other_needs
        if wins:
            leader_needs -= 1
        else:
            leader_needs, other_needs = other_needs - 1, leader_needs
            goal = 1 - goal
        n, c, pattern = after


@noinline
def race_outcome(tables: Any, scratch: Any, node: Node, race: Race) -> int:
    """1 if the leader wins the race, -1 if the opponent does, 0 if neither."""
    leader_needs, other_needs = race
    if leader_needs <= 0 or other_needs <= 0:
        return 1 if leader_needs <= 0 else -1
    if leader_needs + other_needs > node.n:  # only one of them can win: the trick count decides
        reached = leader_points(tables, scratch, node)
        if reached >= leader_needs:
            return 1
        return -1 if node.n - reached >= other_needs else 0
    return 1 if race_reaches(tables, scratch, node, race, 1) else -1


@jit
def solve_race(tables: Any, scratch: Any, ending: Ending, race: Race) -> int:
    """Outcome of a race from the start of a trick: 1 if the leader wins, -1, or 0 for neither.

    The tables have to be for a high contract.
    """
    node, _ = node_of(tables, scratch, ending)
    return race_outcome(tables, scratch, node, race)


@jit
def solve_race_moves(
    tables: Any, scratch: Any, ending: Ending, race: Race, outcomes: np.ndarray
) -> int:
    """Fill `outcomes[52]` with 1, 0 or -1 for the player to move; returns the best value.

    As `solve_moves`, but for a race; 2 marks an illegal card.
    """
    index = tables.endgame_index
    outcomes[:] = NOT_LEGAL
    node, lead = node_of(tables, scratch, ending)
    _, c, pattern = node
    other = ((ONE << np.uint64(2 * node.n)) - ONE) ^ pattern
    legal = pattern
    if lead >= 0:
        follows = other & index.suits[c, suit_of(index, c, lead)]
        legal = follows if follows else other
    best = -2
    value = 0
    runs = run_bottoms(legal, index.bottoms[c])
    while legal:
        bit = lowest(legal)
        legal &= legal - ONE
        if (runs >> np.uint64(bit)) & ONE:
            if lead >= 0:
                swapped = Race(race.needed_by_other, race.needed)
                value = -_race_after(tables, scratch, node, (lead, bit), swapped)
            else:
                value = 1
                i = suit_of(index, c, bit)
                replies = _all_replies(index, c, other, i)
                while replies and value > -1:
                    reply = next_reply(index, c, i, replies)
                    replies ^= ONE << np.uint64(reply)
                    value = min(value, _race_after(tables, scratch, node, (bit, reply), race))
        outcomes[scratch.cards[bit]] = value
        best = max(best, value)
    return best


@jit
def _race_after(tables: Any, scratch: Any, node: Node, trick: tuple[int, int], race: Race) -> int:
    lead, reply = trick
    index = tables.endgame_index
    after, wins = play_trick(index, node, suit_of(index, node.c, lead), lead, reply)
    leader_needs, other_needs = race
    if wins:
        return race_outcome(tables, scratch, after, Race(leader_needs - 1, other_needs))
    return -race_outcome(tables, scratch, after, Race(other_needs - 1, leader_needs))
