"""Threads among which the games of a batch are shared out.

They are made where they are first needed, so what owns them can be pickled and
copied, and works in a forked child, which inherits no threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Threads:
    """So many threads, the calling one among them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._made_in = 0

    def run(
        self,
        size: int,
        kernel: Callable[..., None],
        *arguments: Any,
        rooms: Sequence[tuple[Any, ...]],
    ) -> None:
        """Run a kernel over `size` games in even parts, each with more arguments of its own.

        It gets `arguments`, those of its room, and where its part begins and ends.
        """
        ends = [size * part // self.count for part in range(self.count + 1)]
        # The calling thread takes the first part itself: handing work over costs time.
        waiting = [
            self._others().submit(kernel, *arguments, *rooms[part], ends[part], ends[part + 1])
            for part in range(1, self.count)
        ]
        kernel(*arguments, *rooms[0], 0, ends[1])
        for each in waiting:
            each.result()

    def _others(self) -> ThreadPoolExecutor:
        if self._pool is None or self._made_in != os.getpid():
            self._pool = ThreadPoolExecutor(self.count - 1)
            self._made_in = os.getpid()
        return self._pool

    def __reduce__(self) -> tuple[Any, ...]:
        return Threads, (self.count,)
