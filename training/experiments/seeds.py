"""One training with several seeds: a run for each, side by side as cores allow, in one folder.

Each is a process of its own. What they came to is compared over seeds, on a page of the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ...common.executors import LOCAL, check_backend
from ...common.executors.cluster import connect_ray
from ...common.files import atomic_write
from ...common.signals import RunStopped
from ...common.typed_settings import SettingsError
from ..algorithms.registry import trainer_kind
from ..callbacks.csv_files import REPORT
from ..runs.api import Wanted, resolved
from ..runs.presets import load_settings
from ..runs.run_lock import claim_new, claim_numbered
from .compare import Comparison, compare
from .separate_runs import Training, threads_each, train_apart

_SHARED, _SEED = "training.yaml", "seed-"


class SomeStopped(RunStopped):
    """Of several runs some ended before their budget."""


def train_seeds(
    settings: Wanted,
    seeds: Sequence[int],
    *,
    folder: str | Path | None = None,
    name: str | None = None,
    say: Callable[[str], None] = print,
    on: str = LOCAL,
    **changes: Any,
) -> Comparison:
    """Train as `train` does once for each seed, in `FOLDER/seed-1` and so on, and compare them.

    `on` says where: on the cores of this machine, or of a cluster of Ray (`ray`,
    `ray://HOST:PORT`), from which the runs come back.
    """
    wanted, base = resolved(settings, changes, folder, name)
    if len(set(seeds)) < len(seeds) or not seeds:
        raise SettingsError(f"seeds are {list(seeds)}: give each once, as in seeds=1,2,3")
    for seed in seeds:
        msgspec.structs.replace(wanted, seed=seed)  # refused before a folder is made
    trainer_kind(wanted.trainer)
    if check_backend(on) != LOCAL:
        connect_ray(on)
    claim = claim_numbered(base) if folder is None else claim_new(base)
    claim.release()
    folder = claim.folder
    for seed in seeds:
        (folder / f"{_SEED}{seed}").mkdir()
    # Last: with it there are all seeds to go on with.
    with atomic_write(folder / _SHARED, "w") as file:
        file.write(wanted.as_yaml())
    return train_seeds_on(folder, say=say, on=on)


def is_of_seeds(folder: Path) -> bool:
    """Whether it is a folder of runs with several seeds."""
    return (folder / _SHARED).exists()


def train_seeds_on(
    folder: Path,
    words: Sequence[str] = (),
    *,
    say: Callable[[str], None] = print,
    on: str = LOCAL,
) -> Comparison:
    """Go on with all runs of a folder, here or on a cluster; those that saved nothing begin."""
    told = [each.name[len(_SEED) :] for each in folder.glob(f"{_SEED}*") if each.is_dir()]
    seeds = sorted(int(each) for each in told if each.isdecimal())
    if not seeds:
        raise SettingsError(f"{folder} has no runs to go on with, as {_SEED}1: begin another")
    names = [f"seed {seed}" for seed in seeds]
    new = load_settings(folder / _SHARED, words)
    threads = new.threads or threads_each(len(seeds), on)
    trainings = [
        Training(
            name, folder / f"{_SEED}{seed}",
            {**new.as_mapping(), "seed": seed, "threads": threads}, words,
        )
        for name, seed in zip(names, seeds, strict=True)
    ]  # fmt: skip
    return _compared(folder, names, train_apart(trainings, on, say))


def _compared(folder: Path, names: Iterable[str], codes: Sequence[int]) -> Comparison:
    """What all came to, on a page of the folder; refused if one did not come to its end."""
    if any(codes):
        failed = ", ".join(name for name, code in zip(names, codes, strict=True) if code)
        raise SomeStopped(
            f"{failed} did not come to an end; go on with: german-whist train --resume {folder}",
            max(codes),
        )
    found = compare([folder])
    with atomic_write(folder / REPORT, "w") as file:
        file.write(found.page())
    return found
