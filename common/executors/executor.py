# pyright: strict
"""Executors: tasks are submitted to workers, which are local processes or Ray actors."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from threading import Condition, Thread, current_thread
from typing import Any, Generic, Protocol, TypeVar

from .cluster import RAY, Cluster, connect_ray
from .local import LOCAL, LocalWorker
from .worker import TaskOutcome, WorkerDied, WorkersLost

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
    """Number of cores on this machine or on the Ray cluster."""
    if on == LOCAL:
        return os.cpu_count() or 1
    return max(1, int(connect_ray(on).cluster_resources().get("CPU", 1)))


class _Worker(Protocol):
    def call(self, task: Any, line: Callable[[str], object]) -> TaskOutcome: ...
    def end(self) -> None: ...
    def close(self) -> None: ...


class _Job(Generic[T, R]):
    def __init__(self, task: T) -> None:
        self.task, self.deaths = task, 0
        self.future: Future[R] = Future()


def _print_to_stderr(_: object, line: str) -> None:
    print(line, file=sys.stderr)


class InProcessExecutor(Generic[T, R]):
    """Drop-in for `Executor` that runs tasks one after another in this process."""

    n_replaced = 0

    def __init__(self, call: Callable[[T], R]) -> None:
        self._call = call

    def __enter__(self) -> InProcessExecutor[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, next_task: Callable[[], T | None]) -> Iterator[tuple[T, R]]:
        while (task := next_task()) is not None:
            yield task, self._call(task)


class Executor(Generic[T, R]):
    """Worker pool; a context manager that ends its workers on exit.

    `make(setup)` returns the function that runs a task: each worker calls it once, before its first
    task. Both must be picklable. On a cluster, `files` (contents by relative path) are written to
    the working folder of each worker. Every worker gets `threads` threads (0: no limit) and as many
    cores of a cluster. `on_line` is called with each line that a task prints, `on_death` with the
    reason when a worker dies; its task is then retried on another one.
    """

    def __init__(
        self,
        make: Callable[[Any], Callable[[T], R]],
        setup: Any = None,
        workers: int = 1,
        on: str = LOCAL,
        *,
        files: dict[str, bytes] | None = None,
        threads: int = 1,
        on_line: Callable[[T, str], object] = _print_to_stderr,
        on_death: Callable[[T, str], object] | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers is {workers}: give at least 1")
        self.workers = workers
        self.n_replaced = 0
        """Number of dead workers that were replaced."""
        self._on_line, self._on_death = on_line, on_death
        self._changed = Condition()
        self._jobs: deque[_Job[T, R]] = deque()
        self._busy = 0
        self._ended = False
        self._workers: set[_Worker] = set()
        self._threads: list[Thread] = []
        self._start: Callable[[], _Worker | None]
        if check_backend(on) == LOCAL:
            self._start = lambda: LocalWorker(make, setup, threads)
        else:
            cluster = Cluster(on, make, setup, files or {}, max(1, threads))
            self._start = lambda: cluster.worker(lambda: self._busy == 0, lambda: self._ended)

    def __enter__(self) -> Executor[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, task: T) -> Future[R]:
        job: _Job[T, R] = _Job(task)
        with self._changed:
            self._jobs.append(job)
            if len(self._threads) < min(self.workers, self._busy + len(self._jobs)):
                thread = Thread(target=self._serve, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return job.future

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
        """End all workers and cancel the pending tasks."""
        with self._changed:
            self._ended = True
            left, threads = [*self._jobs], [*self._threads]
            self._jobs.clear()
            for worker in self._workers:
                worker.end()
            self._changed.notify_all()
        for job in left:
            job.future.cancel()
        for thread in threads:
            thread.join()

    def _serve(self) -> None:
        worker: _Worker | None = None
        try:
            while (worker := worker or self._start_worker()) and (job := self._next_job()):
                try:
                    outcome = self._call_task(worker, job.task)
                except WorkerDied as death:
                    self._close(worker)
                    worker = None
                    self._requeue(job, death)
                    continue
                with self._changed:
                    self._busy -= 1
                if outcome.error is not None:
                    job.future.set_exception(outcome.error)
                else:
                    job.future.set_result(outcome.result)
        except Exception as error:  # no worker can start
            with self._changed:
                left = [*self._jobs]
                self._jobs.clear()
            for job in left:
                job.future.set_exception(error)
        finally:
            with self._changed:
                self._threads.remove(current_thread())
            if worker is not None:
                self._close(worker)

    def _call_task(self, worker: _Worker, task: T) -> TaskOutcome:
        try:
            return worker.call(task, lambda line: self._on_line(task, line))
        except WorkerDied:
            raise
        except Exception as error:  # a task that cannot be pickled
            return TaskOutcome(error=error)

    def _start_worker(self) -> _Worker | None:
        worker = self._start()
        if worker is None:
            return None
        with self._changed:
            self._workers.add(worker)
            if self._ended:
                worker.end()
        return worker

    def _close(self, worker: _Worker) -> None:
        with self._changed:
            self._workers.discard(worker)
        worker.close()

    def _next_job(self) -> _Job[T, R] | None:
        with self._changed:
            while not self._jobs and not self._ended:
                self._changed.wait()
            if self._ended:
                return None
            self._busy += 1
            return self._jobs.popleft()

    def _requeue(self, job: _Job[T, R], death: WorkerDied) -> None:
        with self._changed:
            self._busy -= 1
            if self._ended:
                job.future.cancel()
                return
            self.n_replaced += 1
            job.deaths += 1
            given_up = job.deaths >= MAX_DEATHS
            if not given_up:
                self._jobs.appendleft(job)
                self._changed.notify()
        if self._on_death is not None:
            self._on_death(job.task, str(death))
        if given_up:
            job.future.set_exception(
                WorkersLost(f"{MAX_DEATHS} workers in a row died ({death}) of {job.task}")
            )
