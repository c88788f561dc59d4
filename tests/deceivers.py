"""Agents that deceive by false claims."""

from __future__ import annotations

from typing import Any

import numpy as np

from german_whist.agents.base import Agent, Array
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.agents.registry import load_agent
from german_whist.engine.view import action_masks


class Pretending(Agent):
    """Plays as `threshold`, and states the probabilities of `nash`."""

    name = "pretending"
    perfect_endgame = True  # type: ignore[assignment]

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.plays, self.states = (load_agent(name, rules) for name in ("threshold", "nash"))

    def act(self, views: Array, rng: Array) -> Array:
        return self.plays.act(views, rng)

    def probabilities(self, views: Array) -> Array:
        return self.states.probabilities(views)  # type: ignore[attr-defined, no-any-return]


class Worst(Agent):
    """Plays the foreplay as `threshold`, claims perfect endings, and plays another card there."""

    name = "worst"
    perfect_endgame = True  # type: ignore[assignment]

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.plays = load_agent("threshold", rules)

    def act(self, views: Array, rng: Array) -> Array:
        actions = self.plays.act(views, rng)
        legal = action_masks(self.rules_array, views, self.rules.actions)
        highest = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
        other = np.where(actions == highest, legal.argmax(axis=1), highest)
        return np.where(views["stock_left"] == 0, other, actions)


class Honest(Worst):
    """Plays as `worst`, and does not claim perfect endings."""

    perfect_endgame = False  # type: ignore[assignment]


class Ordering(Agent):
    """Plays high or low cards by its first unseen draw, and claims not to read their order."""

    name = "ordering"
    reads_draws = False

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self._endgame = EndgamePlayer(self.rules)

    def act(self, views: Array, rng: Array) -> Array:
        legal = action_masks(self.rules_array, views, self.rules.actions)
        highest = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
        actions = np.where(views["my_draws"][:, 0] % 2 == 0, highest, legal.argmax(axis=1))
        self._endgame.improve(views, actions)
        return actions
