"""The compiled inside of the trainer: choosing actions, advantages, what critics see.

What takes a `Room` goes over some rows, as `Place.rows` has it done on either side.
"""

from __future__ import annotations

import math

import numpy as np

from ...agents.checkpoints.schema import HIDDEN_SIZE
from ...agents.networks.relative_ranks import gather_rows
from ...agents.sampling import masked_softmax, sample
from ...common.jit.bitset import NO_CARDS, ONE
from ...common.jit.compiler import jit
from ...engine.batch.batch import Place
from ...engine.batch.cpu_backend import Room
from ...engine.cards import ACTIONS_IN_ALL, CARDS_IN_ALL
from ...engine.dtypes import EXCHANGE, GAME, UNDECIDED
from ...engine.observation.layout import OBSERVATION_SIZE, relabelled, shown_action
from ...engine.play import FIRST_BLIND, SECOND_BLIND, Record, dealt_hand, row
from ...engine.rng import keyed, mixed


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
    room: Room,
    start: int,
    stop: int,
) -> None:
    """Draw an action for each row by its logits, and write the logarithm of its probability.

    `chances` are numbers from 0 to 1, one for each row.
    """
    weights = room.numbers[: masks.shape[1]]
    for index in range(start, stop):
        legal = NO_CARDS
        for action in range(masks.shape[1]):
            if masks[index, action]:
                legal |= ONE << np.uint64(action)
        total = masked_softmax(logits[index], legal, weights)
        chosen = sample(weights, np.float64(chances[index]) * total)
        actions[index] = chosen
        if chosen >= 0:
            chosen_logs[index] = math.log(weights[chosen] / total)


@jit
def draw_chances(key: np.uint64, out: np.ndarray, room: Room, start: int, stop: int) -> None:
    """A number from 0 to 1 for each row, which follows from the key."""
    for index in range(start, stop):
        bits = mixed(keyed(key, np.uint64(index)))
        out[index] = np.float32(bits >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


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
    room: Room,
    start: int,
    stop: int,
) -> None:
    """Generalised advantages, one stream for each game and seat.

    Arrays are `(steps, games)`, rewards `(steps, games, 2)`. What a step pays a seat
    belongs to that seat's last decision. Where the steps end in the middle of an
    episode, the next decision's value stands for the rest: the other seat's is its
    negative, since one wins what the other loses.
    """
    steps = len(seats)
    paid, later, advantage = room.numbers[0:2], room.numbers[2:4], room.numbers[4:6]
    for game in range(start, stop):
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
    room: Room,
    start: int,
    stop: int,
) -> None:
    """What a seat does not see, for a critic that does: four sets of cards, placed as `shown`.

    The opponent's hand, the next card that lies face down, and of the rest of the
    stock the cards that will be turned up and those that will be drawn unseen. Where hands
    are exchanged there is no stock: the last two are the blind hands that the seat and the
    opponent may still take.
    """
    first = row(rules, 0)
    for index in range(start, stop):
        game = row(games, index)
        base, drawn = 2 * np.int64(first.hand), np.int64(game.drawn)
        turned_up, unseen, following = NO_CARDS, NO_CARDS, NO_CARDS
        for place in range(drawn, np.int64(first.stock)):
            card = ONE << np.uint64(game.deal[base + place])
            if place == drawn + 1:
                following |= card
            if place & 1:
                unseen |= card
            else:
                turned_up |= card
        seat = int(seats[index])
        if game.phase == EXCHANGE:
            turned_up, unseen = _blind_hand(first, game, seat), _blind_hand(first, game, 1 - seat)
        _place_cards(relabelled(game.hand[1 - seat], orders[index]), shown, out, index, 0)
        _place_cards(relabelled(following, orders[index]), shown, out, index, 1)
        _place_cards(relabelled(turned_up, orders[index]), shown, out, index, 2)
        _place_cards(relabelled(unseen, orders[index]), shown, out, index, 3)


@jit
def _blind_hand(rules: Record, game: Record, seat: int) -> np.uint64:
    """The hand that a seat may still take in place of its own."""
    if game.exchanged[seat] != UNDECIDED:
        return NO_CARDS
    return dealt_hand(rules, game, SECOND_BLIND if seat == game.dealer else FIRST_BLIND)


@jit
def _place_cards(
    cards: np.uint64, shown: np.ndarray, out: np.ndarray, index: int, which: int
) -> None:
    for place in range(CARDS_IN_ALL):
        card = shown[index, place]
        there = card >= 0 and (cards >> np.uint64(card)) & ONE
        out[index, CARDS_IN_ALL * which + place] = np.int8(1 if there else 0)


def compile_all(rules: np.ndarray, place: Place) -> None:
    """Call every function once, so that nothing compiles in the middle of a training."""
    small = np.zeros((1, 1), np.int8)
    places = np.zeros((1, ACTIONS_IN_ALL), np.int64)
    no_rows = np.zeros((0, OBSERVATION_SIZE), np.int8)
    logits, chances = np.zeros((1, 1), np.float32), np.zeros(1, np.float32)
    actions, seats, orders = (
        np.zeros(1, np.int64),
        np.zeros(1, np.uint8),
        np.zeros((1, 4), np.uint8),
    )
    for closed in (False, True):
        place.rows(
            0,
            gather_rows,
            no_rows,
            no_rows,
            np.zeros(1, np.int64),
            closed,
            no_rows,
            no_rows,
            places,
        )
    place_actions(actions, places)
    place.rows(1, choose, logits, small + np.int8(1), chances, actions, chances)
    show_actions(actions, orders)
    place.rows(
        1, advantages,
        np.zeros((1, 1), np.uint8), np.zeros((1, 1, 2), np.float32), np.zeros((1, 1), np.bool_),
        logits, seats, chances, 1.0, 1.0, logits,
    )  # fmt: skip
    games = np.zeros(0, GAME)
    place.rows(
        0, write_hidden, rules, games, seats, orders, places, np.zeros((0, HIDDEN_SIZE), np.int8)
    )
