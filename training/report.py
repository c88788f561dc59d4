"""The page of a run: its learning curves as pictures in the page, and its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..engine.files import written_whole
from .checkpoint import Measured
from .measuring import curve_of
from .settings import Settings

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2430; --soft: #5d6675; --rule: #d9dde5;
  --paper: #fbfbf9; --line0: #b4531b; --line1: #2c6a9b; --line2: #5a7d2a; --line3: #8b4a8b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e4; --soft: #a2a9b5; --rule: #3a404c;
  --paper: #16191f; --line0: #e8894a; --line1: #6ab0e0; --line2: #a5c96a; --line3: #d09ad0; } }
body { margin: 0 auto; max-width: 1000px; padding: 32px 24px; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; } h2 { font-size: 17px; margin-top: 32px; }
figure { display: inline-block; margin: 8px 12px 8px 0; } figcaption { color: var(--soft); }
svg text { fill: var(--soft); font-size: 11px; } svg .grid { stroke: var(--rule); }
svg .line { fill: none; stroke-width: 1.8; } pre { color: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: 3px 12px; text-align: right; border-bottom: 1px solid var(--rule); }
"""

_CURVES = (
    ("entropy", "entropy of the policy, in nats"),
    ("explained", "share of the returns' variance that the critic explains"),
    ("value_loss", "the critic's squared error"),
    ("divergence", "divergence of the policy within an iteration"),
    ("clipped", "share of decisions whose step was clipped"),
    ("speed", "decisions a second"),
)

Points = Sequence[tuple[float, float]]


def write_report(
    path: Path,
    settings: Settings,
    rows: Sequence[Mapping[str, Any]],
    measured: Sequence[Measured],
) -> None:
    """Write the page of a run as far as it is."""
    parts = [f"<h1>{escape(path.parent.name)}</h1><p>{escape(settings.about)}</p>"]
    opponents = list(dict.fromkeys(curve_of(each.opponent) for each in measured))
    if measured:
        curves = {
            name: [(each.decisions, 100 * each.win_rate) for each in measured
                   if curve_of(each.opponent) == name]
            for name in opponents
        }  # fmt: skip
        parts.append("<h2>Wins against the yardsticks</h2>")
        parts.append(_figure(curves, "hands won, in %", 860, 320, middle=50.0))
        parts.append(_table(measured))
    if rows:
        parts.append("<h2>Learning</h2>")
        for key, about in _CURVES:
            if key in rows[0]:
                points = [(row["decisions"], row[key]) for row in rows]
                parts.append(_figure({key: _thinned(points)}, about, 420, 200))
    parts.append(f"<h2>Settings</h2><pre>{escape(settings.as_yaml())}</pre>")
    with written_whole(path, "w") as file:
        file.write(
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            f"<title>{escape(path.parent.name)}</title><style>{_STYLE}</style></head>"
            f"<body>{''.join(parts)}</body></html>\n"
        )


def _thinned(points: Points, most: int = 400) -> Points:
    every = max(1, len(points) // most)
    return points[::every]


def _figure(
    curves: Mapping[str, Points], about: str, width: int, height: int, middle: float | None = None
) -> str:
    xs = [x for points in curves.values() for x, _ in points]
    ys = [y for points in curves.values() for _, y in points]
    if middle is not None:
        ys.append(middle)
    low, high = min(ys), max(ys)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    right = max(xs) or 1
    left_edge, top, bottom = 52, 12, height - 24

    def place(x: float, y: float) -> str:
        across = left_edge + (width - left_edge - 12) * x / right
        return f"{across:.1f},{bottom - (bottom - top) * (y - low) / (high - low):.1f}"

    marks = []
    for step in range(5):
        y = low + (high - low) * step / 4
        at = bottom - (bottom - top) * step / 4
        marks.append(
            f"<line class='grid' x1='{left_edge}' x2='{width - 12}' y1='{at:.1f}' y2='{at:.1f}'/>"
            f"<text x='{left_edge - 6}' y='{at + 4:.1f}' text-anchor='end'>{y:,.4g}</text>"
        )
    marks.append(f"<text x='{width - 12}' y='{height - 6}' text-anchor='end'>{right:,.0f}</text>")
    for number, (_, points) in enumerate(curves.items()):
        colour = f"var(--line{number % 4})"
        joined = " ".join(place(x, y) for x, y in points)
        marks.append(f"<polyline class='line' stroke='{colour}' points='{joined}'/>")
        if len(points) < 60:
            marks += [
                f"<circle r='2.5' fill='{colour}' cx='{xy.split(',')[0]}' cy='{xy.split(',')[1]}'/>"
                for xy in joined.split()
            ]
    keys = ""
    if len(curves) > 1:
        keys = ": " + ", ".join(
            f"<span style='color:var(--line{number % 4})'>{escape(name)}</span>"
            for number, name in enumerate(curves)
        )
    return (
        f"<figure><svg width='{width}' height='{height}' role='img'>{''.join(marks)}</svg>"
        f"<figcaption>{escape(about)}{keys}</figcaption></figure>"
    )


def _table(measured: Sequence[Measured]) -> str:
    head = "".join(
        f"<th>{name}</th>" for name in ("decisions", "against", "wins", "margin", "hands")
    )
    body = "".join(
        f"<tr><td>{each.decisions:,}</td><td>{escape(each.opponent)}</td>"
        f"<td>{100 * each.win_rate:.1f} ± {100 * each.half_width:.1f} %</td>"
        f"<td>{each.margin:+.2f}</td><td>{each.hands:,}</td></tr>"
        for each in measured
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
