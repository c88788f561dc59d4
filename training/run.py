"""The loop of a training: iterate, evaluate, save, until the budget or a stop.

`start` and `resume` make a `Run`; `Run.go` trains to the end. Callbacks receive its events.
"""

from __future__ import annotations

import math
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ..agents.calls import AgentFault
from ..agents.checkpoints import CheckpointError, find_checkpoint
from ..agents.checkpoints.schema import NetworkCard
from ..common.files import CannotWrite, is_full_disk, write_file
from ..common.jit.side_by_side import compiled_in_background
from ..common.plugins import error_location, error_text, foreign_traceback, is_own_error
from ..common.settings import SettingsError, format_overrides
from ..common.signals import FULL_DISK, UNSTABLE, RunStopped, SignalGuard
from ..common.suggestions import suggest
from ..common.trust import trust
from ..common.typing import Arrays
from .algorithms.base import CallbackFailed, Trainer
from .algorithms.registry import make_trainer, trainer_kind
from .callbacks.base import Callback, EarlyStopping, TrainingRun, named_callback
from .callbacks.evaluation import (
    CheckpointEvaluation,
    EvaluationQueue,
    check_eval_names,
    check_eval_opponents,
    evaluate_checkpoint,
)
from .callbacks.loggers import TensorBoard
from .callbacks.report_files import ReportFiles
from .distributed import RanksLost, current_ranks
from .divergence import check_counts, check_metrics, finite_policy, is_divergence
from .folder import (
    SETTINGS,
    STATE,
    FolderLock,
    add_evaluations,
    checkpoint_at,
    load_run_state,
    lock_new_folder,
    lock_numbered_folder,
    recovery_hint,
    remove_checkpoint,
    resume_command,
    settings_of,
)
from .presets import changed_settings, command_of
from .run_state import RunState, remedy_without_state, save_state, write_policy
from .settings import Settings
from .trainer_clock import TrainerClock, is_own
from .warm_start import load_warm_start


