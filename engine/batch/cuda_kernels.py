"""What runs on a GPU: the functions that processors run over many games, one game for each thread.

Imported where a device is asked for. With `NUMBA_ENABLE_CUDASIM=1` and the compiler off all runs
in numba's simulator.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import cuda as numba_cuda
from numba import float64, from_dtype, int8, uint64

from ...common.jit.bitset import lowest, nth_lowest, popcount
from ...common.jit.compiler import jit
from ..dtypes import GAME
from ..endgame import Tables
from ..endgame.index import pattern_of
from ..endgame.search import Node, stored
from ..observation.layout import LONGEST_OBSERVATION
from ..play import deal_numbered, pay, row
from ..random_play import play_out_randomly
from ..rng import below, keyed
from .cpu_backend import MOST_NUMBERS, Room
from .kernels import ENDING, WORKSPACE, Board, is_legal

cuda: Any = numba_cuda
kernel: Any = cuda.jit
_WORKSPACE, _GAME = from_dtype(WORKSPACE), from_dtype(GAME)


@functools.cache
def one_thread_each(function: Any) -> Any:
    """A kernel that goes over a batch as this function does, each thread over one game alone.

    A processor has a board for each of its few threads; here only the workspace is a thread's own.
    """

    @kernel
    def each(size: int, board: Any, arguments: Any) -> None:
        index = cuda.grid(1)
        if index < size:
            # Written out, since numba has no `_replace`.
            own = Board(
                board.plan, board.games, board.orders, board.results, board.legal, board.led_to,
                cuda.local.array(1, _WORKSPACE),
            )  # fmt: skip
            function(own, *arguments, index, index + 1)

    return each


@functools.cache
def one_row_each(function: Any) -> Any:
    """A kernel that goes over rows as this function does, each thread over one alone."""

    @kernel
    def each(size: int, arguments: Any) -> None:
        index = cuda.grid(1)
        if index < size:
            room = Room(
                cuda.local.array(LONGEST_OBSERVATION, int8),
                cuda.local.array(MOST_NUMBERS, float64),
            )
            function(*arguments, room, index, index + 1)

    return each


# -- what a processor asks of Python, and a GPU of kernels


@jit
def refuse_all(
    board: Board, actions: np.ndarray, taken: np.ndarray, refused: np.ndarray,
    start: int, stop: int,
) -> int:  # fmt: skip
    """The actions that can be played, as they were shown: for one that cannot, the lowest."""
    for index in range(start, stop):
        action = np.int64(actions[index])
        if not is_legal(board.legal[index], action):
            refused[index] = 1
            action = lowest(board.legal[index])
        taken[index] = action
    return 0


@jit
def look_up_all(
    board: Board, indices: np.ndarray, tables: Tables, best: np.ndarray, start: int, stop: int
) -> int:
    """The tricks of the leader of each ending, read from tables that hold them all."""
    hand = np.int64(row(board.plan, 0).rules.hand)
    for place in range(start, stop):
        index = indices[place]
        game = row(board.games, index)
        if board.led_to[index] == ENDING and np.int64(game.low) == tables.low:
            seat = np.int64(game.turn)
            find, pattern, _ = pattern_of(
                tables.lay.find, tables.lay.trumps, game.hand[seat], game.hand[1 - seat],
                np.int64(game.trump),
            )  # fmt: skip
            points = stored(tables, Node(hand, find, pattern))
            best[place] = hand - points if tables.low else points
    return 0


# -- to measure with


@kernel
def random_hands_kernel(arrays: Any, seed: np.uint64, first: int) -> None:
    """Random play of a hand in each thread: what it pays seat 0, and how many actions it took."""
    rules, paid, played = arrays
    index = cuda.grid(1)
    if index < len(paid):
        stream, games = cuda.local.array(1, uint64), cuda.local.array(1, _GAME)
        game = row(games, 0)
        deal_numbered(row(rules, 0), game, seed, np.uint64(first + index), stream)
        played[index] = play_out_randomly(row(rules, 0), game, stream)
        paid[index] = pay(row(rules, 0), game, 0)


@jit
def random_actions_of_all(
    board: Board, seed: np.uint64, actions: np.ndarray, start: int, stop: int
) -> int:
    """Draw one of the actions that were last shown as legal in each game."""
    stream = row(board.workspace, 0).stream
    for index in range(start, stop):
        stream[0] = keyed(seed, np.uint64(index))
        allowed = board.legal[index]
        actions[index] = nth_lowest(allowed, below(stream, popcount(allowed)))
    return 0
