"""SVG charts and HTML pages of all reports: one palette, round ticks, intervals as bands.

Colors are classes of the page's style sheet, so that a chart follows its light or dark look.
Pages are self-contained.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ...common.markup import html_text

T = TypeVar("T")

PALETTE = ("#b4531b", "#2c6a9b", "#5a7d2a", "#8b4a8b", "#0f7f7a", "#8a6d00", "#b0305c", "#4f5664")
_PALETTE_DARK = (
    "#e8894a",
    "#6ab0e0",
    "#a5c96a",
    "#d09ad0",
    "#5cc4be",
    "#d9bd4e",
    "#ef7fa6",
    "#b9c0cc",
)


def _colours(shades: Sequence[str]) -> str:
    return " ".join(f"--line{number}: {shade};" for number, shade in enumerate(shades))


_STYLE = f"""
:root {{ color-scheme: light dark; --ink: #1f2430; --soft: #5d6675; --rule: #d9dde5;
  --paper: #fbfbf9; --card: #ffffff; {_colours(PALETTE)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e8e8e4; --soft: #a2a9b5; --rule: #3a404c;
  --paper: #16191f; --card: #1e222a; {_colours(_PALETTE_DARK)} }} }}
:root {{ --ahead: var(--line0); --behind: var(--line1); }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }}
main {{ max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }}
h1 {{ font-size: 26px; margin: 0 0 4px; }} h2 {{ font-size: 18px; margin: 36px 0 8px; }}
h3 {{ font-size: 15px; margin: 0 0 6px; }}
p {{ margin: 4px 0 10px; max-width: 76ch; }} .soft, figcaption {{ color: var(--soft); }}
section.card {{ background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 16px 18px; margin: 12px 0; overflow-x: auto; }}
.side {{ display: flex; flex-wrap: wrap; gap: 12px 28px; }} figure {{ margin: 8px 0 0; }}
figcaption {{ font-size: 13px; }} pre {{ color: var(--soft); overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }}
th, td {{ padding: 4px 12px; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }}
th {{ color: var(--soft); font-weight: 600; }} th:first-child, td:first-child {{ text-align: left;
  padding-left: 0; }} .left {{ text-align: left; }}
summary {{ cursor: pointer; }}
.note {{ border-left: 3px solid var(--ahead); padding: 2px 0 2px 12px; }}
code {{ font: 13px ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }}
svg {{ max-width: 100%; height: auto; display: block; }}
svg text {{ fill: var(--ink); font-size: 13px; }}
svg .axis {{ fill: var(--soft); font-size: 12px; }}
svg .value {{ font-variant-numeric: tabular-nums; }}
svg .grid {{ stroke: var(--rule); }} svg .middle {{ stroke: var(--soft); stroke-width: 1.3; }}
svg .stage {{ stroke: var(--soft); stroke-dasharray: 4 4; }}
svg .whisker {{ stroke: var(--ink); stroke-width: 1.6; }} svg .dot {{ fill: var(--ahead); }}
svg .ahead {{ fill: var(--ahead); }} svg .behind {{ fill: var(--behind); }}
svg rect {{ fill-opacity: .72; }} svg rect.whole {{ fill-opacity: 1; }}
svg rect.empty {{ fill: var(--rule); fill-opacity: .35; }}
svg .cell {{ font-variant-numeric: tabular-nums; }}
svg .strong {{ fill: var(--card); font-weight: 600; }}
svg .curve {{ fill: none; stroke-width: 2; }} svg .band {{ fill-opacity: .16; }}
{
    " ".join(
        f"svg .curve.line{k} {{ stroke: var(--line{k}); }} svg .on.line{k}, svg .band.line{k} "
        f"{{ fill: var(--line{k}); }}"
        for k in range(len(PALETTE))
    )
}
@media (max-width: 640px) {{ figure {{ max-width: 100%; overflow-x: auto; }}
  svg {{ max-width: none; }} }}
.key {{ display: inline-block; width: 18px; height: 3px; vertical-align: middle;
  margin: 0 4px 0 10px; }}
"""


# -- pages


def page(title: str, parts: Sequence[str]) -> str:
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{html_text(title)}</title>"
        f"<style>{_STYLE} h1 {{ overflow-wrap: anywhere; }}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def card(content: str) -> str:
    """A section with a border."""
    return f'<section class="card">{content}</section>'


def figure(svg: str, caption: str) -> str:
    """A chart with an HTML caption."""
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def standalone(svg: str, names: Sequence[str]) -> str:
    """A chart as an SVG file, with a legend of its lines above."""
    head, _, body = svg.partition(">")
    _, _, width, height = re.findall(r'viewBox="(\S+) (\S+) (\S+) (\S+)"', head)[0]
    legend = "".join(
        f'<tspan dx="14" class="on {line_of(number)}">● {html_text(name)}</tspan>'
        for number, name in enumerate(names)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -24 {width} {int(height) + 24}" '
        f"role={head.partition(' role=')[2]}>"
        f"<style>{_STYLE} svg {{ background: var(--paper) }}</style>"
        f'<text x="44" y="-8">{legend}</text>{body}\n'
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """An HTML table; the first `left` columns are left-aligned, the others right-aligned."""

    def line(kind: str, cells: Sequence[str]) -> str:
        attributes = [' class="left"' if 0 < i < left else "" for i in range(len(cells))]
        return "".join(
            f"<{kind}{attribute}>{html_text(cell)}</{kind}>"
            for attribute, cell in zip(attributes, cells, strict=True)
        )

    head = line("th", header)
    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def line_of(number: int) -> str:
    """The style class of a line by its number."""
    return f"line{number % len(PALETTE)}"


def keys(names: Sequence[str]) -> str:
    """An HTML legend of a chart's colors."""
    return " ".join(
        f'<span class="key" style="background:var(--{line_of(number)})"></span>{html_text(name)}'
        for number, name in enumerate(names)
    )


# -- drawing


class Drawing:
    """An SVG drawing, built shape by shape."""

    def __init__(self, width: float, height: float, label: str) -> None:
        self.width, self.height = width, height
        self._parts = [
            f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" '
            f'aria-label="{html_text(label)}">'
        ]

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'
        )

    def bar(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        kind: str,
        *,
        tip: str = "",
        style: str = "",
    ) -> None:
        """Add a rectangle; `tip` is its tooltip."""
        title = f"<title>{html_text(tip)}</title>" if tip else ""
        attribute = f' style="{style}"' if style else ""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" '
            f'height="{max(height, 0):.1f}" class="{kind}"{attribute}>{title}</rect>'
        )

    def dot(self, x: float, y: float, kind: str, tip: str = "", size: float = 4.5) -> None:
        title = f"<title>{html_text(tip)}</title>" if tip else ""
        self._parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" class="{kind}">{title}</circle>'
        )

    def path(
        self, points: Sequence[tuple[float, float]], kind: str, shape: str = "polyline"
    ) -> None:
        """Add a line through points, or as a `polygon` the area inside."""
        coordinates = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<{shape} points="{coordinates}" class="{kind}"/>')

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """Add text; `y` is its vertical center."""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="{anchor}" '
            f'class="{kind}">{html_text(text)}</text>'
        )

    def __str__(self) -> str:
        return "".join([*self._parts, "</svg>"])


