"""Figures as people read them: shares, signed numbers with their reach, times."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .statistics import Estimate


def percent(share: float, digits: int = 1) -> str:
    """A share as `49.8 %`."""
    return f"{100 * share:.{digits}f} %"


def percent_with_reach(share: Estimate) -> str:
    """A share with half of its interval, as `49.8 ± 0.5 %`."""
    digits = 1 if share.half_width >= 0.0005 or share.half_width == 0 else 2
    return f"{100 * share.value:.{digits}f} ± {100 * share.half_width:.{digits}f} %"


def number_with_reach(number: Estimate, digits: int = 2) -> str:
    """A signed figure with half of its interval, as `+0.12 ± 0.04`, if it is known."""
    return f"{signed(number.value, digits)} {reach(number, digits)}".rstrip()


def reach(number: Estimate, digits: int) -> str:
    """Half of a figure's interval as `± 0.04`; nothing where no interval is known."""
    half = number.half_width
    return f"± {half:.{digits}f}" if math.isfinite(half) else ""


def signed(value: float, digits: int = 2) -> str:
    """A figure with its sign, which nothing does not have."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else text[1:]


def milliseconds(value: float | None) -> str:
    """A time a move with two or three digits that count."""
    if value is None:
        return "–"
    for limit, digits in ((10, 1), (1, 2), (0.1, 3)):
        if value >= limit:
            return f"{value:.{digits}f}"
    return f"{value:.4f}"


def in_columns(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A table as lines, its first `left` columns to the left and the others to the right."""
    every = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    return [
        "  ".join(
            [
                *map(str.ljust, row[:left], widths[:left]),
                *map(str.rjust, row[left:], widths[left:]),
            ]
        )
        for row in every
    ]


def duration(seconds: float) -> str:
    """A time span in the units that people use for it."""
    if seconds < 90:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
