"""Speed of the tablebase generator and of the endgame solver, with and without a tablebase.

All times are processor time of one thread, which other users of the machine change little.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from german_whist.engine import endgame
from german_whist.engine.endgame.build import fill_layer
from german_whist.engine.endgame.index import MAX_CARDS, layer_bytes, layer_size
from german_whist.engine.endgame.load import DEFAULT_CARDS
from german_whist.engine.endgame.store import TablebaseKind

from .measure import Row

POSITIONS = 4000


def run() -> list[Row]:
    full = endgame.load_tablebase()
    default = full._replace(cards=DEFAULT_CARDS)
    return [*_generator(), *_solver(default), *_arrays(full), _race(default), _without_tables()]


def random_endings(n: int, count: int) -> np.ndarray:
    """Random hands of `n` cards each: `[count, 2]` card sets."""
    rng = np.random.default_rng(n)
    one = np.uint64(1)
    hands = np.zeros((count, 2), np.uint64)
    for row in hands:
        cards = rng.permutation(52)[: 2 * n].astype(np.uint64)
        row[0] = np.bitwise_or.reduce(one << cards[:n])
        row[1] = np.bitwise_or.reduce(one << cards[n:])
    return hands


def _ending(hands: np.ndarray, index: int) -> endgame.Ending:
    leader, other = hands[index]
    return endgame.Ending(leader, other, index & 3, -1)


def _generator() -> list[Row]:
    best = [float("inf")] * (DEFAULT_CARDS + 1)
    kind = TablebaseKind()
    for _ in range(2):
        below = np.zeros(1, np.uint8)
        for n in range(1, DEFAULT_CARDS + 1):
            out = np.zeros(layer_bytes(kind.scheme, n), np.uint8)
            start = time.thread_time()
            fill_layer(kind, n, below, out, threads=1, report=lambda _: None)
            best[n] = min(best[n], time.thread_time() - start)
            below = out
    speed = layer_size(kind.scheme, DEFAULT_CARDS) / best[DEFAULT_CARDS] / 1e6
    return [
        Row("tablebase layers 1 to 10, one core", sum(best[1:]), "s"),
        Row("tablebase layer 10, one core", speed, "M endings/s"),
    ]


def _microseconds(work: Callable[[int], object], count: int = POSITIONS) -> list[float]:
    work(0)
    times = []
    for index in range(count):
        start = time.thread_time()
        work(index)
        times.append(1e6 * (time.thread_time() - start))
    return times


def _solver(tablebase: endgame.Tablebase) -> list[Row]:
    hands = random_endings(MAX_CARDS, POSITIONS)
    scratch = endgame.new_scratch()
    card_values = np.zeros(52, np.int64)

    def value(index: int) -> None:
        endgame.solve(tablebase, scratch, hands[index, 0], hands[index, 1], index & 3)

    def every_card(index: int) -> None:
        endgame.solve_moves(tablebase, scratch, _ending(hands, index), card_values)

    def best(index: int) -> None:
        endgame.best_card_compiled(tablebase, scratch, _ending(hands, index))

    values, moves, best_cards = map(_microseconds, (value, every_card, best))
    name = "random full ending, layers 1 to 10, one core"
    return [
        Row(f"{name}: value, mean", statistics.fmean(values), "µs"),
        Row(f"{name}: value, median", statistics.median(values), "µs"),
        Row(f"{name}: value, 99th percentile", _percentile(values), "µs"),
        Row(f"{name}: every legal card, mean", statistics.fmean(moves), "µs"),
        Row(f"{name}: every legal card, 99th percentile", _percentile(moves), "µs"),
        Row(f"{name}: best card, mean", statistics.fmean(best_cards), "µs"),
    ]


def _percentile(times: Sequence[float]) -> float:
    return float(np.percentile(times, 99))


def _arrays(tablebase: endgame.Tablebase) -> list[Row]:
    rows = []
    for n in sorted({DEFAULT_CARDS, tablebase.cards, MAX_CARDS}):
        hands = np.repeat(random_endings(n, 50_000), 4, axis=0)
        trumps = np.arange(len(hands)) & 3

        def work(_: int, hands: np.ndarray = hands, trumps: np.ndarray = trumps) -> None:
            endgame.values(hands, trumps, 0, threads=1)

        speed = len(hands) / min(_microseconds(work, 3))
        method = "looked up" if n <= tablebase.cards else f"searched from layer {tablebase.cards}"
        name = f"array of {n}-card endings, {method}, one core"
        rows.append(Row(name, speed, "M endings/s"))
    return rows


def _race(tablebase: endgame.Tablebase) -> Row:
    hands = random_endings(MAX_CARDS, POSITIONS)
    scratch = endgame.new_scratch()

    def solve_race(index: int) -> None:
        missing = 1 + index % 4
        race = endgame.Race(missing, 5 - missing)
        endgame.solve_race(tablebase, scratch, _ending(hands, index), race)

    name = "race-9 with thirteen cards each, who wins, mean"
    return Row(name, statistics.fmean(_microseconds(solve_race)), "µs")


def _without_tables() -> Row:
    tablebase = endgame.empty_tablebase()
    scratch = endgame.new_scratch(18)
    hands = random_endings(MAX_CARDS, POSITIONS)

    def solve(index: int) -> None:
        endgame.solve(tablebase, scratch, hands[index, 0], hands[index, 1], index & 3)

    microseconds = statistics.fmean(_microseconds(solve, 1000))
    name = "random full ending, no table at all, one core"
    return Row(name, 1e6 / microseconds, "endings/s")
