"""An agent as a player of single views, for people, tables and tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.cards import CARDS, N_CARDS, action_text
from ..engine.dtypes import VIEW
from ..engine.view import View
from .base import Agent, agent_key, decision_streams
from .calls import answer_of
from .registry import as_agent


class Player:
    """An agent that plays one game.

    >>> from german_whist import Game
    >>> game, player = Game("classic", seed=5), Player("threshold", "classic")
    >>> game.play(player.choose(game.view(game.turn)))
    """

    def __init__(self, agent: object, rules: Any = None, *, seed: int = 0) -> None:
        """`agent` is anything `as_agent` takes; `rules` may be left out when it is an Agent."""
        if rules is None:
            rules = agent.rules if isinstance(agent, Agent) else "classic"
        self.agent: Agent = as_agent(agent, rules, match=getattr(agent, "match", None))
        self._key = agent_key(seed)

    def choose(self, view: View, deal: int = 0) -> int:
        """The action for a view of a player to move, in deal number `deal` of the seed."""
        views = np.array(view.record, VIEW)
        if not views["to_move"][0]:
            raise ValueError(f"seat {view.seat} is not to move in this view, so it cannot choose")
        rng = decision_streams(self._key, np.array([deal], np.uint64), views)
        action = int(answer_of(self.agent, views, rng, np.zeros(1, np.int64))[0])
        if action not in view.legal():
            allowed = ", ".join(action_text(each) for each in view.legal())
            raise ValueError(
                f"agent {self.agent.name} chose {action_text(action)}, which is not legal: "
                f"{allowed} are"
            )
        return CARDS[action] if action < N_CARDS else action

    def begin(self) -> None:
        """A new hand begins."""
        self.agent.reset(np.zeros(1, np.int64))
