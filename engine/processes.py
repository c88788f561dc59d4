# pyright: strict
"""Processes on Linux, macOS and Windows: what a system lacks is looked up here by its name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

END_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)
"""The signals by which a process is asked to end."""
OWN_SESSIONS = hasattr(os, "setsid")
"""Whether a worker can be kept out of the reach of Ctrl-C at the terminal."""


def start_python(
    words: Sequence[str], env: Mapping[str, str] | None = None, *, errors: int = subprocess.STDOUT
) -> subprocess.Popen[str]:
    """Start Python out of the reach of Ctrl-C, its output a pipe of UTF-8."""
    apart = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # on Windows alone
    return subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=errors, encoding="utf-8",
        env={**os.environ, **(env or {}), "PYTHONIOENCODING": "utf-8"},
        creationflags=apart, start_new_session=not apart,
    )  # fmt: skip


def ask_to_end(process: subprocess.Popen[str]) -> None:
    """Ask a process that `start_python` started to save and end."""
    # On Windows SIGTERM is no signal: it ends a process at once.
    process.send_signal(getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM))


def lead_session() -> None:
    """Leave the session of the terminal, if there are sessions: Ctrl-C is not for a worker."""
    setsid = getattr(os, "setsid", None)
    if setsid is not None:
        setsid()


@contextmanager
def hold_interrupts() -> Generator[None]:
    """Hold Ctrl-C back, if it can be, so that a process starts without it."""
    set_mask = getattr(signal, "pthread_sigmask", None)
    if set_mask is None:
        yield
        return
    before = set_mask(getattr(signal, "SIG_BLOCK"), {signal.SIGINT})  # noqa: B009
    try:
        yield
    finally:
        set_mask(getattr(signal, "SIG_SETMASK"), before)  # noqa: B009


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number on this machine."""
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
