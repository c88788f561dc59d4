# pyright: reportOptionalMemberAccess=false
"""Random play, with or without a perfect endgame."""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import jit
from ...engine.bitset import nth_lowest, popcount
from ...engine.play import row
from ...engine.rng import random_below
from ...engine.rules import Match, RulesLike
from ...engine.view import action_masks, legal_in_view
from ..base import Agent, Array, compile_act
from ..perfect_endgame import EndgamePlayer


@jit
def random_action(actions: np.uint64, stream: np.ndarray) -> int:
    """One of a set of actions, uniformly."""
    return nth_lowest(actions, random_below(stream, popcount(actions)))


@jit
def random_actions(
    rules: np.ndarray, views: np.ndarray, rng: np.ndarray, actions: np.ndarray
) -> None:
    for index in range(len(views)):
        legal = legal_in_view(row(rules, 0), row(views, index))
        actions[index] = random_action(legal, rng[index : index + 1])


class RandomAgent(Agent):
    """Uniformly random legal actions, endings included."""

    name = "random"
    reads_tricks = False
    thread_safe = True

    def __init__(self, rules: RulesLike = "classic", *, match: Match | None = None) -> None:
        super().__init__(rules, match=match)
        compile_act(self, "random agent", RandomAgent.act)

    def act(self, views: Array, rng: Array) -> Array:
        actions = np.empty(len(views), np.int64)
        random_actions(self.rules_array, views, rng.copy(), actions)
        return actions

    def probabilities(self, views: Array) -> Array:
        legal = action_masks(self.rules_array, views, self.rules.actions)
        return legal / legal.sum(axis=1, keepdims=True)


class RandomExactAgent(RandomAgent):
    """Random foreplay, perfect endgame."""

    name = "random-exact"

    def __init__(self, rules: RulesLike = "classic", *, match: Match | None = None) -> None:
        super().__init__(rules, match=match)
        self._endgame = EndgamePlayer(self.rules)

    def act(self, views: Array, rng: Array) -> Array:
        actions = super().act(views, rng)
        self._endgame.improve(views, actions)
        return actions

    def probabilities(self, views: Array) -> Array:
        probs = super().probabilities(views)
        self._endgame.replace_probabilities(views, probs)
        return probs
