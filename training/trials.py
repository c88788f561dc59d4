"""Trials of a sweep: trained in this process or in others, and ended where they promise nothing.

What is trained apart is told what trials before it came to, and so is ended where it would be
here. Trials that are trained side by side know nothing of each other: whatever comes first, and
wherever they are trained, they come to the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from ..engine.executors import LOCAL
from ..engine.words import meant
from .arena.intervals import Estimate
from .callbacks import Callback, Watched
from .checkpoint import Measured, load_state
from .run import STATE
from .separate_runs import Say, Training, known_beside, threads_each, train_apart
from .settings import Settings, SettingsError
from .stopping import UNSTABLE, Stopped

TRIALS = "trials"


class Outcome(NamedTuple):
    """What a trial came to."""

    value: Estimate | None
    """Its mean win rate; None where it was ended early."""
    failed: Stopped | None = None
    """What it failed of, which ends the sweep."""


class Tries(Protocol):
    """Who trains trials."""

    def tried(self, asked: Sequence[Any], wanted: Sequence[Settings]) -> Iterator[Outcome]:
        """Train Optuna's trials with these settings; what they came to, in order."""
        ...


def tries_of(
    study: Any, pruner: str, folder: Path, against: Sequence[str], say: Say, workers: int, on: str
) -> Tries:
    """Trials in this process, or so many side by side in others."""
    if workers == 1 and on == LOCAL:
        return _Here(folder, against, say)
    return _Apart(study, pruner, folder, against, say, on)


class _Here:
    """Trials in this process."""

    def __init__(self, folder: Path, against: Sequence[str], say: Say) -> None:
        self._folder, self._against, self._say = folder, against, say

    def tried(self, asked: Sequence[Any], wanted: Sequence[Settings]) -> Iterator[Outcome]:
        """Train them one by one."""
        for one, settings in zip(asked, wanted, strict=True):
            yield self._tried(one, settings)

    def _tried(self, one: Any, settings: Settings) -> Outcome:
        from .session import train

        watching = Pruning(one, self._against)
        place = self._folder / TRIALS / str(one.number)
        self._say(f"trial {one.number} begins: {place}")
        try:
            trained = train(settings, folder=place, callbacks=[watching], quiet=True)
        except Stopped as stopped:
            if stopped.status == UNSTABLE:
                self._say(str(stopped))
                return Outcome(None)
            return Outcome(None, stopped)
        return _outcome(trained.measured, trained.decisions, settings, self._against)


class _Apart:
    """Trials in processes of their own, here or on a cluster, side by side."""

    def __init__(
        self, study: Any, pruner: str, folder: Path, against: Sequence[str], say: Say, on: str
    ) -> None:
        self._study, self._pruner, self._folder, self._against = study, pruner, folder, against
        self._say, self._on = say, on

    def tried(self, asked: Sequence[Any], wanted: Sequence[Settings]) -> Iterator[Outcome]:
        """Train all at once."""
        threads = threads_each(len(asked), self._on)
        trainings: list[Training] = []
        for one, settings in zip(asked, wanted, strict=True):
            told = msgspec.structs.replace(
                settings,
                threads=settings.threads or threads,
                callbacks=(*settings.callbacks, f"{__name__}:PruningApart"),
            )
            name, place = f"trial {one.number}", self._folder / TRIALS / str(one.number)
            known = _known_of(self._study, one.number, self._pruner, self._against)
            self._say(f"{name} begins: {place}")
            trainings.append(Training(name, place, told.as_mapping(), known=known))
        codes = train_apart(trainings, self._on, self._say)
        for one, settings, code in zip(asked, wanted, codes, strict=True):
            yield self._came_to(one, settings, code)

    def _came_to(self, one: Any, settings: Settings, code: int) -> Outcome:
        if code == UNSTABLE:
            return Outcome(None)
        if code:
            return Outcome(None, Stopped(f"trial {one.number} did not come to its end", code))
        _, state = load_state(self._folder / TRIALS / str(one.number) / STATE)
        last = max((each.decisions for each in state.measured), default=0)
        for decisions, rate in _reports(state.measured, self._against):
            if decisions < last:
                # The pruner keeps what it will ask of later ones.
                one.report(rate, decisions)
                one.should_prune()
        return _outcome(state.measured, last, settings, self._against)


def _outcome(
    measured: Sequence[Measured], decisions: int, settings: Settings, against: Sequence[str]
) -> Outcome:
    if decisions < settings.decisions:
        return Outcome(None)
    last = [each for each in measured if each.decisions == decisions]
    return Outcome(mean_win_rate(last, against))


