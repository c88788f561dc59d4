"""Who does the tasks: this process, or several spawned ones whose deaths cost nothing.

In the arena a task is a chunk of deals between two named players. Every worker process
gets one task at a time over a pipe of its own; when it dies, a new one takes its
place and the task is given out again.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ...agents.base import Agent
from ...agents.registry import as_agent
from ...engine.output import lasting_streams
from ...engine.processes import hold_interrupts
from .play import Chunk, Halves, Pair, Setting, play_chunk, warm_up_arena

if TYPE_CHECKING and sys.platform == "win32":
    from multiprocessing.connection import PipeConnection as Connection
else:
    from multiprocessing.connection import Connection

PlayerSpec = Any
"""A player as it is given: a name, or for one process alone whatever `as_agent` takes."""

MOST_DEATHS = 3
"""So many workers may die of a task, and the run ends."""
_THREAD_SETTINGS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"),
)


class WorkersLost(RuntimeError):
    """Worker processes die again and again, so the run can not go on."""


@dataclass(frozen=True)
class Task:
    """A chunk to be played: which pairing, which of its chunks, and which deals."""

    pairing: int
    chunk: int
    start: int
    pairs: int
    believed: tuple[bool, bool] = (False, False)
    """Whose endings count as perfect."""
    trial: bool = False
    """Whether endings are played out to see if they are."""
    attempt: int = 0
    """How often the pairing was begun anew."""

    def __str__(self) -> str:
        return f"the deals {self.start} to {self.start + self.pairs - 1}"


T = TypeVar("T", bound=Hashable)
"""A task: its text says what it is, as in "they played the deals 0 to 63"."""
R = TypeVar("R")
"""What came of one."""
T_co = TypeVar("T_co", covariant=True)


class TaskSource(Protocol[T_co]):
    """Where tasks come from: asked again whenever somebody is idle."""

    def next_task(self) -> T_co | None:
        """The next task, or None when there is nothing more to give out."""
        ...


class InOrder(Generic[T]):
    """Tasks that are known beforehand."""

    def __init__(self, tasks: Iterable[T]) -> None:
        self._left = iter(tasks)

    def next_task(self) -> T | None:
        """The next one."""
        return next(self._left, None)


T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Player(Protocol[T_contra, R_co]):
    """Who does tasks, one in each process."""

    def play(self, task: T_contra) -> R_co:
        """Do a task."""
        ...


Maker = Callable[[Sequence[Any]], Player[T, R]]
"""Makes whoever does tasks from the texts and objects that a pool was given: there, paths in
them are called as they are called there."""


class Bench:
    """The players of a run in one process, made when first needed.

    Those that are named are made anew for each pairing, each half of its deals, each side
    and each attempt: none meets a deal twice, so none can know it from before.
    """

    def __init__(
        self, players: tuple[tuple[PlayerSpec, PlayerSpec], ...], setting: Setting
    ) -> None:
        self._specs = players
        self._setting = setting
        self._made: dict[int, tuple[int, Halves]] = {}
        self._warm: set[int] = set()

    def halves(self, pairing: int, attempt: int = 0) -> Halves:
        """The players of a pairing: those of the first half of its deals, and of the second."""
        made_for, halves = self._made.get(pairing, (-1, None))
        if halves is None or made_for != attempt:
            halves = self._pair(pairing), self._pair(pairing)
            self._made[pairing] = attempt, halves
        return halves

    def _pair(self, pairing: int) -> Pair:
        first, second = self._specs[pairing]
        return self._agent(first), self._agent(second)

    def _agent(self, spec: PlayerSpec) -> Agent:
        return as_agent(spec, self._setting.rules, match=self._setting.match)

    def play(self, task: Task) -> Chunk:
        """Play a chunk."""
        halves = self.halves(task.pairing, task.attempt)
        if task.pairing not in self._warm:
            self._warm.add(task.pairing)
            warm_up_arena(halves, self._setting)
        return play_chunk(halves, self._setting, task.start, task.pairs, task.believed, task.trial)


def bench_for(setting: Setting, players: Sequence[PlayerSpec]) -> Bench:
    """The players of a run, those of the first pairing first."""
    return Bench(tuple(zip(players[::2], players[1::2], strict=True)), setting)


def played_here(player: Player[T, R], source: TaskSource[T]) -> Iterator[tuple[T, R]]:
    """Do all tasks in this process."""
    while (task := source.next_task()) is not None:
        yield task, player.play(task)


# -- in several processes


def _work(pipe: Connection, make: Maker[Any, Any], given: Sequence[Any]) -> None:
    """A worker's life: tasks in, what came of them out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    player = make(given)
    # What a worker has to say may find nobody who listens; its pipe ends when its work does.
    with lasting_streams(), suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            task = pipe.recv()
            try:
                answer: Any = player.play(task)
            except Exception as error:  # what the players do is caught where they are asked
                answer = f"{type(error).__name__}: {error}"
            pipe.send((task, answer))


