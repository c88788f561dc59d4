"""Value of a view: the value network's mean over sampled hands of the opponent.

The network reads a position before a trick with both hands open. A view in the middle of a trick is
first played on by the agent's own action; endings count exactly.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import jit
from ...engine.dtypes import OVER
from ...engine.endgame.game_values import best_tricks
from ...engine.play import payoff_of_tricks, play, row, stock_left
from ...engine.rules import Rules
from ...engine.sampling.determinizations import sample_determinizations
from ...engine.view import View
from ..base import Array
from .mlp import MLPBatch, MLPWeights, forward_rows, new_mlp_batch
from .value import MAX_VALUE_INPUTS, expected_payoff, outcome_payoffs, write_value_inputs

SAMPLES = 64


@jit
def _leader_values(
    rules: np.ndarray, games: np.ndarray, net: MLPWeights, rows: MLPBatch, payoffs: np.ndarray
) -> np.ndarray:
    """The network's value for the player on lead, NaN for endings."""
    values = np.full(len(games), np.nan)
    for index in range(len(games)):
        game = row(games, index)
        if stock_left(row(rules, 0), game) > 0:
            rows.n_active[0] = write_value_inputs(row(rules, 0), game, rows.active_inputs[0])
            forward_rows(net, rows, 1)
            values[index] = expected_payoff(rows.out[0], payoffs)
    return values


@jit
def _apply_to_all(rules: np.ndarray, games: np.ndarray, action: int) -> None:
    for index in range(len(games)):
        play(row(rules, 0), row(games, index), action)


def view_values(
    rules: Rules, views: Array, actions: Array, net: MLPWeights, samples: int = SAMPLES
) -> Array:
    """Expected payoff of the hand for the player of each view, who plays `actions`."""
    return sampled_values(rules, views, actions, net, samples).mean(axis=1)


def sampled_values(
    rules: Rules, views: Array, actions: Array, net: MLPWeights, samples: int = SAMPLES
) -> Array:
    """`(n, samples)`: the expected payoff in each sampled hand of the opponent."""
    record = rules.array()
    rows, payoffs = new_mlp_batch(net, 1, MAX_VALUE_INPUTS), outcome_payoffs(rules)
    sampled = np.empty((len(views), samples))
    for index, action in enumerate(actions.tolist()):
        view = View(rules, views[index : index + 1])
        games = sample_determinizations(view, samples, method="voids")
        if view.led is not None:
            _apply_to_all(record, games, action)
        values = _leader_values(record, games, net, rows, payoffs)
        signs = np.where(games["leader"] == view.seat, 1.0, -1.0)
        solved = np.flatnonzero(np.isnan(values))
        if len(solved):
            values[solved] = _ending_values(record, games[solved])
        sampled[index] = signs * values
    return sampled


def _ending_values(record: Array, games: Array) -> Array:
    """Payoff of the player on lead with perfect play by both, of finished hands their result."""
    taken = np.zeros(len(games), np.int64)
    unfinished = games["phase"] != OVER
    taken[unfinished] = best_tricks(games[unfinished])
    rows, leaders = np.arange(len(games)), games["leader"].astype(np.int64)
    left = np.where(unfinished, np.bitwise_count(games["hand"][:, 0]), 0)
    own = games["tricks"][rows, leaders] + taken
    other = games["tricks"][rows, 1 - leaders] + left - taken
    rules = row(record, 0)
    return np.array(
        [
            float(payoff_of_tricks(rules, 0, int(first), int(second)))
            for first, second in zip(own, other, strict=True)
        ]
    )
