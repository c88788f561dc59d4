"""A run: a folder in which a training keeps its state, its measurements, its log and its players.

`start` begins a run and `resume` goes on with one; both end in `Run.go`, which trains, measures,
saves, and leaves behind a folder that tells all about it. Callbacks receive its events. Of several
ranks each goes the same way: they train and save together, and the first has folder and callbacks.
"""

from __future__ import annotations

import math
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ...agents.calls import PlayerFault
from ...agents.checkpoints.checkpoint import (
    FOLDER,
    WEIGHTS,
    CheckpointError,
    checkpoints_in,
    find_checkpoint,
    read_card,
    write_card,
)
from ...agents.checkpoints.schema import Measurement, Origin
from ...common.files import CanNotWrite, read_yaml_mapping, written_whole
from ...common.plugins import raised_at, told_error
from ...common.signals import UNSTABLE, Signals, Stopped
from ...common.suggestions import meant
from ...common.typed_settings import SettingsError
from ..algorithms.base import Trainer
from ..algorithms.plugin_checks import (
    TrainerFault,
    asked,
    check_counting,
    is_no_number,
    iterated,
    player_of,
    rehearse,
)
from ..algorithms.registry import make_trainer
from ..callbacks.base import Callback, EarlyStopping, named_callback
from ..callbacks.csv_files import Page, Tables
from ..callbacks.evaluation import Found, Measuring, check_yardsticks, measure
from ..callbacks.loggers import TensorBoard
from ..checkpoint import Measured, RunState, load_state, save_state, write_player
from ..distributed import RanksLost, ranks_here
from ..settings import Settings
from .presets import changed_settings, command_of, settings_from
from .run_lock import Claim, claim_new, claim_numbered, clear
from .warm_start import beginning_of

SETTINGS, STATE, LOG = "settings.yaml", "state.safetensors", "log.txt"
# What says how the player is measured when the run is over, and who is told of it.
_AT_THE_END = {"yardsticks", "final_yardsticks", "final_hands", "callbacks"}

T = TypeVar("T")


class CallbackFailed(Exception):
    """Somebody else's callback raised; nothing of the training is lost."""


