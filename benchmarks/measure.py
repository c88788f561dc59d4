"""Timing of the benchmarks: rows of a table, each the best of some rounds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from german_whist.common.markup import markdown_table

ROUNDS = 5
RATIOS = ("times", "%")
"""Units of what two measurements of one machine have between them."""


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    value: float
    unit: str
    target: float | None = None
    """Minimum of a ratio, or with `at_most` the maximum."""
    at_most: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        if self.target is not None and self.unit not in RATIOS:
            raise ValueError(
                f"{self.name} has a target of {self.target} {self.unit}: a slower machine would "
                "miss it, so give ratios alone a target"
            )

    @property
    def reached(self) -> bool | None:
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "reached": self.reached}


def seconds(work: Callable[[], object]) -> float:
    """Time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def timed(times: dict[str, float], part: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """`work`, which adds the time of each call to a part of `times`."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        result = work(*args, **kwargs)
        times[part] += time.perf_counter() - start
        return result

    return inner


def rate(work: Callable[[], float], rounds: int = ROUNDS) -> float:
    """Operations per second in the best round of `work`, which returns their number.

    On a shared machine the best round is the least disturbed one.
    """
    best = 0.0
    for _ in range(rounds):
        start = time.perf_counter()
        count = work()
        best = max(best, count / (time.perf_counter() - start))
    return best


def step_rate(
    step: Callable[[Any], object], masks: Any, steps: int = 26, rounds: int = ROUNDS
) -> float:
    """Decisions per second of the step alone, with random legal actions of masks it rewrites."""
    rng, best = np.random.default_rng(0), 0.0
    for _ in range(rounds):
        total = 0.0
        for _ in range(steps):
            actions = (masks * rng.random(masks.shape, np.float32)).argmax(axis=1)
            total += seconds(partial(step, actions))
        best = max(best, len(masks) * steps / total)
    return best


def formatted(value: float) -> str:
    """A number with at least three significant digits."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(rows: list[Row]) -> str:
    lines: list[list[str]] = []
    for row in rows:
        sign = "≤" if row.at_most else "≥"
        target = "" if row.target is None else f"{sign} {formatted(row.target)}"
        mark = {None: "", True: "yes", False: "**missed**"}[row.reached]
        remark = "; ".join(part for part in (mark, row.note) if part)
        lines.append([row.name, formatted(row.value), row.unit, target, remark])
    return markdown_table(["measured", "value", "unit", "target", ""], lines, right=(1, 3))


def machine() -> dict[str, object]:
    """Date, hardware and versions."""
    import platform
    import sys

    import numba

    from german_whist.common.provenance import processor

    return {
        "date": date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "numba": numba.__version__,
    }
