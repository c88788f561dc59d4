# pyright: reportArgumentType=false
"""Compiled functions of a batch: each steps, deals or observes many games (`step.py`: one).

Functions that Python calls take a `BatchArrays`, all arrays of a batch in one tuple, and what they
are to do in another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import forceinline, jit
from ..dtypes import VIEW
from ..observation.spec import write_mask
from ..observation.state import encode_state
from ..observation.suit_order import real_action
from ..play import deal_numbered, new_match, row
from ..view import write_position
from .results import StepResult
from .step import (
    ENDGAME_REACHED,
    EPISODE_OVER,
    NEXT_HAND,
    NO_EVENT,
    advance,
    copy_order,
    deal_next_hand,
    encode_observation,
    is_legal,
    score_endgame,
)

WORKSPACE = np.dtype(
    [
        ("player_view", VIEW),  # `view` is a method of NumPy records
        ("scratch_view", VIEW),
        ("suit_order", "u1", (8,)),  # of the last observation; four are used
        # Only one word is used: the rest keeps the streams of two threads in different cache
        # lines (false sharing).
        ("stream", "u8", (8,)),
    ]
)
"""Scratch memory of one thread."""


SHOWN, REAL, TRICKS_OF_LEADER = 0, 1, 2
"""What `Moves` hold: actions as last observed, real ones, or the leader's tricks in the ending."""


class Moves(NamedTuple):
    """What happens next in some games."""

    indices: np.ndarray
    """The games."""
    actions: np.ndarray
    """One for each of `indices`."""
    kind: int
    """`SHOWN`, `REAL` or `TRICKS_OF_LEADER`."""


class Watched(NamedTuple):
    """Observations of a seat of some games."""

    indices: np.ndarray
    """The games."""
    seats: np.ndarray
    """The seat that observes, one for every game of the batch."""
    keep: bool
    """Whether the next actions are those of these observations."""
    observations: np.ndarray
    """A row for each of `indices`, as in `masks`."""
    masks: np.ndarray


class BatchArrays(NamedTuple):
    """Arrays of a batch, one row per game except `config` and `workspace`."""

    config: np.ndarray
    """One `ENV_CONFIG` record."""
    games: np.ndarray
    """`GAME` records."""
    suit_orders: np.ndarray
    """Order of suits in the last observation of each game."""
    results: np.ndarray
    """`RESULT` records."""
    legal: np.ndarray
    """Legal actions of each game, as last observed."""
    events: np.ndarray
    """Event of the last action in each game."""
    workspace: np.ndarray
    """One `WORKSPACE` record, of the thread that uses this tuple."""


# Each thread gets arrays with its own workspace, and the range of its games.


@jit
def _clear_rewards(arrays: BatchArrays, index: int) -> None:
    result = row(arrays.results, index)
    result.rewards[0] = 0.0
    result.rewards[1] = 0.0


@jit
def clear_all(arrays: BatchArrays, start: int, stop: int) -> int:
    for index in range(start, stop):
        _clear_rewards(arrays, index)
        arrays.events[index] = NO_EVENT
    return 0


@jit
def reset_all(
    arrays: BatchArrays, indices: np.ndarray, numbers: np.ndarray, start: int, stop: int
) -> int:
    """Start an episode in each game of `indices`, with the deal of its number."""
    config, stream = row(arrays.config, 0), row(arrays.workspace, 0).stream
    for index in indices[start:stop]:
        game = row(arrays.games, index)
        new_match(game)
        deal_numbered(config.rules, game, config.seed, numbers[index], stream)
        _clear_rewards(arrays, index)
        arrays.events[index] = NO_EVENT
    return 0


@jit
def deal_next_all(arrays: BatchArrays, indices: np.ndarray, start: int, stop: int) -> int:
    """Deal the next hand of each match of `indices`."""
    config, stream = row(arrays.config, 0), row(arrays.workspace, 0).stream
    for index in indices[start:stop]:
        deal_next_hand(config, row(arrays.games, index), len(arrays.games), stream)
    return 0


@jit
def first_illegal(legal_now: np.ndarray, indices: np.ndarray, actions: np.ndarray) -> int:
    for place in range(len(indices)):
        if not is_legal(legal_now[indices[place]], actions[place]):
            return place
    return -1


