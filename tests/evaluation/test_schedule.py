"""A pairing stops at a number of pairs, or at a precision of the win rate."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist.evaluation import kernels as k
from german_whist.evaluation.schedule import StoppingRule
from german_whist.evaluation.tally import Tally, win_rate_of


def win_rate_at_stop(stopping_rule: StoppingRule, wins: np.ndarray) -> tuple[float, float, float]:
    """Win rate and interval where a pairing stops, from the games won on each deal."""
    tally, wins = Tally(), 2 * wins
    for start in range(0, len(wins), stopping_rule.chunk):
        part = wins[start : start + stopping_rule.chunk]
        tally.pairs += len(part)
        tally.totals[k.RESULT] += part.sum()
        tally.moments[k.RESULT, k.RESULT] += np.square(part).sum()
        if stopping_rule.reached(tally):
            break
    found = win_rate_of(tally)
    return found.value, found.low, found.high


@pytest.mark.parametrize(
    ("lost", "won", "until"),
    [
        (0.25, 0.25, 0.03),
        (0.81, 0.01, 0.03),
        (0.96, 0.0004, 0.01),
        (0.99, 0.0, 0.005),
        (0.0, 0.05, 0.01),
        (0.0, 0.002, 0.0025),
    ],
)
def test_limits_until_biases_by_an_eighth_at_most(lost: float, won: float, until: float) -> None:
    """The bounds on the page that explains `--until`, with some room for chance."""
    truth, rounds, rng = (1 + won - lost) / 2, 500, np.random.default_rng(8)
    probabilities = (lost, 1 - lost - won, won)
    deals = rng.choice(3, (rounds, 4096), p=probabilities)
    found = np.array([win_rate_at_stop(StoppingRule(1 << 40, until), each) for each in deals])
    bias, error = found[:, 0].mean() - truth, found[:, 0].std() / rounds**0.5
    assert abs(bias) < until / 8 + 2 * error
    assert np.mean((found[:, 1] <= truth) & (truth <= found[:, 2])) > 0.9
