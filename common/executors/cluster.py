"""Workers on a Ray cluster: plain tasks of Ray, which give their cores back when they are done."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ..provenance import package_version
from ..suggestions import not_installed
from .worker import TaskFactory, TaskRunner, WorkerDied, result_of

RAY = "ray"
_MAX_CONNECT_SECONDS = 10.0
"""Limit for a connection to the cluster."""
_EXECUTOR = "GERMAN_WHIST_EXECUTOR"
"""Environment variable with a name of the executor: Ray reuses a process only within one."""

# In a process of Ray:
_folder: tempfile.TemporaryDirectory[str] | None = None
_runner: TaskRunner | None = None
_lines: list[str] = []


def run_task(
    driver_version: str, factory: bytes, files: dict[str, bytes], task: bytes
) -> tuple[bytes, list[str]]:
    """Run a task in a process of Ray; returns its outcome and the lines that it printed."""
    global _folder, _runner
    if _runner is None:
        if driver_version != package_version():
            raise ValueError(
                f"a machine of the cluster has german-whist {package_version()}, and this one "
                f"{driver_version}: install the same everywhere"
            )
        _folder = tempfile.TemporaryDirectory(prefix="german-whist-")
        # The current folder is on the module search path.
        os.chdir(_folder.name)
        write_files(files, Path())
        _runner = TaskRunner(factory, _lines.append)
    outcome = _runner.call(task)
    lines = [*_lines]
    _lines.clear()
    return outcome, lines


def write_files(files: dict[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def connect_ray(on: str) -> ModuleType:
    """Ray, connected to the cluster at `on`, or to a new one on this machine."""
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise ValueError(not_installed("--on ray", "ray", "ray")) from None
    if ray.is_initialized():
        return ray
    quiet: dict[str, str | bool] = {"logging_level": "ERROR", "log_to_driver": False}
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
    services = importlib.import_module("ray._private.services")
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


def ray_workers(
    on: str, make: TaskFactory, setup: object, files: dict[str, bytes], threads: int
) -> Callable[[], RayWorker]:
    """A function that starts workers on a Ray cluster."""
    ray = connect_ray(on)
    cores = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
    if threads > max(cores, default=0) > 0:
        raise ValueError(
            f"threads is {threads}: no machine of the cluster has more than {max(cores):.0f} cores"
        )
    environment = {"env_vars": {_EXECUTOR: os.urandom(8).hex()}}
    # Lost tasks are given out again by the executor, which reports deaths.
    task = ray.remote(num_cpus=threads, max_retries=0, runtime_env=environment)(run_task)
    # Put into the object store once, instead of with every task.
    shared = [ray.put(part) for part in (package_version(), pickle.dumps((make, setup)), files)]
    return lambda: RayWorker(ray, lambda data: task.remote(*shared, data))


class RayWorker:
    """One task at a time on the cluster, with the interface of `LocalWorker`."""

    def __init__(self, ray: ModuleType, submit: Callable[[bytes], object]) -> None:
        self._ray, self._submit = ray, submit
        self._running: object = None
        self._ended = False

    def call(self, task: object, line: Callable[[str], object]) -> Any:
        self._running = self._submit(pickle.dumps(task))
        if self._ended:
            self.end()
        try:
            outcome, lines = self._ray.get(self._running)
        except self._ray.exceptions.RayTaskError as error:
            raise ValueError(
                f"a worker of the cluster could not begin: {error.cause}"
            ) from error.cause
        except self._ray.exceptions.RayError as error:
            raise WorkerDied(_first_line(error)) from None
        finally:
            # Ray aborts this process where a task is canceled as it ends ("Tried to complete task
            # that was not pending", task_manager.cc of 2.60).
            self._running = None
        for printed in lines:
            line(printed)
        return result_of(outcome)

    def end(self) -> None:
        self._ended = True
        running = self._running
        if running is not None:
            # Without force Ray waits for Python, and a compiled function or a sleep goes on.
            self._ray.cancel(running, force=True)

    def close(self) -> None:
        pass


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
