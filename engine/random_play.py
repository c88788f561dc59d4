"""Compiled random playouts, for search, statistics and benchmarks."""

from __future__ import annotations

import numpy as np

from ..common.jit.compiler import allocates, jit, warm_up
from .bitset import nth_lowest, popcount
from .dtypes import GAME, OVER
from .play import Record, deal_numbered, legal, payoff, play, row
from .rng import random_below
from .rules import Rules


@jit
def play_out_randomly(rules: Record, game: Record, stream: np.ndarray) -> int:
    played = 0
    while game.phase != OVER:
        actions = legal(rules, game)
        play(rules, game, nth_lowest(actions, random_below(stream, popcount(actions))))
        played += 1
    return played


@jit
@allocates
def _random_hands(
    rules: np.ndarray, games: np.ndarray, seed: np.uint64, first: int, out: np.ndarray
) -> int:
    game = row(games, 0)
    stream = np.zeros(1, np.uint64)
    played = 0
    for index in range(len(out)):
        # The stream continues after the deal, so a hand does not depend on earlier ones.
        deal_numbered(row(rules, 0), game, seed, np.uint64(first + index), stream)
        played += play_out_randomly(row(rules, 0), game, stream)
        out[index] = payoff(row(rules, 0), game, 0)
    return played


def random_hands(rules: Rules, hands: int, seed: int = 0, first: int = 0) -> tuple[np.ndarray, int]:
    """Pays of seat 0 with random play from deal `first` on, and the number of actions."""
    games, out = np.zeros(1, GAME), np.zeros(hands, np.int64)
    record, number = rules.array(), np.uint64(seed)
    warm_up("random play", "engine", lambda: _random_hands(record, games, number, 0, out[:0]))
    played = _random_hands(record, games, number, first, out)
    return out, int(played)
