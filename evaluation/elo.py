"""Elo ratings by maximum likelihood (Bradley and Terry 1952), with intervals over deals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..common.typing import Array
from .statistics import NORMAL_QUANTILE, Estimate, t_quantile

ELO_SCALE = 400 / math.log(10)
_BASE = 1000.0


def fit_ratings(
    games: Array,
    scores: Array,
    residuals: Array | None = None,
    anchor: int | None = None,
) -> tuple[tuple[Estimate, ...], bool]:
    """Elo ratings by maximum likelihood (Bradley and Terry 1952); a tie counts as half a win.

    Returns them in the order of the agents, and whether half a tie was added to every pairing,
    because some agents won or lost everything against the others: then the maximum likelihood has
    no finite ratings.

    `games[i, j]` is the number of games between i and j, `scores[i, j]` the score of i in them.
    `residuals` are those of `deal_residuals`; by default games count as independent. The anchor,
    or without one the mean of all, is rated 1000. Bounds are infinite where the half ties that
    were added decide, or where nothing varied.
    """
    games, scores = np.asarray(games, float), np.asarray(scores, float)
    count = len(games)
    bounded = _bounded(scores, anchor)
    padded = not is_connected(scores)
    if padded:
        paired = games > 0
        games, scores = games + 0.5 * paired, scores + 0.25 * paired
    strength = _fit_strengths(games, scores)
    win_probs = _win_probs(strength)
    weights = games * win_probs * (1 - win_probs)
    np.fill_diagonal(weights, 0)
    information = _laplacian(weights)
    inverse = np.linalg.pinv(information)
    # Ratings are differences: to the anchor, or to the mean.
    reference = np.full(count, 1 / count) if anchor is None else np.eye(count)[anchor]
    contrast = np.eye(count) - reference[None, :]
    values = contrast @ strength * ELO_SCALE + _BASE
    if residuals is None:
        variances = np.diag(contrast @ inverse @ information @ inverse @ contrast.T)
        t = np.full(count, NORMAL_QUANTILE)
    else:
        # The gradient of the log-likelihood is each agent's score less its expectation, so these
        # are the influences of the deals on the ratings: the square root of the sandwich estimator.
        influences = contrast @ inverse @ np.asarray(residuals, float)
        variances = np.square(influences).sum(1)
        t = np.array([t_quantile(_degrees_of_freedom_of_influences(row)) for row in influences])
    errors = np.sqrt(np.maximum(variances, 0)) * ELO_SCALE
    margins_of_error = np.full(count, math.inf)
    finite = bounded & (errors > 1e-9)
    margins_of_error[finite] = t[finite] * errors[finite]
    if anchor is not None:
        margins_of_error[anchor] = 0.0
    elo = tuple(
        Estimate(float(value), float(value - half), float(value + half))
        for value, half in zip(values, margins_of_error, strict=True)
    )
    return elo, padded


def deal_residuals(
    agents: int, pairings: Sequence[tuple[int, int]], scores: Sequence[Array]
) -> Array:
    """Deviation of each agent's total score on each deal from its mean, `(agents, deals)`.

    `scores[n][d]` is the score on deal d of the first of the two agents `pairings[n]`. A deal is
    one observation of all pairings that played it (cluster-robust, Liang and Zeger 1986): its
    residuals add up over an agent's pairings before they are squared. Each pairing has its own
    mean, and its residuals the factor n / (n - 1) of an unbiased variance.
    """
    residuals = np.zeros((agents, max(map(len, scores), default=0)))
    for (one, two), deal_scores in zip(pairings, scores, strict=True):
        count = len(deal_scores)
        if count > 1:
            values = np.asarray(deal_scores, float)
            deviations = (values - values.mean()) * math.sqrt(count / (count - 1))
            residuals[one, :count] += deviations
            residuals[two, :count] -= deviations
    return residuals


def _degrees_of_freedom_of_influences(influences: Array) -> int:
    """Degrees of freedom of the variance of a sum of terms with this distribution.

    A variance estimated from n terms of kurtosis k varies as that of a normal sample with
    2n / (k - 1) degrees of freedom: few, where a handful of deals decides between two agents that
    play alike.
    """
    count, squares = len(influences), np.square(influences)
    most = max(count - 1, 1)
    excess = count * np.square(squares).sum() - squares.sum() ** 2
    return int(np.clip(2 * count * squares.sum() ** 2 / excess, 1, most)) if excess > 0 else most


def _win_probs(strength: Array) -> Array:
    return (1 + np.tanh((strength[:, None] - strength[None, :]) / 2)) / 2


def _laplacian(weights: Array) -> Array:
    return np.diag(weights.sum(axis=1)) - weights


def is_connected(scores: Array) -> bool:
    """Whether the graph of wins is strongly connected: otherwise some rating is unbounded."""
    return bool(_transitive_wins(scores).all())


def _transitive_wins(scores: Array) -> Array:
    """Pairs (i, j) with a chain of wins from i to j."""
    wins = (np.asarray(scores) > 0) | np.eye(len(scores), dtype=bool)
    for _ in range(len(scores)):
        wins = (wins.astype(int) @ wins.astype(int)) > 0
    return wins


def _bounded(scores: Array, anchor: int | None) -> Array:
    """Agents whose ratings have both bounds, relative to the anchor or the mean of all."""
    wins = _transitive_wins(scores)
    mutual = wins & wins.T
    return np.full(len(scores), mutual.all()) if anchor is None else mutual[anchor]


def _fit_strengths(games: Array, scores: Array) -> Array:
    """Maximum-likelihood strengths by Newton's method, which converges from equal strengths."""
    strength = np.zeros(len(games))
    for _ in range(200):
        win_probs = _win_probs(strength)
        residual = scores - games * win_probs
        gradient = residual.sum(axis=1) - np.diag(residual)
        weights = games * win_probs * (1 - win_probs)
        np.fill_diagonal(weights, 0)
        step = np.linalg.pinv(_laplacian(weights)) @ gradient
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength - strength.mean()
