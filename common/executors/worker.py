# pyright: strict
"""What a worker does: calls tasks, and returns results and the lines that were printed."""

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

Make = Callable[[Any], Callable[[Any], Any]]
"""Makes the function that tasks are given to, from the setup of an executor."""


class WorkersLost(RuntimeError):
    """A task that ended every worker it was given to, or a cluster without a free core."""


class WorkerDied(Exception):
    """A worker that ended in the middle of a task."""


class Outcome(NamedTuple):
    """The result of a task, or the exception that it raised."""

    result: Any = None
    error: Exception | None = None


class _Lines(io.TextIOBase):
    """A text stream that passes on whole lines; nobody can close it."""

    encoding = "utf-8"

    def __init__(self, pass_on: Callable[[str], object]) -> None:
        self._pass_on, self._rest = pass_on, ""

    def write(self, text: str, /) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._pass_on(line)
        return len(text)

    def finish(self) -> None:
        """Pass on a line without an end."""
        if self._rest:
            self.write("\n")

    def close(self) -> None:
        pass


class Tasks:
    """Calls tasks one after another; the first makes what they are given to."""

    def __init__(self, make: Make, setup: Any, line: Callable[[str], object]) -> None:
        self._make, self._setup = make, setup
        self._call: Callable[[Any], Any] | None = None
        self._stream = _Lines(line)

    def call(self, task: Any) -> Outcome:
        """Call a task; its exception is an outcome, unless it ends the process."""
        with redirect_stdout(self._stream), redirect_stderr(self._stream):
            try:
                if self._call is None:
                    self._call = self._make(self._setup)
                return Outcome(self._call(task))
            except Exception as error:
                show_traceback()
                return Outcome(error=_portable(error))
            finally:
                self._stream.finish()


def _portable(error: Exception) -> Exception:
    """The exception, or its text if it cannot be pickled."""
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


def _listen(stream: IO[bytes], tasks: SimpleQueue[bytes | None]) -> None:
    """Take tasks in; when no more can come, since the parent ended too, end this process."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put(pickle.load(stream))
    tasks.put(None)
    # A training in this process takes note of the signal, and saves first.
    signal.raise_signal(signal.SIGTERM)


def main() -> None:
    """Serve as a worker process: tasks come through stdin, outcomes and lines leave by stdout."""
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a task reads and prints must not reach these pipes.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    lock = Lock()

    def send(message: str | Outcome) -> None:
        data = pickle.dumps(message)
        # Nobody may be there to read it any more: a training still saves.
        with lock, suppress(OSError):
            stdout.write(data)
            stdout.flush()

    tasks: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_listen, args=(stdin, tasks), daemon=True).start()
    made: Tasks | None = None
    while (data := tasks.get()) is not None:
        try:
            told: Any = pickle.loads(data)
            if made is None:
                make, setup = told
                made = Tasks(make, setup, send)
            else:
                send(made.call(told))
        except Exception as error:  # what cannot be pickled
            send(Outcome(error=_portable(error)))
