# pyright: strict
"""Number of actions that were given to environments in this process, and in its forks.

Trainings compare it with what a trainer says that it has played. It counts actions of whoever steps
an environment: not those of opponents inside it, nor cards that the endgame's solver plays.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

_PLACES = 512
# Shared with processes that are forked, each of which has a place of its own (nearly always).
_counts = memoryview(mmap.mmap(-1, 8 * _PLACES)).cast("q")

own = _counts[:1]
"""The count of this process, as `step_count.own[0] += 1`."""


def steps() -> int:
    """Actions so far, those of forked processes included."""
    return sum(_counts)


@contextmanager
def uncounted() -> Generator[None]:
    """Leave out steps that nobody asked for, as those that compile an environment."""
    before = own[0]
    try:
        yield
    finally:
        own[0] = before


def _take_place() -> None:
    global own
    place = 1 + os.getpid() % (_PLACES - 1)
    own = _counts[place : place + 1]


if sys.platform != "win32" and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_take_place)
