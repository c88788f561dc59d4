"""Numba decorators, their disk cache, and the message before a first compilation.

Numba's own disk cache misses changes in functions of other modules. Here the name of the cache
folder contains a hash of every source file that a function could call into, and of the settings of
numba that change the code, so outdated machine code is never loaded. Functions whose sources are
unknown are compiled anew in each process: those from outside this package, those that call such
functions, and all of an installation without source files.
`NUMBA_DISABLE_JIT=1` runs everything as plain Python. A damaged or incompatible cache file is
compiled anew. On a full or read-only disk nothing is cached, which is reported once.

`common/jit/dispatch.py` links the functions of this package, and `pipeline.py` beside it makes
numba do less for each; both use numba internals. With a numba version that has other internals, or
with `GERMAN_WHIST_PLAIN_JIT=1`, `numba.jit` compiles these functions too, with the same results and
speed: only first uses take about twice as long.
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
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numba
from filelock import FileLock
from numba.core import config
from numba.core.cpu import CPUTargetOptions
from numba.core.registry import CPUDispatcher

from ..files import atomic_write, cache_folder, file_lock

if TYPE_CHECKING:
    from numba.core.codegen import CPUCodegen
    from numba.core.compiler import CompileResult
    from numba.core.cpu import CPUContext

    from .child import ChildCompiler
    from .dispatch import Compiled, Signatures

Function = TypeVar("Function", bound=Callable[..., object])

COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined]

PACKAGES = ("common", "engine", "solvers", "agents", "envs", "evaluation", "training")
"""In the order of imports: compiled code of a package depends on it and on those before it.

