"""Plots of an arena run: intervals, a heat map, and the course of a hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ..formats import percent_with_reach, signed
from ..results import Pairing, Result
from ..statistics import Estimate
from .charts import Curve, Drawing, curves, round_steps, short_number, signed_step

_ROW = 26
_CHARACTER = 7.2


def _on_scale(
    names: Sequence[str], ends: tuple[float, float], middle: float, label: str,
    words: Callable[[float], str],
) -> tuple[Drawing, Callable[[float], float]]:  # fmt: skip
    """A picture with a row for each name, and the place of a value on its scale."""
    low, high = ends
    edge = max(map(len, names)) * _CHARACTER + 16
    picture = Drawing(edge + 620, len(names) * _ROW + 44, label)
    left, right, bottom = edge + 10, picture.width - 130, picture.height - 30

    def at(value: float) -> float:
        value = min(max(value, low), high)
        return left + (right - left) * (value - low) / (high - low)

    for step in round_steps(low, high):
        picture.line(at(step), 8, at(step), bottom, "grid")
        picture.text(at(step), bottom + 14, words(step), "axis", "middle")
    picture.line(at(middle), 8, at(middle), bottom, "middle")
    for place, name in enumerate(names):
        picture.text(edge, _height(place), name, "name", "end")
    return picture, at


def _height(place: int) -> float:
    """The middle of a row."""
    return 8 + _ROW * (place + 0.5)


def figures(
    rows: Sequence[tuple[str, Estimate]], middle: float, unit: str, label: str, digits: int = 1
) -> str:
    """Figures with their intervals, a row each, on one scale that shows `middle`."""
    ends = [end for _, each in rows for end in (each.value, each.low, each.high)]
    ends = [middle, *filter(math.isfinite, ends)]
    low, high = min(ends), max(ends)
    pad = 0.06 * (high - low or 1.0)
    low, high = low - pad, high + pad
    names = [name for name, _ in rows]
    picture, at = _on_scale(names, (low, high), middle, label, lambda step: f"{step:g}{unit}")
    for place, (name, each) in enumerate(rows):
        y = _height(place)
        words = f"{each.value:.{digits}f}{unit}"
        reach = each.half_width
        if math.isfinite(reach):
            words += f" ± {reach:.{digits}f}" if reach else ""
            picture.line(at(each.low), y, at(each.high), y, "whisker")
            for end in (each.low, each.high):
                picture.line(at(end), y - 5, at(end), y + 5, "whisker")
        picture.dot(at(each.value), y, "dot", f"{name}: {words}")
        picture.text(at(high) + 14, y, words, "value")
    return str(picture)


def win_rates(result: Result) -> str:
    """Win rates of all pairings with their intervals."""
    rows = [
        (f"{each.player} – {each.opponent}", each.win_rate.scaled(100)) for each in result.pairings
    ]
    return figures(rows, 50.0, " %", "Win rates with 95 % intervals")


def heat_map(result: Result, players: Sequence[str]) -> str:
    """The cross table: the row's win rate against the column's, warm where the row is ahead."""
    names = max(len(each) for each in players) * _CHARACTER + 16
    cell = max(64.0, max(len(each) for each in players) * _CHARACTER + 6)
    high = 36
    top = 30
    picture = Drawing(names + cell * len(players) + 4, top + high * len(players) + 4, "Cross table")
    for column, player in enumerate(players):
        picture.text(names + cell * (column + 0.5), top / 2, player, "name", "middle")
    for line, player in enumerate(players):
        y = top + high * line
        picture.text(names - 8, y + high / 2, player, "name", "end")
        for column, other in enumerate(players):
            x = names + cell * column
            rate = result.win_rate(player, other)
            if rate is None:
                picture.bar(x + 1, y + 1, cell - 2, high - 2, "empty")
                continue
            lead = max(-1.0, min(1.0, 2 * rate.value - 1))
            kind = "ahead" if lead >= 0 else "behind"
            tip = f"{player} against {other}: {percent_with_reach(rate)}"
            style = f"fill-opacity:{0.04 + 0.86 * abs(lead) ** 0.8:.3f}"
            picture.bar(x + 1, y + 1, cell - 2, high - 2, kind, tip=tip, style=style)
            shade = "cell strong" if abs(lead) > 0.6 else "cell"
            picture.text(x + cell / 2, y + high / 2, f"{100 * rate.value:.1f}", shade, "middle")
    return str(picture)


# -- where in the hand the margin arises


def parts_of_margin(pairing: Pairing, counts_all: bool) -> list[tuple[str, float]]:
    """The margin as a sum: what each stage and each player's errors add to it."""
    mine, theirs = pairing.stages
    parts = []
    if counts_all:
        parts.append(("foreplay tricks", mine.upcards - theirs.upcards))
    if pairing.ending_margin is not None and mine.thrown is not None and theirs.thrown is not None:
        parts.append(("cards won in the foreplay", pairing.ending_margin))
        # A trick that one throws away is lost by one and won by the other.
        parts.append((f"endgame errors of {pairing.opponent}", 2 * theirs.thrown))
        parts.append((f"endgame errors of {pairing.player}", -2 * mine.thrown))
    rest = pairing.margin.value - sum(part for _, part in parts)
    if abs(rest) > 0.005:
        parts.append(("forfeits and hands that ended early" if parts else "all tricks", rest))
    return parts


def margin_parts(pairing: Pairing, counts_all: bool) -> str:
    """The parts of the margin as bars from a common zero."""
    rows = [*parts_of_margin(pairing, counts_all), ("margin a hand", pairing.margin.value)]
    values = [value for _, value in rows]
    low, high = min(0.0, *values), max(0.0, *values)
    if high - low < 0.5:
        low, high = low - 0.25, high + 0.25
    names = [name for name, _ in rows]
    picture, at = _on_scale(names, (low, high), 0.0, "Parts of the margin", signed_step)
    for place, value in enumerate(values):
        y = _height(place)
        kind = ("ahead" if value >= 0 else "behind") + (" whole" if place == len(rows) - 1 else "")
        picture.bar(min(at(0), at(value)), y - 8, abs(at(value) - at(0)), 16, kind)
        picture.text(at(high) + 12, y, signed(value), "value")
    return str(picture)


def tricks_won(pairing: Pairing, foreplay: int) -> str:
    """Player one's share of the tricks of each number."""
    shares = [None if each is None else 100 * each for each in pairing.course.tricks_won]
    return _by_trick({pairing.player: shares}, "tricks won, in %", 50.0, foreplay, short_number)


def cards_held(pairing: Pairing, foreplay: int) -> str:
    """How many more trumps and high cards player one holds as each trick begins."""
    lines = {"trumps": pairing.course.trumps, "queens, kings and aces": pairing.course.high_cards}
    return _by_trick(lines, "more cards", 0.0, foreplay, signed_step)


def _by_trick(
    lines: Mapping[str, Sequence[float | None]], up: str, middle: float, foreplay: int,
    words: Callable[[float], str],
) -> str:  # fmt: skip
    """Lines over the tricks of a hand, with the end of the foreplay where they go beyond."""
    told = {
        name: Curve([(k, each) for k, each in enumerate(line, 1) if each is not None])
        for name, line in lines.items()
    }
    last = max((line.points[-1][0] for line in told.values() if line.points), default=0)
    border = foreplay + 0.5 if 0 < foreplay < last else None
    return curves(
        told, "trick", up, width=470, height=240, middle=middle, words=words, border=border
    )
