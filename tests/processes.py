"""What tests ask the system about processes, and work for them to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def work(seconds: float) -> None:
    """Use the processor for so many seconds."""
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass


def make_work(_: None) -> Callable[[float], None]:
    """`work` as the task of workers: they import this module alone, and start soon."""
    return work


def children_of(pid: int, wait: float = 0.0) -> list[int]:
    """The living children of a process; waits so many seconds for one."""
    until = time.monotonic() + wait
    while True:
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            except OSError:  # it has ended meanwhile
                continue
            if int(parent) == pid and state != "Z":
                found.append(int(stat.parent.name))
        if found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def wait_for_end(pid: int, wait: float) -> bool:
    """Whether a process ends within so many seconds."""
    until = time.monotonic() + wait
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
