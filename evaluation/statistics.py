"""Intervals for what the arena measures, and ratings by maximum likelihood.

The two games of a deal, which is played twice with exchanged seats, are correlated, and so are
those of all pairings that play the same deal: the deal is the observation. All intervals are at
95 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..common.student_t import NORMAL_QUANTILE, quantile
from ..common.typing import Array

ELO_SCALE = 400 / math.log(10)


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """How far the interval reaches: its longer side, where one end is near 0 or 1."""
        return max(self.high - self.value, self.value - self.low)

    def to_json(self) -> dict[str, float]:
        """The figure and both ends."""
        return {"value": self.value, "low": self.low, "high": self.high}

    def scaled(self, factor: float, shift: float = 0.0) -> Estimate:
        """The same in other units."""
        ends = sorted((self.low * factor + shift, self.high * factor + shift))
        return Estimate(self.value * factor + shift, *ends)


class Moments(NamedTuple):
    """Sums over `n` observations of two quantities x and h, and of their products."""

    n: int
    x: float
    h: float
    xx: float
    xh: float
    hh: float


def ratio(moments: Moments) -> tuple[float, float]:
    """The ratio of two totals, and its standard error.

    With every h the same this is the mean of x / h.
    """
    count, x, h, xx, xh, hh = moments
    value = x / h
    if count < 2:
        return value, math.inf
    rest = max(xx - 2 * value * xh + value**2 * hh, 0.0)
    # Sums of whole numbers cancel exactly or not at all: what is left of rounding is nothing.
    if rest < 1e-9 * max(xx, value**2 * hh, 1.0):
        rest = 0.0
    return value, math.sqrt(rest * count / (count - 1)) / h


def mean_estimate(value: float, error: float, count: int) -> Estimate:
    """A mean with its interval."""
    if math.isinf(error):
        return Estimate(value, -math.inf, math.inf)
    reach = quantile(count) * error
    return Estimate(value, value - reach, value + reach)


def mean_of(values: ArrayLike) -> Estimate:
    """The mean of independent observations, such as a figure by seed, with Student's interval."""
    observations = np.asarray(values, float)
    count = len(observations)
    error = observations.std(ddof=1) / math.sqrt(count) if count > 1 else math.inf
    return mean_estimate(float(observations.mean()), float(error), count)


