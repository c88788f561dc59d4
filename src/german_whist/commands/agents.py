"""List the agents that you can name on the command line and in `load_agent`."""

from __future__ import annotations

import argparse
import sys

from ..agents.registry import AGENTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments."""


def run(arguments: argparse.Namespace) -> int:
    entries, errors = AGENTS.described()
    for entry in entries:
        print(entry.usage)
        endgame = f"; endgame: {entry.note}" if entry.note else ""
        print(f"    {entry.about}{endgame}")
    print(
        "\nAn agent of your own is named module:object, or a path to its checkpoint. A class plays "
        "its endings\nitself, and so does a function unless it is named with "
        "module:function:endgame=exact."
    )
    for error in errors:
        print(f"german-whist: {error}", file=sys.stderr)
    return 0
