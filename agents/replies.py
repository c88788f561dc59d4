"""A policy network asked inside compiled games: what would the player to move play here?

The searches put it in the other's seat, with no more than that seat may know of the game,
and the trainer of the searches plays whole hands by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine.bits import NO_CARDS, ONE
from ..engine.compiled import jit
from ..engine.layout import LONGEST_OBSERVATION, real_action
from ..engine.play import Record
from ..engine.state import VIEW
from .layers import Hidden, forward, new_hidden
from .network import PolicyNet, look, ones_of

PRIOR = 0.0025
"""What a search adds to a card's mean by each unit of the logarithm of its probability."""
UNLIKELY = -36.0
"""A card is not tried whose logit lies so far below the best one's, but at the last trick."""


class Desk(NamedTuple):
    """What one thread needs to ask a policy."""

    views: np.ndarray
    order: np.ndarray
    shown: np.ndarray
    observation: np.ndarray
    places: np.ndarray
    hidden: Hidden
    placed: np.ndarray
    """Logits as the network places them."""
    logits: np.ndarray
    """Logits of the real actions, minus infinity where not legal."""


def new_desk(net: PolicyNet) -> Desk:
    """Room to ask a policy in."""
    return Desk(
        np.zeros(1, VIEW),
        np.zeros(4, np.uint8),
        np.zeros(net.layers.sizes[-1], np.int64),
        np.zeros(LONGEST_OBSERVATION, np.int8),
        np.zeros(len(net.inputs), np.int64),
        new_hidden(net.layers.sizes),
        np.zeros(net.layers.sizes[-1], np.float32),
        np.zeros(net.layers.sizes[-1], np.float32),
    )


@jit
def ask(rules: Record, view: Record, net: PolicyNet, desk: Desk) -> None:
    """Fill `desk.logits` for the player whose view this is."""
    legal = look(
        rules, view, net.trumps_first, net.closed, desk.order, desk.shown, desk.observation
    )
    ones = desk.places[: ones_of(desk.observation, net.inputs, desk.places)]
    forward(net.layers, ones, desk.hidden, desk.placed)
    for action in range(len(desk.logits)):
        desk.logits[action] = -np.inf
    for place in range(len(desk.placed)):
        if legal != NO_CARDS and (legal >> np.uint64(place)) & ONE:
            desk.logits[real_action(desk.shown[place], desk.order)] = desk.placed[place]


@jit
def likeliest(logits: np.ndarray) -> int:
    """The action with the greatest logit."""
    best = 0
    for action in range(1, len(logits)):
        if logits[action] > logits[best]:
            best = action
    return best
