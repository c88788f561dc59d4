"""The champion: the networks that come with the package, trained by self-play and from a search.

Their cards, `champion.json` and `champion-family.json`, hold the commands that trained them and
what they were measured at. Where endings are exact and the thinker plays the rules, the last
two tricks for the stock are not played by feeling: there it thinks, in few worlds.
"""

from __future__ import annotations

from typing import Any

from ...engine.rules import Match, Rules, load_rules
from ..base import Array, CannotPlay
from ..checkpoints.bundled import CHAMPION, FIRST_CHAMPION, FIRST_WEIGHTS, champion_for
from ..checkpoints.checkpoint import lists
from ..networks.policy import NetworkAgent
from .thinker import ThinkerAgent, check_playable, is_late, shared_out

LAST, WORLDS = 2, 10
"""How many tricks for the stock it thinks about, and in how many worlds."""


class Champion(NetworkAgent):
    """The network that plays these rules, thinking at the last tricks for the stock."""

    def __init__(self, rules: Any = "classic", *words: str, match: Match | None = None) -> None:
        """`words` are `greedy`, or `sample` for the network alone."""
        rules = load_rules(rules)
        super().__init__(rules, champion_for(rules), *words, match=match, name=CHAMPION)
        thinks = not self.sample and can_think(rules)
        self._thinker = ThinkerAgent(rules, WORLDS, f"last={LAST}") if thinks else None
        self.reads_tricks = self._thinker is not None
        if self._thinker is not None:
            self.checkpoints = tuple(dict.fromkeys(self.checkpoints + self._thinker.checkpoints))

    def act(self, views: Array, rng: Array) -> Array:
        """An action for each view."""
        if self._thinker is None:
            return super().act(views, rng)
        return shared_out(is_late(views, LAST), self._thinker.act, super().act, views, rng)

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules, as the cards say: nothing is compiled to know it."""
        try:
            champion_for(rules)
        except CannotPlay:
            return False
        return True


def can_think(rules: Rules) -> bool:
    """Whether it thinks at the last tricks of these rules."""
    try:
        check_playable(rules)
    except CannotPlay:
        return False
    return True


class FirstChampion(NetworkAgent):
    """The first champion, which has no strength but its network's."""

    def __init__(self, rules: Any = "classic", *words: str, match: Match | None = None) -> None:
        """`words` are `greedy` or `sample`."""
        super().__init__(rules, FIRST_WEIGHTS, *words, match=match, name=FIRST_CHAMPION)

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules, as its card says: nothing is compiled to know it."""
        return lists(FIRST_WEIGHTS, rules)
