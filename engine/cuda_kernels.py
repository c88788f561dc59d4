"""The kernels of a batch on a GPU: one thread a game, each calling the functions that CPUs call.

Imported where a device is asked for. With `NUMBA_ENABLE_CUDASIM=1` and the compiler off they run
in numba's simulator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda as numba_cuda
from numba import from_dtype, uint64

from .bits import nth_lowest, popcount
from .endgame.layout import pattern_of
from .endgame.search import stored
from .episodes import (
    ENDED,
    ENDING,
    GOES_ON,
    advance,
    close_ending,
    deal_on,
    is_legal,
    show,
)
from .layout import real_action
from .play import deal_numbered, new_match, pay, row
from .rollout import play_out_randomly
from .state import GAME, VIEW
from .streams import below, keyed

cuda: Any = numba_cuda
kernel: Any = cuda.jit
_VIEW, _GAME = from_dtype(VIEW), from_dtype(GAME)


class Seen(NamedTuple):
    """What a step shows, one row per game."""

    observations: Any
    """int8, seen by the seat to move."""
    masks: Any
    """int8, its legal actions."""
    seats: Any
    """uint8, the seat to move."""
    rewards: Any
    """`(n, 2)` float32, what the step paid each seat."""
    ended: Any
    """bool, the episode ended; what is shown is of the next one."""


class DeviceBoard(NamedTuple):
    """What kernels read and write of a batch, one row per game but for the plan and `wrong`."""

    plan: Any
    games: Any
    orders: Any
    results: Any
    legal: Any
    led_to: Any
    wrong: Any
    """The lowest game in which an action was not legal; as many as there are if none was."""
    seen: Seen


@kernel
def begin_kernel(board: DeviceBoard, numbers: Any) -> None:
    """Begin an episode in each game, with the deal of its number."""
    index = cuda.grid(1)
    if index < len(board.games):
        stream = cuda.local.array(1, uint64)
        game, plan = row(board.games, index), row(board.plan, 0)
        new_match(game)
        deal_numbered(plan.rules, game, plan.seed, numbers[index], stream)


@kernel
def look_kernel(board: DeviceBoard) -> None:
    """Show each game to the seat to move, as if nothing had just been paid or ended."""
    index = cuda.grid(1)
    if index < len(board.games):
        seen = board.seen
        seen.rewards[index, 0] = 0.0
        seen.rewards[index, 1] = 0.0
        seen.ended[index] = False
        seen.seats[index] = row(board.games, index).turn
        views = cuda.local.array(2, _VIEW)
        board.legal[index] = show(
            row(board.plan, 0), row(board.games, index), np.int64(seen.seats[index]),
            row(views, 0), row(views, 1), board.orders[index],
            seen.observations[index], seen.masks[index],
        )  # fmt: skip


@kernel
def step_kernel(board: DeviceBoard, actions: Any) -> None:
    """Play an action, as it was shown, in each game, and show it to the next to move.

    What has come to an ending is left for `close_kernel`, and what is not legal is not played.
    """
    index = cuda.grid(1)
    if index >= len(board.games):
        return
    plan, game, result = row(board.plan, 0), row(board.games, index), row(board.results, index)
    seen = board.seen
    result.paid[0] = 0.0
    result.paid[1] = 0.0
    led_to = GOES_ON
    if is_legal(board.legal[index], actions[index]):
        led_to = advance(plan, game, real_action(actions[index], board.orders[index]), result)
    else:
        cuda.atomic.min(board.wrong, 0, index)
    board.led_to[index] = led_to
    if led_to == ENDING:
        return
    seen.rewards[index, 0] = result.paid[0]
    seen.rewards[index, 1] = result.paid[1]
    seen.ended[index] = led_to >= ENDED
    if led_to != GOES_ON:
        deal_on(plan, game, len(board.games), cuda.local.array(1, uint64))
    seen.seats[index] = game.turn
    views = cuda.local.array(2, _VIEW)
    board.legal[index] = show(
        plan, game, np.int64(game.turn), row(views, 0), row(views, 1), board.orders[index],
        seen.observations[index], seen.masks[index],
    )  # fmt: skip


@kernel
def endings_kernel(board: DeviceBoard, tables: Any, best: Any) -> None:
    """The tricks that the leader takes of each ending, read from tables that hold them all."""
    index = cuda.grid(1)
    if index >= len(board.games) or board.led_to[index] != ENDING:
        return
    game = row(board.games, index)
    if np.int64(game.low) == tables.low:
        n = np.int64(row(board.plan, 0).rules.hand)
        mine, theirs = game.hand[game.turn], game.hand[1 - np.int64(game.turn)]
        lay = tables.lay
        place, pattern, _ = pattern_of(lay.find, lay.trumps, mine, theirs, np.int64(game.trump))
        points = stored(tables, n, place, pattern)
        best[index] = n - points if tables.low else points


@kernel
def close_kernel(board: DeviceBoard, best: Any) -> None:
    """Close each ending, whose leader takes `best` tricks, deal anew, and show the next hand."""
    index = cuda.grid(1)
    if index >= len(board.games) or board.led_to[index] != ENDING:
        return
    plan, game, result = row(board.plan, 0), row(board.games, index), row(board.results, index)
    seen = board.seen
    close_ending(plan, game, best[index], result)
    seen.rewards[index, 0] = result.paid[0]
    seen.rewards[index, 1] = result.paid[1]
    seen.ended[index] = True
    deal_on(plan, game, len(board.games), cuda.local.array(1, uint64))
    seen.seats[index] = game.turn
    views = cuda.local.array(2, _VIEW)
    board.legal[index] = show(
        plan, game, np.int64(game.turn), row(views, 0), row(views, 1), board.orders[index],
        seen.observations[index], seen.masks[index],
    )  # fmt: skip


@kernel
def random_hands_kernel(rules: Any, seed: np.uint64, first: int, paid: Any, played: Any) -> None:
    """Random play of a hand in each thread: what it pays seat 0, and how many actions it took."""
    index = cuda.grid(1)
    if index < len(paid):
        stream, games = cuda.local.array(1, uint64), cuda.local.array(1, _GAME)
        game = row(games, 0)
        deal_numbered(row(rules, 0), game, seed, np.uint64(first + index), stream)
        played[index] = play_out_randomly(row(rules, 0), game, stream)
        paid[index] = pay(row(rules, 0), game, 0)


@kernel
def random_actions_kernel(board: DeviceBoard, seed: np.uint64, actions: Any) -> None:
    """Draw one of the actions that were last shown as legal in each game."""
    index = cuda.grid(1)
    if index < len(actions):
        stream = cuda.local.array(1, uint64)
        stream[0] = keyed(seed, np.uint64(index))
        allowed = board.legal[index]
        actions[index] = nth_lowest(allowed, below(stream, popcount(allowed)))
