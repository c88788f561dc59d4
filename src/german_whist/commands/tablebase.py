"""Build, verify or describe the table of exact endgames.

Endings of up to ten cards each are built by themselves when they are first
needed; `build --cards 13` adds the rest (2.3 GiB for trumps), and the game uses
what is there.
"""

from __future__ import annotations

import argparse
import time

from german_whist.common.threads import usable_threads
from german_whist.engine.endgame.build import build
from german_whist.engine.endgame.index import MAX_CARDS, layer_size
from german_whist.engine.endgame.search import BASE_CARDS
from german_whist.engine.endgame.store import (
    TABLEBASE_KINDS,
    LayerFile,
    MappedLayers,
    TablebaseError,
    TablebaseKind,
    layer_files,
    open_layers,
    tablebase_folder,
)
from german_whist.engine.endgame.tablebase import DEFAULT_CARDS
from german_whist.engine.endgame.verify import verify

_MOST_THREADS = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `german-whist tablebase`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    build_parser = actions.add_parser("build", help="compute what is missing and keep it in files")
    verify_parser = actions.add_parser("verify", help="recount every layer, search random entries")
    actions.add_parser("info", help="list the files that are there")
    for each in (build_parser, verify_parser):
        each.add_argument(
            "--cards",
            type=int,
            metavar="K",
            help="endings of up to K cards each (build: 10; verify: all that are there)",
        )
        each.add_argument(
            "--trumps",
            action=argparse.BooleanOptionalAction,
            default=True,
            help="with a trump suit, or without",
        )
        each.add_argument("--low", action="store_true", help="fewest tricks win")
        each.add_argument(
            "--threads", type=int, metavar="N", help="threads to use (all processors)"
        )
    build_parser.add_argument(
        "--rebuild", action="store_true", help="replace files that cannot be used"
    )
    verify_parser.add_argument(
        "--samples", type=int, default=200, metavar="N", help="entries searched per layer (200)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Carry out one of the actions; 1 when something is wrong with a file."""
    if arguments.action == "info":
        return _info()
    if arguments.threads is not None and not 1 <= arguments.threads <= _MOST_THREADS:
        raise ValueError(f"threads is {arguments.threads}: it has to be from 1 to {_MOST_THREADS}")
    kind = TablebaseKind(arguments.trumps, arguments.low)
    threads = arguments.threads or usable_threads()
    if arguments.action == "build":
        cards = DEFAULT_CARDS if arguments.cards is None else arguments.cards
        begun = time.monotonic()
        build(kind, cards, threads, arguments.rebuild, report=print)
        print(f"{kind.name}: up to {cards} cards each, {time.monotonic() - begun:.1f} s")
        return 0
    if arguments.samples < 0:
        raise ValueError(f"samples is {arguments.samples}: it cannot be less than 0")
    return _verify(kind, arguments.cards, threads, arguments.samples)


def _verify(kind: TablebaseKind, cards: int | None, threads: int, samples: int) -> int:
    parts = layer_files(kind, MAX_CARDS if cards is None else cards)
    if cards is None:
        parts = [part for part in parts if part.path.exists()] or parts[:1]
    files = []
    for part in parts:
        try:
            files.append(open_layers(part))
        except FileNotFoundError as error:
            raise TablebaseError(
                f"{part.path} is not there: 'german-whist tablebase build' writes it"
            ) from error
    faults = 0
    print(f"{kind.name}: checksums right in {len(files)} files")
    print(f"{'cards':>5} {'endings':>15} {'sum of tricks':>15} {'majorities':>15}  seconds")
    begun = time.monotonic()
    for layer in verify(files, threads, samples):
        seconds, begun = time.monotonic() - begun, time.monotonic()
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
    known = [
        part
        for kind in TABLEBASE_KINDS
        for part in [LayerFile(kind, 0, n) for n in range(1, BASE_CARDS)]
        + layer_files(kind, MAX_CARDS)
    ]
    there = [part for part in known if part.path.exists()]
    wrong = 0
    for part in there:
        try:
            print(_described(part, open_layers(part)))
        except TablebaseError as error:
            wrong += 1
            print(f"  {error}")
    names = {part.path.name for part in known}
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.name not in names and path.suffix != ".lock":
            print(f"  {path.name} is no file of this program's")
    if not there:
        print("  nothing yet; 'german-whist tablebase build' or the first solved ending fills it")
    return 1 if wrong else 0


def _described(part: LayerFile, file: MappedLayers) -> str:
    endings = sum(layer_size(part.kind.index, n) for n in range(part.first, part.last + 1))
    return (
        f"  {part.path.name}: {part.title}, {endings:,} endings, {part.size:,} bytes, "
        f"tricks {', '.join(f'{total:,}' for total in file.sums)}"
    )
