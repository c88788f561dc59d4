"""Searching for settings: a sweep trains again and again, and keeps what plays best.

A sweep is a YAML file: a preset or settings to begin with, a space of settings to try, and players
to be measured against. Optuna chooses and prunes; its storage keeps the trials, so that a sweep
goes on, and so that processes and machines that share a storage share the work. At its end the best
few are measured again on fresh deals, and the best of these becomes a preset.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import msgspec
import yaml
from msgspec import Struct

from ...agents.checkpoints.checkpoint import find_checkpoint
from ...common.executors import LOCAL, check_place
from ...common.executors.executor import MOST_DEATHS
from ...common.executors.processes import is_alive
from ...common.files import read_yaml_mapping, written_whole
from ...common.serialization import Told
from ...common.settings_files import made, words_of
from ...common.signals import UNSTABLE, Stopped
from ...common.suggestions import meant
from ...common.typed_settings import (
    AboveNothing,
    Checked,
    Count,
    Hands,
    Names,
    Seed,
    SettingsError,
    says,
    written,
)
from ...engine.rng import secret_of_seed
from ...evaluation.formats import percent_with_reach
from ...evaluation.statistics import Estimate
from ..callbacks.base import Callback, Watched
from ..callbacks.evaluation import MEASURING_SEED, measure
from ..checkpoint import Measured, load_state
from ..runs.api import train_or_go_on
from ..runs.presets import PRESETS, settings_from
from ..runs.store import STATE
from ..settings import Settings
from .separate_runs import Say, Training, known_beside, threads_each, train_apart

BEST, TRIALS, JOURNAL = "best.yaml", "trials", "optuna.log"
_FRESH_SEED = MEASURING_SEED + 1
"""Of the deals that finalists are measured on; the best of them is once more, on the next."""


class Between(Checked, frozen=True, kw_only=True):
    """A number to be chosen between two others."""

    low: Annotated[float, says("The least there may be.")]
    high: Annotated[float, says("The most.")]
    log: Annotated[bool, says("Whether orders of magnitude are equally likely.")] = False
    step: Annotated[AboveNothing | None, says("What lies between two choices.")] = None


class Sweep(Checked, frozen=True, kw_only=True):
    """What is tried, and how what came of it is measured."""

    preset: Annotated[
        str, says("What the settings begin with: a preset, or the path of a file.")
    ] = "quick"
    settings: Annotated[dict[str, Any], says("Settings over it, the same in every trial.")] = (
        msgspec.field(default_factory=dict[str, Any])
    )
    space: Annotated[
        dict[str, Between | list[Any]],
        says("Settings to be chosen: between `low` and `high`, or out of a list.", min_length=1),
    ]
    against: Annotated[Names, says("Whom the mean win rate is measured against.", min_length=1)] = (
        "threshold",
    )
    trials: Annotated[
        Count, says("In all, those of other machines and of earlier sessions included.")
    ] = 20
    finalists: Annotated[
        Count,
        says("How many of the best are measured again, on fresh deals, to choose among them."),
    ] = 4
    hands: Annotated[
        Hands, says("Against each opponent, when the finalists are measured again.")
    ] = 10_000
    sampler: Annotated[str, says("Optuna's, by name: `TPE`, `Random`, `CmaEs`, `QMC`, `GP`.")] = (
        "TPE"
    )
    pruner: Annotated[
        str,
        says("Optuna's, by name: `Median`, `Nop`, `Hyperband`, `SuccessiveHalving`, `Percentile`."),
    ] = "Median"
    seed: Annotated[Seed, says("Of what the sampler draws.")] = 0
    storage: Annotated[
        str, says("A database's URL or a journal's path; by default a journal in the folder.")
    ] = ""


class Finalist(Struct, frozen=True):
    """One of a sweep's best trials, measured again on deals that did not choose it."""

    number: int
    """Of the trial."""
    value: float
    """Its mean win rate on fresh deals."""
    half_width: float
    """Of the 95 % interval."""
    settings: dict[str, Any]

    def ties(self, best: Finalist) -> bool:
        """Whether the difference to the best may be chance, as two intervals side by side tell.

        Both play the same deals, which can only bring their results closer together.
        """
        return best.value - self.value < math.hypot(best.half_width, self.half_width)

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} ± {100 * self.half_width:.1f} %"


