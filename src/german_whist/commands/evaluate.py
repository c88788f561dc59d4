"""Measure a player against others, every deal played twice with the seats exchanged.

Players are named as `german-whist agents` lists them, with their parameters
after a colon: threshold, value:13; or by the path of a run or a checkpoint, with
parameters after a comma: runs/quick-1,endgame=network. NAME=PATH says what one is
called: mine=runs/quick-1. The same seed gives the same result on any
number of workers, except for players with a time limit.
"""

from __future__ import annotations

import argparse

from ..agents.common_rules import common_rules
from ..common.progress import Progress
from ..evaluation.tournament import evaluate, show_on
from .evaluation_options import Report, add_run_options, command_line, records_into, run_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    # Optional here, so that its absence has its own error message.
    parser.add_argument("player", nargs="?", metavar="A", help="the player to measure")
    parser.add_argument(
        "--against", nargs="+", required=True, metavar="B", help="its opponents, one or more"
    )
    add_run_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.player is None:
        raise ValueError(
            "the player to measure is missing: name it before --against, which takes every name "
            "after it, as in `evaluate threshold --against random counting`"
        )
    player, against = arguments.player, arguments.against
    rules = common_rules([player, *against], arguments.rules)
    command = command_line("evaluate", arguments, [player, "--against", *against])
    report = Report(arguments, command)
    with records_into(arguments.records) as records:
        options = run_options(arguments)
        with Progress("playing") as progress:
            result = evaluate(
                player, against, rules, records=records, progress=show_on(progress), **options
            )
        return report.finish(result, rules)
