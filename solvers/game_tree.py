"""The full game tree of a very small deck: every deal and every line of play, level by level.

An information state is what a player may know: its view. This covers any rules and
any agent: one that errs in endings, or keeps state, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..common.jit.compiler import jit
from ..common.typing import Array
from ..engine.bitset import ONE, lowest
from ..engine.dtypes import GAME, OVER, VIEW
from ..engine.enumerate_deals import all_deals, count_deals
from ..engine.play import legal, payoff, play, row, set_up
from ..engine.rng import hash_with
from ..engine.rules import Rules
from ..engine.view import write_views

MAX_HISTORIES = 4_000_000
NO_SEAT = -1


# -- size


def max_histories(rules: Rules) -> int:
    """Upper bound on the number of terminal histories, for one dealer."""
    foreplay = (rules.hand**2 * (2 if rules.choice else 1)) ** rules.foreplay_tricks
    foreplay *= 4 if rules.exchange else 1
    return count_deals(rules) * foreplay * math.factorial(rules.hand) ** 2


def check_size(rules: Rules) -> None:
    size = max_histories(rules)
    if size > MAX_HISTORIES:
        raise ValueError(
            f"the rules {rules.name} can be dealt and played in up to {size:.3g} ways, and at most "
            f"{MAX_HISTORIES:,} are traversed: 2 suits of 4 ranks with hands of 2, or 3 cards of 8 "
            "with a stock of 2, are small enough"
        )


# -- the tree


@jit
def begin_hands(rules: np.ndarray, games: np.ndarray, dealer: int) -> None:
    for index in range(len(games)):
        set_up(row(rules, 0), row(games, index), dealer)


@jit
def write_legal_actions(
    rules: np.ndarray, games: np.ndarray, legal_actions: np.ndarray, returns: np.ndarray
) -> None:
    """Write the legal actions of every game, and seat 0's return where it is over."""
    for index in range(len(games)):
        game = row(games, index)
        legal_actions[index] = legal(row(rules, 0), game)
        returns[index] = payoff(row(rules, 0), game, 0) if game.phase == OVER else 0


@jit
def play_each_action(
    rules: np.ndarray, legal_actions: np.ndarray, children: np.ndarray, actions: np.ndarray
) -> None:
    child = 0
    for remaining in legal_actions:
        while remaining:
            actions[child] = lowest(remaining)
            play(row(rules, 0), row(children, child), actions[child])
            remaining &= remaining - ONE
            child += 1


@jit
def hash_rows(words: np.ndarray, out: np.ndarray) -> None:
    """Write a hash of each row."""
    for index in range(len(words)):
        key = np.uint64(0)
        for word in words[index]:
            key = hash_with(key, word)
        out[index] = key


@dataclass
class Level:
    """All histories after so many decisions."""

    parents: Array
    """Of each history its parent on the level before."""
    actions: Array
    """The action that led from the parent to it."""
    players: Array
    """The seat to move, -1 in terminal histories."""
    returns: Array
    """Seat 0's return in terminal histories."""
    info_states: Array
    """The information state of the seat to move, as an index into `views`."""
    views: Array


@dataclass
class GameTree:
    """Every deal by one dealer, played in every way."""

    rules: Rules
    dealer: int
    deals: int = 0
    levels: list[Level] = field(default_factory=list)

    @classmethod
    def of(cls, rules: Rules, dealer: int) -> GameTree:
        check_size(rules)
        record = rules.array()
        deals = all_deals(rules)
        games = np.zeros(len(deals), GAME)
        games["deal"][:, : deals.shape[1]] = deals
        begin_hands(record, games, dealer)
        tree = cls(rules, dealer, len(deals))
        parents, actions = np.zeros(len(games), np.int64), np.zeros(len(games), np.int64)
        while len(games):
            legal_actions, returns = np.zeros(len(games), np.uint64), np.zeros(len(games))
            write_legal_actions(record, games, legal_actions, returns)
            tree.levels.append(_level(record, games, returns, parents, actions))
            parents = np.repeat(np.arange(len(games)), np.bitwise_count(legal_actions))
            games = games[parents]
            actions = np.zeros(len(games), np.int64)
            play_each_action(record, legal_actions, games, actions)
        return tree


