"""How a run is ended from outside: Ctrl-C and SIGTERM let it save what it has learnt first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from .executors.processes import END_SIGNALS

UNSTABLE = 3
"""What a run says to its shell whose numbers became infinite, or none at all."""


class Stopped(Exception):
    """A run that ended before its budget, with what to do; `status` is for the shell."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


class Signals:
    """Takes note of the first signal, so that an iteration is not cut short; obeys the second.

    What loses nothing by being cut short, as a measurement, runs within `at_once`. Whoever was
    taking note before takes note as well.
    """

    def __init__(self, numbers: Iterable[int] = END_SIGNALS) -> None:
        self._numbers = numbers
        self.came: int | None = None
        """The signal that came, if one did."""
        self._at_once = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._before = {each: signal.signal(each, self._note) for each in self._numbers}
        return self

    def _note(self, number: int, frame: Any) -> None:
        again = self.came is not None
        self.came = number
        outer = getattr(self._before[number], "__self__", None)
        if isinstance(outer, Signals):
            outer.came = number
        if again or self._at_once:
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Generator[None, None, None]:
        """A signal ends what runs within with KeyboardInterrupt."""
        self._at_once = True
        try:
            if self.came is not None:
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
