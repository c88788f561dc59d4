"""Actions come as plain integers, or as scalars and arrays of NumPy, torch and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from action_kinds import (
    KINDS,
    Way,
    of_aec,
    of_game,
    of_gymnasium,
    refuses_what_holds_no_whole_number,
    takes_the_number_that_is_held,
)

import german_whist
from german_whist import Game, german_whist_v0
from german_whist.engine.game import IllegalAction
from german_whist.envs import SelfPlayEnv
from support import dealt

torch = pytest.importorskip("torch")


WAYS: dict[str, Way] = {
    "Game": lambda act: of_game(Game("classic", seed=1), act),
    "AEC": lambda act: of_aec(german_whist_v0.env, act),
    "raw AEC": lambda act: of_aec(german_whist_v0.raw_env, act),
    "Gymnasium": lambda act: of_gymnasium("german_whist/GermanWhist-v0", act),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_scalar_of_any_library_is_the_number_that_it_holds(way: str) -> None:
    takes_the_number_that_is_held(WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_what_holds_no_whole_number_is_refused_with_a_sentence(way: str) -> None:
    refuses_what_holds_no_whole_number(WAYS[way])


def vector() -> tuple[Any, np.ndarray]:
    env: Any = gymnasium.make_vec("german_whist/GermanWhist-v0", num_envs=4)
    return env, env.reset(seed=1)[1]["action_mask"].argmax(axis=1)


def games() -> tuple[Any, np.ndarray]:
    env = dealt("classic", 4, seed=1)
    return env, env.observe().masks.argmax(axis=1)


def mixed() -> tuple[Any, np.ndarray]:
    env = SelfPlayEnv(4, ["classic", "all-tricks"])
    return env, env.reset(seed=1).masks.argmax(axis=1)


@pytest.mark.parametrize("make", [vector, games, mixed])
def test_a_tensor_of_actions_steps_many_games(make: Callable[[], tuple[Any, np.ndarray]]) -> None:
    first = make()[0].step(make()[1])[0].copy()
    kinds = np.int8, np.uint8, np.int16, np.int32, np.uint32, np.uint64
    for act in (
        torch.as_tensor,
        lambda actions: torch.as_tensor(actions).int(),
        list,
        *(lambda actions, kind=kind: actions.astype(kind) for kind in kinds),
    ):
        env, actions = make()
        assert (env.step(act(actions))[0] == first).all()


class Elsewhere:
    """A tensor of another device, as torch refuses to hand it to NumPy."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


@pytest.mark.parametrize("make", [vector, games, mixed])
def test_wrong_actions_of_many_games_are_refused(make: Callable[[], Any]) -> None:
    env, actions = make()
    wrong = {
        "one for each of 4 games": torch.as_tensor(actions)[:, None],
        r"one for each of 4 games is": np.append(actions, 0),
        "whole numbers": torch.as_tensor(actions).float(),
        "NumPy cannot read .*cuda:0.*a tensor on the CPU": Elsewhere(),
        "are a list that NumPy cannot read": [[1], 2, 3, 4],
    }
    for why, each in wrong.items():
        with pytest.raises(IllegalAction, match=why):
            env.step(each)
    env.step(actions)


def test_cards_are_named_by_scalars_too() -> None:
    for kind in KINDS.values():
        assert german_whist.card(kind(8)) == german_whist.card("TC")
    with pytest.raises(ValueError, match="an id or a text"):
        german_whist.card(torch.tensor(8.0))
