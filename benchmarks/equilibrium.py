# pyright: reportArgumentType=false, reportReturnType=false
"""Search for an equilibrium of the last tricks for the stock, against the determinized search.

`benchmarks.equilibrium:EquilibriumAgent:64,last=3` is an agent. It samples 32 of the hands that the
belief leaves possible, and finds a strategy for the last tricks by Monte Carlo counterfactual
regret minimisation (`solvers/mccfr.py` has the papers), with exact endings as leaves; its card is
drawn from the average strategy. Before those tricks its policy network plays, as in `thinker`.

The game that it solves is not the whole one. The opponent in it knows the searcher's hand (the best
defence: Frank and Basin, "Search in games with incomplete information", 1998), or with `own=N` is
unsure between N hands that its view allows, whose holders in turn know its hand; then all hands are
uniform, and the belief network is not asked. Nothing ties
the strategy to what the opponent could have had before the search began (safe resolving: Burch,
Johanson and Bowling, "Solving imperfect information games using decomposition", 2014), so it may be
more exploitable than the policy that it replaces.

`nice python -m benchmarks.equilibrium` measures win rates against `thinker:64`, and `thinker:N`
of the same time, that search the same tricks, and exploitability where it can be computed. Policies
of small decks are those of

    german-whist train trainer=ppo rules=DECK decisions=1_000_000 hidden_sizes=128,128 \\
        precision=mixed n_envs=1024 n_epochs=4 batch_size=512 learning_rate=0.0019 gae_lambda=0.8 \\
        ent_coef=0.02 ent_coef_end=0.005 ema_decay=0.95 threads=1 seed=1 --run FOLDER/DECK

(on `2x4-h2` of 200,000 decisions, with `n_envs=256`). Each result is a line of `--out`: an
interrupted command resumes. Compiling takes minutes, since code outside of the package is not kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from german_whist.agents.base import ViewBatch
from german_whist.agents.search.base import PRUNE_BY_RACING, searchable_actions
from german_whist.agents.search.leaf_values import ending_value_for_seat, has_exact_value
from german_whist.agents.search.simulation import (
    ThinkerSearch,
    sample_determinization,
    weigh_hands,
)
from german_whist.agents.search.thinker import ThinkerAgent, is_late
from german_whist.common.jit.compiler import jit, noinline
from german_whist.common.markdown import markdown_table
from german_whist.common.typing import Array
from german_whist.engine.bitset import NO_CARDS, ONE, lowest
from german_whist.engine.dtypes import FOLLOW, GAME, VIEW
from german_whist.engine.play import Record, faced_cards, legal, play, row
from german_whist.engine.rng import hash_with, random_below, random_fraction, sample_index
from german_whist.engine.rules import Match, RulesLike
from german_whist.engine.sampling.determinizations import draw_determinization
from german_whist.engine.view import write_view
from german_whist.evaluation import evaluate
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.solvers.game_tree import hash_rows

_ENTRIES = 1 << 17
_MAX_LEGAL = 13
OUT = Path(__file__).parent / "results" / "equilibrium.jsonl"
SEED = 26112701
HANDS = 32
"""Hands of the opponent that are sampled for a search."""
EXPLORATION = 0.3
"""Probability of a uniform action of the traverser before its decision that is learnt from."""

ENTRY = np.dtype([("key", np.uint64), ("search", np.int64), ("regret", np.float64)])
"""An action in an information set: an entry of a hash table with open addressing."""


class EquilibriumSearch(NamedTuple):
    """A search in games of one contract: beliefs and endings of the thinker, and regrets."""

    tablebase: object
    thinker: ThinkerSearch
    deals: np.ndarray
    """`[opponent's hand, own hand]`: games; the first own hand is the real one."""
    lines: np.ndarray
    """The game that is played down, and that after an action."""
    keys: np.ndarray
    """`[line, seat]`: information set of each seat."""
    views: np.ndarray
    entries: np.ndarray
    places: np.ndarray
    actions: np.ndarray
    strategy: np.ndarray
    values: np.ndarray
    average: np.ndarray
    """Of each action in the view: weighted sum of the strategies."""
    counters: np.ndarray
    """Number of the search, of its entries, and of its iterations."""


@noinline
def _place_of(search: EquilibriumSearch, key: np.uint64) -> int:
    """Entry of an action, made if there is none; -1 where the table is full."""
    entries, number = search.entries, search.counters[0]
    mask = np.uint64(len(entries) - 1)
    place = key & mask
    while row(entries, place).search == number:
        if row(entries, place).key == key:
            return np.int64(place)
        place = (place + ONE) & mask
    if search.counters[1] >= len(entries) // 2:
        return -1
    search.counters[1] += 1
    entry = row(entries, place)
    entry.key, entry.search, entry.regret = key, number, 0.0
    return np.int64(place)


@noinline
def _regret_matching(search: EquilibriumSearch, line: int) -> int:
    """Write the actions of the seat to move, their entries and the strategy; their number."""
    rules, game = row(search.thinker.rules, 0), row(search.lines, line)
    key = search.keys[line, np.int64(game.turn)]
    count, total = 0, 0.0
    remaining = legal(rules, game)
    while remaining:
        action = lowest(remaining)
        remaining &= remaining - ONE
        place = _place_of(search, hash_with(key, np.uint64(action)))
        positive = max(search.entries[place].regret, 0.0) if place >= 0 else 0.0
        search.actions[line, count], search.places[line, count] = action, place
        search.strategy[line, count] = positive
        total += positive
        count += 1
    for k in range(count):
        share = search.strategy[line, k] / total if total > 0 else 1.0 / count
        search.strategy[line, k] = share
    return count


@noinline
def _advance(search: EquilibriumSearch, line: int, action: int) -> None:
    """Play an action, and note what each seat sees of it."""
    rules, game = row(search.thinker.rules, 0), row(search.lines, line)
    first, second = game.hand[0], game.hand[1]
    play(rules, game, action)
    faced = faced_cards(rules, game)
    for seat in range(2):
        drawn = game.hand[seat] & ~(first if seat == 0 else second)
        key = hash_with(search.keys[line, seat], np.uint64(action))
        search.keys[line, seat] = hash_with(hash_with(key, drawn), faced)


@noinline
def _begin_line(search: EquilibriumSearch, deal: np.ndarray, stream: np.ndarray) -> None:
    """A deal with a new order of the unseen stock, as the first line."""
    rules, game = row(search.thinker.rules, 0), row(search.lines, 0)
    search.lines[0] = deal[0]
    top = 2 * np.int64(rules.hand) + np.int64(game.drawn) + 1
    for last in range(2 * np.int64(rules.hand) + np.int64(rules.stock) - 1, top, -1):
        other = top + random_below(stream, last - top + 1)
        game.deal[last], game.deal[other] = game.deal[other], game.deal[last]
    for seat in range(2):
        search.keys[0, seat] = hash_with(np.uint64(seat + 1), game.hand[seat])


@noinline
def _finish(search: EquilibriumSearch, seat: int, stream: np.ndarray) -> float:
    """Play the second line to its ending by the current strategies; the seat's payoff."""
    thinker = search.thinker
    rules, game = row(thinker.rules, 0), row(search.lines, 1)
    while not has_exact_value(rules, game):
        count = _regret_matching(search, 1)
        k = sample_index(search.strategy[1, :count], random_fraction(stream)) if count > 1 else 0
        _advance(search, 1, search.actions[1, k])
    return ending_value_for_seat(rules, thinker.tablebase, thinker.scratch, game, seat)


