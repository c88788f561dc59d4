# pyright: strict
"""Process signals and liveness on Linux, macOS and Windows."""

from __future__ import annotations

import os
import signal
import sys

END_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)
"""Signals that ask a process to end."""


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
