"""Signals that end processes, so that a run saves a checkpoint first; liveness of processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_Handler = Callable[[int, FrameType | None], object] | int | None

END_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)
"""Signals that ask a process to end; a terminal that is closed sends SIGHUP."""

FIRST_SIGNAL = 128
"""Exit statuses from here on are those of signals, by their numbers."""
UNSTABLE = 3
"""Exit status of a run whose losses or weights became infinite or NaN."""
FULL_DISK = 4
"""Exit status of a command that found no room on the disk."""


class RunStopped(Exception):
    """A run that ended before its budget; `status` is the exit status."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def is_left_alone(number: int) -> bool:
    """Whether a signal keeps its handler: under `nohup` SIGHUP stays ignored, and a handler that
    was not installed by Python (None) could not be restored."""
    handler = signal.getsignal(number)
    hangup = getattr(signal, "SIGHUP", None)
    return handler is None or (number == hangup and handler == signal.SIG_IGN)


class SignalGuard:
    """Context that records the first signal, so that an iteration finishes; the second raises.

    Work that can be interrupted without loss, such as an evaluation, runs in `immediate`. An
    enclosing `SignalGuard` context records the signal too. A child that is forked within ends at
    SIGTERM as it would without the guard: pools of processes end theirs by it, and wait for them.
    """

    def __init__(self, numbers: Iterable[int] = END_SIGNALS) -> None:
        self._numbers = numbers
        self.received: int | None = None
        """The recorded signal, or None."""
        self._immediate = False
        self._previous: dict[int, _Handler] = {}

    def __enter__(self) -> SignalGuard:
        if threading.current_thread() is threading.main_thread():
            self._previous = {
                number: signal.signal(number, self._record)
                for number in self._numbers
                if not is_left_alone(number)
            }
            _guards.append(self)
        return self

    def _record(self, number: int, frame: FrameType | None) -> None:
        again = self.received is not None
        self.received = number
        outer = getattr(self._previous[number], "__self__", None)
        if isinstance(outer, SignalGuard):
            outer.received = number
        if again or self._immediate:
            raise KeyboardInterrupt

    @contextmanager
    def immediate(self) -> Generator[None, None, None]:
        """Context in which the first signal already raises KeyboardInterrupt."""
        self._immediate = True
        try:
            if self.received is not None:
                raise KeyboardInterrupt
            yield
        finally:
            self._immediate = False

    def __exit__(self, *_: object) -> None:
        if self in _guards:
            _guards.remove(self)
        for number, handler in self._previous.items():
            signal.signal(number, handler)


_guards: list[SignalGuard] = []
"""Those of this process, the outermost first."""


def _let_sigterm_end_the_child() -> None:
    # By the system's own handler: Python's would wait for the end of a call that just began.
    handler = _guards[0]._previous.get(signal.SIGTERM) if _guards else None
    if handler is not None:
        signal.signal(signal.SIGTERM, handler)


if sys.platform != "win32" and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_sigterm_end_the_child)


def process_start(pid: int) -> str:
    """When a process began, which tells it from an earlier one with its id.

    Empty where there is no such process, and on systems other than Linux.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # The name of the program stands in brackets, and may contain some.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{boot} {fields[19]}"


def is_alive(pid: int) -> bool:
    """Whether a process with this id exists on this machine."""
    if sys.platform == "win32":  # where signal 0 is Ctrl-C
        import ctypes

        kernel, synchronize, denied, timeout = ctypes.windll.kernel32, 0x100000, 5, 0x102
        handle = kernel.OpenProcess(synchronize, False, pid)
        if not handle:
            return kernel.GetLastError() == denied
        waited = kernel.WaitForSingleObject(handle, 0)
        kernel.CloseHandle(handle)
        return waited == timeout
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
