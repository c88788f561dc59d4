# pyright: reportArgumentType=false
"""A step of one game: action, reward, end of an episode, next deal, and the next observation.

Every environment steps through `advance` and observes through `encode_observation`: games alone by
`step_single`, batches in `kernels.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import jit, noinline
from ..bitset import NO_CARDS, ONE
from ..cards import N_ACTIONS, N_CARDS
from ..dtypes import LEAD, OVER
from ..observation.history import history_suits, write_history
from ..observation.spec import encode_view, write_mask
from ..observation.suit_order import identity_order, real_action, relabel
from ..play import Record, deal_next, legal, match_over, payoff, payoff_of_tricks, play, row
from ..view import legal_in_view, write_position, write_view
from .config import FOREPLAY, MATCH, TRICKS, WIN

# Events of an action; an episode has ended from EPISODE_OVER on.
NO_EVENT, NEXT_HAND, EPISODE_OVER, ENDGAME_REACHED = 0, 1, 2, 3


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
    """Write a seat's observation; returns its legal actions, relabeled.

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


_ILLEGAL = -1
# A step as a number: the event in its two lowest bits, then a flag each.
_EVENT_BITS = 0b0011
_SEAT_1_MOVES = 0b0100
_REWARDED = 0b1000
_PACKED_STEPS = 0b10000


@jit
def _packed_step(event: int, seat: int, result: Record) -> int:
    seat_flag = _SEAT_1_MOVES if seat == 1 else 0
    reward_flag = _REWARDED if result.rewards[0] != 0.0 else 0
    return event | seat_flag | reward_flag


UNPACKED_STEPS: tuple[Step, ...] = tuple(
    Step(
        event=code & _EVENT_BITS,
        seat=1 if code & _SEAT_1_MOVES else 0,
        rewarded=bool(code & _REWARDED),
    )
    for code in range(_PACKED_STEPS)
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
    that other games do not compile it. The arrays of a batch are passed one by one: Python takes a
    third of a microsecond longer to pass a tuple of arrays. Returns an index into `UNPACKED_STEPS`,
    or -1 if the action is illegal.
    """
    config, game, result, order = row(configs, 0), row(games, 0), row(results, 0), suit_orders[0]
    real = real_action(action, order) if action < N_CARDS else action
    if not is_legal(legal(config.rules, game), real):
        return _ILLEGAL
    result.rewards[0] = 0.0
    result.rewards[1] = 0.0
    event = advance(config, game, real, result)
    if event == NO_EVENT:
        observe_single(configs, games, suit_orders, workspaces, game.turn, observation, mask)
    return _packed_step(event, np.int64(game.turn), result)


@jit
def observe_single(
    configs: np.ndarray,
    games: np.ndarray,
    suit_orders: np.ndarray,
    workspaces: np.ndarray,
    seat: int,
    observation: np.ndarray,
    mask: np.ndarray,
) -> None:
    """Write a seat's observation and mask in a batch of one, and its order of suits."""
    workspace = row(workspaces, 0)
    legal_set = encode_observation(row(configs, 0), row(games, 0), seat, workspace, observation)
    write_mask(mask, legal_set)
    copy_order(workspace.suit_order, suit_orders[0])