class Swept(Told, frozen=True, kw_only=True):
    """Results of a sweep."""

    folder: Path
    finalists: list[Finalist]
    """The best trials, measured again on fresh deals, the best of them first."""
    study: Any
    """Optuna's, with every trial."""
    confirmed: Estimate
    """The mean win rate of the best on deals by which nothing was chosen."""

    @property
    def best(self) -> Finalist:
        """The finalist whose settings are in `best.yaml`."""
        return self.finalists[0]

    @property
    def ties(self) -> list[int]:
        """The numbers of the finalists that cannot be told from the best."""
        return [each.number for each in self.finalists[1:] if each.ties(self.best)]

    def frame(self) -> Any:
        """The trials as a `pandas.DataFrame`, as Optuna makes it."""
        return self.study.trials_dataframe()


def load_sweep(path: str | Path) -> Sweep:
    """A sweep from a YAML file, everything in it checked."""
    values = read_yaml_mapping(Path(path))
    if isinstance(space := values.get("space"), dict):
        values["space"] = {
            name: _choice(each, f"{path}: space: {name}") for name, each in space.items()
        }
    found = made(Sweep, values, str(path), "a part of a sweep")
    base = _base(found, Path(path).parent)
    known = base.__struct_fields__
    for name, wanted in found.space.items():
        if name not in known:
            raise SettingsError(
                f"{path}: space: {name!r} is not a setting of {base.trainer}{meant(name, known)}"
            )
        try:
            _distribution(base, name, wanted)
        except ValueError as error:
            raise SettingsError(f"{path}: space: {name}: {error}") from None
        whole = isinstance(wanted, Between) and _whole(base, name)
        for choice in wanted if isinstance(wanted, list) else [wanted.low, wanted.high]:
            value = int(choice) if whole else choice
            settings_from({**base.as_mapping(), name: value}, f"{path}: space")
    return found


def _choice(value: Any, source: str) -> Any:
    if isinstance(value, dict):
        return made(Between, value, source, "a part of a range")
    if not isinstance(value, list):
        raise SettingsError(f"{source} is {value!r}: give `low` and `high`, or a list")
    return value


def _base(sweep: Sweep, folder: Path) -> Settings:
    preset = sweep.preset
    if not Path(preset).is_absolute() and (folder / preset).is_file():
        preset = str(folder / preset)
    measured = {
        "yardsticks": list(sweep.against), "final_yardsticks": [], "about": "a trial of a sweep",
        "measuring": "here",
    }  # fmt: skip
    values, source = PRESETS.values(preset)
    return settings_from({**values, **measured, **sweep.settings}, source)


def _whole(base: Settings, name: str) -> bool:
    value = getattr(base, name)
    return isinstance(value, int) and not isinstance(value, bool)


def _distribution(base: Settings, name: str, wanted: Between | list[Any]) -> Any:
    """Optuna's distribution of a setting; it keeps plain values alone, so the rest as YAML."""
    distributions = optuna_here().distributions
    if isinstance(wanted, list):
        return distributions.CategoricalDistribution([*map(written, wanted)])
    if not _whole(base, name):
        return distributions.FloatDistribution(wanted.low, wanted.high, wanted.log, wanted.step)
    return distributions.IntDistribution(
        int(wanted.low), int(wanted.high), wanted.log, int(wanted.step or 1)
    )


def _chosen(trial: Any) -> dict[str, Any]:
    """The settings that a trial draws."""
    params: dict[str, Any] = trial.params
    return {
        name: yaml.safe_load(value) if isinstance(value, str) else value
        for name, value in params.items()
    }


def run_sweep(
    sweep: Sweep,
    folder: Path,
    beside: Path | None = None,
    say: Say = print,
    *,
    workers: int = 1,
    on: str = LOCAL,
) -> Swept:
    """Try settings until there are as many trials as the sweep wants; goes on where it was.

    `beside` is the folder that paths in the sweep start from. So many `workers` try settings side
    by side, `on` this machine or a cluster of Ray; the next are chosen when all are done.
    """
    if workers < 1:
        raise ValueError(
            f"workers is {workers}: it has to be at least 1, or 0 for one on each core"
        )
    here = workers == 1 and check_place(on) == LOCAL
    base = _base(sweep, beside or Path())
    space = {name: _distribution(base, name, wanted) for name, wanted in sweep.space.items()}
    storage = sweep.storage or str((folder / JOURNAL).resolve())
    sampler, pruner = _sampler(sweep), _made("pruner", sweep.pruner)()
    folder.mkdir(parents=True, exist_ok=True)
    study = optuna_here().create_study(
        storage=_storage(storage), study_name=folder.name, direction="maximize",
        load_if_exists=True, sampler=sampler, pruner=pruner,
    )  # fmt: skip
    while (left := sweep.trials - len(_of_states(study, "COMPLETE", "PRUNED"))) > 0:
        count = min(workers, left)
        trials = _broken_off(study, say)[:count]
        trials += [study.ask(space) for _ in range(count - len(trials))]
        wanted = [settings_from({**base.as_mapping(), **_chosen(each)}) for each in trials]
        places = [folder / TRIALS / str(each.number) for each in trials]
        for trial, place in zip(trials, places, strict=True):
            times = trial.user_attrs.get("process", (0, 0, 0))[2] + 1
            trial.set_user_attr("process", (socket.gethostname(), os.getpid(), times))
            say(f"trial {trial.number} begins: {place}")
        try:
            if here:
                codes = [_trained(trials[0], wanted[0], places[0], say)]
            else:
                known = [
                    _Known(storage, folder.name, sweep.pruner, each._trial_id) for each in trials
                ]
                codes = _trained_apart(known, wanted, places, on, say)
            for trial, settings, place, code in zip(trials, wanted, places, codes, strict=True):
                _tell(study, trial, settings, place, code, say)
            if failed := [code for code in codes if code not in (0, UNSTABLE)]:
                raise Stopped("not all trials came to their ends", max(failed))
        except Exception as error:
            # What a signal ended is still under way: the next command goes on with it.
            if getattr(error, "status", 1) < 128:
                for trial in trials:
                    study.tell(trial, state=_state("FAIL"), skip_if_finished=True)
            raise
    return _result(study, sweep, base, folder, say)


