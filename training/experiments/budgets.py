"""When a run counts as having come to its budget, in benchmarks and comparisons alike."""

from __future__ import annotations

_COMPLETE = 0.75
"""Iterations differ in length, and so do the ends of runs with one budget."""


def ended_early(decisions: float, budget: float) -> bool:
    """Whether a run that ended after so many decisions is named as one that ended early."""
    return decisions < _COMPLETE * budget
