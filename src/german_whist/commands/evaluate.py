"""Measure an agent against others. Every deal is played twice, with the seats exchanged.

Name an agent as `german-whist agents` lists it, with parameters after a colon: threshold, or
flat-mc:64. You can also give the path of a run or a checkpoint, with parameters after a comma:
runs/quick-1,endgame=exact. NAME=PATH gives an agent a short name: mine=runs/quick-1.

The same seed gives the same result on any number of workers. Agents with a time limit are the
exception.
"""

from __future__ import annotations

import argparse

from ..agents.registry import common_rules
from ..common.progress import Progress
from ..evaluation.tournament import evaluate, show_on
from .evaluation_options import (
    add_run_options,
    arena_options,
    check_files,
    played,
    records_into,
    repeating_command,
    report,
    with_origin,
)
from .worker_options import add_trust_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    # Optional here, so that its absence has its own error message.
    parser.add_argument("agent", nargs="?", metavar="A", help="agent to measure")
    parser.add_argument("--against", nargs="+", metavar="B", help="one or more opponents")
    add_run_options(parser)
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.against is None:
        raise ValueError(
            "the opponents are missing: name them after --against, as in `evaluate threshold "
            "--against random`"
        )
    if arguments.agent is None:
        raise ValueError(
            "the agent to measure is missing: name it before --against, which takes every name "
            "after it, as in `evaluate threshold --against random counting`"
        )
    agent, against = arguments.agent, arguments.against
    rules = common_rules([agent, *against], arguments.rules)
    folder = check_files(arguments)
    with records_into(arguments.records) as records:
        with Progress("playing") as progress:
            result = played(
                lambda: evaluate(
                    agent,
                    against,
                    rules,
                    progress=show_on(progress),
                    records=records,
                    **arena_options(arguments),
                )
            )
        result = with_origin(result, repeating_command(arguments, result))
        return report(result, rules, arguments, folder)
