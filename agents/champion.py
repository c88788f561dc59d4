"""The champion: the network that comes with the package, trained by self-play.

Its card, `champion.json`, holds the command that trained it and what it was measured at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..engine.rules import Match, Rules
from .base import CannotPlay
from .checkpoint import Checkpoint, read_card
from .network import NetworkAgent, check_rules

NAME = "champion"
WEIGHTS = Path(__file__).with_name("champion.safetensors")


class Champion(NetworkAgent):
    """The trained network that comes with the package."""

    def __init__(self, rules: Any = "classic", *words: str, match: Match | None = None) -> None:
        """`words` are `greedy` or `sample`."""
        super().__init__(rules, WEIGHTS, *words, match=match, name=NAME)

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules, as its card says: nothing is compiled to know it."""
        try:
            check_rules(Checkpoint(WEIGHTS, {}, read_card(WEIGHTS)), rules, NAME)
        except CannotPlay:
            return False
        return True
