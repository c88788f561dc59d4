"""Open endgames of a race: who first takes the tricks still needed.

A race ends before all tricks are played, so the number of remaining tricks that a player could take
does not decide it, unless the hand is too short for both to reach the target; then the endgame
value does. Otherwise the search goes only as deep as the race can last.

Where a race pays by the margin, to win by `m` tricks is to win another race, in which the opponent
needs `m - 1` tricks fewer: the margin is found by one search for each trick of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import jit, noinline
from ..bitset import ONE, lowest
from .index import run_bottoms, suit_of
from .search import (
    Ending,
    Node,
    Scratch,
    Tablebase,
    every_reply,
    leader_points,
    next_reply,
    node_of,
    play_trick,
    race_reaches,
)

NOT_LEGAL = -128
"""Value of an illegal card in `solve_race_moves`."""
_MOST = 100
"""More than any race is won by."""


class Race(NamedTuple):
    """Tricks that the two players still need."""

    needed: int
    """By the player to move; in the search, by the leader."""
    needed_by_other: int
    by_margin: bool = False
    """Whether its value is the winner's margin in tricks, instead of 1."""


@noinline
def race_outcome(tablebase: Tablebase, scratch: Scratch, node: Node, race: Race) -> int:
    """1 if the leader wins the race, -1 if the opponent does, 0 if neither."""
    leader_needs, other_needs = race.needed, race.needed_by_other
    if leader_needs <= 0 or other_needs <= 0:
        return 1 if leader_needs <= 0 else -1
    if leader_needs + other_needs > node.n:  # only one of them can win: the trick count decides
        reached = leader_points(tablebase, scratch, node)
        if reached >= leader_needs:
            return 1
        return -1 if node.n - reached >= other_needs else 0
    return 1 if race_reaches(tablebase, scratch, node, (leader_needs, other_needs, 1)) else -1


@noinline
def race_value(tablebase: Tablebase, scratch: Scratch, node: Node, race: Race) -> int:
    """The outcome of a race for the leader, times the winner's margin if it is `by_margin`."""
    leader_needs, other_needs, by_margin = race
    outcome = race_outcome(tablebase, scratch, node, race)
    if not by_margin or outcome == 0:
        return outcome
    margin = 1
    loser_needs = other_needs if outcome > 0 else leader_needs
    while margin < loser_needs:
        closer = (
            Race(leader_needs, other_needs - margin, by_margin)
            if outcome > 0
            else Race(leader_needs - margin, other_needs, by_margin)
        )
        if race_outcome(tablebase, scratch, node, closer) != outcome:
            break
        margin += 1
    return outcome * margin


@jit
def solve_race(tablebase: Tablebase, scratch: Scratch, ending: Ending, race: Race) -> int:
    """Value of a race from the start of a trick: 1 if the leader wins, -1, or 0 for neither.

    In a race `by_margin` the margin in tricks. The tablebase has to be for a high contract.
    """
    node, _ = node_of(tablebase, scratch, ending)
    return race_value(tablebase, scratch, node, race)


@jit
def solve_race_moves(
    tablebase: Tablebase, scratch: Scratch, ending: Ending, race: Race, outcomes: np.ndarray
) -> int:
    """Fill `outcomes[52]` with the race's values for the player to move; returns the best one.

    As `solve_moves`, but for a race; `NOT_LEGAL` marks an illegal card.
    """
    scheme = tablebase.scheme
    outcomes[:] = NOT_LEGAL
    node, lead = node_of(tablebase, scratch, ending)
    _, class_id, pattern = node
    other = ((ONE << np.uint64(2 * node.n)) - ONE) ^ pattern
    legal = pattern
    if lead >= 0:
        follows = other & scheme.suits[class_id, suit_of(scheme, class_id, lead)]
        legal = follows if follows else other
    best = -_MOST
    worst = -race.needed if race.by_margin else -1  # no race is lost by more
    value = 0
    runs = run_bottoms(legal, scheme.bottoms[class_id])
    while legal:
        bit = lowest(legal)
        legal &= legal - ONE
        if (runs >> np.uint64(bit)) & ONE:
            if lead >= 0:
                swapped = Race(race.needed_by_other, race.needed, race.by_margin)
                value = -_race_after(tablebase, scratch, node, (lead, bit), swapped)
            else:
                value = _MOST
                lead_suit = suit_of(scheme, class_id, bit)
                replies = every_reply(scheme, class_id, other, lead_suit)
                while replies and value > worst:
                    reply = next_reply(scheme, class_id, lead_suit, replies)
                    replies ^= ONE << np.uint64(reply)
                    value = min(value, _race_after(tablebase, scratch, node, (bit, reply), race))
        outcomes[scratch.cards[bit]] = value
        best = max(best, value)
    return best


@jit
def _race_after(
    tablebase: Tablebase, scratch: Scratch, node: Node, trick: tuple[int, int], race: Race
) -> int:
    lead, reply = trick
    scheme = tablebase.scheme
    after, wins = play_trick(scheme, node, suit_of(scheme, node.class_id, lead), lead, reply)
    leader_needs, other_needs, by_margin = race
    if wins:
        return race_value(tablebase, scratch, after, Race(leader_needs - 1, other_needs, by_margin))
    return -race_value(tablebase, scratch, after, Race(other_needs - 1, leader_needs, by_margin))
