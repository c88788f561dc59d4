# pyright: strict
"""Let one or two agents play hands, and store the hands as a data set of NumPy files.

Every hand is a different deal. A row holds one decision: the observation, the action, the agent's
probabilities, and the payoff of the hand. Columns that hold what the player could not know are
written only if you ask for them, and their names begin with `hidden_`. To continue an interrupted
data set, give the same command again.
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

    parser.add_argument(
        "agents",
        nargs="*",
        metavar="A",
        help="one agent, which plays against itself, or two agents",
    )
    parser.add_argument(
        "--hands",
        type="positive",
        default=10_000,
        metavar="N",
        help="number of hands to play (default: 10000)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder to write the data set to"
    )
    parser.add_argument(
        "--rules",
        metavar="NAME|FILE.yaml|RUN",
        help="rule set to play (default: the one that the agents were trained on, or classic)",
    )
    parser.add_argument(
        "--seed",
        type="natural",
        default=1,
        metavar="S",
        help="seed of the deals (default: 1; evaluations use 0 and so play other deals)",
    )
    parser.add_argument(
        "--suit-order",
        choices=SUIT_ORDERS,
        default="raw",
        help="order of suits in observations and actions (default: raw)",
    )
    parser.add_argument(
        "--with",
        dest="extras",
        nargs="+",
        default=[],
        choices=EXTRAS,
        metavar="COLUMN",
        help=f"extra columns to write: {', '.join(EXTRAS)}",
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
