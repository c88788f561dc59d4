"""Options for the number of workers and their backend, shared by several commands."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ..common.executors import LOCAL, MAX_WORKERS, check_backend, count_cores


def add_worker_options(parser: argparse.ArgumentParser) -> None:
    add_workers_option(parser)
    add_backend_option(parser)


def add_workers_option(parser: argparse.ArgumentParser) -> None:
    """Add `--workers` alone, for commands whose workers are processes of this machine."""
    parser.add_argument(
        "--workers",
        type=int,
        metavar="W",
        default=1,
        help="number of processes (default: 1; 0: one per core); the result does not depend on it",
    )


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    """Add `--trust`; `common.trust` looks for its value among the words of the command."""
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="NAME",
        help="allow code that only a file or a checkpoint names, as module:object, "
        "file.py:object or sb3:PATH (may be repeated)",
    )


def add_backend_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on",
        metavar="local|ray|ray://HOST:PORT",
        default=LOCAL,
        help="where the workers run: on this machine (local, the default), or on a "
        "Ray cluster, where --workers 0 means one per core of the cluster",
    )


class WorkerOptions(TypedDict):
    """Number of workers and their backend."""

    workers: int
    on: str


def worker_options(arguments: argparse.Namespace) -> WorkerOptions:
    """Validated values of the options."""
    on = check_backend(arguments.on)
    return WorkerOptions(workers=worker_count(arguments, on), on=on)


def worker_count(arguments: argparse.Namespace, on: str = LOCAL) -> int:
    """Validated value of `--workers`."""
    workers = arguments.workers
    if not 0 <= workers <= MAX_WORKERS:
        raise ValueError(
            f"--workers is {workers}: it has to be from 1 to {MAX_WORKERS}, or 0 for one on each "
            "core"
        )
    return workers or count_cores(on)
