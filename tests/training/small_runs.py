"""What tests of runs share: a display that nobody sees, and what a run came to."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from german_whist.training.algorithms.ppo import PPO
from german_whist.training.callbacks.base import TrainingRun
from german_whist.training.callbacks.console import ConsoleLog
from german_whist.training.rollout.rollout_buffer import RolloutBuffer
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


def same(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )
