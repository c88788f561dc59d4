"""Trainings in workers, here or on a cluster; one whose worker dies goes on where it was saved.

What the settings of a training on a cluster name by path or module travels along, and its run
comes back. A machine that dies has its training begun again elsewhere, from where it began here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from ...common.console import show_traceback
from ...common.executors import LOCAL, Executor, WorkersLost
from ...common.executors.cluster import RAY, write_files
from ...common.files import atomic_write
from ...common.settings_files import format_overrides
from ...common.signals import RunStopped
from ...common.threads import usable_threads
from ...evaluation.packing import PackedFiles, files_below, pack
from ..callbacks.base import Callback
from ..runs.api import train, train_on
from ..runs.presets import changed_settings, settings_from
from ..runs.store import SETTINGS, begun, settings_of
from ..settings import Settings

Say = Callable[[str], None]

_RUN = Path("run")
# Settings in which paths and modules may stand.
_NAMING = ("trainer", "init", "eval_opponents", "final_eval_opponents", "opponents", "callbacks")


@dataclass(frozen=True)
class Training:
    """A run to begin, or to go on with."""

    name: str
    folder: Path
    settings: Mapping[str, Any]
    """Of a run that begins."""
    words: Sequence[str] = ()
    """Settings that are changed where it goes on."""
    callbacks: Sequence[Callback] = ()
    """Beside those that the settings name; they are sent to the worker."""
    files: PackedFiles = field(default_factory=PackedFiles)
    """What it needs on a cluster, by relative paths."""

    def __str__(self) -> str:
        return f"the training of {self.name}"


def threads_each(runs: int, on: str) -> int:
    """How many threads each of so many runs has, if its settings do not say."""
    return max(1, usable_threads() // runs) if on == LOCAL else 1


def train_apart(trainings: Sequence[Training], on: str, say: Say) -> list[int]:
    """Train side by side; the exit statuses. A signal lets all that are under way save first."""

    def died(training: Training, why: str) -> None:
        say(f"{training.name}: its process was ended by {why}")

    def printed(training: Training, line: str) -> None:
        say(f"{training.name}: {line}")

    if on == LOCAL:
        make, workers, threads = _trained_here, min(len(trainings), usable_threads()), 0
        sent = [(training, lambda _: None) for training in trainings]
    else:
        sent = [*map(_packed, trainings)]
        make, workers = _trained_there, len(trainings)
        threads = max(there.settings["threads"] or 1 for there, _ in sent)
    codes: list[int] = []
    with Executor(
        make, None, workers, on, threads=threads, on_line=printed, on_death=died
    ) as executor:
        futures = [executor.submit(there) for there, _ in sent]
        for training, (_, keep), future in zip(trainings, sent, futures, strict=True):
            try:
                code, run = future.result()
            except WorkersLost as error:
                say(f"{training.name}: is given up, since {error}")
                code, run = 1, {}
            keep(run)
            codes.append(code)
    return codes


def _trained_here(_: None) -> Callable[[Training], tuple[int, PackedFiles]]:
    return lambda training: (_trained(training), {})


def _trained_there(_: None) -> Callable[[Training], tuple[int, PackedFiles]]:
    def train_there(training: Training) -> tuple[int, PackedFiles]:
        shutil.rmtree(_RUN, ignore_errors=True)
        write_files(training.files, Path())
        return _trained(training), files_below(_RUN)

    return train_there


def _trained(training: Training) -> int:
    """Train, or go on from what was saved; the exit status, as of the command."""
    folder, callbacks = training.folder, training.callbacks
    try:
        if begun(folder):
            trained = train_on(folder, training.words, callbacks=callbacks)
        else:
            trained = train(training.settings, folder=folder, callbacks=callbacks)
        print(trained.text())
    except RunStopped as stopped:  # which was told where it was shown
        return stopped.status
    except Exception as error:
        show_traceback()
        print(f"{type(error).__name__}: {error}")
        return 2
    return 0


def _packed(training: Training) -> tuple[Training, Callable[[PackedFiles], None]]:
    """A training as a cluster is given it; and what keeps the run that comes back."""
    folder = training.folder
    goes_on = begun(folder)
    before = settings_of(folder) if goes_on else settings_from(training.settings)
    after = changed_settings(before, training.words) if goes_on else before
    here: dict[str, None] = {}
    for each in (before, after):
        _renamed(each, lambda name: here.setdefault(name) or name)
    called, files = pack(here, RAY)
    names = dict(zip(here, called, strict=True))
    was, now = (_renamed(_with_rules(each), names.__getitem__) for each in (before, after))
    told, changed = was.as_mapping(), now.as_mapping()
    if goes_on:
        files |= {(_RUN / name).as_posix(): data for name, data in files_below(folder).items()}
        files[(_RUN / SETTINGS).as_posix()] = was.as_yaml().encode()
    words = format_overrides({name: each for name, each in changed.items() if each != told[name]})
    there = replace(training, folder=_RUN, settings=changed, words=words, files=files)
    names_here = {there: name for name, there in names.items()}

    def keep(run: PackedFiles) -> None:
        write_files(run, folder)
        # As everything is called here.
        if SETTINGS in run:
            found = _renamed(settings_of(folder), lambda name: names_here.get(name, name))
            with atomic_write(folder / SETTINGS, "w") as file:
                file.write(msgspec.structs.replace(found, rules=after.rules).as_yaml())

    return there, keep


def _renamed(settings: Settings, name: Callable[[str], str]) -> Settings:
    """Settings in which whatever may be a path or a module is called otherwise."""
    changed: dict[str, Any] = {}
    for each in _NAMING:
        value = getattr(settings, each, None)
        if isinstance(value, str):
            changed[each] = name(value)
        elif value is not None:
            changed[each] = tuple(map(name, value))
    return msgspec.structs.replace(settings, **changed)


def _with_rules(settings: Settings) -> Settings:
    """Settings that need no file or run to tell what is played."""
    listed = settings.rules if isinstance(settings.rules, (list, tuple)) else [settings.rules]
    if not any(isinstance(each, str) and Path(each).exists() for each in listed):
        return settings
    rules = [each.rules.as_mapping() for each in settings.all_options]
    return msgspec.structs.replace(settings, rules=rules if len(rules) > 1 else rules[0])
