"""Interquartile means and their bootstrap intervals, against SciPy and by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from german_whist.evaluation.statistics import (
    bootstrap_interquartile_mean,
    interquartile_mean,
)


def trimmed_means(rows: np.ndarray) -> np.ndarray:
    """By SciPy's statistics, which take a second to import."""
    from scipy import stats

    return stats.trim_mean(rows, 0.25, axis=1)


@pytest.mark.parametrize("count", range(1, 14))
def test_interquartile_mean_is_the_trimmed_mean(count: int) -> None:
    values = np.random.default_rng(count).exponential(size=count)
    assert interquartile_mean(values) == pytest.approx(trimmed_means(values[None])[0])


def test_bootstrap_draws_runs_within_their_task() -> None:
    tasks = [[1.0, 2.0, 4.0], [10.0, 20.0]]
    # Five runs, of which the lowest and the highest are left out: by hand, all draws alike.
    draws = [
        np.mean(sorted([*first, *second])[1:-1])
        for first in product(tasks[0], repeat=3)
        for second in product(tasks[1], repeat=2)
    ]
    estimate = bootstrap_interquartile_mean(tasks)
    assert estimate.value == pytest.approx((2 + 4 + 10) / 3)
    low, high = np.quantile(draws, [0.025, 0.975])
    assert estimate.low == pytest.approx(low, abs=0.35)
    assert estimate.high == pytest.approx(high, abs=0.35)
    assert estimate == bootstrap_interquartile_mean(tasks)


def test_bootstrap_interval_agrees_with_scipy() -> None:
    from scipy import stats

    values = np.random.default_rng(3).normal(size=40)
    estimate = bootstrap_interquartile_mean([values])
    found = stats.bootstrap(
        (values,),
        lambda each, axis: stats.trim_mean(each, 0.25, axis=axis),
        method="percentile",
        n_resamples=10_000,
    ).confidence_interval
    assert [estimate.low, estimate.high] == pytest.approx([found.low, found.high], abs=0.03)


def test_bootstrap_leaves_out_a_quarter_of_each_draw() -> None:
    values = np.random.default_rng(5).exponential(size=20)
    drawn = values[np.random.default_rng(0).integers(20, size=(10_000, 20))]
    low, high = np.quantile(trimmed_means(drawn), [0.025, 0.975])
    estimate = bootstrap_interquartile_mean([values])
    assert [estimate.low, estimate.high] == pytest.approx([low, high])
