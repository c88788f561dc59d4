"""Runs in worker processes, local or on Ray; a run whose worker dies is resumed from its state.

A run on a cluster takes along the files and modules that its settings name, and its directory
comes back. If its machine dies, another trains it anew from the state that was sent.
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
from ...common.files import write_file
from ...common.settings_files import format_overrides
from ...common.signals import RunStopped
from ...common.threads import usable_threads
from ...evaluation.packing import PackedFiles, files_below, pack
from ..api import train, train_on
from ..callbacks.base import Callback
from ..folder import SETTINGS, begun, settings_of
from ..presets import changed_settings, settings_from
from ..settings import Settings

Say = Callable[[str], None]

_REMOTE_RUN = Path("run")
_PATH_SETTINGS = (
    "trainer",
    "init",
    "eval_opponents",
    "final_eval_opponents",
    "opponents",
    "callbacks",
)
"""Settings whose values may be paths or modules."""


@dataclass(frozen=True)
class Training:
    """A run to start, or to resume where its folder has a state."""

    name: str
    folder: Path
    settings: Mapping[str, Any]
    """Settings of a new run."""
    words: Sequence[str] = ()
    """Changed settings of a resumed run."""
    callbacks: Sequence[Callback] = ()
    """Additional callbacks, which are pickled for the worker."""
    files: PackedFiles = field(default_factory=PackedFiles)
    """Files that it needs on a cluster, by relative paths."""

    def __str__(self) -> str:
        return f"the training of {self.name}"


def train_runs(trainings: Sequence[Training], on: str, say: Say) -> list[int]:
    """Train runs side by side; returns the exit statuses. On a signal all of them save first."""

    def report_death(training: Training, cause: str) -> None:
        say(f"{training.name}: its process was ended by {cause}")

    def report_line(training: Training, line: str) -> None:
        say(f"{training.name}: {line}")

    # Unless the settings say otherwise, the runs share the cores of this machine.
    default = max(1, usable_threads() // len(trainings)) if on == LOCAL else 1
    trainings = [
        replace(
            training,
            settings={
                **training.settings,
                "threads": training.settings["threads"] or default,
            },
        )
        for training in trainings
    ]
    if on == LOCAL:
        make, workers, threads = _local_worker, min(len(trainings), usable_threads()), 0
        tasks = [(training, lambda _: None) for training in trainings]
    else:
        tasks = [*map(_pack, trainings)]
        make, workers = _remote_worker, len(trainings)
        threads = max(training.settings["threads"] or 1 for training, _ in tasks)
    codes: list[int] = []
    with Executor(
        make, None, workers, on, threads=threads, on_line=report_line, on_death=report_death
    ) as executor:
        futures = [executor.submit(training) for training, _ in tasks]
        for (training, unpack_run), future in zip(tasks, futures, strict=True):
            try:
                code, run_files = future.result()
            except WorkersLost as error:
                say(f"{training.name}: is given up, since {error}")
                code, run_files = 1, {}
            unpack_run(run_files)
            codes.append(code)
    return codes


def _local_worker(_: None) -> Callable[[Training], tuple[int, PackedFiles]]:
    return lambda training: (_train(training), {})


def _remote_worker(_: None) -> Callable[[Training], tuple[int, PackedFiles]]:
    def work(training: Training) -> tuple[int, PackedFiles]:
        shutil.rmtree(_REMOTE_RUN, ignore_errors=True)
        write_files(training.files, Path())
        return _train(training), files_below(_REMOTE_RUN)

    return work


def _train(training: Training) -> int:
    folder, callbacks = training.folder, training.callbacks
    try:
        if begun(folder):
            trained = train_on(folder, training.words, callbacks=callbacks)
        else:
            trained = train(training.settings, folder=folder, callbacks=callbacks)
        print(trained.text())
    except RunStopped as stopped:  # the run has reported it
        return stopped.status
    except Exception as error:
        show_traceback()
        print(f"{type(error).__name__}: {error}")
        return 2
    return 0


def _pack(training: Training) -> tuple[Training, Callable[[PackedFiles], None]]:
    """A training as it is sent to a cluster, and a function that unpacks the run it returns."""
    folder = training.folder
    resumed = begun(folder)
    before = settings_of(folder) if resumed else settings_from(training.settings)
    after = changed_settings(before, training.words) if resumed else before
    local_names: dict[str, None] = {}
    for settings in (before, after):
        _map_paths(settings, lambda name: local_names.setdefault(name) or name)
    remote_names, files = pack(local_names, RAY)
    remote_by_local = dict(zip(local_names, remote_names, strict=True))
    local_by_remote = dict(zip(remote_names, local_names, strict=True))
    remote_before, remote_after = (
        _map_paths(_with_explicit_rules(settings), remote_by_local.__getitem__)
        for settings in (before, after)
    )
    old, new = remote_before.as_mapping(), remote_after.as_mapping()
    if resumed:
        run_files = files_below(folder).items()
        files |= {(_REMOTE_RUN / name).as_posix(): data for name, data in run_files}
        files[(_REMOTE_RUN / SETTINGS).as_posix()] = remote_before.as_yaml().encode()
    words = format_overrides({name: value for name, value in new.items() if value != old[name]})
    remote = replace(training, folder=_REMOTE_RUN, settings=new, words=words, files=files)

    def unpack_run(run_files: PackedFiles) -> None:
        write_files(run_files, folder)
        # The settings name files as they are called on this machine.
        if SETTINGS in run_files:
            settings = _map_paths(settings_of(folder), lambda name: local_by_remote.get(name, name))
            write_file(
                folder / SETTINGS, msgspec.structs.replace(settings, rules=after.rules).as_yaml()
            )

    return remote, unpack_run


def _map_paths(settings: Settings, rename: Callable[[str], str]) -> Settings:
    """Settings with a function applied to all values that may be paths or modules."""
    changes: dict[str, Any] = {}
    for name in _PATH_SETTINGS:
        value = getattr(settings, name, None)
        if isinstance(value, str):
            changes[name] = rename(value)
        elif value is not None:
            changes[name] = tuple(map(rename, value))
    return msgspec.structs.replace(settings, **changes)


def _with_explicit_rules(settings: Settings) -> Settings:
    """Settings with parameters of rule sets in place of files' and runs' paths."""
    listed = settings.rules if isinstance(settings.rules, (list, tuple)) else [settings.rules]
    if not any(isinstance(name, str) and Path(name).exists() for name in listed):
        return settings
    rules = [options.rules.as_mapping() for options in settings.all_options]
    return msgspec.structs.replace(settings, rules=rules if len(rules) > 1 else rules[0])
