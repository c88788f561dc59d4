"""Hyperparameter search with Optuna: trials are trained and pruned, the best trained again.

Optuna's storage holds the trials: a sweep can be resumed, and shared by processes and machines.
Where the best trials are at a bound of the space, it is widened, and further trials follow in a
study that begins with the earlier ones. The best of noisy results is biased, so finalists are
trained again with seeds, and evaluated on deals, that selected none.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, to_builtins

from ...agents.checkpoints import find_checkpoint
from ...common.executors import LOCAL, MAX_DEATHS, check_backend
from ...common.files import file_lock, is_full_disk, read_yaml_mapping, write_file
from ...common.processor_time import processor_seconds
from ...common.serialization import JsonStruct, csv_text
from ...common.settings import (
    SettingsDoNotFit,
    SettingsError,
    check_unchanged,
    format_overrides,
    format_value,
)
from ...common.signals import (
    END_SIGNALS,
    FIRST_SIGNAL,
    FULL_DISK,
    UNSTABLE,
    RunStopped,
    is_alive,
    process_start,
)
from ...common.typing import JsonObject
from ...evaluation.statistics import Estimate, mean_of
from ..algorithms.registry import make_trainer
from ..api import train_or_resume
from ..callbacks.base import Callback, TrainingRun
from ..callbacks.evaluation import EVALUATION_SEED, evaluate_checkpoint
from ..divergence import is_divergence
from ..folder import SETTINGS, STATE
from ..presets import settings_from
from ..run_state import EvaluationResult, load_state
from ..settings import Settings
from .benchmark import sampled_exploitability
from .jobs import Job, Log, run_jobs, train_job
from .search_space import (
    BUDGET,
    Range,
    Space,
    Sweep,
    base_settings,
    bounds_reached,
    code_of_trials,
    convert_space,
    distribution,
    import_optuna,
    make_pruner,
    make_sampler,
    trial_settings,
    widened,
)

if TYPE_CHECKING:
    import pandas
    from optuna import Study, Trial
    from optuna.storages import JournalStorage
    from optuna.trial import FrozenTrial, TrialState

BEST, TRIALS, JOURNAL, TABLE = "best.yaml", "trials", "optuna.log", "trials.csv"
FINALISTS, FINALISTS_TABLE = "finalists", "finalists.csv"
"""Folder of their trainings, by trial and seed, and their results."""
_FIRST_FINAL_SEED = 1_000_001
"""Seeds of finalists, over that of the trials; benchmarks have seeds from 1 to 10,000."""
_WIDENED, _COPIED = "widened", "copied"
"""Attributes of a study: the wider space of the next, and whether all trials were copied."""
_LOCK, _CLAIMS, _FINAL_LOCK = ".widening.lock", ".claims.lock", ".finalists.lock"
_SWEEP, _PROCESS, _SECONDS = "sweep", "process", "processor_seconds"
"""Attributes of a study and of a trial: what all trials share; host, process, its starts, and
when the process began; what its training took."""
_NO_FAULT_OF_THE_TRIAL = {FULL_DISK, *(FIRST_SIGNAL + number for number in END_SIGNALS)}
"""Exit statuses after which it is resumed."""
_DOES_NOT_FIT = 5
"""Exit status of a training whose settings its trainer refuses together."""
_WITHOUT_RESULT = {UNSTABLE: "diverged", _DOES_NOT_FIT: "left out"}
"""Exit statuses of trials that are pruned, in words."""
_SECONDS_BETWEEN_LOOKS = 1
"""At trials of other commands."""
_SECONDS_TO_BEGIN = 60
"""After which a trial without a process is of a command that was killed as it drew the trial."""
_TIMED_ITERATIONS, _TIMED_PART = 8, 0.1
"""Iterations that a budget in processor time is measured by: at least so many, that part of it."""
_FINALISTS_SEED = EVALUATION_SEED + 1
_CONFIRMATION_SEED = EVALUATION_SEED + 2


class Finalist(Struct, frozen=True):
    """One of the best trials, trained with seeds and evaluated on deals that did not select it."""

    number: int
    objective: Estimate
    """Mean win rate, over seeds if there are some; without opponents the negated exploitability."""
    settings: JsonObject


class SweepResult(JsonStruct, frozen=True, kw_only=True):
    """Results of a sweep."""

    folder: Path
    finalists: list[Finalist]
    """The best trials by their objective with other seeds and on fresh deals, best first."""
    study: Any
    """Optuna's study; of several, the one of the widest space."""
    space: dict[str, Any]
    """The space, as far as it was widened."""
    confirmed: Estimate
    """Objective of the best finalist on deals that selected nothing."""

    @property
    def best(self) -> Finalist:
        """The finalist whose settings are in `best.yaml`."""
        return self.finalists[0]

    @property
    def ties(self) -> list[int]:
        """Trial numbers of the finalists that are not significantly worse than the best.

        As if their deals were independent; they play the same, which can only narrow intervals.
        """
        best, *rest = self.finalists
        return [
            other.number
            for other in rest
            if best.objective.value - other.objective.value
            < math.hypot(best.objective.margin_of_error, other.objective.margin_of_error)
        ]

    def frame(self) -> pandas.DataFrame:
        """The trials as a `pandas.DataFrame`."""
        return self.study.trials_dataframe()


