# pyright: strict
"""Workers that are processes of this machine and end with the process that started them."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from .worker import Make, Outcome, WorkerDied

LOCAL = "local"
_THREAD_SETTINGS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"),
)


class LocalWorker:
    """A process that calls tasks, out of the reach of Ctrl-C."""

    def __init__(self, make: Make, setup: Any, threads: int) -> None:
        # By its import path, and not as a copy of the main module: no script has to guard itself.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from {__package__}.worker import main; main()"
        )
        settings = dict.fromkeys(_THREAD_SETTINGS, str(threads)) if threads else {}
        apart = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # on Windows alone
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

    def call(self, task: Any, line: Callable[[str], object]) -> Outcome:
        """The outcome of a task; `line` is called with what it prints."""
        self._send(task)
        while True:
            try:
                message: str | Outcome = pickle.load(self._outcomes)
            except (EOFError, OSError, pickle.UnpicklingError):
                raise WorkerDied(_reason(self._process.wait())) from None
            if isinstance(message, Outcome):
                return message
            line(message)

    def end(self) -> None:
        """Ask it to end; a training saves first."""
        with suppress(OSError):
            # On Windows SIGTERM is no signal: it ends a process at once.
            self._process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))

    def close(self) -> None:
        """Wait for its end, which comes when it has no task."""
        with suppress(OSError):
            self._tasks.close()
        self._process.wait()
        self._outcomes.close()


def _reason(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit status {code}"
