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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numba

from .code_cache import CodeCache, tell_not_kept
from .files import cache_folder, locked

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
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
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


# Numba hands `forceinline` down to whatever a function calls, unless that says otherwise.
_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": None,
    "forceinline": False,
}


def _compiled(function: Function, called: bool = False, **options: Any) -> Function:
    if not COMPILED:
        return function
    from .dispatch import Compiled

    made: Any = Compiled(function, targetoptions={**_OPTIONS, **options}, called=called)
    room = _room_of(function)
    if room is not None:
        made._cache = CodeCache(function, machine_code_folder(room))
    return made


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


def called(function: Function) -> Function:
    """Keep a function a call of its own wherever it is called.

    For large ones with several callers, that do much for each call: pasted into all of
    them they multiply what has to be compiled, and nothing is gained.
    """
    return _compiled(function, called=True)


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
    with _alone(folder / f"{name}.lock"):
        if not done.exists():
            print(
                f"german-whist: compiling the {name} for this machine, once (some seconds) ...",
                file=sys.stderr,
                flush=True,
            )
        first_calls()
        with suppress(OSError):
            done.touch()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let no other process do the same; where no lock can be written, do not wait for any."""
    with ExitStack() as held:
        try:
            held.enter_context(locked(lock))
        except OSError as error:
            tell_not_kept(lock.parent, error)
        yield
