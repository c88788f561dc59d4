"""The walk over the public tree: one player's values, against the other's reach.

A vector over what the other does not know of a hand goes down the tree (how likely the other
comes to be there, with each of its hands), and one of values comes up. At the walker's own
decisions it learns (counterfactual regret matching), responds best, or plays its average.
Where the other never comes, nothing is walked. The stack is explicit, as compiled code that
calls itself can not be kept; each part stands in one place of the loop and is compiled into
it, since most vectors are so short that a call would cost more than its work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...agents.solved.path import Paths, paths_of
from ...agents.solved.strategy import MOST
from ...agents.solved.tree import (
    Tree,
    all_cells,
    answers,
    cells_of,
    first_bit,
    lead_actions,
)
from ...engine.bits import NO_CARDS, ONE, lowest, popcount
from ...engine.compiled import inlined, jit
from .leaves import Leaves, leaves, packed_in
from .subsets import Subsets, subsets

LEARN, RESPOND, PLAY = 0, 1, 2
"""What the walker does at its own decisions."""

_LEAD, _ANSWER, _TURN = 0, 1, 2
_MOST_ACTIONS = 24

FRAME = np.dtype(
    [
        ("unseen", "u8"),
        ("known", "u8", (2,)),
        ("suit", "u8"),  # the suit led; all cards if none was
        ("gone", "u8"),  # cards that were played before
        ("left", "u8"),  # cards that are still to be turned up
        ("kind", "i8"),
        ("leader", "i8"),
        ("actor", "i8"),
        ("upcard", "i8"),
        ("level", "i8"),
        ("at", "i8"),  # the first cell of the decision
        ("answers_at", "i8"),  # the first cell of the next answer
        ("child", "i8"),  # the next trick of the next level
        ("taken", "i8"),  # tricks that player 0 took
        ("own", "i8", (2,)),  # unknown cards of each hand
        ("actions", "i8"),  # how many there are; 0 before they were looked at
        ("action", "i8"),  # the one that is walked next
        ("hands", "i8"),  # how many the actor may hold
    ]
)

ACTION = np.dtype(
    [
        ("card", "u8"),
        ("entry", "i8"),  # its first cell among those of the decision
        ("size", "i8"),  # and how many there are
        ("void_at", "i8"),  # how they lie among the actor's hands after it
        ("played_at", "i8"),  # and those among the hands before
        ("after", "i8"),  # the actor's hands after it
        ("kept_at", "i8"),  # how the passive player's hands lie among those before
        ("kept", "i8"),  # and how many are left
    ]
)


class Map(NamedTuple):
    """A tree with its ends, fit for compiled code."""

    paths: Paths
    tables: Subsets
    leaves: Leaves


class Work(NamedTuple):
    """Working memory of one walk: the stack, and vectors for each of its frames."""

    frames: np.ndarray
    actions: np.ndarray
    reach: np.ndarray
    value: np.ndarray
    mixed: np.ndarray
    """The strategy at each decision of the stack, a number for each of its cells."""
    worth: np.ndarray
    """What each of the walker's actions is worth."""
    total: np.ndarray
    ways: np.ndarray


def map_of(tree: Tree) -> Map:
    """A tree with its ends; every ending is solved for it."""
    return Map(paths_of(tree), subsets(tree.rules), leaves(tree.rules))


def new_work(tree: Tree) -> Work:
    """Memory for one walk at a time."""
    depth = 3 * tree.deck.tricks + 2
    choose = tree.deck.choose
    hands = int(max(choose[m, u] for m in range(tree.cards) for u in range(tree.deck.hand + 1)))
    cells = hands * tree.deck.hand

    def vectors(size: int) -> np.ndarray:
        return np.zeros((depth, size), np.float32)

    return Work(
        np.zeros(depth, FRAME), np.zeros((depth, _MOST_ACTIONS), ACTION),
        vectors(hands), vectors(hands), vectors(cells), vectors(cells),
        np.zeros(hands, np.float32), np.zeros(hands, np.float32),
    )  # fmt: skip


# -- one decision


