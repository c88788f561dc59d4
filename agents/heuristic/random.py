"""Players without a plan: any legal card, with or without a perfect endgame."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.bitset import ONE, nth_lowest, popcount
from ...common.jit.compiler import jit, warm_up
from ...engine.play import Record, row
from ...engine.rng import random_below
from ...engine.rules import Match
from ...engine.view import legal_in_view, legal_in_views
from ..base import Agent, Array, no_rng, no_views
from ..perfect_endgame import EndgamePlayer


@jit
def random_action(rules: Record, view: Record, stream: np.ndarray) -> int:
    """Any legal action, all equally likely."""
    actions = legal_in_view(rules, view)
    return nth_lowest(actions, random_below(stream, popcount(actions)))


@jit
def random_actions(
    rules: np.ndarray, views: np.ndarray, rng: np.ndarray, actions: np.ndarray
) -> None:
    """`random_action` for each view of an array."""
    for index in range(len(views)):
        actions[index] = random_action(row(rules, 0), row(views, index), rng[index : index + 1])


class RandomAgent(Agent):
    """Plays any legal card, and chooses either stock card, all hand long."""

    name = "random"
    reads_tricks = False
    many_at_once = True

    def __init__(self, rules: Any = "classic", *, match: Match | None = None) -> None:
        super().__init__(rules, match=match)
        warm_up("random player", "agents", lambda: RandomAgent.act(self, no_views(), no_rng()))

    def act(self, views: Array, rng: Array) -> Array:
        """A legal action for each view."""
        actions = np.empty(len(views), np.int64)
        random_actions(self.record, views, rng.copy(), actions)
        return actions

    def probabilities(self, views: Array) -> Array:
        """`(n, actions)`: with what probability it plays each action."""
        sets = np.zeros(len(views), np.uint64)
        legal_in_views(self.record, views, sets)
        legal = sets[:, None] >> np.arange(self.rules.actions, dtype=np.uint64) & ONE
        return legal / legal.sum(axis=1, keepdims=True)


class RandomExactAgent(RandomAgent):
    """Plays any legal card in the foreplay and perfectly once the stock is gone."""

    name = "random-exact"

    def __init__(self, rules: Any = "classic", *, match: Match | None = None) -> None:
        super().__init__(rules, match=match)
        self._endgame = EndgamePlayer(self.rules)

    def act(self, views: Array, rng: Array) -> Array:
        """A legal action for each view, the best one in the endgame."""
        actions = super().act(views, rng)
        self._endgame.improve(views, actions)
        return actions

    def probabilities(self, views: Array) -> Array:
        """The same in the foreplay; in an open endgame the best card alone."""
        found = super().probabilities(views)
        self._endgame.settle(views, found)
        return found
