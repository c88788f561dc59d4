"""Relative card ranks: observations without the gaps that played cards leave in a suit.

A ten that is the highest card left of its suit wins the tricks that its ace would have won. With
relative ranks it takes the ace's index, so a network's knowledge of one applies to the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import jit
from ...engine.batch.cpu_backend import RowBuffers
from ...engine.bitset import NO_CARDS, ONE
from ...engine.observation.spec import OBSERVATION_SPEC

# Together these are all cards that are still in play.
SETS_IN_PLAY = ("own_hand", "upcards", "led", "opponent_known", "unseen")
_STARTS = np.array([OBSERVATION_SPEC.group(name).start for name in SETS_IN_PLAY], np.int64)


@jit
def identity_action_map(action_map: np.ndarray) -> None:
    for action in range(len(action_map)):
        action_map[action] = action


@jit
def to_relative_ranks(observation: np.ndarray, action_map: np.ndarray) -> None:
    """Move the cards in play up to the highest ranks of their suits, in place.

    `action_map[i]` becomes the action that moved to index `i`, -1 for none. Played cards keep their
    real ranks.
    """
    identity_action_map(action_map)
    for suit in range(4):
        top = 13 * suit + 12
        for card in range(13 * suit + 12, 13 * suit - 1, -1):
            in_play = False
            for start in _STARTS:
                if observation[start + card]:
                    in_play = True
                    observation[start + card] = 0
                    observation[start + top] = 1
            if in_play:
                action_map[top] = card
                top -= 1
        for place in range(13 * suit, top + 1):
            action_map[place] = -1


@jit
def to_relative_actions(actions: np.uint64, action_map: np.ndarray) -> np.uint64:
    """A set of actions after the move of `to_relative_ranks`."""
    relative = NO_CARDS
    for place in range(len(action_map)):
        if action_map[place] >= 0 and (actions >> np.uint64(action_map[place])) & ONE:
            relative |= ONE << np.uint64(place)
    return relative


class InputRows(NamedTuple):
    """What a network gets of observations: `gather_rows` writes the last three arrays."""

    observations: np.ndarray
    """A row per game, as in all arrays but `inputs`."""
    masks: np.ndarray
    inputs: np.ndarray
    """Places of the observation that the network reads."""
    relative_ranks: bool
    network_inputs: np.ndarray
    network_masks: np.ndarray
    env_actions: np.ndarray
    """The action at each of the network's indices, -1 for none."""


@jit
def gather_rows(rows: InputRows, buffers: RowBuffers, start: int, stop: int) -> None:
    """Write network inputs and masks for a range of observations."""
    observation = buffers.observation[: rows.observations.shape[1]]
    for index in range(start, stop):
        for k in range(len(observation)):
            observation[k] = rows.observations[index, k]
        env_actions = rows.env_actions[index]
        if rows.relative_ranks:
            to_relative_ranks(observation, env_actions)
        else:
            identity_action_map(env_actions)
        for k in range(len(rows.inputs)):
            rows.network_inputs[index, k] = observation[rows.inputs[k]]
        for place in range(rows.masks.shape[1]):
            action = env_actions[place]
            rows.network_masks[index, place] = rows.masks[index, action] if action >= 0 else 0
