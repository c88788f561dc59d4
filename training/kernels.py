"""The compiled inside of the trainer: choosing actions, advantages, what critics see."""

from __future__ import annotations

import numpy as np

from ..agents.attention import write_events
from ..agents.card import HIDDEN_SIZE
from ..agents.closing import gather
from ..engine.bits import ONE
from ..engine.cards import ACTIONS_IN_ALL, CARDS_IN_ALL
from ..engine.compiled import jit
from ..engine.history import HISTORY_COLUMNS
from ..engine.layout import OBSERVATION_SIZE, relabelled, shown_action
from ..engine.play import FIRST_BLIND, SECOND_BLIND, dealt_hand, row
from ..engine.state import EXCHANGE, GAME, UNDECIDED, VIEW


@jit
def place_actions(actions: np.ndarray, shown: np.ndarray) -> None:
    """Actions as the games show them to where the network has them, in place."""
    for index in range(len(actions)):
        for place in range(shown.shape[1]):
            if shown[index, place] == actions[index]:
                actions[index] = place
                break


@jit
def choose(
    logits: np.ndarray,
    masks: np.ndarray,
    chances: np.ndarray,
    actions: np.ndarray,
    chosen_logs: np.ndarray,
) -> None:
    """Draw an action for each row by its logits, and write the logarithm of its probability.

    `chances` are numbers from 0 to 1, one for each row.
    """
    weights = np.empty(masks.shape[1], np.float64)
    for index in range(len(actions)):
        top = np.float32(-np.inf)
        for action in range(masks.shape[1]):
            if masks[index, action] and logits[index, action] > top:
                top = logits[index, action]
        total = 0.0
        for action in range(masks.shape[1]):
            weights[action] = 0.0
            if masks[index, action]:
                weights[action] = np.exp(np.float64(logits[index, action] - top))
                total += weights[action]
        left = np.float64(chances[index]) * total
        chosen = -1
        for action in range(masks.shape[1]):
            if masks[index, action]:
                chosen = action
                left -= weights[action]
                if left < 0:
                    break
        actions[index] = chosen
        if chosen >= 0:
            chosen_logs[index] = np.log(weights[chosen] / total)


@jit
def show_actions(actions: np.ndarray, orders: np.ndarray) -> None:
    """Real actions as they are shown with these orders of suits, in place."""
    for index in range(len(actions)):
        actions[index] = shown_action(actions[index], orders[index])


@jit
def advantages(
    seats: np.ndarray,
    rewards: np.ndarray,
    ended: np.ndarray,
    values: np.ndarray,
    last_seats: np.ndarray,
    last_values: np.ndarray,
    discount: float,
    trace: float,
    out: np.ndarray,
) -> None:
    """Generalised advantages, one stream for each game and seat.

    Arrays are `(steps, games)`, rewards `(steps, games, 2)`. What a step pays a seat
    belongs to that seat's last decision. Where the steps end in the middle of an
    episode, the next decision's value stands for the rest: the other seat's is its
    negative, since one wins what the other loses.
    """
    steps, games = seats.shape
    paid = np.zeros(2)
    later = np.zeros(2)
    advantage = np.zeros(2)
    for game in range(games):
        mover = np.int64(last_seats[game])
        later[mover] = last_values[game]
        later[1 - mover] = -last_values[game]
        for seat in range(2):
            paid[seat] = 0.0
            advantage[seat] = 0.0
        for step in range(steps - 1, -1, -1):
            for seat in range(2):
                if ended[step, game]:
                    paid[seat] = 0.0
                    later[seat] = 0.0
                    advantage[seat] = 0.0
                paid[seat] += rewards[step, game, seat]
            seat = np.int64(seats[step, game])
            value = np.float64(values[step, game])
            surprise = paid[seat] + discount * later[seat] - value
            advantage[seat] = surprise + discount * trace * advantage[seat]
            out[step, game] = advantage[seat]
            later[seat] = value
            paid[seat] = 0.0


@jit
def write_hidden(
    rules: np.ndarray,
    games: np.ndarray,
    seats: np.ndarray,
    orders: np.ndarray,
    shown: np.ndarray,
    out: np.ndarray,
) -> None:
    """What a seat does not see, for a critic that does: four sets of cards, placed as `shown`.

    The opponent's hand, the next card that lies face down, and of the rest of the
    stock the cards that will be turned up and those that will be drawn unseen. Where hands
    are exchanged there is no stock: the last two are the blind hands that the seat and the
    opponent may still take.
    """
    first = row(rules, 0)
    for index in range(len(games)):
        game = row(games, index)
        seat = np.int64(seats[index])
        sets = np.zeros(4, np.uint64)
        sets[0] = game.hand[1 - seat]
        base = 2 * np.int64(first.hand)
        for place in range(np.int64(game.drawn), np.int64(first.stock)):
            card = ONE << np.uint64(game.deal[base + place])
            if place == np.int64(game.drawn) + 1:
                sets[1] |= card
            sets[2 + (place & 1)] |= card
        if game.phase == EXCHANGE:
            for which, asked in enumerate((seat, 1 - seat)):
                if game.exchanged[asked] == UNDECIDED:
                    blind = SECOND_BLIND if asked == game.dealer else FIRST_BLIND
                    sets[2 + which] = dealt_hand(first, game, blind)
        for which in range(4):
            cards = relabelled(sets[which], orders[index])
            for place in range(CARDS_IN_ALL):
                card = shown[index, place]
                there = card >= 0 and (cards >> np.uint64(card)) & ONE
                out[index, CARDS_IN_ALL * which + place] = np.int8(1 if there else 0)


def compile_all(rules: np.ndarray) -> None:
    """Call every function once, so that nothing compiles in the middle of a training."""
    small = np.zeros((1, 1), np.int8)
    places = np.zeros((1, ACTIONS_IN_ALL), np.int64)
    no_rows = np.zeros((0, OBSERVATION_SIZE), np.int8)
    logits, chances = np.zeros((1, 1), np.float32), np.zeros(1, np.float32)
    actions = np.zeros(1, np.int64)
    for closed in (False, True):
        gather(no_rows, no_rows, np.zeros(1, np.int64), closed, no_rows, no_rows, places)
    place_actions(actions, places)
    choose(logits, small + np.int8(1), chances, actions, chances)
    show_actions(actions, np.zeros((1, 4), np.uint8))
    advantages(
        np.zeros((1, 1), np.uint8), np.zeros((1, 1, 2), np.float32), np.zeros((1, 1), np.bool_),
        logits, np.zeros(1, np.uint8), chances, 1.0, 1.0, logits,
    )  # fmt: skip
    events = np.zeros((0, 1, HISTORY_COLUMNS), np.int8)
    write_events(rules, np.zeros(0, VIEW), np.zeros((0, 4), np.uint8), events)
    no_games = np.zeros(0, GAME)
    write_hidden(
        rules, no_games, np.zeros(0, np.uint8), np.zeros((0, 4), np.uint8),
        places, np.zeros((0, HIDDEN_SIZE), np.int8),
    )  # fmt: skip
