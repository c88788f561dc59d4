"""Compiled functions of a batch: transition, rewards and observations.

Single games and batches all step through `advance` and observe through `observe`. Functions that
Python calls take a `BatchArrays`, all arrays of a batch in one tuple.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import jit, noinline
from ..bitset import NO_CARDS, ONE
from ..cards import N_ACTIONS, N_CARDS
from ..dtypes import LEAD, OVER, VIEW
from ..observation.history import history_suits, write_history
from ..observation.layout import encode_view, real_action, relabel, write_mask
from ..play import (
    Record,
    deal_next,
    deal_numbered,
    legal,
    match_over,
    new_match,
    pay,
    pay_for,
    play,
    row,
)
from ..view import legal_in_view, write_position, write_view
from .config import FOREPLAY, MATCH, TRICKS, WIN
from .results import StepResult

# Events of an action.
NO_EVENT, NEXT_HAND, EPISODE_OVER, ENDGAME_REACHED = 0, 1, 2, 3


WORKSPACE = np.dtype(
    [
        ("player_view", VIEW),  # `view` is a method of NumPy records
        ("scratch_view", VIEW),
        # Only one word is used: the rest keeps the streams of two threads in different cache
        # lines (false sharing).
        ("stream", "u8", (8,)),
    ]
)
"""Scratch memory of one thread."""


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
    result.paid[0] += amount
    result.paid[1] -= amount


@jit
def _write_result(
    config: Record, game: Record, own_tricks: int, other_tricks: int, result: Record
) -> None:
    result.tricks[0] = own_tricks
    result.tricks[1] = other_tricks
    result.points[0] = game.points[0]
    result.points[1] = game.points[1]
    # The winner of the last hand wins the match.
    result.won = pay_for(config.wins, np.int64(game.low), own_tricks, other_tricks)
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
        _add_reward(result, np.float64(pay(config.pays, game, 0)))
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
        _add_reward(result, np.float64(pay_for(config.pays, low, own_tricks, other_tricks)))
    _write_result(config, game, own_tricks, other_tricks, result)
    game.phase = OVER


@noinline
def _write_history(
    config: Record,
    game: Record,
    seat: int,
    workspace: Record,
    order: np.ndarray,
    observation: np.ndarray,
) -> None:
    rules, view = config.rules, workspace.player_view
    write_view(rules, game, seat, view)
    history_suits(rules, view, config.trumps_first == 1, workspace.scratch_view, order, observation)
    write_history(rules, view, order, config.horizon == MATCH, observation)


@jit
def observe(
    config: Record,
    game: Record,
    seat: int,
    workspace: Record,
    order: np.ndarray,
    observation: np.ndarray,
    mask: np.ndarray,
) -> np.uint64:
    """Write a seat's observation and mask; returns its legal actions, relabelled.

    `observation` is a vector, or the rows of a history. `order` receives the order of suits.
    """
    rules, view = config.rules, workspace.player_view
    # Known from the type: numba compiles one of the two branches.
    if observation.ndim == 2:
        _write_history(config, game, seat, workspace, order, observation)
        legal_shown = relabel(legal_in_view(rules, view), order)
    else:
        write_position(rules, game, seat, view)
        legal_shown = encode_view(rules, view, config.trumps_first == 1, order, observation)
    write_mask(mask, legal_shown)
    return legal_shown


@jit
def is_legal(actions: np.uint64, action: int) -> bool:
    """Whether a set of actions contains an action; any integer is accepted."""
    return 0 <= action < N_ACTIONS and (actions >> np.uint64(action)) & ONE != NO_CARDS


@jit
def deal_next_hand(config: Record, game: Record, n: int, stream: np.ndarray) -> None:
    """Next deal of one of `n` games: of its match, or else of a new episode."""
    deal_next(config.rules, game, config.seed, game.number + np.uint64(n), stream)


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
    observes: a second function for that would contain all of `observe` again. The arrays of a
    batch are passed one by one: Python takes a third of a microsecond longer to pass a tuple of
    arrays. Returns the event, plus 8 if seat 1 is to move and 16 if there is a reward; -1 if the
    action is illegal.
    """
    config, game, result, order = row(configs, 0), row(games, 0), row(results, 0), suit_orders[0]
    event, seat = NO_EVENT, np.int64(~action)
    if action >= 0:
        real = real_action(action, order) if action < N_CARDS else action
        if not is_legal(legal(config.rules, game), real):
            return -1
        result.paid[0] = 0.0
        result.paid[1] = 0.0
        event = advance(config, game, real, result)
        seat = np.int64(game.turn)
    if event == NO_EVENT:
        observe(config, game, seat, row(workspaces, 0), order, observation, mask)
    return event + 8 * seat + (16 if result.paid[0] != 0.0 else 0)


