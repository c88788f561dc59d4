"""The compiled inside of every batch: how an episode goes on, what it pays, and what it shows.

Whatever steps games, one at a time or many at once, plays through `advance` and
looks through `show`, so what one of them does the others do. The functions that
Python calls take a `Board`, all arrays of a batch in one record.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE
from ...common.jit.compiler import called, jit
from ..cards import ACTIONS_IN_ALL, CARDS_IN_ALL
from ..dtypes import LEAD, OVER, VIEW
from ..observation.history import HISTORY_COLUMNS, history_suits, write_history
from ..observation.layout import encode_view, real_action, relabelled, write_mask
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

# What playing an action led to.
GOES_ON, NEXT_HAND, ENDED, ENDING = 0, 1, 2, 3


WORKSPACE = np.dtype(
    [
        ("player_view", VIEW),  # `view` is a method of every record of NumPy
        ("scratch_view", VIEW),
        # One word is used. Two threads that write to one cache line wait for each other, and the
        # next record is another thread's.
        ("stream", "u8", (8,)),
    ]
)
"""What a thread writes for itself alone while it goes over games."""


class Board(NamedTuple):
    """All that a thread reads and writes of a batch; one row per game, but for two."""

    plan: np.ndarray
    """One `PLAN` record: what is played, paid and shown."""
    games: np.ndarray
    """`GAME` records."""
    orders: np.ndarray
    """The order of suits in which each game was last shown."""
    results: np.ndarray
    """`RESULT` records: what each game has just paid, and how its last episode ended."""
    legal: np.ndarray
    """The actions open in each game, as they were last shown."""
    led_to: np.ndarray
    """What the last action in each game led to."""
    workspace: np.ndarray
    """One `WORKSPACE` record, of the thread that this board is given to."""


class Shown(NamedTuple):
    """What `show_all` writes."""

    orders: np.ndarray
    """The order of suits of each game, all of them."""
    legal: np.ndarray
    """The legal actions of each game, all of them."""
    observations: np.ndarray
    """A row for each game that is shown."""
    masks: np.ndarray


# -- one game


@jit
def _reward(result: Record, first: float) -> None:
    """Pay seat 0, and the negative to seat 1."""
    result.paid[0] += first
    result.paid[1] -= first


@jit
def _write_result(plan: Record, game: Record, mine: int, others: int, result: Record) -> None:
    """How an episode ended, in which seat 0 took so many counting tricks of the last hand."""
    result.tricks[0] = mine
    result.tricks[1] = others
    result.points[0] = game.points[0]
    result.points[1] = game.points[1]
    # Whoever wins the last hand of a match wins the match.
    result.won = pay_for(plan.wins, np.int64(game.low), mine, others)
    result.deal = game.number


@jit
def _close_hand(plan: Record, game: Record, result: Record) -> int:
    """Pay for a hand that is over; says whether the episode is too."""
    in_match = plan.horizon == MATCH
    over = not in_match or match_over(plan.rules, game)
    if over:
        _write_result(plan, game, np.int64(game.tricks[0]), np.int64(game.tricks[1]), result)
    if plan.reward == WIN and in_match:
        if over:
            _reward(result, np.float64(result.won))
    elif plan.reward != TRICKS:
        _reward(result, np.float64(pay(plan.pays, game, 0)))
    return ENDED if over else NEXT_HAND


@jit
def advance(plan: Record, game: Record, action: int, result: Record) -> int:
    """Play one legal action, add what it pays to `result`, and say what it led to.

    How an episode ended is written there too; what is `ENDING` is still to be closed.
    """
    first, second = np.int64(game.tricks[0]), np.int64(game.tricks[1])
    play(plan.rules, game, action)
    if plan.reward == TRICKS:
        taken = np.int64(game.tricks[0]) - first - np.int64(game.tricks[1]) + second
        if taken != 0:
            _reward(result, np.float64(-taken if game.low == 1 else taken))
    if game.phase == OVER:
        return _close_hand(plan, game, result)
    if plan.horizon == FOREPLAY and game.phase == LEAD and game.drawn == plan.rules.stock:
        return ENDING
    return GOES_ON


@jit
def close_ending(plan: Record, game: Record, best: int, result: Record) -> None:
    """End an episode with the foreplay: the player to lead takes `best` tricks of the rest."""
    rest = np.int64(plan.rules.hand)
    first = best if game.turn == 0 else rest - best
    low = np.int64(game.low)
    mine = np.int64(game.tricks[0]) + first
    others = np.int64(game.tricks[1]) + rest - first
    if plan.reward == TRICKS:
        taken = 2 * first - rest
        _reward(result, np.float64(-taken if low == 1 else taken))
    else:
        _reward(result, np.float64(pay_for(plan.pays, low, mine, others)))
    _write_result(plan, game, mine, others, result)
    game.phase = OVER


@called
def _write_history(
    plan: Record,
    game: Record,
    seat: int,
    workspace: Record,
    order: np.ndarray,
    observation: np.ndarray,
) -> None:
    """All that a seat has seen, in rows; kept a call, so that what else is shown stays quick."""
    rules, view = plan.rules, workspace.player_view
    write_view(rules, game, seat, view)
    rows = observation.reshape((len(observation) // HISTORY_COLUMNS, HISTORY_COLUMNS))
    history_suits(rules, view, plan.trumps_first == 1, workspace.scratch_view, order, rows)
    write_history(rules, view, order, plan.horizon == MATCH, rows)


@jit
def show(
    plan: Record,
    game: Record,
    seat: int,
    workspace: Record,
    order: np.ndarray,
    observation: np.ndarray,
    mask: np.ndarray,
) -> np.uint64:
    """Write what a seat sees, and return its actions as they are shown.

    `order` becomes the order of suits in which it sees them.
    """
    rules, view = plan.rules, workspace.player_view
    if plan.history == 1:
        _write_history(plan, game, seat, workspace, order, observation)
        shown = relabelled(legal_in_view(rules, view), order)
    else:
        write_position(rules, game, seat, view)
        shown = encode_view(rules, view, plan.trumps_first == 1, order, observation)
    write_mask(mask, shown)
    return shown


@jit
def is_legal(actions: np.uint64, action: int) -> bool:
    """Whether a set of actions holds this one, whatever number it is."""
    return 0 <= action < ACTIONS_IN_ALL and (actions >> np.uint64(action)) & ONE != NO_CARDS


@jit
def deal_on(plan: Record, game: Record, n: int, stream: np.ndarray) -> None:
    """The next deal of one of `n` games: of its match, or else of another episode."""
    deal_next(plan.rules, game, plan.seed, game.number + np.uint64(n), stream)


@jit
def step_one(
    plans: np.ndarray,
    games: np.ndarray,
    orders: np.ndarray,
    results: np.ndarray,
    workspaces: np.ndarray,
    action: int,
    observation: np.ndarray,
    mask: np.ndarray,
) -> int:
    """Play an action, as it was shown, in a batch of one, and show it to the next to move.

    The arrays are those of a board, one by one: this is called for every action of a single game,
    and Python takes a third of a microsecond longer to hand over a tuple of arrays.
    Returns what the action led to, plus 8 for seat 1 to move and 16 if anything was paid; -1 if
    the action is not legal.
    """
    plan, game, result, order = row(plans, 0), row(games, 0), row(results, 0), orders[0]
    workspace = row(workspaces, 0)
    real = real_action(action, order) if 0 <= action < CARDS_IN_ALL else action
    if not is_legal(legal(plan.rules, game), real):
        return -1
    result.paid[0] = 0.0
    result.paid[1] = 0.0
    led_to = advance(plan, game, real, result)
    if led_to == NEXT_HAND:
        deal_on(plan, game, 1, workspace.stream)
    seat = np.int64(game.turn)
    if led_to < ENDED:
        show(plan, game, seat, workspace, order, observation, mask)
    return led_to + 8 * seat + (16 if result.paid[0] != 0.0 else 0)


@jit
def show_one(
    plans: np.ndarray,
    games: np.ndarray,
    orders: np.ndarray,
    workspaces: np.ndarray,
    seat: int,
    observation: np.ndarray,
    mask: np.ndarray,
) -> None:
    """Show a batch of one to a seat; the arrays are those of `step_one`."""
    show(row(plans, 0), row(games, 0), seat, row(workspaces, 0), orders[0], observation, mask)


# -- many games: each thread gets a board with its own workspace, and where its games begin and end


@jit
def _rest(board: Board, index: int) -> None:
    """Let nothing have just been paid in a game, or have come of anything."""
    result = row(board.results, index)
    result.paid[0] = 0.0
    result.paid[1] = 0.0
    board.led_to[index] = GOES_ON


@jit
def rest_all(board: Board, start: int, stop: int) -> int:
    """Let nothing have just been paid in any game, or have come of anything."""
    for index in range(start, stop):
        _rest(board, index)
    return 0


@jit
def begin_all(board: Board, indices: np.ndarray, numbers: np.ndarray, start: int, stop: int) -> int:
    """Begin an episode in each game of `indices`, with the deal of its number."""
    plan, stream = row(board.plan, 0), row(board.workspace, 0).stream
    for index in indices[start:stop]:
        game = row(board.games, index)
        new_match(game)
        deal_numbered(plan.rules, game, plan.seed, numbers[index], stream)
        _rest(board, index)
    return 0


@jit
def deal_all(board: Board, indices: np.ndarray, start: int, stop: int) -> int:
    """The next deal of each game of `indices`, whose hand is over."""
    plan, stream = row(board.plan, 0), row(board.workspace, 0).stream
    for index in indices[start:stop]:
        deal_on(plan, row(board.games, index), len(board.games), stream)
    return 0


@jit
def first_illegal(legal_now: np.ndarray, indices: np.ndarray, actions: np.ndarray) -> int:
    """The first place whose action is not among those shown as legal; -1 if all are."""
    for place in range(len(indices)):
        if not is_legal(legal_now[indices[place]], actions[place]):
            return place
    return -1


@jit
def play_all(
    board: Board,
    indices: np.ndarray,
    actions: np.ndarray,
    shown: bool,
    start: int,
    stop: int,
) -> int:
    """Play an action in each game of `indices`; returns how many did not just go on.

    The next hand of a match is dealt. With `shown` the actions are as they were shown, and what
    was paid before is forgotten.
    """
    plan, stream = row(board.plan, 0), row(board.workspace, 0).stream
    events = 0
    for place in range(start, stop):
        index = indices[place]
        game, result = row(board.games, index), row(board.results, index)
        action = actions[place]
        if shown:
            action = real_action(action, board.orders[index])
            result.paid[0] = 0.0
            result.paid[1] = 0.0
        led_to = advance(plan, game, action, result)
        board.led_to[index] = led_to
        if led_to != GOES_ON:
            events += 1
        if led_to == NEXT_HAND:
            deal_on(plan, game, len(board.games), stream)
    return events


@jit
def step_all(
    board: Board,
    indices: np.ndarray,
    actions: np.ndarray,
    closing: bool,
    step: StepResult,
    start: int,
    stop: int,
) -> int:
    """Play an action, as it was shown, in each game of `indices`, and show it to the next to move.

    What is shown, was paid and ended goes to the rows of these games. A hand that is over is
    followed by the next. Returns how many have come to an ending that is to be closed: by this
    function once more, `closing`, with the leader's tricks in place of actions.
    """
    plan, workspace = row(board.plan, 0), row(board.workspace, 0)
    endings = 0
    for place in range(start, stop):
        index = indices[place]
        game, result = row(board.games, index), row(board.results, index)
        order = board.orders[index]
        if closing:
            led_to = np.int64(board.led_to[index])
            if led_to != ENDING:
                continue
            close_ending(plan, game, actions[place], result)
        else:
            result.paid[0] = 0.0
            result.paid[1] = 0.0
            led_to = advance(plan, game, real_action(actions[place], order), result)
            board.led_to[index] = led_to
            if led_to == ENDING:
                endings += 1
                continue
        step.rewards[index, 0] = result.paid[0]
        step.rewards[index, 1] = result.paid[1]
        step.ended[index] = led_to >= ENDED
        if led_to != GOES_ON:
            deal_on(plan, game, len(board.games), workspace.stream)
        seat = np.int64(game.turn)
        step.seats[index] = seat
        board.legal[index] = show(
            plan, game, seat, workspace, order, step.observations[index], step.masks[index]
        )
    return endings


@jit
def close_all(board: Board, indices: np.ndarray, best: np.ndarray, start: int, stop: int) -> int:
    """Close the endings of these games, in each of which the player to lead takes `best` tricks."""
    plan = row(board.plan, 0)
    for place in range(start, stop):
        index = indices[place]
        close_ending(plan, row(board.games, index), best[place], row(board.results, index))
    return 0


@jit
def show_all(
    board: Board,
    indices: np.ndarray,
    seats: np.ndarray,
    shown: Shown,
    start: int,
    stop: int,
) -> int:
    """Show each game of `indices` to a seat; `seats` has one for every game of the batch."""
    plan, workspace = row(board.plan, 0), row(board.workspace, 0)
    for place in range(start, stop):
        index = indices[place]
        shown.legal[index] = show(
            plan,
            row(board.games, index),
            np.int64(seats[index]),
            workspace,
            shown.orders[index],
            shown.observations[place],
            shown.masks[place],
        )
    return 0


# -- what is read of many games where they live


@jit
def turns_of_all(board: Board, seats: np.ndarray, start: int, stop: int) -> int:
    """The seat to move in each game."""
    for index in range(start, stop):
        seats[index] = row(board.games, index).turn
    return 0