def _broken_off(study: Any, say: Say) -> list[Any]:
    """Trials of processes of this machine that are gone; one that was often broken off fails."""
    found: list[Any] = []
    for each in _of_states(study, "RUNNING"):
        host, pid, times = each.user_attrs.get("process", ("", 0, 0))
        if host != socket.gethostname() or (pid != os.getpid() and is_alive(pid)):
            continue
        if times < MOST_DEATHS:
            found.append(optuna_here().trial.Trial(study, each._trial_id))
        else:
            study.tell(each.number, state=_state("FAIL"))
            say(f"trial {each.number} is given up, since it was broken off {times} times")
    return found


def _trained(trial: Any, settings: Settings, place: Path, say: Say) -> int:
    """Train in this process; the exit status."""
    try:
        train_or_go_on(settings, place, quiet=True, callbacks=[Pruning(trial)])
    except Stopped as stopped:
        if stopped.status != UNSTABLE:
            raise
        say(str(stopped))
        return UNSTABLE
    return 0


def _trained_apart(
    known: Sequence[_Known], wanted: Sequence[Settings], places: Sequence[Path], on: str, say: Say
) -> list[int]:
    """Train side by side in other processes; the exit statuses."""
    threads, trainings = threads_each(len(wanted), on), list[Training]()
    for told, settings, place in zip(known, wanted, places, strict=True):
        changed = {
            "threads": settings.threads or threads,
            "callbacks": [*settings.callbacks, f"{__name__}:Pruning"],
        }
        trainings.append(
            Training(
                f"trial {place.name}", place, {**settings.as_mapping(), **changed},
                words_of(changed), msgspec.json.encode(told),
            )
        )  # fmt: skip
    return train_apart(trainings, on, say)


def _tell(study: Any, trial: Any, settings: Settings, place: Path, code: int, say: Say) -> None:
    """Tell Optuna what a trial that is over came to."""
    if code not in (0, UNSTABLE):
        return
    if code or "pruned" in study.get_trials(deepcopy=False)[trial.number].user_attrs:
        study.tell(trial, state=_state("PRUNED"))
        value = "was ended early"
    else:
        _, state = load_state(place / STATE)
        last = max(each.decisions for each in state.measured)
        found = [each for each in state.measured if each.decisions == last]
        rate = mean_win_rate(found, settings.yardsticks)
        trial.set_user_attr("half_width", rate.half_width)
        study.tell(trial, rate.value)
        value = f"won {percent_with_reach(rate)}"
    say(f"trial {trial.number} {value}: {' '.join(words_of(_chosen(trial)))}")


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


