"""The drawings of the house and of a decision's way, as SVG: `make docs` writes them.

Every word stands in a shape with a fill of its own, and lines have a tone between light and dark,
so that both can be read on any ground. They are narrow enough for a phone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

_WIDTH = 440
_FILLS = ("#dbe7f6", "#e3efd9", "#fbe8cd", "#f6dcdc", "#e6dff3", "#dfeeee")
_INK, _SOFT, _LINE = "#1b2430", "#44505f", "#8793a1"
_FONT = "font-family='system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif'"

# From the ground up: each may use what lies below it.
ROOMS = (
    ("engine", "the game: rules, deals, play, views,", "observations, exact endings, records"),
    ("agents", "who can play: random, rules of thumb,", "search, networks, the champion"),
    ("envs", "PettingZoo, Gymnasium, vectors,", "self-play, Stable-Baselines3, pictures"),
    ("training", "trainers, runs, checkpoints, sweeps,", "the arena and its ratings"),
    ("table", "a page and a terminal to play at,", "replays, analysis, puzzles"),
)
WAY = (
    ("deal", "deal i of seed s, the same everywhere", "engine/deals.py"),
    ("Game record", "all of the hand, both hands of cards", "engine/state.py"),
    ("View", "what the player to move may know", "engine/view.py"),
    ("observation and mask", "int8 vectors, suits relabelled if asked", "engine/layout.py"),
    ("policy", "a rule, a search, a network, you", "agents/"),
    ("action", "a card of the real suits", "engine/play.py"),
)


def house() -> str:
    """The rooms as the floors of a house."""
    floor, left, right = 76, 40, 400
    top = 96
    height = top + floor * len(ROOMS) + 30
    parts = [
        _polygon([(_WIDTH / 2, 8), (right + 24, top), (left - 24, top)], _FILLS[5]),
        _text(_WIDTH / 2, 60, "german_whist", 17, bold=True),
        _text(_WIDTH / 2, 82, "the front door: public names, commands", 13, fill=_SOFT),
    ]
    for number, (name, *lines) in enumerate(reversed(ROOMS)):
        y = top + floor * number
        parts.append(_box(left, y, right - left, floor, _FILLS[len(ROOMS) - 1 - number]))
        parts.append(_text(left + 16, y + 44, name, 16, bold=True, anchor="start"))
        for line, text in enumerate(lines):
            parts.append(_text(right - 14, y + 34 + 20 * line, text, 13, "end", _SOFT))
    y = top + floor * len(ROOMS)
    parts.append(_arrow([(18, top + 20), (18, y - 8)]))
    parts.append(_box(left - 24, y, right - left + 48, 24, _FILLS[0]))
    parts.append(_text(_WIDTH / 2, y + 17, "imports point down, never up", 13, fill=_SOFT))
    return _svg(height, "The rooms, each above those that it may use", parts)


def decision() -> str:
    """The way of a decision, from the deal to the card and back to the game."""
    high, gap, left, right = 60, 26, 66, 424
    parts: list[str] = []
    middles: list[float] = []
    for number, (name, about, home) in enumerate(WAY):
        y = 10 + number * (high + gap)
        middles.append(y + high / 2)
        parts.append(_box(left, y, right - left, high, _FILLS[number], 10))
        parts.append(_text(left + 14, y + 25, name, 16, "start", bold=True))
        parts.append(_text(right - 14, y + 25, home, 12, "end", _SOFT))
        parts.append(_text(left + 14, y + 46, about, 13, "start", _SOFT))
        if number:
            parts.append(_arrow([((left + right) / 2, y - gap + 2), ((left + right) / 2, y - 3)]))
    back = [(left, middles[-1]), (28, middles[-1]), (28, middles[1]), (left - 4, middles[1])]
    parts.append(_arrow(back))
    height = 10 + len(WAY) * (high + gap)
    return _svg(height, "The way of a decision; a batch walks it with arrays", parts)


def drawings() -> dict[str, str]:
    """Both, by file name."""
    return {"house.svg": house(), "decision.svg": decision()}


def _svg(height: float, title: str, parts: list[str]) -> str:
    tip = (
        "<marker id='tip' viewBox='0 0 8 8' refX='6' refY='4' markerWidth='7' markerHeight='7' "
        f"orient='auto'><path d='M0 0 8 4 0 8z' fill='{_LINE}'/></marker>"
    )
    inside = "\n".join([f"<title>{escape(title)}</title>", f"<defs>{tip}</defs>", *parts])
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height:g}' "
        f"width='{_WIDTH}' height='{height:g}' role='img' {_FONT}>\n{inside}\n</svg>\n"
    )


def _box(x: float, y: float, width: float, height: float, fill: str, radius: int = 0) -> str:
    return (
        f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='{radius}' "
        f"fill='{fill}' stroke='{_LINE}'/>"
    )


def _polygon(points: Sequence[tuple[float, float]], fill: str) -> str:
    return f"<polygon points='{' '.join(_pairs(points))}' fill='{fill}' stroke='{_LINE}'/>"


def _arrow(points: Sequence[tuple[float, float]]) -> str:
    return (
        f"<polyline points='{' '.join(_pairs(points))}' fill='none' stroke='{_LINE}' "
        "stroke-width='2' marker-end='url(#tip)'/>"
    )


def _pairs(points: Sequence[tuple[float, float]]) -> Iterator[str]:
    return (f"{x:g},{y:g}" for x, y in points)


def _text(
    x: float,
    y: float,
    text: str,
    size: int,
    anchor: str = "middle",
    fill: str = _INK,
    *,
    bold: bool = False,
) -> str:
    weight = " font-weight='600'" if bold else ""
    return (
        f"<text x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='{anchor}' fill='{fill}'"
        f"{weight}>{escape(text)}</text>"
    )