@inlined
def _look(choose: np.ndarray, tables: Any, work: Any, depth: int, cards: np.uint64) -> None:
    """Write down the actions of a decision."""
    frame = work.frames[depth]
    unseen, suit = frame["unseen"], frame["suit"]
    actor = frame["actor"]
    own, other = frame["own"][actor], frame["own"][1 - actor]
    m = popcount(unseen)
    entry, count = 0, 0
    while cards:
        card = first_bit(cards)
        cards ^= card
        action = work.actions[depth, count]
        count += 1
        action["card"] = card
        action["entry"] = entry
        size = cells_of(choose, unseen, own, card, suit)
        action["size"] = size
        entry += size
        left, after = own, unseen
        action["played_at"] = 0
        action["kept_at"] = 0
        if card & unseen:
            left -= 1
            after ^= card
            place = popcount(unseen & (card - ONE))
            action["played_at"] = tables.played_at[place, left]
            action["kept_at"] = tables.kept_at[place, other]
        m = popcount(after)
        action["after"] = choose[m, left]
        action["kept"] = choose[m, other]
        action["void_at"] = 0
        if card & suit == NO_CARDS and after & suit:
            below = popcount(after & (first_bit(suit) - ONE))
            action["void_at"] = tables.void_at[below, popcount(after & suit), left]
    frame["actions"] = count
    frame["action"] = 0
    frame["hands"] = choose[popcount(unseen), own]


@inlined
def _mix(tables: Any, work: Any, depth: int, cells: np.ndarray) -> None:
    """What a decision's cells say to play: in proportion to them, or anything if they are 0."""
    frame = work.frames[depth]
    at, hands = frame["at"], frame["hands"]
    for hand in range(hands):
        work.total[hand] = 0
        work.ways[hand] = 0
    for k in range(frame["actions"]):
        action = work.actions[depth, k]
        entry, void_at, played_at = action["entry"], action["void_at"], action["played_at"]
        for i in range(action["size"]):
            hand = tables.played[played_at + tables.void[void_at + i]]
            work.total[hand] += cells[at + entry + i]
            work.ways[hand] += np.float32(1)
    for hand in range(hands):
        if work.total[hand] > 0:
            work.total[hand] = np.float32(1) / work.total[hand]
            work.ways[hand] = 0
        else:
            work.ways[hand] = np.float32(1) / max(work.ways[hand], np.float32(1))
    for k in range(frame["actions"]):
        action = work.actions[depth, k]
        entry, void_at, played_at = action["entry"], action["void_at"], action["played_at"]
        for i in range(action["size"]):
            hand = tables.played[played_at + tables.void[void_at + i]]
            work.mixed[depth, entry + i] = (
                cells[at + entry + i] * work.total[hand] + work.ways[hand]
            )


@inlined
def _average(tables: Any, work: Any, depth: int, sums: np.ndarray, weight: float) -> None:
    """Add what the other plays, where it comes to play it."""
    frame = work.frames[depth]
    at = frame["at"]
    for k in range(frame["actions"]):
        action = work.actions[depth, k]
        entry, void_at, played_at = action["entry"], action["void_at"], action["played_at"]
        for i in range(action["size"]):
            hand = tables.played[played_at + tables.void[void_at + i]]
            sums[at + entry + i] += (
                np.float32(weight) * work.reach[depth, hand] * work.mixed[depth, entry + i]
            )


@inlined
def _round(work: Any, depth: int, rounded: np.ndarray) -> None:
    """Write down what the other plays, in parts of `MOST`."""
    frame = work.frames[depth]
    last = work.actions[depth, frame["actions"] - 1]
    for i in range(last["entry"] + last["size"]):
        rounded[frame["at"] + i] = np.uint8(
            work.mixed[depth, i] * np.float32(MOST) + np.float32(0.5)
        )


@inlined
def _learn(tables: Any, work: Any, depth: int, regrets: np.ndarray) -> None:
    """Add the regrets of the walker's decision, none below nothing."""
    frame = work.frames[depth]
    at = frame["at"]
    for k in range(frame["actions"]):
        action = work.actions[depth, k]
        entry, void_at, played_at = action["entry"], action["void_at"], action["played_at"]
        for i in range(action["size"]):
            hand = tables.played[played_at + tables.void[void_at + i]]
            found = regrets[at + entry + i] + work.worth[depth, entry + i] - work.value[depth, hand]
            regrets[at + entry + i] = max(found, np.float32(0))


