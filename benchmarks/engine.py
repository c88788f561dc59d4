"""The engine's speed, and what users would otherwise take: OpenSpiel and PettingZoo's classics."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from german_whist import Game, load_rules
from german_whist.engine.rollout import random_hands
from german_whist.envs import SelfPlayEnv

from .measure import Row, rate, seconds

THREAD_ROUNDS = 40
BATCHES = (1024, 65536)


def run() -> list[Row]:
    """All rows of this file."""
    rows = [_inside(), *_batches(), *_threads(), single := _single_game()]
    rows += _peers(single.value)
    rows += [_help(), *_first_uses()]
    return rows


def _inside() -> Row:
    rules = load_rules("classic")
    speed = rate(lambda: random_hands(rules, 50_000)[1])
    name = "random play inside the engine, classic, one core"
    return Row(name, speed / 1e6, "M card plays/s", 40)


def _stepper(games: SelfPlayEnv, steps: int) -> Callable[[], float]:
    """Steps with random legal actions chosen beforehand; only the engine's step is timed."""
    chance = np.random.default_rng(0)

    def work() -> float:
        spent, masks = 0.0, games.look().masks
        for _ in range(steps):
            actions = (masks * chance.random(masks.shape, np.float32)).argmax(axis=1)
            spent += seconds(lambda chosen=actions: games.step(chosen))
        return games.num_envs * steps / spent

    return work


def _batch_work(n: int, threads: int) -> Callable[[], float]:
    games = SelfPlayEnv(n, "classic", copy=False, threads=threads)
    games.reset(1)
    return _stepper(games, max(8, 400_000 // n))


def _batches() -> list[Row]:
    rows = []
    for n in BATCHES:
        work = _batch_work(n, 1)
        name = f"batch step, {n} games, observations and masks written, one core"
        rows.append(Row(name, max(work() for _ in range(5)) / 1e6, "M decisions/s", 5))
    return rows


def _threads() -> list[Row]:
    rows = []
    for n in BATCHES:
        works = [_batch_work(n, threads) for threads in (1, 2)]
        # In turns, so that both see the same machine, and often: where its processors are lent
        # to others as well, both of them are ours for moments only.
        ones, twos = zip(*[[work() for work in works] for _ in range(THREAD_ROUNDS)], strict=True)
        target = 1.7 if n == max(BATCHES) else None
        name = f"batch step, {n} games, two threads against one"
        rows.append(Row(name, max(twos) / max(ones), "times", target))
    return rows


def _single_game() -> Row:
    game = Game("classic")
    numbers = [random.Random(1).random() for _ in range(1024)]

    def work() -> float:
        plays = 0
        for number in range(1000):
            game.deal(1, number)
            while not game.over:
                legal = game.legal()
                game.play(legal[int(numbers[plays & 1023] * len(legal))])
                plays += 1
        return plays

    work()
    return Row("a single Game from Python, `legal` and `play`", rate(work), "plays/s", 300_000)


# -- what else there is


def _peers(own: float) -> list[Row]:
    rows = []
    for name, start in (
        ("OpenSpiel bridge", lambda: _open_spiel("bridge(use_double_dummy_result=false)")),
        ("OpenSpiel euchre", lambda: _open_spiel("euchre")),
        ("PettingZoo connect_four, raw_env", lambda: _pettingzoo("connect_four_v3")),
        ("PettingZoo tictactoe, raw_env", lambda: _pettingzoo("tictactoe_v3")),
    ):
        try:
            work = start()
        except ImportError as error:
            print(
                f"{name}: not installed ({error.name or error}), so not measured", file=sys.stderr
            )
            continue
        speed = rate(work)
        note = f"a single Game is {own / speed:.1f} times as fast"
        rows.append(Row(f"{name}, random play from Python", speed, "actions/s", note=note))
    return rows


def _open_spiel(name: str) -> Callable[[], float]:
    import pyspiel  # pyright: ignore[reportMissingImports]

    game = pyspiel.load_game(name)
    chance = random.Random(1)

    def work() -> float:
        actions = 0
        for _ in range(30):
            state = game.new_initial_state()
            while not state.is_terminal():
                # Dealing is not counted as play, though it takes time here as it does there.
                actions += not state.is_chance_node()
                state.apply_action(chance.choice(state.legal_actions()))
        return actions

    return work


def _pettingzoo(name: str) -> Callable[[], float]:
    import importlib

    module: Any = importlib.import_module(f"pettingzoo.classic.{name}")
    environment = module.raw_env()
    chance = random.Random(1)

    def work() -> float:
        actions = 0
        for _ in range(60):
            environment.reset(seed=1)
            for agent in environment.agent_iter():
                observation, _, terminated, truncated, _ = environment.last()
                if terminated or truncated:
                    environment.step(None)
                    continue
                legal = np.flatnonzero(observation["action_mask"])
                environment.step(int(legal[int(chance.random() * len(legal))]))
                actions += agent is not None
        return actions

    return work


# -- starting


def _command(*arguments: str, environment: dict[str, str] | None = None) -> float:
    return seconds(
        lambda: subprocess.run(
            [sys.executable, *arguments],
            check=True,
            capture_output=True,
            timeout=600,
            env={**os.environ, **(environment or {})},
        )
    )


def _help() -> Row:
    took = min(_command("-m", "german_whist", "--help") for _ in range(3))
    return Row("`german-whist --help`", took, "s", 1, at_most=True)


_FIRST_USES = (
    (
        "a first `Game`, played to its end",
        "import german_whist as g; game = g.Game(seed=1)\n"
        "while not game.over: game.play(game.legal()[0])",
        2.5,
    ),
    (
        "a first `gymnasium.make` and reset",
        "import gymnasium, german_whist\n"
        "gymnasium.make('german_whist/GermanWhist-v0').reset(seed=1)",
        12,
    ),
    (
        "a first search, `flat-mc:64`, and its choice",
        "import german_whist as g; agent = g.load_agent('flat-mc:64')\n"
        "from german_whist.agents import Player; Player(agent).choose(g.Game(seed=1).view())",
        17.5,
    ),
)


def _first_uses() -> list[Row]:
    """What compiling takes, in processor time, which neighbours on a shared machine change less."""
    rows = []
    for name, program, target in _FIRST_USES:
        with tempfile.TemporaryDirectory() as folder:
            before = os.times()
            took = _command("-c", program, environment={"NUMBA_CACHE_DIR": folder})
            after = os.times()
        spent = after.children_user + after.children_system
        spent -= before.children_user + before.children_system
        note = f"{took:.1f} s by the clock"
        rows.append(
            Row(f"{name}, nothing compiled yet", spent, "s", target, at_most=True, note=note)
        )
    return rows
