"""Measure a player against others, every deal played twice with the seats exchanged.

Players are named as `german-whist agents` lists them, with their parameters
after a colon: threshold, value:13; or by a checkpoint's path. NAME=PATH says what
one is called: mine=runs/quick-1. The same seed gives the same result on any
number of workers, except for players with a time limit.
"""

from __future__ import annotations

import argparse

from ..training.arena.options import (
    add_run_options,
    check_files,
    command_line,
    play_and_tell,
    records_into,
    run_options,
)
from ..training.arena.run import Arena


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    # Not required here: that it is missing is told in words of our own.
    parser.add_argument("player", nargs="?", metavar="A", help="the player to measure")
    parser.add_argument(
        "--against", nargs="+", required=True, metavar="B", help="its opponents, one or more"
    )
    add_run_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play, and tell what came of it."""
    if arguments.player is None:
        raise ValueError(
            "the player to measure is missing: name it before --against, which takes every name "
            "after it, as in `evaluate threshold --against random counting`"
        )
    players = [arguments.player, *arguments.against]
    pairings = [(0, place) for place in range(1, len(players))]
    command = command_line("evaluate", arguments, [players[0], "--against", *players[1:]])
    check_files(arguments)
    with records_into(arguments.records) as records:
        options = run_options(arguments, records)
        arena = Arena(players, pairings, arguments.rules, **options)
        return play_and_tell(arena, arguments, command, f"{arena.names[0]} in the arena")[1]
