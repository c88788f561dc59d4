"""Write the pages that are made from code and results: `make docs`. A test holds them to it.

In hand-written pages only two things are made: the tables between `<!-- table NAME -->` and
`<!-- end of table -->`, from files of results, and the parts of programs between `<!-- code FILE
from START to END -->` and `<!-- end of code -->`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from inspect import getdoc
from itertools import groupby
from pathlib import Path
from typing import Any

import extension_pages
import ladders
import reference
import result_tables
from msgspec import NODEFAULT, inspect, structs

from german_whist import FOREPLAY_OPTIONS
from german_whist.cli import COMMANDS, parser_of
from german_whist.common.markup import markdown_table
from german_whist.common.settings import CheckedSettings, format_value, list_settings
from german_whist.engine.batch.config import options_from
from german_whist.engine.describe import Chapter, chapters
from german_whist.engine.observation.history import (
    HISTORY_ABOUT,
    HISTORY_VERSION,
    history_rows,
)
from german_whist.engine.observation.rule_features import RULE_SPEC
from german_whist.engine.observation.spec import (
    EXCHANGE_SPEC,
    OBSERVATION_SPEC,
    OBSERVATION_VERSION,
    Group,
    ObservationSpec,
)
from german_whist.engine.observation.state import EXCHANGE_STATE_SPEC, STATE_SPEC
from german_whist.engine.rules import named_rules, solved_rules
from german_whist.envs import german_whist_v0
from german_whist.envs.gymnasium_env import GermanWhistEnv, GermanWhistVectorEnv
from german_whist.envs.opponent_pool import OpponentPool
from german_whist.envs.sb3 import GermanWhistVecEnv
from german_whist.envs.self_play import SelfPlayEnv
from german_whist.evaluation.config import LadderConfig
from german_whist.training.algorithms.registry import own_settings
from german_whist.training.experiments.benchmark import Benchmark
from german_whist.training.experiments.search_space import Range, Sweep
from german_whist.training.rollout.input_features import inputs_of
from german_whist.training.settings import Settings

DOCS = Path(__file__).resolve().parents[1]
MADE = "This page is generated from the code by `make docs`."

ENVIRONMENTS = {
    "PettingZoo: german_whist_v0": german_whist_v0,
    "Gymnasium: GermanWhist-v0": GermanWhistEnv,
    "The Gymnasium vector": GermanWhistVectorEnv,
    "Opponent pool": OpponentPool,
    "Self-play": SelfPlayEnv,
    "Stable-Baselines3": GermanWhistVecEnv,
}

SMALL_DECKS = """\
These rule sets play `classic` with fewer cards. A name holds the number of suits, the number of
ranks and the hand size: `2x4-h2` has two suits of four ranks and hands of two cards. You can use
these names wherever a rule set is accepted. Small decks can be solved: `german-whist solve NAME`
computes a Nash equilibrium, and you can measure the [exploitability](../results/exploitability.md)
of any agent on them."""


CARD_WORDS = """\
- A *trick* is one card from each player. The player who *leads* plays first.
- To *follow suit* means to play a card of the suit that was led.
- *Trumps* are a suit whose cards beat the cards of all other suits.
- The *stock* is the pile of cards that are not dealt. Its top card, if it lies face up, is the
  *upcard*.