def mean_win_rate(found: Sequence[Measured], against: Sequence[str]) -> Estimate:
    """The mean win rate against the opponents, with a 95 % interval that may be too wide.

    All of them are met on the same deals, so that their results are correlated. However strongly
    they are, the mean of the half widths is enough.
    """
    matches = [each for each in found if each.opponent in against]
    if len(matches) < len(set(against)):
        raise SettingsError(f"not all of {', '.join(against)} could be played")
    value = fmean(each.win_rate for each in matches)
    half_width = fmean(each.half_width for each in matches)
    return Estimate(value, value - half_width, value + half_width)


def _reports(measured: Sequence[Measured], against: Sequence[str]) -> Iterator[tuple[int, float]]:
    """The mean of the win rates at each measurement."""
    for decisions in dict.fromkeys(each.decisions for each in measured):
        found = [each for each in measured if each.decisions == decisions]
        yield decisions, mean_win_rate(found, against).value


class Pruning(Callback):
    """Tells Optuna of every measurement, and ends the run when it says so."""

    def __init__(self, trial: Any, against: Sequence[str]) -> None:
        self._trial, self._against = trial, against
        self._pruned = False

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """Report the mean of the win rates."""
        if run.trainer.decisions >= run.settings.decisions or self._pruned:
            return
        self._trial.report(mean_win_rate(found, self._against).value, run.trainer.decisions)
        if self._trial.should_prune():
            self._pruned = True
            run.stop("the sweep expects nothing of it")


# -- in other processes


class _Before(Struct):
    """A trial that is over, as pruners see it."""

    state: str
    value: float | None
    reports: dict[int, float]
    attributes: dict[str, Any]


class _Known(Struct):
    """What a process has to know to end a trial early."""

    study: str
    pruner: str
    against: list[str]
    before: list[_Before]


def _known_of(study: Any, number: int, pruner: str, against: Sequence[str]) -> bytes:
    """What trials below a number came to."""
    before = [
        _Before(each.state.name, each.value, each.intermediate_values, each.system_attrs)
        for each in sorted(study.get_trials(deepcopy=False), key=lambda each: each.number)
        if each.number < number
    ]
    return msgspec.json.encode(_Known(study.study_name, pruner, [*against], before))


class PruningApart(Callback):
    """The same in a process that knows of other trials what lies beside its run's folder."""

    def __init__(self) -> None:
        self._pruning: Pruning | None = None

    def on_start(self, run: Watched) -> None:
        """Make the trials that were before this one, in memory."""
        path = known_beside(run.folder)
        if not path.exists():
            return
        optuna = optuna_here()
        known = msgspec.json.decode(path.read_bytes(), type=_Known)
        pruner = made_by_optuna(optuna.pruners, known.pruner, "Pruner")
        study = optuna.create_study(study_name=known.study, direction="maximize", pruner=pruner)
        for each in known.before:
            study.add_trial(
                optuna.trial.create_trial(
                    state=optuna.trial.TrialState[each.state], value=each.value,
                    intermediate_values=each.reports, system_attrs=each.attributes,
                )
            )  # fmt: skip
        trial = study.ask()
        for decisions, rate in _reports(run.measured, known.against):
            trial.report(rate, decisions)
        self._pruning = Pruning(trial, known.against)

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """Report the mean of the win rates."""
        if self._pruning is not None:
            self._pruning.on_measured(run, found)


# -- Optuna


def made_by_optuna(module: Any, name: str, kind: str, **more: Any) -> Any:
    """A sampler or pruner of Optuna's by name."""
    known = {each.removesuffix(kind): each for each in dir(module) if each.endswith(kind)}
    known.pop("Base", None)
    short = {each.lower(): each for each in known}.get(name.lower().removesuffix(kind.lower()))
    if short is None:
        raise SettingsError(f"{kind.lower()} is {name!r}, which is none of Optuna's"
                            f"{meant(name, known)}")  # fmt: skip
    try:
        return getattr(module, known[short])(**more)
    except TypeError:
        pass
    try:
        return getattr(module, known[short])()
    except TypeError as error:
        raise SettingsError(
            f"{kind.lower()} is {name!r}, which needs more than a name: {error}"
        ) from None


def optuna_here() -> Any:
    """Optuna, if it is installed."""
    try:
        import optuna
    except ImportError:
        raise ValueError("sweeps need optuna, which is not installed: pip install "
                         "'german-whist[sweep]'") from None  # fmt: skip
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
