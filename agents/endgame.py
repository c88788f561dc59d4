"""The endgame inside the players: where the cards are known, the best card replaces the rule's."""

from __future__ import annotations

from ..engine.rules import Rules
from .base import Array


class EndgamePlayer:
    """Perfect play once the stock is gone, for the rule sets where that is defined."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.perfect = False

    def improve(self, views: Array, actions: Array) -> None:
        """Replace the actions of views in an open endgame by best ones."""
