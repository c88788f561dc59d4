"""The champion: the network that comes with the package, trained by self-play.

Its card, `champion.json`, holds the commands that trained it and what it was measured at. The
last two tricks for the stock it does not play by feeling: what follows them is exact, so there
it thinks, in few worlds. The first champion is kept to measure against.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..engine.rules import Match, Rules
from .base import Array
from .checkpoint import lists
from .network import NetworkAgent
from .thinker import POLICY, ThinkerAgent, is_late

NAME, FIRST_NAME = "champion", "champion-1"
WEIGHTS = POLICY
LAST, WORLDS = 2, 10
"""How many tricks for the stock it thinks about, and in how many worlds."""
FIRST_WEIGHTS = Path(__file__).with_name("champion-1.safetensors")


class Champion(NetworkAgent):
    """The network that comes with the package, thinking at the last tricks for the stock."""

    def __init__(self, rules: Any = "classic", *words: str, match: Match | None = None) -> None:
        """`words` are `greedy`, or `sample` for the network alone."""
        super().__init__(rules, WEIGHTS, *words, match=match, name=NAME)
        self._thinker = None if self.sample else ThinkerAgent(self.rules, WORLDS, f"last={LAST}")
        self.reads_tricks = self._thinker is not None

    def act(self, views: Array, rng: Array) -> Array:
        """An action for each view."""
        if self._thinker is None:
            return super().act(views, rng)
        actions, late = np.empty(len(views), np.int64), is_late(views, LAST)
        actions[~late] = super().act(views[~late], rng[~late])
        actions[late] = self._thinker.act(views[late], rng[late])
        return actions

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules, as its card says: nothing is compiled to know it."""
        return lists(WEIGHTS, rules)


class FirstChampion(NetworkAgent):
    """The first champion, which has no strength but its network's."""

    def __init__(self, rules: Any = "classic", *words: str, match: Match | None = None) -> None:
        """`words` are `greedy` or `sample`."""
        super().__init__(rules, FIRST_WEIGHTS, *words, match=match, name=FIRST_NAME)

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules, as its card says: nothing is compiled to know it."""
        return lists(FIRST_WEIGHTS, rules)
