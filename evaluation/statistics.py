"""Confidence intervals (95 %) of the arena's metrics: win rates, means, their degrees of freedom.

The two games of a deal, which is played twice with exchanged seats, are correlated, and so are
those of all pairings that play the same deal: the deal is the unit of observation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..common.typing import Array

NORMAL_QUANTILE = 1.959963984540054
_RESAMPLES = 10_000
# Without a pair that differs the interval is then about ± 1.4 / pairs, as of paired proportions
# with one more pair won and one more lost (Bonett and Price 2012).
_PRIOR_PAIRS = 4


@dataclass(frozen=True)
class Estimate:
    """A metric with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def margin_of_error(self) -> float:
        """Half of the interval's width; near 0 and 1, where it is asymmetric, its longer side."""
        return max(self.high - self.value, self.value - self.low)

    def scaled(self, factor: float, shift: float = 0.0) -> Estimate:
        ends = sorted((self.low * factor + shift, self.high * factor + shift))
        return Estimate(self.value * factor + shift, *ends)


_FEW = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706)
"""97.5 % quantiles of Student's t for 1 to 5 degrees of freedom."""
_BETWEEN = np.polyfit(1 / np.arange(1, 6), np.log(_FEW), 4)


def t_quantile(degrees_of_freedom: float) -> float:
    """97.5 % quantile of Student's t (Cornish–Fisher; from few degrees by a table).

    Without SciPy, which would take a second to import.
    """
    df = degrees_of_freedom
    if df < 1:
        return math.inf
    if df <= len(_FEW):
        if df == int(df):
            return _FEW[int(df) - 1]
        return float(np.exp(np.polyval(_BETWEEN, 1 / df)))
    z = NORMAL_QUANTILE
    return (
        z
        + (z**3 + z) / (4 * df)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
    )


class Moments(NamedTuple):
    """Sums over `n` observations of two quantities x and h, and of their products."""

    n: int
    x: float
    h: float
    xx: float
    xh: float
    hh: float


def ratio(moments: Moments) -> tuple[float, float]:
    """The ratio of two totals (ratio estimator), and its standard error.

    With a constant h this is the mean of x / h.
    """
    count, x, h, xx, xh, hh = moments
    value = x / h
    if count < 2:
        return value, math.inf
    residual = max(xx - 2 * value * xh + value**2 * hh, 0.0)
    # Sums of integers cancel exactly or not at all: a tiny remainder is rounding error.
    if residual < 1e-9 * max(xx, value**2 * hh, 1.0):
        residual = 0.0
    return value, math.sqrt(residual * count / (count - 1)) / h


def mean_estimate(value: float, error: float, degrees_of_freedom: float) -> Estimate:
    """A mean with Student's interval."""
    if math.isinf(error):
        return Estimate(value, -math.inf, math.inf)
    margin_of_error = t_quantile(degrees_of_freedom) * error
    return Estimate(value, value - margin_of_error, value + margin_of_error)


def mean_of(values: ArrayLike) -> Estimate:
    """The mean of independent observations, such as one per seed, with Student's interval."""
    observations = np.asarray(values, float)
    count = len(observations)
    error = observations.std(ddof=1) / math.sqrt(count) if count > 1 else math.inf
    return mean_estimate(float(observations.mean()), float(error), count - 1)


def interquartile_mean(values: ArrayLike) -> float:
    """The mean without the highest and the lowest quarter; of each, only whole runs are left out.

    >>> interquartile_mean([1, 2, 3, 4, 100])
    3.0
    """
    ordered = np.sort(np.asarray(values, float), axis=None)
    left_out = len(ordered) // 4
    return float(ordered[left_out : len(ordered) - left_out].mean())


def bootstrap_interquartile_mean(tasks: Sequence[ArrayLike]) -> Estimate:
    """The interquartile mean over all runs of several tasks, with a stratified bootstrap interval.

    Runs are drawn anew within each task (Agarwal and others 2021, as in rliable); the interval has
    the percentiles of 10,000 draws, which are the same each time. With few runs it is too narrow.
    """
    runs = [np.asarray(task, float) for task in tasks]
    rng = np.random.default_rng(0)
    drawn = [task[rng.integers(len(task), size=(_RESAMPLES, len(task)))] for task in runs]
    ordered = np.sort(np.concatenate(drawn, axis=1), axis=1)
    left_out = ordered.shape[1] // 4
    means = ordered[:, left_out : ordered.shape[1] - left_out].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(interquartile_mean(np.concatenate(runs)), float(low), float(high))


