"""The page of the leaderboard, made from the entries in leaderboard/: `make docs`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ladders import table

from german_whist.agents.base import EXACT_SOLVER, OWN_POLICY
from german_whist.agents.registry import agent_names, parse_agent_name
from german_whist.evaluation.formats import markdown_code, milliseconds
from german_whist.evaluation.protocol import (
    PROTOCOLS,
    Entry,
    Protocol,
    entry_file,
    mean_win_rate,
)
from german_whist.evaluation.statistics import Estimate

_BY = {EXACT_SOLVER: "the exact solver", OWN_POLICY: "the agent's own policy"}
FOLDER = Path(__file__).resolve().parents[2] / "leaderboard"

_ABOUT = """\
# The leaderboard

Made by `make docs` from the entries in `leaderboard/`, best first by the mean of the win rates
against all opponents. `CONTRIBUTING.md` says how to submit one. The tuned agents are seed 1 of
[`benchmark full`](benchmark.md), greedy; weights of agents with `=` are not in the repository.
Opponents are networks that stay: `champion`, the newest one, is an entry and no opponent.

*Deals*: those of a protocol are public, and can be learnt by heart. Win rates are of fresh deals as
soon as an entry has them: `published` ones follow from a hash of the submission and a value that
was published after it, `secret` ones from a value that a maintainer drew and the entry reveals.
*Public − fresh* is how much more of the public deals the agent wins, in points; beyond 4 standard
errors (by chance once in 30,000 entries) it has **learnt** them. *Unverified* are entries whose
agent does not come with the package: of all others the tests play deals again, drawn anew at each
run."""

_PROTOCOL = """\
## {name}

`german-whist evaluate AGENT --protocol {name}`: `{rules}`, {hands:,} hands against each opponent,
every deal twice with seats exchanged; the public deals are those of seed {seed}. Wins in per cent,
a tie as half, with 95 % intervals; that of the mean takes a deal, which all opponents play, as one
observation. *ms*: milliseconds a decision on the machine of the entry and at its time, many games
at once. Last: exact [exploitability](exploitability.md) a hand on small decks; – where the agent
does not play them, is too large for them, or states no probabilities that its play confirms."""


def entries() -> dict[str, Entry]:
    """All entries by file name."""
    found: dict[str, Entry] = {}
    for path in sorted(FOLDER.glob("*.json")):
        try:
            entry = Entry.from_text(path.read_text("utf-8"))
        except (ValueError, KeyError) as error:
            raise ValueError(f"leaderboard/{path.name} is no entry: {error}") from error
        if path.name != entry_file(entry.name):
            raise ValueError(f"leaderboard/{path.name} is to be called {entry_file(entry.name)}")
        found[path.name] = entry
    return found


def page(found: dict[str, Entry]) -> str:
    """The page with these entries."""
    parts = [_ABOUT]
    for protocol in PROTOCOLS.values():
        ranked = sorted(
            (entry for entry in found.values() if entry.protocol == protocol),
            key=lambda entry: -mean_win_rate(_deals(entry)).value,
        )
        parts.append(_PROTOCOL.format(**vars(protocol)))
        for endgame in _BY:
            block = [entry for entry in ranked if entry.result.details[0].endgame == endgame]
            if block:
                parts += [f"### Endgames by {_BY[endgame]}", _ranking(protocol, block)]
    return "\n\n".join(parts) + "\n"


def _deals(entry: Entry) -> tuple[str, ...]:
    return entry.deals if entry.fresh is None else entry.fresh.deals


def _ranking(protocol: Protocol, block: Sequence[Entry]) -> str:
    names = [markdown_code(name) for name in (*protocol.opponents, *protocol.decks)]
    opponents = len(protocol.opponents)
    header = ["agent", "deals", "public − fresh", "mean", *names[:opponents], "ms"]
    rows = [[*header, *names[opponents:]]]
    for entry in block:
        deals = _deals(entry)
        rates = [mean_win_rate(deals), *(mean_win_rate([digits]) for digits in deals)]
        decks = [entry.decks[deck].exploitability for deck in protocol.decks]
        rows.append(
            [
                _player(entry),
                _source(entry),
                _difference(entry),
                *map(_percent, rates),
                milliseconds(entry.ms_a_move),
                *("–" if value is None else f"{value:.4f}" for value in decks),
            ]
        )
    return table(rows)


def _percent(rate: Estimate) -> str:
    return f"{100 * rate.value:.1f} ± {100 * rate.margin_of_error:.1f}"


def _source(entry: Entry) -> str:
    if entry.fresh is None:
        return "public"
    return "secret" if entry.fresh.secret else "published"


def _difference(entry: Entry) -> str:
    if entry.difference is None:
        return "–"
    text = f"{100 * entry.difference.value:+.1f} ± {100 * entry.difference.margin_of_error:.1f}"
    return f"{text}, **learnt**" if entry.learnt else text


def _player(entry: Entry) -> str:
    """The name with a link to the entry, and what the command names in its place."""
    name = markdown_code(entry.name, in_table=True)
    link = f"[{name}](../../leaderboard/{entry_file(entry.name)})"
    if entry.name != entry.agent:
        link += f": {markdown_code(entry.agent, in_table=True)}"
    return link if comes_with_package(entry.agent) else f"{link}, unverified"


def comes_with_package(player: str) -> bool:
    """Whether everybody has an agent: it is named without files or modules."""
    text = parse_agent_name(player)[1]
    name = text.partition(":")[0]
    known = agent_names().get(name)
    source = str(known.source) if known is not None else ""
    needs_file = name in ("network", "onnx", "sb3") or any(mark in text for mark in _FILE_MARKS)
    return source.startswith("german_whist.agents.") and not needs_file


_FILE_MARKS = "/", "\\", ".safetensors"
