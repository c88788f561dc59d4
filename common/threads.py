"""Threads among which the games of a batch are shared out.

They are made where they are first needed, so what owns them can be pickled and
copied, and works in a forked child, which inherits no threads.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

STEP = 50
"""About how many nanoseconds a step of a game takes, what it shows included."""
LEAST = 200_000
"""Nanoseconds of work; handing over less to another thread takes longer than is won."""


def usable_threads() -> int:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # on Linux alone
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class _Part(NamedTuple):
    """A part of the games for another thread, and where it tells what came of them."""

    kernel: Callable[..., int]
    arguments: tuple[Any, ...]
    told: SimpleQueue[int | BaseException]


def _serve(asked: SimpleQueue[_Part | None]) -> None:
    """Do what is asked, until nothing is."""
    while (part := asked.get()) is not None:
        kernel, arguments, told = part
        found: int | BaseException
        try:
            found = kernel(*arguments)
        except BaseException as fault:
            found = fault
        # Nothing is held any more when the caller goes on.
        del part, arguments
        told.put(found)
        del found


def _raised(found: int | BaseException) -> int:
    if isinstance(found, BaseException):
        raise found
    return found


def _dismiss(asked: SimpleQueue[_Part | None], count: int) -> None:
    for _ in range(count):
        asked.put(None)


class Threads:
    """So many threads, the calling one among them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._asked: SimpleQueue[_Part | None] = SimpleQueue()
        self._made_in = 0

    def run(
        self, size: int, kernel: Callable[..., int], owned: Sequence[Any], *arguments: Any,
        each: int = STEP,
    ) -> int:  # fmt: skip
        """Run a kernel over `size` games in even parts; returns the sum of what it returns.

        It gets one of `owned`, of which there is one for each thread, then `arguments`, and where
        its part begins and ends. `each` is about how many nanoseconds it takes for a game: little
        work stays on the calling thread.
        """
        parts = min(self.count, size, size * each // LEAST)
        # While the interpreter ends, other threads wait for it and come to nothing any more.
        if parts <= 1 or sys.is_finalizing():
            return kernel(owned[0], *arguments, 0, size)
        ends = [size * part // parts for part in range(parts + 1)]
        asked = self._others()
        # Its own for each run: one that is interrupted leaves words behind that nobody waits for.
        told: SimpleQueue[int | BaseException] = SimpleQueue()
        for part in range(1, parts):
            told_of = owned[part], *arguments, ends[part], ends[part + 1]
            asked.put(_Part(kernel, told_of, told))
        others: list[int | BaseException] = []
        try:
            # The calling thread takes the first part itself: handing work over costs time.
            found = kernel(owned[0], *arguments, 0, ends[1])
        finally:
            # A fault is told when nobody writes to the arrays any more.
            while len(others) < parts - 1:
                others.append(told.get())
        return found + sum(map(_raised, others))

    def _others(self) -> SimpleQueue[_Part | None]:
        """Where the other threads are asked, which a forked child has none of."""
        if self._made_in != os.getpid():
            asked: SimpleQueue[_Part | None] = SimpleQueue()
            # Not at the interpreter's end: what steps then still waits for them.
            weakref.finalize(self, _dismiss, asked, self.count - 1).atexit = False
            for _ in range(1, self.count):
                Thread(target=_serve, args=(asked,), daemon=True).start()
            self._asked, self._made_in = asked, os.getpid()
        return self._asked

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.count,)
