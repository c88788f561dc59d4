# pyright: strict
"""Search for good hyperparameters. SPACE.yaml holds the search space and the opponents.

To continue a sweep, give the same command again. Several machines can work on one sweep if they
share its storage. If the best trials are at a bound of a range, the sweep widens this range and
makes further trials. At the end, it trains the best trials again with other seeds. It writes the
settings with the best mean to best.yaml in its folder, and you can give this file to `train`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from .worker_options import add_backend_option, add_trust_option, worker_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "space",
        type=Path,
        metavar="SPACE.yaml",
        help="YAML file with the search space and the other settings of the sweep",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help="folder to write the sweep to (default: runs/sweep-SPACE)",
    )
    parser.add_argument(
        "--trials",
        type="positive",
        metavar="N",
        help="number of trials before the space is widened, those of earlier sessions included "
        "(default: as in the file)",
    )
    parser.add_argument(
        "--storage",
        metavar="URL",
        help="where the trials are kept: the URL of a database, or the path of a "
        "journal file (default: a journal in the folder)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="W",
        default=1,
        help="number of trials that run side by side (default: 1; 0: one per core); "
        "the next ones start when all of them have ended",
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
    more = "final_seeds" if sweep.final_seeds else "final_eval_hands"
    for number in result.ties:
        print(f"trial {number} cannot be distinguished from it: more `{more}` may help")
    print(folder / BEST)
    return 0