class Run(TrainingRun):
    """A training in its directory, which is locked until `go` or `close` ends."""

    def __init__(
        self,
        lock: FolderLock,
        settings: Settings,
        trainer: Trainer,
        state: RunState,
        callbacks: Sequence[Callback] = (),
        *,
        clock: TrainerClock,
        note: str = "",
    ) -> None:
        """`callbacks` are beside those that every run has; `note` is reported at the start."""
        super().__init__(lock.folder, settings, trainer, state)
        self._clock = clock
        self.note, self.callbacks = note, [*callbacks]
        self.evaluation_queue = EvaluationQueue(settings.eval_opponents, settings.eval_hands)
        self._lock, self._signals = lock, SignalGuard()
        self._iterating = False
        self._saved = 0
        """Decisions of the last saved state."""

    # -- the loop

    def go(self, *callbacks: Callback) -> Path:
        """Train to the end of the budget; returns the last checkpoint."""
        settings, self._saved = self.settings, self.trainer.decisions
        stopping = [EarlyStopping(settings.patience)] if settings.patience else []
        usual = (ReportFiles(), TensorBoard())
        self.callbacks = [*usual, *callbacks, *stopping, *self.callbacks]
        try:
            if self.note:
                self.report(self.note)
            if self.state.finished:
                self._report_end()
                return find_checkpoint(self.folder)
            with self._signals:
                return self._train()
        except RanksLost as error:
            raise self._stopped(error) from error
        except RunStopped:
            raise
        except Exception as error:
            raise self._stopped(error) from error
        finally:
            self.close()

    def _report_end(self) -> None:
        done, settings = self.trainer.decisions, self.settings
        why, change = f", after {done:,} decisions", f"decisions={2 * done}"
        if self.state.ended_early:
            why = f": {self.state.ended_early}"
            limits = {"patience": settings.patience, "max_minutes": settings.max_minutes}
            used = [f"{name}=0" for name, value in limits.items() if value]
            change = " ".join(used) or f"decisions={2 * settings.decisions}"
        self.report(
            f"this run has come to its end{why}; to train on, change what ended it, as in: "
            f"{resume_command(self.folder, settings)} {change}"
        )

    def _stopped(self, error: Exception) -> RunStopped:
        """The end of a run by an error: what is saved of it, and where a fault was raised."""
        diverged = is_divergence(error)
        if diverged or is_own_error(error):
            reason = str(error)
        elif isinstance(error, OSError):
            reason = error.strerror or str(error)
            if error.filename:
                reason += f" ({error.filename})"
        else:
            # Of the trainer, most often: whoever wrote it needs the place.
            with suppress(CannotWrite):
                self.report(foreign_traceback(error))
            reason = f"{error_text(error)} ({error_location(error)})"
        hint = recovery_hint(self.folder, self.settings, self._saved)
        status = UNSTABLE if diverged else FULL_DISK if is_full_disk(error) else 1
        return RunStopped(f"{reason}; {hint}", status)

    def _train(self) -> Path:
        try:
            path = self._train_and_evaluate()
        except BaseException:
            # Why it stopped is told, even where a full disk takes no report, or a callback fails.
            with suppress(OSError):
                try:
                    self._end()
                except CallbackFailed as error:
                    self.report(str(error))
            raise
        self._end()
        return path

    def _train_and_evaluate(self) -> Path:
        try:
            self._begin_session()
            self._iterate_to_the_end()
            self._close_trainer()
            # Before the evaluation, which may take long: a kill during it loses nothing.
            self.state.ended_early, self.state.budget = self._why_over(), self.settings.decisions
            self.save()
            path = self._evaluate_at_end()
            self.state.finished = True
            self.save()
        except KeyboardInterrupt:
            if self._iterating:
                raise
            self._save_at_signal()
            self._close_trainer()
            raise RunStopped(
                f"stopped after {self.trainer.decisions:,} decisions; go on with: "
                f"{resume_command(self.folder, self.settings)}",
                128 + (self._signals.received or signal.SIGINT),
            ) from None
        except (CallbackFailed, AgentFault):
            # What was learned before stays.
            self.save_state()
            raise
        return path

    def _end(self) -> None:
        self.evaluation_queue.close()
        self.notify("on_end")

    def _iterate_to_the_end(self) -> None:
        started = time.monotonic() - self.state.seconds
        while True:
            self._evaluate_what_is_due()
            if self._is_over():
                break
            self._check_signal()
            self._iterate(started)
            if self.trainer.stopped:
                break
        self.state.seconds = time.monotonic() - started
        if reason := self._why_over():
            self.report(reason)

    def _iterate(self, started: float) -> None:
        """One iteration of the trainer, its metrics, and a saved state if one is due."""
        settings, trainer, state = self.settings, self.trainer, self.state
        before, hands, began = trainer.decisions, trainer.hands, time.monotonic()
        self._iterating = True
        with self._clock.work():
            metrics = trainer.iterate()
        check_metrics(trainer, metrics)
        check_counts(trainer, decisions=before, hands=hands)
        self._iterating = False
        state.seconds = time.monotonic() - started
        if trainer.stopped:
            self._log_iteration({})
            return
        now = trainer.decisions
        if metrics:
            speed = (now - before) / max(time.monotonic() - began, 1e-9)
            metrics.setdefault("decisions_per_second", speed)
        # The budget's last checkpoint is evaluated after the loop, and more thoroughly.
        passed = _passed(before, now, settings.eval_every)
        state.evaluation_due = passed and now < settings.decisions
        self._log_iteration(metrics)
        self._check_signal()
        if _passed(before, now, settings.save_every) or state.evaluation_due:
            self.save()

    def _is_over(self) -> bool:
        """Whether the budget, the time limit or a callback ends the run here."""
        settings = self.settings
        is_late = settings.max_minutes > 0 and self.seconds > 60 * settings.max_minutes
        is_done = self.trainer.decisions >= settings.decisions
        ended = self.stop_reason is not None or self.state.ended_early
        return is_done or is_late or bool(ended)

    def _why_over(self) -> str:
        """Why the run ended before its budget, as a sentence; empty after the whole budget."""
        settings, done = self.settings, self.trainer.decisions
        if self.state.ended_early:
            return self.state.ended_early
        if self.trainer.stopped:
            return f"a callback ended the training after {done:,} decisions"
        if done >= settings.decisions:
            return ""
        if self.stop_reason is None:
            return f"the time limit of {settings.max_minutes:g} minutes is reached"
        return f"ended after {done:,} decisions: {self.stop_reason}"

    def _close_trainer(self) -> None:
        with self._clock.work():
            self.trainer.close()

    def _check_signal(self) -> None:
        if self._signals.received is not None:
            raise KeyboardInterrupt

    def _save_at_signal(self) -> None:
        """Save, with a checkpoint of the current policy, which a resumed run removes again."""
        is_new = not checkpoint_at(self.folder, self.trainer.decisions).exists()
        if is_new:
            self.state.stop_checkpoint = self.trainer.decisions
        self.save()
        if is_new:
            self._write_checkpoint()

    def _begin_session(self) -> None:
        # A run that was stopped has the checkpoints of one that was not, and their evaluations.
        if self.state.stop_checkpoint is not None:
            remove_checkpoint(self.folder, self.state.stop_checkpoint)
            self.state.stop_checkpoint = None
        self.notify("on_start")
        pending, self.state.pending = self.state.pending, []
        for decisions in pending:
            path = checkpoint_at(self.folder, decisions)
            if path.exists():
                self.evaluation_queue.submit(path)

    def _evaluate_what_is_due(self) -> None:
        """Record evaluations that have ended, and begin that of a checkpoint that is due."""
        settings = self.settings
        for path, results in self.evaluation_queue.finished():
            self._record(path, results)
        if not self.state.evaluation_due:
            return
        path = self._write_due_checkpoint()
        # Early stopping needs the result now, or a run would not end where it would again.
        if settings.eval_mode == "sync" or settings.patience:
            self._evaluate(path, settings.eval_opponents, settings.eval_hands)
        else:
            self.evaluation_queue.submit(path)
        self.state.evaluation_due = False

    def _log_iteration(self, metrics: Mapping[str, float]) -> None:
        self.rows.append(
            {
                "decisions": self.trainer.decisions,
                "hands_played": self.trainer.hands,
                "seconds": round(self.seconds, 3),
                **self._costs(),
                **{name: float(f"{value:.6g}") for name, value in metrics.items()},
            }
        )
        if metrics:
            self.notify("on_iteration", metrics)

    def _costs(self) -> dict[str, int | float]:
        """What the trainer has cost so far: its own word for its decisions is checked by these."""
        state = self.state
        state.processor_seconds, state.env_steps = self._clock.seconds, self._clock.env_steps
        costs: dict[str, int | float] = {"processor_seconds": round(state.processor_seconds, 3)}
        return costs if is_own(self.trainer) else {**costs, "env_steps": state.env_steps}

    # -- checkpoints and their evaluation

    def _evaluate_at_end(self) -> Path:
        settings = self.settings
        with self._signals.immediate():
            for path, results in self.evaluation_queue.finished(wait=True):
                self._record(path, results)
        path = self._write_due_checkpoint()
        opponents = (*settings.eval_opponents, *settings.final_eval_opponents)
        self._evaluate(path, opponents, settings.final_eval_hands)
        self.state.evaluation_due = False
        return path

    def _write_due_checkpoint(self) -> Path:
        # Until it is evaluated or submitted: a run that ends before is resumed by evaluating.
        self.state.evaluation_due = True
        return self._write_checkpoint()

    def _write_checkpoint(self) -> Path:
        trainer, state = self.trainer, self.state
        with self._clock.work():
            weights, network = finite_policy(trainer)
        path = write_policy(
            checkpoint_at(self.folder, trainer.decisions).with_suffix(""),
            weights,
            self.settings,
            network,
            decisions=trainer.decisions,
            hands=trainer.hands,
            minutes=round(self.seconds / 60, 2),
            commands=tuple(state.commands),
            init=state.init,
        )
        with self._clock.work():
            trainer.write_extra_files(path)
        # A trainer may learn while it gives its weights: the checkpoint costs that, too.
        if self.rows and self.rows[-1]["decisions"] == trainer.decisions:
            self.rows[-1].update(self._costs())
        self.notify("on_checkpoint", path)
        return path

    def _evaluate(self, path: Path, opponents: Sequence[str], hands: int) -> None:
        """Evaluate a checkpoint while the training waits."""
        with self._signals.immediate(), self._clock.apart():
            self._record(path, evaluate_checkpoint(path, opponents, hands))

    def _record(self, path: Path, evaluation: CheckpointEvaluation) -> None:
        """Keep results of an evaluation; they replace earlier ones of the same checkpoint."""
        for message in evaluation.messages:
            self.report(message)
        replaced = {(result.decisions, result.title) for result in evaluation.results}
        self.state.evaluations = [
            *(old for old in self.evaluations if (old.decisions, old.title) not in replaced),
            *evaluation.results,
        ]
        add_evaluations(path, evaluation.results)
        self.notify("on_evaluation", evaluation.results)

    # -- saving

    def save(self) -> None:
        """Save the state, and notify the callbacks."""
        self.save_state()
        self.notify("on_save")

    def save_state(self) -> None:
        """Save everything that the rest of the run depends on."""
        with self._clock.work():
            finite_policy(self.trainer)
            arrays, plain = self.trainer.state()
        self._costs()
        pending = [*self.state.pending, *self.evaluation_queue.pending]
        state = msgspec.structs.replace(self.state, trainer=plain, pending=pending)
        save_state(self.folder / STATE, arrays, state)
        self._saved = self.trainer.decisions

    def close(self) -> None:
        self._lock.release()


