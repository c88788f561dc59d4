"""Opponents that fail, or write where they should not, for tests of trainings."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from german_whist.agents.base import Agent, Array


class Lowest(Agent):
    """Plays the lowest card, and remembers nothing though it could."""

    name = "lowest"
    keeps_state = True

    def act(self, views: Array, rng: Array, indices: Array | None = None) -> Array:
        hands, led = views["hand"], views["led"].astype(np.int64)
        suits = np.uint64(0x1FFF) << (13 * (np.minimum(led, 51) // 13)).astype(np.uint64)
        follows = np.where((led < 52) & ((hands & suits) != 0), hands & suits, hands)
        return np.array([(each & -each).bit_length() - 1 for each in map(int, follows)])


class Writer(Lowest):
    """The same, but writes into everything that it gets."""

    def act(self, views: Array, rng: Array, indices: Array | None = None) -> Array:
        actions = super().act(views, rng, indices)
        assert indices is not None
        for each in (indices, rng):
            assert each.base is None
            each[:] = 0
        views["hand"] = 0
        return actions

    def reset(self, indices: Array) -> None:
        assert indices.base is None
        indices[:] = 0


class Late(Lowest):
    """Raises at its 200th call."""

    name = "late"
    calls = 0

    def act(self, views: Array, rng: Array, indices: Array | None = None) -> Array:
        self.calls += 1
        if self.calls == 200:
            self.fail(views)
        return super().act(views, rng, indices)

    def fail(self, views: Array) -> Any:
        raise RuntimeError("had enough")


class Leaver(Late):
    """Leaves instead."""

    def fail(self, views: Array) -> Any:
        sys.exit(3)


class Cheat(Lowest):
    """Plays a card that it does not hold from the 200th call on."""

    name = "cheat"
    calls = 0

    def act(self, views: Array, rng: Array, indices: Array | None = None) -> Array:
        self.calls += 1
        actions = super().act(views, rng, indices)
        if self.calls >= 200:
            others = (1 << 52) - 1 & ~int(views["hand"][0])
            actions[0] = (others & -others).bit_length() - 1
        return actions


class Forgetful(Lowest):
    """Raises when it is reset."""

    name = "forgetful"
    calls = 0

    def reset(self, indices: Array) -> None:
        self.calls += 1
        if self.calls == 12:
            raise KeyError("what hands?")
