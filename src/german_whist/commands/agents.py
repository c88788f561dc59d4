"""List the players: what `--against` and `make_agent` take."""

from __future__ import annotations

import argparse

from ..agents import agent_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is nothing to choose."""


def run(arguments: argparse.Namespace) -> int:
    """Print every name with a line on what it is."""
    entries = agent_names().values()
    width = max(len(entry.usage) for entry in entries) + 2
    for entry in entries:
        print(f"{entry.usage:<{width}}{entry.about}")
    print("\nA player of your own is named module:object, or a path to its checkpoint.")
    return 0