@inlined
def _act(tables: Any, work: Any, depth: int, action: Any, acts: bool) -> Any:
    """The other's reach after an action; whether it comes there at all.

    `acts` tells whether the one whose reach it is acts.
    """
    below = depth + 1
    most = np.float32(0)
    if not acts:
        kept_at = action["kept_at"]
        for i in range(action["kept"]):
            found = work.reach[depth, tables.kept[kept_at + i]]
            work.reach[below, i] = found
            most = max(most, found)
        return most > 0
    entry, void_at, played_at = action["entry"], action["void_at"], action["played_at"]
    if void_at > 0:
        for i in range(action["after"]):
            work.reach[below, i] = 0
    for i in range(action["size"]):
        to = tables.void[void_at + i]
        found = work.reach[depth, tables.played[played_at + to]] * work.mixed[depth, entry + i]
        work.reach[below, to] = found
        most = max(most, found)
    return most > 0


@inlined
def _absorb(
    tables: Any, work: Any, depth: int, action: Any, acts: bool, mode: int, some: bool
) -> None:
    """Take in what an action is worth to the walker; nothing where not `some`.

    `acts` tells whether the walker acts.
    """
    below = depth + 1
    if not acts:
        if some:
            kept_at = action["kept_at"]
            for i in range(action["kept"]):
                work.value[depth, tables.kept[kept_at + i]] += work.value[below, i]
        return
    entry, void_at, played_at = action["entry"], action["void_at"], action["played_at"]
    for i in range(action["size"]):
        to = tables.void[void_at + i]
        hand = tables.played[played_at + to]
        found = work.value[below, to] if some else np.float32(0)
        if mode == RESPOND:
            work.value[depth, hand] = max(work.value[depth, hand], found)
        else:
            work.worth[depth, entry + i] = found
            work.value[depth, hand] += work.mixed[depth, entry + i] * found


# -- after a trick


@inlined
def _leaf(
    place: Any, work: Any, below: int, unseen: np.uint64, known: np.uint64, left: np.uint64,
    own: int, other: int, won: bool, taken: int,
) -> None:  # fmt: skip
    """What the ending is worth to the walker, who won the last trick for the stock or lost it.

    `known` is what the winner is known to hold, `taken` the winner's tricks that count.
    """
    tables, ends, choose = place.tables, place.leaves, place.paths.deck.choose
    row = ends.row_of[left]
    held = packed_in(ends.packed, known, left)
    cards = packed_in(ends.packed, unseen, left)
    m = popcount(unseen)
    at = tables.rest_at[m, own]
    size = m - own
    placed_at = tables.placed_at[cards, own if won else other]
    if won:
        for i in range(choose[m, own]):
            total = np.float32(0)
            for k in range(at, at + size):
                total += work.reach[below, tables.rest[k]]
            at += size
            hand = np.uint64(tables.placed[placed_at + i]) | held
            work.value[below, i] = total * ends.worth[taken, row, hand]
        return
    for i in range(choose[m, other]):
        hand = np.uint64(tables.placed[placed_at + i]) | held
        work.reach[below, i] *= -ends.worth[taken, row, hand]
    for i in range(choose[m, own]):
        total = np.float32(0)
        for k in range(at, at + size):
            total += work.reach[below, tables.rest[k]]
        at += size
        work.value[below, i] = total


@inlined
def _draw(choose: np.ndarray, tables: Any, work: Any, depth: int, m: int, own: int) -> None:
    """The other's reach after it drew a card unseen, and holds `own` unknown ones."""
    at = tables.less_at[own]
    size = choose[m, own]
    for i in range(size):
        total = np.float32(0)
        for k in range(at, at + own):
            total += work.reach[depth, tables.less[k]]
        at += own
        work.total[i] = total
    for i in range(size):
        work.reach[depth, i] = work.total[i]


@inlined
def _undraw(choose: np.ndarray, tables: Any, work: Any, depth: int, m: int, own: int) -> None:
    """The walker's values before it drew a card unseen, and held `own` unknown ones after."""
    size = choose[m, own - 1]
    for i in range(size):
        work.total[i] = 0
    at = tables.less_at[own]
    for i in range(choose[m, own]):
        for k in range(at, at + own):
            work.total[tables.less[k]] += work.value[depth, i]
        at += own
    for i in range(size):
        work.value[depth, i] = work.total[i]


