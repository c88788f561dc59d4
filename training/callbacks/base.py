"""Callbacks of runs: they receive the events of a run in order, and may stop it.

Console, CSV and HTML files, TensorBoard and early stopping are callbacks, and so are those of the
setting `callbacks`: by name, as `package.module:object`, or through the entry-point group
`german_whist.callbacks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...common.plugins import Registry, error_location, error_text
from ..algorithms.base import CallbackFailed, Trainer
from ..run_state import EvaluationResult, RunState
from ..settings import Settings


class TrainingRun:
    """A training run, as callbacks get it: `folder`, `settings`, `trainer`, and results so far."""

    def __init__(self, folder: Path, settings: Settings, trainer: Trainer, state: RunState) -> None:
        self.folder: Path = folder
        self.settings: Settings = settings
        self.trainer: Trainer = trainer
        self.state: RunState = state
        self.callbacks: list[Callback] = []
        self.stop_reason: str | None = None
        """Why a callback ended the run."""

    @property
    def seconds(self) -> float:
        """Time spent in the run, earlier sessions included."""
        return self.state.seconds

    @property
    def rows(self) -> list[dict[str, int | float]]:
        """Metrics of every iteration, as in `progress.csv`."""
        return self.state.rows

    @property
    def evaluations(self) -> list[EvaluationResult]:
        """Results of all evaluations."""
        return self.state.evaluations

    def report(self, text: str) -> None:
        """Report a sentence to the display and the log."""
        self.notify("on_message", text)

    def stop(self, reason: str) -> None:
        """End the run after this iteration, with a last checkpoint; `reason` is reported."""
        self.stop_reason = reason

    def notify(self, event: str, *details: object) -> None:
        """Call a method of all callbacks; a failing one is reported by its name and place."""
        for callback in self.callbacks:
            try:
                getattr(callback, event)(self, *details)
            except (Exception, SystemExit) as error:
                kind = type(callback)
                # Our own callbacks raise with a traceback: it is a fault of the program.
                if kind.__module__.startswith(f"{__name__.partition('.')[0]}."):
                    raise
                # Not a wish to end the run, which would have a last checkpoint.
                remedy = "; run.stop(reason) ends a run" if isinstance(error, SystemExit) else ""
                raise CallbackFailed(
                    f"the callback {kind.__name__} raised {error_text(error)} "
                    f"({error_location(error)}) in {event}{remedy}"
                ) from error


class Callback:
    """Base class of callbacks: a method is called at each event of a training run.

    ```python
    class StopAt60(Callback):
        def on_evaluation(self, run, results):
            if results[0].win_rate > 0.6:
                run.stop("the win rate is above 60 %")

    german_whist.train("quick", callbacks=[StopAt60()])
    ```
    """

    def on_start(self, run: TrainingRun) -> None:
        """A session begins: the first, or a resumed one."""

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        """An iteration has ended, with these metrics; not after one that was cut short."""

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        """A checkpoint was evaluated, with these results."""

    def on_checkpoint(self, run: TrainingRun, path: Path) -> None:
        """A checkpoint was written."""

    def on_save(self, run: TrainingRun) -> None:
        """The state was saved."""

    def on_message(self, run: TrainingRun, text: str) -> None:
        """The run reports a sentence."""

    def on_end(self, run: TrainingRun) -> None:
        """The session ends, by whatever cause."""


CALLBACKS = Registry("german_whist.callbacks", "callback")


def named_callback(name: str, kinds: tuple[type, ...] = ()) -> object:
    """Object by the name of a callback; a subclass of `Callback` or `kinds` is called.

    Nothing else is called, so that a name cannot stand for any function there is.
    """
    try:
        callback = CALLBACKS.find(name)
    except ValueError as error:
        raise ValueError(f"callbacks: {error}") from None
    if not isinstance(callback, type) or not issubclass(callback, (Callback, *kinds)):
        return callback
    try:
        return callback()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    except Exception as error:
        raise ValueError(
            f"{name} cannot be made without arguments: {error_text(error)}; name an object that is "
            "made of it in your module"
        ) from error


class EarlyStopping(Callback):
    """Stop a run when evaluations against the first of `eval_opponents` no longer improve."""

    def __init__(self, patience: int) -> None:
        """`patience` is a number of evaluations."""
        self.patience = patience

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        opponent = run.settings.eval_opponents[0]
        by_decisions: dict[int, list[float]] = {}
        for result in run.evaluations:
            if result.opponent == opponent:
                by_decisions.setdefault(result.decisions, []).append(result.win_rate)
        # The mean over rule sets.
        win_rates = [sum(rates) / len(rates) for rates in by_decisions.values()]
        if not win_rates:
            return
        without_improvement = len(win_rates) - 1 - win_rates.index(max(win_rates))
        if without_improvement >= self.patience:
            run.stop(
                f"the best win rate against {opponent}, {100 * max(win_rates):.1f} %, is "
                f"{without_improvement} evaluations ago"
            )