# -- many games: each thread gets arrays with its own workspace, and the range of its games


@jit
def _clear(arrays: BatchArrays, index: int) -> None:
    result = row(arrays.results, index)
    result.paid[0] = 0.0
    result.paid[1] = 0.0
    arrays.events[index] = NO_EVENT


@jit
def clear_all(arrays: BatchArrays, start: int, stop: int) -> int:
    for index in range(start, stop):
        _clear(arrays, index)
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
        _clear(arrays, index)
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
def play_all(
    arrays: BatchArrays,
    indices: np.ndarray,
    actions: np.ndarray,
    relabelled: bool,
    start: int,
    stop: int,
) -> int:
    """Play an action in each game of `indices`; returns the number of events.

    The next hand of a match is dealt. With `relabelled`, actions are those of the last observation,
    and earlier rewards are cleared.
    """
    config, stream = row(arrays.config, 0), row(arrays.workspace, 0).stream
    n_events = 0
    for place in range(start, stop):
        index = indices[place]
        game, result = row(arrays.games, index), row(arrays.results, index)
        action = actions[place]
        if relabelled:
            action = real_action(action, arrays.suit_orders[index])
            result.paid[0] = 0.0
            result.paid[1] = 0.0
        event = advance(config, game, action, result)
        arrays.events[index] = event
        if event != NO_EVENT:
            n_events += 1
        if event == NEXT_HAND:
            deal_next_hand(config, game, len(arrays.games), stream)
    return n_events


@jit
def step_all(
    arrays: BatchArrays,
    indices: np.ndarray,
    actions: np.ndarray,
    closing: bool,
    step: StepResult,
    start: int,
    stop: int,
) -> int:
    """Play an action, as observed, in each game of `indices`, and observe for the next seat.

    Observations, rewards and episode ends go to the rows of these games; a finished hand is
    followed by the next deal. Returns the number of games that reached the endgame: for them this
    function has to be called again, `closing`, with the leader's tricks in place of actions.
    """
    config, workspace = row(arrays.config, 0), row(arrays.workspace, 0)
    endings = 0
    for place in range(start, stop):
        index = indices[place]
        game, result = row(arrays.games, index), row(arrays.results, index)
        order = arrays.suit_orders[index]
        if closing:
            event = np.int64(arrays.events[index])
            if event != ENDGAME_REACHED:
                continue
            score_endgame(config, game, actions[place], result)
        else:
            result.paid[0] = 0.0
            result.paid[1] = 0.0
            event = advance(config, game, real_action(actions[place], order), result)
            arrays.events[index] = event
            if event == ENDGAME_REACHED:
                endings += 1
                continue
        step.rewards[index, 0] = result.paid[0]
        step.rewards[index, 1] = result.paid[1]
        step.ended[index] = event >= EPISODE_OVER
        if event != NO_EVENT:
            deal_next_hand(config, game, len(arrays.games), workspace.stream)
        seat = np.int64(game.turn)
        step.seats[index] = seat
        arrays.legal[index] = observe(
            config, game, seat, workspace, order, step.observations[index], step.masks[index]
        )
    return endings


@jit
def score_endgames(
    arrays: BatchArrays, indices: np.ndarray, best: np.ndarray, start: int, stop: int
) -> int:
    """Score the endgames of these games; the player to lead takes `best` tricks."""
    config = row(arrays.config, 0)
    for place in range(start, stop):
        index = indices[place]
        score_endgame(config, row(arrays.games, index), best[place], row(arrays.results, index))
    return 0


@jit
def observe_all(
    arrays: BatchArrays,
    indices: np.ndarray,
    seats: np.ndarray,
    orders: np.ndarray,
    legal_shown: np.ndarray,
    observations: np.ndarray,
    masks: np.ndarray,
    start: int,
    stop: int,
) -> int:
    """Observe each game of `indices` for a seat.

    `seats`, `orders` and `legal_shown` have an entry for every game, `observations` and `masks` a
    row for each of `indices`.
    """
    config, workspace = row(arrays.config, 0), row(arrays.workspace, 0)
    for place in range(start, stop):
        index = indices[place]
        game, seat, order = row(arrays.games, index), np.int64(seats[index]), orders[index]
        legal_shown[index] = observe(
            config, game, seat, workspace, order, observations[place], masks[place]
        )
    return 0


@jit
def turns_all(arrays: BatchArrays, seats: np.ndarray, start: int, stop: int) -> int:
    for index in range(start, stop):
        seats[index] = row(arrays.games, index).turn
    return 0
