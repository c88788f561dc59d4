"""The analyst measured like an agent, trick by trick.

`nice python -m extensions.table.benchmarks.analyst` in the root of a checkout measures it.

For each trick of the foreplay: the champion that takes the analyst's card there, and its own
elsewhere, against the champion, every deal twice with seats exchanged. Where the analyst calls the
champion's own card as good as any the two hands of a deal cancel out, so only the others are played
on: with the analyst's card and with the champion's, each with the same orders of the stock that
nobody has seen yet.

Beside the wins stands what the analyst charges the champion for its own cards, in a hand as well:
both count the tricks in which there is no choice. Files hold the differences between its estimates,
and the report what it charges after it has shrunk them.

Each trick of a chunk of deals is a line of `--out`: an interrupted command resumes, a larger
`--hands` continues.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Container, Iterator, Mapping
from math import hypot, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from german_whist.agents import Agent, agent_key, decision_streams, load_agent
from german_whist.common.markup import markdown_table
from german_whist.common.typing import Array
from german_whist.engine.batch.batch import Batch
from german_whist.engine.batch.config import options_from
from german_whist.engine.batch.kernels import REAL, Moves
from german_whist.engine.dtypes import SEATS
from german_whist.engine.rules import load_rules
from german_whist.engine.view import View
from german_whist.evaluation.statistics import t_quantile
from german_whist.table.review.analysis import SHRINKAGE, AnalysisSettings, Analyst, DecisionValues

RULES, CHAMPION, SEED = load_rules("classic"), "champion", 26112666
CHUNK = 50
"""Deals in a line of results."""
FITTED = 1000
"""The first deals, whose gains and charges gave the analyst's factor; the others test it."""
ORDERS = 16
"""Orders of the unseen stock in which a difference is played out."""
TRICKS = RULES.foreplay_tricks
OUT = Path(__file__).parent / "results" / "analyst.jsonl"
SUMS = (
    "decisions",
    "mattered",
    "mistakes",
    "differences",
    "gain",
    "gain_squares",
    "cost",
    "cost_squares",
)
"""Fields of a line of results that are summed up."""
OPTIONS = options_from(RULES, horizon="foreplay")


class Table:
    """Games between two champions, from any position on."""

    def __init__(self, games: Array | None = None, first: int = 0, count: int = 0) -> None:
        """A copy of these games, or `count` deals from number `first` on."""
        self.batch = Batch(OPTIONS, count if games is None else len(games))
        self.batch.reset(SEED, {"number": first})
        if games is not None:
            self.batch.games[:] = games

    def views(self) -> Array:
        return self.batch.views(np.ascontiguousarray(self.batch.games["turn"], np.uint8))

    def choose(self, agent: Agent) -> Array:
        views = self.views()
        streams = decision_streams(agent_key(SEED), self.batch.games["number"], views)
        return agent.act(views, streams)

    def play(self, actions: Array) -> None:
        self.batch.apply_actions(Moves(self.batch.all_games, actions, REAL))

    def finish(self, agent: Agent, first_actions: Array) -> Array:
        """Play an action in each game, and the rest by the agent; 1 where seat 0 wins, else -1."""
        self.play(first_actions)
        for _ in range(2 * TRICKS - int(self.played)):
            self.play(self.choose(agent))
        return self.batch.results["won"].astype(np.int64)

    @property
    def played(self) -> int:
        """Number of cards played in each game."""
        game = self.batch.games[0]
        return 2 * int(game["trick"]) + int(game["turn"] != game["leader"])


def stock_orders(game: Array, rng: np.random.Generator) -> Array:
    """Copies of a game with other orders of the stock below the upcard, its own first."""
    games = np.repeat(game, ORDERS)
    unseen = slice(2 * RULES.hand + int(game["drawn"]) + 1, len(RULES.deck))
    for k in range(1, ORDERS):
        games["deal"][k, unseen] = rng.permutation(game["deal"][unseen])
    return games


class Trick:
    """Sums over the decisions of one trick, in a chunk of deals."""

    def __init__(self) -> None:
        self.decisions = self.mattered = self.mistakes = self.differences = 0
        self.gains = np.zeros(CHUNK)
        """Hands won by the analyst's card less those by the champion's, by deal."""
        self.costs = np.zeros(CHUNK)

    def add(self, deal: int, decision: DecisionValues, cost: float) -> None:
        self.decisions += len(decision.cards) > 1
        self.mattered += decision.matters
        self.mistakes += decision.mistaken
        self.costs[deal] += cost

    def sums(self) -> dict[str, float]:
        sums = {name: getattr(self, name) for name in SUMS[:4]}
        return sums | _moments("gain", self.gains / SEATS) | _moments("cost", self.costs)


def measure(
    analyst: Analyst, champion: Agent, first: int, tricks: Container[int]
) -> Iterator[dict[str, Any]]:
    """Sums over the deals of a chunk, for each of these tricks."""
    table = Table(first=first, count=CHUNK)
    for number in range(1, TRICKS + 1):
        trick = Trick()
        for _ in range(SEATS):
            actions = table.choose(champion)
            if number in tricks:
                _judge(analyst, champion, table, actions, trick)
            table.play(actions)
        if number in tricks:
            key = {"search": analyst.search.name, "trick": number, "first": first}
            yield key | trick.sums()


