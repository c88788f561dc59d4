"""Exact endgames: how fast the tables are built, and endings solved with and without them.

Everything here runs on one thread and is measured in that thread's processor
time, so that neighbours on a shared machine do not count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from german_whist.engine import endgame
from german_whist.engine.endgame.build import fill_layer
from german_whist.engine.endgame.index import MAX_CARDS, layer_bytes, layer_size
from german_whist.engine.endgame.store import TablebaseKind
from german_whist.engine.endgame.tablebase import DEFAULT_CARDS

from .measure import Row

POSITIONS = 4000


def run() -> list[Row]:
    """All rows of this file."""
    known = endgame.tables()
    default = endgame.limit_tables(known, DEFAULT_CARDS)
    return [*_generator(), *_solver(default), *_arrays(known), _race(default), _without_tables()]


def random_endings(n: int, count: int) -> np.ndarray:
    """Random hands of `n` cards each, `[count, 2]` card sets."""
    chance = np.random.default_rng(n)
    one = np.uint64(1)
    hands = np.zeros((count, 2), np.uint64)
    for row in hands:
        cards = chance.permutation(52)[: 2 * n].astype(np.uint64)
        row[0] = np.bitwise_or.reduce(one << cards[:n])
        row[1] = np.bitwise_or.reduce(one << cards[n:])
    return hands


def _generator() -> list[Row]:
    best = [float("inf")] * (DEFAULT_CARDS + 1)
    kind = TablebaseKind()
    for _ in range(2):
        below = np.zeros(1, np.uint8)
        for n in range(1, DEFAULT_CARDS + 1):
            out = np.zeros(layer_bytes(kind.index, n), np.uint8)
            start = time.thread_time()
            fill_layer(kind, n, below, out, threads=1, tell=lambda _: None)
            best[n] = min(best[n], time.thread_time() - start)
            below = out
    speed = layer_size(kind.index, DEFAULT_CARDS) / best[DEFAULT_CARDS] / 1e6
    return [
        Row("tablebase layers 1 to 10, one core", sum(best[1:]), "s", 6, at_most=True),
        Row("tablebase layer 10, one core", speed, "M endings/s", 10),
    ]


def _microseconds(work: Callable[[int], object], count: int = POSITIONS) -> list[float]:
    work(0)
    spent = []
    for index in range(count):
        start = time.thread_time()
        work(index)
        spent.append(1e6 * (time.thread_time() - start))
    return spent


def _solver(known: endgame.Tables) -> list[Row]:
    hands = random_endings(MAX_CARDS, POSITIONS)
    scratch = endgame.new_scratch()
    worth = np.zeros(52, np.int64)

    def one(index: int) -> None:
        endgame.solve(known, scratch, hands[index, 0], hands[index, 1], index & 3)

    def every_card(index: int) -> None:
        mine, theirs = hands[index]
        ending = endgame.Ending(mine, theirs, index & 3, -1)
        endgame.solve_moves(known, scratch, ending, worth)

    def best(index: int) -> None:
        mine, theirs = hands[index]
        endgame.best_card_compiled(known, scratch, endgame.Ending(mine, theirs, index & 3, -1))

    value, moves, card = _microseconds(one), _microseconds(every_card), _microseconds(best)
    name = "random full ending, layers 1 to 10, one core"
    return [
        Row(f"{name}: value, mean", statistics.fmean(value), "µs", 40, at_most=True),
        Row(f"{name}: value, median", statistics.median(value), "µs"),
        Row(f"{name}: value, 99th percentile", _percentile(value), "µs", 200, at_most=True),
        Row(f"{name}: every legal card, mean", statistics.fmean(moves), "µs", 300, at_most=True),
        Row(f"{name}: every legal card, 99th percentile", _percentile(moves), "µs"),
        Row(f"{name}: best card, mean", statistics.fmean(card), "µs"),
    ]


def _percentile(spent: Sequence[float]) -> float:
    return float(np.percentile(spent, 99))


def _arrays(known: endgame.Tables) -> list[Row]:
    rows = []
    for n in sorted({DEFAULT_CARDS, known.cards, MAX_CARDS}):
        hands = np.repeat(random_endings(n, 50_000), 4, axis=0)
        trumps = np.arange(len(hands)) & 3

        def work(_: int, hands: np.ndarray = hands, trumps: np.ndarray = trumps) -> None:
            endgame.values(hands, trumps, 0, threads=1)

        speed = len(hands) / min(_microseconds(work, 3))
        how = "looked up" if n <= known.cards else f"searched from layer {known.cards}"
        target = 2 if n == known.cards else None
        name = f"array of {n}-card endings, {how}, one core"
        rows.append(Row(name, speed, "M endings/s", target))
    return rows


def _race(known: endgame.Tables) -> Row:
    hands = random_endings(MAX_CARDS, POSITIONS)
    scratch = endgame.new_scratch()

    def one(index: int) -> None:
        wanted = 1 + index % 4
        mine, theirs = hands[index]
        ending = endgame.Ending(mine, theirs, index & 3, -1)
        endgame.solve_race(known, scratch, ending, endgame.Race(wanted, 5 - wanted))

    name = "race-9 with thirteen cards each, who wins, mean"
    return Row(name, statistics.fmean(_microseconds(one)), "µs")


def _without_tables() -> Row:
    nothing = endgame.no_tables()
    scratch = endgame.new_scratch(18)
    hands = random_endings(MAX_CARDS, POSITIONS)

    def one(index: int) -> None:
        endgame.solve(nothing, scratch, hands[index, 0], hands[index, 1], index & 3)

    spent = statistics.fmean(_microseconds(one, 1000))
    return Row("random full ending, no table at all, one core", 1e6 / spent, "endings/s")
