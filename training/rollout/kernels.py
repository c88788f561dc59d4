"""Compiled parts of self-play training: sampling actions, advantages, cards for the critic.

Functions that take a `Room` go over some rows, as the `rows` of a backend calls them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...agents.checkpoints.schema import HIDDEN_SIZE
from ...agents.networks.relative_ranks import gather_rows
from ...agents.sampling import masked_softmax, sample
from ...common.jit.bitset import NO_CARDS, ONE
from ...common.jit.compiler import jit
from ...engine.batch.batch import Backend
from ...engine.batch.cpu_backend import RowBuffers
from ...engine.cards import N_ACTIONS, N_CARDS
from ...engine.dtypes import EXCHANGE, GAME, UNDECIDED
from ...engine.observation.layout import OBSERVATION_SIZE, relabel, relabelled_action
from ...engine.play import FIRST_BLIND, SECOND_BLIND, Record, dealt_hand, row
from ...engine.rng import mix64, stream_key


@jit
def place_actions(actions: np.ndarray, shown: np.ndarray) -> None:
    """Actions as the games show them to where the network has them, in place."""
    for index in range(len(actions)):
        for place in range(shown.shape[1]):
            if shown[index, place] == actions[index]:
                actions[index] = place
                break


class ActionSampling(NamedTuple):
    """Inputs and outputs of `sample_actions`, a row for each game."""

    logits: Any
    action_masks: Any
    uniforms: Any
    """Random numbers from 0 to 1."""
    actions: Any
    """Written: the drawn action."""
    log_probs: Any
    """Written: the logarithm of its probability."""


@jit
def sample_actions(sampling: ActionSampling, room: RowBuffers, start: int, stop: int) -> None:
    """Draw a legal action for each row by its logits."""
    action_masks = sampling.action_masks
    weights = room.floats[: action_masks.shape[1]]
    for index in range(start, stop):
        legal = NO_CARDS
        for action in range(action_masks.shape[1]):
            if action_masks[index, action]:
                legal |= ONE << np.uint64(action)
        total = masked_softmax(sampling.logits[index], legal, weights)
        action = sample(weights, np.float64(sampling.uniforms[index]) * total)
        sampling.actions[index] = action
        if action >= 0:
            sampling.log_probs[index] = math.log(weights[action] / total)


@jit
def draw_chances(key: np.uint64, out: np.ndarray, room: RowBuffers, start: int, stop: int) -> None:
    """A number from 0 to 1 for each row, which follows from the key."""
    for index in range(start, stop):
        bits = mix64(stream_key(key, np.uint64(index)))
        out[index] = np.float32(bits >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


@jit
def show_actions(actions: np.ndarray, orders: np.ndarray) -> None:
    """Real actions as they are shown with these orders of suits, in place."""
    for index in range(len(actions)):
        actions[index] = relabelled_action(actions[index], orders[index])


class GAE(NamedTuple):
    """Inputs and output of `estimate_advantages`: arrays `(steps, games)`."""

    seats: Any
    rewards: Any
    """`(steps, games, 2)`, for each seat."""
    ended: Any
    values: Any
    next_seats: Any
    """`(games,)`: the seat to move after the last step."""
    next_values: Any
    """`(games,)`: its value there; zeros where all episodes have ended."""
    gamma: Any
    gae_lambda: Any
    advantages: Any
    """Written."""


@jit
def estimate_advantages(gae: GAE, room: RowBuffers, start: int, stop: int) -> None:
    """Generalized advantage estimation, one stream for each game and seat.

    Schulman, Moritz, Levine, Jordan and Abbeel 2016, "High-dimensional continuous control using
    generalized advantage estimation", arXiv:1506.02438.
    """
    steps = len(gae.seats)
    paid, next_value, advantage = room.floats[0:2], room.floats[2:4], room.floats[4:6]
    for game in range(start, stop):
        # Where the steps end within an episode, the value of the next decision stands for the
        # rest. The other seat's is its negative: one wins what the other loses.
        mover = np.int64(gae.next_seats[game])
        next_value[mover] = gae.next_values[game]
        next_value[1 - mover] = -gae.next_values[game]
        for seat in range(2):
            paid[seat] = 0.0
            advantage[seat] = 0.0
        for step in range(steps - 1, -1, -1):
            # A step may pay either seat: the reward belongs to that seat's own last decision,
            # which may be some steps earlier.
            for seat in range(2):
                if gae.ended[step, game]:
                    paid[seat] = 0.0
                    next_value[seat] = 0.0
                    advantage[seat] = 0.0
                paid[seat] += gae.rewards[step, game, seat]
            seat = np.int64(gae.seats[step, game])
            value = np.float64(gae.values[step, game])
            td_error = paid[seat] + gae.gamma * next_value[seat] - value
            advantage[seat] = td_error + gae.gamma * gae.gae_lambda * advantage[seat]
            gae.advantages[step, game] = advantage[seat]
            next_value[seat] = value
            paid[seat] = 0.0


class HiddenCards(NamedTuple):
    """Inputs and output of `write_hidden`, a row for each game."""

    rules: Any
    records: Any
    seats: Any
    orders: Any
    """The order in which suits are shown."""
    shown: Any
    """The card that stands in each of the network's places, -1 for none."""
    out: Any
    """Written: four sets of cards, int8."""


