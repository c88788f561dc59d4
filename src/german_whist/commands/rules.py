# pyright: strict
"""List the rule sets, or explain one in words that a player understands."""

from __future__ import annotations

import argparse

from ..engine.describe import as_yaml, describe
from ..engine.rules import load_rules, named_rules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "rules",
        nargs="?",
        metavar="NAME|FILE.yaml",
        help="a rule set by name, or a YAML file with one of your own",
    )
    parser.add_argument(
        "--yaml", action="store_true", help="print its parameters, to start a set of your own from"
    )


def run(arguments: argparse.Namespace) -> int:
    """List the sets, or tell about one."""
    if arguments.rules is None:
        if arguments.yaml:
            raise ValueError("--yaml prints one rule set: name it, as in `rules classic --yaml`")
        print(_listed())
        return 0
    rules = load_rules(arguments.rules)
    print(as_yaml(rules) if arguments.yaml else describe(rules))
    return 0


def _listed() -> str:
    width = max(map(len, named_rules())) + 2
    lines = [f"{name:<{width}}{rules.about}" for name, rules in named_rules().items()]
    return "\n".join([*lines, "", "german-whist rules NAME explains one of them."])
