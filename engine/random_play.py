"""Playing hands out at random, inside compiled code: for search, statistics and measuring."""

from __future__ import annotations

import numpy as np

from ..common.jit.bitset import nth_lowest, popcount
from ..common.jit.compiler import jit, warm_up
from .dtypes import GAME, OVER
from .play import Record, deal_numbered, legal, pay, play, row
from .rng import below
from .rules import Rules


@jit
def play_out_randomly(rules: Record, game: Record, stream: np.ndarray) -> int:
    """Play random legal actions to the end of the hand; returns how many."""
    played = 0
    while game.phase != OVER:
        actions = legal(rules, game)
        play(rules, game, nth_lowest(actions, below(stream, popcount(actions))))
        played += 1
    return played


@jit
def _random_hands(
    rules: np.ndarray, games: np.ndarray, seed: np.uint64, first: int, hands: int, out: np.ndarray
) -> int:
    game = row(games, 0)
    stream = np.zeros(1, np.uint64)
    played = 0
    for index in range(hands):
        # The stream goes on behind the deal, so a hand needs none of those before it.
        deal_numbered(row(rules, 0), game, seed, np.uint64(first + index), stream)
        played += play_out_randomly(row(rules, 0), game, stream)
        out[index] = pay(row(rules, 0), game, 0)
    return played


def random_hands(rules: Rules, hands: int, seed: int = 0, first: int = 0) -> tuple[np.ndarray, int]:
    """What random play of deals `first`, `first + 1` ... pays seat 0, and the actions played."""
    games, out = np.zeros(1, GAME), np.zeros(hands, np.int64)
    record, number = rules.record(), np.uint64(seed)
    warm_up("random play", "engine", lambda: _random_hands(record, games, number, 0, 0, out))
    played = _random_hands(record, games, number, first, hands, out)
    return out, int(played)
