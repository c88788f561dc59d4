# pyright: strict
"""Worker side of an executor: runs tasks, sends back results and printed lines."""

from __future__ import annotations

import io
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cached_property
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Any

from ..console import show_traceback

TaskFactory = Callable[[Any], Callable[[Any], Any]]
"""Makes the function that runs tasks, from the setup of an executor."""


class WorkersLost(RuntimeError):
    """A task killed every worker that ran it."""


class WorkerDied(Exception):
    """A worker process ended while running a task, or could not be started."""


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


_in_worker = False


def in_worker() -> bool:
    """Whether this process runs tasks for another one."""
    return _in_worker


class TaskRunner:
    """Runs pickled tasks one after another; outcomes are pickled, for `result_of`.

    `factory` is a pickled `TaskFactory` with its setup; the first call makes the function.
    """

    def __init__(self, factory: bytes, line: Callable[[str], object]) -> None:
        global _in_worker
        _in_worker = True
        self._factory = factory
        self._stream = _Lines(line)

    @cached_property
    def _call(self) -> Callable[[Any], Any]:
        make, setup = pickle.loads(self._factory)
        return make(setup)

    def call(self, task: bytes) -> bytes:
        with redirect_stdout(self._stream), redirect_stderr(self._stream):
            try:
                return pickle.dumps((self._call(pickle.loads(task)), None))
            except Exception as error:
                show_traceback()
                return pickle.dumps((None, _portable(error)))
            finally:
                self._stream.finish()


def result_of(outcome: bytes) -> Any:
    """The result of a task; raises the exception that the task raised."""
    result, error = pickle.loads(outcome)
    if error is not None:
        raise error
    return result


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
    """Entry point of a worker process: tasks on stdin, outcomes and printed lines on stdout.

    The first message is the factory. Messages are pickled bytes, and lines pickled text, so that a
    task or an outcome that cannot be read leaves the pipe at the next one.
    """
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Input and output of tasks must not use these pipes.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    lock = Lock()

    def send(message: str | bytes) -> None:
        data = pickle.dumps(message)
        # The parent may have ended already, while training still saves.
        with lock, suppress(OSError):
            stdout.write(data)
            stdout.flush()

    tasks: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_listen, args=(stdin, tasks), daemon=True).start()
    runner: TaskRunner | None = None
    while (data := tasks.get()) is not None:
        if runner is None:
            runner = TaskRunner(data, send)
        else:
            send(runner.call(data))
