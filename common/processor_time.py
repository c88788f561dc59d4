# pyright: strict
"""Processor seconds of a piece of work: of its thread, of other threads, and of child processes.

`time.process_time` leaves out child processes, and so does every clock of one thread. The system
adds the seconds of a child to those of its parent when the parent has waited for it; until then,
Linux tells them in /proc.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, get_ident

_PROCESSES = Path("/proc")
_lock, _ending = Lock(), Lock()
_helpers: set[int] = set()
"""Processes that work for this package, and not for who is measured."""
_ended_helpers = 0.0
"""Seconds of those that have ended."""


def processor_seconds() -> float:
    """Seconds of this process, its threads and its descendants, but for `helper` processes.

    Descendants that still run are counted on Linux alone, in steps of about 10 ms. One whose parent
    ended before it, and one that nobody waits for, are lost when they end.
    """
    with _lock:
        # In this order a child that ends meanwhile is missed until the next call, never doubled.
        ended = _of_ended_children() - _ended_helpers
        return time.process_time() + ended + sum(map(_seconds_of, _descendants(os.getpid())))


def start_helper(process: subprocess.Popen[bytes]) -> None:
    """Leave a child process out of `processor_seconds`, until `wait_for_helper`."""
    with _lock:
        _helpers.add(process.pid)


def wait_for_helper(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process of `start_helper`; returns its exit status."""
    if sys.platform == "linux" and hasattr(os, "waitid") and process.returncode is None:
        with suppress(OSError):  # another thread has waited for it
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with helpers_end():
        code = process.wait()
    with _lock:
        _helpers.discard(process.pid)
    return code


@contextmanager
def helpers_end() -> Generator[None]:
    """Leave the children that end in the block out of `processor_seconds`."""
    global _ended_helpers
    with _ending:  # or two threads would leave out the same child
        before = _of_ended_children()
        try:
            yield
        finally:
            with _lock:
                _ended_helpers += _of_ended_children() - before


def _of_ended_children() -> float:
    if sys.platform == "win32":
        return 0.0
    try:
        import resource
    except ModuleNotFoundError:  # as on Windows, whose children are not counted
        return 0.0
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _descendants(process: int) -> Iterator[int]:
    """Running descendants of a process, without helpers and theirs."""
    if process == os.getpid() and not _has_children():  # a single call, against a file a thread
        return
    for path in _PROCESSES.glob(f"{process}/task/*/children"):
        with suppress(OSError):  # it has ended
            for child in map(int, path.read_text().split()):
                if child not in _helpers:
                    yield child
                    yield from _descendants(child)


def _has_children() -> bool:
    if sys.platform != "linux" or not hasattr(os, "WNOHANG"):
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _seconds_of(process: int) -> float:
    """Seconds of a process and of the children that it has waited for."""
    if sys.platform == "win32":
        return 0.0
    try:
        text = (_PROCESSES / str(process) / "stat").read_text()
    except OSError:
        return 0.0
    # The name of the program stands in brackets, and may contain some.
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class WorkClock:
    """Processor seconds of somebody's work, of which this package calls the parts.

    In `work` everything counts. Between two of them the thread that measures works for the package,
    and does not count; other threads and child processes do, unless they are `apart`.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        """`seconds` are those of earlier sessions."""
        self._seconds = seconds
        self._start = processor_seconds() - seconds
        self._own = 0.0
        """Seconds that were the package's."""
        self._pause_began = get_ident(), time.thread_time()
        self._depth = 0

    @property
    def seconds(self) -> float:
        """Seconds of the work so far; they never fall."""
        own = self._own if self._depth else self._own + self._paused()
        self._seconds = max(self._seconds, processor_seconds() - self._start - own)
        return self._seconds

    @contextmanager
    def work(self) -> Generator[None]:
        if not self._depth:
            self._own += self._paused()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self._pause_began = get_ident(), time.thread_time()

    def _paused(self) -> float:
        thread, began = self._pause_began
        return time.thread_time() - began if thread == get_ident() else 0.0

    @contextmanager
    def apart(self) -> Generator[None]:
        """Leave out all that this process and its children do, in a pause of the work."""
        began, thread_began = processor_seconds(), time.thread_time()
        try:
            yield
        finally:
            # What this thread did is left out already.
            thread = time.thread_time() - thread_began
            self._own += processor_seconds() - began - thread