def run_sweep(
    sweep: Sweep,
    folder: Path,
    preset_folder: Path | None = None,
    log: Log = print,
    *,
    workers: int = 1,
    on: str = LOCAL,
) -> SweepResult:
    """Train trials until there are as many as the sweep sets; resumes a sweep of the folder.

    `preset_folder` resolves relative paths in the sweep. `workers` trials run side by side, `on`
    this machine or a Ray cluster; the next are sampled when all of them are done.
    """
    if workers < 1:
        raise ValueError(f"workers is {workers}: give at least 1")
    in_process = workers == 1 and check_backend(on) == LOCAL
    base = base_settings(sweep, preset_folder or Path())
    storage = sweep.storage or str((folder / JOURNAL).resolve())
    folder.mkdir(parents=True, exist_ok=True)
    study_name = _study_name(folder, sweep.storage, storage, log)

    def open_study(number: int) -> Study:
        return import_optuna().create_study(
            storage=_open_storage(storage),
            study_name=f"{study_name}-{_WIDENED}-{number}" if number else study_name,
            direction="maximize",
            load_if_exists=True,
            sampler=make_sampler(sweep.sampler, sweep.seed),
            pruner=make_pruner(sweep.pruner),
        )

    def run(jobs: Sequence[Job]) -> Iterator[tuple[Job, int]]:
        # A single training is in this process: starting another would take seconds.
        if in_process:
            for job in jobs:
                yield job, _train(job, log)
        else:
            yield from run_jobs(jobs, on, log, work=_train_apart, workers=workers)

    study, space, number = open_study(0), sweep.space, 0
    _check_sweep(study, sweep, base, folder, storage)
    while True:
        # In a space that was widened before, no further trials are made.
        if _WIDENED not in study.user_attrs:
            most = sweep.trials + number * sweep.widening_trials
            _run_trials(study, most, sweep, space, base, folder, storage, run, log, workers)
            wider: dict[str, Any] = {}
            if sweep.widenings:
                may_widen = number < sweep.widenings
                wider = _wider_space(study, sweep, space, base, log, may_widen=may_widen)
            if not wider:
                break
            study.set_user_attr(_WIDENED, to_builtins(wider))
        space = convert_space(study.user_attrs[_WIDENED])
        number += 1
        with file_lock(folder / _LOCK):
            study = _copy_trials(study, open_study(number), space, base)
    for trial in filter(_runs_elsewhere, _trials(study, "RUNNING")):
        process = _process_of(trial)
        place = f"is trained on {process[0]}" if process else "is begun by another command"
        log(
            f"trial {trial.number} {place}, or was broken off there: give the same command there, "
            "and it is compared too"
        )
    # Commands that share the folder compare the same trials: the second finds them trained.
    with file_lock(folder / _FINAL_LOCK):
        return _select_best(study, sweep, space, base, folder, run, log)


def _study_name(folder: Path, given: str, storage: str, log: Log) -> str:
    """Name of the study of a sweep's folder, which may have been renamed since it began."""
    names: list[str] = import_optuna().get_all_study_names(storage=_open_storage(storage))
    if not names or folder.name in names:
        return folder.name
    if not given:
        return names[0]  # those of wider spaces follow
    log(
        f"{storage} has no trials of {folder.name}, which begins now; to go on with those of "
        f"{' or '.join(name for name in names if f'-{_WIDENED}-' not in name)}, give a --folder "
        "of this name"
    )
    return folder.name