@noinline
def _learn(
    search: EquilibriumSearch, seat: int, decision: int, weight: float, stream: np.ndarray
) -> None:
    """Learn from one decision of a seat on the first line: every action is played to its ending."""
    rules, game = row(search.thinker.rules, 0), row(search.lines, 0)
    strategy, actions = search.strategy[0], search.actions[0]
    while not has_exact_value(rules, game):
        count = _regret_matching(search, 0)
        own = game.turn == seat
        if own and decision == 0:
            mean = 0.0
            for k in range(count):
                search.lines[1] = search.lines[0]
                search.keys[1, 0], search.keys[1, 1] = search.keys[0, 0], search.keys[0, 1]
                _advance(search, 1, actions[k])
                search.values[k] = _finish(search, seat, stream)
                mean += strategy[k] * search.values[k]
            for k in range(count):
                if search.places[0, k] >= 0:
                    entry = row(search.entries, search.places[0, k])
                    entry.regret += weight * (search.values[k] - mean)
            return
        if own:
            decision -= 1
        if own and random_fraction(stream) < EXPLORATION:
            k = random_below(stream, count)
        else:
            k = sample_index(strategy[:count], random_fraction(stream)) if count > 1 else 0
        _advance(search, 0, actions[k])


@jit
def _choose_decision(tricks: int, stream: np.ndarray) -> int:
    """Which of a seat's decisions is learnt from: the next one, or one of all, in turn."""
    if tricks < 2 or random_fraction(stream) < 0.5:
        return 0
    return random_below(stream, tricks)


