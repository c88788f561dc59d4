"""Compiled kernels of self-play training: action sampling, GAE, hidden cards for the critic.

Functions with `RowBuffers` process the rows from `start` to `stop`, called by `run_rows`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...agents.sampling import masked_softmax
from ...common.jit.compiler import jit
from ...engine.batch.cpu_backend import RowBuffers
from ...engine.bitset import NO_CARDS, ONE
from ...engine.cards import N_CARDS
from ...engine.dtypes import EXCHANGE, UNDECIDED
from ...engine.observation.suit_order import relabel
from ...engine.play import FIRST_BLIND, SECOND_BLIND, Record, dealt_hand, row
from ...engine.rng import hash_with, mix64, sample_index

Array = Any
"""An array of NumPy on the CPU, a tensor of torch on a GPU."""


class ActionSampling(NamedTuple):
    """Inputs and outputs of `sample_actions`, a row for each game."""

    logits: Array
    action_masks: Array
    uniforms: Array
    """Random numbers from [0, 1)."""
    actions: Array
    """Output."""
    log_probs: Array
    """Output."""


@jit
def sample_actions(sampling: ActionSampling, workspace: RowBuffers, start: int, stop: int) -> None:
    """Sample a legal action for each row from the softmax of its logits."""
    action_masks = sampling.action_masks
    weights = workspace.floats[: action_masks.shape[1]]
    for index in range(start, stop):
        legal = NO_CARDS
        for action in range(action_masks.shape[1]):
            if action_masks[index, action]:
                legal |= ONE << np.uint64(action)
        total = masked_softmax(sampling.logits[index], legal, weights)
        action = sample_index(weights, np.float64(sampling.uniforms[index]) * total)
        sampling.actions[index] = action
        if action >= 0:
            sampling.log_probs[index] = math.log(weights[action] / total)


@jit
def draw_uniforms(
    key: np.uint64, out: np.ndarray, workspace: RowBuffers, start: int, stop: int
) -> None:
    """Write a random number from [0, 1) for each row, by counter from the key."""
    for index in range(start, stop):
        bits = mix64(hash_with(key, np.uint64(index)))
        # The upper 24 bits: as many as a float32 holds exactly.
        out[index] = np.float32(bits >> np.uint64(40)) * np.float32(1.0 / 16777216.0)


class GAE(NamedTuple):
    """Inputs and output of `estimate_advantages`: arrays `(n_steps, n_envs)`."""

    seats: Array
    rewards: Array
    """`(n_steps, n_envs, 2)`, for each seat."""
    dones: Array
    values: Array
    next_seats: Array
    """`(n_envs,)`: the seat to move after the last step."""
    next_values: Array
    """`(n_envs,)`: its value there; zeros where all episodes have ended."""
    gamma: float
    gae_lambda: float
    advantages: Array
    """Output."""


@jit
def estimate_advantages(gae: GAE, workspace: RowBuffers, start: int, stop: int) -> None:
    """Generalized advantage estimation (GAE), for each game and seat by itself.

    Schulman, Moritz, Levine, Jordan and Abbeel 2016, "High-dimensional continuous control using
    generalized advantage estimation", arXiv:1506.02438.
    """
    n_steps, numbers = len(gae.seats), workspace.floats
    reward, next_value, last_advantage = numbers[0:2], numbers[2:4], numbers[4:6]
    for game in range(start, stop):
        # Where the rollout ends within an episode, bootstrap from the value of the next decision.
        # The other seat's value is its negative: the game is zero-sum.
        mover = np.int64(gae.next_seats[game])
        next_value[mover] = gae.next_values[game]
        next_value[1 - mover] = -gae.next_values[game]
        for seat in range(2):
            reward[seat] = 0.0
            last_advantage[seat] = 0.0
        for step in range(n_steps - 1, -1, -1):
            # A step may reward either seat: the reward belongs to that seat's own last decision,
            # which may be some steps earlier.
            for seat in range(2):
                if gae.dones[step, game]:
                    reward[seat] = 0.0
                    next_value[seat] = 0.0
                    last_advantage[seat] = 0.0
                reward[seat] += gae.rewards[step, game, seat]
            seat = np.int64(gae.seats[step, game])
            value = np.float64(gae.values[step, game])
            td_error = reward[seat] + gae.gamma * next_value[seat] - value
            last_advantage[seat] = td_error + gae.gamma * gae.gae_lambda * last_advantage[seat]
            gae.advantages[step, game] = last_advantage[seat]
            next_value[seat] = value
            reward[seat] = 0.0


class HiddenCards(NamedTuple):
    """Inputs and output of `write_hidden_cards`, a row for each game."""

    rules: Array
    records: Array
    seats: Array
    orders: Array
    """Order of suits in the observation."""
    env_actions: Array
    """Card of the observation at each of the network's cards, -1 for none."""
    out: Array
    """Output: four sets of cards, int8."""


@jit
def write_hidden_cards(cards: HiddenCards, workspace: RowBuffers, start: int, stop: int) -> None:
    """Cards that a seat cannot see, for a privileged critic, in four sets.

    The opponent's hand, the next card that lies face down, and of the rest of the
    stock the cards that will be turned up and those that will be drawn unseen. Where hands
    are exchanged there is no stock: the last two are the blind hands that the seat and the
    opponent may still take.
    """
    first = row(cards.rules, 0)
    for index in range(start, stop):
        game = row(cards.records, index)
        base, drawn = 2 * np.int64(first.hand), np.int64(game.drawn)
        upcards, unseen, next_facedown = NO_CARDS, NO_CARDS, NO_CARDS
        for position in range(drawn, np.int64(first.stock)):
            card = ONE << np.uint64(game.deal[base + position])
            if position == drawn + 1:
                next_facedown |= card
            if position & 1:
                unseen |= card
            else:
                upcards |= card
        seat = int(cards.seats[index])
        if game.phase == EXCHANGE:
            upcards, unseen = _blind_hand(first, game, seat), _blind_hand(first, game, 1 - seat)
        order, env_actions, out = cards.orders[index], cards.env_actions[index], cards.out[index]
        _write_cards(relabel(game.hand[1 - seat], order), env_actions, out, 0)
        _write_cards(relabel(next_facedown, order), env_actions, out, 1)
        _write_cards(relabel(upcards, order), env_actions, out, 2)
        _write_cards(relabel(unseen, order), env_actions, out, 3)


@jit
def _blind_hand(rules: Record, game: Record, seat: int) -> np.uint64:
    if game.exchanged[seat] != UNDECIDED:
        return NO_CARDS
    return dealt_hand(rules, game, SECOND_BLIND if seat == game.dealer else FIRST_BLIND)


@jit
def _write_cards(cards: np.uint64, env_actions: np.ndarray, out: np.ndarray, group: int) -> None:
    for action in range(N_CARDS):
        card = env_actions[action]
        is_in = card >= 0 and (cards >> np.uint64(card)) & ONE
        out[N_CARDS * group + action] = np.int8(1 if is_in else 0)
