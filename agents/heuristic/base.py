"""Base class of the agents that play by rules of thumb."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...engine.rules import Match, RulesLike
from ..base import Agent, Array, compile_act
from ..perfect_endgame import EndgamePlayer


class RuleAgent(Agent):
    """Base class of rule-based agents with a perfect endgame."""

    decide: Callable[[Array, Array, Array], None]
    """Writes the action of each view by rules, views and actions."""
    reads_tricks = False
    thread_safe = True

    def __init__(self, rules: RulesLike = "classic", *, match: Match | None = None) -> None:
        super().__init__(rules, match=match)
        self._endgame = EndgamePlayer(self.rules)
        compile_act(self, f"{self.name.partition(':')[0]} agent", RuleAgent.act)

    def act(self, views: Array, rng: Array) -> Array:
        actions = np.empty(len(views), np.int64)
        self.decide(self.rules_array, views, actions)
        assert self._endgame is not None
        self._endgame.improve(views, actions)
        return actions
