"""The champion: the network that comes with the package, trained by self-play.

Its card, `champion.json`, holds the commands that trained it and what it was measured at. The
last trick for the stock it does not play by feeling: few worlds are possible then, and it goes
through all of them, as the thinker does. The first champion is kept to measure against.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..engine.rules import Match, Rules
from .base import Array, CannotPlay
from .checkpoint import Checkpoint, read_card
from .network import NetworkAgent, check_rules
from .thinker import BELIEFS, POLICY, LastTrick

NAME, FIRST_NAME = "champion", "champion-1"
WEIGHTS = POLICY
FIRST_WEIGHTS = Path(__file__).with_name("champion-1.safetensors")


class Champion(NetworkAgent):
    """The trained network that comes with the package, its last trick for the stock exact."""

    def __init__(self, rules: Any = "classic", *words: str, match: Match | None = None) -> None:
        """`words` are `greedy`, or `sample` for the network alone."""
        super().__init__(rules, WEIGHTS, *words, match=match, name=NAME)
        self._last = None if self.sample else LastTrick(self.rules, WEIGHTS, BELIEFS)
        self.reads_tricks = self._last is not None

    def act(self, views: Array, rng: Array) -> Array:
        """An action for each view."""
        actions = super().act(views, rng)
        if self._last is not None:
            self._last.improve(views, actions)
        return actions

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules, as its card says: nothing is compiled to know it."""
        return _plays(WEIGHTS, NAME, rules)


class FirstChampion(NetworkAgent):
    """The first champion, which has no strength but its network's."""

    def __init__(self, rules: Any = "classic", *words: str, match: Match | None = None) -> None:
        """`words` are `greedy` or `sample`."""
        super().__init__(rules, FIRST_WEIGHTS, *words, match=match, name=FIRST_NAME)

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules, as its card says: nothing is compiled to know it."""
        return _plays(FIRST_WEIGHTS, FIRST_NAME, rules)


def _plays(weights: Path, name: str, rules: Rules) -> bool:
    try:
        check_rules(Checkpoint(weights, {}, read_card(weights)), rules, name)
    except CannotPlay:
        return False
    return True