@jit
def write_hidden(cards: HiddenCards, room: RowBuffers, start: int, stop: int) -> None:
    """What a seat does not see, for a privileged critic: four sets of cards, placed as `shown`.

    The opponent's hand, the next card that lies face down, and of the rest of the
    stock the cards that will be turned up and those that will be drawn unseen. Where hands
    are exchanged there is no stock: the last two are the blind hands that the seat and the
    opponent may still take.
    """
    first = row(cards.rules, 0)
    for index in range(start, stop):
        game = row(cards.records, index)
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
        seat = int(cards.seats[index])
        if game.phase == EXCHANGE:
            turned_up, unseen = _blind_hand(first, game, seat), _blind_hand(first, game, 1 - seat)
        order, shown, out = cards.orders[index], cards.shown[index], cards.out[index]
        _place_cards(relabel(game.hand[1 - seat], order), shown, out, 0)
        _place_cards(relabel(following, order), shown, out, 1)
        _place_cards(relabel(turned_up, order), shown, out, 2)
        _place_cards(relabel(unseen, order), shown, out, 3)


@jit
def _blind_hand(rules: Record, game: Record, seat: int) -> np.uint64:
    """The hand that a seat may still take in place of its own."""
    if game.exchanged[seat] != UNDECIDED:
        return NO_CARDS
    return dealt_hand(rules, game, SECOND_BLIND if seat == game.dealer else FIRST_BLIND)


@jit
def _place_cards(cards: np.uint64, shown: np.ndarray, out: np.ndarray, which: int) -> None:
    for place in range(N_CARDS):
        card = shown[place]
        there = card >= 0 and (cards >> np.uint64(card)) & ONE
        out[N_CARDS * which + place] = np.int8(1 if there else 0)


def compile_all(rules: np.ndarray, place: Backend) -> None:
    """Call every function once, so that nothing compiles in the middle of a training."""
    masks, seats = np.ones((1, 1), np.int8), np.zeros((1, 1), np.uint8)
    shown = np.zeros((1, N_ACTIONS), np.int64)
    numbers, matrix = np.zeros(1, np.float32), np.zeros((1, 1), np.float32)
    actions, orders = np.zeros(1, np.int64), np.zeros((1, 4), np.uint8)
    no_rows = np.zeros((0, OBSERVATION_SIZE), np.int8)
    for closed in (False, True):
        place.run_rows(0, gather_rows, no_rows, no_rows, actions, closed, no_rows, no_rows, shown)
    place_actions(actions, shown)
    place.run_rows(1, sample_actions, ActionSampling(matrix, masks, numbers, actions, numbers))
    show_actions(actions, orders)
    rewards, ended = np.zeros((1, 1, 2), np.float32), np.zeros((1, 1), np.bool_)
    gae = GAE(seats, rewards, ended, matrix, seats[0], numbers, 1.0, 1.0, matrix)
    place.run_rows(1, estimate_advantages, gae)
    hidden = np.zeros((0, HIDDEN_SIZE), np.int8)
    cards = HiddenCards(rules, np.zeros(0, GAME), seats[0], orders, shown, hidden)
    place.run_rows(0, write_hidden, cards)
