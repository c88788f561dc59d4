"""Write the pages that are made from the code: `make docs`. A test holds them to it."""

from __future__ import annotations

import argparse
from pathlib import Path

from message_types import message_types
from msgspec import NODEFAULT

from german_whist.cli import COMMANDS, parser_of
from german_whist.common.typed_settings import Checked, described, written
from german_whist.engine.describe import chapters
from german_whist.engine.observation.history import HISTORY_ABOUT, HISTORY_VERSION
from german_whist.engine.observation.layout import EXCHANGE_LAYOUT, LAYOUT, LAYOUT_VERSION
from german_whist.engine.observation.rule_features import RULE_LAYOUT
from german_whist.engine.rules import named_rules, solved_rules
from german_whist.evaluation.config import LadderConfig
from german_whist.three_player.observation import THREE_LAYOUT
from german_whist.training.algorithms.registry import own_settings
from german_whist.training.experiments.benchmark import Benchmark
from german_whist.training.experiments.search_space import Between, Sweep
from german_whist.training.expert_iteration.recipe import Recipe
from german_whist.training.settings import Settings

OBSERVATION = f"""\
# What a player observes

Made from the code by `make docs`.

## The vector

Layout {LAYOUT_VERSION}: {LAYOUT.size} places of int8, the same for every rule set, seen by one \
player. Where hands are exchanged, {EXCHANGE_LAYOUT.size - LAYOUT.size} more stand behind them.
In `raw` suits are the real ones. In `trump-first` they are relabelled: trumps come first, the
side suits in an order that depends on the player's own cards, and actions and mask with them.
`LAYOUT.slice("own_hand")` gives the places of a group. Cards stand by id, suit × 13 + rank:
suits clubs, diamonds, hearts, spades, ranks two to ace.

{LAYOUT.table()}

Behind these, in rule sets with an exchange (`humbug`) alone, {EXCHANGE_LAYOUT.size} places in all;
in the others they would be zero. `german_whist.engine.observation.layout.layout_of(rules)` is the
table of a rule set.

{EXCHANGE_LAYOUT.table(LAYOUT.size)}

## The rules

A network that plays several rule sets is told beside the vector what differs between them, by some
of these {RULE_LAYOUT.size} places (`german_whist.engine.observation.rule_features`):

{RULE_LAYOUT.table()}

## The history

Version {HISTORY_VERSION}: everything that a player has seen, in order, a row for each event.
In `trump-first` the suits keep one order throughout a hand: trumps, then by the cards that the
player was dealt, and suits that were dealt alike as they came up first after that.

{HISTORY_ABOUT}

## The game for three

Layout {THREE_LAYOUT.version}: {THREE_LAYOUT.size} places of int8, zeros and ones \
([the game](three.md)).

{THREE_LAYOUT.table()}
"""


SMALL_DECKS = """\
The game of `classic` from few cards, named by suits, ranks and cards in hand, and small enough
to be solved: `german-whist solve NAME` computes how to play so that nobody wins against it on
average ([exploitability.md](exploitability.md)). They are named wherever rules are."""


def _rules_page() -> str:
    listed = [f"| [`{name}`](#{name}) | {rules.about} |" for name, rules in named_rules().items()]
    parts = [
        "# The rule sets",
        "Made from the code by `make docs`; `german-whist rules NAME` tells the same, and with "
        "`--yaml` it starts a rule set of your own.",
        "\n".join(["| name | game |", "|---|---|", *listed]),
    ]
    for name, rules in named_rules().items():
        parts += [f"## {name}", rules.about]
        for chapter in chapters(rules):
            parts += [f"**{chapter.title}.** {' '.join(chapter.paragraphs)}"]
    parts += ["## Small decks", SMALL_DECKS]
    rows = [f"| `{name}` | {rules.about} |" for name, rules in solved_rules().items()]
    parts.append("\n".join(["| name | deck |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


# Other files whose fields are settings, beside the presets of trainings.
FILES: dict[str, type[Checked]] = {
    "Benchmarks of `benchmark`": Benchmark,
    "Sweeps of `sweep`": Sweep,
    "Ranges of a sweep's `space`": Between,
    "Recipes of `expert-iteration`": Recipe,
    "Ladders of `--config`": LadderConfig,
}


def _settings_page() -> str:
    parts = [
        "# Settings",
        "Made from the code by `make docs`; `german-whist train PRESET --show` tells the same of a "
        "preset, with its values. Where nothing is usual, something has to be given.",
        f"## Every trainer\n\n{_settings_table(Settings, ())}",
    ]
    everywhere = Settings.__struct_fields__
    for name, kind in own_settings().items():
        parts.append(f"## `trainer: {name}`\n\n{(kind.__doc__ or '').strip()}")
        parts.append(_settings_table(kind, everywhere))
    for title, kind in FILES.items():
        parts.append(f"## {title}\n\n{(kind.__doc__ or '').strip()}\n\n{_settings_table(kind, ())}")
    return "\n\n".join(parts) + "\n"


def _settings_table(kind: type[Checked], but: tuple[str, ...]) -> str:
    lines = ["| setting | usually | what it does, and what it takes |", "|---|---|---|"]
    for each in described(kind):
        if each.name not in but:
            usual = "" if each.default is NODEFAULT else f"`{written(each.default)}`"
            lines.append(f"| `{each.name}` | {usual} | {each.about} *{each.takes}* |")
    return "\n".join(lines)


def _commands_page() -> str:
    parts = [
        "# Commands",
        "Made from the code by `make docs`; a command's `--help` tells the same. Every "
        "command takes `--debug`, which shows a traceback of what goes wrong.",
        "\n".join([
            "| command | what it does |",
            "|---|---|",
            *(f"| [`{name}`](#{name}) | {about} |" for name, about in COMMANDS.items()),
        ]),
    ]  # fmt: skip
    for name in COMMANDS:
        module, parser = parser_of(name)
        parts += [f"## {name}", (module.__doc__ or "").strip(), _arguments_table(parser)]
        for action, part in parser.parts.choices.items() if parser.parts else ():
            parts += [f"### {name} {action}", _arguments_table(part)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _arguments_table(parser: argparse.ArgumentParser) -> str:
    lines = ["| argument | what it does |", "|---|---|"]
    for action in parser._actions:
        if {"--help", "--debug"}.intersection(action.option_strings):
            continue
        value = action.metavar or (action.nargs != 0 and action.dest.upper()) or ""
        if isinstance(action, argparse._SubParsersAction):
            names = action.choices
            value = "|".join(names)
        shown = " ".join([", ".join(action.option_strings), str(value)]).strip().replace("|", "\\|")
        help_text = parser._get_formatter()._expand_help(action) if action.help else ""
        lines.append(f"| `{shown}` | {help_text} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def pages() -> dict[str, str]:
    """Every page that is made from the code, by file name."""
    return {
        "commands.md": _commands_page(),
        "observation.md": OBSERVATION,
        "rules.md": _rules_page(),
        "settings.md": _settings_page(),
        "../table/browser/messages.d.ts": message_types(),
    }


if __name__ == "__main__":
    for name, text in pages().items():
        (Path(__file__).parent / name).write_text(text, encoding="utf-8")
