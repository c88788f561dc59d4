"""Stable-Baselines3's callbacks in a run, which calls `learn` once for each iteration.

The callbacks see a single training: they start once, count on, and end once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import CallbackList


class SessionCallbackList(CallbackList):
    """Callbacks over all calls of `learn`; they end when `end` is called."""

    def __init__(self, decisions: int) -> None:
        """`decisions` is the budget of the whole training."""
        super().__init__([])
        self.decisions = decisions
        self.stopped = False
        """Whether a callback has ended the training."""
        self._started = False

    def init_callback(self, model: Any) -> None:
        if not self._started:
            super().init_callback(model)

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """Start the callbacks with the budget of the whole training, the first time."""
        if not self._started:
            super().on_training_start({**locals_, "total_timesteps": self.decisions}, globals_)
        self._started = True

    def on_step(self) -> bool:
        self.stopped = not super().on_step()
        return not self.stopped

    def on_training_end(self) -> None:
        """Do nothing: the end of one `learn` is not that of the training."""

    def end(self) -> None:
        """End the callbacks, if they were started."""
        if self._started:
            super().on_training_end()

    def last_step(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Observations and dones of the last step."""
        return self.locals["new_obs"], self.locals["dones"]

    @property
    def calls(self) -> list[int]:
        """Number of calls of each callback."""
        return [callback.n_calls for callback in self.callbacks]

    @calls.setter
    def calls(self, counts: list[int]) -> None:
        for callback, count in zip(self.callbacks, counts, strict=False):
            callback.n_calls = count