@noinline
def _sample_deals(search: EquilibriumSearch, view: Record, stream: np.ndarray) -> None:
    thinker = search.thinker
    rules, plan, game = row(thinker.rules, 0), row(thinker.plans, 0), row(thinker.games, 0)
    weigh_hands(thinker, view)
    draw_determinization(rules, view, plan, stream, game)
    knows_own = search.deals.shape[1] == 1
    for j in range(len(search.deals)):
        if knows_own:
            sample_determinization(thinker, view, stream)
        else:  # the opponent's view needs a history that fits its hand
            draw_determinization(rules, view, plan, stream, game)
        search.deals[j, 0] = thinker.games[0]
    if knows_own:
        return
    other = row(search.views, 0)
    for j in range(len(search.deals)):
        write_view(rules, row(search.deals[j], 0), 1 - np.int64(view.seat), other)
        weigh_hands(thinker, other)
        draw_determinization(rules, other, plan, stream, game)
        for i in range(1, search.deals.shape[1]):
            sample_determinization(thinker, other, stream)
            search.deals[j, i] = thinker.games[0]


@jit
def _search(search: EquilibriumSearch, view: Record, iterations: int, stream: np.ndarray) -> int:
    """Write the average strategy of a view; returns the number of its actions."""
    seat, counters = np.int64(view.seat), search.counters
    counters[0] += 1
    counters[1] = 0
    search.average[:] = 0.0
    _sample_deals(search, view, stream)
    tricks = np.int64(view.stock_left) // 2
    replies = view.phase == FOLLOW
    n_deals, n_own = search.deals.shape
    count = 0
    for number in range(iterations):
        weight = np.float64(number + 1)
        j = random_below(stream, n_deals)
        _begin_line(search, search.deals[j, :1], stream)
        count = _regret_matching(search, 0)
        for k in range(count):
            search.average[k] += weight * search.strategy[0, k]
        _learn(search, seat, _choose_decision(tricks, stream), weight, stream)
        i = 1 + random_below(stream, n_own - 1) if n_own > 1 else 0
        if i > 0:
            _begin_line(search, search.deals[j, i : i + 1], stream)
            _learn(search, seat, _choose_decision(tricks, stream), weight, stream)
        left = tricks - 1 if replies else tricks
        if left > 0:
            _begin_line(search, search.deals[j, i : i + 1], stream)
            _learn(search, 1 - seat, _choose_decision(left, stream), weight, stream)
    total = search.average[:count].sum()
    for k in range(count):
        search.average[k] /= total
    return count


