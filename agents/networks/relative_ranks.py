"""Observations in which the gaps that played cards leave in a suit are closed.

A ten that is the highest card left of its suit takes the tricks that its ace would
have taken. With closed ranks it stands where the ace stood, so that what a network
learns of one holds for the other. `gather_rows` takes what a network reads out of many.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE
from ...common.jit.compiler import jit
from ...engine.batch.cpu_backend import RowBuffers
from ...engine.observation.layout import LAYOUT

# Together these are all cards that are still in play.
SETS_IN_PLAY = ("own_hand", "upcards", "led", "opponent_known", "unseen")
_STARTS = np.array([LAYOUT.group(name).start for name in SETS_IN_PLAY], np.int64)


@jit
def keep_ranks(shown: np.ndarray) -> None:
    """The places of actions when nothing is moved."""
    for action in range(len(shown)):
        shown[action] = action


@jit
def close_ranks(observation: np.ndarray, shown: np.ndarray) -> None:
    """Move the cards in play up to the highest ranks of their suits, in place.

    `shown[action]` becomes the action that now stands in this place, -1 for none.
    What was played keeps its real ranks.
    """
    keep_ranks(shown)
    for suit in range(4):
        top = 13 * suit + 12
        for card in range(13 * suit + 12, 13 * suit - 1, -1):
            there = False
            for start in _STARTS:
                if observation[start + card]:
                    there = True
                    observation[start + card] = 0
                    observation[start + top] = 1
            if there:
                shown[top] = card
                top -= 1
        for place in range(13 * suit, top + 1):
            shown[place] = -1


@jit
def closed_actions(actions: np.uint64, shown: np.ndarray) -> np.uint64:
    """A set of actions as the places where `close_ranks` put them."""
    found = NO_CARDS
    for place in range(len(shown)):
        if shown[place] >= 0 and (actions >> np.uint64(shown[place])) & ONE:
            found |= ONE << np.uint64(place)
    return found


@jit
def gather_rows(
    observations: np.ndarray,
    masks: np.ndarray,
    inputs: np.ndarray,
    closed: bool,
    out: np.ndarray,
    masks_out: np.ndarray,
    shown: np.ndarray,
    room: RowBuffers,
    start: int,
    stop: int,
) -> None:
    """The network's inputs and masks out of what the games show, for some of the rows.

    `shown` becomes the action that stands in each of the network's places, -1 for none.
    """
    observation = room.observation[: observations.shape[1]]
    for index in range(start, stop):
        for k in range(observations.shape[1]):
            observation[k] = observations[index, k]
        if closed:
            close_ranks(observation, shown[index])
        else:
            keep_ranks(shown[index])
        for k in range(len(inputs)):
            out[index, k] = observation[inputs[k]]
        for place in range(masks.shape[1]):
            action = shown[index, place]
            masks_out[index, place] = masks[index, action] if action >= 0 else 0
