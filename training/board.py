"""TensorBoard files of a run, where TensorBoard is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MISSING = (
    "TensorBoard is not installed, so no files are written for it: pip install "
    "'german-whist[train]'"
)


class Board:
    """Writes nothing."""

    def write(self, values: Mapping[str, float], decisions: int) -> None:
        """Curves' next points."""

    def text(self, name: str, text: str, decisions: int) -> None:
        """Some lines beside the curves."""

    def flush(self) -> None:
        """Bring to disk what was written."""

    def close(self) -> None:
        """Nothing more will be written."""


class TensorBoard(Board):
    """Writes event files; one of a run that goes on hides what was written past its state."""

    def __init__(self, folder: Path, trainer: Any) -> None:
        """A trainer with curves of its own (`watch`) writes them to the same file."""
        from torch.utils.tensorboard import SummaryWriter  # pyright: ignore

        done = trainer.decisions
        self._writer: Any = SummaryWriter(str(folder), purge_step=done + 1 if done else None)
        if hasattr(trainer, "watch"):
            trainer.watch(self._writer)

    def write(self, values: Mapping[str, float], decisions: int) -> None:
        """Curves' next points."""
        for name, value in values.items():
            self._writer.add_scalar(name.replace(" ", "_"), value, decisions)

    def text(self, name: str, text: str, decisions: int) -> None:
        """Some lines beside the curves, as they are."""
        indented = text.replace("\n", "\n    ")
        self._writer.add_text(name, f"    {indented}", decisions)

    def flush(self) -> None:
        """Bring to disk what was written."""
        self._writer.flush()

    def close(self) -> None:
        """Nothing more will be written."""
        self._writer.close()


def board_for(folder: Path, trainer: Any) -> Board | None:
    """Where a run's curves go; None where TensorBoard is not installed."""
    return TensorBoard(folder, trainer) if find_spec("tensorboard") is not None else None
