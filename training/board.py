"""TensorBoard files of a run, where TensorBoard is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class Board:
    """Writes nothing."""

    def write(self, values: Mapping[str, float], decisions: int) -> None:
        """Curves' next points."""


class TensorBoard(Board):
    """Writes event files."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter  # pyright: ignore

        self._writer: Any = SummaryWriter(str(folder))

    def write(self, values: Mapping[str, float], decisions: int) -> None:
        """Curves' next points."""
        for name, value in values.items():
            self._writer.add_scalar(name.replace(" ", "_"), value, decisions)


def board_for(folder: Path, trainer: Any) -> Board:
    """Where a run's curves go; a trainer with curves of its own (`watch`) writes beside them."""
    if find_spec("tensorboard") is None:
        return Board()
    if hasattr(trainer, "watch"):
        trainer.watch(folder)
    return TensorBoard(folder)
