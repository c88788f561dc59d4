"""Lock of a run directory: one training process at a time.

The operating system releases the lock with its process; a file beside it names the owner.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from ...common.files import CannotWrite

LOCK, OWNER = "lock", "lock.json"


class RunLock:
    """The lock of a directory, held until `release`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = FileLock(folder / LOCK)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise ValueError(
                f"{folder} is being trained{_owner(folder)}: wait for its end, or end it with "
                "Ctrl-C or SIGTERM, which save its state"
            ) from None
        except OSError as error:
            raise CannotWrite.for_path(folder, error) from error
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
        (folder / OWNER).write_text(json.dumps(owner), encoding="utf-8")

    def release(self) -> None:
        if self._lock.is_locked:
            with suppress(OSError):
                (self.folder / OWNER).unlink()
            self._lock.release()


def _owner(folder: Path) -> str:
    try:
        owner = json.loads((folder / OWNER).read_text(encoding="utf-8"))
        return f" by process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return " by another process"


def lock_new_folder(folder: Path) -> RunLock:
    """Make and lock the directory of a new run; refused if it is not empty."""
    _check_name(folder)
    _make_folder(folder)
    _check_empty(folder)
    lock = RunLock(folder)
    # Another process may have trained here just before.
    try:
        _check_empty(folder)
    except ValueError:
        lock.release()
        raise
    return lock


def _check_name(folder: Path) -> None:
    if not str(folder).isprintable():
        raise ValueError(
            f"{str(folder)!r} cannot name a run: its lines in tables and reports would break; "
            "leave out what cannot be printed"
        )
    if "," in str(folder):
        raise ValueError(
            f"{str(folder)!r} cannot name a run: options of a player follow a comma, so that its "
            "checkpoints could not be named; leave out the comma"
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite.for_path(folder, error) from error


def _is_used(path: Path) -> bool:
    # Empty folders are left by a command for several seeds that was killed at its start.
    is_empty = path.is_dir() and not any(path.iterdir())
    return path.name not in (LOCK, OWNER) and not is_empty


def _check_empty(folder: Path) -> None:
    if any(map(_is_used, folder.iterdir())):
        raise ValueError(f"{folder} is not empty: go on with --resume {folder}, or name another")


def lock_numbered_folder(base: Path) -> RunLock:
    """Make and lock the first of the directories `base-1`, `base-2`, ... that does not exist."""
    _check_name(base)
    _make_folder(base.parent)
    for number in count(1):
        folder = base.with_name(f"{base.name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise CannotWrite.for_path(folder, error) from error
        return RunLock(folder)
    raise AssertionError
