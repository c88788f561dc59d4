"""Run directory on disk: settings, state, checkpoints and their cards, behind one lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...agents.checkpoints.checkpoint import (
    FOLDER,
    WEIGHTS,
    find_checkpoint,
    list_checkpoints,
    read_card,
    write_card,
)
from ...agents.checkpoints.schema import Measurement, NetworkCard
from ...common.files import atomic_write, read_yaml_mapping
from ...common.typing import Array
from ..checkpoint import EvaluationResult, RunState, load_state, save_state, write_player
from ..settings import Settings
from .presets import settings_from
from .run_lock import RunLock, clear

SETTINGS, STATE, LOG = "settings.yaml", "state.safetensors", "log.txt"


class RunStore:
    """Files of a run. Of several ranks only the first holds the lock and writes."""

    def __init__(self, folder: Path, lock: RunLock | None) -> None:
        self.folder = folder
        self._lock = lock

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    # -- settings and state

    def write_settings(self, settings: Settings) -> None:
        with atomic_write(self.folder / SETTINGS, "w") as file:
            file.write(settings.as_yaml())

    @property
    def state_path(self) -> Path:
        return self.folder / STATE

    def save_state(self, arrays: Mapping[str, Array], state: RunState) -> None:
        """Replace the state in one step, so that a run killed at any moment can be resumed."""
        save_state(self.state_path, arrays, state)

    def load_state(self) -> tuple[dict[str, Array], RunState]:
        """Load the last saved state; the error for a missing one names the remedy."""
        if self.state_path.exists():
            return load_state(self.state_path)
        error = f"{self.folder}: there is no {STATE} to go on from: "
        paths = self.checkpoints
        if not paths:
            raise ValueError(f"{error}none was saved yet, so nothing is lost by beginning another "
                             "run")  # fmt: skip
        raise ValueError(
            f"{error}begin another run with the weights of its last checkpoint: "
            f"german-whist train {self.folder / SETTINGS} init={paths[-1]}"
        )

    # -- checkpoints

    @property
    def checkpoints(self) -> list[Path]:
        """Paths of all checkpoints by decisions."""
        return list_checkpoints(self.folder / FOLDER)

    def checkpoint_at(self, decisions: int) -> Path:
        return self.folder / FOLDER / f"{decisions:012d}{WEIGHTS}"

    def last_checkpoint(self) -> Path:
        return find_checkpoint(self.folder)

    def write_checkpoint(
        self, weights: Mapping[str, Array], settings: Settings, network: NetworkCard, **card: Any
    ) -> Path:
        path = self.checkpoint_at(card["decisions"]).with_suffix("")
        return write_player(path, weights, settings, network, **card)

    def add_evaluations(self, path: Path, evaluations: Sequence[EvaluationResult]) -> None:
        results = tuple(
            msgspec.convert(_without_decisions(evaluation), Measurement)
            for evaluation in evaluations
        )
        card = read_card(path)
        write_card(path.with_suffix(""), msgspec.structs.replace(card, evaluations=results))

    def recovery_hint(self) -> str:
        """The last checkpoint of a failed run, and the command that resumes it."""
        paths = self.checkpoints
        checkpoint = (
            f"the last good checkpoint is {paths[-1]}" if paths else "there is no checkpoint"
        )
        if not self.state_path.exists():
            return f"{checkpoint} yet" if not paths else checkpoint
        return (
            f"{checkpoint}, and the state that was saved last is as it was: go on from it with "
            f"german-whist train --resume {self.folder}"
        )


def _without_decisions(evaluation: EvaluationResult) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(evaluation)
    del fields["decisions"]
    return fields


def settings_of(folder: Path) -> Settings:
    """Load the settings of a run."""
    path = folder / SETTINGS
    return settings_from(read_yaml_mapping(path), str(path))


def begun(folder: Path) -> bool:
    """Whether a run can be resumed; deletes one that saved no state, so that it starts anew.

    Refused while it is being trained. Directories without settings of a run stay as they are.
    """
    if (folder / STATE).exists() or list_checkpoints(folder / FOLDER):
        return True
    # A run writes its settings first, under a longer name until the file is complete.
    if any(folder.glob(f"*{SETTINGS}*")):
        clear(folder)
    return False
