# pyright: reportArgumentType=false
"""Compiled functions of a batch: transition, rewards and observations.

The AEC environment and batches step through `advance` and observe through `encode_observation`.
Functions that Python calls take a `BatchArrays`, all arrays of a batch in one tuple, and what they
are to do in another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import jit, noinline
from ..bitset import NO_CARDS, ONE
from ..cards import N_ACTIONS, N_CARDS
from ..dtypes import LEAD, OVER, VIEW
from ..observation.history import history_suits, write_history
from ..observation.spec import encode_view, identity_order, real_action, relabel, write_mask
from ..observation.state import encode_state
from ..play import (
    Record,
    deal_next,
    deal_numbered,
    legal,
    match_over,
    new_match,
    payoff,
    payoff_of_tricks,
    play,
    row,
)
from ..view import legal_in_view, write_position, write_view
from .config import FOREPLAY, MATCH, TRICKS, WIN
from .results import StepResult

# Events of an action; an episode has ended from EPISODE_OVER on.
NO_EVENT, NEXT_HAND, EPISODE_OVER, ENDGAME_REACHED = 0, 1, 2, 3


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


# -- one game


@jit
def _add_reward(result: Record, amount: float) -> None:
    result.rewards[0] += amount
    result.rewards[1] -= amount


@jit
def _write_result(
    config: Record, game: Record, own_tricks: int, other_tricks: int, result: Record
) -> None:
    result.tricks[0] = own_tricks
    result.tricks[1] = other_tricks
    result.points[0] = game.points[0]
    result.points[1] = game.points[1]
    # The winner of the last hand wins the match.
    result.won = payoff_of_tricks(config.win_rules, np.int64(game.low), own_tricks, other_tricks)
    result.deal = game.number


@jit
def _finish_hand(config: Record, game: Record, result: Record) -> int:
    in_match = config.horizon == MATCH
    over = not in_match or match_over(config.rules, game)
    if over:
        _write_result(config, game, np.int64(game.tricks[0]), np.int64(game.tricks[1]), result)
    if config.reward == WIN and in_match:
        if over:
            _add_reward(result, np.float64(result.won))
    elif config.reward != TRICKS:
        _add_reward(result, np.float64(payoff(config.reward_rules, game, 0)))
    return EPISODE_OVER if over else NEXT_HAND


@jit
def advance(config: Record, game: Record, action: int, result: Record) -> int:
    """Play a legal action, add its reward to `result`, and return its event.

    The result of a finished episode is written too; `score_endgame` has to follow
    `ENDGAME_REACHED`.
    """
    first, second = np.int64(game.tricks[0]), np.int64(game.tricks[1])
    play(config.rules, game, action)
    if config.reward == TRICKS:
        taken = np.int64(game.tricks[0]) - first - np.int64(game.tricks[1]) + second
        if taken != 0:
            _add_reward(result, np.float64(-taken if game.low == 1 else taken))
    if game.phase == OVER:
        return _finish_hand(config, game, result)
    if config.horizon == FOREPLAY and game.phase == LEAD and game.drawn == config.rules.stock:
        return ENDGAME_REACHED
    return NO_EVENT


@jit
def score_endgame(config: Record, game: Record, best: int, result: Record) -> None:
    """End an episode at the endgame: the player to lead takes `best` of the remaining tricks."""
    remaining = np.int64(config.rules.hand)
    first = best if game.turn == 0 else remaining - best
    low = np.int64(game.low)
    own_tricks = np.int64(game.tricks[0]) + first
    other_tricks = np.int64(game.tricks[1]) + remaining - first
    if config.reward == TRICKS:
        taken = 2 * first - remaining
        _add_reward(result, np.float64(-taken if low == 1 else taken))
    else:
        _add_reward(
            result, np.float64(payoff_of_tricks(config.reward_rules, low, own_tricks, other_tricks))
        )
    _write_result(config, game, own_tricks, other_tricks, result)
    game.phase = OVER


@noinline
def _write_history(
    config: Record, game: Record, seat: int, workspace: Record, observation: np.ndarray
) -> None:
    rules, view, order = config.rules, workspace.player_view, workspace.suit_order
    write_view(rules, game, seat, view)
    if config.trumps_first == 1:
        history_suits(rules, view, workspace.scratch_view, order, observation)
    else:
        identity_order(order)
    write_history(rules, view, order, config.horizon == MATCH, observation)


@jit
def encode_observation(
    config: Record, game: Record, seat: int, workspace: Record, observation: np.ndarray
) -> np.uint64:
    """Write a seat's observation; returns its legal actions, relabelled.

    `observation` is a vector, or the rows of a history. The workspace receives the order of suits.
    """
    rules, view, order = config.rules, workspace.player_view, workspace.suit_order
    # Known from the type: numba compiles one of the two branches.
    if observation.ndim == 2:
        _write_history(config, game, seat, workspace, observation)
        return relabel(legal_in_view(rules, view), order)
    write_position(rules, game, seat, view)
    return encode_view(rules, view, config.trumps_first == 1, order, observation)


@jit
def copy_order(order: np.ndarray, target: np.ndarray) -> None:
    for place in range(4):
        target[place] = order[place]


@jit
def is_legal(actions: np.uint64, action: int) -> bool:
    """Whether a set of actions contains an action; any integer is accepted."""
    return 0 <= action < N_ACTIONS and (actions >> np.uint64(action)) & ONE != NO_CARDS


@noinline
def deal_next_hand(config: Record, game: Record, n: int, stream: np.ndarray) -> None:
    """Next deal of one of `n` games: of its match, or else of a new episode."""
    deal_next(config.rules, game, config.seed, game.number + np.uint64(n), stream)


class Step(NamedTuple):
    """What a step of a single game led to."""

    event: int
    seat: int
    """The seat to move, before a new deal."""
    rewarded: bool


_ILLEGAL, _EVENTS, _SEAT_1, _REWARDED = -1, 4, 4, 8


@jit
def _packed_step(event: int, seat: int, result: Record) -> int:
    return event + _SEAT_1 * seat + (_REWARDED if result.rewards[0] != 0.0 else 0)


UNPACKED_STEPS: tuple[Step, ...] = tuple(
    Step(code % _EVENTS, int(code & _SEAT_1 > 0), code & _REWARDED > 0)
    for code in range(2 * _REWARDED)
)
"""Step of each number that `step_single` returns; a tuple takes longer to return than a number."""


@jit
def step_single(
    configs: np.ndarray,
    games: np.ndarray,
    suit_orders: np.ndarray,
    results: np.ndarray,
    workspaces: np.ndarray,
    action: int,
    observation: np.ndarray,
    mask: np.ndarray,
) -> int:
    """Play an action, as observed, in a batch of one, and observe for the next seat.

    Only `NO_EVENT` is followed by an observation: the caller deals the next hand of a match, so
    that other games do not compile it. With the action `~seat`, which is negative, a seat only
    observes: a second function would contain all of `encode_observation` again. The arrays of a
    batch are passed one by one: Python takes a third of a microsecond longer to pass a tuple of
    arrays. Returns an index into `UNPACKED_STEPS`, or -1 if the action is illegal.
    """
    config, game, result, order = row(configs, 0), row(games, 0), row(results, 0), suit_orders[0]
    event, seat, workspace = NO_EVENT, np.int64(~action), row(workspaces, 0)
    if action >= 0:
        real = real_action(action, order) if action < N_CARDS else action
        if not is_legal(legal(config.rules, game), real):
            return _ILLEGAL
        result.rewards[0] = 0.0
        result.rewards[1] = 0.0
        event = advance(config, game, real, result)
        seat = np.int64(game.turn)
    if event == NO_EVENT:
        write_mask(mask, encode_observation(config, game, seat, workspace, observation))
        copy_order(workspace.suit_order, order)
    return _packed_step(event, seat, result)


# -- many games: each thread gets arrays with its own workspace, and the range of its games


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
def step_all(arrays: BatchArrays, moves: Moves, step: StepResult, start: int, stop: int) -> int:
    """Play an action in each game, or score its ending, and observe for the next seat.

    Observations, rewards and episode ends go to the rows of these games; a finished hand is
    followed by the next deal. Returns the number of games that reached the endgame: for them this
    function has to be called again with the leader's tricks.
    """
    config, workspace = row(arrays.config, 0), row(arrays.workspace, 0)
    closing = moves.kind == TRICKS_OF_LEADER
    endings = 0
    for place in range(start, stop):
        index = moves.indices[place]
        if closing and arrays.events[index] != ENDGAME_REACHED:
            continue
        event = advance_game(arrays, index, moves.actions[place], moves.kind, True)
        if event == ENDGAME_REACHED and not closing:
            endings += 1
            continue
        game, result = row(arrays.games, index), row(arrays.results, index)
        step.rewards[index, 0] = result.rewards[0]
        step.rewards[index, 1] = result.rewards[1]
        step.ended[index] = event >= EPISODE_OVER
        seat = np.int64(game.turn)
        step.seats[index] = seat
        shown = encode_observation(config, game, seat, workspace, step.observations[index])
        write_mask(step.masks[index], shown)
        keep_shown(arrays, index, shown)
    return endings


@jit
def keep_shown(arrays: BatchArrays, index: int, shown: np.uint64) -> None:
    """Keep the legal actions and the order of suits of the last observation for the next action."""
    arrays.legal[index] = shown
    copy_order(row(arrays.workspace, 0).suit_order, arrays.suit_orders[index])


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
