"""What tests of runs share: a display that nobody sees, and what a run came to."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from german_whist.envs import GermanWhistVectorEnv
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.registry import make_trainer
from german_whist.training.callbacks.base import Callback, TrainingRun
from german_whist.training.callbacks.console import ConsoleLog
from german_whist.training.rollout.rollout_buffer import RolloutBuffer
from german_whist.training.run import start
from german_whist.training.run_state import load_state

Arrays = dict[str, np.ndarray[Any, Any]]


def quiet() -> ConsoleLog:
    return ConsoleLog(io.StringIO())


def interrupted_when(reached: Callable[[TrainingRun], bool]) -> ConsoleLog:
    """A display that presses Ctrl-C after an iteration."""

    class Pressing(ConsoleLog):
        def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
            if reached(run):
                os.kill(os.getpid(), signal.SIGINT)

    return Pressing(io.StringIO())


def collect(trainer: PPO) -> RolloutBuffer:
    """A rollout of a whole iteration, from which nothing is learned."""
    collector = trainer.collector
    collector.collect(trainer.network, collector.n_steps, trainer.rng)
    return collector.buffer


def arrays_of(folder: Path) -> Arrays:
    """Everything that a run's state holds in arrays: weights, moments, games."""
    return load_state(folder / "state.safetensors")[0]


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


# Every hand of these rules is won by somebody, so that a match can be played for each reward.
DECIDED = {"name": "decided", "suits": 2, "ranks": 5, "hand": 3, "pay": "margin"}


class Iterations(Callback):
    """Ends a run after three iterations that learned."""

    def __init__(self) -> None:
        self.metrics: list[Mapping[str, float]] = []

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        self.metrics.append(metrics)
        if len(self.metrics) == 3:
            run.stop("three iterations")


def check_training_and_restoring(settings: Any, folder: Path) -> None:
    """Three iterations; a restored trainer makes the same fourth; the checkpoint plays."""
    iterations = Iterations()
    run = start(folder, settings)
    checkpoint = run.go(quiet(), iterations)
    assert len(iterations.metrics) == 3
    arrays, plain = deepcopy(run.trainer.state())
    metrics = run.trainer.iterate()
    restored = make_trainer(settings)
    restored.restore(arrays, plain)
    assert restored.iterate() == metrics
    assert same(restored.policy_weights(), run.trainer.policy_weights())
    options = settings.options
    env = GermanWhistVectorEnv(
        2,
        options.rules,
        horizon=settings.horizon,
        reward=settings.reward,
        opponent=f"network:{checkpoint}",
    )
    _, info = env.reset(seed=1)
    env.step(info["action_mask"].argmax(1))
