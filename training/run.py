"""A run: a folder in which a training keeps its state, its measurements, its log and its players.

`start` begins a run and `resume` goes on with one; both end in `Run.go`, which
trains, measures, saves, and leaves behind a folder that tells all about it.
"""

from __future__ import annotations

import csv
import io
import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec
import numpy as np

from ..agents.card import Measurement, NetworkCard, Origin
from ..agents.checkpoint import (
    FOLDER,
    CheckpointError,
    checkpoints_in,
    find_checkpoint,
    read_card,
    write_card,
)
from ..engine.files import read_yaml_mapping, written_whole
from .board import MISSING, Board, board_for
from .checkpoint import Measured, RunState, load_state, save_state, write_player
from .claim import Claim, claim_new, claim_numbered
from .display import Display
from .init import beginning_of
from .measuring import check_yardsticks, curve_of, measure
from .report import write_report
from .settings import (
    PPOSettings,
    SB3Settings,
    Settings,
    changed_settings,
    command_of,
    settings_from,
)
from .stopping import Signals, Stopped

SETTINGS, STATE = "settings.yaml", "state.safetensors"
TABLE, MEASURED, LOG = "progress.csv", "measured.csv", "log.txt"
REPORT, BOARD = "report.html", "tensorboard"


class Trainer(Protocol):
    """What a run asks of a trainer."""

    decisions: int
    """The learner's own, so far."""
    hands: int

    @property
    def stopped(self) -> bool:
        """Whether it ended the training before its budget."""
        ...

    def iterate(self) -> dict[str, float]:
        """Train a while, and tell what happened; nothing is told of one that was cut short."""
        ...

    def end(self) -> None:
        """The training is over."""
        ...

    def player(self) -> dict[str, np.ndarray[Any, Any]]:
        """The weights of the player as it is now, and of its critic if the card tells of one."""
        ...

    def network_card(self) -> NetworkCard:
        """What the card says of the network."""
        ...

    def write_beside(self, path: Path) -> None:
        """Write what else belongs to a checkpoint."""
        ...

    def begin_with(self, weights: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Begin with the weights of a checkpoint, which fit."""
        ...

    def state(self) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
        """Everything that the rest depends on."""
        ...

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]], plain: dict[str, Any]) -> None:
        """Go on from what `state` gave; whatever does not fit is a ValueError."""
        ...


Maker = Callable[[Settings], Trainer]


@dataclass
class Run:
    """A training in its folder, which it holds until `go` or `close` ends."""

    claim: Claim
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
    finished: bool = False
    about: str = ""
    """What is to be told before it goes on."""

    def __post_init__(self) -> None:
        self.folder = self.claim.folder
        self._board = Board()

    def close(self) -> None:
        """Let others train in the folder."""
        self.claim.release()

    # -- the way of a run

    def go(self, display: Display) -> Path:
        """Train to the end of the budget; returns the last checkpoint."""
        if self.about:
            display.say(self.about)
        try:
            if self.finished:
                return self._finished_before(display)
            self._open_board(display)
            with Signals() as signals:
                return self._go(display, signals)
        except ArithmeticError as error:
            self._write_tables()
            raise Stopped(f"{error}; {self._what_stays()}") from error
        except OSError as error:
            raise Stopped(
                f"{error.strerror or error} ({error.filename}); {self._what_stays()}"
            ) from error
        finally:
            self._board.close()
            self.close()

    def _finished_before(self, display: Display) -> Path:
        path = find_checkpoint(self.folder)
        display.say(
            f"this run has come to its end, after {self.trainer.decisions:,} decisions; to train "
            f"on, change what ended it, as in: german-whist train --resume {self.folder} "
            f"decisions={2 * self.trainer.decisions}"
        )
        return path

    def _open_board(self, display: Display) -> None:
        board = board_for(self.folder / BOARD, self.trainer)
        if board is None:
            display.say(MISSING)
            return
        self._board = board
        board.text("settings", self.settings.as_yaml(), self.trainer.decisions)

    def _go(self, display: Display, signals: Signals) -> Path:
        began = time.monotonic() - self.seconds
        settings, trainer = self.settings, self.trainer
        self._train(display, began, signals)
        self.seconds = time.monotonic() - began
        trainer.end()
        # A measurement may take long: nothing that was learnt hangs on it.
        self.save()
        wanted = (*settings.yardsticks, *settings.final_yardsticks)
        path = self._checkpoint(display, signals, settings.final_hands, wanted)
        self.finished = True
        self.save()
        return path

    def _train(self, display: Display, began: float, signals: Signals) -> None:
        settings, trainer = self.settings, self.trainer
        while True:
            if self.due:
                self.save()
                self._checkpoint(display, signals, settings.measure_hands, settings.yardsticks)
            if trainer.decisions >= settings.decisions:
                return
            if settings.minutes and self.seconds > 60 * settings.minutes:
                display.say(f"the time limit of {settings.minutes:g} minutes is reached")
                return
            before = trainer.decisions
            told = trainer.iterate()
            self.seconds = time.monotonic() - began
            if trainer.stopped:
                display.say(f"a callback ended the training after {trainer.decisions:,} decisions")
                return
            self._note(told)
            display.progress(self, told)
            now = trainer.decisions
            self.due = _passed(before, now, settings.measure_every) and now < settings.decisions
            if signals.came is not None:
                self._stop(signals)
            if _passed(before, now, settings.save_every):
                self.save()

    def _stop(self, signals: Signals) -> NoReturn:
        """Save, and say how to go on."""
        self.save()
        self.trainer.end()
        raise Stopped(
            f"stopped after {self.trainer.decisions:,} decisions; go on with: german-whist "
            f"train --resume {self.folder}",
            signals.status,
        )

    def save(self) -> None:
        """Keep the whole state, so that the run can go on from here."""
        arrays, plain = self.trainer.state()
        state = RunState(
            trainer=plain,
            seconds=self.seconds,
            rows=self.rows,
            measured=self.measured,
            commands=self.commands,
            init=self.init,
            due=self.due,
            finished=self.finished,
        )
        save_state(self.folder / STATE, arrays, state)
        self._write_tables()
        self._board.flush()

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

    def _checkpoint(
        self, display: Display, signals: Signals, hands: int, yardsticks: Sequence[str]
    ) -> Path:
        """Keep the player, measure it, and write its strength into its card."""
        self.due = True
        name = self.folder / FOLDER / f"{self.trainer.decisions:012d}"
        path = write_player(
            name,
            self.trainer.player(),
            self.settings,
            self.trainer.network_card(),
            decisions=self.trainer.decisions,
            hands=self.trainer.hands,
            minutes=round(self.seconds / 60, 2),
            commands=tuple(self.commands),
            init=self.init,
        )
        self.trainer.write_beside(path)
        try:
            with signals.at_once():
                rules = self.settings.options.rules
                found = measure(path, rules, yardsticks, hands, display.say)
        except KeyboardInterrupt:
            self._stop(signals)
        self._keep(found)
        card = read_card(path)
        told = tuple(msgspec.convert(_without_decisions(each), Measurement) for each in found)
        write_card(name, msgspec.structs.replace(card, measured=told))
        self.due = False
        self._write_tables()
        for each in found:
            display.measured(self, each)
        return path

    def _keep(self, found: Sequence[Measured]) -> None:
        """Add measurements; what was measured of the same player before gives way."""
        new = {(each.decisions, each.opponent) for each in found}
        kept = [each for each in self.measured if (each.decisions, each.opponent) not in new]
        self.measured = [*kept, *found]
        rates = {f"eval/{curve_of(each.opponent)}": each.win_rate for each in found}
        self._board.write(rates, self.trainer.decisions)

    # -- what it leaves behind

    def _note(self, told: Mapping[str, float]) -> None:
        curves = {f"train/{name}": value for name, value in told.items()}
        self._board.write(curves, self.trainer.decisions)
        self.rows.append(
            {
                "decisions": self.trainer.decisions,
                "hands_played": self.trainer.hands,
                "seconds": round(self.seconds, 3),
                **{name: float(f"{value:.6g}") for name, value in told.items()},
            }
        )

    def _write_tables(self) -> None:
        if self.rows:
            _write_csv(self.folder / TABLE, self.rows)
        if self.measured:
            _write_csv(
                self.folder / MEASURED,
                [
                    {"decisions": each.decisions, **_without_decisions(each)}
                    for each in self.measured
                ],
            )
        write_report(self.folder / REPORT, self.settings, self.rows, self.measured)


def _without_decisions(each: Measured) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(each)
    del told["decisions"]
    return told


def _passed(before: int, now: int, every: int) -> bool:
    return before // every != now // every


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with written_whole(path, "w") as file:
        file.write(text.getvalue())


# -- beginning and going on


def make_trainer(settings: Settings) -> Trainer:
    """The trainer that some settings are for, on the device they ask for."""
    try:
        import torch
    except ImportError as error:
        raise _missing(error) from None

    torch.set_num_threads(settings.threads or usable_threads())
    device = settings.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but torch finds none here: use device=cpu")
    if isinstance(settings, SB3Settings):
        try:
            from .sb3 import SB3Trainer
        except ImportError as error:
            raise _missing(error) from None

        return SB3Trainer(settings, device)
    from .ppo import PPO

    assert isinstance(settings, PPOSettings)
    return PPO(settings, device)


def _missing(error: ImportError) -> Exception:
    """What to say when a package that trains is not there; other errors are as they are."""
    if error.name is None or error.name.split(".")[0] not in (
        *("torch", "sb3_contrib", "stable_baselines3"),
    ):
        return error
    return ValueError(
        f"training needs {error.name.split('.')[0]}, which is not installed: pip install "
        "'german-whist[train]'"
    )


def usable_threads() -> int:
    """As many threads as this process may use cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start(folder: Path, settings: Settings, make: Maker, *, numbered: bool = False) -> Run:
    """A new run in a folder that nobody has; `numbered` takes FOLDER-1, or the next that is free.

    What is wrong with the settings is told before a folder is made.
    """
    trainer = make(settings)
    check_yardsticks(settings)
    beginning = beginning_of(settings, trainer.network_card()) if settings.init else None
    if beginning is not None:
        trainer.begin_with(beginning.weights)
    claim = claim_numbered(folder) if numbered else claim_new(folder)
    with written_whole(claim.folder / SETTINGS, "w") as file:
        file.write(settings.as_yaml())
    run = Run(claim, settings, trainer, commands=[command_of(settings)])
    if beginning is not None:
        run.init, run.about = beginning.origin, beginning.about
    run.save()
    return run


def resume(folder: Path, make: Maker, words: Sequence[str] = ()) -> Run:
    """A run from where its state was saved last.

    `words` change settings from here on; what shapes the network and the games stays.
    """
    path = folder / SETTINGS
    if not path.exists():
        raise ValueError(f"{folder}: is no run: there is no {SETTINGS} in it")
    claim = Claim(folder)
    try:
        return _resumed(claim, make, words)
    except BaseException:
        claim.release()
        raise


def _resumed(claim: Claim, make: Maker, words: Sequence[str]) -> Run:
    folder = claim.folder
    path, state_path = folder / SETTINGS, folder / STATE
    before = settings_from(read_yaml_mapping(path), str(path))
    settings = changed_settings(before, words)
    if not state_path.exists():
        raise ValueError(_no_state(folder))
    arrays, state = load_state(state_path)
    run = Run(
        claim,
        settings,
        make(settings),
        seconds=state.seconds,
        rows=state.rows,
        measured=state.measured,
        commands=state.commands,
        init=state.init,
        due=state.due,
        finished=state.finished,
    )
    try:
        run.trainer.restore(arrays, state.trainer)
    except (ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise CheckpointError(
            f"{state_path}: does not fit the run's settings ({error}); begin another run with its "
            f"weights: init={folder}"
        ) from None
    if settings != before:
        with written_whole(path, "w") as file:
            file.write(settings.as_yaml())
        run.commands.append(
            f"german-whist train --resume RUN {shlex.join(words)}"
            f"  # after {run.trainer.decisions:,} decisions"
        )
        run.finished = False
        run.save()
    return run


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


__all__ = [
    "Maker", "Run", "Stopped", "Trainer", "make_trainer", "resume", "start", "usable_threads",
]  # fmt: skip
