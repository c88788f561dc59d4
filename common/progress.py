# pyright: strict
"""Progress of long work: a bar by rich in a terminal, a line every ten seconds elsewhere.

Short work prints nothing and does not import rich.
"""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

_SHOW_AFTER = 0.5
_SECONDS_A_LINE = 10.0
_SECONDS_A_FRAME = 0.1
_LINE_WIDTH = 160


class Progress:
    """Thread-safe progress display, a context manager that clears its bar on exit."""

    def __init__(self, title: str, total: float = 1.0, out: TextIO | None = None) -> None:
        self._title, self._total = title, total
        self._out = out or sys.stderr
        self._is_terminal = self._out.isatty()
        self._next_time = time.monotonic() + (_SHOW_AFTER if self._is_terminal else _SECONDS_A_LINE)
        self._completed = 0.0
        self._bars: Bars | None = None
        self._lock = Lock()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None and self._is_terminal:
            self._bars.stop()

    def due(self) -> bool:
        """Whether the next update would be shown, for callers whose note is costly."""
        return time.monotonic() >= self._next_time

    def add(self, more: float) -> None:
        with self._lock:
            self._completed += more
            self._show("")

    def update(self, done: float, note: str = "") -> None:
        """Set the completed amount, and a note beside it."""
        with self._lock:
            self._completed = done
            self._show(note)

    def _show(self, note: str) -> None:
        if not self.due():
            return
        self._next_time = time.monotonic() + (
            _SECONDS_A_FRAME if self._is_terminal else _SECONDS_A_LINE
        )
        bars = self._bars = self._bars or self._start_bars()
        bars.update(bars.task_ids[0], completed=self._completed, note=note)
        if not self._is_terminal:
            bars.console.print(bars, crop=False)

    def _start_bars(self) -> Bars:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        bar = [BarColumn(12)] if self._is_terminal else []
        bars = Bars(
            TextColumn("{task.description}", markup=False),
            *bar,
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            TimeRemainingColumn(),
            console=Console(
                file=self._out,
                force_terminal=self._is_terminal,
                width=None if self._is_terminal else _LINE_WIDTH,
            ),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        bars.add_task(self._title, total=self._total, note="")
        if self._is_terminal:
            bars.start()
        return bars
