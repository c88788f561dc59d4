# pyright: strict
"""The file room: cache and data folders, atomic writing, and YAML."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import platformdirs
import yaml
from filelock import FileLock

_APPLICATION = "german-whist"
_USER_ID: Callable[[], int] | None = getattr(os, "getuid", None)  # not on Windows


_ELSEWHERE = "name a path elsewhere"
_NEEDED = {
    errno.ENOSPC: f"make room on that disk, or {_ELSEWHERE}",
    errno.EDQUOT: f"make room within your quota, or {_ELSEWHERE}",
    errno.EFBIG: f"allow larger files there, or {_ELSEWHERE}",
    errno.ENOTDIR: f"a file stands where a folder is needed, so {_ELSEWHERE}",
    errno.EEXIST: f"a file stands where a folder is needed, so {_ELSEWHERE}",
    errno.EISDIR: "it is a folder, so name a file in it",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.EBUSY: f"close what reads it, or {_ELSEWHERE}",
}


# Windows refuses to rename over a file that is open: "access denied" or "sharing violation".
_IN_USE = (5, 32)
_PATIENCE = 2.0
"""Seconds that a reader has to close a file."""


class CanNotWrite(OSError):
    """A path that cannot be written, told with what is needed."""

    @classmethod
    def at(cls, path: Path, error: OSError) -> CanNotWrite:
        """What an error means for the path that somebody wanted to write."""
        return cls(error.errno, error.strerror or str(error), str(path))

    def __str__(self) -> str:
        needed = needed_for(self) or "name a path that you may write"
        return f"{self.filename} cannot be written ({self.strerror}): {needed}"


def needed_for(error: OSError) -> str | None:
    """What helps against an error of a disk, if that is known."""
    return _NEEDED.get(error.errno or 0)


def cache_folder() -> Path:
    """Where compiled code and tablebases are kept: `GERMAN_WHIST_CACHE` or the user's cache.

    Whether it can be written is not promised: whoever writes there does without, if need be.
    """
    wanted = os.environ.get("GERMAN_WHIST_CACHE")
    usual = Path(wanted) if wanted else Path(platformdirs.user_cache_dir(_APPLICATION))
    if wanted or _usable(usual):
        return usual
    user = _USER_ID() if _USER_ID else os.environ.get("USERNAME", "")
    with suppress(OSError):
        spare = Path(tempfile.gettempdir()) / f"{_APPLICATION}-{user}"
        if _usable(spare) and _own(spare):
            return spare
    return usual


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _own(folder: Path) -> bool:
    """Whether nobody else can have laid code into a folder that everybody may make."""
    found = folder.lstat()
    private = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and stat.S_ISDIR(found.st_mode)
    return _USER_ID is None or (private and found.st_uid == _USER_ID())


@contextmanager
def written_whole(path: Path, mode: str = "wb") -> Generator[IO[Any], None, None]:
    """Write to a temporary name beside `path` and rename at the end: never half a file.

    What goes wrong with the disk is told of `path`, as `CanNotWrite`.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not by `tempfile`, whose files nobody else may read: the usual permissions are wanted.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(temporary, flags, 0o666)
    except OSError as error:
        raise CanNotWrite.at(path, error) from error
    try:
        # Names of files may hold bytes that are no text: those are spelt out.
        text = "b" not in mode
        encoding, errors = ("utf-8", "backslashreplace") if text else (None, None)
        # The same bytes on every system.
        newline = "\n" if text else None
        with os.fdopen(descriptor, mode, encoding=encoding, errors=errors, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        # Writing knows no name; what names another file is not about this one.
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise CanNotWrite.at(path, error) from error
        raise


def _replace(temporary: Path, path: Path) -> None:
    """Rename over what is there; on Windows, once whoever has that open has closed it."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            os.replace(temporary, path)
            return
        except OSError as error:
            if getattr(error, "winerror", None) not in _IN_USE:
                raise
            if time.monotonic() > until:
                why = "a program has it open"
                raise CanNotWrite(errno.EBUSY, why, str(path)) from error
        time.sleep(0.01)


def check_writable(path: Path) -> None:
    """Refuse a path that could not be written, before there is anything to lose."""
    if path.is_dir():
        raise CanNotWrite.at(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    probe = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CanNotWrite.at(path, error) from error


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock in a file while other processes wait for it."""
    with ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(FileLock(path))
        except OSError as error:
            raise CanNotWrite.at(path.parent, error) from error
        yield


def _kind(content: object) -> str:
    if content is None:
        return "nothing"
    return "a list" if isinstance(content, list) else f"only {content!r}"


class _OnceLoader(yaml.SafeLoader):
    """YAML as `safe_load` reads it, but no name may stand twice in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: list[Any] = []
        for key, _ in cast(list[tuple[yaml.ScalarNode, yaml.Node]], node.value):
            if key.value in names:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value!r} stands there twice", problem_mark=key.start_mark
                )
            names.append(key.value)
        return super().construct_mapping(node, deep)


def _no_yaml(path: Path, error: Exception) -> str:
    """What is wrong, and in which line if that is known."""
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if mark is None:
        return f"{path}: is not valid YAML: {str(error).splitlines()[0]}"
    problem = cast(yaml.MarkedYAMLError, error).problem
    return f"{path}: line {mark.line + 1} is not valid YAML: {problem}"


def read_yaml_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; anything else is refused with the file's name."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _OnceLoader)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error})") from error
    except RecursionError as error:
        raise ValueError(f"{path}: is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:  # a date or a number that cannot be
        raise ValueError(_no_yaml(path, error)) from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected lines of 'name: value', found {_kind(content)}")
    mapping = cast("dict[Any, Any]", content)
    if not all(isinstance(key, str) for key in mapping):
        raise ValueError(f"{path}: every name before a colon has to be a word")
    return mapping