def _check_sweep(study: Study, sweep: Sweep, base: Settings, folder: Path, storage: str) -> None:
    """Refuse a storage whose trials had other settings, and cannot be compared with the next."""
    shared = {
        "space": to_builtins(sweep.space),
        "trial_seconds": sweep.trial_seconds,
        "code": code_of_trials(sweep, base),
    }
    kept = study.user_attrs.get(_SWEEP)
    remedy = f"name another --folder, or delete {folder} and its trials in {storage}"
    if kept is None:
        # An earlier version kept nothing, but for the runs themselves.
        for trial in study.get_trials(deepcopy=False):
            settings = settings_from({**base.as_mapping(), **trial_settings(trial)})
            _check_run(folder / TRIALS / str(trial.number), settings, remedy)
        study.set_user_attr(_SWEEP, {**shared, "settings": base.as_mapping()})
        return
    check_unchanged(folder, kept["settings"], base, remedy)
    for name, value in shared.items():
        if kept.get(name, value) != value:  # an earlier version kept no code
            what = name
            if name == "code":
                before, now = ({*code.items()} for code in (kept[name], value))
                what = f"source of {', '.join(sorted({source for source, _ in before ^ now}))}"
            raise SettingsError(f"{folder} was begun with another {what}: {remedy}")


class OtherRun(SettingsError):
    """A run in the folder of a trial that is not the trial's."""


def _check_run(run: Path, settings: Settings, remedy: str = "") -> None:
    """Refuse a run of a trial with other settings, as where somebody resumed it with others."""
    if not (run / SETTINGS).exists():
        return
    stored = read_yaml_mapping(run / SETTINGS)
    # A sweep with workers divides the threads among them.
    expected = settings_from({**settings.as_mapping(), "threads": stored["threads"]})
    remedy = remedy or f"delete {run}, and give the same command again"
    try:
        check_unchanged(run, stored, expected, remedy)
    except SettingsError as error:
        raise OtherRun(str(error)) from None


def _check_strays(study: Study, folder: Path, storage: str) -> None:
    """Refuse runs of trials that the storage does not know, as where it was lost."""
    numbers = [int(run.name) for run in (folder / TRIALS).glob("*") if run.name.isdecimal()]
    known = len(study.get_trials(deepcopy=False))  # read last: others begin trials meanwhile
    if strays := sorted(number for number in numbers if number >= known):
        first = folder / TRIALS / str(strays[0])
        more = f" to {strays[-1]}" * (len(strays) > 1)
        raise OtherRun(
            f"{first} is the run of a trial that {storage} does not know: delete "
            f"{f'{first}{more}' if known else folder / TRIALS}, or name another --folder"
        )


