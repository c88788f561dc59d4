"""What an agent plays, asked for once in each of its views, as a strategy on the public tree.

All private histories of a seat are walked trick by trick: its first hand, what the other was
seen to play, and the cards that it drew unseen. Where the agent never comes it is not asked.
The order of unseen draws is nobody else's knowledge, so histories that differ by it alone add
up; an agent that does not look at it is asked for one of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

from ...agents.base import Agent
from ...agents.solved.path import NO_CELL, Paths, write_cells
from ...agents.solved.tree import answers, first_bit, lead_actions
from ...engine.arrays import Array
from ...engine.bits import ONE, bit, lowest, popcount, suit_set
from ...engine.compiled import inlined, jit
from ...engine.play import Record, beats, play, row, set_up, suit_of
from ...engine.rules import Rules
from ...engine.state import GAME, NO_CARD, VIEW
from ...engine.streams import keyed
from ...engine.view import write_view
from ...engine.worlds import PLAN, plan_worlds

Says = Callable[[Array], Array]
"""With what probability an agent plays each action in each of many views."""

_MOST_LEVELS = 12
_AT_ONCE = 20_000
_SAMPLE = 300

HISTORY = np.dtype(
    [
        ("hand", "u8"),
        ("start", "u8"),  # the hand that was dealt
        ("theirs", "u8"),  # cards that the other is known to hold
        ("unseen", "u8"),  # cards that not both have seen
        ("reach", "f8"),  # how likely the agent plays so, if the cards fall so
        ("public", "u8"),  # a key of what both have seen
        ("led", "u1", (_MOST_LEVELS,)),
        ("followed", "u1", (_MOST_LEVELS,)),
        ("upcards", "u1", (_MOST_LEVELS,)),
        ("draws", "u1", (_MOST_LEVELS,)),  # what the agent drew unseen
        ("leads", "u1"),  # whether the agent leads to the trick
        ("spare", "u1", (7,)),
    ]
)
QUESTION = np.dtype([("history", "i8"), ("led", "i8")])


# -- one history


@inlined
def _hidden(rules: Record, history: Record) -> int:
    """How many of the other's cards are not known, before it plays to a trick."""
    return np.int64(rules.hand) - popcount(history.theirs)


