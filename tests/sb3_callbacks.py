"""Callbacks that tests name in settings."""

from __future__ import annotations

from stable_baselines3.common.callbacks import BaseCallback

WORD = "nothing to call"


class Counting(BaseCallback):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[str] = []

    def _on_training_start(self) -> None:
        self.events.append(f"start of {self.locals['total_timesteps']}")

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self.events.append("end")


class Stopping(Counting):
    after = 40

    def _on_step(self) -> bool:
        return self.n_calls < self.after


READY = Counting()


class Needing(Counting):
    def __init__(self, number: int) -> None:
        raise AssertionError(number)


def made() -> BaseCallback:
    raise AssertionError("a function is never called")
