# pyright: strict
"""How fast agents are watched, and when their next move is due."""

from __future__ import annotations

import time

from .messages import Speed

_DELAY, _LEAST_DELAY, _MOST_DELAY = 1000, 50, 60_000


class WatchPace:
    """The delay between moves of watched agents."""

    def __init__(self, delay_ms: int = _DELAY, paused: bool = False) -> None:
        self.delay_ms = delay_ms
        self.paused = paused
        self.begin()

    def begin(self, delays: int = 1) -> None:
        """The next move is due after so many delays from now."""
        self._due = time.monotonic() + delays * self.delay_ms / 1000

    def change(self, delay_ms: int | None, pause: bool | None) -> None:
        """Another delay, a pause, or both."""
        if delay_ms is not None:
            self.delay_ms = min(max(delay_ms, _LEAST_DELAY), _MOST_DELAY)
        if pause is not None:
            self.paused = pause
        self.begin()

    @property
    def seconds_left(self) -> float:
        """How long until the next move is due."""
        return max(0.0, self._due - time.monotonic())

    @property
    def speed(self) -> Speed:
        """What a page is told of it."""
        return Speed(self.delay_ms, self.paused)