def difference_of_means(values: ArrayLike, others: ArrayLike) -> Estimate:
    """Difference of the means of independent observations, with Welch's interval."""
    first, second = np.asarray(values, float), np.asarray(others, float)
    difference = float(first.mean() - second.mean())
    if min(len(first), len(second)) < 2:
        return Estimate(difference, -math.inf, math.inf)
    variance, degrees_of_freedom = _variance_of_difference(first, second)
    return mean_estimate(difference, math.sqrt(variance), degrees_of_freedom)


def _variance_of_difference(first: Array, second: Array) -> tuple[float, float]:
    """Variance of a difference of means, and its degrees of freedom (Welch and Satterthwaite)."""
    counts = len(first), len(second)
    parts = [float(each.var(ddof=1)) / len(each) for each in (first, second)]
    variance, least = sum(parts), min(counts) - 1
    if variance == 0:
        return variance, least
    welch = variance**2 / sum(
        part**2 / (count - 1) for part, count in zip(parts, counts, strict=True)
    )
    return variance, max(least, welch)


def probability_of_improvement(wins: ArrayLike) -> Estimate:
    """Probability that a run of one algorithm beats a run of another, from all pairs of their runs.

    `wins` has a row for each run of the first algorithm and a column for each run of the second: 1
    where the first is better, a half where they are equal, or a mean of these over several tasks.

    The interval has the probabilities from which the estimate is no further than Student's quantile
    times the standard error that it would have there: Newcombe's score interval (2006, method 5)
    for the statistic of Mann and Whitney. Where runs differ more than its model says, as those of
    one algorithm may, the measured variance (DeLong and others 1988) scales the model's. So it
    covers 95 % or more from two runs on, where a bootstrap over runs covers 12 to 95 %.
    """
    matrix = np.asarray(wins, float)
    value = float(matrix.mean())
    if min(matrix.shape) < 2:
        return Estimate(value, 0.0, 1.0)
    variance, degrees_of_freedom = _variance_of_difference(matrix.mean(axis=1), matrix.mean(axis=0))
    # Without a variance one of them wins always, where the model's is 0 too.
    scale = max(1.0, variance / _pair_variance(value, matrix.shape)) if variance else 1.0
    reach = t_quantile(degrees_of_freedom) ** 2 * scale

    def bound(outside: float) -> float:
        inside = value
        for _ in range(50):
            middle = (inside + outside) / 2
            if (value - middle) ** 2 <= reach * _pair_variance(middle, matrix.shape):
                inside = middle
            else:
                outside = middle
        return inside

    return Estimate(value, bound(0.0), bound(1.0))


def _pair_variance(probability: float, shape: tuple[int, ...]) -> float:
    """Variance of the mean over all pairs of runs: Hanley and McNeil (1982), balanced."""
    p, runs = probability, sum(shape) / 2
    return p * (1 - p) * (1 + (runs - 1) * ((1 - p) / (2 - p) + p / (1 + p))) / math.prod(shape)


def win_rate_error(win_rate: float, error: float, pairs: int, games: int) -> float:
    """The standard error of a win rate, with the correlation of a pair's games shrunk towards none.

    Where the games of nearly all pairs canceled, the pairs that differed are too few to tell how
    many do: their variance is averaged with that of independent games, which weighs as much as
    `_PRIOR_PAIRS` pairs. Among hundreds of pairs that differ this changes nothing that is printed.
    """
    independent = max(win_rate * (1 - win_rate), 0.0) / games
    shrunk = (pairs * error**2 + _PRIOR_PAIRS * independent) / (pairs + _PRIOR_PAIRS)
    return max(error, math.sqrt(shrunk))


def win_rate_estimate(
    win_rate: float, error: float, pairs: int, games: int | None = None
) -> Estimate:
    """A win rate with its score interval (Wilson 1927).

    The effective number of trials follows from the standard error over pairs (`win_rate_error`); if
    all or no pairs were won, each pair is a trial. `games` is by default two a pair.
    """
    if math.isinf(error):
        return Estimate(win_rate, 0.0, 1.0)
    error = win_rate_error(win_rate, error, pairs, 2 * pairs if games is None else games)
    variance = win_rate * (1 - win_rate)
    trials = variance / error**2 if variance > 0 else float(pairs)
    z2 = t_quantile(pairs - 1) ** 2
    center = (win_rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = math.sqrt(z2 * (variance / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    # Rounding must not move a bound past the win rate itself.
    return Estimate(
        win_rate, min(max(0.0, center - half), win_rate), max(min(1.0, center + half), win_rate)
    )
