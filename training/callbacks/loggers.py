"""Loggers of runs: TensorBoard, MLflow, and Weights & Biases."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from typing import Any

from ...common.suggestions import not_installed
from ..checkpoint import EvaluationResult
from .base import Callback, TrainingRun

BOARD = "tensorboard"


class Logger(Callback):
    """Scalars of a run, with the same tags everywhere: `train/METRIC`, `eval/win_rate/OPPONENT`."""

    def write(self, scalars: Mapping[str, float], decisions: int) -> None:
        """Write scalars at a number of decisions."""

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        scalars = {f"train/{name}": value for name, value in metrics.items()}
        self.write(scalars, run.trainer.decisions)

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        for result in results:
            # Earlier checkpoints have a tag each: a curve would join opponents that differ.
            self.write({f"eval/win_rate/{result.title}": result.win_rate}, result.decisions)


class TensorBoard(Logger):
    """Event files of TensorBoard."""

    _writer: Any = None

    def on_start(self, run: TrainingRun) -> None:
        for package in ("torch", "tensorboard"):  # torch writes for it
            if find_spec(package) is None:
                sentence = not_installed("TensorBoard's log", package, "train")
                run.say(f"{sentence}; no log is written")
                return
        from torch.utils.tensorboard import SummaryWriter  # pyright: ignore

        decisions = run.trainer.decisions
        # A resumed run repeats what it had written after its last save: that is hidden.
        self._writer = SummaryWriter(str(run.folder / BOARD), purge_step=decisions + 1)
        # SB3 has scalars of its own.
        if hasattr(run.trainer, "watch"):
            run.trainer.watch(self._writer)  # type: ignore[attr-defined]
        indented = run.settings.as_yaml().replace("\n", "\n    ")
        self._writer.add_text("settings", f"    {indented}", decisions)

    def write(self, scalars: Mapping[str, float], decisions: int) -> None:
        if self._writer is not None:
            for tag, value in scalars.items():
                self._writer.add_scalar(tag.replace(" ", "_"), value, decisions)

    def on_save(self, run: TrainingRun) -> None:
        if self._writer is not None:
            self._writer.flush()

    def on_end(self, run: TrainingRun) -> None:
        if self._writer is not None:
            self._writer.close()


class MLflow(Logger):
    """MLflow at `MLFLOW_TRACKING_URI`, by default `mlflow.db` in the current folder.

    The experiment is `MLFLOW_EXPERIMENT_NAME`, by default `german-whist`; the run has the name of
    its folder, and a resumed run continues there.
    """

    def __init__(self) -> None:
        try:
            import mlflow  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise ValueError("mlflow is not installed: pip install mlflow") from None
        self._client = mlflow.MlflowClient(
            os.environ.get("MLFLOW_TRACKING_URI") or "sqlite:///mlflow.db"
        )
        self._id = ""

    def on_start(self, run: TrainingRun) -> None:
        client = self._client
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "german-whist"
        experiment = client.get_experiment_by_name(name)
        if experiment is None:
            experiment_id = client.create_experiment(name)
        else:
            experiment_id = experiment.experiment_id
        folder = str(run.folder.resolve())
        earlier = client.search_runs([experiment_id], f"tags.folder = '{folder}'", max_results=1)
        if earlier and run.trainer.decisions:
            self._id = earlier[0].info.run_id
            client.update_run(self._id, status="RUNNING")
            return
        tags = {"folder": folder}
        self._id = client.create_run(experiment_id, run_name=run.folder.name, tags=tags).info.run_id
        for key, value in run.settings.as_mapping().items():
            client.log_param(self._id, key, value)

    def write(self, scalars: Mapping[str, float], decisions: int) -> None:
        for tag, value in scalars.items():
            self._client.log_metric(self._id, _mlflow_name(tag), value, step=decisions)

    def on_end(self, run: TrainingRun) -> None:
        if not self._id:  # the service refused the run
            return
        finished = run.trainer.decisions >= run.settings.decisions
        self._client.set_terminated(self._id, "FINISHED" if finished else "KILLED")


class WandB(Logger):
    """Weights & Biases, configured by `WANDB_PROJECT`, `WANDB_MODE` and its other variables."""

    def __init__(self) -> None:
        try:
            import wandb  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise ValueError("wandb is not installed: pip install wandb") from None
        self._wandb: Any = wandb
        self._run: Any = None

    def on_start(self, run: TrainingRun) -> None:
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", "german-whist"),
            name=run.folder.name,
            # The same in each session, so that a resumed run continues there.
            id=sha256(str(run.folder.resolve()).encode()).hexdigest()[:16],
            resume="allow",
            dir=str(run.folder),
            config=run.settings.as_mapping(),
        )

    def write(self, scalars: Mapping[str, float], decisions: int) -> None:
        self._run.log({**scalars, "decisions": decisions})

    def on_end(self, run: TrainingRun) -> None:
        if self._run is not None:
            self._run.finish()


def _mlflow_name(tag: str) -> str:
    """A tag with only the characters that MLflow allows."""
    return "".join(char if char.isalnum() or char in "_-. /:" else "_" for char in tag)