# -- the walk


@inlined
def _play(frames: Any, depth: int, card: np.uint64) -> Any:
    """Begin the frame below a decision, whose actor plays a card."""
    frames[depth + 1] = frames[depth]
    new = frames[depth + 1]
    actor = new["actor"]
    if card & new["unseen"]:
        new["own"][actor] -= 1
    new["unseen"] &= ~card
    new["known"][actor] &= ~card
    new["gone"] |= card
    return new


@inlined
def _begin_trick(place: Any, frame: Any, index: int) -> None:
    """Set a frame before a lead: where its decisions are kept, and what follows from it."""
    frame["kind"] = _LEAD
    frame["actor"] = frame["leader"]
    frame["suit"] = ~NO_CARDS
    frame["actions"] = 0
    at = place.paths.level_at[frame["level"]] + index
    frame["at"] = place.paths.cells[at]
    frame["child"] = place.paths.children[at]


@inlined
def _pass_over(place: Any, frame: Any, card: np.uint64) -> None:
    """Count the cells and the tricks that belong to the answers to a lead that nobody walks."""
    other = 1 - frame["leader"]
    unseen, own = frame["unseen"] & ~card, frame["own"][other]
    suit = place.paths.deck.suits[lowest(card)]
    replies = answers(unseen, frame["known"][other], own, suit)
    frame["answers_at"] += all_cells(place.paths.deck.choose, unseen, own, replies, suit)
    while replies:
        reply = first_bit(replies)
        replies ^= reply
        frame["child"] += popcount(unseen & ~reply)