def share_estimate(share: float, error: float, count: int) -> Estimate:
    """A share between 0 and 1 with its score interval (Wilson 1927).

    The standard error over pairs says how many independent trials they are worth; where no
    pair was lost, or none won, each pair counts as one.
    """
    if math.isinf(error):
        return Estimate(share, 0.0, 1.0)
    spread = share * (1 - share)
    if spread > 0 and error == 0:
        return Estimate(share, share, share)
    trials = spread / error**2 if spread > 0 else float(count)
    z2 = quantile(count) ** 2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    reach = math.sqrt(z2 * (spread / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    # At the ends rounding must not move an end past the share itself.
    return Estimate(
        share, min(max(0.0, middle - reach), share), max(min(1.0, middle + reach), share)
    )


# -- ratings


@dataclass(frozen=True)
class Ratings:
    """Elo ratings in the order of the players."""

    elo: tuple[Estimate, ...]
    """Without bounds where the results tell no interval."""
    padded: bool
    """Some players won, or lost, everything against the others: their ratings, which would be
    without bound, were found with half a tie added to every pairing."""


def fit_ratings(
    games: Array, scores: Array, residuals: Array | None = None, anchor: int | None = None,
    base: float = 1000.0,
) -> Ratings:  # fmt: skip
    """Elo ratings by maximum likelihood (Bradley and Terry 1952); a tie counts as half a win.

    `games[i, j]` is how many games i and j played, `scores[i, j]` what i scored in them.
    `residuals[i, d]` is what deal d added to the total score of i beyond the mean
    (`residuals_of_deals`); by default the games count as independent wins and losses. The anchor,
    or without one the mean of all, is rated `base`. There is no interval where half a tie that was
    added decides, or where nothing varied.
    """
    games, scores = np.asarray(games, float), np.asarray(scores, float)
    count = len(games)
    bounded = _bounded(scores, anchor)
    padded = not tied_together(scores)
    if padded:
        met = games > 0
        games, scores = games + 0.5 * met, scores + 0.25 * met
    strength = _most_likely(games, scores)
    chance = _chances(strength)
    weights = games * chance * (1 - chance)
    np.fill_diagonal(weights, 0)
    information = _laplacian(weights)
    inverse = np.linalg.pinv(information)
    # Ratings are differences: to the anchor, or to the mean.
    against = np.full(count, 1 / count) if anchor is None else np.eye(count)[anchor]
    contrast = np.eye(count) - against[None, :]
    values = contrast @ strength * ELO_SCALE + base
    if residuals is None:
        variances = np.diag(contrast @ inverse @ information @ inverse @ contrast.T)
        t = np.full(count, NORMAL_QUANTILE)
    else:
        # The slope of the log-likelihood is what each scored in all less what was expected, so
        # that these are the influences of the deals on the ratings: the sandwich's square root.
        influences = contrast @ inverse @ np.asarray(residuals, float)
        variances = np.square(influences).sum(1)
        t = np.array([quantile(_degrees_of_freedom(each) + 1) for each in influences])
    errors = np.sqrt(np.maximum(variances, 0)) * ELO_SCALE
    reach = np.full(count, math.inf)
    known = bounded & (errors > 1e-9)
    reach[known] = t[known] * errors[known]
    if anchor is not None:
        reach[anchor] = 0.0
    elo = tuple(
        Estimate(float(value), float(value - half), float(value + half))
        for value, half in zip(values, reach, strict=True)
    )
    return Ratings(elo, padded)


def residuals_of_deals(
    players: int, met: Sequence[tuple[int, int]], scores: Sequence[Array]
) -> Array:
    """What each deal added to the players' total scores beyond the mean, `(players, deals)`.

    `scores[n][d]` is what the first of the two players `met[n]` scored on deal d. A deal is one
    observation of all pairings that played it (cluster-robust, Liang and Zeger 1986): its residuals
    add up over a player's pairings before they are squared. Each pairing has a mean of its own, and
    its residuals the factor n / (n - 1) of an unbiased variance.
    """
    residuals = np.zeros((players, max(map(len, scores), default=0)))
    for (one, other), of_deals in zip(met, scores, strict=True):
        count = len(of_deals)
        if count > 1:
            scored = np.asarray(of_deals, float)
            apart = (scored - scored.mean()) * math.sqrt(count / (count - 1))
            residuals[one, :count] += apart
            residuals[other, :count] -= apart
    return residuals


def _degrees_of_freedom(influences: Array) -> int:
    """How many degrees of freedom the variance of a sum of so distributed terms has.

    A variance estimated from n terms of kurtosis k scatters like a normal one's with 2n / (k - 1)
    of them: few, where a handful of deals decides between two players that play alike.
    """
    count, squares = len(influences), np.square(influences)
    most = max(count - 1, 1)
    excess = count * np.square(squares).sum() - squares.sum() ** 2
    return int(np.clip(2 * count * squares.sum() ** 2 / excess, 1, most)) if excess > 0 else most


def _chances(strength: Array) -> Array:
    """How likely each wins against each."""
    return (1 + np.tanh((strength[:, None] - strength[None, :]) / 2)) / 2


def _laplacian(weights: Array) -> Array:
    return np.diag(weights.sum(axis=1)) - weights


def tied_together(scores: Array) -> bool:
    """Whether everybody scored, by steps, against everybody: else some rating has no bound."""
    return bool(_scored_by_steps(scores).all())


def _scored_by_steps(scores: Array) -> Array:
    """Who scored against whom, or against one who did."""
    reach = (np.asarray(scores) > 0) | np.eye(len(scores), dtype=bool)
    for _ in range(len(scores)):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    return reach


def _bounded(scores: Array, anchor: int | None) -> Array:
    """Whose rating the results bound on both sides, against the anchor or the mean of all."""
    reach = _scored_by_steps(scores)
    both = reach & reach.T
    return np.full(len(scores), both.all()) if anchor is None else both[anchor]


def _most_likely(games: Array, scores: Array) -> Array:
    """The strengths that make the scores most likely, by Newton's method.

    From equal strengths it does not overshoot, however far apart the players are.
    """
    strength = np.zeros(len(games))
    for _ in range(200):
        chance = _chances(strength)
        slope = (scores - games * chance).sum(axis=1) - np.diag(scores - games * chance)
        weights = games * chance * (1 - chance)
        np.fill_diagonal(weights, 0)
        step = np.linalg.pinv(_laplacian(weights)) @ slope
        strength = strength + step
        if np.abs(step).max() < 1e-10:
            break
    return strength - strength.mean()
