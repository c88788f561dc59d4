"""Actions as other libraries hold numbers, and the ways in which they reach a game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from german_whist.engine.game import IllegalAction

torch = pytest.importorskip("torch")
Way = Callable[[Callable[[int], Any]], object]


class Index:
    """What JAX and others have in common: a number by `__index__`, and nothing else of an int."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


KINDS: dict[str, Callable[[int], Any]] = {
    "torch scalar": torch.tensor,
    "torch scalar of 8 bits": lambda number: torch.tensor(number, dtype=torch.uint8),
    "torch tensor of one": lambda number: torch.tensor([[number]]),
    "NumPy number": np.int32,
    "NumPy number of 8 bits": np.int8,
    "NumPy number without a sign": np.uint64,
    "NumPy scalar": np.array,
    "NumPy array of one": lambda number: np.array([number]),
    "index": Index,
}
NONE: dict[str, Callable[[int], Any]] = {
    "torch scalar of floats": lambda number: torch.tensor(float(number)),
    "torch truth": lambda number: torch.tensor(True),
    "torch tensor of two": lambda number: torch.tensor([number, number]),
    "float": float,
    "truth": lambda number: True,
    "NumPy truth": lambda number: np.bool_(True),
    "nothing": lambda number: None,
    "beyond the deck": lambda number: 60,
    "below it": lambda number: -1,
}


def of_game(game: Any, act: Callable[[int], Any]) -> object:
    game.play(act(int(game.legal()[0])))
    return repr(game.actions), repr(game)


def of_aec(make: Callable[[], Any], act: Callable[[int], Any]) -> object:
    env = make()
    env.reset(seed=1)
    observation = env.last()[0]
    env.step(act(int(np.flatnonzero(observation["action_mask"])[0])))
    assert not any(env.terminations.values())
    return env.unwrapped.game().actions


def of_gymnasium(name: str, act: Callable[[int], Any]) -> object:
    env = gymnasium.make(name)
    _, info = env.reset(seed=1)
    observation, *_ = env.step(act(int(np.flatnonzero(info["action_mask"])[0])))
    return observation.tobytes()


def takes_the_number_that_is_held(way: Way) -> None:
    plain = way(int)
    for name, kind in KINDS.items():
        assert way(kind) == plain, name


def refuses_what_holds_no_whole_number(way: Way) -> None:
    why = r"has to be a whole number|an action is a card id|from 0 to 51"
    for kind in NONE.values():
        with pytest.raises(IllegalAction, match=why):
            way(kind)
