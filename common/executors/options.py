"""The options of commands that say how many workers there are, and where."""

from __future__ import annotations

import argparse
from typing import TypedDict

from . import LOCAL, check_place, cores

MOST_WORKERS = 4096


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """How many workers, and where."""
    parser.add_argument(
        "--workers", type=int, metavar="W", default=1,
        help="processes; they do not change the result (default: 1; 0: one per core)",
    )  # fmt: skip
    add_place_option(parser)


def add_place_option(parser: argparse.ArgumentParser) -> None:
    """Where they are."""
    parser.add_argument(
        "--on", metavar="local|ray|ray://HOST:PORT", default=LOCAL,
        help="where they are: processes of this machine (the default), or a cluster of Ray; "
        "--workers 0 is then one for each of its cores",
    )  # fmt: skip


class Place(TypedDict):
    """How many workers, and where."""

    workers: int
    on: str


def place_of(arguments: argparse.Namespace) -> Place:
    """What was given to the options of `add_place_options`."""
    on, workers = check_place(arguments.on), arguments.workers
    if not 0 <= workers <= MOST_WORKERS:
        raise ValueError(
            f"--workers is {workers}: it has to be from 1 to {MOST_WORKERS}, or 0 for one on each "
            "core"
        )
    if workers == 0:
        workers = cores(on)
    return Place(workers=workers, on=on)
