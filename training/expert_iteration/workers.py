"""Who plays the hands of a recipe: this process, or several, here or on a cluster.

A task is a file of hands, and what it holds hangs on the recipe and the file's number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import torch

from ...agents.base import CannotPlay
from ...agents.checkpoints.bundled import network_for
from ...agents.checkpoints.checkpoint import checkpoint_for, read_checkpoint, rules_wanted
from ...agents.networks.policy import policy_net
from ...agents.networks.value import read_value_network
from ...agents.search.thinker import ThinkerAgent
from ...common.typing import Array
from .recipe import Recipe
from .search_targets import LookaheadPlayers, SearchPlayers, with_targets
from .self_play import PolicyPlayers

Kind = Literal["hands", "search_targets"]

OTHER_DEALS = 1_000_000_007
"""What is added to a seed for each round of hands with advice: networks fitted to the hands before
judge it."""


@dataclass(frozen=True)
class HandsFile:
    """A file of hands to be played."""

    kind: Kind
    number: int
    count: int
    """Games in lockstep."""
    rounds: int
    """How often so many are played."""

    def __str__(self) -> str:
        return f"file {self.number + 1} of {self.kind}"


class Networks:
    """Who plays the hands of a recipe, made once in each process that plays."""

    def __init__(self, recipe: Recipe, value: str = "", belief: str = "") -> None:
        """`value` and `belief` are paths of the networks that the search asks."""
        # Matrices this small are slowed down by threads, and workers have a core each.
        torch.set_num_threads(1)
        self.recipe, self._value, self._belief = recipe, value, belief
        self.rules = rules_wanted(recipe.rules)
        try:
            found = read_checkpoint(network_for(self.rules, recipe.policy))
            self.checkpoint = checkpoint_for(found, self.rules)
        except CannotPlay as error:
            raise CannotPlay(f"policy: {error}: give one that does, or policy=champion") from None
        self.policy = policy_net(self.checkpoint)
        self._made: dict[tuple[Kind, int], Callable[[int], Array]] = {}

    def play(self, file: HandsFile) -> Array:
        """The hands of a file."""
        kind, count = file.kind, file.count
        if (kind, count) not in self._made:
            self._made[kind, count] = (self._plain if kind == "hands" else self._advised)(count)
        first = file.number * count * file.rounds
        play = self._made[kind, count]
        return np.concatenate([play(first + k * count) for k in range(file.rounds)])

    def _plain(self, count: int) -> Callable[[int], Array]:
        players = PolicyPlayers(self.rules, self.policy, count)
        return lambda first: players.play(self.recipe.seed, first, self.recipe.epsilon)

    def _advised(self, count: int) -> Callable[[int], Array]:
        players = self._searching(count) if self.recipe.determinizations else self._trying(count)
        seed = self.recipe.seed + OTHER_DEALS
        return lambda first: with_targets(players, seed, first, self.recipe.epsilon)

    def _trying(self, count: int) -> LookaheadPlayers:
        worth = read_value_network(Path(self._value), self.rules)
        return LookaheadPlayers(self.rules, self.policy, worth, count)

    def _searching(self, count: int) -> SearchPlayers:
        words = (f"policy={self.recipe.policy}", f"value={self._value}", f"belief={self._belief}")
        return SearchPlayers(
            self.rules, ThinkerAgent(self.rules, self.recipe.determinizations, *words), count
        )


def named(recipe: Recipe, value: str, belief: str) -> list[str]:
    """What paths may stand in, for `player_of`."""
    return [recipe.rules, recipe.policy, value, belief]


def player_of(setup: tuple[Recipe, Sequence[str]]) -> Callable[[HandsFile], Array]:
    """What plays the hands of a recipe, by the names that `named` told, as they are called here."""
    recipe, (rules, policy, *auxiliary) = setup
    return Networks(msgspec.structs.replace(recipe, rules=rules, policy=policy), *auxiliary).play
