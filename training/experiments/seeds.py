"""One training with several seeds: a run per seed in one folder, compared over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...common.executors import LOCAL, check_backend
from ...common.executors.cluster import connect_ray
from ...common.files import write_file
from ...common.schema import short_repr
from ...common.settings import SettingsError
from ...common.signals import RunStopped
from ..algorithms.registry import trainer_kind
from ..api import SettingsSource, resolve_settings
from ..callbacks.report_files import REPORT
from ..folder import FolderLock, lock_new_folder, lock_numbered_folder, resume_command
from ..presets import load_settings
from .compare import Comparison, compare
from .foreign_code import check_foreign_code
from .jobs import Job, Log, run_jobs

_SETTINGS, _SEED = "training.yaml", "seed-"


class SeedsStopped(RunStopped):
    """Some of the runs ended before their budget."""


def train_seeds(
    settings: SettingsSource,
    seeds: Sequence[int],
    *,
    folder: str | Path | None = None,
    name: str | None = None,
    log: Log = print,
    on: str = LOCAL,
    **changes: Any,
) -> Comparison:
    """Train once for each seed, and compare the runs.

    Returns a `Comparison`. The runs are in `FOLDER/seed-1` and so on.

    - `settings`, `folder`, `name` and other keywords: as in `train`.
    - `seeds`: the seeds, each once, such as `[1, 2, 3]`.
    - `log`: a function that is called with each line of progress. Default: `print`.
    - `on`: where the runs are trained. `"local"` (default): on this machine. `"ray"` or
      `"ray://HOST:PORT"`: on a Ray cluster, from which the folders are copied back.
    """
    resolved, base = resolve_settings(settings, changes, folder, name)
    if isinstance(seeds, (str, bytes)) or not isinstance(seeds, Iterable):
        raise SettingsError(f"seeds are {short_repr(seeds)}: give a list, as in seeds=[1, 2, 3]")
    if len(set(seeds)) < len(seeds) or not seeds:
        raise SettingsError(f"seeds are {list(seeds)}: give each once, as in seeds=1,2,3")
    for seed in seeds:
        msgspec.structs.replace(resolved, seed=seed)  # refused before a folder is made
    trainer_kind(resolved.trainer)
    check_foreign_code(resolved)
    if check_backend(on) != LOCAL:
        connect_ray(on)
    lock = lock_numbered_folder(base) if folder is None else lock_new_folder(base)
    try:
        for left in lock.folder.glob(f"{_SEED}*"):  # empty, or the folder would not be new
            left.rmdir()
        for seed in seeds:
            (lock.folder / f"{_SEED}{seed}").mkdir()
        # Written last: a folder with this file has all seeds, and can be resumed.
        write_file(lock.folder / _SETTINGS, resolved.as_yaml())
        return _train_all(lock.folder, (), log, on)
    finally:
        lock.release()


def is_of_seeds(folder: Path) -> bool:
    """Whether a folder holds the runs of several seeds."""
    return (folder / _SETTINGS).exists()


def resume_seeds(
    folder: Path, words: Sequence[str] = (), *, log: Log = print, on: str = LOCAL
) -> Comparison:
    """Resume all runs of a folder, here or on a cluster, and write their comparison as a page."""
    check_foreign_code(load_settings(folder / _SETTINGS, words))
    lock = FolderLock(folder)
    try:
        return _train_all(folder, words, log, on)
    finally:
        lock.release()


def _train_all(folder: Path, words: Sequence[str], log: Log, on: str) -> Comparison:
    endings = [path.name[len(_SEED) :] for path in folder.glob(f"{_SEED}*") if path.is_dir()]
    seeds = sorted(int(ending) for ending in endings if ending.isdecimal())
    if not seeds:
        raise SettingsError(f"{folder} has no runs to go on with, as {_SEED}1: begin another")
    shared = load_settings(folder / _SETTINGS, words)
    settings = shared.as_mapping()
    jobs = [
        Job(
            name=f"seed {seed}",
            folder=folder / f"{_SEED}{seed}",
            settings={**settings, "seed": seed},
            words=words,
        )
        for seed in seeds
    ]
    codes = {job.name: code for job, code in run_jobs(jobs, on, log)}
    if any(codes.values()):
        unfinished = [job.name for job in jobs if codes[job.name]]
        raise SeedsStopped(
            f"{', '.join(unfinished)} did not come to an end; go on "
            f"with: {resume_command(folder, shared)}",
            max(codes.values()),
        )
    comparison = compare([folder])
    write_file(folder / REPORT, comparison.page())
    return comparison
