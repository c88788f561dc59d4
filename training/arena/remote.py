"""Tasks that are done on a cluster of Ray: the same, with the same hands, as in local processes.

Every worker is an actor with one core. When one dies, or its machine does, its task is given to
another; a task that nobody outlives ends the run.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypedDict

from .luggage import Luggage, packed, unpack
from .machine import package_version
from .workers import MOST_DEATHS, Maker, Player, Pool, R, T, TaskSource, WorkersLost

LOCAL, RAY = "local", "ray"
MOST_WORKERS = 4096
_LONGEST_START = 300.0


class RemotePlayer:
    """Who does tasks on some machine of the cluster."""

    def __init__(self, make: Maker[Any, Any], given: Sequence[Any], luggage: Luggage) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="german-whist-")
        unpack(luggage, Path(self._folder.name))
        # Modules are found in the folder that a process is in as well.
        os.chdir(self._folder.name)
        self._player: Player[Any, Any] = make(given)

    def version(self) -> str:
        """Of the package there."""
        return package_version()

    def play(self, task: Any) -> Any:
        """Do a task; what goes wrong is told in a sentence."""
        try:
            return self._player.play(task)
        except Exception as error:  # what the players do is caught where they are asked
            return f"{type(error).__name__}: {error}"


def checked_place(on: str) -> str:
    """Where a run is to be played: `local`, `ray` or `ray://HOST:PORT`."""
    if on in (LOCAL, RAY) or on.startswith("ray://"):
        return on
    raise ValueError(f"on is {on!r}: it has to be local, ray, or ray://HOST:PORT")


def joined(on: str) -> Any:
    """Ray, connected to the cluster that is wanted, or to one of this machine alone."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise ValueError(
            "--on ray needs Ray, which is not installed: pip install 'german-whist[ray]'"
        ) from None
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if on != RAY:
        try:
            ray.init(on, **quiet)
        except (ConnectionError, ray.exceptions.RaySystemError, ValueError) as error:
            raise ValueError(f"{on}: there is no cluster to be reached ({error})") from None
        return ray
    try:
        ray.init("auto", **quiet)
    except ConnectionError:
        ray.init(**quiet)
    return ray


