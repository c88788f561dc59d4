"""A run: a folder in which a training keeps its state, its measurements, its log and its players.

`start` begins a run and `resume` goes on with one; both end in `Run.go`, which
trains, measures, saves, and leaves behind a folder that tells all about it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..agents.base import CannotPlay
from ..agents.checkpoint import FOLDER, checkpoints_in, read_card, read_checkpoint, write_card
from ..agents.network import NetworkAgent
from ..engine.files import read_yaml_mapping, written_whole
from .arena import evaluate
from .board import MISSING, Board, board_for
from .checkpoint import load_state, save_state, write_player
from .display import Display, duration
from .report import write_report
from .settings import (
    PPOSettings,
    SB3Settings,
    Settings,
    changed_settings,
    command_of,
    settings_from,
)

SETTINGS, STATE = "settings.yaml", "state.safetensors"
TABLE, MEASURED, LOG = "progress.csv", "measured.csv", "log.txt"
REPORT, BOARD = "report.html", "tensorboard"

# Deals of measurements have a seed of their own, far from those that people give to trainings.
MEASURING_SEED = 0x6D656173757265
_OWN_PAST = "half as long"


class Stopped(Exception):
    """A run that ended before its budget, with what to do; `status` is for the shell."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


class CtrlC:
    """Lets the iteration under way end when Ctrl-C is pressed; pressed again, it stops at once."""

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None

    def __enter__(self) -> CtrlC:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def _press(self, number: int, frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


class Trainer(Protocol):
    """What a run asks of a trainer."""

    decisions: int
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
        """The weights of the player as it is now."""
        ...

    def network_card(self) -> dict[str, Any]:
        """What the card says of the network."""
        ...

    def write_beside(self, path: Path) -> None:
        """Write what else belongs to a checkpoint."""
        ...

    def state(self) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
        """Everything that the rest depends on."""
        ...

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]], plain: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        ...


@dataclass
class Measured:
    """A match against a yardstick."""

    decisions: int
    opponent: str
    win_rate: float
    half_width: float
    margin: float
    hands: int

    def text(self) -> str:
        """In words."""
        rate, reach = 100 * self.win_rate, 100 * self.half_width
        return f"{rate:.1f} ± {reach:.1f} % against {self.opponent}"


