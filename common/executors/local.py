# pyright: strict
"""Local workers: processes that end with the process that started them."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import IO, Any

from ..processor_time import start_helper, wait_for_helper
from .worker import TaskFactory, WorkerDied, result_of

LOCAL = "local"
_THREAD_SETTINGS = [
    f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")
] + ["VECLIB_MAXIMUM_THREADS"]


class LocalWorker:
    """Worker process that ignores Ctrl-C."""

    def __init__(
        self, make: TaskFactory, setup: object, threads: int, *, helper: bool = False
    ) -> None:
        """A `helper` is left out of `processor_seconds`."""
        factory = pickle.dumps((make, setup))
        # Started by its import path, so scripts need no `if __name__ == "__main__"`.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from {__package__}.worker import main; main()"
        )
        settings = dict.fromkeys(_THREAD_SETTINGS, str(threads)) if threads else {}
        apart = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # only on Windows
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **settings},
                creationflags=apart,
                start_new_session=not apart,
            )
        except OSError as error:
            raise WorkerDied(f"no process could be started: {error}") from None
        if helper:
            start_helper(self._process)
        self._wait = partial(wait_for_helper, self._process) if helper else self._process.wait
        self._tasks: IO[bytes] = self._process.stdin  # type: ignore[assignment]
        self._outcomes: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        self._send(factory)

    def _send(self, data: bytes) -> None:
        with suppress(OSError):  # a worker that died is noticed when its outcome is read
            pickle.dump(data, self._tasks)
            self._tasks.flush()

    def send(self, task: object) -> None:
        """Hand over a task whose outcome nobody waits for."""
        self._send(pickle.dumps(task))

    def call(self, task: object, line: Callable[[str], object]) -> Any:
        """Run a task and return its result; `line` is called with each line that it prints.

        An exception of the task or of `line` is raised once the task has ended.
        """
        self.send(task)
        line_error: Exception | None = None
        while True:
            try:
                message: str | bytes = pickle.load(self._outcomes)
            except (EOFError, OSError, pickle.UnpicklingError):
                code = self._wait()
                reason = f"signal {-code}" if code < 0 else f"exit status {code}"
                raise WorkerDied(reason) from None
            if isinstance(message, bytes):
                break
            try:
                line(message)
            except Exception as error:
                line_error = error
        if line_error is not None:
            raise line_error
        return result_of(message)

    def end(self) -> None:
        """Signal the process to end; training saves a checkpoint first."""
        with suppress(OSError):
            # On Windows SIGTERM would kill the process at once.
            self._process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))

    def close(self) -> None:
        """Close the task pipe and wait until the process has ended."""
        with suppress(OSError):
            self._tasks.close()
        self._wait()
        self._outcomes.close()
