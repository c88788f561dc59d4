"""Statistics of a benchmark's results: interquartile means, all pairs, and their figure."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Container, Mapping, Sequence
from itertools import combinations
from typing import Any

from ...common.markup import markdown_code, markdown_table, markdown_text, one_line
from ...common.suggestions import not_installed
from ...common.typing import Array
from ...evaluation import Estimate
from ...evaluation.reports.charts import PALETTE
from ...evaluation.statistics import (
    bootstrap_interquartile_mean,
    difference_of_means,
    mean_of,
)

Column = tuple[str, str]
"""A rule set and a metric."""
Values = Mapping[Column, Mapping[str, Array]]
"""Last values by seed, of each algorithm in each column."""
LEAST_SHOWN = 1e-5
"""Lowest exploitability in a chart: CFR+ falls on, and would flatten all others."""
FIGURE = "benchmark-intervals"
"""Name of the figure's files, without ending."""


def interquartile_table(values: Values, shares: Mapping[str, Sequence[Array]]) -> str:
    """Interquartile means by algorithm and column; `shares` are of random play, by deck and seed.

    The shares of all decks are one sample, as in rliable.
    """
    names = dict.fromkeys(name for column in values.values() for name in column)
    header = ["algorithm", *map(_title, values)]
    if shares:
        header.append("share of random play's, all decks")
    rows: list[list[str]] = []
    for name in names:
        cells = [
            _spread_text([column[name]]) if name in column else "–" for column in values.values()
        ]
        if shares:
            decks = shares.get(name)
            cells.append(_spread_text(decks, 3) if decks else "–")
        rows.append([markdown_code(name, in_table=True), *cells])
    return markdown_table(header, rows, right=range(1, len(header)))


def _spread_text(tasks: Sequence[Array], digits: int = 4) -> str:
    """The interquartile mean of several tasks; it has no interval if one of them has one run."""
    estimate = bootstrap_interquartile_mean(tasks)
    if min(map(len, tasks)) < 2:
        estimate = Estimate(estimate.value, -math.inf, math.inf)
    return estimate_text(estimate, digits)


def pairs_table(values: Values, one_of: Container[str] | None = None) -> str:
    """Differences of the means of all pairs with Welch's intervals; bold: without 0.

    With `one_of`, only pairs that have at least one of these algorithms. Empty where no two
    algorithms have two seeds each.
    """
    names = dict.fromkeys(name for column in values.values() for name in column)
    rows: list[list[str]] = []
    for first, second in combinations(names, 2):
        if one_of is not None and first not in one_of and second not in one_of:
            continue
        cells = [_difference(column.get(first), column.get(second)) for column in values.values()]
        if any(cells):
            pair = " − ".join(markdown_code(name, in_table=True) for name in (first, second))
            rows.append([pair, *(cell or "–" for cell in cells)])
    header = ["pair", *map(_title, values)]
    return markdown_table(header, rows, right=range(1, len(header))) if rows else ""


def _difference(first: Array | None, second: Array | None) -> str:
    if first is None or second is None or min(len(first), len(second)) < 2:
        return ""
    difference = difference_of_means(first, second)
    text = estimate_text(difference)
    return f"**{text}**" if difference.low > 0 or difference.high < 0 else text


def _title(column: Column) -> str:
    rules, metric = column
    return f"{markdown_code(rules, in_table=True)} {markdown_text(metric)}"


def estimate_text(estimate: Estimate, digits: int = 4) -> str:
    """A value with its interval in brackets, if it has one."""
    low, value, high = (
        _number_text(bound, digits) for bound in (estimate.low, estimate.value, estimate.high)
    )
    return f"{value} [{low}, {high}]" if math.isfinite(estimate.margin_of_error) else value


def _number_text(number: float, digits: int) -> str:
    """A number with so many digits behind the point; a small one with two digits that count."""
    if not number or abs(number) >= 0.001:
        return f"{number:.{digits}f}"
    if abs(number) < 1e-6:
        return f"{number:.1e}"
    return f"{number:.{1 - math.floor(math.log10(abs(number)))}f}"


def draw_intervals(values: Values, *, log: Sequence[Column] = ()) -> dict[str, bytes]:
    """A figure of all means as SVG and PDF, by file name; `log` are columns on logarithmic axes.

    A dot is the interquartile mean, and the thick line its bootstrap interval. The thin line is the
    interval of the mean (Student's t).
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_pdf import FigureCanvasPdf
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter, NullFormatter
    except ImportError:
        raise ValueError(not_installed("the figure of intervals", "matplotlib", "train")) from None
    names = [*dict.fromkeys(name for column in values.values() for name in column)]
    style: Any = {"svg.hashsalt": FIGURE, "svg.fonttype": "none", "font.size": 9}
    with warnings.catch_warnings(), mpl.rc_context({**style, "text.parse_math": False}):
        warnings.simplefilter("ignore")  # a name may have characters that the font lacks
        figure = Figure((2.4 + 2.6 * len(values), 0.9 + 0.32 * len(names)), layout="constrained")
        panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
        for panel, (column, by_name) in zip(panels, values.items(), strict=True):
            for name, runs in by_name.items():
                place, color = names.index(name), PALETTE[names.index(name) % len(PALETTE)]
                middle, mean = bootstrap_interquartile_mean([runs]), mean_of(runs)
                if column in log and middle.value < LEAST_SHOWN:
                    continue
                least = min(runs) / 2 if column in log else -math.inf
                panel.plot([middle.low, middle.high], [place, place], color=color, linewidth=4)
                if len(runs) > 2:
                    ends = [max(mean.low, least), mean.high]
                    panel.plot(ends, [place, place], color=color, linewidth=1)
                panel.plot([middle.value], [place], "o", color=color, markersize=5)
            if column in log:
                panel.set_xscale("log")
                panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                panel.xaxis.set_minor_formatter(NullFormatter())
            panel.set_title(one_line(column[0]), fontsize=9)
            panel.set_xlabel(one_line(column[1]))
            panel.grid(axis="x", linewidth=0.4)
        panels[0].set_yticks(range(len(names)), [*map(one_line, names)])
        panels[0].invert_yaxis()
        files: dict[str, bytes] = {}
        kinds = (("svg", FigureCanvasSVG, "Date"), ("pdf", FigureCanvasPdf, "CreationDate"))
        for ending, canvas, date in kinds:
            stream = io.BytesIO()
            canvas(figure).print_figure(stream, format=ending, metadata={date: None})
            files[f"{FIGURE}.{ending}"] = stream.getvalue()
    return files
