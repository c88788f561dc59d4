"""The champion: the bundled policy networks, with a search at the last tricks for the stock.

Their cards contain the training commands and
measurements. Where endings are exact and the thinker plays the rules, it replaces the policy for
the last two tricks for the stock.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from ...engine.rules import Match, Rules, RulesLike, load_rules
from ..base import Array
from ..checkpoints.bundled import (
    CHAMPION,
    FIRST_CHAMPION,
    FIRST_WEIGHTS,
    SECOND_CHAMPION,
    VALUE_WEIGHTS,
    network_for,
    rules_of_champion,
)
from ..networks.mlp import MLPWeights
from ..networks.policy import NetworkAgent
from ..networks.search_networks import covers_rules
from ..networks.value import read_value_network, view_values
from .thinker import ThinkerAgent, act_by_mask, can_search, is_late

LAST, SAMPLES = 2, 10
"""Tricks for the stock that are searched, and determinizations of each search."""


class Champion(NetworkAgent):
    """Bundled policy for these rules, with a search at the last tricks for the stock."""

    network: ClassVar[str] = CHAMPION
    """Name of the bundled policy."""

    def __init__(
        self, rules: RulesLike = "classic", *option_words: str, match: Match | None = None
    ) -> None:
        """`option_words` are `greedy`, or `sample` for the network alone."""
        rules = load_rules(rules)
        weights = network_for(rules, self.network)
        options = ("endgame=exact", *option_words)
        super().__init__(rules, weights, *options, match=match, name=self.network)
        thinks = not self.sample and can_search(rules)
        searched = f"last={LAST}", f"policy={self.network}"
        self._thinker = ThinkerAgent(rules, SAMPLES, *searched) if thinks else None
        self.reads_tricks = self._thinker is not None
        if self._thinker is not None:
            self.checkpoints = tuple(dict.fromkeys(self.checkpoints + self._thinker.checkpoints))

    def act(self, views: Array, rng: Array) -> Array:
        if self._thinker is None:
            return super().act(views, rng)
        return act_by_mask(is_late(views, LAST), self._thinker.act, super().act, views, rng)

    def value(self, views: Array) -> Array:
        """`(n,)`: the value network's mean payoff over sampled hands of the opponent."""
        if not covers_rules(VALUE_WEIGHTS, self.rules):
            raise ValueError(
                f"{self.name} has no value network for {self.rules.name}: there is one for classic"
            )
        actions = self.act(views, np.zeros(len(views), np.uint64))
        return view_values(self.rules, views, actions, self._value_network)

    @cached_property
    def _value_network(self) -> MLPWeights:
        return read_value_network(VALUE_WEIGHTS, self.rules)

    @classmethod
    def rules_played(cls, *parameters: str) -> tuple[Rules, ...] | None:
        return rules_of_champion(cls.network)

    @classmethod
    def plays(cls, rules: Rules) -> bool:
        """Whether the champion's cards list these rules, under any name."""
        return any(map(rules.same_game, rules_of_champion(cls.network)))


class SecondChampion(Champion):
    """The second champion: made as the first, and by a round of expert iteration."""

    network = SECOND_CHAMPION


class FirstChampion(NetworkAgent):
    """The first champion: its network alone, without search."""

    def __init__(
        self, rules: RulesLike = "classic", *option_words: str, match: Match | None = None
    ) -> None:
        super().__init__(rules, FIRST_WEIGHTS, *option_words, match=match, name=FIRST_CHAMPION)

    @classmethod
    def rules_played(cls, *parameters: str) -> tuple[Rules, ...] | None:
        return rules_of_champion(FIRST_CHAMPION)

    @staticmethod
    def plays(rules: Rules) -> bool:
        return any(map(rules.same_game, rules_of_champion(FIRST_CHAMPION)))
