"""Belief of a view: the probability of each card to be in the opponent's hand."""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import jit
from ...engine.cards import N_CARDS
from ...engine.play import row
from ...engine.rules import Rules
from ..base import Array
from .belief import MAX_BELIEF_INPUTS, MAX_ODDS, write_belief_inputs, write_odds
from .mlp import MLPBatch, MLPWeights, forward_rows, new_mlp_batch


@jit
def _write_view_odds(
    rules: np.ndarray, views: np.ndarray, net: MLPWeights, rows: MLPBatch, odds: np.ndarray
) -> None:
    order, positions = np.zeros(4, np.uint8), np.zeros(4, np.int64)
    for index in range(len(views)):
        view = row(views, index)
        rows.n_active[0] = write_belief_inputs(
            row(rules, 0), view, order, positions, rows.active_inputs[0]
        )
        forward_rows(net, rows, 1)
        write_odds(view, positions, rows.out[0], odds[index])


def view_beliefs(rules: Rules, views: Array, net: MLPWeights) -> Array:
    """`(n, 52)`: probability of each card to be in the opponent's hand, 1 for known ones.

    The network's odds are those of hands of the right size, as the searches draw them.
    """
    odds = np.zeros((len(views), N_CARDS))
    _write_view_odds(rules.array(), views, net, new_mlp_batch(net, 1, MAX_BELIEF_INPUTS), odds)
    known = _as_flags(views["opponent_known"])
    hidden = views["opponent_hand_size"].astype(np.int64) - known.sum(axis=1)
    unseen = _as_flags(views["unseen"])
    beliefs = known.astype(np.float64)
    for index, count in enumerate(hidden.tolist()):
        cards = np.flatnonzero(unseen[index])
        beliefs[index, cards] = inclusion_probabilities(odds[index, cards], count)
    return beliefs


def inclusion_probabilities(odds: Array, count: int) -> Array:
    """Probability of each card in a set of `count`, drawn in proportion to its product of odds."""
    if np.count_nonzero(odds) < count:  # as `sum_hand_weights` does
        odds = np.maximum(odds, 1 / MAX_ODDS)
    # Polynomials whose coefficient of x^k sums the products of k odds, below and above each card.
    below, above = [np.ones(1)], [np.ones(1)]
    for odd in odds:
        below.append(np.convolve(below[-1], (1.0, odd))[: count + 1])
    for odd in odds[::-1]:
        above.append(np.convolve(above[-1], (1.0, odd))[: count + 1])
    total = below[-1][count]
    probabilities = np.zeros(len(odds))
    for place, odd in enumerate(odds if count else ()):
        others = np.convolve(below[place], above[len(odds) - place - 1])
        probabilities[place] = odd * others[count - 1] / total
    return probabilities


def _as_flags(cards: Array) -> Array:
    """`(n, 52)` bool of card sets."""
    return (cards[:, None] >> np.arange(N_CARDS, dtype=np.uint64) & np.uint64(1)).astype(np.bool_)