def _run_trials(
    study: Study,
    most: int,
    sweep: Sweep,
    space: Space,
    base: Settings,
    folder: Path,
    storage: str,
    run: Callable[[Sequence[Job]], Iterator[tuple[Job, int]]],
    log: Log,
    workers: int,
) -> None:
    """Train trials until there are so many; interrupted ones first."""
    _check_strays(study, folder, storage)
    _delete_states(study, folder)
    distributions = {name: distribution(base, name, choices) for name, choices in space.items()}
    while True:
        left = most - _n_counted(study)
        if left <= 0:
            # One of them may be broken off, and be left to this command.
            if _wait_for_others(study, log):
                continue
            return
        count = min(workers, left)
        trials: list[Trial] = []
        jobs: list[Job] = []
        codes: dict[str, int] = {}
        try:
            # Another command must not find the same trial.
            with file_lock(folder / _CLAIMS):
                for trial in _interrupted_trials(study, log)[:count]:
                    _claim(trial)
                    trials.append(trial)
                while len(trials) < count:
                    trials.append(_draw(study, distributions))
                    _claim(trials[-1])
            for trial in [*trials]:
                try:
                    settings = _settings_of(trial, base, sweep)
                except (SettingsError, ArithmeticError) as error:
                    if isinstance(error, ArithmeticError) and not is_divergence(error):
                        raise
                    # Single values were checked before, but not each with all others.
                    study.tell(trial, state=_state("PRUNED"))
                    trials.remove(trial)
                    sampled = " ".join(format_overrides(trial_settings(trial)))
                    log(f"trial {trial.number} is left out: {error}: {sampled}")
                    continue
                pruning = PruningCallback(storage, study.study_name, sweep.pruner, trial._trial_id)
                job = Job(
                    name=f"trial {trial.number}",
                    folder=folder / TRIALS / str(trial.number),
                    settings=settings.as_mapping(),
                    callbacks=(pruning,),
                )
                _check_run(job.folder, settings)
                if not (job.folder / STATE).exists():
                    # Of a trial whose end the storage has lost, or which was killed as it began.
                    shutil.rmtree(job.folder, ignore_errors=True)
                jobs.append(job)
                log(f"{job.name} begins: {job.folder}")
            for job, code in run(jobs):
                codes[job.name] = code
            for trial, job in zip(trials, jobs, strict=True):
                if codes[job.name] in (0, *_WITHOUT_RESULT):
                    result = _record_end(sweep, trial, job, codes.pop(job.name))
                    # It is for resuming, and with a replay buffer may have half a gigabyte.
                    (job.folder / STATE).unlink(missing_ok=True)
                    sampled = " ".join(format_overrides(trial_settings(trial)))
                    log(f"{job.name}, {result}: {sampled}")
            if codes:
                raise RunStopped(_text_of_failures("trials", codes), max(codes.values()))
        except (Exception, KeyboardInterrupt) as error:
            # Trials that a signal or a full disk ended stay RUNNING: the next command resumes them.
            goes_on = isinstance(error, (KeyboardInterrupt, OtherRun)) or is_full_disk(error)
            otherwise = 0 if goes_on else getattr(error, "status", 1)
            for trial in trials:
                # Each by its own end, whatever became of those beside it.
                status = codes.get(f"trial {trial.number}", otherwise)
                with suppress(Exception):  # the first error is the one to tell
                    if status in (0, *_WITHOUT_RESULT, *_NO_FAULT_OF_THE_TRIAL):
                        _give_back(trial)
                    elif status < FIRST_SIGNAL:
                        study.tell(trial, state=_state("FAIL"), skip_if_finished=True)
            raise


def _text_of_failures(what: str, codes: Mapping[str, int]) -> str:
    remedy = ": make room on the disk" * (FULL_DISK in codes.values())
    return f"not all {what} came to their ends{remedy}"


def _delete_states(study: Study, folder: Path) -> None:
    """Delete what trials would be resumed from that have ended, but not as they should."""
    for trial in _trials(study, "COMPLETE", "PRUNED", "FAIL"):
        if not _runs_elsewhere(trial):
            (folder / TRIALS / str(trial.number) / STATE).unlink(missing_ok=True)


def _draw(study: Study, distributions: dict[str, Any]) -> Trial:
    """A new trial; one whose settings cannot be drawn is no trial."""
    try:
        return study.ask(distributions)
    except Exception:
        for trial in _trials(study, "RUNNING")[-1:]:
            if _process_of(trial) is None:
                study.tell(trial.number, state=_state("FAIL"), skip_if_finished=True)
        raise


def _wait_for_others(study: Study, log: Log) -> bool:
    """Wait while other commands of this machine train trials; whether there were any.

    Also while one is drawn: by another command, or by one that was killed as it did so.
    """
    waited, began = False, time.monotonic()

    def is_waited_for(process: tuple[str, int, int, str] | None) -> bool:
        if process is None:
            return time.monotonic() - began < _SECONDS_TO_BEGIN
        return process[0] == socket.gethostname()

    while processes := {
        trial.number: process[1] if process else None
        for trial in filter(_runs_elsewhere, _trials(study, "RUNNING"))
        if is_waited_for(process := _process_of(trial))
    }:
        if not waited:
            trained = (
                f"trial {number} ({f'process {pid}' if pid else 'it begins'})"
                for number, pid in processes.items()
            )
            log(f"waiting for trials that other commands train: {', '.join(trained)}")
        waited = True
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return waited


def _claim(trial: Trial) -> None:
    """Tell other commands which process trains a trial, and the next one that it began."""
    process, pid = _process_of(trial), os.getpid()
    starts = process[2] + 1 if process else 1
    trial.set_user_attr(_PROCESS, (socket.gethostname(), pid, starts, process_start(pid)))


