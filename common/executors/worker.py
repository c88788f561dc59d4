# pyright: strict
"""Worker side of an executor: runs tasks, sends back results and printed lines."""

from __future__ import annotations

import io
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Any, NamedTuple

from ..console import show_traceback

TaskFactory = Callable[[Any], Callable[[Any], Any]]
"""Makes the function that runs tasks, from the setup of an executor."""


class WorkersLost(RuntimeError):
    """A task killed every worker that ran it, or the cluster has no free core."""


class WorkerDied(Exception):
    """A worker process ended while running a task."""


class TaskOutcome(NamedTuple):
    """Result of a task, or the exception that it raised."""

    result: Any = None
    error: Exception | None = None


class _Lines(io.TextIOBase):
    encoding = "utf-8"

    def __init__(self, pass_on: Callable[[str], object]) -> None:
        self._pass_on, self._rest = pass_on, ""

    def write(self, text: str, /) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._pass_on(line)
        return len(text)

    def finish(self) -> None:
        if self._rest:
            self.write("\n")

    def close(self) -> None:
        pass


class TaskRunner:
    """Runs tasks one after another; the function for them is made on the first call."""

    def __init__(self, make: TaskFactory, setup: Any, line: Callable[[str], object]) -> None:
        self._make, self._setup = make, setup
        self._call: Callable[[Any], Any] | None = None
        self._stream = _Lines(line)

    def call(self, task: Any) -> TaskOutcome:
        """Run a task; an exception becomes part of the outcome."""
        with redirect_stdout(self._stream), redirect_stderr(self._stream):
            try:
                if self._call is None:
                    self._call = self._make(self._setup)
                return TaskOutcome(self._call(task))
            except Exception as error:
                show_traceback()
                return TaskOutcome(error=_portable(error))
            finally:
                self._stream.finish()


def _portable(error: Exception) -> Exception:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


def _listen(stream: IO[bytes], tasks: SimpleQueue[bytes | None]) -> None:
    with suppress(EOFError, OSError):
        while True:
            tasks.put(pickle.load(stream))
    tasks.put(None)
    # Training in this process saves a checkpoint on this signal.
    signal.raise_signal(signal.SIGTERM)


def main() -> None:
    """Entry point of a worker process: tasks on stdin, outcomes and printed lines on stdout."""
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Input and output of tasks must not use these pipes.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    lock = Lock()

    def send(message: str | TaskOutcome) -> None:
        data = pickle.dumps(message)
        # The parent may have ended already, while training still saves.
        with lock, suppress(OSError):
            stdout.write(data)
            stdout.flush()

    tasks: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_listen, args=(stdin, tasks), daemon=True).start()
    runner: TaskRunner | None = None
    while (data := tasks.get()) is not None:
        try:
            message: Any = pickle.loads(data)
            if runner is None:
                make, setup = message
                runner = TaskRunner(make, setup, send)
            else:
                send(runner.call(message))
        except Exception as error:  # not picklable
            send(TaskOutcome(error=_portable(error)))
