"""Thread pool that splits the items of an array.

Threads start on first use, so that an object with a pool can be pickled and copied, and works in a
forked child, which inherits no threads.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple

STEP_NS = 50
"""Approximate cost of one item in nanoseconds, unless the caller names another."""
MIN_PART_NS = 200_000
"""Minimum work per thread in nanoseconds; below it, the handover costs more than it gains."""

MAX_THREADS = 1024
"""Maximum number that an option of threads takes: each has memory of its own, used or not."""


def usable_threads() -> int:
    affinity = getattr(os, "sched_getaffinity", None)  # only on Linux
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Give torch one thread, if it is loaded: on small batches more wait for each other."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _WorkItem(NamedTuple):
    kernel: Callable[..., int]
    arguments: tuple[object, ...]
    results: SimpleQueue[int | BaseException]


def _run_work(work: SimpleQueue[_WorkItem | None]) -> None:
    while (item := work.get()) is not None:
        kernel, arguments, results = item
        result: int | BaseException
        try:
            result = kernel(*arguments)
        except BaseException as error:
            result = error
        # Drop all references before the caller continues.
        del item, arguments
        results.put(result)
        del result


def _raise_error(result: int | BaseException) -> int:
    if isinstance(result, BaseException):
        raise result
    return result


def _stop_threads(work: SimpleQueue[_WorkItem | None], count: int) -> None:
    for _ in range(count):
        work.put(None)


class ThreadPool:
    """Pool of `count` threads, the calling one included."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._work: SimpleQueue[_WorkItem | None] = SimpleQueue()
        self._pid = 0

    def run(
        self,
        size: int,
        kernel: Callable[..., int],
        per_thread: Sequence[object],
        *arguments: object,
        cost_ns: int = STEP_NS,
    ) -> int:
        """Run a kernel over `size` items in even parts; returns the sum of its results.

        The kernel gets its thread's entry of `per_thread`, then `arguments`, and the start and
        stop of its part. `cost_ns` is the approximate cost of one item in nanoseconds:
        little work stays on the calling thread.
        """
        parts = min(self.count, size, size * cost_ns // MIN_PART_NS)
        # While the interpreter shuts down, other threads no longer run.
        if parts <= 1 or sys.is_finalizing():
            return kernel(per_thread[0], *arguments, 0, size)
        ends = [size * part // parts for part in range(parts + 1)]
        work = self._work_queue()
        # A queue per run: an interrupted run leaves results behind that must not be read.
        results: SimpleQueue[int | BaseException] = SimpleQueue()
        for part in range(1, parts):
            arguments_ = per_thread[part], *arguments, ends[part], ends[part + 1]
            work.put(_WorkItem(kernel, arguments_, results))
        other_results: list[int | BaseException] = []
        try:
            # The calling thread takes the first part itself: a handover costs time.
            total = kernel(per_thread[0], *arguments, 0, ends[1])
        finally:
            # An error is raised only when no thread writes to the arrays any more.
            while len(other_results) < parts - 1:
                other_results.append(results.get())
        return total + sum(map(_raise_error, other_results))

    def _work_queue(self) -> SimpleQueue[_WorkItem | None]:
        if self._pid != os.getpid():
            work: SimpleQueue[_WorkItem | None] = SimpleQueue()
            # Not at interpreter exit: steps during shutdown still wait for the threads.
            weakref.finalize(self, _stop_threads, work, self.count - 1).atexit = False
            for _ in range(1, self.count):
                Thread(target=_run_work, args=(work,), daemon=True).start()
            self._work, self._pid = work, os.getpid()
        return self._work

    def __reduce__(self) -> tuple[type[ThreadPool], tuple[int]]:
        return type(self), (self.count,)
