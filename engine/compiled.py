"""The one place where the project compiles: a `jit` decorator over numba, its cache, its notice.

Numba's own disk cache does not notice that a function changed when its caller
lives in another module. Here the cache folder carries a hash of every source a
function could call into, so an edit anywhere is never answered with old machine
code; what is not of this package, whose sources nobody knows, is compiled anew in
each process. `NUMBA_DISABLE_JIT=1` runs everything as plain Python.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
from filelock import FileLock

from .files import cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]

# Imports point one way, so what a room compiles depends on itself and on the rooms before it.
ROOMS = ("engine", "agents", "envs", "training", "table")
_PACKAGE = __name__.partition(".")[0]
_HOME = Path(__file__).resolve().parent.parent
_KEPT_FOLDERS = 6


def _source_key(room: str) -> str:
    digest = hashlib.sha256()
    for part in (numba.__version__, platform.python_version(), platform.machine()):
        digest.update(part.encode())
    for name in ROOMS[: ROOMS.index(room) + 1]:
        for path in sorted((_HOME / name).rglob("*.py")):
            digest.update(path.relative_to(_HOME).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _room_of(function: Callable[..., Any]) -> str | None:
    """The room that a function is of; None for code from elsewhere."""
    package, _, rest = function.__module__.partition(".")
    room = rest.partition(".")[0]
    return room if package == _PACKAGE and room in ROOMS else None


_folders: dict[str, Path] = {}


def machine_code_folder(room: str = "engine") -> Path:
    """The folder that holds the machine code of one room, for exactly these sources."""
    if room not in _folders:
        base = Path(os.environ["NUMBA_CACHE_DIR"]) if os.environ.get("NUMBA_CACHE_DIR") else None
        base = base or cache_folder() / "compiled"
        folder = base / f"{room}-{_source_key(room)}"
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            os.utime(folder)
        _forget_old_folders(base, room)
        _folders[room] = folder
    return _folders[room]


def _forget_old_folders(base: Path, room: str) -> None:
    """Keep the few newest folders of a room: several checkouts may share one cache."""
    with suppress(OSError):
        folders = sorted(base.glob(f"{room}-*"), key=lambda f: f.stat().st_mtime, reverse=True)
        for old in folders[_KEPT_FOLDERS:]:
            if time.time() - old.stat().st_mtime > 86_400:
                shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """Numba fixes a function's cache place when it is decorated; set it for that moment only."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def _compiled(function: Function, **options: Any) -> Function:
    if not COMPILED:
        return function
    room = _room_of(function)
    decorated = numba.njit(cache=room is not None, nogil=True, error_model="numpy", **options)
    if room is None:
        return decorated(function)  # type: ignore[return-value]
    with _numba_cache_in(machine_code_folder(room)):
        return decorated(function)  # type: ignore[return-value]


def jit(function: Function) -> Function:
    """Compile a function on first use, without the interpreter's lock.

    Functions of this package are cached on disk, those of others are not.
    """
    return _compiled(function)


def inlined(function: Function) -> Function:
    """Compile a small function into the body of every caller.

    Without it a helper that takes a named tuple of arrays can stay a call of its
    own, which copies every array's description: slower than most helpers' work.
    """
    return _compiled(function, forceinline=True)


def pasted(function: Function) -> Function:
    """Let numba paste a function into its callers, which are all compiled.

    Every compiled function is optimised once more within each of its callers, so
    a chain of them above a large one multiplies the time that compiling takes.
    """
    return _compiled(function, inline="always")


_warm: set[str] = set()


def warm_up(name: str, room: str, first_calls: Callable[[], object]) -> None:
    """Run `first_calls` once per process, so that nothing compiles later in the middle of play.

    On a cold cache this takes seconds, so it says so, and other processes wait
    for the one that compiles instead of doing the same work beside it.
    """
    if name in _warm or not COMPILED:
        return
    _warm.add(name)
    folder = machine_code_folder(room)
    done = folder / f"{name}.ready"
    if done.exists():
        first_calls()
        return
    with FileLock(folder / f"{name}.lock"):
        if not done.exists():
            print(
                f"german-whist: compiling the {name} for this machine, once (some seconds) ...",
                file=sys.stderr,
                flush=True,
            )
        first_calls()
        done.touch()
