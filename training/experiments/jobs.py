"""Jobs: trainings with a folder each, in worker processes, local or on Ray.

A job whose worker dies is resumed from its state. One on a cluster takes along the files and
modules that its settings name, and its folder comes back. If its machine dies, another trains it
anew from the state that was sent.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from ...common.console import show_traceback
from ...common.executors import LOCAL, Executor, WorkersLost
from ...common.executors.cluster import RAY, write_files
from ...common.files import is_full_disk, write_file
from ...common.settings import format_overrides
from ...common.signals import FULL_DISK, RunStopped
from ...common.threads import usable_threads
from ...common.typing import JsonObject
from ...evaluation.packing import PackedFiles, files_below, pack, pack_network
from ..api import resume, train
from ..callbacks.base import Callback
from ..folder import SETTINGS, begun, settings_of
from ..presets import changed_settings, settings_from
from ..settings import Settings

Log = Callable[[str], None]

_REMOTE_RUN = Path("run")
_PATH_SETTINGS = (
    "trainer",
    "init",
    "eval_opponents",
    "final_eval_opponents",
    "opponents",
    "callbacks",
)
"""Settings whose values may be paths or modules, and may have other names on a cluster."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run to start, or to resume where its folder has a state."""

    name: str
    folder: Path
    settings: JsonObject
    """Settings of a new run."""
    words: Sequence[str] = ()
    """Changed settings of a resumed run."""
    callbacks: Sequence[Callback] = ()
    """Additional callbacks, which are pickled for the worker."""
    files: PackedFiles = field(default_factory=PackedFiles)
    """Files that it needs on a cluster, by relative paths."""

    def __str__(self) -> str:
        return f"the training of {self.name}"


J = TypeVar("J", bound=Job)


def train_job(job: Job) -> None:
    if begun(job.folder):
        trained = resume(job.folder, job.words, callbacks=job.callbacks)
    else:
        trained = train(job.settings, folder=job.folder, callbacks=job.callbacks)
    print(trained.text())


def run_jobs(
    jobs: Sequence[J],
    on: str,
    log: Log,
    *,
    work: Callable[[J], None] = train_job,
    workers: int | None = None,
) -> Iterator[tuple[J, int]]:
    """Run jobs side by side; yields each with its exit status when it ends.

    On a signal all of them save first. `workers` is by default as many as there are cores or jobs.
    """
    if not jobs:
        return
    # Unless the settings say otherwise, the runs share the cores of this machine.
    side_by_side = min(len(jobs), workers or len(jobs)) or 1
    default = max(1, usable_threads() // side_by_side) if on == LOCAL else 1
    threads = [job.settings["threads"] or default for job in jobs]
    sent = [
        replace(job, settings={**job.settings, "threads": count})
        for job, count in zip(jobs, threads, strict=True)
    ]
    unpack: list[Callable[[PackedFiles], None]] = [lambda _: None for _ in jobs]
    if on != LOCAL:
        sent, unpack = [list(parts) for parts in zip(*map(_pack, sent), strict=True)]
    with Executor(
        _local_worker if on == LOCAL else _remote_worker,
        work,
        workers or (min(len(jobs), usable_threads()) if on == LOCAL else len(jobs)) or 1,
        on,
        threads=0 if on == LOCAL else max(threads, default=1),
        on_line=lambda job, line: log(f"{job.name}: {line}"),
        on_death=lambda job, cause: log(f"{job.name}: its process was ended by {cause}"),
    ) as executor:
        futures = {executor.submit(job): number for number, job in enumerate(sent)}
        for future in as_completed(futures):
            number = futures[future]
            try:
                code, run_files = future.result()
                unpack[number](run_files)
            except WorkersLost as error:
                log(f"{jobs[number].name}: is given up, since {error}")
                code = 1
            except ValueError as error:
                # A machine without room costs its own job alone.
                if not is_full_disk(error):
                    raise
                log(f"{jobs[number].name}: {error}")
                code = FULL_DISK
            yield jobs[number], code


def _local_worker(work: Callable[[Job], None]) -> Callable[[Job], tuple[int, PackedFiles]]:
    return lambda job: (_exit_status(work, job), {})


def _remote_worker(work: Callable[[Job], None]) -> Callable[[Job], tuple[int, PackedFiles]]:
    def run(job: Job) -> tuple[int, PackedFiles]:
        arrived = False

        def work_there(job: Job) -> None:
            nonlocal arrived
            write_files(job.files, Path())
            arrived = True
            work(job)

        shutil.rmtree(_REMOTE_RUN, ignore_errors=True)
        code = _exit_status(work_there, job)
        # A part of what was sent must not replace the whole.
        return code, files_below(_REMOTE_RUN) if arrived else {}

    return run


def _exit_status(work: Callable[[Job], None], job: Job) -> int:
    try:
        work(job)
    except RunStopped as stopped:  # the run has reported it
        return stopped.status
    except Exception as error:
        show_traceback(is_fault=not isinstance(error, (ValueError, OSError, MemoryError)))
        print(f"{type(error).__name__}: {error}")
        return FULL_DISK if is_full_disk(error) else 2
    return 0


def _pack(job: J) -> tuple[J, Callable[[PackedFiles], None]]:
    """A job as it is sent to a cluster, and a function that unpacks the run it returns."""
    folder = job.folder
    resumed = begun(folder)
    before = settings_of(folder) if resumed else settings_from(job.settings)
    after = changed_settings(before, job.words) if resumed else before
    local_names: dict[str, None] = {}
    for settings in (before, after):
        _map_paths(settings, lambda name: local_names.setdefault(name) or name)
    remote_names, files = pack(local_names, RAY)
    if network := getattr(after, "network", ""):
        pack_network(network, files)
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
    remote = replace(job, folder=_REMOTE_RUN, settings=new, words=words, files=files)

    def unpack_run(run_files: PackedFiles) -> None:
        for name, data in run_files.items():
            write_file(folder / name, data)  # a full disk leaves the file as it was
        # The settings name files as they are called on this machine.
        if SETTINGS in run_files:
            settings = _map_paths(settings_of(folder), lambda name: local_by_remote.get(name, name))
            write_file(
                folder / SETTINGS, msgspec.structs.replace(settings, rules=after.rules).as_yaml()
            )

    return remote, unpack_run


def _map_paths(settings: Settings, rename: Callable[[str], str]) -> Settings:
    """Settings with a function applied to all values that may be paths or modules."""
    changes: dict[str, object] = {}
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
