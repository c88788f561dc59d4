"""Python API of training: start or resume a run, with its display.

>>> import german_whist
>>> trained = german_whist.train("tiny", decisions=10_000, quiet=True)
>>> trained.checkpoint.name
'000000010240.safetensors'
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.files import CannotWrite, checked_folder
from ..common.markup import printable
from ..common.serialization import JsonStruct, data_frame
from ..common.settings import format_overrides, parse_overrides
from ..common.signals import RunStopped, SignalGuard
from .algorithms.data_parallel import DataParallel
from .algorithms.registry import make_trainer
from .callbacks.console import ConsoleLog, FileLog, make_display
from .callbacks.evaluation import results_table
from .callbacks.report_files import REPORT, endgame_player
from .distributed import Ranks, current_ranks
from .folder import LOG, STATE, begun, settings_of
from .presets import load_settings, settings_from
from .run import Run
from .run import resume as resume_run
from .run import start as start_run
from .run_state import EvaluationResult
from .settings import Settings

if TYPE_CHECKING:
    import pandas


class Trained(JsonStruct, frozen=True, kw_only=True):
    """What `train` and `resume` return: the run's folder, its last checkpoint and its results."""

    folder: Path
    checkpoint: Path
    """The last checkpoint; its path is an agent's name."""
    decisions: int
    """Decisions of the learner."""
    hands: int
    """Hands that were played."""
    seconds: float
    """Time of training, in seconds."""
    evaluations: list[EvaluationResult]
    """Every evaluation: opponent, win rate and margin of error."""
    rows: list[dict[str, int | float]]
    """Metrics of every iteration, as in `progress.csv`."""

    def frame(self) -> pandas.DataFrame:
        """Metrics of every iteration as a `pandas.DataFrame`."""
        return data_frame(self.rows)

    def text(self) -> str:
        """The final evaluation and the paths of the results, as lines of text."""
        table = results_table(self.checkpoint)
        endgame = endgame_player(settings_of(self.folder))
        return printable(f"{table}\nendgame: {endgame}\n{self.checkpoint}\n{self.folder / REPORT}")


SettingsSource = Settings | Mapping[str, object] | str | Path | None
"""A preset's name, the path of a YAML file, a mapping, settings, or None for all defaults."""


def train(
    settings: SettingsSource = "quick",
    words: Iterable[str] = (),
    *,
    folder: str | Path | None = None,
    name: str | None = None,
    callbacks: Iterable[object] = (),
    quiet: bool = False,
    **changes: Any,
) -> Trained:
    """Train an agent in a new run folder.

    ```python
    trained = german_whist.train("quick", decisions=1_000_000, seed=3)
    german_whist.evaluate(trained.checkpoint, "threshold", hands=2000)
    ```

    Returns a `Trained` with the folder, the last checkpoint, and the evaluations. If the run ends
    early, for example by Ctrl-C, `RunStopped` says how to resume it.

    - `settings`: a preset's name (`"quick"` by default; `german-whist train --list` shows all), the
      path of a YAML file, a mapping, a `Settings`, or `None` for all defaults.
    - `words`: changes as texts, such as `["seed=3"]`, as on the command line.
    - `folder`: the run's folder. `None` (default): `runs/NAME-1`, or the next free number.
    - `name`: the `NAME` in the folder's name. `None` (default): the name of the preset.
    - `callbacks`: objects with methods of `german_whist.training.Callback`.
    - `quiet`: `True`: print nothing. `False` by default.
    - other keywords: settings by name, such as `decisions=1_000_000`.
    """
    if not current_ranks().is_first:
        return follow(current_ranks())
    words = [*words]
    resolved, base = resolve_settings(settings, {**parse_overrides(words), **changes}, folder, name)
    # torchrun restarts its processes with the same command.
    restarted = "TORCHELASTIC_RUN_ID" in os.environ and (base / STATE).exists()
    # The run's own file has the parameters of rules that the command names by a path.
    if restarted and settings_of(base).as_mapping() == resolved.as_mapping():
        return _go(resume_run(base, callbacks=callbacks), quiet)
    command = ""
    if settings is None or isinstance(settings, (str, Path)):
        preset = [] if settings is None else [str(settings)]
        words += format_overrides(changes)
        command = shlex.join(["german-whist", "train", *preset, *words])
    run = start_run(base, resolved, command=command, numbered=folder is None, callbacks=callbacks)
    return _go(run, quiet)


