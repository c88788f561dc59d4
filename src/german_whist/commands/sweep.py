# pyright: strict
"""Search for settings: SPACE.yaml says what is tried, and against whom it is measured.

The sweep goes on where it was left, and on a shared storage many machines work at one. The best few
are measured again on fresh deals, and the best of these is a preset, best.yaml in its folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .worker_options import add_backend_option, worker_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("space", type=Path, metavar="SPACE.yaml", help="what is tried, and how")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where (runs/sweep-SPACE)")
    parser.add_argument("--trials", type=int, metavar="N", help="how many, in all")
    parser.add_argument(
        "--storage", metavar="URL", help="a database, or a journal's path (in the folder)"
    )
    parser.add_argument(
        "--workers", type=int, metavar="W", default=1,
        help="how many trials side by side (default: 1; 0: one per core); the next are chosen when "
        "all are done",
    )  # fmt: skip
    add_backend_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Sweep, and tell what was best."""
    from msgspec.structs import replace

    from ..common.settings_files import format_overrides
    from ..common.signals import RunStopped
    from ..evaluation.formats import percent_with_interval
    from ..training.experiments.search_space import load_sweep
    from ..training.experiments.sweep import BEST, run_sweep

    space: Path = arguments.space
    sweep = load_sweep(space)
    if arguments.trials is not None:
        if arguments.trials < 1:
            raise ValueError(f"--trials is {arguments.trials}: give at least 1")
        sweep = replace(sweep, trials=arguments.trials)
    if arguments.storage is not None:
        sweep = replace(sweep, storage=arguments.storage)
    folder: Path = arguments.folder or Path("runs", f"sweep-{space.stem}")
    try:
        found = run_sweep(sweep, folder, space.parent, **worker_options(arguments))
    except RunStopped as stopped:
        print(f"{stopped}\nthe sweep goes on with the same command")
        return stopped.status
    best, rate = found.best, percent_with_interval(found.confirmed)
    print(f"best: trial {best.number}, {rate}: {' '.join(format_overrides(best.settings))}")
    for number in found.ties:
        print(f"trial {number} cannot be told from it: more `hands` may tell them apart")
    print(folder / BEST)
    return 0
