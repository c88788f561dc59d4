# pyright: strict
"""Cache folder, file locks, atomic writes and YAML."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Generator, Hashable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import platformdirs
import yaml
from filelock import FileLock

from .suggestions import suggest, type_phrase
from .typing import JsonObject

_APPLICATION = "german-whist"
_USER_ID: Callable[[], int] | None = getattr(os, "getuid", None)  # not on Windows


_OTHER_PATH = "name a path elsewhere"
_REMEDIES = {
    errno.ENOSPC: f"make room on that disk, or {_OTHER_PATH}",
    errno.EDQUOT: f"make room within your quota, or {_OTHER_PATH}",
    errno.EFBIG: f"allow larger files there, or {_OTHER_PATH}",
    errno.ENOTDIR: f"a file stands where a folder is needed, so {_OTHER_PATH}",
    errno.EEXIST: f"a file stands where a folder is needed, so {_OTHER_PATH}",
    errno.EISDIR: "it is a folder, so name a file in it",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.EBUSY: f"close what reads it, or {_OTHER_PATH}",
}


# Windows refuses to rename over a file that is open: "access denied" or "sharing violation".
_IN_USE = (5, 32)
_RENAME_TIMEOUT = 2.0
"""Seconds to wait for a reader to close the file."""


class CannotWrite(OSError):
    """A path that cannot be written, with the remedy."""

    @classmethod
    def for_path(cls, path: Path, error: OSError) -> CannotWrite:
        return cls(error.errno, error.strerror or str(error), str(path))

    def __str__(self) -> str:
        missing = self.errno == errno.ENOENT
        otherwise = f"make it, or {_OTHER_PATH}" if missing else "name a path that you may write"
        needed = remedy_for(self) or otherwise
        return f"{self.filename} cannot be written ({self.strerror}): {needed}"


def is_full_disk(error: BaseException | None) -> bool:
    """Whether an error, or its cause, says that a disk or the user's quota was full."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        seen.append(error)
        error = error.__cause__
    return False


def remedy_for(error: OSError) -> str | None:
    return _REMEDIES.get(error.errno or 0)


def cache_folder() -> Path:
    """Folder for compiled code and tablebases: `GERMAN_WHIST_CACHE` or the user's cache folder.

    It may be read-only: callers must work without a cache then.
    """
    configured = os.environ.get("GERMAN_WHIST_CACHE")
    default = Path(configured) if configured else Path(platformdirs.user_cache_dir(_APPLICATION))
    if configured or _usable(default):
        return default
    user = _USER_ID() if _USER_ID else os.environ.get("USERNAME", "")
    with suppress(OSError):
        fallback = Path(tempfile.gettempdir()) / f"{_APPLICATION}-{user}"
        if _usable(fallback) and _is_private(fallback):
            return fallback
    return default


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _is_private(folder: Path) -> bool:
    status = folder.lstat()
    private = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and stat.S_ISDIR(status.st_mode)
    return _USER_ID is None or (private and status.st_uid == _USER_ID())


@contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Generator[IO[Any], None, None]:
    """Write to a temporary file and rename it to `path` at the end: never a partial file.

    Disk errors are raised as `CannotWrite` for `path`.
    """
    temporary = partial_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not by `tempfile`, whose files only their owner may read.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(temporary, flags, 0o666)
    except OSError as error:
        raise CannotWrite.for_path(path, error) from error
    try:
        # File names may contain bytes that are not text: those are escaped.
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
        # Errors of writing have no file name; those of other files are not about this one.
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise CannotWrite.for_path(path, error) from error
        raise


def partial_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")


_PARTIAL = re.compile(r"\..+\.\d+-[0-9a-f]{8}")


def is_partial(path: Path) -> bool:
    """Whether a file is incomplete: a writer that is killed leaves one."""
    return _PARTIAL.fullmatch(path.name) is not None


def remove_partial_files(folder: Path) -> None:
    """Delete what killed writers left in a folder, in which nothing else writes now."""
    for path in filter(is_partial, folder.iterdir()):
        path.unlink(missing_ok=True)


_PLAIN_NAME = re.compile(r"[A-Za-z0-9+][A-Za-z0-9+._-]{0,99}")
# Windows reads these as devices, with any ending.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def file_name(text: str) -> str:
    """A text of others as the name of a file or folder, or as a part of one: no path.

    A plain name stays as it is, and blanks become dashes. Any other text becomes a plain name with
    the start of its hash, so that different texts have different names.

    >>> file_name("wins against random"), file_name("../../etc")
    ('wins-against-random', 'etc-74ccf3c5')
    """
    name = text if "-" in text else text.replace(" ", "-")
    if _PLAIN_NAME.fullmatch(name) and not _DEVICE.fullmatch(name) and not name.endswith("."):
        return name
    plain = re.sub(r"[^A-Za-z0-9+._-]+", "-", text).strip("-.")[:60]
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}".lstrip("-")


def write_file(path: Path, content: str | bytes) -> None:
    """Write a whole file by `atomic_write`."""
    with atomic_write(path, "w" if isinstance(content, str) else "wb") as file:
        file.write(content)