def _judge(analyst: Analyst, champion: Agent, table: Table, actions: Array, trick: Trick) -> None:
    """Let the analyst value the champion's actions, and play on where it has another card."""
    rng = np.random.default_rng([SEED, int(table.batch.games["number"][0]), table.played])
    for deal, view in enumerate(map(_view, table.views())):
        decision = analyst.decision(view, int(actions[deal]))
        trick.add(deal, decision, decision.cost / analyst.shrinkage)
        if actions[deal] not in decision.best:
            trick.differences += 1
            games = stock_orders(table.batch.games[deal], rng)
            both = np.repeat([actions[deal], decision.best[0]], ORDERS)
            won = Table(np.tile(games, 2)).finish(champion, both)
            gain = (won[ORDERS:].mean() - won[:ORDERS].mean()) / 2
            trick.gains[deal] += -gain if view.seat else gain


def _view(array: Any) -> View:
    return View(RULES, array)


def _moments(name: str, values: Array) -> dict[str, float]:
    return {name: float(values.sum()), f"{name}_squares": float((values**2).sum())}


def read(out: Path, search: str) -> dict[tuple[int, int], dict[str, Any]]:
    """The chunks of a file that this search has valued, by trick and first deal."""
    lines = out.read_text("utf-8").splitlines() if out.exists() else []
    chunks = [json.loads(line) for line in lines]
    return {
        (chunk["trick"], chunk["first"]): chunk for chunk in chunks if chunk["search"] == search
    }


def by_trick(chunks: Collection[dict[str, Any]]) -> Iterator[tuple[int, int, dict[str, float]]]:
    """Each trick with its number of deals and the sums over them."""
    for trick in range(1, TRICKS + 1):
        parts = [chunk for chunk in chunks if chunk["trick"] == trick]
        if parts:
            yield trick, len(parts) * CHUNK, {name: sum(p[name] for p in parts) for name in SUMS}


def report(chunks: Collection[dict[str, Any]]) -> str:
    """The table of all chunks, a row for each trick."""
    rows: list[list[str]] = []
    for trick, deals, total in by_trick(chunks):
        accuracy = 1 - total["mistakes"] / total["mattered"] if total["mattered"] else 1.0
        gain, margin = gained(total, deals)
        rows.append(
            [
                str(trick),
                f"{SEATS * deals:,}",
                f"{total['differences'] / total['decisions']:.1%}",
                _interval(50 + gain, margin),
                _interval(*charged(total, deals, _search(chunks))),
                f"{accuracy:.0%}",
            ]
        )
    heads = ["trick", "hands", "other card", "wins, %", "charged, %", "accuracy"]
    return markdown_table(heads, rows, right=range(1, len(heads)))


def held_out(chunks: Collection[dict[str, Any]]) -> str:
    """The table of gains and charges in the deals that the analyst's factor was not fitted to."""
    others = [chunk for chunk in chunks if chunk["first"] >= FITTED]
    search = _search(chunks)
    found = [
        (n, gained(total, deals), charged(total, deals, search))
        for n, deals, total in by_trick(others)
    ]
    rows = [[str(trick), _interval(*gain), _interval(*charge)] for trick, gain, charge in found]
    sums = [
        _interval(sum(mean for mean, _ in pairs), hypot(*(margin for _, margin in pairs)))
        for pairs in ([gain for _, gain, _ in found], [charge for *_, charge in found])
    ]
    return markdown_table(
        ["trick", "gained, %", "charged, %"], [*rows, ["all", *sums]], right=[1, 2]
    )


def gained(total: Mapping[str, float], deals: int) -> tuple[float, float]:
    """How many more hands in a hundred the analyst's cards win, and the margin of error."""
    mean, margin = _mean(total, "gain", deals)
    return 100 * mean, 100 * margin


def charged(total: Mapping[str, float], deals: int, search: str) -> tuple[float, float]:
    """What the analyst charges the champion for its card in a hand, and the margin of error."""
    mean, margin = _mean(total, "cost", deals)
    scale = SHRINKAGE.get(search, 1.0) / SEATS
    return scale * mean, scale * margin


def _search(chunks: Collection[dict[str, Any]]) -> str:
    return next(iter(chunks))["search"]


def _mean(total: Mapping[str, float], name: str, deals: int) -> tuple[float, float]:
    mean = total[name] / deals
    variance = max(0.0, total[f"{name}_squares"] / deals - mean**2) / (deals - 1)
    return mean, t_quantile(deals - 1) * sqrt(variance)


def _interval(mean: float, margin: float) -> str:
    return f"{mean:.2f} ± {margin:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m extensions.table.benchmarks.analyst", description=__doc__
    )
    parser.add_argument("--hands", type=int, default=2000, help="a trick, in hundreds")
    parser.add_argument(
        "--tricks", type=int, nargs="*", default=range(1, TRICKS + 1), help="default: all"
    )
    parser.add_argument("--search", help="of the analyst (default: that of an analysis)")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    analyst, champion = Analyst(RULES, AnalysisSettings(arguments.search)), load_agent(CHAMPION)
    done = read(arguments.out, analyst.search.name)
    for first in range(0, arguments.hands // SEATS, CHUNK):
        left = [trick for trick in arguments.tricks if (trick, first) not in done]
        if left:
            chunks = list(measure(analyst, champion, first, left))
            done.update({(chunk["trick"], first): chunk for chunk in chunks})
            with arguments.out.open("a", encoding="utf-8") as out:
                out.writelines(f"{json.dumps(chunk, separators=(',', ':'))}\n" for chunk in chunks)
            print(f"{SEATS * (first + CHUNK):,} hands", flush=True)
    print(report(done.values()))


if __name__ == "__main__":
    main()
