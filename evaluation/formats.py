"""Text of metrics: percentages, signed numbers with their intervals, times."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..common.markup import one_line
from .statistics import Estimate


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction as `49.8 %`."""
    return f"{100 * fraction:.{digits}f} %"


def percent_with_interval(fraction: Estimate) -> str:
    """A fraction with its margin of error, as `49.8 ± 0.5 %`."""
    digits = 1 if fraction.margin_of_error >= 0.0005 or fraction.margin_of_error == 0 else 2
    return f"{100 * fraction.value:.{digits}f} ± {100 * fraction.margin_of_error:.{digits}f} %"


def number_with_interval(number: Estimate, digits: int = 2) -> str:
    """A signed number with its margin of error, as `+0.12 ± 0.04`."""
    return f"{signed(number.value, digits)} {plus_minus(number, digits)}".rstrip()


def plus_minus(number: Estimate, digits: int) -> str:
    """The margin of error as `± 0.04`; empty if it is infinite."""
    half = number.margin_of_error
    return f"± {half:.{digits}f}" if math.isfinite(half) else ""


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign; zero has none."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else text[1:]


def milliseconds(value: float | None) -> str:
    """Milliseconds per move with two or three significant digits."""
    if value is None:
        return "–"
    for limit, digits in ((10, 1), (1, 2), (0.1, 3)):
        if value >= limit:
            return f"{value:.{digits}f}"
    return f"{value:.4f}"


def in_columns(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A table as lines; the first `left` columns are left-aligned, the others right-aligned."""
    lines = [[*map(one_line, cells)] for cells in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    align = [str.ljust] * left + [str.rjust] * (len(widths) - left)
    return [
        "  ".join(pad(cell, width) for pad, cell, width in zip(align, row, widths, strict=True))
        for row in lines
    ]


def duration(seconds: float) -> str:
    """A time span as `12.5 s`, `45 min` or `3.2 h`."""
    if seconds < 90:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
