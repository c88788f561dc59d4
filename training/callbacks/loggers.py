"""Log of a run for TensorBoard."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...common.files import CannotWrite
from ...common.suggestions import not_installed
from ..run_state import EvaluationResult
from .base import Callback, TrainingRun

BOARD = "tensorboard"


class TensorBoard(Callback):
    """Event files of TensorBoard, with the tags `train/METRIC` and `eval/win_rate/OPPONENT`."""

    _writer: Any = None
    _folder: Path

    def on_start(self, run: TrainingRun) -> None:
        for package in ("torch", "tensorboard"):  # torch writes for it
            if find_spec(package) is None:
                sentence = not_installed("TensorBoard's log", package, "train")
                run.report(f"{sentence}; no log is written")
                return
        from torch.utils.tensorboard import SummaryWriter  # pyright: ignore

        decisions = run.trainer.decisions
        self._folder = run.folder / BOARD
        # A resumed run repeats what it had written after its last save: that is hidden.
        indented = run.settings.as_yaml().replace("\n", "\n    ")
        with self._naming_folder():
            self._writer = SummaryWriter(str(self._folder), purge_step=decisions + 1)
            self._writer.add_text("settings", f"    {indented}", decisions)
            self._write_hparams(run)
        # SB3 has scalars of its own.
        if hasattr(run.trainer, "watch"):
            run.trainer.watch(self._writer)  # type: ignore[attr-defined]

    def _write_hparams(self, run: TrainingRun) -> None:
        """Write the settings for the page HPARAMS, with the win rates that it shows beside them."""
        # `add_hparams` of the writer would begin a second run, without the curves of this one.
        from torch.utils.tensorboard.summary import hparams  # pyright: ignore

        settings = {
            name: value if isinstance(value, (bool, int, float, str)) else str(value)
            for name, value in run.settings.as_mapping().items()
            if value is not None
        }
        opponents = (*run.settings.eval_opponents, *run.settings.final_eval_opponents)
        metrics = {f"eval/win_rate/{name}".replace(" ", "_"): 0.0 for name in opponents}
        for summary in hparams(settings, metrics):
            self._writer.file_writer.add_summary(summary)

    def write(self, scalars: Mapping[str, float], decisions: int) -> None:
        """Write scalars at a number of decisions."""
        if self._writer is not None:
            with self._naming_folder():
                for tag, value in scalars.items():
                    self._writer.add_scalar(tag.replace(" ", "_"), value, decisions)

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        scalars = {f"train/{name}": value for name, value in metrics.items()}
        self.write(scalars, run.trainer.decisions)

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        for result in results:
            # Earlier checkpoints have a tag each: a curve would join opponents that differ.
            self.write({f"eval/win_rate/{result.title}": result.win_rate}, result.decisions)

    def on_save(self, run: TrainingRun) -> None:
        if self._writer is not None:
            with self._naming_folder():
                self._writer.flush()

    def on_end(self, run: TrainingRun) -> None:
        if self._writer is not None:
            with self._naming_folder():
                self._writer.close()

    @contextmanager
    def _naming_folder(self) -> Generator[None]:
        """Name the folder in errors of its disk, which come from a thread that knows no path."""
        try:
            yield
        except OSError as error:
            raise CannotWrite.for_path(self._folder, error) from error
