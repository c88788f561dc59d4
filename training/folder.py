"""Run directory on disk: settings, state, checkpoints and their cards, behind one lock."""

from __future__ import annotations

import json
import os
import shlex
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from ..agents.checkpoints import (
    FOLDER,
    WEIGHTS,
    list_checkpoints,
    read_card,
    replace_card,
)
from ..agents.checkpoints.schema import Measurement
from ..agents.registry import named_code
from ..common.files import CannotWrite, is_partial, read_yaml_mapping, remove_partial_files
from ..common.typing import Array
from ..evaluation.packing import networks_of_agent
from .presets import settings_from
from .run_state import EvaluationResult, RunState, load_state
from .settings import Settings

LOCK, OWNER = "lock", "lock.json"


class FolderLock:
    """The lock of a run, a data set or a benchmark, held until `release`.

    What a killed writer left of its files is deleted.
    """

    def __init__(self, folder: Path, activity: str = "trained") -> None:
        """`activity` is what is done there, for the error that refuses a second process."""
        self.folder = folder
        self._lock = FileLock(folder / LOCK)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise ValueError(
                f"{folder} is being {activity}{_owner(folder)}: wait for its end, or end it with "
                "Ctrl-C or SIGTERM, which lose nothing that it has saved"
            ) from None
        except OSError as error:
            raise CannotWrite.for_path(folder, error) from error
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
        try:
            (folder / OWNER).write_text(json.dumps(owner), encoding="utf-8")
        except OSError as error:
            self.release()
            raise CannotWrite.for_path(folder / OWNER, error) from error
        self._remove_partial_files()

    def _remove_partial_files(self) -> None:
        for folder in (self.folder, self.folder / FOLDER):
            if folder.is_dir():
                remove_partial_files(folder)

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


def lock_new_folder(folder: Path) -> FolderLock:
    """Make and lock the directory of a new run; refused if it is not empty."""
    _check_name(folder)
    _make_folder(folder)
    _check_empty(folder)
    lock = FolderLock(folder)
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
            f"{str(folder)!r} cannot name a run: options of an agent follow a comma, so that its "
            "checkpoints could not be named; leave out the comma"
        )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite.for_path(folder, error) from error


def is_used(path: Path) -> bool:
    """Whether a file or folder is more than what the start of a command may leave if killed."""
    # Empty folders are left by a command for several seeds that was killed at its start.
    is_empty = path.is_dir() and not any(path.iterdir())
    return path.name not in (LOCK, OWNER) and not is_partial(path) and not is_empty


def _check_empty(folder: Path) -> None:
    if any(map(is_used, folder.iterdir())):
        raise ValueError(f"{folder} is not empty: go on with --resume {folder}, or name another")


def lock_numbered_folder(base: Path) -> FolderLock:
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
        return FolderLock(folder)
    raise AssertionError


SETTINGS, STATE, LOG = "settings.yaml", "state.safetensors", "log.txt"


def load_run_state(folder: Path) -> tuple[dict[str, Array], RunState]:
    """Load the last saved state; the error for a missing one names the remedy."""
    if (folder / STATE).exists():
        return load_state(folder / STATE)
    error = f"{folder}: there is no {STATE} to go on from: "
    paths = list_checkpoints(folder / FOLDER)
    if not paths:
        raise ValueError(f"{error}none was saved yet, so nothing is lost by beginning another run")
    raise ValueError(
        f"{error}begin another run, if its trainer takes weights with those of its last "
        f"checkpoint: german-whist train {folder / SETTINGS} init={paths[-1]}"
    )


def checkpoint_at(folder: Path, decisions: int) -> Path:
    return folder / FOLDER / f"{decisions:012d}{WEIGHTS}"


def add_evaluations(path: Path, evaluations: Sequence[EvaluationResult]) -> None:
    """Put results on the card of a checkpoint, in place of those that are there."""
    results = msgspec.convert(evaluations, tuple[Measurement, ...], from_attributes=True)
    card = read_card(path)
    replace_card(path, msgspec.structs.replace(card, evaluations=results))


def remove_checkpoint(folder: Path, decisions: int) -> None:
    """Remove a checkpoint with further files, if it is there."""
    path = checkpoint_at(folder, decisions)
    for file in path.parent.glob(f"{path.stem}.*"):
        file.unlink(missing_ok=True)


def resume_command(folder: Path, settings: Settings) -> str:
    """The command that goes on with a run, and trusts the code that its settings name."""
    return shlex.join(["german-whist", "train", "--resume", str(folder), *trust_words(settings)])


def agents_of(settings: Settings) -> list[str]:
    """The agents that settings name."""
    # Another trainer may have a setting of this name for something else.
    opponents: object = getattr(settings, "opponents", ())
    listed = opponents if isinstance(opponents, tuple) else ()
    return [*settings.eval_opponents, *settings.final_eval_opponents, *map(str, listed)]


def trust_words(settings: Settings) -> list[str]:
    """`--trust NAME` for what the settings name and the package does not have.

    Also for the networks of the checkpoints that they name, whose classes their cards tell.
    """
    agents = agents_of(settings)
    networks = chain.from_iterable(map(networks_of_agent, [*agents, settings.init]))
    names = [settings.trainer, getattr(settings, "network", ""), *settings.callbacks]
    names = [name for name in names if ":" in name] + [*filter(None, map(named_code, agents))]
    return [word for name in dict.fromkeys([*names, *networks]) for word in ("--trust", name)]


def recovery_hint(folder: Path, settings: Settings, decisions: int) -> str:
    """What is left of a failed run whose state was last saved after so many decisions."""
    if not (folder / SETTINGS).exists():
        return f"{folder} has been removed, and the run with it"
    saved = (
        f"the run is saved after {decisions:,} decisions, and goes on with "
        f"{resume_command(folder, settings)}"
    )
    paths = list_checkpoints(folder / FOLDER)
    return f"{saved}; its last good checkpoint is {paths[-1]}" if paths else saved


def settings_of(folder: Path) -> Settings:
    path = folder / SETTINGS
    return settings_from(read_yaml_mapping(path), str(path))


def begun(folder: Path) -> bool:
    """Whether a run can be resumed; deletes the files of one that saved no state.

    Refused while it is being trained. Whatever else lies in the directory stays.
    """
    if _is_saved(folder):
        return True
    has_partial = folder.is_dir() and any(map(is_partial, folder.iterdir()))
    if has_partial or (folder / SETTINGS).exists():
        lock = FolderLock(folder)  # deletes partial files
        try:
            if _is_saved(folder):  # by a process that ended just now
                return True
            (folder / SETTINGS).unlink(missing_ok=True)
        finally:
            lock.release()
    return False


def _is_saved(folder: Path) -> bool:
    return (folder / STATE).exists() or bool(list_checkpoints(folder / FOLDER))
