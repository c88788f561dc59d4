# pyright: strict
"""Executors: tasks are submitted to workers, which are local processes or Ray tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar

from ..threads import one_torch_thread, usable_threads
from .cluster import RAY, RayWorker, connect_ray, ray_workers
from .local import LOCAL, LocalWorker
from .worker import WorkerDied, WorkersLost

T = TypeVar("T")
"""A task; its `str` describes it, as in "the deals 0 to 63"."""
R = TypeVar("R")
"""Result of a task."""

MAX_WORKERS = 4096
MAX_DEATHS = 3
"""Number of workers that may die of a task before it fails."""


def check_backend(on: str) -> str:
    """The backend of an executor: `local`, `ray` or `ray://HOST:PORT`."""
    if on in (LOCAL, RAY) or on.startswith("ray://"):
        return on
    raise ValueError(f"on is {on!r}: it has to be local, ray, or ray://HOST:PORT")


def count_cores(on: str) -> int:
    """Number of cores that this process may use, or of the Ray cluster."""
    if on == LOCAL:
        return usable_threads()
    return max(1, int(connect_ray(on).cluster_resources().get("CPU", 1)))


def _print_to_stderr(_: object, line: str) -> None:
    print(line, file=sys.stderr)


class InProcessExecutor(Generic[T, R]):
    """Drop-in for `Executor` that runs tasks one after another in this process.

    Torch has one thread in a task, as it has in a worker, so that both take the same time.
    """

    n_replaced = 0

    def __init__(self, call: Callable[[T], R]) -> None:
        self._call = call

    def __enter__(self) -> InProcessExecutor[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, next_task: Callable[[], T | None]) -> Iterator[tuple[T, R]]:
        while (task := next_task()) is not None:
            with one_torch_thread():
                result = self._call(task)
            yield task, result


class Executor(Generic[T, R]):
    """Worker pool; a context manager that ends its workers on exit.

    `make(setup)` returns the function that runs a task: each worker calls it once, before its first
    task. Both must be picklable. On a cluster, `files` (contents by relative path) are written to
    the working folder of each worker. Every worker gets `threads` threads (0: no limit) and as many
    cores of a cluster. `on_line` is called with each line that a task prints, `on_death` with the
    reason when a worker dies; its task is then retried on another one. The processor time of
    local workers that are a `helper` is not that of this process's work (`processor_seconds`).
    """

    # A pool of processes (`concurrent.futures`, `loky`) ends all workers when one of them dies, so
    # each thread of a pool of threads has a process of its own.

    def __init__(
        self,
        make: Callable[[Any], Callable[[T], R]],
        setup: object = None,
        workers: int = 1,
        on: str = LOCAL,
        *,
        files: dict[str, bytes] | None = None,
        threads: int = 1,
        on_line: Callable[[T, str], object] = _print_to_stderr,
        on_death: Callable[[T, str], object] | None = None,
        helper: bool = False,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}: give at least 1")
        self.workers = workers
        self.n_replaced = 0
        """Number of dead workers that were replaced."""
        self._on_line, self._on_death = on_line, on_death
        self._threads = ThreadPoolExecutor(workers)
        self._lock = Lock()
        self._ended = False
        self._workers: set[LocalWorker | RayWorker] = set()
        self._idle: list[LocalWorker | RayWorker] = []
        self._start: Callable[[], LocalWorker | RayWorker]
        if check_backend(on) == LOCAL:
            self._start = lambda: LocalWorker(make, setup, threads, helper=helper)
        else:
            self._start = ray_workers(on, make, setup, files or {}, max(1, threads))

    def __enter__(self) -> Executor[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, task: T) -> Future[R]:
        """Run a task once a worker is free; after `close` this raises RuntimeError."""
        return self._threads.submit(self._run, task)

    def results(self, next_task: Callable[[], T | None]) -> Iterator[tuple[T, R]]:
        """Tasks and results in order of completion.

        `next_task` is called whenever a worker is free; None means no task for now.
        """
        pending: dict[Future[R], T] = {}
        while True:
            while len(pending) < self.workers and (task := next_task()) is not None:
                pending[self.submit(task)] = task
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                yield pending.pop(future), future.result()

    def close(self) -> None:
        """End all workers and cancel the pending tasks: their results raise CancelledError."""
        with self._lock:
            self._ended = True
            for worker in self._workers:
                worker.end()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _run(self, task: T) -> R:
        reason = ""
        for _ in range(MAX_DEATHS):
            try:
                return self._call(task)
            except WorkerDied as death:
                reason = str(death)
            with self._lock:
                if self._ended:
                    raise CancelledError
                self.n_replaced += 1
            if self._on_death is not None:
                self._on_death(task, reason)
        raise WorkersLost(f"{MAX_DEATHS} workers in a row died ({reason}) of {task}")

    def _call(self, task: T) -> R:
        worker = self._free_worker()
        try:
            return worker.call(task, partial(self._on_line, task))
        except WorkerDied:
            with self._lock:
                self._workers.discard(worker)
            worker.close()
            raise
        finally:
            with self._lock:
                if worker in self._workers:
                    self._idle.append(worker)

    def _free_worker(self) -> LocalWorker | RayWorker:
        with self._lock:
            if self._ended:
                raise CancelledError
            if self._idle:
                return self._idle.pop()
        worker = self._start()
        with self._lock:
            self._workers.add(worker)
            if self._ended:  # meanwhile
                worker.end()
        return worker
