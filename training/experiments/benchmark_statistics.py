"""Statistics of a benchmark's results: interquartile means, all pairs, and their figures."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Column = tuple[str, str]
"""A rule set and a metric."""
Values = Mapping[Column, Mapping[str, Array]]
"""Last values by seed, of each algorithm in each column."""
LEAST_SHOWN = 1e-5
"""Lowest exploitability in a chart: CFR+ falls on, and would flatten all others."""
FIGURE, PAIRS_FIGURE = "benchmark-intervals", "benchmark-pairs"
"""Names of the figures' files, without ending."""
_GRAY = "#a0a0a0"


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
    rows = [
        [
            " − ".join(markdown_code(name, in_table=True) for name in pair),
            *(_difference_text(differences.get(column)) for column in values),
        ]
        for pair, differences in _pairs(values, one_of).items()
    ]
    header = ["pair", *map(_title, values)]
    return markdown_table(header, rows, right=range(1, len(header))) if rows else ""


def _pairs(
    values: Values, one_of: Container[str] | None = None
) -> dict[tuple[str, str], dict[Column, Estimate]]:
    """The differences of all pairs that have two seeds each, by the columns where they have."""
    names = dict.fromkeys(name for column in values.values() for name in column)
    pairs: dict[tuple[str, str], dict[Column, Estimate]] = {}
    for first, second in combinations(names, 2):
        if one_of is not None and first not in one_of and second not in one_of:
            continue
        differences = {
            column: difference_of_means(by_name[first], by_name[second])
            for column, by_name in values.items()
            if min(len(by_name.get(first, ())), len(by_name.get(second, ()))) > 1
        }
        if differences:
            pairs[first, second] = differences
    return pairs


def _difference_text(difference: Estimate | None) -> str:
    if difference is None:
        return "–"
    text = estimate_text(difference)
    return f"**{text}**" if _without_zero(difference) else text


def _without_zero(difference: Estimate) -> bool:
    return difference.low > 0 or difference.high < 0


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
    names = [*dict.fromkeys(name for column in values.values() for name in column)]

    def draw(panel: Axes, column: Column) -> None:
        for name, runs in values[column].items():
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

    return _figure(FIGURE, [*values], names, draw)


def draw_pairs(values: Values, *, log: Sequence[Column] = ()) -> dict[str, bytes]:
    """A figure of what `pairs_table` has, as SVG and PDF by file name; gray intervals contain 0.

    Columns of `log` have an axis that is linear around 0, and logarithmic beyond.
    """
    pairs = _pairs(values)
    if not pairs:
        return {}
    labels = [" − ".join(pair) for pair in pairs]

    def draw(panel: Axes, column: Column) -> None:
        places = {
            place: pair[column] for place, pair in enumerate(pairs.values()) if column in pair
        }
        near = median([each.margin_of_error for each in places.values()] or [0.0])
        if column in log and near:
            panel.set_xscale("symlog", linthresh=near)
            farthest = max(max(-each.low, each.high) for each in places.values())
            powers = range(math.ceil(math.log10(near)), math.floor(math.log10(farthest)) + 1)
            ticks = [10.0**power for power in powers]
            panel.set_xticks([*(-tick for tick in reversed(ticks)), 0, *ticks])
        for place, difference in places.items():
            color = PALETTE[1] if _without_zero(difference) else _GRAY
            ends = [difference.low, difference.high]
            panel.plot(ends, [place, place], color=color, linewidth=2)
            panel.plot([difference.value], [place], "o", color=color, markersize=4)
        panel.axvline(0, color="black", linewidth=0.8)

    return _figure(PAIRS_FIGURE, [*values], labels, draw)


def _figure(
    name: str,
    columns: Sequence[Column],
    labels: Sequence[str],
    draw: Callable[[Axes, Column], None],
) -> dict[str, bytes]:
    """A panel for each column with a line for each label, as SVG and PDF by file name."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_pdf import FigureCanvasPdf
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter, NullFormatter
    except ImportError:
        raise ValueError(not_installed("the figure of intervals", "matplotlib", "train")) from None
    style: Any = {"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 9}
    with warnings.catch_warnings(), mpl.rc_context({**style, "text.parse_math": False}):
        warnings.simplefilter("ignore")  # a name may have characters that the font lacks
        width = 0.3 + 0.08 * max(map(len, labels), default=0)
        size = max(width, 2.4) + 2.6 * len(columns), 0.9 + 0.32 * len(labels)
        figure = Figure(size, layout="constrained")
        panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
        for panel, column in zip(panels, columns, strict=True):
            draw(panel, column)
            if panel.get_xscale() != "linear":
                panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                panel.xaxis.set_minor_formatter(NullFormatter())
            panel.set_title(one_line(column[0]), fontsize=9)
            panel.set_xlabel(one_line(column[1]))
            panel.grid(axis="x", linewidth=0.4)
        panels[0].set_yticks(range(len(labels)), [*map(one_line, labels)])
        panels[0].invert_yaxis()
        files: dict[str, bytes] = {}
        kinds = (("svg", FigureCanvasSVG, "Date"), ("pdf", FigureCanvasPdf, "CreationDate"))
        for ending, canvas, date in kinds:
            stream = io.BytesIO()
            canvas(figure).print_figure(stream, format=ending, metadata={date: None})
            files[f"{name}.{ending}"] = stream.getvalue()
    return files
