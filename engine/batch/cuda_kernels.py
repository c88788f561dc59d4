# pyright: reportArgumentType=false
"""CUDA kernels: the batch functions of the CPU, with one thread per game.

Imported only with a device. With `NUMBA_ENABLE_CUDASIM=1` and the compiler off, they run in numba's
simulator.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numba import boolean, float64, from_dtype, int8, uint64
from numba import cuda as numba_cuda

from ...common.jit.compiler import jit
from ...common.typing import Array
from ..bitset import lowest, nth_lowest, popcount
from ..dtypes import GAME
from ..endgame import Tablebase
from ..endgame.index import pattern_of
from ..endgame.search import Node, tablebase_points
from ..observation.spec import MAX_OBSERVATION_SIZE, OBSERVATION_SIZE
from ..play import deal_numbered, payoff, row
from ..random_play import play_out_randomly
from ..rng import random_below, stream_state
from .cpu_backend import N_FLOATS, RowBuffers
from .kernels import WORKSPACE, BatchArrays, Moves, step_game
from .results import StepResult
from .step import ENDGAME_REACHED, is_legal

cuda: Any = numba_cuda
kernel = cuda.jit
_WORKSPACE, _GAME = from_dtype(WORKSPACE), from_dtype(GAME)


class Kernel(Protocol):
    """A compiled kernel: `kernel[blocks, threads](*arguments)` launches it."""

    def __getitem__(self, configuration: tuple[int, int]) -> Callable[..., None]: ...


@jit
def with_workspace(arrays: BatchArrays, workspace: np.ndarray) -> BatchArrays:
    """The arrays with the workspace of one thread: numba does not support `_replace`."""
    return BatchArrays(
        config=arrays.config,
        games=arrays.games,
        suit_orders=arrays.suit_orders,
        results=arrays.results,
        legal=arrays.legal,
        events=arrays.events,
        workspace=workspace,
    )


@functools.cache
def one_thread_each(function: Callable[..., int]) -> Kernel:
    """Kernel that runs a batch function with one thread per game.

    On the CPU each of the few threads has a `BatchArrays`; here only the workspace is per thread.
    """

    @kernel
    def launch(size: int, arrays: BatchArrays, arguments: tuple[Array, ...]) -> None:
        index = cuda.grid(1)
        if index < size:
            thread_arrays = with_workspace(arrays, cuda.local.array(1, _WORKSPACE))
            function(thread_arrays, *arguments, index, index + 1)

    return launch


THREADS_OF_BLOCK = 64
"""Threads of a block of `step_block`: the rows of their games fit into its shared memory."""


@functools.cache
def step_block(size: int, actions: int) -> Kernel:
    """Kernel of `step_all`, for observations of `size` places and masks of `actions`.

    If each thread wrote the row of its own game, neighboring threads would write bytes that lie
    far apart, each in a transaction of its own. So they write to the shared memory of their block,
    and then copy its rows together, neighboring threads neighboring bytes.
    """

    @kernel
    def launch(count: int, arrays: BatchArrays, arguments: tuple[Moves, StepResult]) -> None:
        moves, step = arguments
        observations = cuda.shared.array((THREADS_OF_BLOCK, size), int8)
        masks = cuda.shared.array((THREADS_OF_BLOCK, actions), int8)
        has_observation = cuda.shared.array(THREADS_OF_BLOCK, boolean)
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        first = cuda.blockIdx.x * threads
        place = first + thread
        if place < count:
            thread_arrays = with_workspace(arrays, cuda.local.array(1, _WORKSPACE))
            has_observation[thread] = step_game(
                thread_arrays, moves, place, step, observations[thread], masks[thread]
            )
        cuda.syncthreads()
        exchange = row(arrays.config, 0).rules.exchange == 1
        n_columns = size if exchange else min(size, OBSERVATION_SIZE)
        for other in range(min(threads, count - first)):
            if has_observation[other]:
                index = moves.indices[first + other]
                for column in range(thread, n_columns, threads):
                    step.observations[index, column] = observations[other, column]
                for column in range(thread, actions, threads):
                    step.masks[index, column] = masks[other, column]

    return launch


@functools.cache
def one_row_each(function: Callable[..., object]) -> Kernel:
    """Kernel that runs a function with one thread per row."""

    @kernel
    def launch(size: int, arguments: tuple[Array, ...]) -> None:
        index = cuda.grid(1)
        if index < size:
            buffers = RowBuffers(
                cuda.local.array(MAX_OBSERVATION_SIZE, int8), cuda.local.array(N_FLOATS, float64)
            )
            function(*arguments, buffers, index, index + 1)

    return launch


# -- done by Python on the CPU


@jit
def refuse_all(
    arrays: BatchArrays, checked: tuple[Array, Array, Array], start: int, stop: int
) -> int:
    """Copy the actions; an illegal one is flagged and replaced by the lowest legal one.

    `checked` are the actions, their copies, and the flags.
    """
    actions, actions_to_play, illegal = checked
    for index in range(start, stop):
        action = np.int64(actions[index])
        if not is_legal(arrays.legal[index], action):
            illegal[index] = 1
            action = lowest(arrays.legal[index])
        actions_to_play[index] = action
    return 0


@jit
def look_up_all(
    arrays: BatchArrays, best: Moves, tablebase: Tablebase, start: int, stop: int
) -> int:
    """Tricks of the leader in each endgame, from complete tablebases."""
    hand = np.int64(row(arrays.config, 0).rules.hand)
    for place in range(start, stop):
        index = best.indices[place]
        game = row(arrays.games, index)
        if arrays.events[index] == ENDGAME_REACHED and np.int64(game.low) == tablebase.low:
            seat = np.int64(game.turn)
            class_id, pattern, _ = pattern_of(
                tablebase.scheme.class_ids,
                tablebase.scheme.trumps,
                game.hand[seat],
                game.hand[1 - seat],
                np.int64(game.trump),
            )
            points = tablebase_points(tablebase, Node(hand, class_id, pattern))
            best.actions[place] = hand - points if tablebase.low else points
    return 0


# -- benchmarks


@kernel
def random_hands_kernel(arrays: tuple[Array, Array, Array], seed: np.uint64, first: int) -> None:
    """One random hand per thread: the payoff of seat 0 and the number of actions."""
    rules, payoffs, played = arrays
    index = cuda.grid(1)
    if index < len(payoffs):
        stream, games = cuda.local.array(1, uint64), cuda.local.array(1, _GAME)
        game = row(games, 0)
        deal_numbered(row(rules, 0), game, seed, np.uint64(first + index), stream)
        played[index] = play_out_randomly(row(rules, 0), game, stream)
        payoffs[index] = payoff(row(rules, 0), game, 0)


@jit
def random_actions_of_all(
    arrays: BatchArrays, seed: np.uint64, actions: np.ndarray, start: int, stop: int
) -> int:
    """Sample one of the legal actions of each game."""
    stream = row(arrays.workspace, 0).stream
    for index in range(start, stop):
        stream[0] = stream_state(seed, np.uint64(index))
        legal = arrays.legal[index]
        actions[index] = nth_lowest(legal, random_below(stream, popcount(legal)))
    return 0
