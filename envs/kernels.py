"""The compiled inside of every environment: one step of a game, its pay, and what it shows.

All environments play through `advance` and look through `show`, one game at a
time or over a batch, so what one of them does the others do.
"""

from __future__ import annotations

import numpy as np

from ..agents.base import decision_stream
from ..engine.bits import NO_CARDS, ONE
from ..engine.compiled import jit
from ..engine.history import HISTORY_COLUMNS, history_suits, write_history
from ..engine.layout import (
    encode,
    keep_suits,
    real_action,
    relabelled,
    trump_first,
    write_mask,
)
from ..engine.play import (
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
from ..engine.state import LEAD, OVER
from ..engine.streams import keyed
from ..engine.view import legal_in_view, write_position, write_view
from .options import FOREPLAY, MATCH, TRICKS, WIN

# What playing an action led to.
GOES_ON, NEXT_HAND, ENDED, ENDING = 0, 1, 2, 3

_SEATS = 0x7365617473


# -- one game


@jit
def _reward(rewards: np.ndarray, first: float) -> None:
    """Pay seat 0, and the negative to seat 1."""
    rewards[0] += first
    rewards[1] -= first


@jit
def _match_winner(rules: Record, game: Record) -> int:
    """1 when seat 0 has won the match, -1 when seat 1 has."""
    if rules.match_target > 0:
        return 1 if game.points[0] > game.points[1] else -1
    return 1 if game.hands_won[0] > game.hands_won[1] else -1


@jit
def _close_hand(
    rules: Record, pays: Record, setting: Record, game: Record, rewards: np.ndarray
) -> int:
    """Pay for a hand that is over; says whether the episode is too."""
    in_match = setting.horizon == MATCH
    over = not in_match or match_over(rules, game)
    if setting.reward == WIN and in_match:
        if over:
            _reward(rewards, np.float64(_match_winner(rules, game)))
    elif setting.reward != TRICKS:
        _reward(rewards, np.float64(pay(pays, game, 0)))
    return ENDED if over else NEXT_HAND


@jit
def advance(
    rules: Record, pays: Record, setting: Record, game: Record, action: int, rewards: np.ndarray
) -> int:
    """Play one legal action, add what it pays to `rewards`, and say what it led to."""
    first, second = np.int64(game.tricks[0]), np.int64(game.tricks[1])
    play(rules, game, action)
    if setting.reward == TRICKS:
        taken = np.int64(game.tricks[0]) - first - np.int64(game.tricks[1]) + second
        if taken != 0:
            _reward(rewards, np.float64(-taken if game.low == 1 else taken))
    if game.phase == OVER:
        return _close_hand(rules, pays, setting, game, rewards)
    if setting.horizon == FOREPLAY and game.phase == LEAD and game.drawn == rules.stock:
        return ENDING
    return GOES_ON


@jit
def ending_of_first(rules: Record, game: Record, best: int) -> int:
    """What seat 0 takes of an ending in which the player to lead takes `best` tricks."""
    return best if game.turn == 0 else np.int64(rules.hand) - best


@jit
def close_ending(
    rules: Record, pays: Record, setting: Record, game: Record, best: int, rewards: np.ndarray
) -> None:
    """End an episode with the foreplay: the player to lead takes `best` tricks of the rest."""
    rest = np.int64(rules.hand)
    first = ending_of_first(rules, game, best)
    low = np.int64(game.low)
    if setting.reward == TRICKS:
        taken = 2 * first - rest
        _reward(rewards, np.float64(-taken if low == 1 else taken))
    else:
        mine = np.int64(game.tricks[0]) + first
        others = np.int64(game.tricks[1]) + rest - first
        _reward(rewards, np.float64(pay_for(pays, low, mine, others)))
    game.phase = OVER


@jit
def show(
    rules: Record,
    setting: Record,
    game: Record,
    seat: int,
    view: Record,
    scratch: Record,
    order: np.ndarray,
    observation: np.ndarray,
    mask: np.ndarray,
) -> np.uint64:
    """Write what a seat sees, and return its actions as they are shown.

    `order` becomes the order of suits in which it sees them.
    """
    if setting.history == 1:
        write_view(rules, game, seat, view)
        rows = observation.reshape((len(observation) // HISTORY_COLUMNS, HISTORY_COLUMNS))
        history_suits(rules, view, setting.trumps_first == 1, scratch, order, rows)
        write_history(rules, view, order, setting.horizon == MATCH, rows)
    else:
        write_position(rules, game, seat, view)
        if setting.trumps_first == 1:
            trump_first(rules, view, order)
        else:
            keep_suits(order)
        encode(rules, view, order, observation)
    actions = legal_in_view(rules, view)
    write_mask(mask, actions, order)
    return relabelled(actions, order)


@jit
def is_legal(actions: np.uint64, action: int) -> bool:
    """Whether a set of actions holds this one, whatever number it is."""
    return 0 <= action <= 52 and (actions >> np.uint64(action)) & ONE != NO_CARDS


# -- a batch of one, for the AEC environment


@jit
def show_one(
    rules: np.ndarray,
    setting: np.ndarray,
    games: np.ndarray,
    seat: int,
    views: np.ndarray,
    order: np.ndarray,
    observation: np.ndarray,
    mask: np.ndarray,
) -> int:
    """Show the game to a seat; returns whose turn it is."""
    first, game = row(rules, 0), row(games, 0)
    views_0, views_1 = row(views, 0), row(views, 1)
    show(first, row(setting, 0), game, seat, views_0, views_1, order, observation, mask)
    return np.int64(game.turn)


@jit
def step_one(
    rules: np.ndarray,
    pays: np.ndarray,
    setting: np.ndarray,
    games: np.ndarray,
    seed: np.uint64,
    action: int,
    views: np.ndarray,
    order: np.ndarray,
    observation: np.ndarray,
    mask: np.ndarray,
    rewards: np.ndarray,
) -> int:
    """Play an action as it was shown, then show the game to the next to move.

    Returns what it led to, plus 8 for seat 1 to move; -1 if the action is not legal.
    """
    first, game = row(rules, 0), row(games, 0)
    real = real_action(action, order) if 0 <= action < 52 else action
    if not is_legal(legal(first, game), real):
        return -1
    rewards[0] = 0.0
    rewards[1] = 0.0
    led_to = advance(first, row(pays, 0), row(setting, 0), game, real, rewards)
    if led_to == NEXT_HAND:
        deal_next(first, game, seed, game.number + ONE, np.zeros(1, np.uint64))
    seat = np.int64(game.turn)
    if led_to < ENDED:
        views_0, views_1 = row(views, 0), row(views, 1)
        show(first, row(setting, 0), game, seat, views_0, views_1, order, observation, mask)
    return led_to + 8 * seat


# -- batches


@jit
def begin_all(
    rules: np.ndarray,
    games: np.ndarray,
    seed: np.uint64,
    numbers: np.ndarray,
    indices: np.ndarray,
    seats: np.ndarray,
    fixed_seat: int,
) -> None:
    """Begin an episode in each game of `indices`, with the deal of its number.

    The learner's seat is `fixed_seat`, or drawn with the deal when that is negative.
    """
    stream = np.zeros(1, np.uint64)
    key = keyed(seed, np.uint64(_SEATS))
    for index in indices:
        game = row(games, index)
        new_match(game)
        deal_numbered(row(rules, 0), game, seed, numbers[index], stream)
        drawn = np.int64(keyed(key, numbers[index]) >> np.uint64(63))
        seats[index] = drawn if fixed_seat < 0 else fixed_seat


@jit
def first_illegal(legal_now: np.ndarray, actions: np.ndarray) -> int:
    """The first place whose action is not among those shown as legal; -1 if all are."""
    for place in range(len(actions)):
        if not is_legal(legal_now[place], actions[place]):
            return place
    return -1


@jit
def first_illegal_answer(
    rules: np.ndarray, games: np.ndarray, indices: np.ndarray, actions: np.ndarray
) -> int:
    """The same for real actions in the games of `indices`."""
    for place in range(len(indices)):
        if not is_legal(legal(row(rules, 0), row(games, indices[place])), actions[place]):
            return place
    return -1


@jit
def play_all(
    rules: np.ndarray,
    pays: np.ndarray,
    setting: np.ndarray,
    games: np.ndarray,
    seed: np.uint64,
    indices: np.ndarray,
    actions: np.ndarray,
    orders: np.ndarray,
    shown: bool,
    rewards: np.ndarray,
    led_to: np.ndarray,
) -> int:
    """Play an action in each game of `indices`; returns how many did not just go on.

    `led_to` says for each place what came of it; the next hand of a match is dealt.
    With `shown` the actions are as the orders of suits show them.
    """
    first, paid, options = row(rules, 0), row(pays, 0), row(setting, 0)
    stream = np.zeros(1, np.uint64)
    events = 0
    for place in range(len(indices)):
        index = indices[place]
        game = row(games, index)
        action = actions[place]
        if shown:
            action = real_action(action, orders[index])
        result = advance(first, paid, options, game, action, rewards[index])
        led_to[place] = result
        if result != GOES_ON:
            events += 1
        if result == NEXT_HAND:
            deal_next(first, game, seed, game.number + np.uint64(len(games)), stream)
    return events


@jit
def close_all(
    rules: np.ndarray,
    pays: np.ndarray,
    setting: np.ndarray,
    games: np.ndarray,
    indices: np.ndarray,
    best: np.ndarray,
    rewards: np.ndarray,
) -> None:
    """`close_ending` for each game of `indices`."""
    first, paid, options = row(rules, 0), row(pays, 0), row(setting, 0)
    for place in range(len(indices)):
        index = indices[place]
        close_ending(first, paid, options, row(games, index), best[place], rewards[index])


@jit
def write_results(
    rules: np.ndarray,
    wins: np.ndarray,
    setting: np.ndarray,
    games: np.ndarray,
    indices: np.ndarray,
    best: np.ndarray,
    results: np.ndarray,
) -> None:
    """How the episodes of `indices` ended; `best` is what the player to lead takes of an ending.

    `wins` are the rules that pay 1 for winning a hand; `results` are of all games.
    """
    first = row(rules, 0)
    horizon = np.int64(row(setting, 0).horizon)
    for place in range(len(indices)):
        game, result = row(games, indices[place]), row(results, indices[place])
        mine, others = np.int64(game.tricks[0]), np.int64(game.tricks[1])
        if horizon == FOREPLAY:
            taken = ending_of_first(first, game, best[place])
            mine += taken
            others += np.int64(first.hand) - taken
        result.tricks[0] = mine
        result.tricks[1] = others
        result.points[0] = game.points[0]
        result.points[1] = game.points[1]
        # Whoever wins the last hand of a match wins the match.
        result.won = pay_for(row(wins, 0), np.int64(game.low), mine, others)
        result.deal = game.number


@jit
def show_all(
    rules: np.ndarray,
    setting: np.ndarray,
    games: np.ndarray,
    indices: np.ndarray,
    seats: np.ndarray,
    views: np.ndarray,
    orders: np.ndarray,
    actions: np.ndarray,
    observations: np.ndarray,
    masks: np.ndarray,
) -> None:
    """Show each game of `indices` to a seat, row by row; `seats` and `orders` are of all games."""
    first, options = row(rules, 0), row(setting, 0)
    view, scratch = row(views, 0), row(views, 1)
    for place in range(len(indices)):
        index = indices[place]
        actions[index] = show(
            first,
            options,
            row(games, index),
            np.int64(seats[index]),
            view,
            scratch,
            orders[index],
            observations[place],
            masks[place],
        )


@jit
def turns(games: np.ndarray, seats: np.ndarray) -> None:
    """Whose turn it is in each game."""
    for index in range(len(games)):
        seats[index] = row(games, index).turn


@jit
def waiting(
    rules: np.ndarray,
    games: np.ndarray,
    key: np.ndarray,
    indices: np.ndarray,
    seats: np.ndarray,
    whole: bool,
    found: np.ndarray,
    views: np.ndarray,
    rng: np.ndarray,
) -> int:
    """Find the games where the opponent of `seats` is to move; returns how many.

    Their numbers, the opponent's views and its random streams are written in
    order. Without `whole` the views leave out the tricks that are over.
    """
    first = row(rules, 0)
    count = 0
    for index in indices:
        game = row(games, index)
        if game.turn == seats[index] or game.phase == OVER:
            continue
        view = row(views, count)
        if whole:
            write_view(first, game, np.int64(game.turn), view)
        else:
            write_position(first, game, np.int64(game.turn), view)
        found[count] = index
        rng[count] = decision_stream(key, game.number, view)
        count += 1
    return count