def round_steps(low: float, high: float, about: int = 6) -> list[float]:
    """About so many round numbers between `low` and `high`."""
    span = max(high - low, 1e-9)
    step = 10.0 ** math.floor(math.log10(span / about))
    for factor in (1, 2, 5, 10):
        if span / (step * factor) <= about:
            step *= factor
            break
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def signed_step(step: float) -> str:
    """The text of a tick with its sign."""
    return f"{step:+g}".replace("-", "−") if round(step, 9) else "0"


def short_number(value: float) -> str:
    """The text of a tick in short: `250 k`, `1.5 M`."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{round(value, 9):g}".replace("-", "−")


# -- curves


@dataclass(frozen=True)
class Curve:
    """Points of a line, with their intervals."""

    points: Sequence[tuple[float, float]]
    margins_of_error: Sequence[float] = field(default_factory=tuple)
    """Of the interval at each point; empty for none."""
    joined: bool = True
    """Whether a line joins the points."""


class _Axis(NamedTuple):
    """The scale of an axis, its limits on it, and the values of its ticks."""

    scale: Callable[[float], float]
    low: float
    high: float
    ticks: Sequence[float]

    def fraction(self, value: float) -> float:
        """How far along the axis a value is, from 0 to 1."""
        return (self.scale(value) - self.low) / (self.high - self.low)


def _log_axis(values: Sequence[float]) -> _Axis:
    """A logarithmic axis for the positive values; whatever else is drawn at the least of them."""
    positive = [value for value in values if value > 0] or [1.0]
    least = min(positive)

    def scale(value: float) -> float:
        return math.log10(value if value > 0 else least)

    low, high = scale(least) - 0.1, scale(max(positive)) + 0.1
    factors = (1, 2, 5) if high - low < _WIDE_IN_DECADES else (1,)
    ticks = [
        factor * 10.0**power
        for power in range(math.floor(low), math.floor(high) + 1)
        for factor in factors
    ]
    shown = [tick for tick in ticks if low <= math.log10(tick) <= high]
    return _Axis(scale, low, high, shown or round_steps(10**low, 10**high, 3))


_MAX_DOTS = 60
_WIDE_IN_DECADES = 2.0
"""From this width a logarithmic axis has ticks at powers of ten alone."""
_EDGE, _TOP, _FOOT, _RIGHT = 58.0, 24.0, 44.0, 16.0


def curves(
    lines: Mapping[str, Curve],
    x_label: str,
    y_label: str,
    *,
    width: float = 860,
    height: float = 320,
    reference: float | None = None,
    possible: tuple[float, float] = (-math.inf, math.inf),
    tick_text: Callable[[float], str] = short_number,
    border: float | None = None,
    log_x: bool = False,
    log_y: bool = False,
) -> str:
    """A line chart, with intervals as bands, or as a bar where a line has a single point.

    `reference` is a y with a horizontal line, `border` an x with a broken vertical line. The
    y axis keeps to the `possible` values.
    """
    xs = [x for line in lines.values() for x, _ in line.points if math.isfinite(x)]
    ys = [y for line in lines.values() for y in _bounds(line)]
    if log_x:
        x_axis = _log_axis(xs)
    else:
        left, right = min([0.0, *xs]), max(xs, default=0.0) or 1.0
        x_axis = _Axis(float, left, right, round_steps(left, right, max(2, int(width // 140))))
    if log_y:
        y_axis = _log_axis(ys)
    else:
        low, high = _y_limits(ys, reference, possible)
        y_axis = _Axis(float, low, high, round_steps(low, high, 5))
    drawing = Drawing(width, height, f"{y_label} over {x_label}")
    bottom, end = height - _FOOT, width - _RIGHT

    def height_of(y: float) -> float:
        return bottom - (bottom - _TOP) * min(1.0, max(0.0, y_axis.fraction(y)))

    def x_of(x: float) -> float:
        return _EDGE + (end - _EDGE) * x_axis.fraction(x)

    def at(x: float, y: float) -> tuple[float, float]:
        return x_of(x), height_of(y)

    for step in y_axis.ticks:
        y = height_of(step)
        drawing.line(_EDGE, y, end, y, "grid")
        drawing.text(_EDGE - 8, y, tick_text(step), "axis", "end")
    for tick in x_axis.ticks:
        x = x_of(tick)
        drawing.line(x, bottom, x, bottom + 4, "grid")
        drawing.text(x, bottom + 14, short_number(tick), "axis", "middle")
    drawing.text((_EDGE + end) / 2, height - 10, x_label, "axis", "middle")
    drawing.text(4, 6, y_label, "axis")
    if reference is not None:
        drawing.line(_EDGE, height_of(reference), end, height_of(reference), "middle")
    if border is not None:
        drawing.line(x_of(border), _TOP, x_of(border), bottom, "stage")
    for number, (name, line) in enumerate(lines.items()):
        _draw_curve(drawing, name, line, line_of(number), at)
    return str(drawing)


def _bounds(line: Curve) -> list[float]:
    margins_of_error = line.margins_of_error or [0.0] * len(line.points)
    return [
        bound
        for (_, y), half in zip(line.points, margins_of_error, strict=True)
        if math.isfinite(y)
        for bound in ((y - half, y + half) if math.isfinite(half) else (y,))
    ]


def _y_limits(
    values: list[float], reference: float | None, possible: tuple[float, float]
) -> tuple[float, float]:
    if reference is not None:
        values.append(reference)
    # An interval may reach beyond what is possible, the axis does not.
    least, most = possible
    inside = [min(max(value, least), most) for value in values]
    low, high = min(inside, default=0.0), max(inside, default=1.0)
    pad = 0.05 * (high - low) or max(0.5, 0.05 * abs(high))
    return max(low - pad, least), min(high + pad, most)


def _draw_curve(
    drawing: Drawing,
    name: str,
    line: Curve,
    kind: str,
    at: Callable[[float, float], tuple[float, float]],
) -> None:
    margins_of_error = line.margins_of_error or [0.0] * len(line.points)
    points = [
        (x, y, half)
        for (x, y), half in zip(line.points, margins_of_error, strict=True)
        if math.isfinite(x) and math.isfinite(y)
    ]
    band = [(x, y, half) for x, y, half in points if half and math.isfinite(half)]
    if len(band) > 1:
        upper = [at(x, y + half) for x, y, half in band]
        lower = [at(x, y - half) for x, y, half in reversed(band)]
        drawing.path(upper + lower, f"band {kind}", "polygon")
    elif band:
        ((x, y, half),) = band
        drawing.line(*at(x, y - half), *at(x, y + half), f"curve {kind}")
    if line.joined:
        drawing.path([at(x, y) for x, y, _ in points], f"curve {kind}")
    for x, y, half in points if len(points) < _MAX_DOTS else ():
        interval = f" ± {half:.2g}" if half and math.isfinite(half) else ""
        drawing.dot(
            *at(x, y),
            f"on {kind}",
            f"{name} at {short_number(x)}: {y:.4g}{interval}",
            2.5 if line.joined else 4.0,
        )


def thinned(points: Sequence[T], most: int = 400) -> list[T]:
    """Evenly spaced points, at most about so many, with the last one."""
    step = max(1, len(points) // most)
    sample = list(points[::step])
    return sample if not points or sample[-1] == points[-1] else [*sample, points[-1]]