def _passed(before: int, now: int, every: int) -> bool:
    return before // every != now // every


# Settings that a finished run may change, to repeat its final evaluation.
_FINAL_SETTINGS = {"eval_opponents", "final_eval_opponents", "final_eval_hands", "callbacks"}


def start(
    folder: Path,
    settings: Settings,
    *,
    command: str = "",
    numbered: bool = False,
    callbacks: Iterable[object] = (),
) -> Run:
    """Start a run in a new directory; `numbered`: in FOLDER-1, or the next that is free.

    `callbacks` are added to those of the settings, and `command` is kept with the checkpoints.
    Wrong settings are refused before the directory is made.
    """
    check_eval_names(settings)
    with compiled_in_background(settings.warm_up):
        settings.warm_up()
    trainer, clock = _make_trainer(settings)
    run_callbacks = _callbacks(trainer, settings, callbacks)
    check_eval_opponents(settings)
    with clock.work():
        weights, network = finite_policy(trainer)
    _trust_own_module(trainer, network)
    if network.kind == "module":
        _check_module(trainer, weights, network)
    state = RunState(
        trainer={},
        commands=[command or command_of(settings)],
        network_sha256=_source_of_network(trainer, settings),
    )
    notes = [*settings.notes]
    if settings.init:
        weights, state.init, note = load_warm_start(settings, network)
        try:
            with clock.work():
                trainer.load_weights(weights)
        except CheckpointError as error:
            raise SettingsError(f"init: {settings.init}: {error}") from error
        notes.append(note)
    lock = lock_numbered_folder(folder) if numbered else lock_new_folder(folder)
    write_file(lock.folder / SETTINGS, settings.as_yaml())
    note = "; ".join(notes)
    run = Run(lock, settings, trainer, state, run_callbacks, clock=clock, note=note)
    run.save()
    return run


