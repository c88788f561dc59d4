"""Speed of the environments on one core, beside PettingZoo's classics.

The times include the choice of a random legal action by `flatnonzero` of the mask.
"""

from __future__ import annotations

import importlib
import math
import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from german_whist import german_whist_v0
from german_whist.common.threads import usable_threads
from german_whist.envs import GermanWhistVectorEnv, SelfPlayEnv

from .measure import ROUNDS, Row, rate

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "hide")

CLASSICS = (
    "connect_four_v3",
    "tictactoe_v3",
    "chess_v6",
    "go_v5",
    "leduc_holdem_v4",
    "texas_holdem_v4",
    "texas_holdem_no_limit_v6",
    "gin_rummy_v4",
    "hanabi_v5",
)
ROUND_SECONDS = 0.5
THREAD_ROUNDS = 40
GAMES = 4096
MANY = 65536


def run() -> list[Row]:
    speeds = _interleaved_speeds(_aec_envs())
    raw, wrapped = (
        speeds.pop(("german_whist_v0", "raw_env")),
        speeds.pop(("german_whist_v0", "env")),
    )
    rows = [Row("raw_env, agent steps", raw, "steps/s")]
    four = speeds.get(("connect_four_v3", "raw_env"))
    if four:
        rows.append(Row("raw_env beside connect_four's raw_env", raw / four, "times", 3))
    peers = {name: speed for (name, kind), speed in speeds.items() if kind == "env"}
    fastest = max(peers, key=peers.__getitem__, default=None)
    rows.append(Row("env(), agent steps", wrapped, "steps/s"))
    if fastest:
        ratio = wrapped / peers[fastest]
        rows.append(Row(f"env() beside the fastest classic, {fastest}", ratio, "times", 1))
    rows += [Row(f"PettingZoo {name}.env()", peers[name], "steps/s") for name in sorted(peers)]
    if four:
        rows.append(Row("PettingZoo connect_four_v3.raw_env()", four, "steps/s"))
    for opponent, target in (("random", 8), ("threshold", None)):
        name = f"Gymnasium vector of {GAMES}, learner decisions against {opponent}"
        speed = _vector_speed(opponent)
        rows.append(Row(name, speed / 1e6, "M/s"))
        rows.append(Row("the same beside raw_env's steps", speed / raw, "times", target))
    name = f"self-play vector of {GAMES}, decisions of both seats"
    rows.append(Row(name, _self_play_speed() / 1e6, "M/s"))
    rows += _sb3_rows(raw)
    rows += _thread_rows()
    return rows


# -- AEC


def _aec_envs() -> dict[tuple[str, str], Any]:
    envs: dict[tuple[str, str], Any] = {
        ("german_whist_v0", "raw_env"): german_whist_v0.raw_env(),
        ("german_whist_v0", "env"): german_whist_v0.env(),
    }
    for name in CLASSICS:
        for kind in ("env", "raw_env"):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    env = getattr(importlib.import_module(f"pettingzoo.classic.{name}"), kind)()
                    env.reset(seed=0)
                    _steps(env, 0.01)
            except Exception:
                # Not installed, or broken by newer libraries.
                continue
            envs[name, kind] = env
    return envs


def _interleaved_speeds(envs: dict[tuple[str, str], Any]) -> dict[tuple[str, str], float]:
    """Steps per second of each, measured in turns, under the same load of the machine."""
    best = dict.fromkeys(envs, 0.0)
    for _ in range(ROUNDS):
        for key, env in envs.items():
            best[key] = max(best[key], _steps(env, ROUND_SECONDS))
    return best


def _steps(env: Any, seconds: float) -> float:
    rng = random.Random(0)
    steps, start = 0, time.perf_counter()
    env.reset(seed=1)
    while time.perf_counter() - start < seconds:
        for _ in range(200):
            if not env.agents:
                env.reset()
            observation, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            mask = (observation if isinstance(observation, dict) else info)["action_mask"]
            legal = np.flatnonzero(mask)
            env.step(legal[int(rng.random() * len(legal))])
            steps += 1
    return steps / (time.perf_counter() - start)


# -- vectors


class _Picker:
    """A random legal action for each row of masks."""

    def __init__(self, games: int, actions: int) -> None:
        self._rng = np.random.default_rng(0)
        self._starts = np.arange(games) * actions
        self._games = games

    def __call__(self, masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        counts = masks.sum(axis=1, dtype=np.int32)
        ends = counts.cumsum()
        chosen = (self._rng.random(self._games, np.float32) * counts).astype(np.int32)
        legal = np.flatnonzero(masks.view(np.bool_))
        return legal[ends - counts + chosen] - self._starts


def _best(step: Callable[[], None]) -> float:
    """Decisions per second in the best of some rounds of whole hands."""

    def hands() -> float:
        for _ in range(104):
            step()
        return 104 * GAMES

    return rate(hands)


def _vector_speed(opponent: str) -> float:
    env = GermanWhistVectorEnv(GAMES, opponent=opponent)
    pick = _Picker(GAMES, 52)
    _, info = env.reset(seed=1)
    masks = [info["action_mask"]]

    def step() -> None:
        masks[0] = env.step(pick(masks[0]))[4]["action_mask"]

    return _best(step)


def _self_play_speed() -> float:
    env = SelfPlayEnv(GAMES)
    pick = _Picker(GAMES, 52)
    masks = [env.reset(seed=1).masks]

    def step() -> None:
        masks[0] = env.step(pick(masks[0])).masks

    return _best(step)


def _thread_rows() -> list[Row]:
    """Speed-up by a second thread, the choice of actions left out."""
    rows = []
    if usable_threads() < 2:
        return rows
    for name, make in (
        ("self-play vector", lambda threads: SelfPlayEnv(MANY, threads=threads)),
        (
            "Gymnasium vector against random",
            lambda threads: GermanWhistVectorEnv(MANY, opponent="random", threads=threads),
        ),
    ):
        pick = _Picker(MANY, 52)
        times = {1: math.inf, 2: math.inf}
        envs = {threads: make(threads) for threads in times}
        # In turns and often: on a shared machine both processors are free for moments only.
        for _ in range(THREAD_ROUNDS):
            for threads, env in envs.items():
                times[threads] = min(times[threads], _min_step_time(env, pick))
        name = f"{name} of {MANY}, two threads against one"
        rows.append(Row(name, times[1] / times[2], "times", 1.7))
    return rows


def _min_step_time(env: Any, pick: _Picker) -> float:
    step = env.reset(seed=1)
    learns = isinstance(env, GermanWhistVectorEnv)
    shortest = math.inf
    for _ in range(8):
        masks = env.action_masks().view(np.int8) if learns else step.masks
        actions = pick(masks)
        start = time.perf_counter()
        step = env.step(actions)
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def _sb3_rows(raw: float) -> list[Row]:
    try:
        from sb3_contrib.common.maskable.utils import get_action_masks

        from german_whist.envs.sb3 import GermanWhistVecEnv
    except ImportError:
        return []
    env = GermanWhistVecEnv(GAMES)
    pick = _Picker(GAMES, 52)
    env.reset()

    def step() -> None:
        # Masks through env_method, as in MaskablePPO.
        env.step(pick(get_action_masks(env)))

    name = f"SB3 VecEnv of {GAMES}, learner decisions, masks by env_method"
    speed = _best(step)
    return [
        Row(name, speed, "decisions/s"),
        Row("the same beside raw_env's steps", speed / raw, "times", 3),
    ]