@contextmanager
def _quiet_start() -> Iterator[None]:
    """One thread per worker, and Ctrl-C left to this process."""
    before = {name: os.environ.get(name) for name in _THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(_THREAD_SETTINGS, "1"))
    try:
        with hold_interrupts():
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@dataclass
class _Worker(Generic[T]):
    process: Any
    pipe: Connection
    task: T | None = None


class Pool(Generic[T, R]):
    """Worker processes that do tasks; a context, at whose end they are gone."""

    def __init__(self, make: Maker[T, R], given: Sequence[Any], workers: int) -> None:
        self._arguments = (make, given)
        self._count = workers
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker[T]] = []
        self._again: deque[T] = deque()
        self._deaths: dict[T, int] = {}
        self.replaced = 0
        """How many workers died and were replaced."""

    def __enter__(self) -> Pool[T, R]:
        self._workers = [self._start() for _ in range(self._count)]
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
            worker.process.close()
        self._workers = []

    def _start(self) -> _Worker[T]:
        ours, theirs = self._context.Pipe()
        with _quiet_start():
            process = self._context.Process(
                target=_work, args=(theirs, *self._arguments), daemon=True
            )
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def played(self, source: TaskSource[T]) -> Iterator[tuple[T, R]]:
        """Give out the tasks; what comes of them comes as it is finished, in no order."""
        while True:
            for worker in self._workers:
                if worker.task is None:
                    self._give(worker, source)
            busy = [worker for worker in self._workers if worker.task is not None]
            if not busy:
                return
            ready = wait([worker.pipe for worker in busy])
            for worker in busy:
                if worker.pipe in ready and (done := self._received(worker)) is not None:
                    yield done

    def _give(self, worker: _Worker[T], source: TaskSource[T]) -> None:
        task = self._again.popleft() if self._again else source.next_task()
        worker.task = task
        if task is not None:
            # A pipe that is broken here is noticed, and mended, when it is read.
            with suppress(BrokenPipeError, ConnectionResetError):
                worker.pipe.send(task)

    def _received(self, worker: _Worker[T]) -> tuple[T, R] | None:
        try:
            task, answer = worker.pipe.recv()
        except (EOFError, ConnectionResetError, OSError):
            self._replace(worker)
            return None
        worker.task = None
        if isinstance(answer, str):
            raise ValueError(answer)
        return task, answer

    def _replace(self, worker: _Worker[T]) -> None:
        """A worker died: its task is given out again, to a new one."""
        task = worker.task
        assert task is not None
        worker.pipe.close()
        worker.process.join()
        code = worker.process.exitcode
        self.replaced += 1
        self._deaths[task] = self._deaths.get(task, 0) + 1
        if self._deaths[task] >= MOST_DEATHS:
            raise WorkersLost(
                f"{MOST_DEATHS} worker processes in a row died (exit status {code}) while they "
                f"played {task}; with workers=1 they are played in this process, where the cause "
                "may show. A script "
                'that starts workers needs the line: if __name__ == "__main__":'
            )
        self._again.append(task)
        worker.process.close()
        fresh = self._start()
        worker.process, worker.pipe, worker.task = fresh.process, fresh.pipe, None
