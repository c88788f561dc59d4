"""Probability of improvement: its value, and how often its interval covers the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from german_whist.evaluation.statistics import probability_of_improvement

Array = np.ndarray[Any, Any]
Runs = Callable[[np.random.Generator, int], Array]


def wins_of(first: Array, second: Array) -> Array:
    differences = np.subtract.outer(first, second)
    return (differences > 0) + 0.5 * (differences == 0)


def grid_interval(wins: Array) -> tuple[float, float]:
    """The interval by its definition: all probabilities of a fine grid that are near enough."""
    m, n = wins.shape
    value = wins.mean()
    parts = wins.mean(1).var(ddof=1) / m, wins.mean(0).var(ddof=1) / n
    freedom = min(m, n) - 1
    if sum(parts):
        welch = sum(parts) ** 2 / (parts[0] ** 2 / (m - 1) + parts[1] ** 2 / (n - 1))
        freedom = max(freedom, welch)

    def variance(p: Any) -> Any:
        q1, q2, mean = p / (2 - p), 2 * p**2 / (1 + p), (m + n) / 2
        return (p * (1 - p) + (mean - 1) * (q1 - p**2 + q2 - p**2)) / (m * n)

    inner = np.clip(value, 0.5 / (m * n), 1 - 0.5 / (m * n))
    scale = max(1.0, sum(parts) / variance(inner))
    grid = np.linspace(0, 1, 100_001)
    reach = special.stdtrit(freedom, 0.975) * np.sqrt(scale * variance(grid))
    inside = grid[np.abs(grid - value) <= reach + 1e-12]
    return min(inside[0], value), max(inside[-1], value)


CASES = {
    "separate": ([3.0, 4.0], [1.0, 2.0]),
    "mixed": ([0.5, 0.52, 0.54], [0.53, 0.55, 0.6]),
    "ties": ([1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 2.0]),
    "unequal": ([0.1, 5.0, 9.0, 2.0, 2.5], [1.0, 2.2]),
    "spread": ([-9.0, 8.0, -7.0, 9.0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
}


@pytest.mark.parametrize("name", CASES)
def test_interval_of_improvement_is_that_of_its_definition(name: str) -> None:
    first, second = map(np.array, CASES[name])
    wins = wins_of(first, second)
    estimate = probability_of_improvement(wins)
    assert estimate.value == wins.mean()
    assert (estimate.low, estimate.high) == pytest.approx(grid_interval(wins), abs=2e-3)
    # Neither of the two is preferred.
    mirrored = probability_of_improvement(wins_of(second, first))
    assert (mirrored.low, mirrored.value, mirrored.high) == pytest.approx(
        (1 - estimate.high, 1 - estimate.value, 1 - estimate.low)
    )


def test_improvement_over_equal_runs_is_a_half() -> None:
    estimate = probability_of_improvement(wins_of(np.ones(3), np.ones(4)))
    assert estimate.value == 0.5
    assert estimate.low < 0.2
    assert estimate.high > 0.8


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_a_single_run_says_nothing_of_improvement(shape: tuple[int, int]) -> None:
    estimate = probability_of_improvement(np.ones(shape))
    assert (estimate.low, estimate.value, estimate.high) == (0.0, 1.0, 1.0)


def test_two_runs_that_win_all_pairs_are_no_proof() -> None:
    """Of two equal algorithms with two runs each, one wins all pairs in every third comparison."""
    estimate = probability_of_improvement(np.ones((2, 2)))
    assert estimate.low < 0.5
    assert estimate.high == 1


def normal(mean: float = 0.0, deviation: float = 1.0) -> Runs:
    return lambda rng, count: mean + deviation * rng.normal(size=count)


def failing(rng: np.random.Generator, count: int) -> Array:
    """Runs of which three in ten fail."""
    return rng.normal(size=count) - 8 * (rng.random(count) < 0.3)


def few_levels(rng: np.random.Generator, count: int) -> Array:
    return rng.integers(3, size=count).astype(float)


PAIRS: dict[str, tuple[Runs, Runs, float]] = {
    "equal": (normal(), normal(), 0.5),
    "better": (normal(0.7), normal(), float(special.ndtr(0.7 / np.sqrt(2)))),
    "far better": (normal(2.5), normal(), float(special.ndtr(2.5 / np.sqrt(2)))),
    "spread 1 to 3": (normal(), normal(0, 3), 0.5),
    "spread 3 to 1": (normal(0, 3), normal(), 0.5),
    "some fail": (failing, failing, 0.5),
    "some tie": (few_levels, few_levels, 0.5),
}
SIZES = [(2, 2), (3, 3), (5, 5), (10, 10), (20, 20), (2, 20), (20, 2), (3, 10), (5, 20), (10, 20)]


def coverage(first: Runs, second: Runs, truth: float, size: tuple[int, int], count: int) -> float:
    """Fraction of simulated comparisons whose interval holds the true probability."""
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(count):
        wins = wins_of(first(rng, size[0]), second(rng, size[1]))
        estimate = probability_of_improvement(wins)
        assert estimate.high > estimate.low
        covered += estimate.low <= truth <= estimate.high
    return covered / count


@pytest.mark.thorough
@pytest.mark.parametrize("size", SIZES)
def test_interval_of_improvement_covers_in_simulations(size: tuple[int, int]) -> None:
    count = 1000
    for name, (first, second, truth) in PAIRS.items():
        covered = coverage(first, second, truth, size, count)
        # Four standard errors below 95 %.
        assert covered > 0.95 - 4 * np.sqrt(0.95 * 0.05 / count), name


@pytest.mark.parametrize("size", [(2, 2), (3, 3), (2, 20)])
def test_few_equal_runs_seldom_show_an_improvement(size: tuple[int, int]) -> None:
    assert coverage(*PAIRS["equal"], size, 300) > 0.95
