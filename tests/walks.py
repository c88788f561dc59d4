"""Helpers of the environment tests: option sets, and walks through environments."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from german_whist import german_whist_v0, named_rules, network_inputs
from german_whist.engine.dtypes import GAME
from german_whist.engine.observation.history import histories, history_rows
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv, SelfPlayEnv
from german_whist.envs.render.shapes import Box, Shape
from support import ODD

Array = np.ndarray[Any, Any]

# PettingZoo's api_test imports an old name of PettingZoo's own connect four.
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "The old environment creation API", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test  # noqa: F401
    from pettingzoo.test.state_test import test_state as check_states  # noqa: F401
    from pettingzoo.test.state_test import test_state_space as check_state_space  # noqa: F401

NAMES = list(named_rules())
# Rule sets of 52, 53 and 55 actions; the last has a longer observation.
SHAPES = ["classic", "draft", "humbug"]

# Every value of every option, in few combinations, for rule sets that bring them out.
OPTIONS: list[dict[str, Any]] = [
    {"rules": "classic", "reward": "tricks", "suit_order": "trump-first"},
    {"rules": "all-tricks", "reward": "tricks", "observation": "history"},
    {"rules": "club-last", "reward": "win"},
    {"rules": "colour", "reward": "margin", "suit_order": "trump-first", "observation": "history"},
    {"rules": "small-all", "horizon": "match", "match": 10},
    {"rules": "small-last", "horizon": "match", "reward": "win", "suit_order": "trump-first"},
    {"rules": "small-all", "horizon": "match", "reward": "tricks", "observation": "history"},
    {"rules": "quick", "horizon": "foreplay"},
    {"rules": "all-margin", "horizon": "foreplay", "reward": "tricks", "suit_order": "trump-first"},
    {"rules": "draft", "horizon": "foreplay", "reward": "win", "observation": "history"},
    {"rules": ODD["low"], "horizon": "foreplay", "reward": "margin"},
    {"rules": ODD["low race"], "reward": "tricks"},
    {"rules": ODD["set aside"], "suit_order": "trump-first"},
    {"rules": ODD["blind"]},
]


def label(options: dict[str, Any]) -> str:
    return "-".join(
        value if isinstance(value, str) else "own" for value in map(_plain, options.values())
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


def suits_shown(env: Any, agent: str) -> np.ndarray[Any, Any]:
    options, view = env.options, env.view(agent)
    if options.observation == "vector":
        return network_inputs(view, suit_order=options.suit_order, match=options.match).orders[0]
    record, rows = options.rules.array(options.match), history_rows(options.rules)
    return histories(record, view.array, rows, options.suit_order == "trump-first")[1][0]


def pick(mask: np.ndarray[Any, Any], rng: np.random.Generator) -> int:
    legal = np.flatnonzero(mask)
    return int(legal[rng.integers(len(legal))])


def picks(masks: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return np.array([pick(mask, rng) for mask in masks])


def records_of(env: Any) -> Array:
    return env.state()["records"].view(GAME)


KINDS = [
    "raw_env",
    "env",
    "gymnasium",
    "self-play",
    "sb3",
    *(f"vector {mode.value}" for mode in AutoresetMode),
]
every_kind = pytest.mark.parametrize("kind", KINDS)


def make(kind: str, rules: Any, *, opponent: Any = "threshold", **options: Any) -> Any:
    """An environment of a kind; vectors have three games."""
    if kind in ("raw_env", "env"):
        return getattr(german_whist_v0, kind)(rules, **options)
    if kind == "self-play":
        return SelfPlayEnv(3, rules, **options)
    if kind == "gymnasium":
        return GermanWhistEnv(rules, opponent=opponent, **options)
    if kind == "sb3":
        from german_whist.envs.sb3 import GermanWhistVecEnv  # needs torch, which others do without

        return GermanWhistVecEnv(3, rules, opponent=opponent, **options)
    mode = kind.removeprefix("vector ")
    return GermanWhistVectorEnv(3, rules, opponent=opponent, autoreset_mode=mode, **options)


class Walked:
    """An environment of any kind, stepped at random; `story` is what it returns, as bytes."""

    def __init__(self, env: Any, seed: int = 0) -> None:
        self.env = env
        self.rng = np.random.default_rng(seed)
        self.handed_out: list[Any] = []
        self.ends: list[Any] = []

    def reset(self, **how: Any) -> None:
        if hasattr(self.env, "env_method"):  # a VecEnv of Stable-Baselines3
            if "seed" in how:
                self.env.seed(how["seed"])
            self.handed_out = [self.env.reset()]
        else:
            self.handed_out = [self.env.reset(**how)]

    def masks(self) -> Array:
        """The action mask of every game, as a fresh array."""
        if isinstance(self.env, SelfPlayEnv):
            shown = self.env.batch.observe(
                self.env.batch.all_games, self.env.batch.turns(), keep=False
            )
            return shown[1]
        return np.atleast_2d(self.env.action_masks())

    def step(self) -> None:
        """Step with random legal actions, and reset where an episode has to be begun."""
        env = self.env
        if isinstance(env, german_whist_v0.raw_env) or hasattr(env, "agent_iter"):
            if not env.agents:
                env.reset()
            seen, _, over, cut, info = env.last()
            action = None if over or cut else pick(seen["action_mask"], self.rng)
            env.step(action)
            # What is in `infos` is an attribute of the environment, by PettingZoo's API.
            self.handed_out = [seen]
            self.ends += [info["result"]] if "result" in info else []
            return
        masks = self.masks()
        legal = masks.any(axis=1)
        masks[~legal] = 1
        actions = picks(masks, self.rng)
        found = env.step(int(actions[0]) if isinstance(env, GermanWhistEnv) else actions)
        self.handed_out = [found, masks]
        if isinstance(env, GermanWhistEnv) and found[2]:
            self.handed_out.append(env.reset())
        mode = getattr(env, "metadata", {}) or {}
        if mode.get("autoreset_mode") is AutoresetMode.DISABLED and found[2].any():
            self.handed_out.append(env.reset(options={"reset_mask": found[2].copy()}))

    def story(self, steps: int) -> list[bytes]:
        story = []
        for _ in range(steps):
            self.step()
            story += [each.tobytes() for each in arrays_in(self.handed_out)]
        return story + [each.tobytes() for each in arrays_in(self.ends)]


def arrays_in(found: Any) -> list[Array]:
    if isinstance(found, np.ndarray) and found.dtype == object:
        return arrays_in(list(found))
    if isinstance(found, np.ndarray):
        return [found]
    if isinstance(found, dict):
        return arrays_in([value for key, value in found.items() if key != "episode"])
    if isinstance(found, (list, tuple)):
        return [array for each in found for array in arrays_in(each)]
    return [] if found is None else [np.asarray(found)]


def lies_inside(item: Any, width: int, height: int) -> bool:
    if isinstance(item, Box):
        corners = [(item.x, item.y), (item.x + item.width, item.y + item.height)]
    elif isinstance(item, Shape):
        corners = list(item.points)
    else:
        corners = [(item.x, item.y)]
    return all(0 <= x <= width and 0 <= y <= height for x, y in corners)


class OnlyLegal(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Wrapper that maps every action to a legal one, for checkers that sample actions."""

    def step(self, action: Any) -> Any:
        legal = np.flatnonzero(self.env.get_wrapper_attr("action_masks")())
        return self.env.step(int(legal[action % len(legal)]))
