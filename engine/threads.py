"""Threads among which the games of a batch are shared out.

They are made where they are first needed, so what owns them can be pickled and
copied, and works in a forked child, which inherits no threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

STEP = 50
"""About how many nanoseconds a step of a game takes, what it shows included."""
LEAST = 200_000
"""Nanoseconds of work; handing over less to another thread takes longer than is won."""


def usable_threads() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """So many threads, the calling one among them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._made_in = 0

    def run(self, size: int, kernel: Callable[..., int], *arguments: Any, each: int = STEP) -> int:
        """Run a kernel over `size` games in even parts; returns the sum of what it returns.

        After `arguments` it gets the part's number, and where that begins and ends. `each` is
        about how many nanoseconds it takes for a game: little work stays on the calling thread.
        """
        parts = min(self.count, size, size * each // LEAST)
        if parts <= 1:
            return kernel(*arguments, 0, 0, size)
        ends = [size * part // parts for part in range(parts + 1)]
        # The calling thread takes the first part itself: handing work over costs time.
        waiting = [
            self._others().submit(kernel, *arguments, part, ends[part], ends[part + 1])
            for part in range(1, parts)
        ]
        found = kernel(*arguments, 0, 0, ends[1])
        return found + sum(each.result() for each in waiting)

    def _others(self) -> ThreadPoolExecutor:
        if self._pool is None or self._made_in != os.getpid():
            self._pool = ThreadPoolExecutor(self.count - 1)
            self._made_in = os.getpid()
        return self._pool

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.count,)