- *Counting tricks* are the tricks that decide who wins the hand.
- Stage one is called the *foreplay* on other pages, and stage two is called the *endgame*."""


def _rules_page() -> str:
    names = {f"[`{name}`](#{name})": rules.about for name, rules in named_rules().items()}
    parts = [
        "# The rule sets",
        "With this page you can learn the card game, and choose a rule set. Read `classic` first, "
        "because it is described in full. Every other rule set is a variant of `classic`, and "
        "its section has only the sentences that differ. To print the full rules of a set, run "
        "`german-whist rules NAME`.",
        "These words of card games come up in all rule sets:",
        CARD_WORDS,
        "To play by rules of your own, print the parameters of a set with `german-whist rules NAME "
        "--yaml`, edit them, and give the path of your file in place of a name. If you would "
        "rather read the rules as a program, open `engine/reference.py`, which has them in plain "
        "Python.",
        MADE,
        _table("name", names),
    ]
    classic = chapters(named_rules()["classic"])
    known = {sentence for chapter in classic for sentence in _sentences(chapter)}
    titles = {chapter.title for chapter in classic}
    for name, rules in named_rules().items():
        parts.append(f"## {name}")
        for chapter in chapters(rules):
            own = _sentences(chapter)
            if name != "classic":
                own = [sentence for sentence in own if sentence not in known]
            if own:
                parts.append(f"**{chapter.title}.** {' '.join(own)}")
            elif chapter.title not in titles:
                # Without a stock there is one stage, and `classic` has none like it.
                text = "As in `classic`." if rules.stock_cards else " ".join(_sentences(chapter))
                parts.append(f"**{chapter.title}.** {text}")
    decks = {f"`{name}`": rules.about for name, rules in solved_rules().items()}
    parts += ["## Small decks", SMALL_DECKS, _table("name", decks)]
    return "\n\n".join(parts) + "\n"


def _sentences(chapter: Chapter) -> list[str]:
    return re.split(r"(?<=[.]) (?=[A-Z0-9])", " ".join(chapter.paragraphs))


# Other files whose fields are settings, beside the presets of trainings.
FILES: dict[str, type[CheckedSettings]] = {
    "Benchmarks of `benchmark`": Benchmark,
    "Sweeps of `sweep`": Sweep,
    "Ranges of a sweep's `space`": Range,
    "Ladders of `--config`": LadderConfig,
}


# Text of the page of environments.
ENVIRONMENTS_OPENING = """\
# Environments: reference

With this page you can look up every option, observation, reward and `info` key of the environments.
To learn how to use them, read [Environments](../guide/envs.md) first, and then
[Vectors, self-play and Stable-Baselines3](../guide/vectors.md).

