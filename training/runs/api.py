"""A run as a whole, as the command and a notebook want it: begun or taken up again, and shown.

>>> import german_whist
>>> trained = german_whist.train("tiny", decisions=100_000)
>>> trained.checkpoint
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...common.serialization import JsonStruct, data_frame
from ...common.settings_files import format_overrides
from ...common.signals import RunStopped
from ..callbacks.base import Callback
from ..callbacks.console import ConsoleLog, make_display
from ..callbacks.csv_files import REPORT
from ..callbacks.evaluation import results_table
from ..callbacks.html_report import endgame_player
from ..checkpoint import EvaluationResult
from ..distributed import current_ranks
from ..settings import Settings
from .presets import load_settings, settings_from
from .run import Run
from .start import resume, start
from .store import LOG, STATE, begun, settings_of


class Trained(JsonStruct, frozen=True, kw_only=True):
    """What a training has come to."""

    folder: Path
    checkpoint: Path
    """Its last one, which is a player by its path."""
    decisions: int
    hands: int
    seconds: float
    measured: list[EvaluationResult]
    rows: list[dict[str, Any]]
    """What every iteration told, as in `progress.csv`."""

    def frame(self) -> Any:
        """What every iteration told as a `pandas.DataFrame`."""
        return data_frame(self.rows)

    def text(self) -> str:
        """How strong the player is, and where all is, in lines."""
        table = results_table(self.checkpoint)
        endgame = endgame_player(settings_of(self.folder))
        return f"{table}\nendgame: {endgame}\n{self.checkpoint}\n{self.folder / REPORT}"


Wanted = Settings | Mapping[str, Any] | str | Path
"""A preset's name or a file's path, a mapping, or settings that are ready."""


def train(
    settings: Wanted = "quick",
    *,
    folder: str | Path | None = None,
    name: str | None = None,
    callbacks: Iterable[object] = (),
    quiet: bool = False,
    **changes: Any,
) -> Trained:
    """Train a player in a new folder: by a preset or file, a mapping, or ready settings.

    `changes` are settings over these. Without a folder it is the first free of `runs/NAME-1`,
    `runs/NAME-2` and so on. `callbacks` are told of the run beside those that the
    settings name. What ends it early raises `RunStopped`, which doc how to go on.
    """
    _set_omp()
    wanted, base = resolved(settings, changes, folder, name)
    # torchrun starts processes again with the same command.
    again = "TORCHELASTIC_RUN_ID" in os.environ and (base / STATE).exists()
    if current_ranks().broadcast(again and settings_of(base) == wanted):
        return _shown(resume(base, callbacks=callbacks), quiet)
    return _shown(start(base, wanted, numbered=folder is None, callbacks=callbacks), quiet)


def resolved(
    settings: Wanted, changes: Mapping[str, Any], folder: str | Path | None, name: str | None
) -> tuple[Settings, Path]:
    """The settings that are wanted, and the folder, or without one its name but for a number."""
    if isinstance(settings, (str, Path)):
        found, usual = load_settings(settings, format_overrides(changes)), Path(settings).stem
    else:
        given = settings.as_mapping() if isinstance(settings, Settings) else settings
        found = settings_from({**given, **changes})
        usual = found.trainer.rpartition(":")[2].lower()
    return found, Path("runs", name or usual) if folder is None else Path(folder)


def train_on(
    folder: str | Path,
    words: Iterable[str] = (),
    *,
    callbacks: Iterable[object] = (),
    quiet: bool = False,
    **changes: Any,
) -> Trained:
    """Go on with a run from where its state was saved last, some settings changed.

    They are changed by `key=value` words or by `changes`.
    """
    _set_omp()
    run = resume(Path(folder), [*words, *format_overrides(changes)], callbacks=callbacks)
    return _shown(run, quiet)


def train_or_go_on(
    settings: Settings, folder: Path, *, callbacks: Iterable[object] = (), quiet: bool = False
) -> Trained:
    """Train in a folder, or go on with what was broken off there."""
    if begun(folder):
        return train_on(folder, callbacks=callbacks, quiet=quiet)
    return train(settings, folder=folder, callbacks=callbacks, quiet=quiet)


def _set_omp() -> None:
    # Before torch loads: with the default, threads that wait spin, and on busy cores everything
    # becomes many times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _shown(run: Run, quiet: bool) -> Trained:
    """Let a run go to its end; its first rank tells of it at the terminal and in its log."""
    leads = run.ranks.is_first
    log_path = run.folder / LOG if leads else os.devnull
    with open(log_path, "a", encoding="utf-8", errors="backslashreplace") as log:
        display = None if quiet or not leads else make_display()
        told: list[Callback] = (
            [*filter(None, [display]), ConsoleLog(log, timestamps=True)] if leads else []
        )

        def tell(text: str) -> None:
            for each in told:
                each.on_message(run, text)

        try:
            tell(f"{run.folder}: {run.settings.about or run.settings.trainer}")
            path = run.go(*told)
        except RunStopped as stopped:
            tell(str(stopped))
            raise
        finally:
            if display is not None:
                display.close()
    trained = Trained(
        folder=run.folder,
        checkpoint=path,
        decisions=run.trainer.decisions,
        hands=run.trainer.hands,
        seconds=run.seconds,
        measured=run.measured,
        rows=run.rows,
    )
    return run.ranks.broadcast(trained)
