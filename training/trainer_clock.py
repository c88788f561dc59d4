"""What a trainer costs: processor seconds, and steps in environments of the package."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..common.processor_time import WorkClock
from ..envs import step_count
from .algorithms.base import Trainer

_PACKAGE = __name__.partition(".")[0]


def is_own(trainer: Trainer) -> bool:
    """Whether a trainer is this package's, whose own counts are tested."""
    return type(trainer).__module__.partition(".")[0] == _PACKAGE


class TrainerClock(WorkClock):
    """Counts from when it is made; `seconds` and `env_steps` are those of earlier sessions."""

    def __init__(self, seconds: float = 0.0, env_steps: int = 0) -> None:
        super().__init__(seconds)
        self._first_step = step_count.steps() - env_steps

    @property
    def env_steps(self) -> int:
        return step_count.steps() - self._first_step

    @contextmanager
    def apart(self) -> Generator[None]:
        before = step_count.steps()
        with super().apart():
            yield
        self._first_step += step_count.steps() - before
