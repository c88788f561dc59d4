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
from typing import IO, Any

from .worker import TaskFactory, TaskOutcome, WorkerDied

LOCAL = "local"
_THREAD_SETTINGS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"),
)


class LocalWorker:
    """Worker process that ignores Ctrl-C."""

    def __init__(self, make: TaskFactory, setup: Any, threads: int) -> None:
        # Started by its import path, so scripts need no `if __name__ == "__main__"`.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from {__package__}.worker import main; main()"
        )
        settings = dict.fromkeys(_THREAD_SETTINGS, str(threads)) if threads else {}
        apart = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # only on Windows
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, **settings}, creationflags=apart, start_new_session=not apart,
        )  # fmt: skip
        self._tasks: IO[bytes] = self._process.stdin  # type: ignore[assignment]
        self._outcomes: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        self._send((make, setup))

    def _send(self, message: Any) -> None:
        data = pickle.dumps(pickle.dumps(message))
        with suppress(OSError):  # a worker that died is noticed when its outcome is read
            self._tasks.write(data)
            self._tasks.flush()

    def call(self, task: Any, line: Callable[[str], object]) -> TaskOutcome:
        """Run a task; `line` is called with each line that it prints."""
        self._send(task)
        while True:
            try:
                message: str | TaskOutcome = pickle.load(self._outcomes)
            except (EOFError, OSError, pickle.UnpicklingError):
                code = self._process.wait()
                reason = f"signal {-code}" if code < 0 else f"exit status {code}"
                raise WorkerDied(reason) from None
            if isinstance(message, TaskOutcome):
                return message
            line(message)

    def end(self) -> None:
        """Signal the process to end; training saves a checkpoint first."""
        with suppress(OSError):
            # On Windows SIGTERM would kill the process at once.
            self._process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))

    def close(self) -> None:
        """Close the task pipe and wait until the process has ended."""
        with suppress(OSError):
            self._tasks.close()
        self._process.wait()
        self._outcomes.close()
