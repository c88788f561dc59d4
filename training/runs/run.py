"""The loop of a training: iterate, evaluate, save, until the budget or a stop.

`start` and `resume` make a `Run`; `Run.go` trains to the end. Callbacks receive its events.
Several ranks run the same loop: they train and save together, and the first has the directory
(`RunStore`), the evaluations (`EvaluationQueue`) and the callbacks.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from ...agents.calls import PlayerFault
from ...agents.checkpoints.checkpoint import find_checkpoint
from ...common.files import CannotWrite
from ...common.plugins import error_location, error_text
from ...common.signals import UNSTABLE, RunStopped, SignalGuard
from ..algorithms.base import Trainer
from ..algorithms.plugin_checks import (
    TrainerFault,
    check_progress,
    checked_metrics,
    checked_player,
    checked_state,
    guarded,
    is_divergence,
)
from ..callbacks.base import Callback, CallbackFailed, EarlyStopping, TrainingRun
from ..callbacks.evaluation import CheckpointEvaluation, evaluate_checkpoint
from ..callbacks.loggers import TensorBoard
from ..callbacks.report_files import CsvFiles, HtmlReport
from ..checkpoint import RunState, save_state, write_player
from ..distributed import RanksLost, current_ranks
from ..settings import Settings
from .evaluation_queue import EvaluationQueue
from .store import RunStore

T = TypeVar("T")


class Run(TrainingRun):
    """A training in its directory, which the first rank holds until `go` or `close` ends."""

    def __init__(
        self,
        store: RunStore,
        settings: Settings,
        trainer: Trainer,
        state: RunState,
        callbacks: Sequence[Callback] = (),
        *,
        note: str = "",
    ) -> None:
        """`callbacks` are beside those that every run has; `note` is reported at the start."""
        super().__init__(store.folder, settings, trainer, state)
        self.store, self.note = store, note
        self.ranks = current_ranks()
        self.callbacks = [*callbacks]
        self.evaluation_queue = EvaluationQueue(settings.eval_opponents, settings.eval_hands)
        self._signals = SignalGuard()
        self._stop_reason: str | None = None
        self._saved = 0
        """Decisions of the last saved state."""

    # -- what callbacks see and may do

    def say(self, text: str) -> None:
        self._notify("on_message", text)

    def stop(self, reason: str) -> None:
        self._stop_reason = reason

    def _notify(self, event: str, *details: object) -> None:
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

    # -- the loop

    def go(self, *callbacks: Callback) -> Path:
        """Train to the end of the budget; returns the last checkpoint."""
        settings, self._saved = self.settings, self.trainer.decisions
        if self.ranks.is_first:
            stopping = [EarlyStopping(settings.patience)] if settings.patience else []
            usual = (CsvFiles(), HtmlReport(), TensorBoard())
            self.callbacks = [*usual, *callbacks, *stopping, *self.callbacks]
        try:
            if self.note:
                self.say(self.note)
            if self.state.finished:
                self.say(
                    f"this run has come to its end, after {self.trainer.decisions:,} decisions; to "
                    "train on, change what ended it, as in: german-whist train --resume "
                    f"{self.folder} decisions={2 * self.trainer.decisions}"
                )
                return self._on_first_rank(partial(find_checkpoint, self.folder))
            with self._signals:
                return self._train()
        except (CannotWrite, CallbackFailed, PlayerFault, RanksLost, TrainerFault) as error:
            raise self._stopped(error) from error
        except ArithmeticError as error:
            if not is_divergence(error):
                raise
            raise self._stopped(error, UNSTABLE) from error
        except OSError as error:
            raise self._stopped(f"{error.strerror or error} ({error.filename})") from error
        finally:
            self.close()

    def _stopped(self, reason: object, status: int = 1) -> RunStopped:
        return RunStopped(f"{reason}; {self.store.recovery_hint(self._saved)}", status)

    def _train(self) -> Path:
        settings, trainer, state = self.settings, self.trainer, self.state
        started = time.monotonic() - state.seconds
        idle = 0
        try:
            self._on_first_rank(self._begin_session)
            while self._on_first_rank(self._evaluate_and_continue):
                before, began = trainer.decisions, time.monotonic()
                processor_began = time.process_time()
                metrics = checked_metrics(trainer)
                processor_seconds = time.process_time() - processor_began
                state.seconds = time.monotonic() - started
                if trainer.stopped:
                    self.say(f"a callback ended the training after {trainer.decisions:,} decisions")
                    break
                now = trainer.decisions
                idle = 0 if now > before else idle + 1
                check_progress(trainer, idle)
                if metrics:
                    speed = (now - before) / max(time.monotonic() - began, 1e-9)
                    metrics.setdefault("decisions_per_second", speed)
                # The budget's last checkpoint is evaluated below, and more thoroughly.
                passed = _passed(before, now, settings.eval_every)
                state.due = passed and now < settings.decisions
                self._on_first_rank(partial(self._log_iteration, metrics, processor_seconds))
                if _passed(before, now, settings.save_every) or state.due:
                    self.save()
            state.seconds = time.monotonic() - started
            guarded(trainer.close)
            # Before the evaluation, which may take long: a kill during it loses nothing.
            self.save()
            path = self._on_first_rank(self._evaluate_at_end)
            state.finished = True
            self.save()
        except PlayerFault:
            # An opponent failed; what was learnt before stays. Several ranks cannot save, since
            # the others are in the middle of an iteration.
            if self.ranks.is_only:
                self.save_state()
            raise
        finally:
            self.evaluation_queue.close()
            self._notify("on_end")
        return path

    def _on_first_rank(self, work: Callable[[], T]) -> T:
        """Do some work on the first rank alone, and give its result to all.

        A signal, or the failure of a callback or player, ends all ranks with the state saved.
        """
        result, failure, signal_number = None, None, None
        if self.ranks.is_first:
            try:
                result = work()
                signal_number = self._signals.received
            except (CallbackFailed, PlayerFault) as error:
                failure = error
            except KeyboardInterrupt:
                signal_number = self._signals.received or signal.SIGINT
        result, failed, signal_number = self.ranks.broadcast(
            (result, failure is not None, signal_number)
        )
        if failed:
            self.save_state()
            raise failure or RunStopped("the first of the processes ended the run, and told why")
        if signal_number is not None:
            self._save_at_signal()
            guarded(self.trainer.close)
            raise RunStopped(
                f"stopped after {self.trainer.decisions:,} decisions; go on with: german-whist "
                f"train --resume {self.folder}",
                128 + signal_number,
            )
        return result  # type: ignore[return-value]

    def _save_at_signal(self) -> None:
        """Save, with a checkpoint of the current player, which a resumed run removes again."""
        path = self.store.checkpoint_at(self.trainer.decisions)
        is_new = self.ranks.is_first and not path.exists()
        if is_new:
            self.state.stop_checkpoint = self.trainer.decisions
        self.save()
        if is_new:
            self._write_checkpoint()

    def _begin_session(self) -> None:
        # A run that was stopped has the checkpoints of one that was not, and their evaluations.
        if self.state.stop_checkpoint is not None:
            self.store.remove_checkpoint(self.state.stop_checkpoint)
            self.state.stop_checkpoint = None
        self._notify("on_start")
        pending, self.state.pending = self.state.pending, []
        for decisions in pending:
            path = self.store.checkpoint_at(decisions)
            if path.exists():
                self.evaluation_queue.submit(path)

    def _evaluate_and_continue(self) -> bool:
        """Whether to go on, after evaluations that are finished or due; reports why not."""
        settings, done = self.settings, self.trainer.decisions
        for path, results in self.evaluation_queue.finished():
            self._record(path, results)
        if self.state.due:
            path = self._write_due_checkpoint()
            # Early stopping needs the result now, or a run would not end where it would again.
            if settings.eval_mode == "sync" or settings.patience:
                self._evaluate(path, settings.eval_opponents, settings.eval_hands)
            else:
                self.evaluation_queue.submit(path)
            self.state.due = False
        if done >= settings.decisions:
            return False
        if settings.max_minutes and self.seconds > 60 * settings.max_minutes:
            self.say(f"the time limit of {settings.max_minutes:g} minutes is reached")
            return False
        if self._stop_reason is not None:
            self.say(f"ended after {done:,} decisions: {self._stop_reason}")
            return False
        return True

    def _log_iteration(self, metrics: Mapping[str, float], processor_seconds: float) -> None:
        before = self.rows[-1].get("processor_seconds", 0.0) if self.rows else 0.0
        self.rows.append(
            {
                "decisions": self.trainer.decisions,
                "hands_played": self.trainer.hands,
                "seconds": round(self.seconds, 3),
                "processor_seconds": round(before + processor_seconds, 3),
                **{name: float(f"{value:.6g}") for name, value in metrics.items()},
            }
        )
        if metrics:
            self._notify("on_iteration", metrics)

    # -- checkpoints and their evaluation

    def _evaluate_at_end(self) -> Path:
        settings = self.settings
        with self._signals.immediate():
            for path, results in self.evaluation_queue.finished(wait=True):
                self._record(path, results)
        path = self._write_due_checkpoint()
        opponents = (*settings.eval_opponents, *settings.final_eval_opponents)
        self._evaluate(path, opponents, settings.final_eval_hands)
        self.state.due = False
        return path

    def _write_due_checkpoint(self) -> Path:
        # Until it is evaluated or submitted: a run that ends before is resumed by evaluating.
        self.state.due = True
        return self._write_checkpoint()

    def _write_checkpoint(self) -> Path:
        trainer, state = self.trainer, self.state
        weights, network = checked_player(trainer)
        path = write_player(
            self.store.checkpoint_at(trainer.decisions).with_suffix(""),
            weights,
            self.settings,
            network,
            decisions=trainer.decisions,
            hands=trainer.hands,
            minutes=round(self.seconds / 60, 2),
            commands=tuple(state.commands),
            init=state.init,
        )
        guarded(trainer.write_extra_files, path)
        self._notify("on_checkpoint", path)
        return path

    def _evaluate(self, path: Path, opponents: Sequence[str], hands: int) -> None:
        """Evaluate a checkpoint while the training waits."""
        with self._signals.immediate():
            self._record(path, evaluate_checkpoint(path, opponents, hands))

    def _record(self, path: Path, evaluation: CheckpointEvaluation) -> None:
        """Keep results of an evaluation; they replace earlier ones of the same checkpoint."""
        for message in evaluation.messages:
            self.say(message)
        replaced = {(result.decisions, result.title) for result in evaluation.results}
        self.state.evaluations = [
            *(old for old in self.evaluations if (old.decisions, old.title) not in replaced),
            *evaluation.results,
        ]
        self.store.add_evaluations(path, evaluation.results)
        self._notify("on_evaluation", evaluation.results)

    # -- saving

    def save(self) -> None:
        """Save the state, and tell the callbacks."""
        self.save_state()
        self._notify("on_save")

    def save_state(self) -> None:
        """Save everything that the rest of the run depends on."""
        # Every rank takes part: the first collects the games of all.
        arrays, plain = checked_state(self.trainer)
        if self.ranks.is_first:
            pending = [*self.state.pending, *self.evaluation_queue.pending]
            state = msgspec.structs.replace(self.state, trainer=plain, pending=pending)
            save_state(self.store.state_path, arrays, state)
            self._saved = self.trainer.decisions

    def close(self) -> None:
        self.store.release()


def _passed(before: int, now: int, every: int) -> bool:
    return before // every != now // every
