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
from ..engine.enumerate_deals import all_deals, count_deals, count_first_views
from ..engine.play import legal, payoff, play, row, set_up
from ..engine.rng import hash_with
from ..engine.rules import Rules
from ..engine.view import write_views

MAX_HISTORIES = 4_000_000
"""Terminal histories of a tree that is kept as a whole."""
MAX_HISTORIES_IN_PARTS = 300_000_000
"""Those of a deck whose tree is traversed in parts, one for each first view of a player."""
NO_SEAT = -1


# -- size


def max_histories(rules: Rules) -> int:
    """Upper bound on the number of terminal histories, for one dealer."""
    foreplay = (rules.hand**2 * (2 if rules.choice else 1)) ** rules.foreplay_tricks
    foreplay *= 4 if rules.exchange else 1
    return count_deals(rules) * foreplay * math.factorial(rules.hand) ** 2


def fits_whole(rules: Rules) -> bool:
    """Whether all deals fit in one tree."""
    return max_histories(rules) <= MAX_HISTORIES


def fits_in_parts(rules: Rules) -> bool:
    """Whether there are few enough deals, and an upcard that both players see first."""
    size = max_histories(rules)
    return (
        _sees_upcard(rules)
        and size <= MAX_HISTORIES_IN_PARTS
        and size / count_first_views(rules) <= MAX_HISTORIES
    )


def _sees_upcard(rules: Rules) -> bool:
    return rules.stock_cards > 0 and rules.faced == "every"


def check_size(rules: Rules) -> None:
    if fits_whole(rules):
        return
    size = (
        f"the rules {rules.name} can be dealt and played in up to {max_histories(rules):.3g} ways"
    )
    if not _sees_upcard(rules):
        raise ValueError(
            f"{size}, and where no card of the stock is turned up first, at most "
            f"{MAX_HISTORIES:,} are traversed: take fewer cards"
        )
    if not fits_in_parts(rules):
        raise ValueError(
            f"{size}, and at most {MAX_HISTORIES_IN_PARTS:,} are traversed: 2 suits of 5 ranks "
            "with hands of 2 or 3 are small enough"
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
    rules: np.ndarray,
    legal_actions: np.ndarray,
    children: np.ndarray,
    actions: np.ndarray,
) -> None:
    child = 0
    for remaining in legal_actions:
        while remaining:
            actions[child] = lowest(remaining)
            play(row(rules, 0), row(children, child), actions[child])
            remaining &= remaining - ONE
            child += 1


@jit
def play_out_forced(rules: np.ndarray, games: np.ndarray, copies: np.ndarray) -> None:
    """Play the games to their ends in which nobody has a choice any more."""
    for index in range(len(games)):
        game = row(copies, index)
        while game.phase != OVER:
            only = legal(row(rules, 0), game)
            if only & (only - ONE):
                break
            play(row(rules, 0), game, lowest(only))
        if game.phase == OVER:
            games[index] = copies[index]


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
    """Deals by one dealer, played in every way."""

    rules: Rules
    dealer: int
    deals: int = 0
    levels: list[Level] = field(default_factory=list)

    @classmethod
    def of(
        cls, rules: Rules, dealer: int, deals: Array | None = None, *, to_last_choice: bool = False
    ) -> GameTree:
        """The tree of all deals, or of the given ones.

        `to_last_choice` plays a hand to its end where nobody has a choice any more. (A player that
        has no choice is in the tree if a choice may follow: how often it comes to that is hidden.)
        """
        if deals is None:
            check_size(rules)
            deals = all_deals(rules)
        record = rules.array()
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
            if to_last_choice:
                play_out_forced(record, games, games.copy())
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