@dataclass
class Run:
    """A training in its folder, which its first rank holds until `go` or `close` ends."""

    folder: Path
    claim: Claim | None
    settings: Settings
    trainer: Trainer
    seconds: float = 0.0
    """Time spent in the run, earlier sessions included."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """What was typed to train the player so far."""
    init: Origin | None = None
    due: bool = False
    """Whether the player as it is now is still to be measured."""
    pending: Sequence[int] = ()
    """After how many decisions there were checkpoints whose measuring was broken off."""
    finished: bool = False
    about: str = ""
    """What is to be told before it goes on."""
    callbacks: list[Callback] = field(default_factory=list)
    """Who is told of it, beside those that every run has."""

    def __post_init__(self) -> None:
        self.ranks = ranks_here()
        self._stopped_by: str | None = None
        self._signals = Signals()
        self._measuring = Measuring()

    def close(self) -> None:
        """Let others train in the folder."""
        if self.claim is not None:
            self.claim.release()

    # -- the way of a run

    def say(self, text: str) -> None:
        """Tell people a sentence."""
        self._tell("on_text", text)

    def stop(self, why: str) -> None:
        """End the run after this iteration, with a last checkpoint; `why` is told."""
        self._stopped_by = why

    def _tell(self, event: str, *told: object) -> None:
        """Tell every callback of an event, in order."""
        for each in self.callbacks:
            try:
                getattr(each, event)(self, *told)
            except Exception as error:
                if type(each).__module__.startswith(__name__.partition(".")[0] + "."):
                    raise
                name, where = type(each).__name__, raised_at(error)
                raise CallbackFailed(
                    f"the callback {name} raised {told_error(error)} ({where}) in {event}"
                ) from error

    def go(self, *callbacks: Callback) -> Path:
        """Train to the end of the budget; returns the last checkpoint."""
        settings = self.settings
        if self.ranks.leads:
            stopping = [EarlyStopping(settings.patience)] if settings.patience else []
            self.callbacks = [
                *(Tables(), Page(), TensorBoard()), *callbacks, *stopping, *self.callbacks
            ]  # fmt: skip
        try:
            if self.about:
                self.say(self.about)
            if self.finished:
                return self._finished_before()
            with self._signals:
                return self._go()
        except (CanNotWrite, CallbackFailed, PlayerFault, RanksLost, TrainerFault) as error:
            raise Stopped(f"{error}; {self._what_stays()}") from error
        except ArithmeticError as error:
            if not is_no_number(error):
                raise
            raise Stopped(f"{error}; {self._what_stays()}", UNSTABLE) from error
        except OSError as error:
            raise Stopped(
                f"{error.strerror or error} ({error.filename}); {self._what_stays()}"
            ) from error
        finally:
            self.close()

    def _finished_before(self) -> Path:
        self.say(
            f"this run has come to its end, after {self.trainer.decisions:,} decisions; to train "
            f"on, change what ended it, as in: german-whist train --resume {self.folder} "
            f"decisions={2 * self.trainer.decisions}"
        )
        return self._lead(lambda: find_checkpoint(self.folder))

    def _go(self) -> Path:
        settings, trainer = self.settings, self.trainer
        began = time.monotonic() - self.seconds
        try:
            self._lead(self._begin)
            idle = 0
            while self._lead(self._goes_on):
                before, since = trainer.decisions, time.monotonic()
                told = iterated(trainer)
                self.seconds = time.monotonic() - began
                if trainer.stopped:
                    self.say(f"a callback ended the training after {trainer.decisions:,} decisions")
                    break
                now = trainer.decisions
                idle = 0 if now > before else idle + 1
                check_counting(trainer, idle)
                told.setdefault("speed", (now - before) / max(time.monotonic() - since, 1e-9))
                self.due = _passed(before, now, settings.measure_every) and now < settings.decisions
                self._lead(lambda told=told: self._note(told))
                if _passed(before, now, settings.save_every) or self.due:
                    self.save()
            self.seconds = time.monotonic() - began
            asked(trainer, "end")
            # A measurement may take long: nothing that was learnt hangs on it.
            self.save()
            path = self._lead(self._measure_at_the_end)
            self.finished = True
            self.save()
        except PlayerFault:
            # One that came up while it played: what was learnt before it stays. Several ranks
            # cannot save, since the others are in the middle of an iteration.
            if self.ranks.alone:
                self.save_state()
            raise
        finally:
            self._measuring.close()
            self._tell("on_end")
        return path

    def _lead(self, work: Callable[[], T]) -> T:
        """Let the first rank do what is its own, and all know the result.

        A signal, or the fault of a callback or player, ends all ranks with the state saved.
        """
        result, failed, came = None, None, None
        if self.ranks.leads:
            try:
                result = work()
                came = self._signals.came
            except (CallbackFailed, PlayerFault) as error:
                failed = error
            except KeyboardInterrupt:
                came = self._signals.came or signal.SIGINT
        result, ended, came = self.ranks.of_first((result, failed is not None, came))
        if ended:
            self.save_state()
            raise failed or Stopped("the first of the processes ended the run, and told why")
        if came is not None:
            self.save()
            asked(self.trainer, "end")
            raise Stopped(
                f"stopped after {self.trainer.decisions:,} decisions; go on with: german-whist "
                f"train --resume {self.folder}",
                128 + came,
            )
        return result  # type: ignore[return-value]

    def _begin(self) -> None:
        self._tell("on_start")
        settings, left = self.settings, self.pending
        self.pending = ()
        for decisions in left:
            path = self.folder / FOLDER / f"{decisions:012d}{WEIGHTS}"
            if path.exists():
                self._measuring.ask(path, settings.yardsticks, settings.measure_hands)

    def _goes_on(self) -> bool:
        """Take in what was measured, measure what is due, and say why the run ends, if it does."""
        for path, found in self._measuring.finished():
            self._take_in(path, found)
        if self.due:
            self._measure_on_the_way()
        settings, done = self.settings, self.trainer.decisions
        if done >= settings.decisions:
            return False
        if settings.minutes and self.seconds > 60 * settings.minutes:
            self.say(f"the time limit of {settings.minutes:g} minutes is reached")
            return False
        if self._stopped_by is not None:
            self.say(f"ended after {done:,} decisions: {self._stopped_by}")
            return False
        return True

    def save(self) -> None:
        """Keep the whole state, so that the run can go on from here, and tell so."""
        self.save_state()
        self._tell("on_saved")

    def save_state(self) -> None:
        """Keep the whole state."""
        arrays, plain = asked(self.trainer, "state")
        if not self.ranks.leads:
            return
        state = RunState(
            trainer=plain,
            seconds=self.seconds,
            rows=self.rows,
            measured=self.measured,
            commands=self.commands,
            init=self.init,
            due=self.due,
            pending=[*self.pending, *self._measuring.waiting],
            finished=self.finished,
        )
        save_state(self.folder / STATE, arrays, state)

    def _what_stays(self) -> str:
        good = checkpoints_in(self.folder / FOLDER)
        checkpoint = f"the last good checkpoint is {good[-1]}" if good else "there is no checkpoint"
        if not (self.folder / STATE).exists():
            return f"{checkpoint} yet" if not good else checkpoint
        return (
            f"{checkpoint}, and the state that was saved last is as it was: go on from it with "
            f"german-whist train --resume {self.folder}"
        )

    # -- measuring

    def _measure_at_the_end(self) -> Path:
        settings = self.settings
        with self._signals.at_once():
            for path, found in self._measuring.finished(wait=True):
                self._take_in(path, found)
        wanted = (*settings.yardsticks, *settings.final_yardsticks)
        return self._checkpoint(settings.final_hands, wanted)

    def _checkpoint(self, hands: int, yardsticks: Sequence[str]) -> Path:
        """Keep the player and measure it, while nothing else goes on."""
        path = self._write_player()
        with self._signals.at_once():
            self._take_in(path, measure(path, yardsticks, hands))
        self.due = False
        return path

    def _write_player(self) -> Path:
        self.due = True
        weights, network = player_of(self.trainer)
        path = write_player(
            self.folder / FOLDER / f"{self.trainer.decisions:012d}",
            weights,
            self.settings,
            network,
            decisions=self.trainer.decisions,
            hands=self.trainer.hands,
            minutes=round(self.seconds / 60, 2),
            commands=tuple(self.commands),
            init=self.init,
        )
        asked(self.trainer, "write_beside", path)
        self._tell("on_checkpoint", path)
        return path

    def _measure_on_the_way(self) -> None:
        """Keep the player, and have it measured: beside the training, or now.

        Who waits for what comes of it has it now, so that a run ends where it would again.
        """
        settings = self.settings
        if settings.measuring == "here" or settings.patience:
            self._checkpoint(settings.measure_hands, settings.yardsticks)
            return
        self._measuring.ask(self._write_player(), settings.yardsticks, settings.measure_hands)
        self.due = False

    def _take_in(self, path: Path, found: Found) -> None:
        """Keep what a checkpoint was measured at, and write it into its card."""
        for text in found.texts:
            self.say(text)
        self._keep(found.measured)
        told = tuple(
            msgspec.convert(_without_decisions(each), Measurement) for each in found.measured
        )
        card = read_card(path)
        write_card(path.with_suffix(""), msgspec.structs.replace(card, measured=told))
        self._tell("on_measured", found.measured)

    def _keep(self, found: Sequence[Measured]) -> None:
        """Add measurements; what was measured of the same player before gives way."""
        new = {(each.decisions, each.title) for each in found}
        kept = [each for each in self.measured if (each.decisions, each.title) not in new]
        self.measured = [*kept, *found]

    def _note(self, told: Mapping[str, float]) -> None:
        self.rows.append(
            {
                "decisions": self.trainer.decisions,
                "hands_played": self.trainer.hands,
                "seconds": round(self.seconds, 3),
                **{name: float(f"{value:.6g}") for name, value in told.items()},
            }
        )
        self._tell("on_iteration", told)


def _without_decisions(each: Measured) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(each)
    del told["decisions"]
    return told


def _passed(before: int, now: int, every: int) -> bool:
    return before // every != now // every


# -- beginning and going on


def _joined(trainer: Trainer, settings: Settings, more: Iterable[object]) -> list[Callback]:
    """The callbacks of a run; those of another kind are the trainer's, if it takes them."""
    found: list[Callback] = []
    wanted = [(name, named_callback(name)) for name in settings.callbacks]
    for name, each in [*wanted, *((type(each).__name__, each) for each in more)]:
        if isinstance(each, Callback):
            found.append(each)
        elif not trainer.adopt(each):
            raise SettingsError(
                f"callbacks: {name} is a {type(each).__name__}, which is no callback of a run, nor "
                f"one that the trainer {settings.trainer} takes"
            )
    return found


