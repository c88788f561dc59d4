# pyright: strict
"""Write hands of one agent against itself, or of two, as a data set of NumPy files.

Every hand is another deal. A row is a decision: what the player to move may know, the action, the
agent's probabilities, and what the hand pays it. What players may not know is written on request,
in columns whose names begin with `hidden_`. The same command goes on with an interrupted data set.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from ..common.progress import Progress
from ..engine.observation.suit_order import SUIT_ORDERS
from .worker_options import add_trust_option, add_workers_option, worker_count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from ..training.datasets import EXTRAS

    parser.add_argument("agents", nargs="*", metavar="A", help="one agent, or two")
    parser.add_argument(
        "--hands",
        type="positive",
        default=10_000,
        metavar="N",
        help="number of hands (default: 10000)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder of the data set")
    parser.add_argument(
        "--rules",
        metavar="NAME|FILE.yaml|RUN",
        help="rule set (default: classic, or what a trained agent plays)",
    )
    parser.add_argument(
        "--seed",
        type="natural",
        default=1,
        metavar="S",
        help="seed of the deals (default: 1; the arena's is 0)",
    )
    parser.add_argument(
        "--suit-order", choices=SUIT_ORDERS, default="raw", help="order of suits (default: raw)"
    )
    parser.add_argument(
        "--with",
        dest="extras",
        nargs="+",
        default=[],
        choices=EXTRAS,
        metavar="COLUMN",
        help=f"further columns: {', '.join(EXTRAS)}",
    )
    add_trust_option(parser)
    add_workers_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..training.datasets import Dataset, generate_dataset

    if not arguments.agents or arguments.out is None:
        raise ValueError(
            "name an agent and a folder, as in `dataset champion counting --hands 10000 --out data`"
        )

    def announce(dataset: Dataset) -> None:
        card = dataset.card
        free = shutil.disk_usage(dataset.folder).free
        print(
            f"{card.hands:,} hands in {card.n_files:,} files: at most "
            f"{_megabytes(card.hands * card.bytes_per_hand)} MB of {_megabytes(free)} MB free",
            flush=True,
        )
        if written := len(dataset.written):
            print(f"{written:,} files are there already", flush=True)

    with Progress("playing") as progress:
        dataset = generate_dataset(
            arguments.agents,
            arguments.out,
            hands=arguments.hands,
            rules=arguments.rules,
            seed=arguments.seed,
            suit_order=arguments.suit_order,
            extras=arguments.extras,
            workers=worker_count(arguments),
            on_start=announce,
            progress=progress.update,
        )
    size = sum(path.stat().st_size for path in dataset.folder.iterdir())
    print(f"{dataset.folder}: {size / dataset.card.hands:,.0f} bytes a hand, in the columns")
    for name, column in dataset.columns.items():
        print(f"  {name:<22}{column.about}")
    return 0


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f}"
