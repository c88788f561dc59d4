"""Let agents play each other, and rate them. You get a cross table, and Elo ratings with intervals.

Name the agents on the command line, or in a config. A config is a YAML file of your own, or one
that comes with the package (--config ladder). Options on the command line override the config.
"""

from __future__ import annotations

import argparse

from ..agents.registry import common_rules, parse_agent_name
from ..common.progress import Progress
from ..evaluation.config import LadderConfig, load_ladder
from ..evaluation.tournament import ladder, show_on
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
    parser.add_argument(
        "agents", nargs="*", metavar="A", help="two or more agents; NAME=PATH gives one a name"
    )
    parser.add_argument(
        "--config",
        metavar="NAME|FILE.yaml",
        help="take agents and options from a file; the command line overrides them",
    )
    parser.add_argument(
        "--anchor",
        metavar="A",
        help="agent whose rating is set to 1000 (default: the config's anchor; "
        "without one, the mean of all agents is set to 1000)",
    )
    add_trust_option(parser)
    add_run_options(parser)


def run(arguments: argparse.Namespace) -> int:
    config = LadderConfig() if arguments.config is None else load_ladder(arguments.config)
    agents = arguments.agents or list(config.agents)
    anchor = arguments.anchor
    if anchor is None and config.anchor in [parse_agent_name(agent)[0] for agent in agents]:
        anchor = config.anchor
    rules = common_rules(agents, config.rules if arguments.rules is None else arguments.rules)
    folder = check_files(arguments)
    options = {**config.options(), **arena_options(arguments)}
    with records_into(arguments.records) as records:
        with Progress("playing") as progress:
            result = played(
                lambda: ladder(
                    agents,
                    rules,
                    progress=show_on(progress),
                    anchor=anchor,
                    records=records,
                    **options,
                )
            )
        result = with_origin(result, repeating_command(arguments, result))
        return report(result, rules, arguments, folder, heading=config.title, about=config.about)
