"""Disk cache of a compiled function: a checked file for each set of argument types.

A file that is damaged, or that this version of numba cannot read, is compiled anew. A disk that is
full or read-only ends nothing: what cannot be kept is used all the same, and that is said once.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .files import written_whole

_DIGEST_SIZE = 32


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest()


class CodeCache:
    """The machine code of a function in a folder: what a dispatcher of numba asks of a cache."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._folder = folder
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        # What stands in angle brackets, as in <locals>, is no name of a file on Windows.
        self._name = name.replace("<", "").replace(">", "")
        self._key = f"{function.__code__.co_firstlineno} {cells}"

    def _path(self, signature: Any, codegen: Any) -> Path:
        # Types are told apart by their names, which spell out the fields of records.
        key = f"{self._key} {signature} {codegen.magic_tuple()}"
        return self._folder / f"{self._name}-{_digest(key.encode()).hex()[:16]}.code"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The machine code for these types; None where there is none, or a damaged one."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        try:
            data = self._path(signature, target_context.codegen()).read_bytes()
            if _digest(data[_DIGEST_SIZE:]) != data[:_DIGEST_SIZE]:
                return None
            return CompileResult._rebuild(target_context, *pickle.loads(data[_DIGEST_SIZE:]))
        except Exception:
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep the machine code for these types, if that can be."""
        # Addresses of this process are of no use to another.
        if compiled.library.has_dynamic_globals:
            return
        try:
            from numba.core.serialize import dumps

            data = dumps(compiled._reduce())
            with written_whole(self._path(signature, compiled.codegen)) as file:
                file.write(_digest(data) + data)
        except Exception as error:
            tell_not_kept(self._folder, error)


_told = False


def tell_not_kept(folder: Path, error: Exception) -> None:
    """Say once, and in the first process alone, that compiled code is not kept."""
    global _told
    if _told or multiprocessing.parent_process() is not None:
        return
    _told = True
    reason = getattr(error, "strerror", None) or error
    print(
        f"german-whist: compiled code cannot be kept in {folder} ({reason}): everything works, but "
        "each start compiles anew; GERMAN_WHIST_CACHE may name another folder",
        file=sys.stderr,
        flush=True,
    )