def resolve_settings(
    settings: SettingsSource,
    changes: Mapping[str, Any],
    folder: str | Path | None,
    name: str | None,
) -> tuple[Settings, Path]:
    """Settings with changes, and the run directory, without its number if `folder` is None."""
    if isinstance(settings, (Settings, Mapping)):
        values = settings.as_mapping() if isinstance(settings, Settings) else settings
        resolved = settings_from({**values, **changes})
    else:
        resolved = load_settings(settings, **changes)
    is_preset = isinstance(settings, (str, Path))
    default = Path(settings).stem if is_preset else resolved.trainer.rpartition(":")[2].lower()
    if folder is not None:
        return resolved, checked_folder(folder)
    return resolved, Path("runs", name or default)


def resume(
    folder: str | Path,
    words: Iterable[str] = (),
    *,
    callbacks: Iterable[object] = (),
    quiet: bool = False,
    **changes: Any,
) -> Trained:
    """Resume a training run from its last saved state.

    Returns a `Trained`, as `train` does. The resumed run ends with the same weights as a run that
    was never interrupted.

    - `folder`: the run's folder.
    - `words`: changes as texts, such as `["decisions=2_000_000"]`, as on the command line.
    - `callbacks`: objects with methods of `german_whist.training.Callback`.
    - `quiet`: `True`: print nothing. `False` by default.
    - other keywords: settings that may change in a run, such as `decisions=2_000_000`.
    """
    if not current_ranks().is_first:
        return follow(current_ranks())
    return _go(resume_run(checked_folder(folder), [*words], callbacks=callbacks, **changes), quiet)


def train_or_resume(
    settings: Settings, folder: Path, *, callbacks: Iterable[object] = (), quiet: bool = False
) -> Trained:
    """Train in a folder, or resume the run that is there."""
    if begun(folder):
        return resume(folder, callbacks=callbacks, quiet=quiet)
    return train(settings, folder=folder, callbacks=callbacks, quiet=quiet)


def follow(ranks: Ranks) -> Trained:
    """Train in another process of torchrun than the first, which has the run."""
    trainer: Any = make_trainer(ranks.broadcast(None), ranks)  # type: ignore[arg-type]
    with SignalGuard():
        trained = trainer.follow()
    if trained is None:
        raise RunStopped("the first of the processes ended the run and reported why")
    return trained


def _go(run: Run, quiet: bool) -> Trained:
    """Train a run to its end, with a display and a log."""
    with closing(run), closing(FileLog(run.folder / LOG)) as log:
        if quiet:
            return _train_with(run, [log])
        with closing(make_display()) as display:
            return _train_with(run, [display, log])


def _train_with(run: Run, reporters: list[ConsoleLog]) -> Trained:
    trained: Trained | None = None

    def report(text: str) -> None:
        for reporter in reporters:
            reporter.on_message(run, text)

    try:
        report(f"{run.folder}: {run.settings.about or run.settings.trainer}")
        path = run.go(*reporters)
        trained = Trained(
            folder=run.folder,
            checkpoint=path,
            decisions=run.trainer.decisions,
            hands=run.trainer.hands,
            seconds=run.seconds,
            evaluations=run.evaluations,
            rows=run.rows,
        )
        return trained
    except RunStopped as stopped:
        # On a full disk, where the log ends too, the reason is still shown.
        with suppress(CannotWrite):
            report(str(stopped))
        raise
    finally:
        if isinstance(run.trainer, DataParallel):
            run.trainer.end(trained)
