"""Numba's disk cache of one function, where a disk that is full or read-only ends nothing.

What can not be read is compiled anew, and what can not be kept is used all the same; the
latter is said once. What lies in a folder that may only be read is still taken from there.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

_Places: Any = FunctionCache._impl_class
# The locator that takes its folder from the configuration stands first.
_Locator: Any = _Places._locator_classes[0]


class _Anywhere(_Locator):
    """The folder that we name, whether it can be written or not."""

    def ensure_cache_path(self) -> None:
        with suppress(OSError):
            os.makedirs(self.get_cache_path(), exist_ok=True)


class _OurPlaces(_Places):
    _locator_classes = (_Anywhere,)


class CodeCache(FunctionCache):
    """The machine code of a function in a folder."""

    _impl_class = _OurPlaces

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._folder = folder
        with _numba_cache_in(folder):
            super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for these types; None where it is not there, or damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # A damaged index would be read again before the next writing.
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for these types, if that can be."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            tell_not_kept(self._folder, error)


@contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """Numba fixes a function's cache place when its cache is made; set it for that moment only."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


_told = False


def tell_not_kept(folder: Path, error: OSError) -> None:
    """Say once, and in the first process alone, that what is compiled is not kept."""
    global _told
    if _told or multiprocessing.parent_process() is not None:
        return
    _told = True
    print(
        f"german-whist: {folder} can not be written ({error.strerror or error}), so what is "
        "compiled is not kept: everything works, but each start compiles anew; "
        "GERMAN_WHIST_CACHE may name another folder",
        file=sys.stderr,
        flush=True,
    )