@jit
def advance_game(arrays: BatchArrays, index: int, action: int, kind: int, episodes: bool) -> int:
    """Let an action of a kind, as of `Moves`, happen in one game; returns its event.

    The next hand of a match is dealt, and with `episodes` the next episode too. Rewards are added
    to those of the last actions, unless the action is as observed.
    """
    config, game = row(arrays.config, 0), row(arrays.games, index)
    result, event = row(arrays.results, index), ENDGAME_REACHED
    if kind == TRICKS_OF_LEADER:
        score_endgame(config, game, action, result)
    else:
        if kind == SHOWN:
            action = real_action(action, arrays.suit_orders[index])
            _clear_rewards(arrays, index)
        event = advance(config, game, action, result)
        arrays.events[index] = event
        if event == ENDGAME_REACHED:
            return event
    if event == NEXT_HAND or (episodes and event != NO_EVENT):
        deal_next_hand(config, game, len(arrays.games), row(arrays.workspace, 0).stream)
    return event


@jit
def apply_all(arrays: BatchArrays, moves: Moves, start: int, stop: int) -> int:
    """Play an action in each game, or score its ending; returns the number of events."""
    n_events = 0
    for place in range(start, stop):
        index = moves.indices[place]
        if moves.kind == TRICKS_OF_LEADER and arrays.events[index] != ENDGAME_REACHED:
            continue
        event = advance_game(arrays, index, moves.actions[place], moves.kind, False)
        n_events += 1 if event != NO_EVENT else 0
    return n_events


@jit
def keep_shown(arrays: BatchArrays, index: int, shown: np.uint64) -> None:
    """Keep the legal actions and the order of suits of the last observation for the next action."""
    arrays.legal[index] = shown
    copy_order(row(arrays.workspace, 0).suit_order, arrays.suit_orders[index])


@forceinline
def step_game(
    arrays: BatchArrays,
    moves: Moves,
    place: int,
    step: StepResult,
    observation: np.ndarray,
    mask: np.ndarray,
) -> bool:
    """Play an action in the game at a place of `moves`, or score its ending; observe the next seat.

    Rewards and the end of an episode go to the row of the game in `step`; a finished hand is
    followed by the next deal. Returns whether there was an observation: none for a game that has
    just reached the endgame, nor, with the leader's tricks, for a game that has not.
    """
    config, workspace = row(arrays.config, 0), row(arrays.workspace, 0)
    closing, index = moves.kind == TRICKS_OF_LEADER, moves.indices[place]
    if closing and arrays.events[index] != ENDGAME_REACHED:
        return False
    event = advance_game(arrays, index, moves.actions[place], moves.kind, True)
    if event == ENDGAME_REACHED and not closing:
        return False
    game, result = row(arrays.games, index), row(arrays.results, index)
    step.rewards[index, 0] = result.rewards[0]
    step.rewards[index, 1] = result.rewards[1]
    step.ended[index] = event >= EPISODE_OVER
    seat = np.int64(game.turn)
    step.seats[index] = seat
    shown = encode_observation(config, game, seat, workspace, observation)
    write_mask(mask, shown)
    keep_shown(arrays, index, shown)
    return True


@jit
def step_all(arrays: BatchArrays, moves: Moves, step: StepResult, start: int, stop: int) -> int:
    """Step each game of `moves` (`step_game`); returns the number of games without an observation.

    If they have reached the endgame, this function has to be called again with the leader's tricks.
    """
    n_unobserved = 0
    for place in range(start, stop):
        index = moves.indices[place]
        observation, mask = step.observations[index], step.masks[index]
        n_unobserved += 0 if step_game(arrays, moves, place, step, observation, mask) else 1
    return n_unobserved


@jit
def observe_all(arrays: BatchArrays, watched: Watched, start: int, stop: int) -> int:
    config, workspace = row(arrays.config, 0), row(arrays.workspace, 0)
    for place in range(start, stop):
        index = watched.indices[place]
        game, seat = row(arrays.games, index), np.int64(watched.seats[index])
        shown = encode_observation(config, game, seat, workspace, watched.observations[place])
        write_mask(watched.masks[place], shown)
        if watched.keep:
            keep_shown(arrays, index, shown)
    return 0


@jit
def turns_all(arrays: BatchArrays, seats: np.ndarray, start: int, stop: int) -> int:
    for index in range(start, stop):
        seats[index] = row(arrays.games, index).turn
    return 0


@jit
def encode_states(arrays: BatchArrays, states: np.ndarray, start: int, stop: int) -> int:
    """Write the global state of each game, with the suits of its last observation."""
    rules, view = row(arrays.config, 0).rules, row(arrays.workspace, 0).player_view
    for index in range(start, stop):
        game = row(arrays.games, index)
        write_position(rules, game, np.int64(game.turn), view)
        encode_state(rules, game, view, arrays.suit_orders[index], states[index])
    return 0
