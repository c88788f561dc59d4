"""A run's folder belongs to one process at a time: claimed when it begins, locked while it trains.

The lock is the operating system's, so it is gone when its process is, however that
ended; a note beside it says whose it is, for the sentence that others are told.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from ...common.files import CannotWrite

LOCK, HOLDER = "lock", "lock.json"


class Claim:
    """A folder that no other process trains in until `release`."""

    def __init__(self, folder: Path) -> None:
        """Lock a folder that is there; refused while another holds it."""
        self.folder = folder
        self._lock = FileLock(folder / LOCK)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise ValueError(
                f"{folder} is being trained{_holder(folder)}: wait for its end, or end it with "
                "Ctrl-C or SIGTERM, which save its state"
            ) from None
        except OSError as error:
            raise CannotWrite.for_path(folder, error) from error
        told = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        (folder / HOLDER).write_text(json.dumps(told), encoding="utf-8")

    def release(self) -> None:
        """Let others have it."""
        if self._lock.is_locked:
            with suppress(OSError):
                (self.folder / HOLDER).unlink()
            self._lock.release()


def _holder(folder: Path) -> str:
    """Who holds a folder, as far as the note tells."""
    try:
        told = json.loads((folder / HOLDER).read_text(encoding="utf-8"))
        return f" by process {told['pid']} on {told['host']} since {told['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return " by another process"


def clear(folder: Path) -> None:
    """Take away what a run left that saved nothing; refused while it is being trained."""
    if folder.exists():
        Claim(folder).release()
        shutil.rmtree(folder)


def claim_new(folder: Path) -> Claim:
    """A folder for a new run, made if it is not there; refused if anything is in it."""
    if not str(folder).isprintable():
        raise ValueError(
            f"{str(folder)!r} cannot name a run: its lines in tables and reports would break; "
            "leave out what cannot be printed"
        )
    _make_way(folder)
    _check_empty(folder)
    claim = Claim(folder)
    # Another may have come and gone just before.
    try:
        _check_empty(folder)
    except ValueError:
        claim.release()
        raise
    return claim


def _make_way(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite.for_path(folder, error) from error


def _check_empty(folder: Path) -> None:
    if any(each.name not in (LOCK, HOLDER) for each in folder.iterdir()):
        raise ValueError(f"{folder} is not empty: go on with --resume {folder}, or name another")


def claim_numbered(base: Path) -> Claim:
    """The first of the folders `base-1`, `base-2`, ... that nobody has made yet."""
    _make_way(base.parent)
    for number in count(1):
        folder = base.with_name(f"{base.name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise CannotWrite.for_path(folder, error) from error
        return Claim(folder)
    raise AssertionError
