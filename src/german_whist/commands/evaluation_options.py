"""Options, files and output of the commands `evaluate` and `ladder`."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ..common.console import debugging
from ..common.files import atomic_write, check_writable, write_file
from ..common.markup import printable
from ..common.provenance import package_version, processor_and_cores
from ..engine.endgame import load_tablebase
from ..engine.rules import Match, Rules, RulesError
from ..evaluation.arena_config import DEFAULT_HANDS
from ..evaluation.reports.html import as_html
from ..evaluation.reports.text import as_csv, as_markdown, as_text
from ..evaluation.results import EveryHandForfeited, Result
from ..evaluation.schedule import RecordWriter
from .worker_options import add_worker_options, worker_options

_FILES = ("resume", "json", "csv", "records", "html", "markdown")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hands",
        type=int,
        metavar="N",
        help="number of hands per pairing (or of matches, with --match); half of them have the "
        f"seats exchanged (default: {DEFAULT_HANDS}, and no limit with --until)",
    )
    parser.add_argument(
        "--rules",
        metavar="NAME|FILE.yaml|RUN",
        help="rule set to play (default: the one that the agents were trained on, or classic)",
    )
    parser.add_argument(
        "--match",
        type=match_of,
        metavar="POINTS|best-of-N",
        help="play matches instead of single hands: to this many points, or the best of N hands",
    )
    parser.add_argument(
        "--until",
        type=precision_of,
        metavar="PERCENT",
        help="stop when half of the win rate's 95 %% interval is at most this, for example 0.5%%",
    )
    parser.add_argument(
        "--reduce-variance",
        action="store_true",
        help="subtract the luck of the stock from the results (AIVAT), which narrows "
        "the intervals without bias; needs single hands and a rule set with "
        "exact endgames",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the deals (default: 0)")
    parser.add_argument(
        "--key",
        metavar="HEX",
        help="seed of all other random numbers, which every result contains (default: "
        "made from --seed)",
    )
    add_worker_options(parser)
    files = parser.add_argument_group("files")
    files.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="store the progress in FILE; the same command then continues from there",
    )
    files.add_argument("--json", type=Path, metavar="FILE", help="write the whole result to FILE")
    files.add_argument(
        "--csv", type=Path, metavar="FILE", help="write one line per pairing to FILE"
    )
    files.add_argument(
        "--records",
        type=Path,
        metavar="FILE",
        help="write every hand to FILE as a game record; endgames are then played out",
    )
    files.add_argument("--html", type=Path, metavar="FILE", help="write a page with plots to FILE")
    files.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write a page of documentation to FILE"
    )


def match_of(text: str) -> Match:
    """Parse a match: `25` or `best-of-5`."""
    try:
        if text.startswith("best-of-"):
            return Match(best_of=int(text.removeprefix("best-of-")))
        return Match(target=int(text))
    except ValueError as error:
        why = f" ({error})" if isinstance(error, RulesError) else ""
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a match: give points, as 25, or best-of-5{why}"
        ) from None


def precision_of(text: str) -> float:
    """Parse a precision: `0.5%`."""
    try:
        value = float(text.strip().rstrip("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a precision such as 0.5%") from None
    if not 0 < value < 0.5:
        bare = text.strip()
        meant = f"; write {bare}%" if not bare.endswith("%") and 0 < value < 50 else ""
        raise argparse.ArgumentTypeError(
            f"{text!r} was read as {100 * value:g} %, and it has to be more than 0 and less than "
            f"50 %{meant or ', as in 0.5%'}"
        )
    return value


def arena_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The given options of `evaluate` and `ladder`."""
    names = ("hands", "until", "match", "seed", "key", "resume")
    options = {name: getattr(arguments, name) for name in names}
    options["reduce_variance"] = arguments.reduce_variance or None
    given = {name: value for name, value in options.items() if value is not None}
    return {**given, **worker_options(arguments)}


@contextmanager
def records_into(path: Path | None) -> Iterator[RecordWriter | None]:
    """A writer of game records to a file that is complete or does not exist."""
    if path is None:
        yield None
        return
    with atomic_write(path.absolute(), "w") as file:
        faults: list[OSError] = []

        def write(line: str) -> None:
            if faults:
                return
            try:
                file.write(line + "\n")
            except OSError as error:
                # A full disk costs the records, not the result of the run.
                faults.append(error)

        yield write
        if faults:
            raise faults[0]
    print(f"wrote {path}", file=sys.stderr)


def check_files(arguments: argparse.Namespace) -> Path:
    """Refuse files that cannot be written, before anything is played.

    Returns the folder that their paths are relative to: an agent may change it.
    """
    paths = [path for name in _FILES if (path := getattr(arguments, name, None)) is not None]
    for path in paths:
        if paths.count(path) > 1:
            raise ValueError(f"{path} is named for two files: give each a name of its own")
        check_writable(path)
    return Path.cwd()


def played(play: Callable[[], Result]) -> Result:
    """The result of a tournament, in which an agent may have forfeited every hand."""
    try:
        return play()
    except EveryHandForfeited as error:
        return error.result


def with_origin(result: Result, command: str) -> Result:
    """The result with the command, machine and version that it comes from."""
    return replace(result, command=command, machine=_machine_text(), version=package_version())


def repeating_command(arguments: argparse.Namespace, result: Result) -> str:
    """The command as typed, with the key that repeats its result."""
    key = "" if arguments.key else f" --key {result.key}"
    return f"{arguments.typed}{key}"


def report(
    result: Result,
    rules: Rules,
    arguments: argparse.Namespace,
    folder: Path,
    *,
    heading: str = "",
    about: str = "",
) -> int:
    """Write the files and print the report; the exit status."""
    # Shells' exit status of a process that a signal ended.
    status = 0 if result.complete else 128 + result.signal if result.signal else 1
    if not result.pairings:
        print(printable("\n".join(result.notes)), file=sys.stderr)
        return status
    if result.forfeited_all:
        status = status or 1
    writers: dict[str, Callable[[], str]] = {
        "json": result.text,
        "csv": lambda: as_csv(result),
        "html": lambda: as_html(result, rules),
        "markdown": lambda: as_markdown(
            result, heading or f"{result.agents[0]} in the arena", about
        ),
    }
    # Files first: the reader of the printed report may close the pipe.
    messages: list[str] = []
    for name, text in writers.items():
        path: Path | None = getattr(arguments, name)
        if path is not None:
            try:
                write_file(folder / path, text())
                messages.append(f"wrote {path}")
            except OSError as error:
                messages.append(f"german-whist: {error}")
                status = status or 1
    print(as_text(result))
    for name in result.agents if debugging() else result.forfeited_all:
        _show_traces(result, name)
    for message in messages:
        print(message, file=sys.stderr)
    return status


def _show_traces(result: Result, agent: str) -> None:
    for forfeit in result.forfeits(agent):
        if forfeit.trace:
            print(f"\n{agent}:\n{forfeit.trace}", file=sys.stderr, end="")
    if agent in result.forfeited_all:
        print(f"{agent} forfeited every hand, so that nothing was measured", file=sys.stderr)


def _machine_text() -> str:
    """Processor, system, versions, and the size of the loaded endgame tablebase."""
    return ", ".join(
        (
            processor_and_cores(),
            platform.system(),
            f"Python {platform.python_version()}",
            f"NumPy {np.__version__}",
            f"Numba {numba.__version__}",
            f"endings of up to {load_tablebase().cards} cards from the table",
        )
    )
