"""When a run counts as having come to its budget, and how the curves of seeds are aligned.

Benchmarks and comparisons share these rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

_COMPLETE = 0.75
"""Iterations differ in length, and so do the ends of runs with one budget."""


class Measured(Protocol):
    """A point of a learning curve."""

    @property
    def decisions(self) -> float: ...


P = TypeVar("P", bound=Measured)


def ended_early(decisions: float, budget: float) -> bool:
    """Whether a run that ended after so many decisions is named as one that ended early."""
    return decisions < _COMPLETE * budget


def went_beyond(decisions: float, budget: float) -> bool:
    """Whether a run that used so many decisions is named as one that used more than its budget."""
    return ended_early(budget, decisions)


def aligned(curves: Sequence[Sequence[P]]) -> list[list[P]]:
    """The points of the seeds' curves side by side, as far as all of them go.

    Each point of the curve with the fewest is beside the points of the others that are nearest in
    decisions. Where these differ too much in decisions to be compared, the row is left out, as is a
    curve without points.
    """
    curves = [curve for curve in curves if curve]
    end = min((curve[-1].decisions for curve in curves), default=0.0)
    common = [curve[: 1 + curve.index(_nearest(curve, end))] for curve in curves]
    rows = [
        [_nearest(curve, target.decisions) for curve in common]
        for target in min(common, key=len, default=[])
    ]
    return [
        row
        for row in rows
        if not ended_early(
            min(point.decisions for point in row), max(point.decisions for point in row)
        )
    ]


def _nearest(curve: Sequence[P], decisions: float) -> P:
    return min(curve, key=lambda point: abs(point.decisions - decisions))