def resume(
    folder: Path, words: Sequence[str] = (), *, callbacks: Iterable[object] = (), **changes: Any
) -> Run:
    """Load a run from its last saved state, with settings changed by `key=value` words."""
    if not folder.exists():
        runs = {path.parent.name for path in folder.parent.glob("*/*.yaml")}
        near = suggest(folder.name, runs, listed=False)
        raise ValueError(f"{folder}: there is no such folder to go on in{near}")
    if not (folder / SETTINGS).exists():
        raise ValueError(f"{folder}: is no run: there is no {SETTINGS} in it")
    lock = FolderLock(folder)
    try:
        return _resume(lock, [*words, *format_overrides(changes)], callbacks)
    except BaseException:
        lock.release()
        raise


def _resume(lock: FolderLock, words: Sequence[str], callbacks: Iterable[object]) -> Run:
    folder = lock.folder
    before = settings_of(folder)
    settings = changed_settings(before, words)
    arrays, state = load_run_state(folder)
    costs = state.processor_seconds, state.env_steps
    trainer, clock = _make_trainer(settings, *costs, parallel="ranks" in state.trainer)
    with clock.work():
        _trust_own_module(trainer, trainer.network_card())
    run_callbacks = _callbacks(trainer, settings, callbacks)
    note, source = "", _source_of_network(trainer, settings)
    if state.network_sha256 not in ("", source):
        note = "the source of the network has changed since the run was begun"
    state.network_sha256 = source
    told = f"{note}: it goes on as the source is now" if note else ""
    run = Run(lock, settings, trainer, state, run_callbacks, clock=clock, note=told)
    try:
        with clock.work():
            trainer.restore(arrays, state.trainer)
    except (ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        cause = note or "an earlier version of the trainer wrote it"
        raise CheckpointError(
            f"{folder / STATE}: does not fit the run's settings, or {cause} ({error_text(error)}); "
            f"{remedy_without_state(folder)}"
        ) from error
    # The budget may have been changed in the file.
    if trainer.decisions < settings.decisions != state.budget:
        state.finished, state.ended_early = False, ""
    # A run at its end only says so.
    if settings != before or not state.finished:
        check_eval_opponents(settings)
    if settings != before:
        changed = _check_that_changes_matter(run, before)
        if not (_FINAL_SETTINGS - {"callbacks"}).issuperset(changed):
            state.ended_early = ""
        write_file(folder / SETTINGS, settings.as_yaml())
        state.commands.append(
            f"german-whist train --resume RUN {shlex.join(words)}"
            f"  # after {trainer.decisions:,} decisions"
        )
        state.finished = False
        run.save()
    return run


def _trust_own_module(trainer: Trainer, card: NetworkCard) -> None:
    """Trust the torch module of a user's own trainer if it stands in the trainer's file.

    The command names this file's code. Another class may be one that the settings of a run name.
    """
    if is_own(trainer) or card.kind != "module":
        return
    module, own = card.module.rpartition(":")[0], type(trainer).__module__
    file = Path(getattr(sys.modules.get(own), "__file__", None) or "")
    if module == own or (module.endswith(".py") and Path(module).resolve() == file.resolve()):
        trust(card.module)


def _check_module(trainer: Trainer, weights: Arrays, card: NetworkCard) -> None:
    """Build the module of a card with its weights, as agents do, before anything is trained."""
    from ..agents.networks.custom_network import network_of_card  # imports torch
    from ..agents.networks.network_checks import check_answers

    settings = trainer.settings
    actions = max(options.rules.actions for options in settings.all_options)
    network, twin = (
        network_of_card(card, settings.options.rules, actions, settings.seed) for _ in range(2)
    )
    try:
        network.load_weights(weights)
    except CheckpointError as error:
        method = f"{type(trainer).__name__}.policy_weights()"
        raise CheckpointError(f"what {method} returns does not fit its card: {error}") from error
    check_answers(network, twin)


def _source_of_network(trainer: Trainer, settings: Settings) -> str:
    """SHA-256 of the source of a network of the user's own; empty for the built-in one."""
    return trainer.network_card().source_sha256 if getattr(settings, "network", "") else ""


def _make_trainer(
    settings: Settings, seconds: float = 0.0, env_steps: int = 0, *, parallel: bool = False
) -> tuple[Trainer, TrainerClock]:
    """Trainer of a session, also in the other processes of torchrun (`api.follow`), with its clock.

    `seconds` and `env_steps` are those of earlier sessions.
    """
    ranks = current_ranks()
    ranks.broadcast(settings)
    trainer_kind(settings.trainer)  # imports that take seconds, and are no work of a trainer
    clock = TrainerClock(seconds, env_steps)
    with clock.work():
        return make_trainer(settings, ranks, parallel=parallel), clock


def _callbacks(
    trainer: Trainer, settings: Settings, additional: Iterable[object]
) -> list[Callback]:
    """The callbacks of a run; objects of other classes go to the trainer, if it takes them."""
    callbacks: list[Callback] = []
    kinds = trainer.callback_kinds
    named = [(name, named_callback(name, kinds)) for name in settings.callbacks]
    for name, callback in [
        *named,
        *((type(callback).__name__, callback) for callback in additional),
    ]:
        if isinstance(callback, Callback):
            callbacks.append(callback)
        elif not trainer.add_callback(callback):
            raise SettingsError(
                f"callbacks: {name} is a {type(callback).__name__}, which is no callback of a run, "
                f"nor one that the trainer {settings.trainer} takes"
            )
    return callbacks


def _check_that_changes_matter(run: Run, before: Settings) -> list[str]:
    """The changed settings; refuses those with which nothing would be trained or evaluated."""
    settings, played = run.settings, run.trainer.decisions
    if settings.decisions != before.decisions and settings.decisions <= played:
        raise SettingsError(
            f"decisions is {settings.decisions:,}, and {run.folder} has played {played:,} already: "
            f"give more than that, as in decisions={2 * played}"
        )
    spent = run.seconds / 60
    if settings.max_minutes != before.max_minutes and 0 < settings.max_minutes < spent:
        raise SettingsError(
            f"max_minutes is {settings.max_minutes:g}, and {run.folder} has taken {spent:.2g} "
            f"already: give more, as in max_minutes={max(1, math.ceil(2 * spent))}, or 0 for none"
        )
    old = before.as_mapping()
    changed = [name for name, value in settings.as_mapping().items() if value != old[name]]
    if played >= settings.decisions and not _FINAL_SETTINGS.intersection(changed):
        raise SettingsError(
            f"{', '.join(changed)}: {run.folder} has played its {played:,} decisions, so that "
            f"nothing would come of it: raise the budget as well, as in decisions={2 * played}"
        )
    if 0 < settings.max_minutes < spent and not _FINAL_SETTINGS.intersection(changed):
        raise SettingsError(
            f"{', '.join(changed)}: {run.folder} has taken its {settings.max_minutes:g} minutes, "
            "so that nothing would come of it: give more time as well, as in "
            f"max_minutes={max(1, math.ceil(2 * spent))}"
        )
    return changed