def _give_back(trial: Trial) -> None:
    """Leave a trial to the next command, without counting the start that was asked to end."""
    frozen = trial.study.get_trials(deepcopy=False)[trial.number]
    process = _process_of(frozen)
    is_own = process is not None and process[:2] == (socket.gethostname(), os.getpid())
    if process and is_own and frozen.state == _state("RUNNING"):
        trial.set_user_attr(_PROCESS, (*process[:2], process[2] - 1, process[3]))


def _process_of(trial: Trial | FrozenTrial) -> tuple[str, int, int, str] | None:
    """Host and process that train a trial, how often it was started, and when the process began.

    None if the trial is new. An earlier version did not keep when the process began.
    """
    process = trial.user_attrs.get(_PROCESS)
    if not process:
        return None
    host, pid, starts, *began = process
    return host, pid, starts, began[0] if began else ""


def _best_trials(study: Study, count: int) -> list[FrozenTrial]:
    complete = sorted(_trials(study, "COMPLETE"), key=attrgetter("value"), reverse=True)
    return complete[:count]


def _wider_space(
    study: Study, sweep: Sweep, space: Space, base: Settings, log: Log, *, may_widen: bool
) -> dict[str, Any]:
    """The space widened where its best trials are at a bound; empty if it stays."""
    best = [trial_settings(trial) for trial in _best_trials(study, sweep.finalists)]
    reached = bounds_reached(space, best)
    if not reached:
        log(f"none of the best {len(best)} trials' settings is at a bound in half of them")
        return {}
    wider = widened(space, base, reached)
    for name, bounds in reached.items():
        if wider[name] == space[name]:
            outcome = "and it takes nothing beyond"
        elif may_widen:
            outcome = f"now {_space_text(wider[name])}"
        else:
            outcome = "and it is not widened further"
        log(
            f"{name} is at its {' and '.join(bounds)} bound in half or more of the best "
            f"{len(best)} trials: {_space_text(space[name])}, {outcome}"
        )
    if wider == space or not may_widen:
        return {}
    if _trials(study, "RUNNING"):
        log("the space is widened when the trials that run elsewhere are done: repeat the command")
        return {}
    log(f"the space is widened, and {sweep.widening_trials} trials follow")
    return wider


def _space_text(choices: Range | list[Any]) -> str:
    if isinstance(choices, Range):
        return f"{choices.low:g} to {choices.high:g}"
    return ", ".join(map(format_value, choices))


def _copy_trials(study: Study, wider: Study, space: Space, base: Settings) -> Study:
    """The study of a wider space, which begins with all trials of the one before.

    Optuna does not let a list grow within a study.
    """
    if wider.user_attrs.get(_COPIED):
        return wider
    distributions = {name: distribution(base, name, choices) for name, choices in space.items()}
    for trial in study.get_trials(deepcopy=False)[len(wider.get_trials(deepcopy=False)) :]:
        wider.add_trial(
            import_optuna().trial.create_trial(
                state=trial.state,
                value=trial.value,
                params=trial.params,
                distributions={name: distributions[name] for name in trial.params},
                user_attrs=trial.user_attrs,
                intermediate_values=trial.intermediate_values,
            )
        )
    wider.set_user_attr(_COPIED, True)
    return wider


def _open_storage(storage: str) -> str | JournalStorage:
    if "://" in storage:
        return storage
    journal = import_optuna().storages.journal
    lock = journal.JournalFileOpenLock(storage)
    if os.path.exists(storage):
        lock.acquire()
        try:
            _mend_journal(storage)
        finally:
            lock.release()
    try:
        return journal.JournalStorage(journal.JournalFileBackend(storage, lock))
    except json.JSONDecodeError:
        raise ValueError(
            f"{storage} is broken in line {_broken_line(storage)}: delete this line and all lines "
            "after it, and the sweep goes on with the trials before them"
        ) from None


def _mend_journal(path: str) -> None:
    """Remove the part of a line at the end of a journal, which the next line would join.

    A full disk or a killed process leaves one; Optuna reads nothing of a journal with such a line.
    """
    with open(path, "rb+") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)


