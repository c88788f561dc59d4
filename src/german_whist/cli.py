# pyright: strict
"""The command `german-whist`: finds the sub-command and hands over to its module.

A sub-command is a module of `german_whist.commands` with `add_arguments` and
`run`. Only the one that is asked for is imported, so `--help` answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from . import __version__

COMMANDS = {
    "table": "open a table in the browser: play, watch, replay",
    "play": "play against any player, in the terminal",
    "train": "train a player by self-play",
    "evaluate": "measure a player against others",
    "ladder": "let players play each other, and rate them",
    "agents": "list the players by name",
    "rules": "list the rule sets, or explain one in words",
    "replay": "show a hand from a file of records, and what its decisions were worth",
    "tablebase": "build, verify or describe the table of exact endgames",
    "exploit": "tell exactly how much a best response wins, on a small deck",
    "export": "write a checkpoint as ONNX",
}


def _overview() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:<{width}}{about}" for name, about in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="german-whist",
        description="German Whist for reinforcement learning.",
        usage="german-whist [--version] COMMAND ...",
        epilog="\n".join(
            ["commands:", *lines, "", "german-whist COMMAND --help tells more about each."]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"german-whist {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="what to do")
    return parser


def _parsed(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """The arguments, with options anywhere between them, except in commands of commands.

    No metavar may hold a %: this way of parsing reads it as a format.
    """
    if {"-h", "--help"}.intersection(words):
        return parser.parse_args(words)
    try:
        return parser.parse_intermixed_args(words)
    except TypeError:
        return parser.parse_args(words)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = _overview().parse_args(given[:1]).command
    try:
        # Importing makes the cache's folder, which may not be writable.
        module = importlib.import_module(f".commands.{name}", __package__)
        parser = argparse.ArgumentParser(
            prog=f"german-whist {name}",
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(parser)
        return module.run(_parsed(parser, given[1:])) or 0
    except (ValueError, OSError) as error:
        print(f"german-whist {name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
