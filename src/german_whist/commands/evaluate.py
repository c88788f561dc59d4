"""Measure an agent against others, every deal played twice with the seats exchanged.

Agents are named as `german-whist agents` lists them, with their parameters
after a colon: threshold, flat-mc:64; or by the path of a run or a checkpoint, with
parameters after a comma: runs/quick-1,endgame=exact. NAME=PATH says what one is
called: mine=runs/quick-1. The same seed gives the same result on any
number of workers, except for agents with a time limit.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from ..agents.networks.policy import NetworkAgent
from ..agents.registry import common_rules, make_agent, parse_agent_name
from ..common.files import write_file
from ..common.progress import Progress
from ..engine.records import GameRecord
from ..engine.rules import Rules
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    # Optional here, so that its absence has its own error message.
    parser.add_argument("agent", nargs="?", metavar="A", help="the agent to measure")
    parser.add_argument("--against", nargs="+", metavar="B", help="its opponents, one or more")
    parser.add_argument(
        "--replays",
        type=Path,
        metavar="FILE.html",
        help="a page of replays: the hands of the agent's worst deals and those with the least "
        "likely cards, with what its network thinks of them; --html links to it",
    )
    add_run_options(parser)


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
    replays: Path | None = arguments.replays
    if replays is not None and {parse_agent_name(name)[0] for name in against} == {
        parse_agent_name(agent)[0]
    }:
        raise ValueError(
            f"--replays {replays} is given, and {agent} meets itself alone, which wins what it "
            "loses: name another opponent after --against, or leave --replays out"
        )
    lines: list[str] = []
    keep = None if replays is None else partial(_keep_first, lines)
    with records_into(arguments.records, keep) as records:
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
        status = report(result, rules, arguments, folder)
    if replays is not None and lines:
        _write_replays(folder / replays, result.agents[0], agent, rules, lines)
    return status


def _keep_first(lines: list[str], line: str) -> None:
    """Keep a record among the first, from which replays are chosen: there may be millions."""
    from ..table.review.hands import MAX_HANDS

    if len(lines) < MAX_HANDS:
        lines.append(line)


def _write_replays(path: Path, name: str, source: str, rules: Rules, lines: list[str]) -> None:
    """Write the page of the hands that are worth a look."""
    from ..table.browser.saved_replay import hands_page
    from ..table.review.hands import notable_hands

    policy = make_agent(parse_agent_name(source)[1], rules)
    if not isinstance(policy, NetworkAgent):
        policy = None
    hands = notable_hands([*map(GameRecord.from_line, lines)], name, policy)
    write_file(path, hands_page(name, hands))
    print(f"wrote {path}", file=sys.stderr)