| environment | what it steps |
|---|---|
| [`german_whist_v0`](#pettingzoo-german_whist_v0) (PettingZoo) | one game; you choose the actions \
of both players |
| [`GermanWhist-v0`](#gymnasium-germanwhist-v0) (Gymnasium) | one game against an agent |
| [`gymnasium.make_vec`](#the-gymnasium-vector) | many games against an agent |
| [`SelfPlayEnv`](#self-play) | many games; you choose the actions of both players |
| [`GermanWhistVecEnv`](#stable-baselines3) (Stable-Baselines3) | many games against an agent |

The classes are in `german_whist.envs`. An [`OpponentPool`](#opponent-pool) can draw the agent that
you play against.

The words of the card game, such as *trick*, *trumps* and *stock*, are explained in
[The rule sets](rules.md). The page also uses these words:

- A hand of German Whist has two stages. In the *foreplay*, each trick wins a card of the stock. In
  the *endgame*, the stock is empty, and the players play out their hands.
- *Counting tricks* are the tricks that decide the hand. In `classic`, they are those of the
  endgame.
- The *learner* is the player whose actions you choose. The *opponent* is the agent in the other
  seat."""
SHARED_OPTIONS = """\
## Shared options

These options mean the same in every environment that has them. The section of an environment says
which ones it has. You give all options by name, except for the rules and the number of games.
`german_whist_v0` and `GermanWhist-v0` have one more form of observations, `observation="text"`: a
text for language models.

To train an agent, give `**german_whist.FOREPLAY_OPTIONS` to any environment. They are
`reward="win"`, `suit_order="trump-first"` and `horizon="foreplay"`."""


def _environments_page() -> str:
    texts = {title: getdoc(documented) or "" for title, documented in ENVIRONMENTS.items()}
    pettingzoo = next(iter(texts))
    texts[pettingzoo] = _without_tables(texts[pettingzoo])
    options = f"### Options of `env` and `raw_env`\n\n{getdoc(german_whist_v0.env) or ''}"
    texts[pettingzoo] += f"\n\n{options}"
    uses = Counter(item for text in texts.values() for item in _options(text).items())
    # Of an option with several descriptions, the most frequent one is shared.
    frequent = {name: text for (name, text), count in reversed(uses.most_common()) if count > 1}
    shared = {name: frequent[name] for name, _ in uses if name in frequent}
    parts = [ENVIRONMENTS_OPENING, MADE, SHARED_OPTIONS, "\n".join(shared.values())]
    for title, text in texts.items():
        parts += [f"## {title}", _with_own_options(text, shared)]
    return "\n\n".join(parts) + "\n"


_OPTION_ITEM = re.compile(r"^- `(\w+)`: .+(?:\n  .+)*", re.MULTILINE)
_OPTION_LIST = re.compile(r"All options but .+ by name:\n\n((?:- .+\n(?:  .+\n)*)+)", re.MULTILINE)


def _options(text: str) -> dict[str, str]:
    return {match[1]: match[0] for match in _OPTION_ITEM.finditer(text)}


def _with_own_options(text: str, shared: dict[str, str]) -> str:
    """A description in which a link takes the place of the options that others have too."""

    def replace_list(match: re.Match[str]) -> str:
        options = _options(match[1])
        own = [about for name, about in options.items() if shared.get(name) != about]
        others = [f"`{name}`" for name, about in options.items() if shared.get(name) == about]
        listed = f"{', '.join(others[:-1])} and {others[-1]}"
        sentence = f"This environment has the [shared options](#shared-options) {listed}."
        if not own:
            return f"{sentence}\n"
        lead = "Its other option is" if len(own) == 1 else "Its other options are"
        return "\n".join([f"{sentence} {lead}:\n", *own, ""])

    return _OPTION_LIST.sub(replace_list, f"{text}\n").rstrip("\n")


def _without_tables(text: str) -> str:
    """The description of the PettingZoo environment, with links in place of the index tables."""
    for table, link in (
        (OBSERVATION_SPEC.table(), "[all places](observation.md#the-vector)"),
        (EXCHANGE_SPEC.table(OBSERVATION_SPEC.size), "[these places](observation.md#the-vector)"),
        (HISTORY_ABOUT, "[the columns](observation.md#the-history)"),
    ):
        start, found, end = text.partition(f":\n\n{table}")
        if not found:
            raise ValueError(f"the description lacks the table of {link}")
        text = f"{start} ({link}).{end}"
    return text


def _observation_page() -> str:
    extra = EXCHANGE_SPEC.size - OBSERVATION_SPEC.size
    return f"""\
# Observations

With this page you can find out what each number of an observation means. It describes four arrays:

| array | who reads it |
|---|---|
| [the vector](#the-vector) | agents and networks, by default |
| [the features of a rule set](#the-rules) | networks that play several rule sets |
| [the history](#the-history) | recurrent networks, with `observation="history"` |
| [the global state](#the-global-state) | critics, during training only |

All values are int8. Each array except the history is divided into groups of places, and you can
look up a group by its name:

```python
from german_whist import OBSERVATION_SPEC, german_whist_v0

env = german_whist_v0.env()
env.reset(seed=1)
agent = env.agent_selection
observation = env.observe(agent)["observation"]
print(observation[OBSERVATION_SPEC.slice("own_hand")].nonzero()[0])
print(env.unwrapped.view(agent))
```

```text
{_EXAMPLE}
```

The first line lists the places of `own_hand` that are 1. For example, place 9 is the jack of clubs.
The second line shows the same hand as card names.

A group of 52 places has one place per card. The number of a card is suit × 13 + rank. The suits
are clubs, diamonds, hearts and spades, from 0 to 3, and the ranks run from two (0) to ace (12). So
place 0 is the two of clubs, and place 51 is the ace of spades.

The words of the card game, such as *foreplay* and *counting tricks*, are explained in
[The rule sets](rules.md).

The version of an array changes when its places change their meaning. Checkpoints store the version
of the vector that they read, and the package refuses to load a checkpoint with another version.

{MADE}

## The vector

The vector has {OBSERVATION_SPEC.size} places in every rule set, and {extra} more in rule sets in
which players exchange hands. It is version {OBSERVATION_VERSION}.

A name such as `tricks_{{me,opponent}}` stands for two groups, `tricks_me` and `tricks_opponent`.
The row describes the first group. The second group says the same of the opponent.

{_spec_table(OBSERVATION_SPEC)}

Only rule sets with an exchange of hands ([`humbug`](rules.md#humbug)) have the groups below. Their
vector has {EXCHANGE_SPEC.size} places. `german_whist.engine.spec_of(rules)` returns the groups of
a rule set.

{_spec_table(EXCHANGE_SPEC, OBSERVATION_SPEC.size)}

### The order of suits

The option `suit_order` decides which suit comes first in a group of cards:

- `raw`: clubs, diamonds, hearts, spades.
- `trump-first`: trumps come first. The other suits are sorted by the player's hand. The suit with
  the highest card comes first. If the highest cards of two suits have the same rank, the next cards
  decide, and so on. If two suits are alike in the hand, the cards that the player has played decide
  in the same way. After them, these groups decide, in this order: `played_by_opponent`,
  `opponent_known`, `upcards`, `led`, `turned`, `laid_away`, and `opponent_void` (the higher place
  comes first). Suits that are not in the deck come last.

Actions and the action mask use the same order as the observation.

### What a network reads

{_inputs_text()}

## The rules

`german_whist.engine.rule_features(rules)` describes a rule set with {RULE_SPEC.size} features.
If you train one network on several rule sets, our trainers also give it the features in which these
rule sets differ. So the network knows which game it plays.

{_spec_table(RULE_SPEC)}

## The history

The history lists every event that the player has seen, in order. Each event is a row of four
numbers. In `classic` there are {history_rows(named_rules()["classic"])} rows, and unused rows at
the end are zero. It is version {HISTORY_VERSION}.

{HISTORY_ABOUT}

With `suit_order="trump-first"`, the order of the suits does not change during a hand. Trumps come
first, and the other suits are sorted by the cards dealt to the player, as in the vector. If two
suits are alike in these cards, the suit that appears first in the play comes first.

## The global state

The global state holds all cards, hidden ones too. Use it only for training, for example as the
input of a critic ([guide](../guide/vectors.md#the-global-state)). It has
{STATE_SPEC.size} places of 0 or 1 and is version {STATE_SPEC.version}.
The groups before `played_at` describe the position. The groups from `played_at` on describe how the
hand came to this position.

{_spec_table(STATE_SPEC)}

Only rule sets with an exchange of hands ([`humbug`](rules.md#humbug)) have the groups below. Their
state has {EXCHANGE_STATE_SPEC.size} places.

{_spec_table(EXCHANGE_STATE_SPEC, STATE_SPEC.size)}
"""


_EXAMPLE = """\
[ 9 13 15 17 19 20 25 37 42 43 44 45 49]
View(seat 0, lead, hand JC 2D 4D 6D 8D 9D AD KH 5S 6S 7S TS QS, upcard 3C)"""


def _inputs_text() -> str:
    """Which places of the vector the networks of trainers read, with the default settings."""
    inputs = inputs_of(options_from("classic", **FOREPLAY_OPTIONS), relative_ranks=True)
    rows: list[list[str]] = []
    start = 0
    for group in OBSERVATION_SPEC.groups:
        size = int(((inputs >= group.start) & (inputs < group.start + group.size)).sum())
        if size:
            span = f"{start}–{start + size - 1}" if size > 1 else str(start)
            rows.append(
                [span, f"`{group.name}`" + ("" if size == group.size else f" (only {size})")]
            )
            start += size
    return f"""\
Our trainers give a network only the places that can vary in the trained rule set, in the order of
the table. In `classic` with the default settings, these are {len(inputs)} of the
{OBSERVATION_SPEC.size} places:

{markdown_table(["input of the network", "group, from its first place on"], rows)}

The setting `card_ranks` is `relative` by default. The network then sees other ranks in `own_hand`,
`upcards`, `led`, `opponent_known` and `unseen`: the ranks are counted among the cards that are
still in play. For example, the highest card of a suit that is still in play has the ace's place."""


def _spec_table(spec: ObservationSpec, start: int = 0) -> str:
    """Groups of a specification from an index on; neighbors of the same kind share a row."""
    rows: list[list[str]] = []
    groups = [group for group in spec.groups if group.start >= start]
    for (name, size), row in groupby(groups, _name_and_size):
        first, *others = row
        end = first.start + (1 + len(others)) * size - 1
        index = f"{first.start}–{end}" if end > first.start else str(first.start)
        if others:
            players = ",".join(group.name.rpartition("_")[2] for group in (first, *others))
            index, name = f"{index}, {size} each", f"{name}_{{{players}}}"
        else:
            name = first.name
        rows.append([f"`{name}`", index, first.about])
    return markdown_table(["group", "index", "meaning"], rows)


def _name_and_size(group: Group) -> tuple[str, int]:
    name, _, player = group.name.rpartition("_")
    return name if player in _PLAYERS else group.name, group.size


_PLAYERS = ("me", "opponent", "left", "right", "dummy")


def _settings_page() -> str:
    parts = [
        "# Settings",
        "This page lists every setting that you can give to `german-whist train` as `key=value` "
        "or write into a YAML file. To see the settings of a preset with their values, run "
        "`german-whist train PRESET --show`. A setting without a default is required. The allowed "
        "range of a number is in italics: *≥ 1*, *in [0, 1]*, *> 0*.",
        "A YAML file may begin with `preset: NAME`, which is the name or the path of another file "
        "of its kind. Then each field of your file replaces that field of the other file. In a "
        "sweep, `preset` is the preset of the trainings.",
        MADE,
        "## Every trainer\n\nThese settings are the same for every trainer.\n\n"
        f"{settings_table(Settings)}",
    ]
    trainers = own_settings()
    for name, kind in trainers.items():
        parts.append(f"## `trainer: {name}`\n\n{(kind.__doc__ or '').strip()}")
        base = next((base for base in kind.__mro__[1:] if base in trainers.values()), Settings)
        inherited = next((name for name, other in trainers.items() if other is base), None)
        if inherited:
            parts.append(
                f"This trainer has all settings of [`{inherited}`](#trainer-{inherited}). The "
                "settings below are new or have another default."
            )
        parts.append(settings_table(kind, base))
    for title, kind in FILES.items():
        parts.append(f"## {title}\n\n{(kind.__doc__ or '').strip()}\n\n{settings_table(kind)}")
    return "\n\n".join(parts) + "\n"


def settings_table(kind: type[CheckedSettings], base: type[CheckedSettings] | None = None) -> str:
    """The settings of a kind that its base does not have with the same default."""
    inherited = {setting.name: setting for setting in list_settings(base)} if base else {}
    rows: list[list[str]] = []
    for setting, field in zip(list_settings(kind), structs.fields(kind), strict=True):
        # The heading of a trainer's settings names it.
        if setting != inherited.get(setting.name) and (base is None or setting.name != "trainer"):
            default = "" if setting.default is NODEFAULT else f"`{format_value(setting.default)}`"
            text = f"{setting.about} {_range(inspect.type_info(field.type), setting.about)}"
            rows.append([f"`{setting.name}`", default, text.strip()])
    return markdown_table(["setting", "default", "description"], rows)


# Larger bounds than this keep a typing error from filling the memory: nothing to choose by.
_LARGEST_BOUND = 100_000


def _range(kind: Any, about: str) -> str:
    """Values that a setting takes, unless its default or its description show them."""
    if isinstance(kind, inspect.Metadata):
        return _range(kind.type, about)
    if isinstance(kind, inspect.UnionType):
        return next(filter(None, (_range(each, about) for each in kind.types)), "")
    if isinstance(kind, inspect.LiteralType):
        values = [f"`{value}`" for value in kind.values]
        return "" if all(value in about for value in values) else f"*One of {', '.join(values)}.*"
    if not isinstance(kind, (inspect.IntType, inspect.FloatType)):
        return ""
    low = kind.ge if kind.gt is None else kind.gt
    high = kind.le if kind.lt is None else kind.lt
    if low is None:
        return ""
    even = "even, " if kind.multiple_of == 2 else ""
    if high is None or high > _LARGEST_BOUND:
        return f"*{even}{'≥' if kind.gt is None else '>'} {low:g}*"
    left, right = "[" if kind.gt is None else "(", "]" if kind.lt is None else ")"
    return f"*{even}in {left}{low:g}, {high:g}{right}*"


_OPTION = re.compile(r"--[\w-]+")


def commands_page(title: str, commands: Iterable[str]) -> str:
    """A page of some commands, with the arguments of each."""
    parsers = {name: parser_of(name) for name in commands}
    tables: dict[str, dict[str, str]] = {}
    for name, (_, parser) in parsers.items():
        tables[name] = _arguments(parser)
        for action, part in parser.subparsers.choices.items() if parser.subparsers else ():
            tables[f"{name} {action}"] = _arguments(part)
    uses = Counter(option for table in tables.values() for option in table.items())
    shared = {
        shown: text for (shown, text), count in uses.items() if count > 1 and shown.startswith("`-")
    }
    parts = [
        f"# {title}",
        "This page shows what each command does, and all of its arguments. `--help` prints the "
        "same. Every command also has the option `--debug`, which shows the traceback of an error.",
        MADE,
        ", ".join(f"[`{name}`](#{name})" for name in parsers) if len(parsers) > 1 else "",
    ]
    for name, table in tables.items():
        if name in parsers:
            parts += [f"## {name}", (parsers[name][0].__doc__ or "").strip()]
        else:
            parts.append(f"### {name}")
        own = {shown: text for shown, text in table.items() if shared.get(shown) != text}
        also = [option for shown in table if shown not in own for option in _OPTION.findall(shown)]
        if own:
            parts.append(_table("argument", own))
        if also:
            parts.append(f"[Shared options](#shared-options): `{'`, `'.join(also)}`.")
    if shared:
        parts += ["## Shared options", _table("argument", shared)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(column: str, rows: dict[str, str]) -> str:
    return markdown_table([column, "description"], [*rows.items()])


def _arguments(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The arguments of a command as they are typed, and their help."""
    rows: dict[str, str] = {}
    for action in parser._actions:
        if {"--help", "--debug"}.intersection(action.option_strings):
            continue
        value = action.metavar or (action.nargs != 0 and action.dest.upper()) or ""
        if isinstance(action, argparse._SubParsersAction):
            value = "|".join(action.choices)
        shown = " ".join([", ".join(action.option_strings), str(value)]).strip()
        text = parser._get_formatter()._expand_help(action) if action.help else ""
        rows[f"`{shown}`".replace("|", "\\|")] = text
    return rows


def _marked(begin: str, end: str) -> re.Pattern[str]:
    """Two markers and the text between them, which may be empty but holds no other marker."""
    return re.compile(
        rf"(<!-- {begin} -->\n\n)(?:(?:(?!<!-- ).)*?\n\n)?(<!-- {end} -->)", re.DOTALL
    )


_TABLE = _marked(r"table ([\w-]+)", "end of table")


def with_tables(page: str, tables: dict[str, str]) -> str:
    """A page with the marked tables made anew."""

    def replace_table(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        if name not in tables:
            raise ValueError(f"there is no table {name}: {', '.join(tables)} can be made")
        return f"{begin}{tables[name]}\n\n{end}"

    page, count = _TABLE.subn(replace_table, page)
    if page.count("<!-- table") != count or page.count("<!-- end of table") != count:
        raise ValueError("a table's marker has no partner, or no empty line beside it")
    return page


def _pages_with_tables() -> dict[str, str]:
    tables = result_tables.tables()
    paths = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
    pages = {path: path.read_text("utf-8") for path in paths}
    return {
        Path(os.path.relpath(path, DOCS)).as_posix(): with_tables(page, tables)
        for path, page in pages.items()
        if "<!-- table" in page
    }


_CODE = _marked(r"code (\S+) from ([^\n]+?) to ([^\n]+?)", "end of code")


def with_code(path: Path) -> str:
    """A page with the marked parts of programs made anew, since GitHub includes no files."""

    def replace_code(match: re.Match[str]) -> str:
        begin, name, first, last, end = match.groups()
        lines = (path.parent / name).read_text("utf-8").splitlines()
        start = next((k for k, line in enumerate(lines) if first in line), None)
        stop = next((k for k, line in enumerate(lines) if last in line), None)
        if start is None or stop is None:
            raise ValueError(f"{path.name}: {name} has no part from {first!r} to {last!r}")
        part = "\n".join(lines[start:stop]).rstrip()
        return f"{begin}```python\n{part}\n```\n\n{end}"

    page, count = _CODE.subn(replace_code, path.read_text("utf-8"))
    if page.count("<!-- code") != count or page.count("<!-- end of code") != count:
        raise ValueError(
            f"{path.name}: a marker of code has no partner, or no empty line beside it"
        )
    return page


def _pages_with_code() -> dict[str, str]:
    paths = sorted((DOCS / "interop").glob("*.md"))
    pages = {path.relative_to(DOCS).as_posix(): with_code(path) for path in paths}
    return {name: page for name, page in pages.items() if "<!-- code" in page}


def _pages_of_extensions() -> dict[str, str]:
    made = extension_pages.made_pages()
    return {Path(os.path.relpath(path, DOCS)).as_posix(): text for path, text in made.items()}


def pages() -> dict[str, str]:
    """Every page and chart that is made from code or results, by its path from `docs`."""
    return {
        **_pages_with_tables(),
        **_pages_with_code(),
        **_pages_of_extensions(),
        "reference/environments.md": _environments_page(),
        **{f"reference/{name}": text for name, text in reference.pages().items()},
        "reference/commands.md": commands_page("Commands", COMMANDS),
        **{f"pictures/{name}": text for name, text in result_tables.pictures().items()},
        "results/ladder.md": ladders.page(json.loads(ladders.FIGURES.read_text("utf-8"))),
        "reference/observation.md": _observation_page(),
        "reference/rules.md": _rules_page(),
        "reference/settings.md": _settings_page(),
    }


if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