Every other package within this one is an extension: its code depends on it and on all of these.
"""
_ROOT_PACKAGE = __name__.partition(".")[0]
_MAX_FOLDERS = 6
PLAIN_JIT = "GERMAN_WHIST_PLAIN_JIT"
_LINKER = ("dispatch.py", "pipeline.py")

_CODE_SETTINGS = (
    "OPT",
    "BOUNDSCHECK",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "CPU_NAME",
    "CPU_FEATURES",
    "ENABLE_AVX",
    "DISABLE_INTEL_SVML",
    "USING_SVML",
    "DEBUGINFO_DEFAULT",
    "DEBUG_NRT",
    "NRT_STATS",
    "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
)
"""Settings of numba that change the machine code of a function."""


def _code_settings() -> str:
    return " ".join(f"{name}={getattr(config, name, None)!r}" for name in _CODE_SETTINGS)


def _base_folder() -> Path:
    named = os.environ.get("NUMBA_CACHE_DIR")
    return Path(named) if named else cache_folder() / "compiled"


def _platform() -> tuple[str, ...]:
    return numba.__version__, platform.python_version(), platform.machine()


class SourcesUnknown(Exception):
    """A package without source files that a hash could be made of."""


@cache
def _hash_of_sources(package: str) -> bytes:
    """Hash of all source files of a package, the same wherever they lie.

    In a checkout packages and extensions lie apart, and an installation may link or map them.
    """
    spec = find_spec(f"{_ROOT_PACKAGE}.{package}")
    files: list[tuple[str, Path]] = []
    for location in (spec and spec.submodule_search_locations) or ():
        folder = Path(location).resolve()
        files += [(path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py")]
    if not files:
        raise SourcesUnknown(f"{_ROOT_PACKAGE}.{package} has no source files here")
    digest = hashlib.sha256()
    for name, path in sorted(files):
        digest.update(f"{package}/{name}".encode())
        digest.update(path.read_bytes())
    return digest.digest()


def _source_key(package: str) -> str:
    digest = hashlib.sha256()
    linking = "linked" if _linking_dispatcher() else "plain"
    for part in (*_platform(), linking, _code_settings()):
        digest.update(part.encode())
    below = PACKAGES[: PACKAGES.index(package)] if package in PACKAGES else PACKAGES
    for name in (*below, package):
        digest.update(_hash_of_sources(name))
    return digest.hexdigest()[:16]


def _subpackage_of(function: Callable[..., object]) -> str | None:
    # None for functions from outside this package.
    root, _, rest = function.__module__.partition(".")
    return rest.partition(".")[0] if root == _ROOT_PACKAGE and rest else None


_folders: dict[str, Path] = {}


def machine_code_folder(package: str = "engine") -> Path:
    """Cache folder for the machine code of one sub-package, keyed by its sources.

    Raises `SourcesUnknown` where those cannot be read.
    """
    if package not in _folders:
        base = _base_folder()
        folder = base / f"{package}-{_source_key(package)}"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
        _remove_old_folders(base, package)
        _folders[package] = folder
    return _folders[package]


def _remove_old_folders(base: Path, package: str) -> None:
    with suppress(OSError):
        folders = sorted(base.glob(f"{package}-*"), key=lambda f: f.stat().st_mtime, reverse=True)
        # Several checkouts may share one cache, so recent folders stay.
        for old in folders[_MAX_FOLDERS:]:
            if time.time() - old.stat().st_mtime > 86_400:
                shutil.rmtree(old, ignore_errors=True)


_warned_not_cached = False


def _warn_not_cached(folder: Path, error: Exception) -> None:
    global _warned_not_cached
    # Once, and not in worker processes.
    if _warned_not_cached or multiprocessing.parent_process() is not None:
        return
    _warned_not_cached = True
    if isinstance(error, SourcesUnknown):
        where, remedy = "", "an installation with source files keeps it"
    else:
        where, remedy = f" in {folder}", "GERMAN_WHIST_CACHE may name another folder"
    reason = getattr(error, "strerror", None) or error
    print(
        f"german-whist: compiled code cannot be kept{where} ({reason}): everything works, but "
        f"each start compiles anew; {remedy}",
        file=sys.stderr,
        flush=True,
    )


def _mark(path: Path) -> None:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def _calls_functions_from_outside(function: Callable[..., Any]) -> bool:
    """Whether a function reaches compiled functions that are not of this package."""
    known, queue = {function}, [function]
    while queue:
        caller = queue.pop()
        if _subpackage_of(caller) is None:
            return True
        for value in _values_named_in(caller):
            called = getattr(value, "py_func", None)
            if called is not None and called not in known:
                known.add(called)
                queue.append(called)
    return False


def _values_named_in(function: Callable[..., Any]) -> Iterator[object]:
    codes, names = [function.__code__], set[str]()
    for code in codes:
        names.update(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield value
        if isinstance(value, ModuleType):
            yield from (vars(value).get(attribute) for attribute in names)
    yield from (cell.cell_contents for cell in function.__closure__ or ())


_child_compiler: ChildCompiler | None = None


def compile_in_child() -> None:
    """Let a child process compile from now on: this one is to run for long, in little memory."""
    global _child_compiler
    from .child import ChildCompiler

    # Code that cannot be cached cannot be handed over.
    with suppress(SourcesUnknown):
        if os.access(machine_code_folder(), os.W_OK):
            _child_compiler = ChildCompiler()


class CodeCache:
    """Disk cache of one function: a file with a checksum for each type signature.

    It implements the cache interface of numba's dispatchers. Numba's own classes are not used:
    `NUMBA_CACHE_LOCATOR_CLASSES` would replace the folder that depends on all sources.
    """

    def __init__(self, function: Callable[..., Any], package: str, caller: str = "Python") -> None:
        self._function, self._package = function, package
        self._folder = machine_code_folder(package)
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        # Angle brackets, as in <locals>, are not allowed in file names on Windows.
        self._name = name.replace("<", "").replace(">", "")
        self._key = f"{function.__code__.co_firstlineno} {cells} {caller}"

    @cached_property
    def _sources_known(self) -> bool:
        # Functions of an extension may call those of any other package.
        return self._package in PACKAGES or not _calls_functions_from_outside(self._function)

    @staticmethod
    def _checksum(data: bytes) -> bytes:
        return hashlib.blake2b(data, digest_size=32).digest()

    def _path(self, signature: Signatures, codegen: CPUCodegen) -> Path:
        # The names of types contain the fields of records.
        key = f"{self._key} {signature} {codegen.magic_tuple()}"
        return self._folder / f"{self._name}-{self._checksum(key.encode()).hex()[:16]}.code"

    def load_overload(
        self, signature: Signatures, target_context: CPUContext
    ) -> CompileResult | None:
        from numba.core.compiler import CompileResult

        target_context.refresh()
        if not self._sources_known:
            return None
        path = self._path(signature, target_context.codegen())
        try:
            if _child_compiler is not None and not path.exists():
                _child_compiler.compile(self._function, signature)
            data = path.read_bytes()
            if self._checksum(data[32:]) != data[:32]:
                return None
            return CompileResult._rebuild(target_context, *pickle.loads(data[32:]))
        except Exception:
            return None

    def save_overload(self, signature: Signatures, compiled: CompileResult) -> None:
        # Code with dynamic globals contains addresses of this process.
        if compiled.library.has_dynamic_globals or not self._sources_known:
            return
        try:
            from numba.core.serialize import dumps

            data = dumps(compiled._reduce())
            with atomic_write(self._path(signature, compiled.codegen)) as file:
                file.write(self._checksum(data) + data)
        except Exception as error:
            _warn_not_cached(self._folder, error)


# Numba passes `forceinline` and `_nrt` on to all functions that a function calls, unless they set
# them.
_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": None,
    "forceinline": False,
    "no_cfunc_wrapper": True,
    "_nrt": False,
}
_ALLOCATING = {"_nrt": True}
_FROM_OUTSIDE = {"_nrt": True, "no_cfunc_wrapper": False}


def _known_to_numba(options: dict[str, Any]) -> dict[str, Any]:
    # `_nrt` and those of wrappers are numba's own: without them code is slower, and does the same.
    return {name: value for name, value in options.items() if hasattr(CPUTargetOptions, name)}


@cache
def _linking_dispatcher() -> type[Compiled] | None:
    if not COMPILED or os.environ.get(PLAIN_JIT, "0") not in ("", "0"):
        return None
    sources = [Path(__file__).with_name(name).read_bytes() for name in _LINKER]
    digest = hashlib.sha256(b"".join(sources)).hexdigest()[:16]
    stem = "-".join(("linking", *_platform(), digest))
    success_mark, failure_mark = (
        _base_folder() / f"{stem}.{outcome}" for outcome in ("works", "fails")
    )
    try:
        from .dispatch import Compiled, check

        if not success_mark.exists():
            check(_known_to_numba({**_OPTIONS, **_ALLOCATING}))
            _mark(success_mark)
        return Compiled
    # Another version of numba may raise anything, from a missing name to an assertion.
    except Exception as error:
        if not failure_mark.exists():
            _mark(failure_mark)
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            print(
                f"german-whist: numba {numba.__version__} lacks internals that this package links "
                f"its functions by ({reason}), "
                "so numba.jit compiles them: results are the same, but a first use takes about "
                "twice as long; numba 0.66 to 0.68 have them",
                file=sys.stderr,
                flush=True,
            )
        return None


class _PlainDispatcher(CPUDispatcher):
    """Dispatcher of numba for calls from Python; compiled code gets one without a wrapper."""

    package: str

    @cached_property
    def _internal(self) -> CPUDispatcher:
        options = _known_to_numba({**self.targetoptions, "no_cpython_wrapper": True})
        internal: Any = CPUDispatcher(self.py_func, {}, options)
        _keep(internal, self.package, caller="compiled code")
        return internal

    @property
    def _numba_type_(self) -> numba.types.Dispatcher:
        return self._internal._numba_type_


def _keep(dispatcher: Any, package: str, caller: str = "Python") -> None:
    with suppress(SourcesUnknown):
        dispatcher._cache = CodeCache(dispatcher.py_func, package, caller)


def _compiled(function: Function, noinline: bool = False, **options: Any) -> Function:
    if not COMPILED:
        return function
    package = _subpackage_of(function)
    dispatcher: Any
    if package is None:
        dispatcher = numba.jit(**_known_to_numba({**_OPTIONS, **_FROM_OUTSIDE, **options}))(
            function
        )
        return dispatcher
    counting = _ALLOCATING if hasattr(function, _MARK) else {}
    options = _known_to_numba({**_OPTIONS, **counting, **options})
    dispatcher_class = _linking_dispatcher()
    if dispatcher_class:
        dispatcher = dispatcher_class(function, None, options, noinline=noinline)
    else:
        dispatcher = _PlainDispatcher(function, {}, options)
        dispatcher.package = package
    _keep(dispatcher, package)
    return dispatcher


_MARK = "_allocates"


def allocates(function: Function) -> Function:
    """Mark a function that makes arrays or lists, below the decorator that compiles it.

    So does one that gets such an array from a function that it calls, one that assigns an array to
    a part of another, and every generator. All others count no references: Python holds the arrays
    that it passes for the whole call. Numba counts whenever a function gets an array, a row or a
    record of arrays, with atomic instructions at which threads wait for each other: that took
    longer than observing a game. Functions from outside this package need no mark.
    """
    setattr(function, _MARK, True)
    return function


def jit(function: Function) -> Function:
    """Compile a function on first use, without holding the GIL.

    Functions of this package are cached on disk; others are compiled as `numba.jit` does.
    """
    return _compiled(function)


def forceinline(function: Function) -> Function:
    """Compile a function with LLVM's `forceinline`.

    Otherwise a helper that takes a named tuple of arrays can stay a call of its own, which copies
    every array descriptor: slower than most helpers' work.
    """
    return _compiled(function, forceinline=True)


def inline_ir(function: Function) -> Function:
    """Inline a function at the level of numba's IR (`inline="always"`).

    Every compiled function is optimized once more within each of its callers, so a chain of them
    above a large one multiplies compilation time.
    """
    return _compiled(function, inline="always")


def noinline(function: Function) -> Function:
    """Compile a function with LLVM's `noinline`, for large functions with several callers.

    Inlined into all of them, they would multiply the code to compile and gain nothing.
    """
    return _compiled(function, noinline=True)


class Part(NamedTuple):
    """What a process compiles at a time: the arguments of `warm_up`."""

    name: str
    package: str
    first_calls: Callable[[], object]
    seconds: int = 1

    @property
    def marker(self) -> Path:
        return machine_code_folder(self.package) / f"{self.name}.ready"

    @property
    def is_ready(self) -> bool:
        return self.marker.exists()

    @property
    def lock(self) -> Path:
        return self.marker.with_suffix(".lock")


_warm: set[str] = set()
_put_off: ContextVar[dict[str, Part] | None] = ContextVar("put_off", default=None)
_silent: ContextVar[bool] = ContextVar("silent", default=False)


def warm_up(name: str, package: str, first_calls: Callable[[], object], seconds: int = 1) -> None:
    """Run `first_calls` once per process, so that nothing compiles later.

    On a cold cache this takes seconds: it prints a message with their number on an idle core, and
    other processes wait for the first one instead of compiling the same functions.
    """
    if name in _warm or not COMPILED:
        return
    part = Part(name, package, first_calls, seconds)
    parts = _put_off.get()
    if parts is not None:
        parts.setdefault(name, part)
        return
    _warm.add(name)
    try:
        is_ready = part.is_ready
    except SourcesUnknown as error:
        _warn_not_cached(_base_folder(), error)
        first_calls()
        return
    if is_ready:
        first_calls()
        return
    with ExitStack() as stack:
        # Without a writable lock file each process compiles for itself.
        try:
            stack.enter_context(file_lock(part.lock))
        except OSError as error:
            _warn_not_cached(part.lock.parent, error)
        if not part.is_ready and not _silent.get():
            print(
                f"german-whist: compiling the {name} for this machine, once (about {seconds} s of "
                "one core) ...",
                file=sys.stderr,
                flush=True,
            )
        first_calls()
        _mark(part.marker)


@contextmanager
def put_off() -> Generator[list[Part]]:
    """Note what `warm_up` is asked for in this block, and leave it to who reads the list."""
    parts: dict[str, Part] = {}
    largest_first: list[Part] = []
    token = _put_off.set(parts)
    try:
        yield largest_first
    finally:
        _put_off.reset(token)
        largest_first += sorted(parts.values(), key=lambda part: -part.seconds)


@contextmanager
def messages_off() -> Generator[None]:
    """Let `warm_up` print nothing in this block."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def compile_if_free(part: Part) -> None:
    """Compile a part into the disk cache, unless another process has done so or is at it."""
    lock = FileLock(part.lock)
    try:
        lock.acquire(timeout=0)
    except OSError:  # another process has it, or no file can be written
        return
    try:
        if not part.is_ready:
            _warm.add(part.name)  # what it makes asks for it again
            part.first_calls()
            _mark(part.marker)
    finally:
        lock.release()
