# pyright: reportArgumentType=false
"""An agent's strategy on the public tree, from one query of its policy per view.

All private histories of a seat are expanded trick by trick: its dealt hand, the opponent's
plays, and its own hidden draws. Histories that the agent's own play does not reach are not
queried. The order of hidden draws is private, so histories that differ by it alone are merged;
an agent that does not read it is queried for one of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..common.jit.compiler import forceinline, jit
from ..common.typing import Array
from ..engine.bitset import ONE, bit, lowest, popcount, suit_set
from ..engine.dtypes import GAME, NO_CARD, VIEW
from ..engine.play import Record, beats, play, row, set_up, suit_of
from ..engine.rng import hash_with
from ..engine.rules import Rules
from ..engine.sampling.determinizations import SAMPLING_PLAN, plan_determinizations
from ..engine.view import write_view
from .public_tree import lead_actions, legal_replies, lowest_bit
from .view_cells import NO_CELL, PathTables, write_cells

Policy = Callable[[Array], Array]
"""From views to the probability of each action in each of them."""
Compare = Callable[[Array, Array], None]
"""Called with views, and with others that differ from them by the order of hidden draws alone."""

_MAX_LEVELS = 12
_BATCH_SIZE = 4000
_TIMED_HISTORIES = 300
_COMPARED_HISTORIES = 64
"""Number of histories that stand for another order of draws and are compared, in each batch."""

HISTORY = np.dtype(
    [
        ("hand", "u8"),
        ("dealt_hand", "u8"),  # as dealt
        ("opponent_cards", "u8"),  # public cards of the opponent's hand
        ("unseen", "u8"),  # cards that are not public
        ("reach", "f8"),  # the agent's own reach probability
        ("public", "u8"),  # hash of the public history
        ("led", "u1", (_MAX_LEVELS,)),
        ("followed", "u1", (_MAX_LEVELS,)),
        ("upcards", "u1", (_MAX_LEVELS,)),
        ("draws", "u1", (_MAX_LEVELS,)),  # the agent's hidden draws
        ("leads", "u1"),  # whether the agent leads to the trick
        ("spare", "u1", (7,)),
    ]
)
QUERY = np.dtype([("history", "i8"), ("led", "i8")])


# -- one history


@forceinline
def _n_hidden(rules: Record, history: Record) -> int:
    return np.int64(rules.hand) - popcount(history.opponent_cards)


class TrickDecision(NamedTuple):
    """The decisions of a seat in one trick."""

    rules: np.ndarray
    level: int
    seat: int


@jit
def _write_view(
    decision: TrickDecision, history: Record, led: int, view: Record, game: Record
) -> None:
    """Write the agent's view by replaying its history; the opponent's hidden cards are any."""
    rules, level, seat = row(decision.rules, 0), decision.level, decision.seat
    hand = np.int64(rules.hand)
    remaining = history.dealt_hand
    for position in range(hand):
        game.deal[2 * position + seat] = lowest(remaining)
        game.deal[2 * position + 1 - seat] = lowest(history.dealt_hand)
        remaining &= remaining - ONE
    for trick in range(np.int64(rules.stock) // 2):
        public = trick <= level
        game.deal[2 * (hand + trick)] = history.upcards[trick] if public else 0
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
def _list_queries(rules: np.ndarray, histories: np.ndarray, queries: np.ndarray) -> int:
    """List the decisions at a trick, one per lead of the opponent; returns their number.

    Those beyond the array's length are only counted.
    """
    record = row(rules, 0)
    count = 0
    for index in range(len(histories)):
        history = row(histories, index)
        if history.leads:
            leads = ONE
        else:
            hidden = history.unseen & ~history.hand
            leads = lead_actions(hidden, history.opponent_cards, _n_hidden(record, history))
        while leads:
            if count < len(queries):
                queries[count]["history"] = index
                queries[count]["led"] = -1 if history.leads else lowest(leads)
            leads &= leads - ONE
            count += 1
    return count


@jit
def _write_views(
    decision: TrickDecision,
    histories: np.ndarray,
    queries: np.ndarray,
    views: np.ndarray,
    games: np.ndarray,
) -> None:
    for index in range(len(queries)):
        query = queries[index]
        history = row(histories, query["history"])
        _write_view(decision, history, query["led"], row(views, index), row(games, 0))


@jit
def _keep_reachable(queries: np.ndarray, views: np.ndarray, sampling_plans: np.ndarray) -> int:
    """Move those with a consistent deal to the front: a void that the opponent showed excludes
    some. Returns their number.
    """
    count = 0
    for index in range(len(views)):
        plan = row(sampling_plans, 0)
        plan_determinizations(row(views, index), True, plan)
        if plan.weighted == 0 or plan.total > 0:
            if count < index:
                queries[count], views[count] = queries[index], views[index]
            count += 1
    return count


@jit
def _add_to_strategy(
    histories: np.ndarray,
    queries: np.ndarray,
    cells: np.ndarray,
    probs: np.ndarray,
    strategy_sum: np.ndarray,
) -> None:
    for index in range(len(queries)):
        reach = histories[queries[index]["history"]]["reach"]
        for card in range(cells.shape[1]):
            if probs[index, card] > 0:
                strategy_sum[cells[index, card]] += np.float32(reach * probs[index, card])


@jit
def _expand(
    decision: TrickDecision,
    histories: np.ndarray,
    queries: np.ndarray,
    probs: np.ndarray,
    children: np.ndarray,
) -> int:
    """List the histories before the next trick, as `_list_queries` does; returns their number."""
    record, level = row(decision.rules, 0), decision.level
    count = 0
    for index in range(len(queries)):
        query = queries[index]
        history = row(histories, query["history"])
        upcard = np.int64(history.upcards[level])
        for card in range(probs.shape[1]):
            if probs[index, card] <= 0:
                continue
            card_bit = bit(card)
            hand = history.hand & ~card_bit
            replies = ONE
            if history.leads:
                hidden = history.unseen & ~history.hand
                replies = legal_replies(
                    hidden,
                    history.opponent_cards,
                    _n_hidden(record, history),
                    suit_set(suit_of(card)),
                )
            while replies:
                opponent_card = lowest(replies) if history.leads else query["led"]
                replies &= replies - ONE
                led, followed = (card, opponent_card) if history.leads else (opponent_card, card)
                trump = suit_of(np.int64(history.upcards[0])) if record.trumps == 1 else 4
                won = beats(followed, led, trump) != history.leads
                unseen = history.unseen & ~card_bit & ~bit(opponent_card)
                draws = ONE if won else unseen & ~hand
                while draws:
                    drawn = NO_CARD if won else lowest(draws)
                    draws &= draws - ONE
                    next_hand = hand | bit(upcard if won else drawn)
                    upcards = unseen & ~next_hand
                    while upcards:
                        if count < len(children):
                            child = row(children, count)
                            child.hand = next_hand
                            child.dealt_hand = history.dealt_hand
                            child.opponent_cards = history.opponent_cards & ~bit(opponent_card)
                            if not won:
                                child.opponent_cards |= bit(upcard)
                            child.unseen = unseen & ~lowest_bit(upcards)
                            child.reach = history.reach * probs[index, card]
                            for trick in range(level + 1):
                                child.led[trick] = history.led[trick]
                                child.followed[trick] = history.followed[trick]
                                child.upcards[trick] = history.upcards[trick]
                                child.draws[trick] = history.draws[trick]
                            child.led[level] = led
                            child.followed[level] = followed
                            child.draws[level] = drawn
                            child.upcards[level + 1] = lowest(upcards)
                            child.leads = won
                            event = np.uint64(led + 64 * followed + 4096 * lowest(upcards))
                            child.public = hash_with(history.public, event)
                        upcards &= upcards - ONE
                        count += 1
    return count


# -- all histories


def _initial_histories(rules: Rules, seat: int, suit: int) -> Array:
    """The histories before the first trick: each hand with each upcard of a suit."""
    deck = [int(card) for card in rules.deck]
    deals = []
    for upcard in deck[rules.ranks * suit : rules.ranks * (suit + 1)]:
        others = [card for card in deck if card != upcard]
        for hand_cards in combinations(others, rules.hand):
            deals.append((upcard, sum(1 << card for card in hand_cards)))
    histories = np.zeros(len(deals), HISTORY)
    histories["upcards"][:, 0] = [upcard for upcard, _ in deals]
    histories["public"] = histories["upcards"][:, 0]
    histories["hand"] = histories["dealt_hand"] = [hand for _, hand in deals]
    deck_mask = sum(1 << card for card in deck)
    histories["unseen"] = [deck_mask & ~(1 << upcard) for upcard, _ in deals]
    histories["reach"] = 1
    histories["leads"] = seat == 0
    return histories


def _merge(histories: Array) -> Array:
    """Merge histories that differ by the order of hidden draws alone."""
    order, starts = _groups(histories)
    merged = histories[order[starts]]
    merged["reach"] = np.add.reduceat(histories["reach"][order], starts)
    return merged


def _groups(histories: Array) -> tuple[Array, Array]:
    """An order in which histories that differ by hidden draws alone follow, and their starts."""
    order = np.lexsort((histories["hand"], histories["public"]))
    public, hand = histories["public"][order], histories["hand"][order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (public[1:] != public[:-1]) | (hand[1:] != hand[:-1])
    return order, np.flatnonzero(new)


def _other_orders(histories: Array, chance: np.random.Generator) -> tuple[Array, Array]:
    """Some of the histories that `_merge` keeps, and others that it merges into them."""
    order, starts = _groups(histories)
    merged = np.delete(np.arange(len(order)), starts)
    merged = chance.permutation(merged)[:_COMPARED_HISTORIES]
    kept = starts[np.searchsorted(starts, merged, side="right") - 1]
    return histories[order[kept]], histories[order[merged]]


def _batches(histories: Array) -> Iterator[Array]:
    """The histories in batches that keep equal public histories together."""
    ends = np.flatnonzero(np.diff(histories["public"])) + 1
    ends = np.append(ends, len(histories))
    start = 0
    while start < len(histories):
        last = np.searchsorted(ends, start + _BATCH_SIZE, side="right")
        end = int(ends[last - 1]) if last and ends[last - 1] > start else int(ends[last])
        yield histories[start:end]
        start = end


class PolicyQueries:
    """Queries of a policy, and the strategy on the public tree that follows from them."""

    def __init__(
        self,
        rules: Rules,
        paths: PathTables,
        policy: Policy,
        orders: bool,
        compare: Compare | None = None,
    ) -> None:
        """With `orders` the order of hidden draws may matter to the policy.

        Otherwise `compare` gets a sample of views that are taken for one.
        """
        self._rules, self._paths, self._policy, self._orders = rules, paths, policy, orders
        self._compare, self._chance = compare, np.random.default_rng()
        self._record, self._games = rules.array(), np.zeros(1, GAME)
        self._sampling_plans = np.zeros(1, SAMPLING_PLAN)
        self.n_views = 0

    def seconds_per_view(self) -> float:
        histories = _initial_histories(self._rules, 0, 0)[:_TIMED_HISTORIES]
        queries = np.zeros(len(histories), QUERY)
        _list_queries(self._record, histories, queries)
        views = np.zeros(len(queries), VIEW)
        _write_views(TrickDecision(self._record, 0, 0), histories, queries, views, self._games)
        return seconds_per_view(self._policy, views)

    def strategy(self, suit: int, strategy_sum: Array, progress: Callable[[], None]) -> None:
        """Write the strategy in both seats for first upcards of a suit.

        Agents may treat equivalent suits differently, so each suit is a query of its own.
        `progress` is called after each batch.
        """
        strategy_sum[:] = 0
        for seat in range(2):
            self._query_trick(
                _initial_histories(self._rules, seat, suit), 0, seat, strategy_sum, progress
            )

    def _query_trick(
        self,
        histories: Array,
        level: int,
        seat: int,
        strategy_sum: Array,
        progress: Callable[[], None],
    ) -> None:
        for batch in _batches(histories):
            decision = TrickDecision(self._record, level, seat)
            queries, views = self._queries_of(decision, batch)
            cells = np.zeros((len(views), 52), np.int64)
            write_cells(self._paths, views, cells)
            probs = self._policy(views)
            self.n_views += len(views)
            assert (cells[probs > 0] != NO_CELL).all(), "a card was played that has no cell"
            _add_to_strategy(batch, queries, cells, probs, strategy_sum)
            progress()
            if level + 1 < self._rules.foreplay_tricks:
                size = _expand(decision, batch, queries, probs, np.zeros(0, HISTORY))
                children = np.zeros(size, HISTORY)
                _expand(decision, batch, queries, probs, children)
                if self._compare is not None:
                    below = TrickDecision(self._record, level + 1, seat)
                    kept, merged = _other_orders(children, self._chance)
                    self._compare(
                        self._queries_of(below, kept)[1], self._queries_of(below, merged)[1]
                    )
                children = (
                    children[np.argsort(children["public"])] if self._orders else _merge(children)
                )
                self._query_trick(children, level + 1, seat, strategy_sum, progress)

    def _queries_of(self, decision: TrickDecision, histories: Array) -> tuple[Array, Array]:
        """The queries of some histories that a deal leads to, and their views."""
        queries = np.zeros(_list_queries(self._record, histories, np.zeros(0, QUERY)), QUERY)
        _list_queries(self._record, histories, queries)
        views = np.zeros(len(queries), VIEW)
        _write_views(decision, histories, queries, views, self._games)
        count = _keep_reachable(queries, views, self._sampling_plans)
        return queries[:count], views[:count]


def seconds_per_view(policy: Policy, views: Array) -> float:
    """Seconds per query; the first one, which may compile, is not timed."""
    policy(views[:1])
    start = time.perf_counter()
    policy(views)
    return (time.perf_counter() - start) / len(views)
