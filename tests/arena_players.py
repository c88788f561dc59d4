"""Players that misbehave, for tests of the arena; worker processes import them by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from german_whist.agents.base import Agent, Array
from german_whist.agents.random import RandomAgent


class Lawless(RandomAgent):
    """Plays card 0 in every fifth deal of those it sees, whether it may or not."""

    def act(self, views: Array, rng: Array) -> Array:
        actions = super().act(views, rng)
        actions[views["hand"] % 5 == 0] = 53
        return actions


class Raiser(RandomAgent):
    """Fails over some hands."""

    def act(self, views: Array, rng: Array) -> Array:
        bad = np.flatnonzero(views["hand"] % 7 == 0)
        if bad.size:
            raise RuntimeError("this hand is too hard\nand more words")
        return super().act(views, rng)


class Silent(Agent):
    """Gives one action whatever the number of views."""

    def act(self, views: Array, rng: Array) -> Array:
        return np.zeros(1, np.int64) if len(views) > 1 else np.zeros(3)


class Mortal(RandomAgent):
    """Takes its whole process down, the first time in the lives of all its processes."""

    def act(self, views: Array, rng: Array) -> Array:
        mark = Path(os.environ["MORTAL_MARK"])
        if len(views) > 4 and not mark.exists():
            mark.touch()
            os._exit(9)
        return super().act(views, rng)


class Doomed(RandomAgent):
    """Takes every process down."""

    def act(self, views: Array, rng: Array) -> Array:
        os._exit(9)


class Counter(RandomAgent):
    """Remembers by game how often it moved, and checks that it is told of new hands."""

    keeps_state = True

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.tricks: dict[int, int] = {}

    def act(self, views: Array, rng: Array, indices: Array | None = None) -> Array:
        assert indices is not None
        for index, trick in zip(indices.tolist(), views["trick"].tolist(), strict=True):
            assert self.tricks[index] <= trick
            self.tricks[index] = trick
        return super().act(views, rng)

    def reset(self, indices: Array) -> None:
        self.tricks.update(dict.fromkeys(indices.tolist(), 0))
