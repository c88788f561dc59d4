"""Searching for settings: a sweep trains again and again, and keeps what plays best.

Optuna chooses and prunes; its storage keeps the trials, so that a sweep goes on, and so that
processes and machines that share a storage share the work. At its end the best few are measured
again on fresh deals, and the best of these becomes a preset.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...agents.checkpoints.checkpoint import find_checkpoint
from ...common.executors import LOCAL, check_backend
from ...common.executors.executor import MAX_DEATHS
from ...common.executors.processes import is_alive
from ...common.files import atomic_write
from ...common.serialization import JsonStruct
from ...common.settings_files import format_overrides
from ...common.signals import UNSTABLE, RunStopped
from ...evaluation.formats import percent_with_interval
from ...evaluation.statistics import Estimate
from ..callbacks.evaluation import EVALUATION_SEED, evaluate_checkpoint
from ..checkpoint import load_state
from ..runs.api import train_or_go_on
from ..runs.presets import settings_from
from ..runs.store import STATE
from ..settings import Settings
from .optuna_study import (
    Pruning,
    mean_win_rate,
    numbered_sampler,
    optuna_here,
    pruner_named,
    study_at,
    trial_state,
    trials_in,
)
from .search_space import Sweep, base_settings, chosen_settings, distribution
from .separate_runs import Say, Training, threads_each, train_apart

BEST, TRIALS, JOURNAL = "best.yaml", "trials", "optuna.log"
_FRESH_SEED = EVALUATION_SEED + 1
"""Of the deals that finalists are measured on; the best of them is once more, on the next."""


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


class Swept(JsonStruct, frozen=True, kw_only=True):
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
    here = workers == 1 and check_backend(on) == LOCAL
    base = base_settings(sweep, beside or Path())
    space = {name: distribution(base, name, wanted) for name, wanted in sweep.space.items()}
    storage = sweep.storage or str((folder / JOURNAL).resolve())
    sampler, pruner = numbered_sampler(sweep.sampler, sweep.seed), pruner_named(sweep.pruner)
    folder.mkdir(parents=True, exist_ok=True)
    study = study_at(storage, folder.name, sampler=sampler, pruner=pruner)
    while (left := sweep.trials - len(trials_in(study, "COMPLETE", "PRUNED"))) > 0:
        count = min(workers, left)
        trials = _interrupted(study, say)[:count]
        trials += [study.ask(space) for _ in range(count - len(trials))]
        trainings: list[Training] = []
        for trial in trials:
            place = folder / TRIALS / str(trial.number)
            settings = settings_from({**base.as_mapping(), **chosen_settings(trial)})
            pruning = Pruning(storage, folder.name, sweep.pruner, trial._trial_id)
            name = f"trial {trial.number}"
            trainings.append(Training(name, place, settings.as_mapping(), callbacks=(pruning,)))
            times = trial.user_attrs.get("process", (0, 0, 0))[2] + 1
            trial.set_user_attr("process", (socket.gethostname(), os.getpid(), times))
            say(f"{name} begins: {place}")
        try:
            # One at a time needs no process of its own, which would have to start.
            codes = [_train_here(trainings[0], say)] if here else _train(trainings, on, say)
            for trial, training, code in zip(trials, trainings, codes, strict=True):
                _report(study, trial, training, code, say)
            if failed := [code for code in codes if code not in (0, UNSTABLE)]:
                raise RunStopped("not all trials came to their ends", max(failed))
        except Exception as error:
            # What a signal ended is still under way: the next command goes on with it.
            if getattr(error, "status", 1) < 128:
                for trial in trials:
                    study.tell(trial, state=trial_state("FAIL"), skip_if_finished=True)
            raise
    return _result(study, sweep, base, folder, say)


def _interrupted(study: Any, say: Say) -> list[Any]:
    """Trials of processes of this machine that are gone; one that was often broken off fails.

    Optuna's heartbeat would tell this in a database only, and would begin such a trial anew.
    """
    trials: list[Any] = []
    for frozen in trials_in(study, "RUNNING"):
        host, pid, times = frozen.user_attrs.get("process", ("", 0, 0))
        if host != socket.gethostname() or (pid != os.getpid() and is_alive(pid)):
            continue
        if times < MAX_DEATHS:
            trials.append(optuna_here().trial.Trial(study, frozen._trial_id))
        else:
            study.tell(frozen.number, state=trial_state("FAIL"))
            say(f"trial {frozen.number} is given up, since it was broken off {times} times")
    return trials


def _train_here(training: Training, say: Say) -> int:
    """Train in this process; the exit status."""
    try:
        train_or_go_on(
            settings_from(training.settings), training.folder, quiet=True,
            callbacks=training.callbacks,
        )  # fmt: skip
    except RunStopped as stopped:
        if stopped.status != UNSTABLE:
            raise
        say(str(stopped))
        return UNSTABLE
    return 0


def _train(trainings: Sequence[Training], on: str, say: Say) -> list[int]:
    """Train side by side in other processes; the exit statuses."""
    usual = threads_each(len(trainings), on)
    shared = []
    for training in trainings:
        threads = training.settings["threads"] or usual
        settings = {**training.settings, "threads": threads}
        shared.append(
            replace(training, settings=settings, words=format_overrides({"threads": threads}))
        )
    return train_apart(shared, on, say)


def _report(study: Any, trial: Any, training: Training, code: int, say: Say) -> None:
    """Tell Optuna the result of a trial that is over; one that failed has none."""
    if code not in (0, UNSTABLE):
        return
    if code or "pruned" in study.get_trials(deepcopy=False)[trial.number].user_attrs:
        study.tell(trial, state=trial_state("PRUNED"))
        result = "was ended early"
    else:
        _, state = load_state(training.folder / STATE)
        last = max(each.decisions for each in state.measured)
        matches = [each for each in state.measured if each.decisions == last]
        rate = mean_win_rate(matches, training.settings["eval_opponents"])
        trial.set_user_attr("half_width", rate.half_width)
        study.tell(trial, rate.value)
        result = f"won {percent_with_interval(rate)}"
    say(f"{training.name} {result}: {' '.join(format_overrides(chosen_settings(trial)))}")


def _result(study: Any, sweep: Sweep, base: Settings, folder: Path, say: Say) -> Swept:
    """The best trials, measured again: the highest of noisy figures is too high, on its deals."""

    def fresh(number: int, seed: int) -> Estimate:
        path = find_checkpoint(folder / TRIALS / str(number))
        found = evaluate_checkpoint(
            path, sweep.against, sweep.hands, seed=seed, against_earlier=False
        )
        return mean_win_rate(found.results, sweep.against)

    done = sorted(trials_in(study, "COMPLETE"), key=lambda each: -each.value)
    finalists: list[Finalist] = []
    for each in done[: sweep.finalists]:
        if not (folder / TRIALS / str(each.number)).exists():
            say(f"trial {each.number} was trained elsewhere: it is not measured again")
            continue
        rate = fresh(each.number, _FRESH_SEED)
        finalists.append(Finalist(each.number, rate.value, rate.half_width, chosen_settings(each)))
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
    about = (
        f"the best of {len(done)} trials, {percent_with_interval(found.confirmed)} on fresh deals"
    )
    if found.ties:
        about += f", not told from trial {' or '.join(map(str, found.ties))}"
    preset = settings_from({**base.as_mapping(), **found.best.settings, "about": about})
    with atomic_write(folder / BEST, "w") as file:
        file.write(preset.as_yaml())
    return found
