# pyright: strict
"""Search for hyperparameters: SPACE.yaml has the search space and the opponents.

The same command resumes a sweep, and machines with a shared storage work on one. The best trials
are evaluated again on fresh deals, and the best of these is a preset, best.yaml in the folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .worker_options import add_backend_option, add_trust_option, worker_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("space", type=Path, metavar="SPACE.yaml", help="settings of the sweep")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="default: runs/sweep-SPACE")
    parser.add_argument(
        "--trials",
        type="positive",
        metavar="N",
        help="number of trials, those of earlier sessions included",
    )
    parser.add_argument(
        "--storage",
        metavar="URL",
        help="URL of a database, or path of a journal (default: in the folder)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="W",
        default=1,
        help="number of trials side by side (default: 1; 0: one per core); the next are sampled "
        "when all are done",
    )
    add_backend_option(parser)
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from msgspec.structs import replace

    from ..common.settings import format_overrides
    from ..common.signals import RunStopped
    from ..training.experiments.search_space import load_sweep
    from ..training.experiments.sweep import BEST, run_sweep

    space: Path = arguments.space
    sweep = load_sweep(space)
    if arguments.trials is not None:
        sweep = replace(sweep, trials=arguments.trials)
    if arguments.storage is not None:
        sweep = replace(sweep, storage=arguments.storage)
    folder: Path = arguments.folder or Path("runs", f"sweep-{space.stem}")
    try:
        result = run_sweep(sweep, folder, space.parent, **worker_options(arguments))
    except RunStopped as stopped:
        print(f"{stopped}\nthe sweep goes on with the same command")
        return stopped.status
    best, objective = result.best, sweep.text(result.confirmed)
    print(f"best: trial {best.number}, {objective}: {' '.join(format_overrides(best.settings))}")
    for number in result.ties:
        print(f"trial {number} cannot be distinguished from it: more `final_eval_hands` may help")
    print(folder / BEST)
    return 0
