# pyright: strict
"""How far long work is: a bar by rich in a terminal, a plain line now and then elsewhere.

Work that is over in a moment shows nothing, and loads nothing to show it with.
"""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

_PATIENCE = 0.5
_SECONDS_A_LINE = 10.0
_SECONDS_A_FRAME = 0.1
_LINE_WIDTH = 160


class Progress:
    """Shows how much of some work is done, from its `with` on, and leaves nothing behind.

    It may be told from several threads.
    """

    def __init__(self, title: str, total: float = 1.0, out: TextIO | None = None) -> None:
        self._title, self._total = title, total
        self._out = out or sys.stderr
        self._alive = self._out.isatty()
        self._next = time.monotonic() + (_PATIENCE if self._alive else _SECONDS_A_LINE)
        self._done = 0.0
        self._bars: Bars | None = None
        self._lock = Lock()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None and self._alive:
            self._bars.stop()

    def due(self) -> bool:
        """Whether it is time to show more, for whom telling costs something."""
        return time.monotonic() >= self._next

    def add(self, more: float) -> None:
        """So much more is done."""
        with self._lock:
            self._done += more
            self._show("")

    def tell(self, done: float, told: str = "") -> None:
        """So much is done by now; `told` stands beside it."""
        with self._lock:
            self._done = done
            self._show(told)

    def _show(self, told: str) -> None:
        if not self.due():
            return
        self._next = time.monotonic() + (_SECONDS_A_FRAME if self._alive else _SECONDS_A_LINE)
        bars = self._bars = self._bars or self._opened()
        bars.update(bars.task_ids[0], completed=self._done, told=told)
        if not self._alive:
            bars.console.print(bars, crop=False)

    def _opened(self) -> Bars:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        bar = [BarColumn(12)] if self._alive else []
        bars = Bars(
            TextColumn("{task.description}", markup=False), *bar, TaskProgressColumn(),
            TextColumn("{task.fields[told]}", markup=False), TimeRemainingColumn(),
            console=Console(
                file=self._out, force_terminal=self._alive,
                width=None if self._alive else _LINE_WIDTH,
            ),
            transient=True, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        bars.add_task(self._title, total=self._total, told="")
        if self._alive:
            bars.start()
        return bars
