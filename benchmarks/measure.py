"""How the benchmarks measure: rows of a table, the best of some rounds, one core by default."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

ROUNDS = 5


@dataclass(frozen=True)
class Row:
    """One measured figure."""

    name: str
    value: float
    unit: str
    target: float | None = None
    """What it is meant to reach: at least, or at most where less is better."""
    at_most: bool = False
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target

    def as_dict(self) -> dict[str, object]:
        """The row for a JSON file."""
        return {**asdict(self), "reached": self.reached}


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rate(work: Callable[[], float], rounds: int = ROUNDS) -> float:
    """How many things a second `work` does, which returns how many it did: the best round.

    On shared machines a slow round tells of the neighbours; the best one tells of the code.
    """
    best = 0.0
    for _ in range(rounds):
        start = time.perf_counter()
        done = work()
        best = max(best, done / (time.perf_counter() - start))
    return best


def shown(value: float) -> str:
    """A figure with three or four digits that matter."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| measured | figure | unit | target | |", "|---|--:|---|--:|---|"]
    for row in rows:
        sign = "≤" if row.at_most else "≥"
        target = "" if row.target is None else f"{sign} {shown(row.target)}"
        mark = {None: "", True: "yes", False: "**missed**"}[row.reached]
        remark = "; ".join(part for part in (mark, row.note) if part)
        lines.append(f"| {row.name} | {shown(row.value)} | {row.unit} | {target} | {remark} |")
    return "\n".join(lines)


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    import platform
    import sys

    import numba
    import numpy

    from german_whist.evaluation.provenance import processor

    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "numba": numba.__version__,
    }
