# pyright: strict
"""List the rule sets, or explain one of them in plain words."""

from __future__ import annotations

import argparse

from ..common.markup import printable
from ..common.settings import two_columns
from ..engine.describe import as_yaml, describe
from ..engine.rules import load_rules, named_rules, solved_rules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "rules", nargs="?", metavar="NAME|FILE.yaml", help="rule set to explain (default: list all)"
    )
    parser.add_argument(
        "--yaml",
        action="store_true",
        help="print the parameters of the rule set as YAML, which you can edit into a "
        "rule set of your own",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.rules is None:
        if arguments.yaml:
            raise ValueError("--yaml prints one rule set: name it, as in `rules classic --yaml`")
        print(_listed())
        return 0
    rules = load_rules(arguments.rules)
    print(printable(as_yaml(rules) if arguments.yaml else describe(rules)))
    return 0


def _listed() -> str:
    parts = (
        two_columns({name: rules.about for name, rules in named_rules().items()}),
        "Small decks that german-whist solve solves, by suits, ranks and cards in hand: from 20 "
        "thousand to ten thousand million ways to deal and play for the stock.",
        two_columns({name: rules.about for name, rules in solved_rules().items()}),
        "german-whist rules NAME explains one of them.",
    )
    return "\n\n".join(parts)
