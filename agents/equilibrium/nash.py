"""The equilibrium of a small deck: nobody wins against it on average, whoever leads.

For the stock it draws its cards by the probabilities that `german-whist solve` found; endings it
plays perfectly. Two small decks are solved in the package, others once they were solved here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.compiler import jit, warm_up
from ...engine.rng import random_fraction
from ...engine.rules import Match, Rules
from ..base import Agent, Array, CannotPlay, no_rng, no_views
from ..checkpoints.checkpoint import CheckpointError
from ..perfect_endgame import EndgamePlayer
from ..sampling import sample
from .path import paths_of
from .public_tree import public_tree, why_not
from .strategy import find_strategy, read_strategy
from .tabular import write_shares


@jit
def _draw_all(probabilities: np.ndarray, rng: np.ndarray, actions: np.ndarray) -> None:
    for index in range(len(actions)):
        actions[index] = sample(probabilities[index], random_fraction(rng[index : index + 1]))


class NashAgent(Agent):
    """Plays an equilibrium of a small deck."""

    name = "nash"
    reads_draws = False
    many_at_once = True

    def __init__(
        self, rules: Any = "2x4-h2", path: str | None = None, *, match: Match | None = None
    ) -> None:
        super().__init__(rules, match=match)
        if why := why_not(self.rules):
            raise CannotPlay(f"nash plays small decks alone, and the rules {self.rules.name} {why}")
        try:
            found = read_strategy(self.rules, path)
        except CheckpointError as error:
            raise CannotPlay(f"nash cannot play: {error}") from None
        tree = public_tree(self.rules)
        if len(found.cells) != tree.size:
            raise CannotPlay(
                f"{found.path} has {len(found.cells):,} cells, and {self.rules.name} has "
                f"{tree.size:,}: solve the deck anew"
            )
        self.name = "nash" if path is None else f"nash:{path}"
        self._cells, self._paths = found.cells, paths_of(tree)
        self._endgame = EndgamePlayer(self.rules)
        warm_up("play by solved decks", "agents", lambda: self.act(no_views(), no_rng()))

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules: whether they are solved here or in the package."""
        try:
            find_strategy(rules, None)
        except CheckpointError:
            return False
        return True

    def probabilities(self, views: Array) -> Array:
        """`(n, actions)`: with what probability it plays each action."""
        found = np.zeros((len(views), self.rules.actions))
        write_shares(self.record, self._paths, self._cells, views, found)
        self._endgame.settle(views, found)
        return found

    def act(self, views: Array, rng: Array) -> Array:
        """An action for each view."""
        actions = np.zeros(len(views), np.int64)
        _draw_all(self.probabilities(views), rng.copy(), actions)
        return actions
