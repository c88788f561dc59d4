# pyright: strict
"""Compute how much each player's decisions cost on average, in all hands of a file of records.

The cost of a decision is how much less the card gains than the best card. There is an average for
each stage of the hand. In the endgame, the costs are exact. Before it, a search estimates them, and
sees only what the player to move may know. `evaluate --records` writes such a file, and the table's
page Statistics exports one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from german_whist.commands.worker_options import add_trust_option

if TYPE_CHECKING:
    from ..review.accuracy import Accuracy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="file of records, a hand on each line"
    )
    parser.add_argument(
        "--hands", type="positive", metavar="N", help="analyze the first N hands (default: all)"
    )
    parser.add_argument(
        "--search",
        metavar="NAME",
        help="search that estimates the costs (default: thinker:256 in classic, and "
        "flat-mc:2500,voids,playout=counting in other rule sets)",
    )
    parser.add_argument("--tricks", action="store_true", help="also list the average of each trick")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole result as JSON")
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    from german_whist.common.files import check_writable, write_file
    from german_whist.common.markup import printable
    from german_whist.common.progress import Progress

    from ..review.accuracy import accuracy
    from ..review.analysis import AnalysisSettings
    from .replay import good_records

    if arguments.json is not None:
        check_writable(arguments.json)
    records = good_records(arguments.file)[: arguments.hands]
    settings = AnalysisSettings(arguments.search)
    with Progress("analyzing hands", len(records)) as progress:
        result = accuracy(records, settings, progress.update)
    if arguments.json is not None:
        text = json.dumps(result.to_json(), indent=1, ensure_ascii=False)
        write_file(arguments.json, text)
    print(printable(as_text(result, arguments.tricks)))
    return 0


def as_text(result: Accuracy, tricks: bool) -> str:
    lines = [
        f"{result.hands:,} hands, the foreplay probably, by {result.search}; "
        f"cost of a decision in {result.unit}:"
    ]
    width = max(len(row.player) for row in result.costs) + 2
    lines.append(
        f"{'':<{width}}{'':<10}{'decisions':>10}{'cost':>17}{'mistakes':>10}{'accuracy':>10}"
    )
    for row in result.costs:
        if row.trick is None or tricks:
            stage = row.stage if row.trick is None else f"  trick {row.trick}"
            percent = "–" if row.accuracy is None else f"{row.accuracy:.1f} %"
            margin_of_error = "–" if row.margin_of_error is None else f"{row.margin_of_error:.3f}"
            cost = f"{row.cost:.3f} ± {margin_of_error}"
            lines.append(
                f"{row.player:<{width}}{stage:<10}{row.decisions:>10,}{cost:>17}"
                f"{row.mistakes:>10,}{percent:>10}"
            )
    return "\n".join(lines)
