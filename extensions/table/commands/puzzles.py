# pyright: strict
"""Make puzzles for the table, or grade them: positions in which only one card is right.

`make` lets agents play hands, and looks for two kinds of puzzles in them. In an endgame puzzle,
only one card wins or saves the hand, by the exact values. In a foreplay puzzle, several searches
agree that one card is much better than the others. The puzzles are added to those in the data
folder, and the table shows them beside its own.

`grade` rates all puzzles of a file again. Use it when the agents that rate the puzzles, or the
ladder of these agents, have changed. It also removes each foreplay puzzle on whose card the
searches no longer agree.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import msgspec

from german_whist.common.files import write_file
from german_whist.common.progress import Progress
from german_whist.engine.endgame.game_values import inexact_reason
from german_whist.engine.rules import named_rules

from ..game.database import data_folder
from ..review.puzzles import FILE, Puzzle, confirm, make_puzzles, read_puzzles, regrade


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=["make", "grade"],
        help="make: look for new puzzles; grade: check and rate the puzzles of a file",
    )
    parser.add_argument(
        "--endgames",
        type="natural",
        default=20,
        metavar="N",
        help="number of endgame puzzles to make (default: 20)",
    )
    parser.add_argument(
        "--foreplay",
        type="natural",
        default=5,
        metavar="N",
        help="number of foreplay puzzles to make (default: 5)",
    )
    parser.add_argument(
        "--rules", default="classic", metavar="NAME", help="rule set (default: classic)"
    )
    parser.add_argument(
        "--seed",
        type="natural",
        default=0,
        metavar="S",
        help="seed of the hands that the agents play (default: 0)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE.jsonl",
        help="file of puzzles (default: in the data folder)",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "make" and not arguments.endgames + arguments.foreplay:
        raise ValueError("--endgames and --foreplay are 0 both: nothing is made; give one of them")
    if arguments.rules not in named_rules():
        raise ValueError(
            f"{arguments.rules!r} is no named rule set; there are {', '.join(named_rules())}"
        )
    rules = named_rules()[arguments.rules]
    lacks = {
        name: positions
        for name, positions, available in (
            ("endgames", "endings whose exact values are known", not inexact_reason(rules)),
            ("foreplay", "tricks for a stock", rules.foreplay_tricks),
        )
        if not available
    }
    if any(getattr(arguments, name) for name in lacks):
        remedy = "name another rule set" if len(lacks) == 2 else f"give --{min(lacks)} 0"
        raise ValueError(f"{rules.name} has no {' and no '.join(lacks.values())}: {remedy}")
    out: Path = arguments.out or data_folder() / FILE
    if arguments.action == "grade" and not out.exists():
        raise ValueError(
            f"{out}: there is no such file: name one by --out, or `puzzles make` first"
        )
    before = read_puzzles(out.read_bytes()) if out.exists() else []
    if arguments.action == "grade":
        with Progress("grading puzzles", len(before)) as progress:
            graded: list[Puzzle] = []
            for number, puzzle in enumerate(before, 1):
                if (confirmed := confirm(puzzle)) is not None:
                    graded.append(regrade(confirmed))
                progress.update(number)
        _write(out, graded)
        removed = len(before) - len(graded)
        print(f"{out}: {len(graded)} puzzles graded, {removed} removed")
        return 0
    puzzles = {puzzle.id: puzzle for puzzle in before}
    counts = arguments.endgames, arguments.foreplay
    try:
        with Progress("looking for puzzles", sum(counts)) as progress:
            for puzzle in make_puzzles(rules, arguments.seed, *counts):
                puzzles.setdefault(puzzle.id, puzzle)
                progress.add(1)
    finally:  # keeps the puzzles made until Ctrl-C; another seed makes others
        _write(out, puzzles.values())
    count = "1 puzzle" if len(puzzles) == 1 else f"{len(puzzles)} puzzles"
    print(f"{out}: {count}, {len(puzzles) - len(before)} of them new")
    return 0


def _write(out: Path, puzzles: Iterable[Puzzle]) -> None:
    write_file(out, msgspec.json.Encoder().encode_lines(puzzles))
