# pyright: strict
"""Tasks are submitted, and workers call them: processes of this machine, or actors of Ray."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from threading import Condition, Thread, current_thread
from typing import Any, Generic, Protocol, TypeVar

from .cluster import RAY, Cluster, joined
from .local import LOCAL, LocalWorker
from .worker import Outcome, WorkerDied, WorkersLost

T = TypeVar("T")
"""A task; its text says what it is, as in "the deals 0 to 63"."""
R = TypeVar("R")
"""The result of one."""

MOST_DEATHS = 3
"""So many workers may die of a task before it is given up."""


def check_place(on: str) -> str:
    """Where tasks are called: `local`, `ray` or `ray://HOST:PORT`."""
    if on in (LOCAL, RAY) or on.startswith("ray://"):
        return on
    raise ValueError(f"on is {on!r}: it has to be local, ray, or ray://HOST:PORT")


def cores(on: str) -> int:
    """How many cores there are, here or on the cluster."""
    if on == LOCAL:
        return os.cpu_count() or 1
    return max(1, int(joined(on).cluster_resources().get("CPU", 1)))


class _Worker(Protocol):
    def call(self, task: Any, line: Callable[[str], object]) -> Outcome: ...
    def end(self) -> None: ...
    def close(self) -> None: ...


class _Job(Generic[T, R]):
    def __init__(self, task: T) -> None:
        self.task, self.deaths = task, 0
        self.future: Future[R] = Future()


def _print_apart(_: object, line: str) -> None:
    print(line, file=sys.stderr)


class InProcess(Generic[T, R]):
    """Calls tasks one after another in this process, in place of an `Executor`."""

    replaced = 0

    def __init__(self, call: Callable[[T], R]) -> None:
        self._call = call

    def __enter__(self) -> InProcess[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, next_task: Callable[[], T | None]) -> Iterator[tuple[T, R]]:
        """Tasks and their results, until `next_task` has none."""
        while (task := next_task()) is not None:
            yield task, self._call(task)


class Executor(Generic[T, R]):
    """Workers that call tasks; a context, at whose end they are gone.

    `make(setup)` returns the function that a worker gives tasks to: it is called once in each
    worker, before the first task. Both have to be picklable. `files` lie, by their relative
    paths, in the folder that a worker on a cluster works in. A worker has so many `threads`
    (0: as it likes), and as many cores of a cluster. `printed` is told of the lines that a task
    prints, and `died` why a worker died of it, which is then given to another.
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
        printed: Callable[[T, str], object] = _print_apart,
        died: Callable[[T, str], object] | None = None,
    ) -> None:
        self.workers = workers
        self.replaced = 0
        """How many workers died and were replaced."""
        self._printed, self._died = printed, died
        self._changed = Condition()
        self._jobs: deque[_Job[T, R]] = deque()
        self._busy = 0
        self._ended = False
        self._working: set[_Worker] = set()
        self._threads: list[Thread] = []
        self._start: Callable[[], _Worker | None]
        if check_place(on) == LOCAL:
            self._start = lambda: LocalWorker(make, setup, threads)
        else:
            cluster = Cluster(on, make, setup, files or {}, max(1, threads))
            self._start = lambda: cluster.worker(lambda: self._busy == 0, lambda: self._ended)

    def __enter__(self) -> Executor[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, task: T) -> Future[R]:
        """Have a task called, as soon as a worker is free."""
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
        """Tasks and their results as they finish, in no order.

        `next_task` is asked whenever a worker is free; None says that there is none for now.
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
        """End all workers; tasks that are not called yet are not called any more."""
        with self._changed:
            self._ended = True
            left, threads = [*self._jobs], [*self._threads]
            self._jobs.clear()
            for worker in self._working:
                worker.end()
            self._changed.notify_all()
        for job in left:
            job.future.cancel()
        for thread in threads:
            thread.join()

    def _serve(self) -> None:
        """The life of a worker, and of those that take its place."""
        worker: _Worker | None = None
        try:
            while (worker := worker or self._started()) and (job := self._next_job()):
                try:
                    outcome = self._called(worker, job.task)
                except WorkerDied as death:
                    self._close(worker)
                    worker = None
                    self._lose(job, death)
                    continue
                with self._changed:
                    self._busy -= 1
                if outcome.error is not None:
                    job.future.set_exception(outcome.error)
                else:
                    job.future.set_result(outcome.result)
        except Exception as error:  # no worker can begin
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

    def _called(self, worker: _Worker, task: T) -> Outcome:
        try:
            return worker.call(task, lambda line: self._printed(task, line))
        except WorkerDied:
            raise
        except Exception as error:  # a task that cannot be pickled
            return Outcome(error=error)

    def _started(self) -> _Worker | None:
        worker = self._start()
        if worker is None:
            return None
        with self._changed:
            self._working.add(worker)
            if self._ended:
                worker.end()
        return worker

    def _close(self, worker: _Worker) -> None:
        with self._changed:
            self._working.discard(worker)
        worker.close()

    def _next_job(self) -> _Job[T, R] | None:
        with self._changed:
            while not self._jobs and not self._ended:
                self._changed.wait()
            if self._ended:
                return None
            self._busy += 1
            return self._jobs.popleft()

    def _lose(self, job: _Job[T, R], death: WorkerDied) -> None:
        """Give a task whose worker died to another, unless it was too many."""
        with self._changed:
            self._busy -= 1
            if self._ended:
                job.future.cancel()
                return
            self.replaced += 1
            job.deaths += 1
            given_up = job.deaths >= MOST_DEATHS
            if not given_up:
                self._jobs.appendleft(job)
                self._changed.notify()
        if self._died is not None:
            self._died(job.task, str(death))
        if given_up:
            job.future.set_exception(
                WorkersLost(f"{MOST_DEATHS} workers in a row died ({death}) of {job.task}")
            )
