"""Charts: scales, ticks, and pictures that stand alone."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

from german_whist.evaluation.reports.charts import Curve, curves, standalone


def test_standalone_chart_has_its_colours_and_names() -> None:
    picture = curves({"a & b": Curve([(0, 40), (10, 60)]), "c": Curve([(0, 50)])}, "x", "y")
    alone = standalone(picture, ["a & b", "c"])
    root = ElementTree.fromstring(alone)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("viewBox") == "0 -24 860 344"
    assert root.get("aria-label") == "y over x"
    texts = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "● a & b● c"
    assert "--line1" in alone


def test_title_of_y_axis_stands_above_all_ticks() -> None:
    for highest in (1.0, 1.93, 1.95, 1.97, 2.0, 2.3):
        picture = curves({"a": Curve([(0, 0.5), (10, highest)])}, "x", "the title", height=240)
        centers = dict(re.findall(r'<text x="\S+" y="(\S+)" [^>]*class="axis">([^<]*)<', picture))
        (title,) = [float(y) for y, text in centers.items() if text == "the title"]
        ticks = [float(y) for y, text in centers.items() if text != "the title"]
        assert min(ticks) - title >= 14, "their font is 12 high"


def test_log_axes_draw_equal_ratios_as_equal_lengths() -> None:
    points = [(0.01, 1.0), (1.0, 0.1), (100.0, 0.01), (10_000.0, 0.0)]
    picture = curves({"a": Curve(points)}, "x", "y", log_x=True, log_y=True)
    places = [(float(x), float(y)) for x, y in re.findall(r'cx="(\S+)" cy="(\S+)"', picture)]
    (x, y), (x_next, y_next), (x_last, y_last), (_, y_zero) = places
    assert x_last - x_next == pytest.approx(x_next - x, abs=0.2)
    assert y_last - y_next == pytest.approx(y_next - y, abs=0.2)
    assert x_next > x
    assert y_next > y
    assert y_zero == y_last, "0 has no logarithm: it is drawn as the least value"
    ticks = re.findall(r'class="axis">([\d.]+ ?k?)<', picture)
    assert ticks == ["0.01", "0.1", "1", "0.01", "0.1", "1", "10", "100", "1 k", "10 k"]


def test_mark_below_the_least_value_is_drawn_below_it() -> None:
    picture = curves({"a": Curve([(1.0, 0.006), (2.0, 0.06)])}, "x", "y", log_y=True)
    least = max(float(y) for y in re.findall(r'<circle cx="\S+" cy="(\S+)"', picture))
    ticks = dict(re.findall(r'y="(\S+)" [^>]*class="axis">([\d.]+)<', picture))
    marks = {text: float(y) for y, text in ticks.items()}
    # 8 % below the value: a gap of one eighth of a factor of two.
    assert marks["0.005"] - least > 0.1 * (marks["0.01"] - marks["0.02"])


def test_log_axis_of_few_decades_has_ticks_between() -> None:
    picture = curves({"a": Curve([(3.0, 1.0), (60.0, 2.0)])}, "x", "y", log_x=True)
    places = {
        text: float(x)
        for x, text in re.findall(r'<text x="(\S+)" [^>]*middle"[^>]*>(\d+)<', picture)
    }
    assert [*places] == ["5", "10", "20", "50"]
    assert places["10"] - places["5"] == pytest.approx(places["20"] - places["10"], abs=0.2)


@pytest.mark.parametrize("values", [(3.0,), (2.6, 3.9), (0.0026, 0.0039), (math.nan, 3.0)])
def test_log_axis_between_two_marks_has_ticks(
    values: tuple[float, ...],
) -> None:
    picture = curves({"a": Curve([(value, 1.0) for value in values])}, "x", "y", log_x=True)
    ticks = re.findall(r'<text x="(\S+)" [^>]*middle"[^>]*>([\d.]+)<', picture)
    assert ticks
    assert "nan" not in picture
    assert picture.count("<circle") == sum(map(math.isfinite, values))


def test_single_evaluation_is_drawn_with_its_interval() -> None:
    """A bar as high as the interval; two evaluations have a band in its place."""
    one = curves({"a": Curve([(10, 60)], [5])}, "x", "y", reference=50)
    ((top, foot),) = re.findall(r'y1="(\S+)" x2="\S+" y2="(\S+)" class="curve', one)
    two = curves({"a": Curve([(5, 60), (10, 60)], [5, 5])}, "x", "y", reference=50)
    assert 'class="band' in two
    assert 'class="band' not in one
    assert not re.search(r'<line [^>]*class="curve', two)
    ticks = {text: float(y) for y, text in re.findall(r'y="(\S+)" [^>]*class="axis">(\d+)<', one)}
    pixels = (ticks["50"] - ticks["60"]) / 10
    assert abs(float(top) - float(foot)) == pytest.approx(10 * pixels, abs=0.5)


def test_axes_keep_to_the_possible_values() -> None:
    losses = {"a": Curve([(0, 0.001), (10, 0.9)])}
    for possible, lowest in (((-math.inf, math.inf), -0.04), ((0.0, math.inf), 0.0)):
        picture = curves(losses, "x", "y", possible=possible)
        dots = [float(y) for y in re.findall(r'cy="(\S+)"', picture)]
        bottom = 320 - 44
        # The height of the axis's foot, by the distance between two points of known values.
        scale = (dots[0] - dots[1]) / 0.899
        assert 0.001 - (bottom - dots[0]) / scale == pytest.approx(lowest, abs=0.01)
    rates = curves({"a": Curve([(0, 99)], [5])}, "x", "y", reference=50, possible=(0, 100))
    tops = [float(y) for y in re.findall(r'y[12]="(\S+)"', rates)]
    assert min(tops) >= 24