@jit
def walk(
    place: Any, work: Any, root: int, walker: int, mode: int, regrets: np.ndarray,
    sums: np.ndarray, weight: float, rounded: np.ndarray,
) -> float:  # fmt: skip
    """The walker's total value over all deals with one first upcard.

    Learning adds to `regrets` of the walker, and `weight` times the other's strategy to `sums`;
    otherwise the other plays what is in `sums`, which is written to `rounded` unless that is empty.
    """
    tables, deck, frames = place.tables, place.paths.deck, work.frames
    other = 1 - walker
    every = (ONE << np.uint64(len(deck.suits))) - ONE
    counted = 1 if len(place.leaves.worth) > 1 else 0
    frame = frames[0]
    frame["unseen"] = every & ~(ONE << np.uint64(root))
    frame["gone"] = NO_CARDS
    frame["leader"] = 0
    frame["upcard"] = root
    frame["level"] = 0
    frame["taken"] = 0
    for player in range(2):
        frame["known"][player] = NO_CARDS
        frame["own"][player] = deck.hand
    _begin_trick(place, frame, root)
    hands = deck.choose[len(deck.suits) - 1, deck.hand]
    for i in range(hands):
        work.reach[0, i] = 1
    depth, some = 0, False
    while True:
        frame = frames[depth]
        if frame["kind"] == _TURN:
            if frame["left"]:  # turn up the next card
                card = first_bit(frame["left"])
                frame["left"] ^= card
                own = frame["own"][other]
                at = tables.kept_at[popcount(frame["unseen"] & (card - ONE)), own]
                most = np.float32(0)
                for i in range(deck.choose[popcount(frame["unseen"]) - 1, own]):
                    found = work.reach[depth, tables.kept[at + i]]
                    work.reach[depth + 1, i] = found
                    most = max(most, found)
                if most > 0:
                    frames[depth + 1] = frame
                    below = frames[depth + 1]
                    below["unseen"] ^= card
                    below["upcard"] = lowest(card)
                    below["level"] += 1
                    _begin_trick(place, below, frame["child"])
                    depth += 1
                frame["child"] += 1
                continue
            if frame["leader"] != walker:
                m = popcount(frame["unseen"])
                _undraw(deck.choose, tables, work, depth, m, frame["own"][walker])
        else:
            actor = frame["actor"]
            if frame["actions"] == 0:  # the decision is new
                if frame["kind"] == _LEAD:
                    cards = lead_actions(
                        frame["unseen"], frame["known"][actor], frame["own"][actor]
                    )
                else:
                    cards = answers(
                        frame["unseen"], frame["known"][actor], frame["own"][actor], frame["suit"]
                    )
                _look(deck.choose, tables, work, depth, cards)
                last = work.actions[depth, frame["actions"] - 1]
                frame["answers_at"] = frame["at"] + last["entry"] + last["size"]
                if mode == LEARN:
                    _mix(tables, work, depth, regrets)
                    if actor == other:
                        _average(tables, work, depth, sums, weight)
                elif mode == PLAY or actor == other:
                    _mix(tables, work, depth, sums)
                    if actor == other and len(rounded) > 0:
                        _round(work, depth, rounded)
                start = np.float32(0)
                if actor == walker and mode == RESPOND:
                    start = np.float32(-np.inf)
                for i in range(deck.choose[popcount(frame["unseen"]), frame["own"][walker]]):
                    work.value[depth, i] = start
            if frame["action"] < frame["actions"]:  # take the next action
                action = work.actions[depth, frame["action"]]
                card = action["card"]
                some = _act(tables, work, depth, action, actor == other)
                if frame["kind"] == _LEAD:
                    if some:
                        below = _play(frames, depth, card)
                        below["kind"] = _ANSWER
                        below["actor"] = 1 - actor
                        below["suit"] = deck.suits[lowest(card)]
                        below["actions"] = 0
                        below["at"] = frame["answers_at"]
                        depth += 1
                        continue
                    _pass_over(place, frame, card)
                else:
                    above = frames[depth - 1]
                    led = work.actions[depth - 1, above["action"]]["card"]
                    wins = deck.wins[lowest(led), lowest(card)]
                    winner = actor if wins else 1 - actor
                    if frame["level"] < deck.tricks - 1:
                        if some:
                            below = _play(frames, depth, card)
                            below["known"][winner] |= ONE << np.uint64(frame["upcard"])
                            below["own"][1 - winner] += 1
                            below["leader"] = winner
                            below["kind"] = _TURN
                            below["taken"] += 1 - winner
                            below["left"] = below["unseen"]
                            m = popcount(below["unseen"])
                            if winner == walker:
                                _draw(deck.choose, tables, work, depth + 1, m, below["own"][other])
                            for i in range(deck.choose[m, below["own"][walker]]):
                                work.value[depth + 1, i] = 0
                            depth += 1
                            continue
                        frame["child"] += popcount(frame["unseen"] & ~card)
                    elif some:
                        unseen = frame["unseen"] & ~card
                        known = frame["known"][winner] & ~card
                        known |= ONE << np.uint64(frame["upcard"])
                        played = 1 if card & frame["unseen"] else 0
                        own, others = frame["own"][walker], frame["own"][other]
                        if actor == walker:
                            own -= played
                        else:
                            others -= played
                        taken = frame["taken"] if winner == 0 else deck.tricks - 1 - frame["taken"]
                        _leaf(
                            place, work, depth + 1, unseen, known,
                            every & ~(frame["gone"] | card), own, others, winner == walker,
                            (taken + 1) * counted,
                        )  # fmt: skip
            elif mode == LEARN and actor == walker:
                _learn(tables, work, depth, regrets)
        if frame["kind"] == _TURN or frame["action"] == frame["actions"]:  # go up
            if depth == 0:
                break
            depth -= 1
            frame = frames[depth]
            below = frames[depth + 1]
            if frame["kind"] == _TURN:
                own = below["own"][walker]
                card = ONE << np.uint64(below["upcard"])
                at = tables.kept_at[popcount(frame["unseen"] & (card - ONE)), own]
                for i in range(deck.choose[popcount(below["unseen"]), own]):
                    work.value[depth, tables.kept[at + i]] += work.value[depth + 1, i]
                continue
            frame["child"] = below["child"]
            if frame["kind"] == _LEAD:
                frame["answers_at"] = below["answers_at"]
            some = True
        action = work.actions[depth, frame["action"]]
        _absorb(tables, work, depth, action, frame["actor"] == walker, mode, some)
        frame["action"] += 1
    total = 0.0
    for i in range(hands):
        total += np.float64(work.value[0, i])
    return total
