"""Plots show what they are given: their marks are read back by the labels of their axes."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from german_whist.evaluation.reports import plots
from german_whist.evaluation.statistics import Estimate

NUMBER = re.compile(r"[-+−]?[\d.]+")


def elements(svg: str, tag: str, kind: str) -> list[ElementTree.Element]:
    """The elements of a tag and a class, which may have further ones."""
    found = ElementTree.fromstring(svg.replace("&nbsp;", " ")).iter(tag)
    return [element for element in found if kind in element.get("class", "").split()]


def of(element: ElementTree.Element, *names: str) -> list[float]:
    return [float(element.get(name, "nan")) for name in names]


def scale_of(svg: str, place: str) -> Callable[[float], float]:
    """The function from coordinates `x` or `y` to values, by the outer labels of an axis."""
    labels: list[tuple[float, float]] = []
    for text in elements(svg, "text", "axis"):
        match = NUMBER.match(text.text or "")
        if match and (text.get("text-anchor") == "middle") == (place == "x"):
            labels.append((float(text.get(place, "")), float(match[0].replace("−", "-"))))
    (first, low), (last, high) = min(labels), max(labels)
    return lambda at: low + (high - low) * (at - first) / (last - first)


def test_intervals_are_drawn_from_bound_to_bound_in_their_row() -> None:
    rows = [("a", Estimate(40.0, 30.0, 60.0)), ("b", Estimate(80.0, 75.0, 100.0))]
    svg = plots.intervals(rows, 50.0, " %", "Win rates")
    value, heights = scale_of(svg, "x"), [text.get("y") for text in elements(svg, "text", "name")]
    (middle,) = elements(svg, "line", "middle")
    assert [value(x) for x in of(middle, "x1", "x2")] == pytest.approx([50, 50], abs=0.2)
    for (_, estimate), height in zip(rows, heights, strict=True):
        lines = [line for line in elements(svg, "line", "whisker") if line.get("y1") == height]
        (whole,) = lines
        bounds = [value(x) for x in of(whole, "x1", "x2")]
        assert bounds == pytest.approx([estimate.low, estimate.high], abs=0.2)
        (dot,) = (dot for dot in elements(svg, "circle", "dot") if dot.get("cy") == height)
        assert value(*of(dot, "cx")) == pytest.approx(estimate.value, abs=0.2)


def test_cross_table_shows_the_row_against_the_column() -> None:
    rates = {("a", "b"): 0.9, ("b", "a"): 0.1, ("a", "c"): 0.55, ("c", "a"): 0.45}

    def win_rate(one: str, two: str) -> Estimate | None:
        rate = rates.get((one, two))
        return None if rate is None else Estimate(rate, rate, rate)

    result: Any = SimpleNamespace(win_rate=win_rate)
    svg = plots.heat_map(result, ["a", "b", "c"])
    names = elements(svg, "text", "name")
    across = {name.text: float(name.get("x", "")) for name in names[:3]}
    down = {name.text: float(name.get("y", "")) for name in names[3:]}
    texts = {(t.get("x"), t.get("y")): t.text for t in elements(svg, "text", "cell")}
    shades: dict[tuple[str, str], float] = {}
    for (one, two), rate in rates.items():
        assert texts[f"{across[two]:.1f}", f"{down[one]:.1f}"] == f"{100 * rate:.1f}"
        (cell,) = (
            bar
            for bar in ElementTree.fromstring(svg).iter("rect")
            if 0 < across[two] - float(bar.get("x", "")) < float(bar.get("width", ""))
            and 0 < down[one] - float(bar.get("y", "")) < float(bar.get("height", ""))
        )
        assert cell.get("class") == ("ahead" if rate > 0.5 else "behind")
        shades[one, two] = float(cell.get("style", "").partition("fill-opacity:")[2])
    assert shades["a", "b"] == shades["b", "a"] > shades["a", "c"] == shades["c", "a"]
    assert len(elements(svg, "rect", "empty")) == 5


def test_parts_of_the_margin_are_bars_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [("upcards", 2.0), ("errors", -0.5)]
    monkeypatch.setattr(plots, "parts_of_margin", lambda *_, **__: parts)
    pairing: Any = SimpleNamespace(margin=Estimate(1.5, 1.0, 2.0))
    svg = plots.margin_parts(pairing, counts_all=True)
    value, bars = scale_of(svg, "x"), [*ElementTree.fromstring(svg).iter("rect")]
    for bar, wanted in zip(bars, (2.0, -0.5, 1.5), strict=True):
        x, width = of(bar, "x", "width")
        ends = [value(x), value(x + width)]
        assert ends == pytest.approx(sorted([0.0, wanted]), abs=0.02)
        assert bar.get("class", "").split()[0] == ("ahead" if wanted > 0 else "behind")
    assert "whole" in bars[-1].get("class", "")


def test_course_of_a_hand_has_a_point_for_each_trick() -> None:
    won = [0.5, 0.25, None, 0.75, 1.0]
    course = SimpleNamespace(tricks_won=won)
    pairing: Any = SimpleNamespace(agent="a", course=course)
    svg = plots.tricks_won(pairing, foreplay=2)
    (line,) = (e for e in ElementTree.fromstring(svg).iter() if "curve" in e.get("class", ""))
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", line.get("points") or line.get("d", ""))]
    trick, percent = scale_of(svg, "x"), scale_of(svg, "y")
    drawn = [(trick(x), percent(y)) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    wanted = [(n, 100 * rate) for n, rate in enumerate(won, 1) if rate is not None]
    assert len(drawn) == len(wanted)
    for point, other in zip(drawn, wanted, strict=True):
        assert point == pytest.approx(other, abs=0.6)
    (border,) = elements(svg, "line", "stage")
    assert trick(*of(border, "x1")) == pytest.approx(2.5, abs=0.05)
