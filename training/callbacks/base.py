"""Callbacks: who is told of a run, in its order, and may stop it.

The display, the tables, the page, TensorBoard and early stopping are callbacks, and so is
what somebody names in the setting `callbacks`: by name, as `package.module:object`, or
through the entry-point group `german_whist.callbacks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ...common.plugins import Registry, error_location, error_text
from ..checkpoint import Measured
from ..settings import Settings


class Counts(Protocol):
    """How far a trainer is."""

    decisions: int
    hands: int


class Watched(Protocol):
    """What a callback sees of a run."""

    settings: Settings

    @property
    def seconds(self) -> float:
        """Time spent in the run, earlier sessions included."""
        ...

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Metrics of every iteration."""
        ...

    @property
    def folder(self) -> Path:
        """Where it is."""
        ...

    @property
    def trainer(self) -> Counts:
        """What trains."""
        ...

    @property
    def measured(self) -> Sequence[Measured]:
        """What it was measured at."""
        ...

    def say(self, text: str) -> None:
        """Tell people a sentence."""
        ...

    def stop(self, why: str) -> None:
        """End the run after this iteration, with a last checkpoint; `why` is told."""
        ...


class Callback:
    """Is told of a run; overrides what it wants to know. `run.stop(why)` ends the run."""

    def on_start(self, run: Watched) -> None:
        """A session of the run begins: the first, or one that goes on."""

    def on_iteration(self, run: Watched, told: Mapping[str, float]) -> None:
        """An iteration is over; `told` are its figures, as they stand in `progress.csv`."""

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """A checkpoint was measured."""

    def on_checkpoint(self, run: Watched, path: Path) -> None:
        """A checkpoint was written."""

    def on_saved(self, run: Watched) -> None:
        """The state was saved, from which the run can go on."""

    def on_text(self, run: Watched, text: str) -> None:
        """The run has something to tell people."""

    def on_end(self, run: Watched) -> None:
        """The session is over, however it ended."""


class CallbackFailed(Exception):
    """A callback of another package raised; nothing of the training is lost."""


class CallbackList(Callback):
    """Calls several callbacks in order; a failing one is reported by its name and the place."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = callbacks

    def on_start(self, run: Watched) -> None:
        """A session of the run begins."""
        for callback in self.callbacks:
            _call(callback.on_start, run)

    def on_iteration(self, run: Watched, told: Mapping[str, float]) -> None:
        """An iteration is over."""
        for callback in self.callbacks:
            _call(callback.on_iteration, run, told)

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """A checkpoint was evaluated."""
        for callback in self.callbacks:
            _call(callback.on_measured, run, found)

    def on_checkpoint(self, run: Watched, path: Path) -> None:
        """A checkpoint was written."""
        for callback in self.callbacks:
            _call(callback.on_checkpoint, run, path)

    def on_saved(self, run: Watched) -> None:
        """The state was saved."""
        for callback in self.callbacks:
            _call(callback.on_saved, run)

    def on_text(self, run: Watched, text: str) -> None:
        """The run reports a sentence."""
        for callback in self.callbacks:
            _call(callback.on_text, run, text)

    def on_end(self, run: Watched) -> None:
        """The session is over."""
        for callback in self.callbacks:
            _call(callback.on_end, run)


def _call(event: Callable[..., None], *given: object) -> None:
    try:
        event(*given)
    except Exception as error:
        kind = type(event.__self__)  # type: ignore[attr-defined]
        # A fault of our own callbacks is a fault of the program: with its traceback.
        if kind.__module__.startswith(f"{__name__.partition('.')[0]}."):
            raise
        raise CallbackFailed(
            f"the callback {kind.__name__} raised {error_text(error)} ({error_location(error)}) in "
            f"{event.__name__}"
        ) from error


CALLBACKS = Registry("german_whist.callbacks", "callback")
CALLBACKS.add("mlflow", f"{__package__}.loggers:MLflow", "writes the run to MLflow")
CALLBACKS.add("wandb", f"{__package__}.loggers:WandB", "writes the run to Weights & Biases")


def named_callback(name: str) -> object:
    """The callback that a name stands for: an object as it is, or what one makes when called."""
    try:
        found = CALLBACKS.find(name)
    except ValueError as error:
        raise ValueError(f"callbacks: {error}") from None
    if isinstance(found, Callback) or not callable(found):
        return found
    try:
        return found()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    except Exception as error:
        raise ValueError(
            f"{name} cannot be made without arguments: {error_text(error)}; name a function that "
            "makes the callback with those it needs"
        ) from error


class EarlyStopping(Callback):
    """Stop a run when evaluations against an opponent no longer improve."""

    def __init__(self, patience: int, opponent: str | None = None) -> None:
        """Stop after `patience` evaluations without improvement, by default against the first of
        `eval_opponents`."""
        self.patience, self.opponent = patience, opponent

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """See when the best was."""
        opponent = self.opponent or run.settings.eval_opponents[0]
        by_time: dict[int, list[float]] = {}
        for each in run.measured:
            if each.opponent == opponent:
                by_time.setdefault(each.decisions, []).append(each.win_rate)
        # Of several rule sets the mean.
        rates = [sum(some) / len(some) for some in by_time.values()]
        if not rates:
            return
        since = len(rates) - 1 - rates.index(max(rates))
        if since >= self.patience:
            run.stop(
                f"against {opponent} nothing was better in {since} measurements than "
                f"{100 * max(rates):.1f} %"
            )
