"""Run directory on disk: settings, state, checkpoints and their cards, behind one lock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...agents.checkpoints.checkpoint import (
    FOLDER,
    WEIGHTS,
    list_checkpoints,
    read_card,
    write_card,
)
from ...agents.checkpoints.schema import Measurement
from ...common.files import read_yaml_mapping, write_file
from ...common.typing import Array
from ..checkpoint import EvaluationResult, RunState, load_state
from ..settings import Settings
from .presets import settings_from
from .run_lock import RunLock

SETTINGS, STATE, LOG = "settings.yaml", "state.safetensors", "log.txt"


class RunStore:
    """Files of a run. Of several ranks only the first holds the lock and writes."""

    def __init__(self, folder: Path, lock: RunLock | None) -> None:
        self.folder, self.state_path = folder, folder / STATE
        self._lock = lock

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def write_settings(self, settings: Settings) -> None:
        write_file(self.folder / SETTINGS, settings.as_yaml())

    def load_state(self) -> tuple[dict[str, Array], RunState]:
        """Load the last saved state; the error for a missing one names the remedy."""
        if self.state_path.exists():
            return load_state(self.state_path)
        error = f"{self.folder}: there is no {STATE} to go on from: "
        paths = list_checkpoints(self.folder / FOLDER)
        if not paths:
            raise ValueError(
                f"{error}none was saved yet, so nothing is lost by beginning another run"
            )
        raise ValueError(
            f"{error}begin another run with the weights of its last checkpoint: "
            f"german-whist train {self.folder / SETTINGS} init={paths[-1]}"
        )

    def checkpoint_at(self, decisions: int) -> Path:
        return self.folder / FOLDER / f"{decisions:012d}{WEIGHTS}"

    def add_evaluations(self, path: Path, evaluations: Sequence[EvaluationResult]) -> None:
        results = msgspec.convert(evaluations, tuple[Measurement, ...], from_attributes=True)
        card = read_card(path)
        write_card(path.with_suffix(""), msgspec.structs.replace(card, evaluations=results))

    def remove_checkpoint(self, decisions: int) -> None:
        """Remove a checkpoint with its card and further files, if it is there."""
        path = self.checkpoint_at(decisions)
        for file in path.parent.glob(f"{path.stem}.*"):
            file.unlink(missing_ok=True)

    def recovery_hint(self, decisions: int) -> str:
        """What is left of a failed run whose state was last saved after so many decisions."""
        saved = (
            f"the run is saved after {decisions:,} decisions, and goes on with german-whist train "
            f"--resume {self.folder}"
        )
        paths = list_checkpoints(self.folder / FOLDER)
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
    if _first_files(folder):
        lock = RunLock(folder)
        try:
            if _is_saved(folder):  # by a process that ended just now
                return True
            for path in _first_files(folder):
                path.unlink()
        finally:
            lock.release()
    return False


def _is_saved(folder: Path) -> bool:
    return (folder / STATE).exists() or bool(list_checkpoints(folder / FOLDER))


def _first_files(folder: Path) -> list[Path]:
    """What a run writes before its first state is complete."""
    if not folder.is_dir():
        return []
    # Incomplete files have longer names (`atomic_write`).
    partial = f".{SETTINGS}.", f".{STATE}."
    return [
        path for path in folder.iterdir() if path.name == SETTINGS or path.name.startswith(partial)
    ]
