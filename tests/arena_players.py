"""Players that misbehave, for tests of the arena; worker processes import them by name."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from german_whist.agents.base import Agent, Array
from german_whist.agents.heuristic.random import RandomAgent, RandomExactAgent
from german_whist.engine.view import action_masks


class Lawless(RandomAgent):
    """Plays card 0 in every fifth deal of those it sees, whether it may or not."""

    def act(self, views: Array, rng: Array) -> Array:
        actions = super().act(views, rng)
        actions[views["hand"] % 5 == 0] = 53
        return actions


class Raiser(RandomAgent):
    def act(self, views: Array, rng: Array) -> Array:
        bad = np.flatnonzero(views["hand"] % 7 == 0)
        if bad.size:
            raise RuntimeError("this hand is too hard\nand more words")
        return super().act(views, rng)


class Broken(Agent):
    """Fails in every hand."""

    def act(self, views: Array, rng: Array) -> Array:
        raise RuntimeError("broken")


class Silent(Agent):
    """Gives one action whatever the number of views."""

    def act(self, views: Array, rng: Array) -> Array:
        return np.zeros(1, np.int64) if len(views) > 1 else np.zeros(3)


class Mortal(RandomAgent):
    """Takes its whole process down, the first time in the lives of all its processes."""

    def act(self, views: Array, rng: Array) -> Array:
        if len(views) > 4:
            with suppress(FileExistsError):
                Path(os.environ["MORTAL_MARK"]).touch(exist_ok=False)
                os._exit(9)
        return super().act(views, rng)


class Doomed(RandomAgent):
    def act(self, views: Array, rng: Array) -> Array:
        os._exit(9)


class Counter(RandomAgent):
    """Remembers by game how often it moved, and checks that it is told of games and new hands."""

    keeps_state = True

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.tricks: dict[int, int] = {}

    def act(self, views: Array, rng: Array, indices: Array | None = None) -> Array:
        assert indices is not None
        for index, trick in zip(indices.tolist(), views["trick"].tolist(), strict=True):
            assert self.tricks[index] == trick, "it was not told of a new hand, or of another game"
            self.tricks[index] = trick + 1
        return super().act(views, rng)

    def reset(self, indices: Array) -> None:
        self.tricks.update(dict.fromkeys(indices.tolist(), 0))


class Boaster(RandomAgent):
    """Says that it plays endings perfectly, and plays any card."""

    perfect_endgame = True  # type: ignore[assignment]


class Exact(RandomExactAgent):
    """Plays endings perfectly, by code that does not come with the package."""


class Lowest(Agent):
    """Plays the lowest legal card."""

    def act(self, views: Array, rng: Array) -> Array:
        return action_masks(self.rules_array, views, self.rules.actions).argmax(axis=1)


def lowest(views: Array, rng: Array) -> Array:
    return Lowest().act(views, rng)


class Rebel(Counter):
    """Will not hear of new hands in some of its games."""

    def reset(self, indices: Array) -> None:
        if (indices % 8 >= 6).any():
            raise RuntimeError("not these")
        super().reset(indices)


class Diary(Counter):
    """Writes down what it is told of, and by what it is asked."""

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.told: list[tuple[str, frozenset[int]]] = []
        self.hands: list[tuple[int, bool]] = []
        """Hands as they were dealt, and whether their games were played alone."""
        self.games = 0

    def reset(self, indices: Array) -> None:
        super().reset(indices)
        self.games = len(indices)
        self.told.append(("reset", frozenset(indices.tolist())))

    def act(self, views: Array, rng: Array, indices: Array | None = None) -> Array:
        assert indices is not None
        self.told.append(("act", frozenset(indices.tolist())))
        new = views["hand"][views["trick"] == 0].tolist()
        self.hands += [(hand, self.games == 1) for hand in new]
        return super().act(views, rng, indices)


class Talker(RandomAgent):
    def act(self, views: Array, rng: Array) -> Array:
        print("thinking", file=sys.stderr, flush=True)
        return super().act(views, rng)


class Closer(RandomAgent):
    def act(self, views: Array, rng: Array) -> Array:
        sys.stdout.close()
        return super().act(views, rng)


class Wanderer(RandomAgent):
    def act(self, views: Array, rng: Array) -> Array:
        os.chdir("/")
        return super().act(views, rng)


class Quitter(RandomAgent):
    def act(self, views: Array, rng: Array) -> Array:
        raise GeneratorExit