def start(
    folder: Path,
    settings: Settings,
    *,
    numbered: bool = False,
    callbacks: Iterable[object] = (),
) -> Run:
    """A new run in a folder that nobody has; `numbered` takes FOLDER-1, or the next that is free.

    `callbacks` are beside those that the settings name. What is wrong with the settings is told
    before a folder is made.
    """
    ranks = ranks_here()
    trainer = make_trainer(settings, ranks)
    joined = _joined(trainer, settings, callbacks) if ranks.leads else []
    check_yardsticks(settings)
    rehearse(trainer, settings)
    beginning = claim = None
    if ranks.leads:
        beginning = beginning_of(settings, trainer.network_card()) if settings.init else None
    beginning = ranks.of_first(beginning)
    if beginning is not None:
        asked(trainer, "begin_with", beginning.weights)
    if ranks.leads:
        claim = claim_numbered(folder) if numbered else claim_new(folder)
        folder = claim.folder
        with written_whole(folder / SETTINGS, "w") as file:
            file.write(settings.as_yaml())
    folder = ranks.of_first(folder)
    run = Run(folder, claim, settings, trainer, commands=[command_of(settings)], callbacks=joined)
    if beginning is not None:
        run.init, run.about = beginning.origin, beginning.about
    run.save()
    return run