class RayPool(Generic[T, R]):
    """Workers on a cluster that do tasks; a context, at whose end they are gone."""

    def __init__(self, make: Maker[T, R], given: Sequence[Any], workers: int, on: str) -> None:
        self._make, self._given, self._count, self._on = make, given, workers, on
        self._starting: dict[Any, Any] = {}
        """Workers that are not there yet, by what tells that they are."""
        self._busy: dict[Any, tuple[Any, T]] = {}
        """Workers and their tasks, by what tells what came of them."""
        self._idle: list[Any] = []
        self._again: deque[T] = deque()
        self._deaths: dict[T, int] = {}
        self._failed_starts = 0
        self.replaced = 0
        """How many workers died and were replaced."""

    def __enter__(self) -> RayPool[T, R]:
        self._ray = joined(self._on)
        called, luggage = packed(self._given)
        self._actor = self._ray.remote(num_cpus=1, max_restarts=0)(RemotePlayer)
        # Put into the cluster once, and not with every worker.
        self._arguments = [self._ray.put(each) for each in (self._make, called, luggage)]
        for _ in range(self._count):
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        busy = [worker for worker, _ in self._busy.values()]
        for worker in (*self._idle, *self._starting.values(), *busy):
            self._ray.kill(worker)
        self._idle, self._starting, self._busy = [], {}, {}

    def _start(self) -> None:
        worker = self._actor.remote(*self._arguments)
        self._starting[worker.version.remote()] = worker

    def played(self, source: TaskSource[T]) -> Iterator[tuple[T, R]]:
        """Give out the tasks; what comes of them comes as it is finished, in no order."""
        while True:
            self._give(source)
            if not self._busy and not self._again and self._over:
                return
            waiting = [*self._busy, *self._starting]
            ready, _ = self._ray.wait(waiting, num_returns=1, timeout=_LONGEST_START)
            if not ready and not self._busy:
                raise WorkersLost(
                    f"no machine of the cluster had a core free for {_LONGEST_START:.0f} seconds"
                )
            for each in ready:
                if each in self._starting:
                    self._welcome(each)
                elif (done := self._received(each)) is not None:
                    yield done

    def _give(self, source: TaskSource[T]) -> None:
        """Give tasks to whoever is idle, those first that somebody died of."""
        self._over = False
        while self._idle:
            task = self._again.popleft() if self._again else source.next_task()
            if task is None:
                self._over = True
                return
            worker = self._idle.pop()
            self._busy[worker.play.remote(task)] = worker, task

    def _welcome(self, told: Any) -> None:
        worker = self._starting.pop(told)
        try:
            version = self._ray.get(told)
        except self._ray.exceptions.RayTaskError as error:
            raise ValueError(f"a worker of the cluster could not begin: {error.cause}") from None
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            if self._failed_starts >= MOST_DEATHS:
                raise WorkersLost(
                    f"{MOST_DEATHS} workers in a row died on the cluster before they had begun: "
                    f"{_first_line(error)}"
                ) from error
            self._start()
            return
        _check_version(version)
        self._failed_starts = 0
        self._idle.append(worker)

    def _received(self, told: Any) -> tuple[T, R] | None:
        worker, task = self._busy.pop(told)
        try:
            answer = self._ray.get(told)
        except self._ray.exceptions.RayError as error:
            self._replace(task, error)
            return None
        self._idle.append(worker)
        if isinstance(answer, str):
            raise ValueError(answer)
        return task, answer

    def _replace(self, task: T, error: Exception) -> None:
        """A worker died: its task is given to another, and a new one is begun."""
        self.replaced += 1
        self._deaths[task] = self._deaths.get(task, 0) + 1
        if self._deaths[task] >= MOST_DEATHS:
            raise WorkersLost(
                f"{MOST_DEATHS} workers in a row died on the cluster while they played {task} "
                f"({_first_line(error)}); with --on local and --workers 1 they are played in this "
                "process, where the cause may show"
            )
        self._again.append(task)
        self._start()


def pool_of(
    make: Maker[T, R], given: Sequence[Any], workers: int, on: str
) -> Pool[T, R] | RayPool[T, R]:
    """Workers in processes of this machine, or on a cluster."""
    return Pool(make, given, workers) if on == LOCAL else RayPool(make, given, workers, on)


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """How many workers, and where."""
    parser.add_argument(
        "--workers", type=int, metavar="W", default=1,
        help="processes; they do not change the result (default: 1; 0: one per core)",
    )  # fmt: skip
    add_place_option(parser)


def add_place_option(parser: argparse.ArgumentParser) -> None:
    """Where they are."""
    parser.add_argument(
        "--on", metavar="local|ray|ray://HOST:PORT", default=LOCAL,
        help="where they are: processes of this machine (the default), or a cluster of Ray; "
        "--workers 0 is then one for each of its cores",
    )  # fmt: skip


class Place(TypedDict):
    """How many workers, and where."""

    workers: int
    on: str


def place_of(arguments: argparse.Namespace) -> Place:
    """What was given to the options of `add_place_options`."""
    on, workers = checked_place(arguments.on), arguments.workers
    if not 0 <= workers <= MOST_WORKERS:
        raise ValueError(
            f"--workers is {workers}: it has to be from 1 to {MOST_WORKERS}, or 0 for one on each "
            "core"
        )
    if workers == 0:
        workers = os.cpu_count() or 1 if on == LOCAL else cores_of_cluster(on)
    return Place(workers=workers, on=on)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _check_version(found: str) -> None:
    if found != package_version():
        raise ValueError(
            f"a machine of the cluster has german-whist {found}, and this one "
            f"{package_version()}: install the same everywhere"
        )


def checked_version(ray: Any) -> None:
    """Refuse a cluster with another version of this package."""
    _check_version(ray.get(ray.remote(num_cpus=1)(package_version).remote()))


def cores_of_cluster(on: str) -> int:
    """How many cores the cluster has."""
    return max(1, int(joined(on).cluster_resources().get("CPU", 1)))
