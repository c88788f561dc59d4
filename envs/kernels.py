"""What is compiled for an opponent's seat: whose turn it is, what it sees, and whether it may."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..agents.base import decision_stream
from ..common.jit.compiler import jit
from ..engine.batch.kernels import BatchArrays, is_legal
from ..engine.dtypes import OVER
from ..engine.observation.layout import write_mask
from ..engine.play import legal, row
from ..engine.rng import stream_key
from ..engine.view import write_position, write_view

_SEATS = 0x7365617473


@jit
def draw_seats(arrays: BatchArrays, indices: np.ndarray, seats: np.ndarray) -> None:
    """The learner's seat in each game of `indices`, drawn with its deal."""
    key = stream_key(row(arrays.config, 0).seed, np.uint64(_SEATS))
    for index in indices:
        seats[index] = np.int64(stream_key(key, row(arrays.games, index).number) >> np.uint64(63))


@jit
def find_waiting(
    arrays: BatchArrays,
    indices: np.ndarray,
    seats: np.ndarray,
    found: np.ndarray,
    start: int,
    stop: int,
) -> int:
    """Find the games in which the opponent of `seats` is to move; returns how many.

    They stand in front in each thread's part of `found`, -1 behind them.
    """
    count = start
    for place in range(start, stop):
        index = indices[place]
        game = row(arrays.games, index)
        found[count] = index
        count += 1 if game.turn != seats[index] and game.phase != OVER else 0
    for place in range(count, stop):
        found[place] = -1
    return count - start


@jit
def write_paid(
    arrays: BatchArrays, seats: np.ndarray, paid: np.ndarray, start: int, stop: int
) -> int:
    """What each game has paid its seat of `seats`."""
    for index in range(start, stop):
        paid[index] = row(arrays.results, index).paid[seats[index]]
    return 0


@jit
def write_legal(arrays: BatchArrays, masks: np.ndarray, start: int, stop: int) -> int:
    """The actions open in each game, as they were last shown, as ones and zeros."""
    for index in range(start, stop):
        write_mask(masks[index], arrays.legal[index])
    return 0


class Waiting(NamedTuple):
    """Decisions that wait for an agent's answer, a row for each."""

    indices: np.ndarray
    """The numbers of the games."""
    views: np.ndarray
    """`VIEW` records of whoever is to move."""
    rng: np.ndarray
    """The random stream of each decision."""


@jit
def write_waiting(
    arrays: BatchArrays, key: np.ndarray, whole: bool, waiting: Waiting, start: int, stop: int
) -> int:
    """The views and random streams of whoever is to move in the games that wait.

    Without `whole` the views leave out the tricks that are over.
    """
    rules = row(arrays.config, 0).rules
    for place in range(start, stop):
        game, view = row(arrays.games, waiting.indices[place]), row(waiting.views, place)
        if whole:
            write_view(rules, game, np.int64(game.turn), view)
        else:
            write_position(rules, game, np.int64(game.turn), view)
        waiting.rng[place] = decision_stream(key, game.number, view)
    return 0


@jit
def first_illegal_answer(arrays: BatchArrays, indices: np.ndarray, actions: np.ndarray) -> int:
    """The first place of these games whose real action is not legal; -1 if all are."""
    rules = row(arrays.config, 0).rules
    for place in range(len(indices)):
        if not is_legal(legal(rules, row(arrays.games, indices[place])), actions[place]):
            return place
    return -1
