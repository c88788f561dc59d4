"""Workers of expert iteration, which play files of hands in this process, in others, or on Ray.

The content of a file depends on the recipe and the number of the file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import torch

from german_whist.agents.base import CannotPlay
from german_whist.agents.checkpoints import read_checkpoint, resolve_rules, specialize_checkpoint
from german_whist.agents.checkpoints.bundled import CHAMPION, network_for
from german_whist.agents.networks.policy import policy_net
from german_whist.agents.networks.value import read_value_network
from german_whist.agents.search.thinker import ThinkerAgent
from german_whist.common.typing import Array

from .recipe import Recipe
from .search_targets import LookaheadPlayers, SearchPlayers, play_with_targets
from .self_play import PolicyPlayers

Kind = Literal["hands", "search_targets"]

ROUND_SEED_STEP = 1_000_000_007
"""Added to the seed in each round: the networks are fitted to deals of earlier rounds."""


@dataclass(frozen=True)
class HandsFile:
    """A file of hands to play."""

    kind: Kind
    number: int
    n_games: int
    """Games in lockstep."""
    batches: int
    """Number of times that all games play a hand."""

    def __str__(self) -> str:
        return f"file {self.number + 1} of {self.kind}"


class Networks:
    """The networks that play the hands of a recipe, loaded once per process."""

    def __init__(self, recipe: Recipe, value: str = "", belief: str = "") -> None:
        """`value` and `belief` are paths of the search's networks."""
        # Threads slow down matrices as small as these, and each worker has one core.
        torch.set_num_threads(1)
        self.recipe, self._value, self._belief = recipe, value, belief
        self.rules = resolve_rules(recipe.rules)
        try:
            checkpoint = read_checkpoint(network_for(self.rules, recipe.policy))
            self.checkpoint = specialize_checkpoint(checkpoint, self.rules)
        except CannotPlay as error:
            other = "train one: train=FILE.yaml" if recipe.policy == CHAMPION else "policy=champion"
            raise CannotPlay(f"policy: {error}: give one that does, or {other}") from None
        self.policy = policy_net(self.checkpoint)
        self._player = cache(self._make_player)

    def play(self, file: HandsFile) -> Array:
        play, n_games = self._player(file.kind, file.n_games), file.n_games
        first = file.number * n_games * file.batches
        return np.concatenate([play(first + k * n_games) for k in range(file.batches)])

    def _make_player(self, kind: Kind, n_games: int) -> Callable[[int], Array]:
        recipe, rules = self.recipe, self.rules
        if kind == "hands":
            self_players = PolicyPlayers(rules, self.policy, n_games)
            return lambda first: self_players.play(recipe.seed, first, recipe.epsilon)
        if recipe.determinizations:
            words = f"policy={recipe.policy}", f"value={self._value}", f"belief={self._belief}"
            thinker = ThinkerAgent(rules, recipe.determinizations, *words)
            players = SearchPlayers(rules, thinker, n_games)
        else:
            value_net = read_value_network(Path(self._value), rules)
            players = LookaheadPlayers(rules, self.policy, value_net, n_games)
        seed = recipe.seed + ROUND_SEED_STEP
        return lambda first: play_with_targets(players, seed, first, recipe.epsilon)


def make_player(setup: tuple[Recipe, Sequence[str]]) -> Callable[[HandsFile], Array]:
    """Load the networks of a recipe in a worker.

    `setup` has the paths there of rules, policy, value and belief network.
    """
    recipe, (rules, policy, *search_networks) = setup
    return Networks(
        msgspec.structs.replace(recipe, rules=rules, policy=policy), *search_networks
    ).play
