"""Workers on a Ray cluster: actors, each with its own cores and working folder."""

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

from .worker import TaskFactory, TaskOutcome, TaskRunner, WorkerDied, WorkersLost

RAY = "ray"
_MAX_START_SECONDS = 300.0
"""Limit for a free core while no worker is busy."""
_MAX_CONNECT_SECONDS = 10.0
"""Limit for a connection to the cluster."""
_MAX_FAILED_STARTS = 3


class RayActor:
    """Ray actor that runs tasks on a machine of the cluster."""

    def __init__(self, make: TaskFactory, setup: Any, files: dict[str, bytes]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="german-whist-")
        # The current folder is on the module search path.
        os.chdir(self._folder.name)
        write_files(files, Path())
        self._lines: list[str] = []
        self._tasks = TaskRunner(make, setup, self._lines.append)

    def version(self) -> str:
        return package_version()

    def call(self, task: Any) -> tuple[TaskOutcome, list[str]]:
        outcome = self._tasks.call(task)
        lines = [*self._lines]
        self._lines.clear()
        return outcome, lines


def package_version() -> str:
    try:
        return version("german-whist")
    except PackageNotFoundError:
        return "unknown"


def write_files(files: dict[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def connect_ray(on: str) -> Any:
    """Ray, connected to the cluster at `on`, or to a new one on this machine."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise ValueError(
            "--on ray needs Ray, which is not installed: pip install 'german-whist[ray]'"
        ) from None
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    address = on if on != RAY else _default_address()
    if address is not None:
        _check_reachable(address)
    with _keep_signal_handler():
        try:
            ray.init(address, **quiet)
        except (ConnectionError, ray.exceptions.RaySystemError, ValueError) as error:
            raise ValueError(f"{address}: there is no cluster to be reached ({error})") from None
    return ray


def _default_address() -> str | None:
    services: Any = importlib.import_module("ray._private.services")
    try:
        return services.canonicalize_bootstrap_address("auto")
    except ConnectionError:
        return None


def _check_reachable(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_MAX_CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Ray cluster answers at {address} ({error}): begin it with `ray start --head`, or "
            "let `ray stop` and an empty RAY_ADDRESS forget one that is gone"
        ) from None


@contextmanager
def _keep_signal_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


class Cluster:
    """Starts workers on a Ray cluster."""

    def __init__(
        self, on: str, make: TaskFactory, setup: Any, files: dict[str, bytes], threads: int
    ) -> None:
        self._ray = connect_ray(on)
        self._actor = self._ray.remote(num_cpus=threads, max_restarts=0)(RayActor)
        # Put into the object store once, instead of with every worker.
        self._arguments = [self._ray.put(part) for part in (make, setup, files)]

    def worker(self, idle: Callable[[], bool], ended: Callable[[], bool]) -> RayWorker | None:
        """A new worker, once the cluster has free cores; None if the executor ended first.

        While no other worker is busy, it has to start within five minutes.
        """
        ray, fault = self._ray, ""
        for _ in range(_MAX_FAILED_STARTS):
            actor = self._actor.remote(*self._arguments)
            version, waiting_since = actor.version.remote(), time.monotonic()
            while not ray.wait([version], timeout=1)[0]:
                if ended():
                    ray.kill(actor)
                    return None
                if not idle():
                    waiting_since = time.monotonic()
                elif time.monotonic() - waiting_since > _MAX_START_SECONDS:
                    raise WorkersLost(
                        f"no machine of the cluster had a core free for {_MAX_START_SECONDS:.0f} "
                        "seconds"
                    )
            try:
                actor_version = ray.get(version)
            except ray.exceptions.RayTaskError as error:
                raise ValueError(
                    f"a worker of the cluster could not begin: {error.cause}"
                ) from None
            except ray.exceptions.RayError as error:
                fault = _first_line(error)
                continue
            if actor_version != package_version():
                raise ValueError(
                    f"a machine of the cluster has german-whist {actor_version}, and this one "
                    f"{package_version()}: install the same everywhere"
                )
            return RayWorker(ray, actor)
        raise WorkersLost(
            f"{_MAX_FAILED_STARTS} workers in a row died on the cluster before they had begun: "
            f"{fault}"
        )


class RayWorker:
    """Handle of a Ray actor, with the interface of `LocalWorker`."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def call(self, task: Any, line: Callable[[str], object]) -> TaskOutcome:
        try:
            outcome, lines = self._ray.get(self._actor.call.remote(task))
        except self._ray.exceptions.RayError as error:
            raise WorkerDied(_first_line(error)) from None
        for printed in lines:
            line(printed)
        return outcome

    def end(self) -> None:
        self._ray.kill(self._actor)

    close = end


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
