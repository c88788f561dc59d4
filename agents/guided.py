"""Flat search with a guide: a compiled prior says what is tried, a compiled leaf what it is worth.

A prior is `prior(rules, view, data, logs)`, which writes the logarithm of the probability of
every legal action; it also replies for the other, who else plays by the rules of thumb. A leaf
is `leaf(rules, game, data)`, what the player on lead will be paid, asked before each next trick
whose ending can not be solved. Both are compiled by `jit`, and `data` is what they read: a tuple
of arrays, or `None`. `thinker` asks the same networks of many worlds at once, and draws these by
beliefs; here any function serves.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..engine.bits import NO_CARDS, ONE, lowest
from ..engine.cards import ACTIONS_IN_ALL
from ..engine.compiled import jit
from ..engine.endgame import Scratch, Tables
from ..engine.endgame.solver import scratch_here
from ..engine.play import Record, legal, pay, play, row
from ..engine.rules import Rules
from ..engine.state import CHOOSE, GAME, LEAD, OVER, VIEW
from ..engine.view import write_position
from ..engine.worlds import PLAN, draw_world, plan_worlds
from .base import Array
from .checkpoint import checkpoint_for, read_checkpoint
from .endings import ending_worth, is_ending
from .layers import new_rows, pass_rows
from .network import policy_net
from .replies import PRIOR, UNLIKELY, ask, new_desk
from .rollouts import play_out, thumb_in_game
from .searching import to_search
from .worth import MOST_PLACES, paid_on_average, pays_of, read_worth, write_game_places


class Prior(NamedTuple):
    """Which actions are worth trying."""

    function: Callable[..., None]
    data: Any = None


class Leaf(NamedTuple):
    """What a position before a trick is worth."""

    function: Callable[..., float]
    data: Any = None


# -- what guides where nothing else is given


@jit
def even(rules: Record, view: Record, data: Any, logs: np.ndarray) -> None:
    """Every action as likely as the others."""
    logs[:] = 0


@jit
def played_out(rules: Record, game: Record, data: Any) -> float:
    """The hand as the rules of thumb play it on; `data` are tables, scratch and room to look."""
    known, scratch, looks = data
    return play_out(rules, known, scratch, game, np.int64(game.leader), False, row(looks, 0))


# -- networks


@jit
def _by_policy(rules: Record, view: Record, data: Any, logs: np.ndarray) -> None:
    net, desk = data
    ask(rules, view, net, desk)
    top, total = desk.logits.max(), 0.0
    for logit in desk.logits:
        total += np.exp(np.float64(logit - top))
    for action in range(len(desk.logits)):
        logs[action] = desk.logits[action] - top - np.log(total)


@jit
def _by_worth(rules: Record, game: Record, data: Any) -> float:
    net, rows, pays = data
    rows.counts[0] = write_game_places(rules, game, rows.places[0])
    pass_rows(net, rows, 1)
    return paid_on_average(rows.out[0], pays)


def network_prior(path: str | Path, rules: Rules) -> Prior:
    """The policy of a checkpoint."""
    net = policy_net(checkpoint_for(read_checkpoint(path), rules))
    return Prior(_by_policy, (net, new_desk(net)))


def network_leaf(path: str | Path, rules: Rules) -> Leaf:
    """A network of worth, as `german-whist study` makes it."""
    net = read_worth(path, rules)
    return Leaf(_by_worth, (net, new_rows(net, 1, MOST_PLACES), pays_of(rules)))


# -- the search


@jit
def guided_actions(
    rules: np.ndarray, known: Tables, scratch: Scratch, views: np.ndarray, rng: np.ndarray,
    worlds: int, voids: bool, prior: Any, prior_data: Any, replies: bool, leaf: Any,
    leaf_data: Any, go_on: bool,
    plans: np.ndarray, games: np.ndarray, looks: np.ndarray, logs: np.ndarray, totals: np.ndarray,
    tried: np.ndarray, actions: np.ndarray,
) -> None:  # fmt: skip
    """The guided search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the worlds are added to those of the last call, which had the same one view.
    """
    first, plan = row(rules, 0), row(plans, 0)
    for index in range(len(views)):
        view = row(views, index)
        cards = to_search(first, known, view, index, actions)
        if cards == NO_CARDS:
            continue
        if not go_on:
            totals[:] = 0
            tried[0] = 0
            plan_worlds(first, view, voids, plan)
        prior(first, view, prior_data, logs[0])
        top = -np.inf
        left = cards
        while left:
            top = max(top, logs[0, lowest(left)])
            left &= left - ONE
        for _ in range(worlds):
            draw_world(first, view, plan, rng[index : index + 1], row(games, 0))
            left = cards
            while left:
                card = lowest(left)
                left &= left - ONE
                if logs[0, card] - top > UNLIKELY:
                    games[1] = games[0]
                    play(first, row(games, 1), card)
                    totals[card] += _worth(
                        first, known, scratch, games, np.int64(view.seat), prior, prior_data,
                        replies, leaf, leaf_data, row(looks, 0), logs[1],
                    )  # fmt: skip
        tried[0] += worlds
        best, most = -1, 0.0
        left = cards
        while left:
            card = lowest(left)
            left &= left - ONE
            if logs[0, card] - top > UNLIKELY:
                score = totals[card] / tried[0] + PRIOR * logs[0, card]
                if best < 0 or score > most:
                    best, most = card, score
        actions[index] = best


# Functions that the search is compiled around anew for each guide; what they call is kept.
@jit
def _ending(rules: Record, known: Tables, scratch: Scratch, game: Record) -> int:
    return ending_worth(rules, known, scratch, game)


@jit
def _worth(
    rules: Record, known: Tables, scratch: Scratch, games: np.ndarray, seat: int, prior: Any,
    prior_data: Any, replies: bool, leaf: Any, leaf_data: Any, look: Record, logs: np.ndarray,
) -> float:  # fmt: skip
    """What `seat` is paid in the game `games[1]`, which is played to the next trick."""
    game = row(games, 1)
    while game.phase != LEAD and game.phase != OVER:
        if game.phase >= CHOOSE or not replies:
            play(rules, game, thumb_in_game(rules, game))
            continue
        write_position(rules, game, np.int64(game.turn), look)
        prior(rules, look, prior_data, logs)
        left, best = legal(rules, game), -1
        while left:
            card = lowest(left)
            left &= left - ONE
            if best < 0 or logs[card] > logs[best]:
                best = card
        play(rules, game, best)
    if game.phase == OVER:
        return 1.0 * pay(rules, game, seat)
    sign = 1.0 if game.leader == seat else -1.0
    if is_ending(rules, game):
        return sign * _ending(rules, known, scratch, game)
    return sign * leaf(rules, game, leaf_data)


class Guide:
    """A prior and a leaf, one of which may be left out, and the search that they guide."""

    def __init__(self, prior: Prior | None, leaf: Leaf | None) -> None:
        self.prior = prior or Prior(even)
        self._replies = prior is not None
        self.leaf = leaf

    def room(self) -> tuple[Any, ...]:
        """What one thread needs to search in."""
        return (
            scratch_here(), np.zeros(1, PLAN), np.zeros(2, GAME), np.zeros(1, VIEW),
            np.zeros(ACTIONS_IN_ALL), np.zeros((2, ACTIONS_IN_ALL)), np.zeros(1, np.int64),
        )  # fmt: skip

    def search(
        self, rules: Array, known: Tables, views: Array, streams: Array, samples: int, voids: bool,
        go_on: bool, room: tuple[Any, ...], actions: Array,
    ) -> None:  # fmt: skip
        """Write an action for each view of the tables' contract."""
        scratch, plans, games, looks, totals, logs, tried = room
        leaf = self.leaf or Leaf(played_out, (known, scratch, np.zeros(1, VIEW)))
        guided_actions(
            rules, known, scratch, views, streams, samples, voids, self.prior.function,
            self.prior.data, self._replies, leaf.function, leaf.data, go_on, plans, games, looks,
            logs, totals, tried, actions,
        )  # fmt: skip
