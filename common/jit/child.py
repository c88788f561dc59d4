# pyright: strict
"""Compilation in a child process: LLVM does not give back its memory before a process ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from threading import Lock, Timer
from typing import TYPE_CHECKING

from ..executors.local import LocalWorker
from ..executors.worker import WorkerDied

if TYPE_CHECKING:
    from .dispatch import Signatures

_IDLE_SECONDS = 20
"""A hand asks for more now and then; each new child types the functions anew."""


def _compiler(_: None) -> Callable[[tuple[str, str, Signatures]], None]:
    def compile_function(task: tuple[str, str, Signatures]) -> None:
        module, name, signature = task
        attrgetter(name)(import_module(module)).compile(signature)

    return compile_function


class ChildCompiler:
    """Lets a child compile functions into the disk cache; it ends when idle, or with its parent."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._worker: LocalWorker | None = None
        self._timer: Timer | None = None

    def compile(self, function: Callable[..., object], signature: Signatures) -> None:
        """Raises an exception if there is no child, or if it cannot compile the function."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._worker = self._worker or LocalWorker(_compiler, None, threads=0, helper=True)
            task = function.__module__, function.__qualname__, signature
            try:
                self._worker.call(task, lambda line: print(line, file=sys.stderr))
            except WorkerDied:
                self._end()
                raise
            finally:
                self._timer = Timer(_IDLE_SECONDS, self.close)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """End the child; the next function starts another one."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
