"""Optuna as sweeps use it: studies, samplers and pruners by name, and pruning of runs."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from statistics import fmean
from typing import Any

from ...common.suggestions import suggest
from ...common.typed_settings import SettingsError
from ...engine.rng import secret_of_seed
from ...evaluation.statistics import Estimate
from ..callbacks.base import Callback, TrainingRun
from ..checkpoint import EvaluationResult


def optuna_here() -> Any:
    """Optuna, if it is installed."""
    try:
        import optuna
    except ImportError:
        raise ValueError("sweeps need optuna, which is not installed: pip install "
                         "'german-whist[sweep]'") from None  # fmt: skip
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def study_at(place: str, name: str, **parts: Any) -> Any:
    """A study by its name, made if it is not there: in a database, or in a journal's file."""
    return optuna_here().create_study(
        storage=_storage(place), study_name=name, direction="maximize", load_if_exists=True,
        **parts,
    )  # fmt: skip


def _storage(place: str) -> Any:
    if "://" in place:
        return place
    journal = optuna_here().storages.journal
    lock = journal.JournalFileOpenLock(place)
    return journal.JournalStorage(journal.JournalFileBackend(place, lock))


def trial_state(name: str) -> Any:
    """Optuna's state of a trial by its name."""
    return optuna_here().trial.TrialState[name]


def trials_in(study: Any, *states: str) -> list[Any]:
    """The trials of a study that are in one of these states."""
    return study.get_trials(deepcopy=False, states=[*map(trial_state, states)])


def _class_named(what: str, name: str) -> Any:
    """The class of a `sampler` or `pruner` of Optuna's by name."""
    module, ending = getattr(optuna_here(), f"{what}s"), what.capitalize()
    known = {
        each.removesuffix(ending): getattr(module, each)
        for each in dir(module) if each.endswith(ending) and each != f"Base{ending}"
    }  # fmt: skip
    by_lower = {each.lower(): kind for each, kind in known.items()}
    kind = by_lower.get(name.lower().removesuffix(what))
    if kind is None:
        raise SettingsError(f"{what} is {name!r}, which is none of Optuna's{suggest(name, known)}")
    needed = [
        each.name for each in signature(kind).parameters.values()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]  # fmt: skip
    if needed:
        raise SettingsError(f"{what} is {name!r}, which needs more than a name: {needed[0]}")
    return kind


def pruner_named(name: str) -> Any:
    """A pruner by name."""
    return _class_named("pruner", name)()


def numbered_sampler(name: str, seed: int) -> Any:
    """A sampler by name, seeded anew for each trial by its number.

    So no trial is drawn twice by a sweep that goes on, or by processes that share it.
    """
    kind = _class_named("sampler", name)
    seeded = "seed" in signature(kind).parameters

    class Numbered(kind):
        def before_trial(self, study: Any, trial: Any) -> None:
            if seeded:
                secret = secret_of_seed(seed, f"trial {trial.number}")
                kind.__init__(self, seed=int.from_bytes(secret[:4], "little"))
            super().before_trial(study, trial)

    return Numbered()


def mean_win_rate(found: Sequence[EvaluationResult], against: Sequence[str]) -> Estimate:
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


class Pruning(Callback):
    """Reports every evaluation to Optuna, and ends the run when the pruner doc so.

    It finds its trial in the storage, so that it can be sent to another process.
    """

    def __init__(self, storage: str, study: str, pruner: str, trial: int) -> None:
        self._storage, self._study, self._pruner, self._trial_id = storage, study, pruner, trial
        self._trial: Any = None

    def on_start(self, run: TrainingRun) -> None:
        """Find the trial."""
        optuna = optuna_here()
        try:
            study = optuna.load_study(
                study_name=self._study, storage=_storage(self._storage),
                pruner=pruner_named(self._pruner),
            )  # fmt: skip
        except (KeyError, OSError):
            raise ValueError(
                f"{self._storage} does not hold the sweep here: give a --storage that every "
                "machine of the cluster reaches"
            ) from None
        self._trial = optuna.trial.Trial(study, self._trial_id)

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        """Report the mean of the win rates."""
        trial, decisions = self._trial, run.trainer.decisions
        if trial is None or decisions >= run.settings.decisions:
            return
        trial.report(mean_win_rate(results, run.settings.eval_opponents).value, decisions)
        if trial.should_prune():
            self._trial = None
            trial.set_user_attr("pruned", True)
            run.stop("the sweep expects nothing of it")
