"""An agent for single views, for people, tables and tests."""

from __future__ import annotations

import numpy as np

from ..engine.rules import RulesLike
from ..engine.view import View
from .base import Agent, Array, act_in_views, agent_key, decision_streams
from .game_numbers import reserve_game_numbers
from .registry import as_agent


class Player:
    """An agent that plays a single game: give it views, and it chooses actions.

    >>> from german_whist import Game
    >>> game, player = Game("classic", seed=5), Player("threshold", "classic")
    >>> game.play(player.choose(game.view(game.turn)))

    - `agent`: a name, an `Agent` or its class, or a function, as `as_agent` takes.
    - `rules`: the rule set. `None` (default): that of an `Agent`, otherwise `"classic"`.
    - `seed`: the seed (0) of the agent's random choices.

    Call `begin()` before every further hand if the agent has a memory.
    """

    def __init__(self, agent: object, rules: RulesLike | None = None, *, seed: int = 0) -> None:
        if rules is None:
            rules = agent.rules if isinstance(agent, Agent) else "classic"
        self.agent: Agent = as_agent(agent, rules, match=getattr(agent, "match", None))
        self._key = agent_key(seed)
        self._number = reserve_game_numbers(self.agent, 1)

    def choose(self, view: View, deal: int = 0) -> int:
        """Choose an action for a view of the player to move, in deal number `deal` of the seed."""
        views = view.array
        rng = decision_streams(self._key, np.array([deal], np.uint64), views)
        memory = {"indices": self._indices()} if self.agent.keeps_state else {}
        return act_in_views(self.agent, self.agent.act, views, rng, **memory)[0]

    def begin(self) -> None:
        """Start a new hand."""
        self.agent.reset(self._indices())

    def _indices(self) -> Array:
        return np.array([self._number.first])
