"""Curves for other programs: TensorBoard, MLflow and Weights & Biases, each a callback of runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..checkpoint import Measured
from .base import Callback, Watched
from .evaluation import curve_of

BOARD = "tensorboard"
MISSING = (
    "TensorBoard is not installed, so no files are written for it: pip install "
    "'german-whist[train]'"
)


class Tracker(Callback):
    """Figures of a run, tagged alike for all programs: `train/METRIC`, `eval/win_rate/OPPONENT`."""

    def write(self, values: Mapping[str, float], decisions: int) -> None:
        """Curves' next points."""

    def on_iteration(self, run: Watched, told: Mapping[str, float]) -> None:
        """The figures of an iteration."""
        self.write({f"train/{name}": each for name, each in told.items()}, run.trainer.decisions)

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """How strong it is, each under its opponent's name."""
        for each in found:
            self.write({f"eval/win_rate/{curve_of(each.title)}": each.win_rate}, each.decisions)


class TensorBoard(Tracker):
    """Writes event files; one of a run that goes on hides what was written past its state."""

    _writer: Any = None

    def on_start(self, run: Watched) -> None:
        """Open the file; a trainer with curves of its own (`watch`) writes to it as well."""
        if find_spec("tensorboard") is None or find_spec("torch") is None:  # torch writes for it
            run.say(MISSING)
            return
        from torch.utils.tensorboard import SummaryWriter  # pyright: ignore

        done = run.trainer.decisions
        folder = str(run.folder / BOARD)
        self._writer = SummaryWriter(folder, purge_step=done + 1)
        if hasattr(run.trainer, "watch"):
            run.trainer.watch(self._writer)  # type: ignore[attr-defined]
        indented = run.settings.as_yaml().replace("\n", "\n    ")
        self._writer.add_text("settings", f"    {indented}", done)

    def write(self, values: Mapping[str, float], decisions: int) -> None:
        """Curves' next points."""
        if self._writer is not None:
            for name, value in values.items():
                self._writer.add_scalar(name.replace(" ", "_"), value, decisions)

    def on_saved(self, run: Watched) -> None:
        """Bring to disk what was written."""
        if self._writer is not None:
            self._writer.flush()

    def on_end(self, run: Watched) -> None:
        """Nothing more will be written."""
        if self._writer is not None:
            self._writer.close()


class MLflow(Tracker):
    """Writes to the MLflow that `MLFLOW_TRACKING_URI` names, by default to `mlflow.db` here.

    The experiment is that of `MLFLOW_EXPERIMENT_NAME`, or `german-whist`; the run is called as
    its folder, and one that goes on goes on there.
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

    def on_start(self, run: Watched) -> None:
        """Find or make the run."""
        client = self._client
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "german-whist"
        found = client.get_experiment_by_name(name)
        place = client.create_experiment(name) if found is None else found.experiment_id
        folder = str(run.folder.resolve())
        before = client.search_runs([place], f"tags.folder = '{folder}'", max_results=1)
        if before and run.trainer.decisions:
            self._id = before[0].info.run_id
            client.update_run(self._id, status="RUNNING")
            return
        made = client.create_run(place, run_name=run.folder.name, tags={"folder": folder})
        self._id = made.info.run_id
        for key, value in run.settings.as_mapping().items():
            client.log_param(self._id, key, value)

    def write(self, values: Mapping[str, float], decisions: int) -> None:
        """Curves' next points."""
        for name, value in values.items():
            self._client.log_metric(self._id, _plain(name), value, step=decisions)

    def on_end(self, run: Watched) -> None:
        """The run is over, for now or for good; or it never began there, and why is told."""
        if not self._id:
            return
        done = run.trainer.decisions >= run.settings.decisions
        self._client.set_terminated(self._id, "FINISHED" if done else "KILLED")


class WandB(Tracker):
    """Writes to Weights & Biases, as `WANDB_PROJECT`, `WANDB_MODE` and its other variables say."""

    def __init__(self) -> None:
        try:
            import wandb  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise ValueError("wandb is not installed: pip install wandb") from None
        self._wandb: Any = wandb
        self._run: Any = None

    def on_start(self, run: Watched) -> None:
        """Begin a run, or go on with the one of this folder."""
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", "german-whist"),
            name=run.folder.name,
            id=_identity(run.folder),
            resume="allow",
            dir=str(run.folder),
            config=run.settings.as_mapping(),
        )

    def write(self, values: Mapping[str, float], decisions: int) -> None:
        """Curves' next points."""
        self._run.log({**values, "decisions": decisions})

    def on_end(self, run: Watched) -> None:
        """Bring everything there, if the run began there."""
        if self._run is not None:
            self._run.finish()


def _plain(name: str) -> str:
    """A name of only what MLflow takes in names."""
    return "".join(each if each.isalnum() or each in "_-. /:" else "_" for each in name)


def _identity(folder: Path) -> str:
    """One name for each folder, the same whenever the run goes on."""
    from hashlib import sha256

    return sha256(str(folder.resolve()).encode()).hexdigest()[:16]
