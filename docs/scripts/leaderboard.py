"""The page of the leaderboard, made from the entries in leaderboard/: `make docs`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ladders import table

from german_whist.agents.base import EXACT_SOLVER, OWN_POLICY
from german_whist.evaluation.formats import milliseconds
from german_whist.evaluation.protocol import PROTOCOLS, Entry, Protocol, entry_file
from german_whist.evaluation.statistics import Estimate

_BY = {EXACT_SOLVER: "the exact solver", OWN_POLICY: "the player's own policy"}
FOLDER = Path(__file__).resolve().parents[2] / "leaderboard"

_ABOUT = """\
# The leaderboard

Made by `make docs` from the entries in `leaderboard/`, best first by the mean of the win rates
against all opponents. `CONTRIBUTING.md` says how to submit one. The tuned players are seed 1 of
[`benchmark full`](benchmark.md); weights of players with `=` are not in the repository.
Opponents are networks that stay: `champion`, the newest one, is an entry and no opponent."""

_PROTOCOL = """\
## {name}

`german-whist evaluate PLAYER --protocol {name}`: `{rules}`, {hands:,} hands against each opponent,
every deal of seed {seed} twice with seats exchanged. Wins in per cent, a tie as half, with 95 %
intervals; that of the mean takes a deal, which all opponents play, as one observation. *ms*:
milliseconds a decision on the machine of the entry and at its time, many games at once. Last: exact
[exploitability](exploitability.md) a hand on small decks; – where the player does not play them, is
too large for them, or states no probabilities."""


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
            key=lambda entry: -entry.win_rate.value,
        )
        parts.append(_PROTOCOL.format(**vars(protocol)))
        for endgame in _BY:
            block = [entry for entry in ranked if entry.result.details[0].endgame == endgame]
            if block:
                parts += [f"### Endgames by {_BY[endgame]}", _ranking(protocol, block)]
    return "\n\n".join(parts) + "\n"


def _ranking(protocol: Protocol, block: Sequence[Entry]) -> str:
    names = [f"`{name}`" for name in (*protocol.opponents, *protocol.decks)]
    opponents = len(protocol.opponents)
    rows = [["player", "mean", *names[:opponents], "ms", *names[opponents:]]]
    for entry in block:
        rates = [entry.win_rate, *(pairing.win_rate for pairing in entry.result.pairings)]
        decks = [entry.decks[deck].exploitability for deck in protocol.decks]
        rows.append(
            [
                _player(entry),
                *map(_percent, rates),
                milliseconds(entry.ms_a_move),
                *("–" if value is None else f"{value:.4f}" for value in decks),
            ]
        )
    return table(rows)


def _percent(rate: Estimate) -> str:
    return f"{100 * rate.value:.1f} ± {100 * rate.half_width:.1f}"


def _player(entry: Entry) -> str:
    """The name with a link to the entry, and what the command names in its place."""
    link = f"[`{entry.name}`](../../leaderboard/{entry_file(entry.name)})"
    return link if entry.name == entry.player else f"{link}: `{entry.player}`"