def _level(record: Array, games: Array, returns: Array, parents: Array, actions: Array) -> Level:
    over = games["phase"] == OVER
    playing = np.flatnonzero(~over)
    views = np.zeros(len(playing), VIEW)
    write_views(record, games[playing], games["turn"][playing], views)
    words = views.view(np.uint64).reshape(len(views), VIEW.itemsize // 8)
    keys = np.zeros(len(views), np.uint64)
    hash_rows(words, keys)
    _, firsts, indices = np.unique(keys, return_index=True, return_inverse=True)
    assert (words[firsts][indices] == words).all(), "two views have one key"
    info_states = np.full(len(games), NO_SEAT, np.int64)
    info_states[playing] = indices
    players = np.where(over, NO_SEAT, games["turn"].astype(np.int64))
    return Level(
        parents,
        actions,
        players=players,
        returns=returns,
        info_states=info_states,
        views=views[firsts],
    )


# -- strategies


@dataclass
class OwnPast:
    """Earlier decisions of the owner of each information state, level by level."""

    levels: list[Level]
    info_states: list[Array]
    """Its information state on each earlier level, -1 where the opponent was to move."""
    actions: list[Array]
    """Its action there."""

    @classmethod
    def of(cls, tree: GameTree, depth: int) -> OwnPast:
        level = tree.levels[depth]
        playing = np.flatnonzero(level.players != NO_SEAT)
        _, firsts = np.unique(level.info_states[playing], return_index=True)
        # Perfect recall: all histories of an information state have the same own decisions.
        histories = playing[firsts]
        owners = level.players[histories]
        past = cls([], [], [])
        for earlier in range(depth - 1, -1, -1):
            level, below = tree.levels[earlier], tree.levels[earlier + 1]
            actions, histories = below.actions[histories], below.parents[histories]
            own = level.players[histories] == owners
            past.levels.insert(0, level)
            past.info_states.insert(0, np.where(own, level.info_states[histories], NO_SEAT))
            past.actions.insert(0, actions)
        return past


Strategy = list[Array]
"""Action probabilities `(info states, actions)` on each level."""


# -- values


def strategy_value(tree: GameTree, first: Strategy, second: Strategy) -> float:
    """Seat 0's expected return when it plays one strategy and seat 1 the other."""
    return float(_values(tree, (first, second))[0].mean())


def best_response_value(tree: GameTree, seat: int, opponent: Strategy) -> float:
    """A seat's expected return with a best response to the opponent's strategy."""
    strategies = (None, opponent) if seat == 0 else (opponent, None)
    value = float(_values(tree, strategies)[0].mean())
    return value if seat == 0 else -value


def _values(tree: GameTree, strategies: tuple[Strategy | None, Strategy | None]) -> list[Array]:
    """Seat 0's expected return from every history; a seat without a strategy responds best."""
    levels = tree.levels
    # Down the tree: reach probabilities of chance and of the seats with a strategy.
    reach = [np.full(tree.deals, 1.0 / tree.deals)]
    edge_probs: list[Array] = []
    for depth in range(1, len(levels)):
        level, above = levels[depth], levels[depth - 1]
        players, info_states = above.players[level.parents], above.info_states[level.parents]
        probs = np.ones(len(level.parents))
        for seat, strategy in enumerate(strategies):
            if strategy is not None:
                own = players == seat
                probs[own] = strategy[depth - 1][info_states[own], level.actions[own]]
        edge_probs.append(probs)
        reach.append(reach[-1][level.parents] * probs)
    # Up the tree: expected returns.
    values = [levels[-1].returns]
    for depth in range(len(levels) - 2, -1, -1):
        below, level = levels[depth + 1], levels[depth]
        probs = edge_probs[depth].copy()
        for seat, strategy in enumerate(strategies):
            if strategy is None:
                sign = 1.0 if seat == 0 else -1.0
                own = level.players[below.parents] == seat
                weighted_values = (sign * reach[depth + 1] * values[-1])[own]
                probs[own] = _best_actions(level, below, own, weighted_values, tree.rules.actions)
        expected = np.bincount(below.parents, probs * values[-1], len(level.players))
        values.append(np.where(level.players == NO_SEAT, level.returns, expected))
    return values[::-1]


def _best_actions(
    level: Level, below: Level, own: Array, weighted_values: Array, n_actions: int
) -> Array:
    """For each of a seat's edges (`own`), whether it is its information state's best action."""
    if not own.any():
        return own[own]
    info_states, actions = level.info_states[below.parents[own]], below.actions[own]
    edges = info_states * n_actions + actions
    size = len(level.views) * n_actions
    total = np.bincount(edges, weighted_values, size)
    total[np.bincount(edges, minlength=size) == 0] = -np.inf
    best = total.reshape(-1, n_actions).argmax(axis=1)
    return actions == best[info_states]
