"""Stable-Baselines3's callbacks in a run: told of one training, not of many.

A run calls SB3's `learn` once for each iteration. What is here keeps that from
the callbacks: they begin once, count on, and end once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import CallbackList


class Lasting(CallbackList):
    """Callbacks over all calls of `learn`, which begin, and end when `end` is called."""

    def __init__(self, decisions: int) -> None:
        """`decisions` is the budget of the whole training."""
        super().__init__([])
        self.decisions = decisions
        self.stopped = False
        """Whether one of them has ended the training."""
        self._begun = False

    def init_callback(self, model: Any) -> None:
        """Let them make themselves ready, the first time."""
        if not self._begun:
            super().init_callback(model)

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """Tell them of the whole training, the first time."""
        if not self._begun:
            super().on_training_start({**locals_, "total_timesteps": self.decisions}, globals_)
        self._begun = True

    def on_step(self) -> bool:
        """Tell them of a step, until one has had enough."""
        self.stopped = not super().on_step()
        return not self.stopped

    def on_training_end(self) -> None:
        """Nothing: the end of one `learn` is not that of the training."""

    def end(self) -> None:
        """The training is over."""
        if self._begun:
            super().on_training_end()

    def seen(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """What the last step showed, and in which games it ended an episode."""
        return self.locals["new_obs"], self.locals["dones"]

    @property
    def calls(self) -> list[int]:
        """How often each was called."""
        return [each.n_calls for each in self.callbacks]

    @calls.setter
    def calls(self, counts: list[int]) -> None:
        for each, count in zip(self.callbacks, counts, strict=False):
            each.n_calls = count