def _broken_line(path: str) -> int:
    """Number of the first line that is no JSON, from 1."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                json.loads(line)
            except ValueError:
                return number
    raise AssertionError


def _state(name: str) -> TrialState:
    return import_optuna().trial.TrialState[name]


def _trials(study: Study, *states: str) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=[*map(_state, states)])


def _n_counted(study: Study) -> int:
    """Number of trials that are finished, or are trained by another process now."""
    running = [trial for trial in _trials(study, "RUNNING") if _runs_elsewhere(trial)]
    return len(_trials(study, "COMPLETE", "PRUNED")) + len(running)


def _runs_elsewhere(trial: FrozenTrial) -> bool:
    """Whether another process trains a RUNNING trial; one of another machine is believed to."""
    process = _process_of(trial)
    if process is None:
        return not _was_lost(trial)
    host, pid, _, began = process
    if host != socket.gethostname():
        return True
    if pid == os.getpid() or not is_alive(pid):
        return False
    # The id may have been given to another process since.
    start = process_start(pid)
    return not (began and start) or start == began


def _was_lost(trial: FrozenTrial) -> bool:
    """Whether a command was killed as it drew a trial, before it could say who trains it."""
    began = trial.datetime_start
    return began is not None and (datetime.now() - began).total_seconds() > _SECONDS_TO_BEGIN


def _interrupted_trials(study: Study, log: Log) -> list[Trial]:
    """RUNNING trials of dead processes, to resume; fails those that die repeatedly.

    Optuna retries such a trial from its start.
    """
    trials: list[Trial] = []
    for frozen in _trials(study, "RUNNING"):
        if _runs_elsewhere(frozen):
            continue
        process = _process_of(frozen)
        if process is None:
            # Not all of its settings may have been drawn.
            study.tell(frozen.number, state=_state("FAIL"), skip_if_finished=True)
        elif process[2] < MAX_DEATHS:
            trials.append(import_optuna().trial.Trial(study, frozen._trial_id))
        else:
            study.tell(frozen.number, state=_state("FAIL"), skip_if_finished=True)
            log(f"trial {frozen.number} is given up, since it was broken off {process[2]} times")
    return trials


def _train(job: Job, log: Log) -> int:
    settings = settings_from(job.settings)
    try:
        train_or_resume(settings, job.folder, quiet=True, callbacks=job.callbacks)
    except RunStopped as stopped:
        if stopped.status != UNSTABLE:
            raise
        # Without what to do about it: a trial that diverged is not resumed.
        log(str(stopped.__cause__ or stopped))
        return UNSTABLE
    except SettingsDoNotFit as error:
        log(str(error))
        return _DOES_NOT_FIT
    return 0


def _train_apart(job: Job) -> None:
    """Train in a worker, whose lines are logged."""
    try:
        train_job(job)
    except SettingsDoNotFit as error:
        print(error)
        raise RunStopped(str(error), _DOES_NOT_FIT) from None


def _settings_of(trial: Trial, base: Settings, sweep: Sweep) -> Settings:
    """Settings of a trial; its budget is measured once, so that a resumed trial keeps it."""
    settings = settings_from({**base.as_mapping(), **trial_settings(trial)})
    if not sweep.trial_seconds or BUDGET in trial.user_attrs:
        return settings
    trial.set_user_attr(BUDGET, affordable_decisions(settings, sweep.trial_seconds))
    return settings_from({**base.as_mapping(), **trial_settings(trial)})


def affordable_decisions(settings: Settings, seconds: float) -> int:
    """Decisions that are trained in so many seconds of processor time, to two digits.

    By the later half of some iterations: the first of a trainer with a replay buffer do not learn
    yet, and those of a trainer with a pool of opponents have few to ask. By the lower quartile of
    their times: other processes make iterations slower, never faster.
    """
    trainer, times, began = make_trainer(settings), list[float](), processor_seconds()
    try:
        while len(times) < _TIMED_ITERATIONS or processor_seconds() - began < _TIMED_PART * seconds:
            before, start = trainer.decisions, processor_seconds()
            trainer.iterate()
            times.append((processor_seconds() - start) / max(1, trainer.decisions - before))
    finally:
        trainer.close()
    later = times[len(times) // 2 :]
    return int(float(f"{seconds / max(np.quantile(later, 0.25), 1e-12):.2g}"))


def _record_end(sweep: Sweep, trial: Trial, job: Job, code: int) -> str:
    """Report to the study how a trial ended; returns it in words."""
    study = trial.study
    # Pruned, or ended by somebody in Optuna's storage.
    ended = study.get_trials(deepcopy=False)[trial.number].state != _state("RUNNING")
    if code or ended:
        study.tell(trial, state=_state("PRUNED"), skip_if_finished=True)
        return _WITHOUT_RESULT.get(code, "ended early")
    _, state = load_state(job.folder / STATE)
    last = max((evaluation.decisions for evaluation in state.evaluations), default=0)
    final = [evaluation for evaluation in state.evaluations if evaluation.decisions == last]
    objective = _objective(settings_from(job.settings), job.folder, final)
    trial.set_user_attr("half_width", objective.margin_of_error)
    trial.set_user_attr(_SECONDS, round(state.processor_seconds, 3))
    study.tell(trial, objective.value)
    return f"{sweep.text(objective)} in {state.processor_seconds:.0f} s"


def _objective(
    settings: Settings, folder: Path, evaluations: Sequence[EvaluationResult]
) -> Estimate:
    """Mean win rate in the evaluations; without opponents, the negated exploitability of a run."""
    if settings.eval_opponents:
        return mean_win_rate(evaluations, settings.eval_opponents)
    checkpoint = find_checkpoint(folder)
    value = -fmean(
        sampled_exploitability(checkpoint, options.rules) for options in settings.all_options
    )
    return Estimate(value, value, value)


def mean_win_rate(evaluations: Sequence[EvaluationResult], opponents: Sequence[str]) -> Estimate:
    """Mean win rate against the opponents, with a conservative 95 % interval.

    All opponents play the same deals, so the win rates are correlated. Whatever the correlation,
    the interval of the mean is no wider than the mean of the intervals.
    """
    matches = [evaluation for evaluation in evaluations if evaluation.opponent in opponents]
    if len(matches) < len(set(opponents)):
        raise SettingsError(f"not all of {', '.join(opponents)} could be played")
    value = fmean(evaluation.win_rate for evaluation in matches)
    margin_of_error = fmean(evaluation.margin_of_error for evaluation in matches)
    return Estimate(value, value - margin_of_error, value + margin_of_error)


class PruningCallback(Callback):
    """Reports evaluations to Optuna, and ends the run when the pruner says so.

    It loads its trial from the storage, so that it can be sent to another process.
    """

    def __init__(self, storage: str, study_name: str, pruner: str, trial_id: int) -> None:
        self._storage, self._study_name = storage, study_name
        self._pruner, self._trial_id = pruner, trial_id
        self._trial: Trial | None = None

    def on_start(self, run: TrainingRun) -> None:
        optuna = import_optuna()
        try:
            study = optuna.load_study(
                study_name=self._study_name,
                storage=_open_storage(self._storage),
                pruner=make_pruner(self._pruner),
            )
        except (KeyError, OSError):
            raise ValueError(
                f"{self._storage} does not hold the sweep here: give a --storage that every "
                "machine of the cluster reaches"
            ) from None
        self._trial = optuna.trial.Trial(study, self._trial_id)

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        trial, decisions = self._trial, run.trainer.decisions
        if trial is None or decisions >= run.settings.decisions:
            return
        try:
            # Iterations of other sizes end after other numbers of decisions.
            step = decisions // run.settings.eval_every * run.settings.eval_every
            frozen = trial.study.get_trials(deepcopy=False)[trial.number]
            # One that is trained anew has reported it, and Optuna takes no value twice.
            if step not in frozen.intermediate_values:
                trial.report(_objective(run.settings, run.folder, results).value, step)
        except import_optuna().exceptions.UpdateFinishedTrialError:
            self._trial = None
            run.stop("the trial was ended in the storage")
            return
        if trial.should_prune():
            self._trial = None
            trial.study.tell(trial, state=_state("PRUNED"))
            run.stop("the sweep expects nothing of it")


def _select_best(
    study: Study,
    sweep: Sweep,
    space: Space,
    base: Settings,
    folder: Path,
    run: Callable[[Sequence[Job]], Iterator[tuple[Job, int]]],
    log: Log,
) -> SweepResult:
    rows = [
        {
            "number": trial.number,
            "state": trial.state.name,
            "objective": trial.value,
            _SECONDS: trial.user_attrs.get(_SECONDS),
            **trial_settings(trial),
        }
        for trial in study.trials
    ]
    write_file(folder / TABLE, csv_text(rows))
    best = _best_trials(study, sweep.finalists)
    if not best:
        raise ValueError(
            f"{folder}: none of its {len(study.trials)} trials was trained to its end: try more, "
            "prune less, as with pruner: Nop, or search settings that go together"
        )
    if sweep.final_seeds:
        folders = _train_finalists(best, sweep, base, folder, run, log)
    else:
        folders = {trial.number: [folder / TRIALS / str(trial.number)] for trial in best}

    def evaluate(number: int, seed: int) -> Estimate:
        objectives: list[Estimate] = []
        for path in folders[number]:
            evaluation = evaluate_checkpoint(
                find_checkpoint(path),
                sweep.eval_opponents,
                sweep.final_eval_hands,
                seed=seed,
                against_earlier=False,
            )
            objectives.append(_objective(base, path, evaluation.results))
        if len(objectives) == 1:
            return objectives[0]
        return mean_of([objective.value for objective in objectives])

    where = " on fresh deals" if sweep.eval_opponents else ""  # an exploitability is exact
    if sweep.final_seeds:
        where += f", mean of {sweep.final_seeds} other seeds"
    finalists: list[Finalist] = []
    for trial in best:
        if trial.number not in folders:
            log(f"trial {trial.number} diverged with another seed: it is no longer compared")
            continue
        if not all(path.exists() for path in folders[trial.number]):
            log(f"trial {trial.number} was trained elsewhere: it is not evaluated again")
            continue
        objective = evaluate(trial.number, _FINALISTS_SEED)
        finalists.append(Finalist(trial.number, objective, trial_settings(trial)))
        log(f"trial {trial.number}{where}: {sweep.text(objective)}")
    if not finalists and sweep.final_seeds:
        raise ValueError(f"{folder}: all {len(best)} best trials diverged with other seeds")
    if not finalists:
        raise ValueError(
            f"none of the {len(best)} best trials was trained in {folder}: "
            "give the same command where they were, and they are evaluated again"
        )
    finalists.sort(key=lambda finalist: -finalist.objective.value)
    rows = [
        {"number": each.number, **asdict(each.objective), **each.settings} for each in finalists
    ]
    write_file(folder / FINALISTS_TABLE, csv_text(rows))
    result = SweepResult(
        folder=folder,
        finalists=finalists,
        study=study,
        space=dict(space),
        confirmed=evaluate(finalists[0].number, _CONFIRMATION_SEED),
    )
    n_complete = len(_trials(study, "COMPLETE"))
    about = f"the best of {n_complete} trials, {sweep.text(result.confirmed)}{where}"
    if result.ties:
        about += f", not distinguishable from trial {' or '.join(map(str, result.ties))}"
    preset = settings_from({**base.as_mapping(), **result.best.settings, "about": about})
    write_file(folder / BEST, preset.as_yaml())
    return result


def _train_finalists(
    best: Sequence[FrozenTrial],
    sweep: Sweep,
    base: Settings,
    folder: Path,
    run: Callable[[Sequence[Job]], Iterator[tuple[Job, int]]],
    log: Log,
) -> dict[int, list[Path]]:
    """Train each with seeds of its own; the folders by trial, without those that diverged."""
    seeds = [base.seed + _FIRST_FINAL_SEED + k for k in range(sweep.final_seeds)]
    jobs: dict[str, Job] = {}
    numbers: dict[str, int] = {}
    for trial in best:
        for seed in seeds:
            name = f"trial {trial.number}, seed {seed}"
            changes = {**trial_settings(trial), "seed": seed, "about": "a finalist of a sweep"}
            settings = settings_from({**base.as_mapping(), **changes})
            run_folder = folder / FINALISTS / str(trial.number) / f"seed-{seed}"
            _check_run(run_folder, settings)
            jobs[name] = Job(name=name, folder=run_folder, settings=settings.as_mapping())
            numbers[name] = trial.number
    diverged: set[int] = set()
    failures: dict[str, int] = {}
    for job, code in run([*jobs.values()]):
        log(f"{job.name}: trained" if not code else f"{job.name}: ended with status {code}")
        if code == UNSTABLE:
            diverged.add(numbers[job.name])
        elif code:
            failures[job.name] = code
    if failures:
        raise RunStopped(_text_of_failures("finalists", failures), max(failures.values()))
    folders: dict[int, list[Path]] = {}
    for name, job in jobs.items():
        if numbers[name] not in diverged:
            folders.setdefault(numbers[name], []).append(job.folder)
    return folders