@jit
def _equilibrium_probabilities(
    search: EquilibriumSearch, batch: ViewBatch, iterations: int, probs: np.ndarray
) -> None:
    rules = row(search.thinker.rules, 0)
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        actions = searchable_actions(rules, search.thinker.tablebase, view, index, batch.actions)
        if actions == NO_CARDS:
            continue
        _search(search, view, iterations, batch.rng[index : index + 1])
        k = 0
        while actions:
            probs[index, lowest(actions)] = search.average[k]
            actions &= actions - ONE
            k += 1


class EquilibriumAgent(ThinkerAgent):
    """A search for an equilibrium of the last tricks for the stock."""

    kind = "equilibrium"

    def __init__(
        self,
        rules: RulesLike = "classic",
        samples: object = 64,
        *option_words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is a number of iterations; `own=N` and the thinker's options follow."""
        own = [word for word in option_words if word.startswith("own=")]
        self._own = int(own[-1].removeprefix("own=")) if own else 0
        words = [word for word in option_words if word not in own]
        super().__init__(rules, samples, *words, match=match)
        self.name = ",".join([f"{self.kind}:{self.budget}", *option_words])

    def _compile(self) -> None:
        self.probabilities(np.zeros(0, VIEW))

    def _equilibrium_search(self, tablebase: object) -> EquilibriumSearch:
        thinker = self._new_search(PRUNE_BY_RACING)._replace(tablebase=tablebase)
        return EquilibriumSearch(
            tablebase=tablebase,
            thinker=thinker,
            deals=np.zeros((HANDS, 1 + self._own), GAME),
            lines=np.zeros(2, GAME),
            keys=np.zeros((2, 2), np.uint64),
            views=np.zeros(1, VIEW),
            entries=np.zeros(_ENTRIES, ENTRY),
            places=np.zeros((2, _MAX_LEGAL), np.int64),
            actions=np.zeros((2, _MAX_LEGAL), np.int64),
            strategy=np.zeros((2, _MAX_LEGAL)),
            values=np.zeros(_MAX_LEGAL),
            average=np.zeros(_MAX_LEGAL),
            counters=np.zeros(3, np.int64),
        )

    def probabilities(self, views: Array) -> Array:
        """`(n, actions)`: the search of a view is always the same, so `act` draws from these."""
        probs = np.zeros((len(views), self.rules.actions))
        late = is_late(views, self._last)
        actions = np.full(len(views), -1, np.int64)
        streams = np.zeros(len(views), np.uint64)
        views = np.ascontiguousarray(views)
        hash_rows(views.view(np.uint64).reshape(len(views), VIEW.itemsize // 8), streams)
        early = np.flatnonzero(~late)
        if self._early_agent is not None and len(early):
            actions[early] = self._early_agent.act(views[early], streams[early])
        batch = ViewBatch(views[late], streams[late], actions[late])
        found = np.zeros((len(batch.views), self.rules.actions))
        for tablebase in self._tablebases:
            search = self._equilibrium_search(tablebase)
            _equilibrium_probabilities(search, batch, self.budget.samples, found)
        probs[late] = found
        actions[late] = batch.actions
        single = np.flatnonzero(probs.sum(axis=1) == 0)
        self._improve_endings(views, actions)
        probs[single, actions[single]] = 1.0
        return probs

    def act(self, views: Array, rng: Array) -> Array:
        probs, rng = self.probabilities(views), rng.copy()
        draws = np.array([random_fraction(rng[i : i + 1]) for i in range(len(rng))])
        return (probs.cumsum(axis=1) > draws[:, None]).argmax(axis=1)


EXPLOITABILITY, WIN_RATE = "exploitability", "win rate"


class Measurement(NamedTuple):
    """A row of results: an agent on a deck, with as many hands, or none for its exploitability."""

    rules: str
    agent: str
    hands: int = 0
    determinizations: int = 64
    """Of the thinker that it plays against; more give both the same time."""


MEASUREMENTS = (
    Measurement("2x4-h2", "thinker:64"),
    Measurement("2x4-h2", "equilibrium:64"),
    *(
        Measurement(deck, agent, 2000)
        for deck in ("2x8-h6", "4x4-h6")
        for agent in (
            "equilibrium:8",
            "equilibrium:64",
            "equilibrium:256",
            "equilibrium:256,own=8",
        )
    ),
    Measurement("classic", "equilibrium:8,last=3", 2000),
    Measurement("classic", "equilibrium:64,last=3", 1000),
    Measurement("classic", "equilibrium:512,last=3", 200),
    Measurement("classic", "equilibrium:64,last=1", 2000),
    Measurement("2x8-h6", "equilibrium:64", 2000, determinizations=16384),
    Measurement("4x4-h6", "equilibrium:64", 2000, determinizations=32768),
    Measurement("classic", "equilibrium:64,last=3", 2000, determinizations=4096),
)


def measure(measurement: Measurement, policies: Path) -> dict[str, object]:
    """The win rate against the thinker of the same tricks, or the exploitability."""
    words = (
        ()
        if measurement.rules == "classic"
        else (f"policy={policies / measurement.rules}", "belief=voids")
    )
    kind, *own_words = measurement.agent.split(",")
    name, _, samples = kind.partition(":")
    agents = {"thinker": ThinkerAgent, "equilibrium": EquilibriumAgent}
    agent = agents[name](measurement.rules, samples, *own_words, *words)
    result: dict[str, object] = {
        "rules": measurement.rules,
        "agent": measurement.agent,
        "hands": measurement.hands,
        "determinizations": measurement.determinizations,
    }
    if not measurement.hands:
        samples_each = 8 if name == "thinker" else 0
        found = measure_exploitability(agent, measurement.rules, samples=samples_each)
        return result | {EXPLOITABILITY: round(found.exploitability, 5)}
    same = [word for word in own_words if word.startswith("last=")]
    thinker = ThinkerAgent(measurement.rules, measurement.determinizations, *same, *words)
    (pairing,) = evaluate(
        agent, [thinker], measurement.rules, hands=measurement.hands, seed=SEED
    ).pairings
    rate, times = pairing.win_rate, [stage.ms_a_move for stage in pairing.stages]
    return result | {
        WIN_RATE: round(rate.value, 4),
        "margin of error": round(rate.margin_of_error, 4),
        "milliseconds": [round(time or 0.0, 3) for time in times],
    }


def read(out: Path) -> dict[Measurement, dict[str, Any]]:
    lines = out.read_text("utf-8").splitlines() if out.exists() else []
    rows = [json.loads(line) for line in lines]
    return {Measurement(*(row[name] for name in Measurement._fields)): row for row in rows}


def report(rows: Collection[dict[str, Any]]) -> str:
    """The table of the win rates."""
    cells: list[list[str]] = []
    for result in rows:
        if not result["hands"]:
            continue
        own, other = result["milliseconds"]
        cells.append(
            [
                f"`{result['rules']}`",
                f"`{result['agent']}`",
                f"`thinker:{result['determinizations']}`",
                f"{100 * result[WIN_RATE]:.1f} ± {100 * result['margin of error']:.1f}",
                f"{result['hands']:,}",
                f"{own / other:.1f}",
            ]
        )
    heads = ["deck", "agent", "against", "wins, %", "hands", "time"]
    return markdown_table(heads, cells, right=range(3, len(heads)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equilibrium")
    parser.add_argument("--policies", type=Path, default=Path("runs"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    done = read(arguments.out)
    for measurement in MEASUREMENTS:
        if measurement not in done:
            done[measurement] = measure(measurement, arguments.policies)
            with arguments.out.open("a", encoding="utf-8") as out:
                out.write(json.dumps(done[measurement]) + "\n")
            print(done[measurement], flush=True)
    print(report(done.values()))


if __name__ == "__main__":
    main()
