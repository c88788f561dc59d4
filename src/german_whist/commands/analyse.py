# pyright: strict
"""Tell what each player's decisions cost on average, by stage and trick, over a file of records.

Open endings are valued exactly, what comes before them by search, from the view of the player
to move. FILE is what the arena writes with --records, or hands saved from the table.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..table.review.accuracy import Accuracy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="records, a hand on each line")
    parser.add_argument("--hands", type=int, metavar="N", help="the first N hands alone")
    parser.add_argument(
        "--search", metavar="NAME",
        help="the search that values decisions (flat-mc:2500,voids,playout=counting)",
    )  # fmt: skip
    parser.add_argument("--tricks", action="store_true", help="tell of every trick as well")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole result")


def run(arguments: argparse.Namespace) -> int:
    """Read, analyse, and tell."""
    from ..common.files import atomic_write, check_writable
    from ..common.progress import Progress
    from ..table.review.accuracy import accuracy
    from ..table.review.analysis import AnalysisSettings
    from .replay import good_records

    if arguments.hands is not None and arguments.hands < 1:
        raise ValueError(f"--hands is {arguments.hands}: give at least 1")
    if arguments.json is not None:
        check_writable(arguments.json)
    records = good_records(arguments.file)[: arguments.hands]
    settings = AnalysisSettings(arguments.search or AnalysisSettings().search)
    with Progress("analysing hands", len(records)) as progress:
        found = accuracy(records, settings, progress.update)
    if arguments.json is not None:
        with atomic_write(arguments.json, "w") as file:
            json.dump(found.to_json(), file, indent=1, ensure_ascii=False)
    print(as_text(found, arguments.tricks))
    return 0


def as_text(found: Accuracy, tricks: bool) -> str:
    """What decisions cost, in lines."""
    lines = [
        f"{found.hands:,} hands, valued by {found.search}; what a decision costs, in {found.unit}:"
    ]
    width = max(len(each.player) for each in found.costs) + 2
    lines.append(
        f"{'':<{width}}{'':<10}{'decisions':>10}{'cost':>17}{'mistakes':>10}{'accuracy':>10}"
    )
    for each in found.costs:
        if each.trick is None or tricks:
            place = each.stage if each.trick is None else f"  trick {each.trick}"
            right = "–" if each.accuracy is None else f"{each.accuracy:.1f} %"
            reach = "–" if each.half_width is None else f"{each.half_width:.3f}"
            cost = f"{each.cost:.3f} ± {reach}"
            lines.append(f"{each.player:<{width}}{place:<10}{each.decisions:>10,}{cost:>17}"
                         f"{each.mistakes:>10,}{right:>10}")  # fmt: skip
    return "\n".join(lines)
