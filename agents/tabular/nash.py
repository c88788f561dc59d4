# pyright: reportOptionalMemberAccess=false
"""Nash equilibrium of a small deck: no opponent wins against it on average.

It draws its cards for the stock by the probabilities that `german-whist solve` computed, and
plays endings perfectly. The package contains two solved decks.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import jit
from ...engine.rng import random_fraction, sample_index
from ...engine.rules import Match, Rules, RulesLike
from ...solvers.public_tree import public_tree, why_no_public_tree
from ...solvers.view_cells import path_tables
from ..base import Agent, Array, CannotPlay, compile_act
from ..checkpoints import CheckpointError
from ..perfect_endgame import EndgamePlayer
from .strategy import find_strategy, read_strategy
from .table_policy import write_table_probs


@jit
def _draw_all(probabilities: np.ndarray, rng: np.ndarray, actions: np.ndarray) -> None:
    for index in range(len(actions)):
        actions[index] = sample_index(probabilities[index], random_fraction(rng[index : index + 1]))


class NashAgent(Agent):
    """Plays a Nash equilibrium of a small deck."""

    name = "nash"
    reads_draws = False
    thread_safe = True

    def __init__(
        self, rules: RulesLike = "2x4-h2", path: str | None = None, *, match: Match | None = None
    ) -> None:
        super().__init__(rules, match=match)
        if reason := why_no_public_tree(self.rules):
            raise CannotPlay(
                f"nash plays small decks alone, and the rules {self.rules.name} {reason}"
            )
        try:
            strategy = read_strategy(self.rules, path)
        except CheckpointError as error:
            raise CannotPlay(f"nash cannot play: {error}") from None
        tree = public_tree(self.rules)
        if len(strategy.cells) != tree.size:
            raise CannotPlay(
                f"{strategy.path} has {len(strategy.cells):,} cells, and {self.rules.name} has "
                f"{tree.size:,}: solve the deck anew"
            )
        self.name = "nash" if path is None else f"nash:{path}"
        self._cells, self._paths = strategy.cells, path_tables(tree)
        self._endgame = EndgamePlayer(self.rules)
        compile_act(self, "play by solved decks", NashAgent.act)

    @staticmethod
    def plays(rules: Rules) -> bool:
        try:
            find_strategy(rules, None)
        except CheckpointError:
            return False
        return True

    def probabilities(self, views: Array) -> Array:
        """`(n, actions)`: probability of each action."""
        probs = np.zeros((len(views), self.rules.actions))
        write_table_probs(self.rules_array, self._paths, self._cells, views, probs)
        self._endgame.replace_probabilities(views, probs)
        return probs

    def act(self, views: Array, rng: Array) -> Array:
        actions = np.zeros(len(views), np.int64)
        _draw_all(self.probabilities(views), rng.copy(), actions)
        return actions