def _replace(temporary: Path, path: Path) -> None:
    deadline = time.monotonic() + _RENAME_TIMEOUT
    while True:
        try:
            os.replace(temporary, path)
            return
        except OSError as error:
            if getattr(error, "winerror", None) not in _IN_USE:
                raise
            if time.monotonic() > deadline:
                reason = "a program has it open"
                raise CannotWrite(errno.EBUSY, reason, str(path)) from error
        time.sleep(0.01)


def check_writable(path: Path, *, make_folder: bool = False) -> None:
    """Refuse a path that cannot be written, before there are results to lose.

    Its folder has to exist, since another is likely a mistyped one; `make_folder` makes it.
    """
    if path.is_dir():
        raise CannotWrite.for_path(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    probe = partial_path(path)
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except FileNotFoundError as error:
        reason = f"there is no folder {path.parent}"
        raise CannotWrite(errno.ENOENT, reason, str(path)) from error
    except OSError as error:
        raise CannotWrite.for_path(path, error) from error


def checked_path(path: object) -> Path:
    """The path of a file, from what a user gave."""
    if isinstance(path, (str, Path)) and Path(path).name and "\0" not in str(path):
        return Path(path)
    raise ValueError(f"the path is {path!r}, {type_phrase(path)}: give that of a file")


def checked_folder(path: object) -> Path:
    """The path of a folder, from what a user gave."""
    if isinstance(path, (str, Path)) and "\0" not in str(path):
        return Path(path)
    raise ValueError(f"the folder is {path!r}, {type_phrase(path)}: give its path")


def suggest_path(path: Path) -> str:
    """End of an error sentence about a path that is not there: near names in its folder."""
    try:
        names = [each.name for each in path.parent.iterdir() if not each.name.startswith(".")]
    except OSError:
        return ""
    return suggest(path.name, names, listed=False)


@contextmanager
def file_lock(path: Path) -> Generator[None]:
    """Hold an exclusive lock file; other processes wait for it."""
    with ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(path))
        except OSError as error:
            raise CannotWrite.for_path(path.parent, error) from error
        yield


_MAX_YAML_BYTES = 1_000_000
_MAX_YAML_NODES = 100_000
"""Values in a file, those of aliases counted wherever they stand."""


class _SettingsLoader(yaml.SafeLoader):
    """`yaml.SafeLoader` that refuses duplicate keys, and aliases that expand to a huge content.

    A few lines of aliases within aliases stand for thousands of millions of values, which every
    later copy, check or message would go through.
    """

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None:
            self._count(node, {})
        return node

    def _count(self, node: yaml.Node, counts: dict[yaml.Node, int]) -> int:
        """Number of values in a node; `counts` are known ones, 0 for nodes around it."""
        if node in counts:
            if not counts[node]:
                raise yaml.MarkedYAMLError(
                    problem="an alias stands within its own anchor", problem_mark=node.start_mark
                )
            return counts[node]
        counts[node], count = 0, 1
        if isinstance(node, yaml.CollectionNode):
            parts = cast(list[Any], node.value)
            if isinstance(node, yaml.MappingNode):
                parts = [each for pair in parts for each in pair]
            count += sum(self._count(part, counts) for part in parts)
        if count > _MAX_YAML_NODES:
            raise yaml.MarkedYAMLError(
                problem=f"it holds more than {_MAX_YAML_NODES:,} values, aliases counted",
                problem_mark=node.start_mark,
            )
        counts[node] = count
        return count

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names: list[str] = []
        for key, _ in cast(list[tuple[yaml.ScalarNode, yaml.Node]], node.value):
            if key.value in names:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value!r} stands there twice", problem_mark=key.start_mark
                )
            names.append(key.value)
        return super().construct_mapping(node, deep)


def _yaml_error(path: Path, error: Exception) -> str:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if mark is None:
        return f"{path}: is not valid YAML: {str(error).splitlines()[0]}"
    problem = cast(yaml.MarkedYAMLError, error).problem
    return f"{path}: line {mark.line + 1} is not valid YAML: {problem}"


def read_yaml_mapping(path: Path) -> JsonObject:
    """Read a YAML file that holds a mapping; errors name the file."""
    try:
        if path.stat().st_size > _MAX_YAML_BYTES:
            raise ValueError(f"more than {_MAX_YAML_BYTES:,} bytes")
        content = yaml.load(path.read_text(encoding="utf-8"), _SettingsLoader)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error})") from error
    except RecursionError as error:
        raise ValueError(f"{path}: is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:  # an invalid date or number
        raise ValueError(_yaml_error(path, error)) from error
    if not isinstance(content, dict):
        other = "a list" if isinstance(content, list) else f"only {content!r}"
        shape = "nothing" if content is None else other
        raise ValueError(f"{path}: expected lines of 'name: value', found {shape}")
    mapping = cast("dict[Any, Any]", content)
    if not all(isinstance(key, str) for key in mapping):
        raise ValueError(f"{path}: every name before a colon has to be a word")
    return mapping
