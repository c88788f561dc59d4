# pyright: strict
"""The speed of watched agents, and the time of their next move."""

from __future__ import annotations

import time

from .messages import Speed

_DEFAULT_DELAY, _MIN_DELAY, _MAX_DELAY = 1000, 50, 60_000
"""Milliseconds."""


class WatchPace:
    """The delay between moves of watched agents."""

    def __init__(self, delay_ms: int = _DEFAULT_DELAY, paused: bool = False) -> None:
        self.delay_ms = delay_ms
        self.paused = paused
        self.restart()

    def restart(self, n_delays: int = 1) -> None:
        """Set the next move's time to so many delays from now."""
        self._due = time.monotonic() + n_delays * self.delay_ms / 1000

    def change(self, delay_ms: int | None, pause: bool | None) -> None:
        """Set the delay, pause or both; None leaves the value."""
        if delay_ms is not None:
            self.delay_ms = min(max(delay_ms, _MIN_DELAY), _MAX_DELAY)
        if pause is not None:
            self.paused = pause
        self.restart()

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._due - time.monotonic())

    @property
    def speed(self) -> Speed:
        return Speed(self.delay_ms, self.paused)
