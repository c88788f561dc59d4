"""Argmax and softmax over a set of actions.

In compiled code sums run over actions in rising order, in float64 for any type of logits, so that a
draw is the same everywhere.
"""

from __future__ import annotations

import math

import numpy as np

from ..common.jit.compiler import jit
from ..common.typing import Array
from ..engine.bitset import ONE


@jit
def masked_argmax(values: np.ndarray, legal: np.uint64) -> int:
    """The legal action with the greatest value, the lowest of equals; -1 if none is legal."""
    best = -1
    for action in range(len(values)):
        if (legal >> np.uint64(action)) & ONE and (best < 0 or values[action] > values[best]):
            best = action
    return best


def softmax_rows(logits: Array) -> Array:
    """Probabilities of each row of logits, which are minus infinity for illegal actions.

    In NumPy: whole arrays at once, for results on whose last digit no random draw depends.
    """
    probs = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return probs / probs.sum(axis=1, keepdims=True)


@jit
def masked_softmax(logits: np.ndarray, legal: np.uint64, weights: np.ndarray) -> float:
    """Write each action's unnormalized probability, 0 where illegal; returns their sum."""
    best = masked_argmax(logits, legal)
    total = 0.0
    for action in range(len(logits)):
        weights[action] = 0.0
        if (legal >> np.uint64(action)) & ONE:
            weights[action] = math.exp(np.float64(logits[action] - logits[best]))
            total += weights[action]
    return total
