"""Compile functions with numba: the decorators, their disk cache, and the notice of a first use.

Numba's own disk cache does not notice that a function changed when its caller
lives in another module. Here the cache folder carries a hash of every source a
function could call into, so an edit anywhere is never answered with old machine
code. Functions from outside this package, whose sources are unknown, are compiled
by `numba.jit`, anew in each process. `NUMBA_DISABLE_JIT=1` runs everything as plain Python.
A file of the cache that is damaged, or that this version of numba cannot read, is compiled anew.
On a disk that is full or read-only nothing is cached, which is reported once.

Functions of this package are linked by `common/jit/dispatch.py`, which reads internals of numba.
Where a version of numba has other internals, or `GERMAN_WHIST_PLAIN_JIT=1` is set, `numba.jit`
compiles these functions too, to the same results.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import platform
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

from ..files import cache_folder, locked, written_whole

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]

# Imports point one way, so what a room compiles depends on itself and on the rooms before it.
ROOMS = ("common", "engine", "agents", "envs", "evaluation", "training", "table", "three_player")
_PACKAGE = __name__.partition(".")[0]
_HOME = Path(__file__).resolve().parents[2]
_KEPT_FOLDERS = 6
PLAIN_JIT = "GERMAN_WHIST_PLAIN_JIT"


def _base_folder() -> Path:
    """The folder that holds the machine code of all rooms and versions."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    return Path(named) if named else cache_folder() / "compiled"


def _platform() -> tuple[str, ...]:
    return numba.__version__, platform.python_version(), platform.machine()


def _source_key(room: str) -> str:
    digest = hashlib.sha256()
    for part in (*_platform(), "linked" if _linking() else "plain"):
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
        base = _base_folder()
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


_not_cached_told = False


def _tell_not_cached(folder: Path, error: Exception) -> None:
    """Report once, and in the first process alone, that compiled code is not cached."""
    global _not_cached_told
    if _not_cached_told or multiprocessing.parent_process() is not None:
        return
    _not_cached_told = True
    reason = getattr(error, "strerror", None) or error
    print(
        f"german-whist: compiled code cannot be kept in {folder} ({reason}): everything works, but "
        "each start compiles anew; GERMAN_WHIST_CACHE may name another folder",
        file=sys.stderr,
        flush=True,
    )


def _mark(path: Path) -> None:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


class CodeCache:
    """The machine code of a function on disk, a checked file for each set of argument types.

    It has the methods that numba's dispatchers call on a cache. Numba's own classes are not used:
    `NUMBA_CACHE_LOCATOR_CLASSES` would replace the folder that depends on all sources.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._folder = folder
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        # What stands in angle brackets, as in <locals>, is no name of a file on Windows.
        self._name = name.replace("<", "").replace(">", "")
        self._key = f"{function.__code__.co_firstlineno} {cells}"

    @staticmethod
    def _checksum(data: bytes) -> bytes:
        return hashlib.blake2b(data, digest_size=32).digest()

    def _path(self, signature: Any, codegen: Any) -> Path:
        # Types are told apart by their names, which spell out the fields of records.
        key = f"{self._key} {signature} {codegen.magic_tuple()}"
        return self._folder / f"{self._name}-{self._checksum(key.encode()).hex()[:16]}.code"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The machine code for these types; None where there is none, or a damaged one."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        try:
            data = self._path(signature, target_context.codegen()).read_bytes()
            if self._checksum(data[32:]) != data[:32]:
                return None
            return CompileResult._rebuild(target_context, *pickle.loads(data[32:]))
        except Exception:
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write the machine code for these types, if that is possible."""
        # Addresses of this process are of no use to another.
        if compiled.library.has_dynamic_globals:
            return
        try:
            from numba.core.serialize import dumps

            data = dumps(compiled._reduce())
            with written_whole(self._path(signature, compiled.codegen)) as file:
                file.write(self._checksum(data) + data)
        except Exception as error:
            _tell_not_cached(self._folder, error)


# Numba hands `forceinline` down to whatever a function calls, unless that says otherwise.
_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": None,
    "forceinline": False,
}


@cache
def _linking() -> Any:
    """The dispatcher that links functions of this package; None for `numba.jit`."""
    if not COMPILED or os.environ.get(PLAIN_JIT, "0") not in ("", "0"):
        return None
    digest = hashlib.sha256(Path(__file__).with_name("dispatch.py").read_bytes()).hexdigest()[:16]
    known = "-".join(("linking", *_platform(), digest))
    works, fails = (_base_folder() / f"{known}.{how}" for how in ("works", "fails"))
    try:
        from .dispatch import Compiled, check

        if not works.exists():
            check(_OPTIONS)
            _mark(works)
        return Compiled
    # Whatever another numba answers, from a missing name to an assertion of its own.
    except Exception as error:
        if not fails.exists():
            _mark(fails)
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            print(
                f"german-whist: numba {numba.__version__} lacks internals that this package links "
                f"its functions by ({reason}), "
                "so numba.jit compiles them: results are the same, but a first use takes about "
                "twice as long and a step of a batch up to a third longer; numba 0.66 to 0.68 "
                "have them",
                file=sys.stderr,
                flush=True,
            )
        return None


def _compiled(function: Function, called: bool = False, **options: Any) -> Function:
    if not COMPILED:
        return function
    options = {**_OPTIONS, **options}
    room = _room_of(function)
    if room is None:
        return numba.jit(**options)(function)
    linking = _linking()
    made: Any
    if linking:
        made = linking(function, None, options, called=called)
    else:
        made = numba.jit(**options)(function)
    made._cache = CodeCache(function, machine_code_folder(room))
    return made


def jit(function: Function) -> Function:
    """Compile a function on first use, without the interpreter's lock.

    Functions of this package are cached on disk; those of others are compiled as `numba.jit` does.
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
    with ExitStack() as held:
        # Where no lock can be written, each process compiles by itself.
        try:
            held.enter_context(locked(folder / f"{name}.lock"))
        except OSError as error:
            _tell_not_cached(folder, error)
        if not done.exists():
            print(
                f"german-whist: compiling the {name} for this machine, once (some seconds) ...",
                file=sys.stderr,
                flush=True,
            )
        first_calls()
        _mark(done)
