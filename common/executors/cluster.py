"""Workers on a cluster of Ray: actors, each with its cores and a folder of its own."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .worker import Make, Outcome, Tasks, WorkerDied, WorkersLost

RAY = "ray"
_LONGEST_START = 300.0
"""Seconds until a core has to be free, where no worker is busy."""
_LONGEST_JOIN = 10.0
"""Seconds until a cluster has to answer."""
_MOST_FAILED_STARTS = 3


class Actor:
    """Calls tasks on some machine of the cluster."""

    def __init__(self, make: Make, setup: Any, files: dict[str, bytes]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="german-whist-")
        # Modules are found in the folder that a process is in as well.
        os.chdir(self._folder.name)
        unpack(files, Path())
        self._lines: list[str] = []
        self._tasks = Tasks(make, setup, self._lines.append)

    def version(self) -> str:
        """Version of the package on that machine."""
        return package_version()

    def call(self, task: Any) -> tuple[Outcome, list[str]]:
        """The outcome of a task, and the lines that it printed."""
        outcome = self._tasks.call(task)
        lines = [*self._lines]
        self._lines.clear()
        return outcome, lines


def package_version() -> str:
    """Version of the package as it is installed."""
    try:
        return version("german-whist")
    except PackageNotFoundError:
        return "unknown"


def unpack(files: dict[str, bytes], folder: Path) -> None:
    """Write files by their relative paths below a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def joined(on: str) -> Any:
    """Ray, connected to the cluster that is asked for, or to one of this machine alone."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise ValueError(
            "--on ray needs Ray, which is not installed: pip install 'german-whist[ray]'"
        ) from None
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    address = on if on != RAY else _usual_address()
    if address is not None:
        _check_answers(address)
    with _own_signals():
        try:
            ray.init(address, **quiet)
        except (ConnectionError, ray.exceptions.RaySystemError, ValueError) as error:
            raise ValueError(f"{address}: there is no cluster to be reached ({error})") from None
    return ray


def _usual_address() -> str | None:
    """The address that Ray's `auto` stands for; None where no cluster was begun."""
    services: Any = importlib.import_module("ray._private.services")
    try:
        return services.canonicalize_bootstrap_address("auto")
    except ConnectionError:
        return None


def _check_answers(address: str) -> None:
    """Refuse the address of a cluster that is gone, on which Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_LONGEST_JOIN).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Ray cluster answers at {address} ({error}): begin it with `ray start --head`, or "
            "let `ray stop` and an empty RAY_ADDRESS forget one that is gone"
        ) from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the handler of SIGTERM, which Ray sets as it begins."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


class Cluster:
    """A cluster on which workers begin."""

    def __init__(
        self, on: str, make: Make, setup: Any, files: dict[str, bytes], threads: int
    ) -> None:
        self._ray = joined(on)
        self._actor = self._ray.remote(num_cpus=threads, max_restarts=0)(Actor)
        # Put into the cluster once, and not with every worker.
        self._arguments = [self._ray.put(each) for each in (make, setup, files)]

    def worker(self, idle: Callable[[], bool], ended: Callable[[], bool]) -> RayWorker | None:
        """A worker, as soon as a machine has cores for it; None if all has ended before.

        While no other is at work, it has to begin within five minutes.
        """
        ray, fault = self._ray, ""
        for _ in range(_MOST_FAILED_STARTS):
            actor = self._actor.remote(*self._arguments)
            there, since = actor.version.remote(), time.monotonic()
            while not ray.wait([there], timeout=1)[0]:
                if ended():
                    ray.kill(actor)
                    return None
                if not idle():
                    since = time.monotonic()
                elif time.monotonic() - since > _LONGEST_START:
                    raise WorkersLost(
                        f"no machine of the cluster had a core free for {_LONGEST_START:.0f} "
                        "seconds"
                    )
            try:
                found = ray.get(there)
            except ray.exceptions.RayTaskError as error:
                raise ValueError(
                    f"a worker of the cluster could not begin: {error.cause}"
                ) from None
            except ray.exceptions.RayError as error:
                fault = _first_line(error)
                continue
            if found != package_version():
                raise ValueError(
                    f"a machine of the cluster has german-whist {found}, and this one "
                    f"{package_version()}: install the same everywhere"
                )
            return RayWorker(ray, actor)
        raise WorkersLost(
            f"{_MOST_FAILED_STARTS} workers in a row died on the cluster before they had begun: "
            f"{fault}"
        )


class RayWorker:
    """An actor of the cluster."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def call(self, task: Any, line: Callable[[str], object]) -> Outcome:
        """The outcome of a task; `line` is called with what it printed, at its end."""
        try:
            outcome, lines = self._ray.get(self._actor.call.remote(task))
        except self._ray.exceptions.RayError as error:
            raise WorkerDied(_first_line(error)) from None
        for each in lines:
            line(each)
        return outcome

    def end(self) -> None:
        """End it at once."""
        self._ray.kill(self._actor)

    close = end


def _first_line(error: Exception) -> str:
    """The first line of what an exception says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
