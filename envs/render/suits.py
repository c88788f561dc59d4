"""The four suits as polygons, independent of fonts.

Each is a list of outlines in a box from -0.5 to 0.5, y pointing down.
"""

from __future__ import annotations

from math import cos, pi, sin

Point = tuple[float, float]
Outline = tuple[Point, ...]


def _circle(x: float, y: float, radius: float, points: int = 40) -> Outline:
    turns = [2 * pi * step / points for step in range(points)]
    return tuple((x + radius * cos(turn), y + radius * sin(turn)) for turn in turns)


def _curve(start: Point, first: Point, second: Point, end: Point, points: int = 14) -> list[Point]:
    """A cubic Bézier curve without its end point."""
    points_ = []
    for step in range(points):
        t = step / points
        u = 1 - t
        weights = (u**3, 3 * u * u * t, 3 * u * t * t, t**3)
        corners = zip(start, first, second, end, strict=True)
        x, y = (sum(w * part for w, part in zip(weights, parts, strict=True)) for parts in corners)
        points_.append((x, y))
    return points_


def _mirrored(half: list[Point], tip: Point) -> Outline:
    """A symmetric shape from its right half, from the top down to `tip`."""
    return (*half, tip, *((-x, y) for x, y in reversed(half) if x))


def _heart() -> Outline:
    half = _curve((0.0, -0.24), (0.08, -0.5), (0.48, -0.52), (0.48, -0.16))
    half += _curve((0.48, -0.16), (0.48, 0.1), (0.12, 0.28), (0.0, 0.5))
    return _mirrored(half, (0.0, 0.5))


def _spade() -> Outline:
    half = _curve((0.0, -0.5), (0.12, -0.26), (0.47, -0.1), (0.47, 0.14))
    half += _curve((0.47, 0.14), (0.47, 0.4), (0.1, 0.4), (0.05, 0.16))
    return _mirrored(half, (0.0, 0.16))


def _stem(top: float) -> Outline:
    half = _curve((0.035, top), (0.04, 0.36), (0.08, 0.46), (0.2, 0.5))
    return _mirrored(half, (0.2, 0.5))


def _diamond() -> Outline:
    half = _curve((0.0, -0.5), (0.1, -0.28), (0.24, -0.12), (0.38, 0.0))
    half += _curve((0.38, 0.0), (0.24, 0.12), (0.1, 0.28), (0.0, 0.5))
    return _mirrored(half, (0.0, 0.5))


def _club() -> list[Outline]:
    leaf = 0.215
    leaves = [_circle(x, y, leaf) for x, y in ((0.0, -0.27), (-0.26, 0.1), (0.26, 0.1))]
    middle = ((-0.1, -0.15), (0.1, -0.15), (0.18, 0.16), (-0.18, 0.16))
    return [*leaves, middle, _stem(0.0)]


SHAPES: tuple[list[Outline], ...] = (_club(), [_diamond()], [_heart()], [_spade(), _stem(0.1)])
COLORS = ("#1b1d22", "#c8202f", "#c8202f", "#1b1d22")
