"""Actions come as plain integers, or as scalars and arrays of NumPy, torch and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import german_whist
from german_whist import Game, german_whist_three_v0, german_whist_v0
from german_whist.engine.game import IllegalAction
from german_whist.envs import SelfPlayEnv
from german_whist.three_player.game import ThreeGame
from support import dealt

torch = pytest.importorskip("torch")


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


def of_game(game: Game | ThreeGame, act: Callable[[int], Any]) -> object:
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


WAYS: dict[str, Callable[[Callable[[int], Any]], object]] = {
    "Game": lambda act: of_game(Game("classic", seed=1), act),
    "ThreeGame": lambda act: of_game(ThreeGame(seed=1), act),
    "AEC": lambda act: of_aec(german_whist_v0.env, act),
    "raw AEC": lambda act: of_aec(german_whist_v0.raw_env, act),
    "AEC of three": lambda act: of_aec(german_whist_three_v0.env, act),
    "Gymnasium": lambda act: of_gymnasium("german_whist/GermanWhist-v0", act),
    "Gymnasium of three": lambda act: of_gymnasium("german_whist/GermanWhistThree-v0", act),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_scalar_of_any_library_is_the_number_that_it_holds(way: str) -> None:
    plain = WAYS[way](int)
    for name, kind in KINDS.items():
        assert WAYS[way](kind) == plain, name


@pytest.mark.parametrize("way", WAYS)
def test_what_holds_no_whole_number_is_refused_with_a_sentence(way: str) -> None:
    why = r"has to be a whole number|an action is a card id|from 0 to 51"
    for kind in NONE.values():
        with pytest.raises(IllegalAction, match=why):
            WAYS[way](kind)


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
