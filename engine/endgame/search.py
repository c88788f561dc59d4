"""Search above the tablebase."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..bits import NO_CARDS, ONE, SUIT_BITS, highest, lowest, popcount
from ..compiled import inlined, jit
from .generator import run_bottoms
from .layout import SUB, Layout, after_trick, entry, rank_of, reordered, without

FOUR = np.uint64(4)
FIFTEEN = np.uint64(15)
BYTE = np.uint64(255)


class Tables(NamedTuple):
    lay: Layout
    low: int
    cards: int
    base: np.ndarray   # nibble start of each layer in small
    small: np.ndarray
    eleven: np.ndarray
    twelve: np.ndarray
    thirteen: np.ndarray


@inlined
def stored(tables: Any, n: int, c: int, pattern: np.uint64) -> int:
    """points of leader"""
    index = tables.lay.base[c] + rank_of(tables.lay, n, pattern)
    if n <= 10:
        value = entry(tables.small, tables.base[n] + index)
    elif n == 11:
        value = entry(tables.eleven, index)
    elif n == 12:
        value = entry(tables.twelve, index)
    else:
        value = entry(tables.thirteen, index)
    return n - value if tables.low else value


@inlined
def reply_set(tables: Any, c: int, other: np.uint64, i: int, lead: int) -> np.uint64:
    lay = tables.lay
    theirs = other & lay.suits[c, i]
    if tables.low:
        runs = run_bottoms(other, lay.bottoms[c])
        return runs & lay.suits[c, i] if theirs else runs
    if theirs:
        higher = (theirs >> np.uint64(lead)) << np.uint64(lead)
        return (higher & (~higher + ONE)) | (theirs & (~theirs + ONE) & ((ONE << np.uint64(lead)) - ONE))
    replies = NO_CARDS
    for j in range(4):
        cards = other & lay.suits[c, j]
        replies |= cards & (~cards + ONE)
    return replies


@jit
def _last(tables: Any, n: int, c: int, pattern: np.uint64, need: int) -> bool:
    """Whether the leader reaches `need` when every trick ends in the tables."""
    lay = tables.lay
    other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
    leads = run_bottoms(pattern, lay.bottoms[c])
    i = 0
    while leads:
        lead = lowest(leads)
        leads &= leads - ONE
        while not (lay.suits[c, i] >> np.uint64(lead)) & ONE:
            i += 1
        replies = reply_set(tables, c, other, i, lead)
        found = True
        while replies and found:
            reply = highest(replies)
            j = 0
            replies ^= ONE << np.uint64(reply)
            while not (lay.suits[c, j] >> np.uint64(reply)) & ONE:
                j += 1
            wins = lead > reply if i == j else j > 0 or lay.trumps == 0
            step = lay.steps[c, i, j]
            after = after_trick(step, pattern, lead, reply)
            sub = np.int64(step[SUB])
            if wins:
                target = need - 1 + tables.low
            else:
                target = n - need + tables.low
                after ^= (ONE << np.uint64(2 * n - 2)) - ONE
            found = (target <= 0 or stored(tables, n - 1, sub, after) >= target) == wins
        if found:
            return True
    return False


@jit
def reaches(tables: Any, memory: np.ndarray, stack: np.ndarray, n: int, c: int, pattern: np.uint64, need: int) -> bool:
    lay = tables.lay
    top = n
    while True:
        verdict = -1
        leads = NO_CARDS
        replies = NO_CARDS
        lead = 0
        i = 0
        if need <= 0:
            verdict = 1
        elif need > n:
            verdict = 0
        elif n <= tables.cards:
            verdict = 1 if stored(tables, n, c, pattern) >= need else 0
        else:
            verdict = recall(memory, key_of(tables, c, pattern), need)
            if verdict < 0:
                if n - 1 <= tables.cards:
                    verdict = 1 if _last(tables, n, c, pattern, need) else 0
                    keep(memory, key_of(tables, c, pattern), n, need, verdict)
                else:
                    leads = run_bottoms(pattern, lay.bottoms[c])
        while verdict >= 0:
            if n == top:
                return verdict == 1
            n += 1
            frame = stack[n]
            c = np.int64(frame[0])
            pattern = frame[1]
            need = np.int64(frame[2])
            leads = frame[3]
            replies = frame[4]
            lead = np.int64(frame[5])
            i = np.int64(frame[6])
            held = verdict == np.int64(frame[7])
            if not held:
                replies = NO_CARDS
            if replies or (leads and not held):
                verdict = -1
            else:
                verdict = 1 if held else 0
                keep(memory, key_of(tables, c, pattern), n, need, verdict)
        if not replies:
            lead = lowest(leads)
            leads &= leads - ONE
            i = 0
            while not (lay.suits[c, i] >> np.uint64(lead)) & ONE:
                i += 1
            other = ((ONE << np.uint64(2 * n)) - ONE) ^ pattern
            replies = reply_set(tables, c, other, i, lead)
        reply = highest(replies)
        replies ^= ONE << np.uint64(reply)
        j = 0
        while not (lay.suits[c, j] >> np.uint64(reply)) & ONE:
            j += 1
        wins = lead > reply if i == j else j > 0 or lay.trumps == 0
        frame = stack[n]
        frame[0] = c
        frame[1] = pattern
        frame[2] = need
        frame[3] = leads
        frame[4] = replies
        frame[5] = lead
        frame[6] = i
        frame[7] = 1 if wins else 0
        step = lay.steps[c, i, j]
        pattern = after_trick(step, pattern, lead, reply)
        c = np.int64(step[SUB])
        n -= 1
        if wins:
            need = need - 1 + tables.low
        else:
            need = n - need + tables.low + 1
            pattern ^= (ONE << np.uint64(2 * n)) - ONE


@inlined
def key_of(tables: Any, c: int, pattern: np.uint64) -> np.uint64:
    return (pattern << np.uint64(16)) | (np.uint64(c) << np.uint64(4)) | np.uint64(2 * tables.lay.trumps + tables.low + 4)


@inlined
def slot_of(memory: np.ndarray, key: np.uint64) -> np.uint64:
    return ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & np.uint64(len(memory) - 1)


@inlined
def recall(memory: np.ndarray, key: np.uint64, need: int) -> int:
    held = memory[slot_of(memory, key)]
    if held >> np.uint64(8) == key:
        if np.int64((held >> FOUR) & FIFTEEN) >= need:
            return 1
        if np.int64(held & FIFTEEN) < need:
            return 0
    return -1


@inlined
def keep(memory: np.ndarray, key: np.uint64, n: int, need: int, verdict: int) -> None:
    slot = slot_of(memory, key)
    held = memory[slot]
    least = NO_CARDS
    most = np.uint64(n)
    if held >> np.uint64(8) == key:
        least = (held >> FOUR) & FIFTEEN
        most = held & FIFTEEN
    if verdict:
        least = np.uint64(need)
    else:
        most = np.uint64(need - 1)
    memory[slot] = (key << np.uint64(8)) | (least << FOUR) | most


@jit
def place(lay: Any, mine: np.uint64, theirs: np.uint64, trump: int, cards: np.ndarray) -> tuple[int, np.uint64]:
    every = mine | theirs
    l0 = -1
    # order the suits
    order = 0
    o0, o1, o2, o3 = 0, 1, 2, 3
    if trump > 0:
        if trump == 1:
            o0, o1 = 1, 0
        elif trump == 2:
            o0, o2 = 2, 0
        else:
            o0, o3 = 3, 0
    n0 = popcount((every >> np.uint64(13 * o0)) & SUIT_BITS)
    n1 = popcount((every >> np.uint64(13 * o1)) & SUIT_BITS)
    n2 = popcount((every >> np.uint64(13 * o2)) & SUIT_BITS)
    n3 = popcount((every >> np.uint64(13 * o3)) & SUIT_BITS)
    if n1 > n2:
        n1, n2, o1, o2 = n2, n1, o2, o1
    if n2 > n3:
        n2, n3, o2, o3 = n3, n2, o3, o2
    if n1 > n2:
        n1, n2, o1, o2 = n2, n1, o2, o1
    if trump < 0:
        if n0 > n1:
            n0, n1, o0, o1 = n1, n0, o1, o0
            if n1 > n2:
                n1, n2, o1, o2 = n2, n1, o2, o1
                if n2 > n3:
                    n2, n3, o2, o3 = n3, n2, o3, o2
    c = np.int64(lay.find[n0, n1, n2, n3])
    pattern = NO_CARDS
    at = 0
    for s in range(4):
        o = o0 if s == 0 else o1 if s == 1 else o2 if s == 2 else o3
        suit = every & (SUIT_BITS << np.uint64(13 * o))
        while suit:
            card = lowest(suit)
            suit &= suit - ONE
            cards[at] = card
            pattern |= ((mine >> np.uint64(card)) & ONE) << np.uint64(at)
            at += 1
    return c, pattern


@jit
def solve(tables: Any, memory: np.ndarray, count: np.ndarray, n: int, c: int, pattern: np.uint64, guess: int) -> int:
    if n <= tables.cards:
        return stored(tables, n, c, pattern)
    best = min(max(guess, 1), n)
    if reaches(tables, memory, count, n, c, pattern, best):
        while best < n and reaches(tables, memory, count, n, c, pattern, best + 1):
            best += 1
        return best
    best -= 1
    while not reaches(tables, memory, count, n, c, pattern, best):
        best -= 1
    return best


@jit
def solve_many(tables, memory, count, hands, trumps, out, cards):
    for k in range(len(out)):
        c, p = place(tables.lay, hands[k, 0], hands[k, 1], trumps[k], cards)
        out[k] = solve(tables, memory, count, 13, c, p, 7)


@jit
def solve_one(tables, memory, count, a, b, trump, cards):
    c, p = place(tables.lay, a, b, trump, cards)
    n = popcount(a)
    return solve(tables, memory, count, n, c, p, (n + 1) // 2)
