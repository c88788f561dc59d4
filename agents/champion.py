"""The champion: the network that comes with the package, trained by self-play.

Its card, `champion.json`, holds the command that trained it and what it was measured at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..engine.rules import Match
from .network import NetworkAgent

WEIGHTS = Path(__file__).with_name("champion.safetensors")


class Champion(NetworkAgent):
    """The trained network that comes with the package."""

    def __init__(self, rules: Any = "classic", *words: str, match: Match | None = None) -> None:
        """`words` are `greedy` or `sample`."""
        super().__init__(rules, WEIGHTS, *words, match=match)