@jit
def _show(rules: Record, history: Record, level: int, led: int, seat: int, view: Record,
          game: Record) -> None:  # fmt: skip
    """The agent's view, by playing its history; the other's hidden cards are put in at the end."""
    hand = np.int64(rules.hand)
    left = history.start
    for place in range(hand):
        game.deal[2 * place + seat] = lowest(left)
        game.deal[2 * place + 1 - seat] = lowest(history.start)
        left &= left - ONE
    for trick in range(np.int64(rules.stock) // 2):
        known = trick <= level
        game.deal[2 * (hand + trick)] = history.upcards[trick] if known else 0
        drawn = history.draws[trick] if trick < level else 0
        game.deal[2 * (hand + trick) + 1] = 0 if drawn == NO_CARD else drawn
    set_up(rules, game, 1)
    for trick in range(level):
        play(rules, game, np.int64(history.led[trick]))
        play(rules, game, np.int64(history.followed[trick]))
    if led >= 0:
        play(rules, game, led)
    game.hand[1 - seat] = (ONE << np.uint64(hand - (1 if led >= 0 else 0))) - ONE
    write_view(rules, game, seat, view)


@jit
def _questions(rules: np.ndarray, histories: np.ndarray, questions: np.ndarray) -> int:
    """The decisions of the agent at a trick, one for each lead of the other; how many there are.

    Nothing is written where there is no room.
    """
    first = row(rules, 0)
    count = 0
    for index in range(len(histories)):
        history = row(histories, index)
        if history.leads:
            leads = ONE
        else:
            free = history.unseen & ~history.hand
            leads = lead_actions(free, history.theirs, _hidden(first, history))
        while leads:
            if count < len(questions):
                questions[count]["history"] = index
                questions[count]["led"] = -1 if history.leads else lowest(leads)
            leads &= leads - ONE
            count += 1
    return count


@jit
def _views(
    rules: np.ndarray, histories: np.ndarray, questions: np.ndarray, level: int, seat: int,
    views: np.ndarray, games: np.ndarray,
) -> None:  # fmt: skip
    for index in range(len(questions)):
        question = questions[index]
        history = row(histories, question["history"])
        _show(row(rules, 0), history, level, question["led"], seat, row(views, index),
              row(games, 0))  # fmt: skip


@jit
def _mark_possible(
    rules: np.ndarray, views: np.ndarray, plans: np.ndarray, possible: np.ndarray
) -> None:
    """Which views play can lead to: where the other failed to follow, not all cards fit."""
    for index in range(len(views)):
        plan = row(plans, 0)
        plan_worlds(row(rules, 0), row(views, index), True, plan)
        possible[index] = plan.weighted == 0 or plan.total > 0


@jit
def _add(
    histories: np.ndarray, questions: np.ndarray, cells: np.ndarray, plays: np.ndarray,
    sums: np.ndarray,
) -> None:  # fmt: skip
    """Add what is played in each question to its cells, as often as it is asked."""
    for index in range(len(questions)):
        reach = histories[questions[index]["history"]]["reach"]
        for card in range(cells.shape[1]):
            if plays[index, card] > 0:
                sums[cells[index, card]] += np.float32(reach * plays[index, card])


@jit
def _expand(
    rules: np.ndarray, histories: np.ndarray, questions: np.ndarray, plays: np.ndarray,
    level: int, after: np.ndarray,
) -> int:  # fmt: skip
    """The histories before the next trick; how many there are, written where there is room."""
    first = row(rules, 0)
    count = 0
    for index in range(len(questions)):
        question = questions[index]
        history = row(histories, question["history"])
        upcard = np.int64(history.upcards[level])
        for card in range(plays.shape[1]):
            if plays[index, card] <= 0:
                continue
            own = bit(card)
            hand = history.hand & ~own
            replies = ONE
            if history.leads:
                free = history.unseen & ~history.hand
                replies = answers(
                    free, history.theirs, _hidden(first, history), suit_set(suit_of(card))
                )
            while replies:
                other = lowest(replies) if history.leads else question["led"]
                replies &= replies - ONE
                led, followed = (card, other) if history.leads else (other, card)
                trump = suit_of(np.int64(history.upcards[0])) if first.trumps == 1 else 4
                won = beats(followed, led, trump) != history.leads
                unseen = history.unseen & ~own & ~bit(other)
                draws = ONE if won else unseen & ~hand
                while draws:
                    drawn = NO_CARD if won else lowest(draws)
                    draws &= draws - ONE
                    now = hand | bit(upcard if won else drawn)
                    turned = unseen & ~now
                    while turned:
                        if count < len(after):
                            new = row(after, count)
                            new.hand = now
                            new.start = history.start
                            new.theirs = history.theirs & ~bit(other)
                            if not won:
                                new.theirs |= bit(upcard)
                            new.unseen = unseen & ~first_bit(turned)
                            new.reach = history.reach * plays[index, card]
                            for trick in range(level + 1):
                                new.led[trick] = history.led[trick]
                                new.followed[trick] = history.followed[trick]
                                new.upcards[trick] = history.upcards[trick]
                                new.draws[trick] = history.draws[trick]
                            new.led[level] = led
                            new.followed[level] = followed
                            new.draws[level] = drawn
                            new.upcards[level + 1] = lowest(turned)
                            new.leads = won
                            told = np.uint64(led + 64 * followed + 4096 * lowest(turned))
                            new.public = keyed(history.public, told)
                        turned &= turned - ONE
                        count += 1
    return count


# -- all of them


def _first(rules: Rules, seat: int, suit: int) -> Array:
    """The histories before the first trick: each hand with each upcard of a suit."""
    deck = [int(card) for card in rules.deck]
    found = []
    for upcard in deck[rules.ranks * suit : rules.ranks * (suit + 1)]:
        others = [card for card in deck if card != upcard]
        for held in combinations(others, rules.hand):
            found.append((upcard, sum(1 << card for card in held)))
    histories = np.zeros(len(found), HISTORY)
    histories["upcards"][:, 0] = [upcard for upcard, _ in found]
    histories["public"] = histories["upcards"][:, 0]
    histories["hand"] = histories["start"] = [hand for _, hand in found]
    every = sum(1 << card for card in deck)
    histories["unseen"] = [every & ~(1 << upcard) for upcard, _ in found]
    histories["reach"] = 1
    histories["leads"] = seat == 0
    return histories


def _merged(histories: Array) -> Array:
    """One history for all that differ by the order of unseen draws alone."""
    order = np.lexsort((histories["hand"], histories["public"]))
    public, hand = histories["public"][order], histories["hand"][order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (public[1:] != public[:-1]) | (hand[1:] != hand[:-1])
    starts = np.flatnonzero(new)
    merged = histories[order[starts]]
    merged["reach"] = np.add.reduceat(histories["reach"][order], starts)
    return merged


def _shared_out(histories: Array) -> Iterator[Array]:
    """The histories in shares, those of which both have seen the same together."""
    ends = np.flatnonzero(np.diff(histories["public"])) + 1
    ends = np.append(ends, len(histories))
    start = 0
    while start < len(histories):
        place = np.searchsorted(ends, start + _AT_ONCE, side="right")
        end = int(ends[place - 1]) if place and ends[place - 1] > start else int(ends[place])
        yield histories[start:end]
        start = end


class Asking:
    """The questions to an agent about one rule set, and what came of them."""

    def __init__(self, rules: Rules, paths: Paths, says: Says, orders: bool) -> None:
        """`orders` tells whether the order of unseen draws may matter."""
        self._rules, self._paths, self._says, self._orders = rules, paths, says, orders
        self._record, self._games = rules.record(), np.zeros(1, GAME)
        self._plans = np.zeros(1, PLAN)
        self.asked = 0

    def seconds_a_view(self) -> float:
        """What it takes to answer, by the first questions."""
        histories = _first(self._rules, 0, 0)[:_SAMPLE]
        questions = np.zeros(len(histories), QUESTION)
        _questions(self._record, histories, questions)
        views = np.zeros(len(questions), VIEW)
        _views(self._record, histories, questions, 0, 0, views, self._games)
        return seconds_a_view(self._says, views)

    def strategy(self, suit: int, sums: Array, tell: Callable[[], None]) -> None:
        """Write what it plays in either seat when the first upcard is of a suit.

        Players may take suits that play the same part for different ones, so a suit each is
        walked. `tell` is called now and then.
        """
        sums[:] = 0
        for seat in range(2):
            self._trick(_first(self._rules, seat, suit), 0, seat, sums, tell)

    def _trick(
        self, histories: Array, level: int, seat: int, sums: Array, tell: Callable[[], None]
    ) -> None:
        for share in _shared_out(histories):
            questions = np.zeros(_questions(self._record, share, np.zeros(0, QUESTION)), QUESTION)
            _questions(self._record, share, questions)
            views = np.zeros(len(questions), VIEW)
            _views(self._record, share, questions, level, seat, views, self._games)
            possible = np.zeros(len(views), np.bool_)
            _mark_possible(self._record, views, self._plans, possible)
            questions, views = questions[possible], views[possible]
            cells = np.zeros((len(views), 52), np.int64)
            write_cells(self._paths, views, cells)
            plays = self._says(views)
            self.asked += len(views)
            assert (cells[plays > 0] != NO_CELL).all(), "a card was played that has no cell"
            _add(share, questions, cells, plays, sums)
            tell()
            if level + 1 < self._rules.foreplay_tricks:
                size = _expand(self._record, share, questions, plays, level, np.zeros(0, HISTORY))
                after = np.zeros(size, HISTORY)
                _expand(self._record, share, questions, plays, level, after)
                after = after[np.argsort(after["public"])] if self._orders else _merged(after)
                self._trick(after, level + 1, seat, sums, tell)


def seconds_a_view(says: Says, views: Array) -> float:
    """What it takes to answer in each of some views; the first answer, which may compile, apart."""
    says(views[:1])
    began = time.perf_counter()
    says(views)
    return (time.perf_counter() - began) / len(views)


def minds_order(agent: Agent) -> bool:
    """Whether the order in which it drew unseen cards may matter to an agent."""
    return agent.reads_tricks and agent.reads_draws