@dataclass
class Run:
    """A training in its folder."""

    folder: Path
    settings: Settings
    trainer: Trainer
    seconds: float = 0.0
    """Time spent in earlier sessions of the run."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """What was typed to train the player so far."""

    def __post_init__(self) -> None:
        self._board = Board()

    # -- the way of a run

    def go(self, display: Display) -> Path:
        """Train to the end of the budget; returns the last checkpoint."""
        began = time.monotonic() - self.seconds
        board = board_for(self.folder / BOARD, self.trainer)
        if board is None:
            display.say(MISSING)
        else:
            self._board = board
        try:
            with CtrlC() as ctrl_c:
                self._train(display, began, ctrl_c)
                self.trainer.end()
                self.seconds = time.monotonic() - began
                settings = self.settings
                path = self._checkpoint(display, settings.final_hands, settings.final_yardsticks)
                self.save()
        except ArithmeticError as error:
            self._write_tables()
            raise Stopped(f"{error}; {self._last_good()}") from error
        except OSError as error:
            raise Stopped(
                f"{error.strerror or error} ({error.filename}); {self._last_good()}"
            ) from error
        finally:
            self._board.close()
        return path

    def _train(self, display: Display, began: float, ctrl_c: CtrlC) -> None:
        settings, trainer = self.settings, self.trainer
        while trainer.decisions < settings.decisions:
            before = trainer.decisions
            told = trainer.iterate()
            self.seconds = time.monotonic() - began
            if trainer.stopped:
                display.say(f"a callback ended the training after {trainer.decisions:,} decisions")
                return
            self._note(told)
            display.progress(self, told)
            if _passed(before, trainer.decisions, settings.measure_every):
                self._checkpoint(display, settings.measure_hands)
            if _passed(before, trainer.decisions, settings.save_every):
                self.save()
            if ctrl_c.pressed:
                self.save()
                trainer.end()
                raise Stopped(
                    f"stopped after {trainer.decisions:,} decisions; go on with: german-whist "
                    f"train --resume {self.folder}",
                    status=130,
                )
            if settings.minutes and self.seconds > 60 * settings.minutes:
                display.say(f"the time limit of {settings.minutes:g} minutes is reached")
                return

    def save(self) -> None:
        """Keep the whole state, so that the run can go on from here."""
        arrays, plain = self.trainer.state()
        save_state(
            self.folder / STATE,
            arrays,
            {
                **plain,
                "seconds": self.seconds,
                "rows": self.rows,
                "measured": [vars(each) for each in self.measured],
                "commands": self.commands,
            },
        )
        self._write_tables()
        self._board.flush()

    def _last_good(self) -> str:
        good = checkpoints_in(self.folder / FOLDER)
        if not good:
            return "there is no checkpoint yet"
        return f"the last good checkpoint is {good[-1]}"

    # -- measuring

    def _checkpoint(self, display: Display, hands: int, more: tuple[str, ...] = ()) -> Path:
        """Keep the player, measure it, and write its strength into its card."""
        name = self.folder / FOLDER / f"{self.trainer.decisions:012d}"
        path = write_player(
            name,
            self.trainer.player(),
            self.settings,
            self.trainer.network_card(),
            {
                "decisions": self.trainer.decisions,
                "hands": self.trainer.hands,
                "minutes": round(self.seconds / 60, 2),
                "commands": self.commands,
                "measured": [],
            },
        )
        self.trainer.write_beside(path)
        found = self.measure(path, hands, display, more)
        self.measured += found
        rates = {f"wins against {each.opponent}": each.win_rate for each in found}
        self._board.write(rates, self.trainer.decisions)
        card = read_card(path)
        card["measured"] = [
            {key: value for key, value in vars(each).items() if key != "decisions"}
            for each in found
        ]
        write_card(name, card)
        self._write_tables()
        for each in found:
            display.measured(self, each)
        return path

    def measure(
        self, path: Path, hands: int, display: Display, more: tuple[str, ...] = ()
    ) -> list[Measured]:
        """Let a checkpoint play the yardsticks and its own past, on the same deals each time."""
        rules = self.settings.options.rules
        player = NetworkAgent(rules, read_checkpoint(path))
        opponents: list[tuple[str, Any]] = [
            (name, name) for name in dict.fromkeys((*self.settings.yardsticks, *more))
        ]
        past = self._past()
        if past is not None:
            opponents.append((_OWN_PAST, NetworkAgent(rules, read_checkpoint(past))))
        found = []
        for name, opponent in opponents:
            try:
                result = evaluate(player, opponent, rules, hands=hands, seed=MEASURING_SEED)
            except CannotPlay as error:
                display.say(str(error))
                continue
            pairing = result.pairings[0]
            found.append(
                Measured(
                    self.trainer.decisions,
                    name,
                    pairing.win_rate.value,
                    pairing.win_rate.half_width,
                    pairing.margin.value,
                    pairing.hands,
                )
            )
        return found

    def _past(self) -> Path | None:
        """The checkpoint that had trained about half as long."""
        half = self.trainer.decisions / 2
        paths = [
            path
            for path in checkpoints_in(self.folder / FOLDER)
            if int(path.stem) < self.trainer.decisions
        ]
        return min(paths, key=lambda path: abs(int(path.stem) - half), default=None)

    # -- what it leaves behind

    def _note(self, told: Mapping[str, float]) -> None:
        self._board.write(told, self.trainer.decisions)
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
            _write_csv(self.folder / MEASURED, [vars(each) for each in self.measured])
        write_report(self.folder / REPORT, self.settings, self.rows, self.measured)


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
    import torch

    torch.set_num_threads(settings.threads or usable_threads())
    device = settings.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but torch finds none here: use device=cpu")
    if isinstance(settings, SB3Settings):
        from .sb3 import SB3Trainer

        return SB3Trainer(settings, device)
    from .ppo import PPO

    assert isinstance(settings, PPOSettings)
    return PPO(settings, device)


def usable_threads() -> int:
    """As many threads as this process may use cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start(folder: Path, settings: Settings, make: Callable[[Settings], Trainer]) -> Run:
    """A new run in a folder that is not there yet."""
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: go on with --resume {folder}, or name another")
    trainer = make(settings)
    folder.mkdir(parents=True, exist_ok=True)
    with written_whole(folder / SETTINGS, "w") as file:
        file.write(settings.as_yaml())
    return Run(folder, settings, trainer, commands=[command_of(settings)])


def resume(folder: Path, make: Callable[[Settings], Trainer], words: Sequence[str] = ()) -> Run:
    """A run from where its state was saved last; one that saved none begins again.

    `words` change settings from here on; what shapes the network and the games stays.
    """
    path = folder / SETTINGS
    if not path.exists():
        raise ValueError(f"{folder}: is no run: there is no {SETTINGS} in it")
    before = settings_from(read_yaml_mapping(path), str(path))
    settings = changed_settings(before, words)
    run = Run(folder, settings, make(settings))
    if (folder / STATE).exists():
        arrays, plain = load_state(folder / STATE)
        run.trainer.restore(arrays, plain)
        run.seconds, run.rows = plain["seconds"], plain["rows"]
        run.measured = [Measured(**each) for each in plain["measured"]]
        run.commands = plain["commands"]
    else:
        run.commands = [command_of(before)]
    if settings != before:
        with written_whole(path, "w") as file:
            file.write(settings.as_yaml())
        run.commands.append(
            f"german-whist train --resume RUN {shlex.join(words)}"
            f"  # after {run.trainer.decisions:,} decisions"
        )
        run.save()
    return run


def next_folder(base: Path, name: str) -> Path:
    """A folder for a new run: the name, and a number that is free."""
    number = 1
    while (base / f"{name}-{number}").exists():
        number += 1
    return base / f"{name}-{number}"


def strength_table(path: Path) -> str:
    """What a checkpoint was measured at, as lines of text."""
    card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    lines = [f"{'against':<16}{'wins':>16}{'margin':>9}{'hands':>9}"]
    for each in card["measured"]:
        rate = f"{100 * each['win_rate']:.1f} ± {100 * each['half_width']:.1f} %"
        lines.append(f"{each['opponent']:<16}{rate:>16}{each['margin']:>+9.2f}{each['hands']:>9,}")
    return "\n".join(lines)


__all__ = [
    "Measured", "Run", "Stopped", "duration", "make_trainer", "next_folder", "resume", "start",
    "strength_table",
]  # fmt: skip