def _result(study: Any, sweep: Sweep, base: Settings, folder: Path, say: Say) -> Swept:
    """The best trials, measured again: the highest of noisy figures is too high, on its deals."""

    def fresh(number: int, seed: int) -> Estimate:
        path = find_checkpoint(folder / TRIALS / str(number))
        found = measure(path, sweep.against, sweep.hands, seed=seed, with_past=False)
        return mean_win_rate(found.measured, sweep.against)

    done = sorted(_of_states(study, "COMPLETE"), key=lambda each: -each.value)
    finalists: list[Finalist] = []
    for each in done[: sweep.finalists]:
        if not (folder / TRIALS / str(each.number)).exists():
            say(f"trial {each.number} was trained elsewhere: it is not measured again")
            continue
        rate = fresh(each.number, _FRESH_SEED)
        finalists.append(Finalist(each.number, rate.value, rate.half_width, _chosen(each)))
        say(f"trial {each.number} on fresh deals: {finalists[-1]}")
    if not done:
        raise ValueError(
            f"{folder}: none of its {len(study.trials)} trials was trained to its end: try more, "
            "or prune less, as with pruner: Nop"
        )
    if not finalists:
        raise ValueError(
            f"none of the {len(done[: sweep.finalists])} best trials was trained in {folder}: give "
            "the same command where they were, and they are measured again"
        )
    finalists.sort(key=lambda each: -each.value)
    found = Swept(
        folder=folder, finalists=finalists, study=study,
        confirmed=fresh(finalists[0].number, _FRESH_SEED + 1),
    )  # fmt: skip
    about = f"the best of {len(done)} trials, {percent_with_reach(found.confirmed)} on fresh deals"
    if found.ties:
        about += f", not told from trial {' or '.join(map(str, found.ties))}"
    preset = settings_from({**base.as_mapping(), **found.best.settings, "about": about})
    with written_whole(folder / BEST, "w") as file:
        file.write(preset.as_yaml())
    return found


# -- Optuna


class _Known(Struct):
    """Where a training in another process finds its trial."""

    storage: str
    study: str
    pruner: str
    trial: int


class Pruning(Callback):
    """Reports every measurement to Optuna, and ends the run when the pruner says so."""

    def __init__(self, trial: Any = None) -> None:
        """Without a trial it is the one that a file beside the run's folder names."""
        self._trial = trial

    def on_start(self, run: Watched) -> None:
        """Find the trial."""
        path = known_beside(run.folder)
        if self._trial is not None or not path.exists():
            return
        known = msgspec.json.decode(path.read_bytes(), type=_Known)
        optuna = optuna_here()
        try:
            study = optuna.load_study(
                study_name=known.study, storage=_storage(known.storage),
                pruner=_made("pruner", known.pruner)(),
            )  # fmt: skip
        except (KeyError, OSError):
            raise ValueError(
                f"{known.storage} does not hold the sweep here: give a --storage that every "
                "machine of the cluster reaches"
            ) from None
        self._trial = optuna.trial.Trial(study, known.trial)

    def on_measured(self, run: Watched, found: Sequence[Measured]) -> None:
        """Report the mean of the win rates."""
        trial, decisions = self._trial, run.trainer.decisions
        if trial is None or decisions >= run.settings.decisions:
            return
        trial.report(mean_win_rate(found, run.settings.yardsticks).value, decisions)
        if trial.should_prune():
            self._trial = None
            trial.set_user_attr("pruned", True)
            run.stop("the sweep expects nothing of it")


def optuna_here() -> Any:
    """Optuna, if it is installed."""
    try:
        import optuna
    except ImportError:
        raise ValueError("sweeps need optuna, which is not installed: pip install "
                         "'german-whist[sweep]'") from None  # fmt: skip
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _storage(place: str) -> Any:
    if "://" in place:
        return place
    journal = optuna_here().storages.journal
    lock = journal.JournalFileOpenLock(place)
    return journal.JournalStorage(journal.JournalFileBackend(place, lock))


def _state(name: str) -> Any:
    return optuna_here().trial.TrialState[name]


def _of_states(study: Any, *names: str) -> list[Any]:
    return study.get_trials(deepcopy=False, states=[*map(_state, names)])


def _made(what: str, name: str) -> Any:
    """The class of a `sampler` or `pruner` of Optuna's by name."""
    module, kind = getattr(optuna_here(), f"{what}s"), what.capitalize()
    known = {
        each.removesuffix(kind): getattr(module, each)
        for each in dir(module) if each.endswith(kind) and each != f"Base{kind}"
    }  # fmt: skip
    short = {each.lower(): each for each in known}.get(name.lower().removesuffix(what))
    if short is None:
        raise SettingsError(f"{what} is {name!r}, which is none of Optuna's{meant(name, known)}")
    needed = [
        each.name for each in signature(known[short]).parameters.values()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]  # fmt: skip
    if needed:
        raise SettingsError(f"{what} is {name!r}, which needs more than a name: {needed[0]}")
    return known[short]


def _sampler(sweep: Sweep) -> Any:
    """The sampler, seeded anew for each trial by its number.

    So no trial is drawn twice by a sweep that goes on, or by processes that share it.
    """
    kind = _made("sampler", sweep.sampler)
    seeded = "seed" in signature(kind).parameters

    class Numbered(kind):
        def before_trial(self, study: Any, trial: Any) -> None:
            if seeded:
                secret = secret_of_seed(sweep.seed, f"trial {trial.number}")
                kind.__init__(self, seed=int.from_bytes(secret[:4], "little"))
            super().before_trial(study, trial)

    return Numbered()