def resume(folder: Path, words: Sequence[str] = (), *, callbacks: Iterable[object] = ()) -> Run:
    """A run from where its state was saved last.

    `words` change settings from here on; what shapes the network and the games stays.
    """
    if not ranks_here().leads:
        return _resumed(folder, None, words, ())
    path = folder / SETTINGS
    if not folder.exists():
        beside = {each.parent.name for each in folder.parent.glob("*/*.yaml")}
        near = meant(folder.name, beside, listed=False)
        raise ValueError(f"{folder}: there is no such folder to go on in{near}")
    if not path.exists():
        raise ValueError(f"{folder}: is no run: there is no {SETTINGS} in it")
    claim = Claim(folder)
    try:
        return _resumed(folder, claim, words, callbacks)
    except BaseException:
        claim.release()
        raise


def begun(folder: Path) -> bool:
    """Whether there is a run to go on with; one that saved nothing is cleared away, to begin anew.

    Refused while it is being trained. What no run has left stays, and no run begins there.
    """
    if (folder / STATE).exists() or checkpoints_in(folder / FOLDER):
        return True
    # Its settings are the first that a run writes, under a name with more around it until whole.
    if any(folder.glob(f"*{SETTINGS}*")):
        clear(folder)
    return False


def settings_of(folder: Path) -> Settings:
    """The settings of a run."""
    path = folder / SETTINGS
    return settings_from(read_yaml_mapping(path), str(path))


def _resumed(
    folder: Path, claim: Claim | None, words: Sequence[str], callbacks: Iterable[object]
) -> Run:
    ranks, path, state_path = ranks_here(), folder / SETTINGS, folder / STATE
    saved: Any = None
    if ranks.leads:
        before = settings_of(folder)
        settings = changed_settings(before, words)
        if not state_path.exists():
            raise ValueError(_no_state(folder))
        saved = before, settings, *load_state(state_path)
    before, settings, arrays, state = ranks.of_first(saved)
    trainer = make_trainer(settings, ranks)
    run = Run(
        folder,
        claim,
        settings,
        trainer,
        seconds=state.seconds,
        rows=state.rows,
        measured=state.measured,
        commands=state.commands,
        init=state.init,
        due=state.due,
        pending=state.pending,
        finished=state.finished,
        callbacks=_joined(trainer, settings, callbacks) if ranks.leads else [],
    )
    try:
        asked(trainer, "restore", arrays, state.trainer)
    except (ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise CheckpointError(
            f"{state_path}: does not fit the run's settings ({told_error(error)}); begin another "
            f"run with its weights: init={folder}"
        ) from error
    # The budget may have been changed in the file.
    if run.finished and trainer.decisions < settings.decisions:
        run.finished = False
    if settings != before:
        _check_that_something_is_left(run, before)
        if ranks.leads:
            with written_whole(path, "w") as file:
                file.write(settings.as_yaml())
        run.commands.append(
            f"german-whist train --resume RUN {shlex.join(words)}"
            f"  # after {run.trainer.decisions:,} decisions"
        )
        run.finished = False
        run.save()
    return run


def _check_that_something_is_left(run: Run, before: Settings) -> None:
    """Refuse changed settings with which nothing would be trained, nor measured in another way."""
    settings, played = run.settings, run.trainer.decisions
    if settings.decisions != before.decisions and settings.decisions <= played:
        raise SettingsError(
            f"decisions is {settings.decisions:,}, and {run.folder} has played {played:,} already: "
            f"give more than that, as in decisions={2 * played}"
        )
    spent = run.seconds / 60
    if settings.minutes != before.minutes and 0 < settings.minutes < spent:
        raise SettingsError(
            f"minutes is {settings.minutes:g}, and {run.folder} has taken {spent:.2g} already: "
            f"give more than that, as in minutes={max(1, math.ceil(2 * spent))}, or 0 for no limit"
        )
    was, now = before.as_mapping(), settings.as_mapping()
    changed = [name for name, value in now.items() if value != was[name]]
    if played >= settings.decisions and not _AT_THE_END.intersection(changed):
        raise SettingsError(
            f"{', '.join(changed)}: {run.folder} has played its {played:,} decisions, so that "
            f"nothing would come of it: give more beside, as in decisions={2 * played}"
        )


def _no_state(folder: Path) -> str:
    """What can be done about a run without a state."""
    told = f"{folder}: there is no {STATE} to go on from: "
    found = checkpoints_in(folder / FOLDER)
    if not found:
        return f"{told}none was saved yet, so nothing is lost by beginning another run"
    return (
        f"{told}begin another run with the weights of its last checkpoint: "
        f"german-whist train {folder / SETTINGS} init={found[-1]}"
    )
