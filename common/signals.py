"""Handling of Ctrl-C and SIGTERM, which lets a run save a checkpoint before it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from .executors.processes import END_SIGNALS

UNSTABLE = 3
"""Exit status of a run whose losses or weights became infinite or NaN."""


class RunStopped(Exception):
    """A run that ended before its budget; `status` is the exit status."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


class SignalGuard:
    """Context that records the first signal, so that an iteration finishes; the second raises.

    Work that can be interrupted without loss, such as an evaluation, runs in `immediate`. An
    enclosing `SignalGuard` context records the signal too.
    """

    def __init__(self, numbers: Iterable[int] = END_SIGNALS) -> None:
        self._numbers = numbers
        self.received: int | None = None
        """The recorded signal, or None."""
        self._immediate = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> SignalGuard:
        if threading.current_thread() is threading.main_thread():
            self._previous = {
                number: signal.signal(number, self._record) for number in self._numbers
            }
        return self

    def _record(self, number: int, frame: Any) -> None:
        again = self.received is not None
        self.received = number
        outer = getattr(self._previous[number], "__self__", None)
        if isinstance(outer, SignalGuard):
            outer.received = number
        if again or self._immediate:
            raise KeyboardInterrupt

    @contextmanager
    def immediate(self) -> Generator[None, None, None]:
        """Context in which the first signal already raises KeyboardInterrupt."""
        self._immediate = True
        try:
            if self.received is not None:
                raise KeyboardInterrupt
            yield
        finally:
            self._immediate = False

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
