"""The open remainder of a race: who takes the tricks still wanting first.

A race ends in mid-hand, so how many of all remaining tricks a player could take
does not answer it, unless the hand is too short for both to arrive; then it is
read from the value of the ending. Otherwise the search goes only as deep as the
race can last, and tries every card that differs: that a higher card is never
worse is known for the count of tricks, not for races.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, highest, lowest, popcount
from ...common.jit.compiler import called, inlined, jit
from .choices import bit_of
from .index import place, run_bottoms, suit_of
from .search import next_reply, number, played, points, slot_of

NOT_LEGAL = 2
"""What `solve_race_moves` writes beside cards that may not be played."""


@inlined
def _race_key(tables: Any, c: int, pattern: np.uint64, mine: int, theirs: int, goal: int) -> Any:
    wanting = np.uint64(mine) | np.uint64(theirs) << np.uint64(4) | np.uint64(goal) << np.uint64(8)
    kind = np.uint64(8 + tables.lay.trumps)
    return (
        (wanting << np.uint64(42))
        | (pattern << np.uint64(16))
        | np.uint64(c) << np.uint64(4)
        | kind
    )


@inlined
def _all_replies(lay: Any, c: int, other: np.uint64, i: int) -> np.uint64:
    follows = other & lay.suits[c, i]
    return run_bottoms(follows if follows else other, lay.bottoms[c])


@called
def race_reaches(
    tables: Any, scratch: Any, n: int, c: int, pattern: np.uint64, mine: int, theirs: int, goal: int
) -> bool:
    """Whether the leader wins (goal 1), or does not lose (goal 0), a race.

    The leader wants `mine` tricks, the other `theirs`. The walk is the one of
    `search.reaches`, with the tricks still wanting in place of points.
    """
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
            key = _race_key(tables, c, pattern, mine, theirs, goal)
            held = memory[slot_of(memory, key)]
            if held >> np.uint64(8) == key:
                verdict = np.int64(held & ONE)
            leads = run_bottoms(pattern, lay.bottoms[c])
        while verdict >= 0:
            if n == top:
                return verdict == 1
            n += 1
            row = stack[n]
            c = number(row[0])
            pattern = row[1]
            goal = number(row[2])
            leads = row[3]
            replies = row[4]
            lead = number(row[5])
            i = number(row[6])
            mine = number(row[8])
            theirs = number(row[9])
            reached = verdict == number(row[7])
            if not reached:
                replies = NO_CARDS
            if replies or (leads and not reached):
                verdict = -1
            else:
                verdict = np.int64(reached)
                key = _race_key(tables, c, pattern, mine, theirs, goal)
                memory[slot_of(memory, key)] = (key << np.uint64(8)) | np.uint64(verdict)
        if not replies:
            lead = highest(leads)
            leads ^= ONE << np.uint64(lead)
            i = suit_of(lay, c, lead)
            replies = _all_replies(lay, c, ((ONE << np.uint64(2 * n)) - ONE) ^ pattern, i)
        reply = next_reply(lay, c, i, replies)
        replies ^= ONE << np.uint64(reply)
        sub, after, wins = played(lay, n, c, pattern, i, lead, reply)
        row = stack[n]
        row[0] = np.uint64(c)
        row[1] = pattern
        row[2] = np.uint64(goal)
        row[3] = leads
        row[4] = replies
        row[5] = np.uint64(lead)
        row[6] = np.uint64(i)
        row[7] = np.uint64(wins)
        row[8] = np.uint64(mine)
        row[9] = np.uint64(theirs)
        if wins:
            mine -= 1
        else:
            mine, theirs = theirs - 1, mine
            goal = 1 - goal
        c = sub
        pattern = after
        n -= 1


@called
def race_outcome(
    tables: Any, scratch: Any, n: int, c: int, pattern: np.uint64, mine: int, theirs: int
) -> int:
    """1 when the leader wins the race, -1 when the other does, 0 when nobody arrives."""
    if mine <= 0 or theirs <= 0:
        return 1 if mine <= 0 else -1
    if mine + theirs > n:  # not enough tricks for both to arrive: only their number counts
        reached = points(tables, scratch, n, c, pattern)
        if reached >= mine:
            return 1
        return -1 if n - reached >= theirs else 0
    return 1 if race_reaches(tables, scratch, n, c, pattern, mine, theirs, 1) else -1


@jit
def solve_race(
    tables: Any, scratch: Any, mine: np.uint64, theirs: np.uint64, trump: int,
    wanted: int, wanted_by_other: int,
) -> int:  # fmt: skip
    """Who wins a race, for the player on lead, who holds `mine`: 1, -1, or 0 for nobody.

    The leader still wants `wanted` tricks and the other `wanted_by_other`. The
    tables have to be for a high contract.
    """
    c, pattern = place(tables.lay, mine, theirs, trump, scratch.cards)
    return race_outcome(tables, scratch, popcount(mine), c, pattern, wanted, wanted_by_other)


@jit
def solve_race_moves(
    tables: Any, scratch: Any, mine: np.uint64, theirs: np.uint64, trump: int, led: int,
    wanted: int, wanted_by_other: int, outcomes: np.ndarray,
) -> int:  # fmt: skip
    """Fill `outcomes[52]` with 1, 0 or -1 for the player to move; returns the best of them.

    As `solve_moves`, but for a race in which the player to move still wants
    `wanted` tricks; 2 stands for a card that may not be played.
    """
    n = popcount(mine)
    lay = tables.lay
    outcomes[:] = NOT_LEGAL
    every = (ONE << np.uint64(2 * n)) - ONE
    if led >= 0:
        c, pattern = place(lay, theirs | (ONE << np.uint64(led)), mine, trump, scratch.cards)
        lead = bit_of(scratch.cards, led)
        follows = (every ^ pattern) & lay.suits[c, suit_of(lay, c, lead)]
        choice = follows if follows else every ^ pattern
    else:
        c, pattern = place(lay, mine, theirs, trump, scratch.cards)
        lead = -1
        choice = pattern
    best = -2
    value = 0
    legal = choice
    runs = run_bottoms(choice, lay.bottoms[c])
    while legal:
        at = lowest(legal)
        legal &= legal - ONE
        if (runs >> np.uint64(at)) & ONE:
            if led >= 0:
                value = -_race_after(
                    tables, scratch, n, c, pattern, lead, at, wanted_by_other, wanted
                )
            else:
                value = 1
                i = suit_of(lay, c, at)
                replies = _all_replies(lay, c, every ^ pattern, i)
                while replies and value > -1:
                    reply = next_reply(lay, c, i, replies)
                    replies ^= ONE << np.uint64(reply)
                    value = min(
                        value,
                        _race_after(
                            tables, scratch, n, c, pattern, at, reply, wanted, wanted_by_other
                        ),
                    )
        outcomes[scratch.cards[at]] = value
        best = max(best, value)
    return best


@jit
def _race_after(
    tables: Any, scratch: Any, n: int, c: int, pattern: np.uint64, lead: int, reply: int,
    mine: int, theirs: int,
) -> int:  # fmt: skip
    """How the race ends for the leader of a trick that is now complete."""
    sub, after, wins = played(tables.lay, n, c, pattern, suit_of(tables.lay, c, lead), lead, reply)
    if wins:
        return race_outcome(tables, scratch, n - 1, sub, after, mine - 1, theirs)
    return -race_outcome(tables, scratch, n - 1, sub, after, theirs - 1, mine)
