"""Build, verify or describe the endgame tablebase.

Endgames with up to ten cards per hand are built when they are first needed. `build --cards 13` adds
the larger ones. They take 2.3 GiB with trumps.
"""

from __future__ import annotations

import argparse
import time
from itertools import takewhile

from german_whist.common.threads import usable_threads
from german_whist.engine.checks import checked_threads
from german_whist.engine.endgame.build import build
from german_whist.engine.endgame.index import MAX_CARDS, layer_size
from german_whist.engine.endgame.load import DEFAULT_CARDS
from german_whist.engine.endgame.store import (
    TABLEBASE_KINDS,
    LayerFile,
    TablebaseError,
    TablebaseKind,
    layer_files,
    tablebase_folder,
)
from german_whist.engine.endgame.tablebase import BASE_CARDS
from german_whist.engine.endgame.verify import verify


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    build_parser = actions.add_parser("build", help="compute and store the layers that are missing")
    verify_parser = actions.add_parser(
        "verify", help="count every layer again, and check random entries by a search"
    )
    actions.add_parser("info", help="list the stored files")
    for parser_of_action in (build_parser, verify_parser):
        parser_of_action.add_argument(
            "--cards",
            type=int,
            metavar="K",
            help="largest endgames, in cards per hand (default: 10 to build, all stored "
            "ones to verify)",
        )
        parser_of_action.add_argument(
            "--trumps",
            action=argparse.BooleanOptionalAction,
            default=True,
            help="endgames with a trump suit (the default), or without",
        )
        parser_of_action.add_argument(
            "--low", action="store_true", help="play low: the fewest tricks win"
        )
        parser_of_action.add_argument(
            "--threads",
            type=int,
            metavar="N",
            help="number of threads (default: one per core)",
        )
    build_parser.add_argument(
        "--rebuild",
        action="store_true",
        help="replace files that are damaged or of another version",
    )
    verify_parser.add_argument(
        "--samples",
        type="natural",
        default=200,
        metavar="N",
        help="number of entries to check per layer (default: 200)",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "info":
        return _info()
    if arguments.threads is not None:
        checked_threads(arguments.threads)
    kind = TablebaseKind(arguments.trumps, arguments.low)
    threads = arguments.threads or usable_threads()
    if arguments.action == "build":
        cards = DEFAULT_CARDS if arguments.cards is None else arguments.cards
        start = time.monotonic()
        build(kind, cards, threads, arguments.rebuild, report=print)
        print(f"{kind.name}: up to {cards} cards each, {time.monotonic() - start:.1f} s")
        return 0
    return _verify(kind, arguments.cards, threads, arguments.samples)


def _verify(kind: TablebaseKind, cards: int | None, threads: int, samples: int) -> int:
    parts = layer_files(kind, MAX_CARDS if cards is None else cards)
    if cards is None:
        parts = [*takewhile(lambda part: part.path.exists(), parts)] or parts[:1]
    for part in parts:
        if not part.path.exists():
            raise TablebaseError(
                f"{part.path} is not there: 'german-whist tablebase build' writes it"
            )
    faults = 0
    print(f"{'cards':>5} {'endings':>15} {'sum of tricks':>15} {'majorities':>15}  seconds")
    start = time.monotonic()
    for layer in verify(parts, threads, samples):
        seconds, start = time.monotonic() - start, time.monotonic()
        print(
            f"{layer.cards:5} {layer.endings:15,} {layer.total:15,} {layer.majorities:15,}"
            f"  {seconds:7.1f}" + "".join(f"\n      {fault}" for fault in layer.faults),
            flush=True,
        )
        faults += len(layer.faults)
    print(f"{samples} entries of each layer searched; {faults or 'no'} faults")
    return 1 if faults else 0


def _info() -> int:
    folder = tablebase_folder()
    print(f"{folder}:")
    parts = [
        part
        for kind in TABLEBASE_KINDS
        for part in [LayerFile(kind, 0, n) for n in range(1, BASE_CARDS)]
        + layer_files(kind, MAX_CARDS)
    ]
    stored = [part for part in parts if part.path.exists()]
    faults = 0
    for part in stored:
        try:
            part.read()
            print(_described(part))
        except TablebaseError as error:
            faults += 1
            print(f"  {error}")
    names = {part.path.name for part in parts}
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.name not in names and path.suffix != ".lock":
            print(f"  {path.name} is no file of this program's")
    if not stored:
        print("  nothing yet; 'german-whist tablebase build' or the first solved ending fills it")
    return 1 if faults else 0


def _described(part: LayerFile) -> str:
    endings = sum(layer_size(part.kind.scheme, n) for n in range(part.first, part.last + 1))
    return f"  {part.path.name}: {part.title}, {endings:,} endings, {part.size:,} bytes"
