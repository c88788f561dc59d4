"""Plots of an arena run: intervals, a heat map, and the course of a hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..pictures import Drawing, intervals, line_of, round_steps, signed_step
from .intervals import Estimate
from .results import Pairing, Result
from .texts import percent_with_reach, signed

_ROW = 26
_CHARACTER = 7.2


def figures(
    rows: Sequence[tuple[str, Estimate]], middle: float, unit: str, label: str, digits: int = 1
) -> str:
    """Figures with their intervals, a row each, on one scale that shows `middle`."""
    told = [(name, each.value, each.low, each.high) for name, each in rows]
    return intervals(told, middle, unit, label, digits)


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
            picture.bar(x + 1, y + 1, cell - 2, high - 2, kind, tip, style)
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
    names = max(len(name) for name, _ in rows) * _CHARACTER + 16
    width, height = names + 480, len(rows) * _ROW + 36
    left, right = names + 10, width - 70
    values = [value for _, value in rows]
    low, high = min(0.0, *values), max(0.0, *values)
    if high - low < 0.5:
        low, high = low - 0.25, high + 0.25
    picture = Drawing(width, height, "Parts of the margin")

    def at(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    for step in round_steps(low, high):
        picture.line(at(step), 6, at(step), height - 28, "grid")
        picture.text(at(step), height - 14, signed_step(step), "axis", "middle")
    for place, (name, value) in enumerate(rows):
        y = 6 + _ROW * (place + 0.5)
        kind = ("ahead" if value >= 0 else "behind") + (" whole" if place == len(rows) - 1 else "")
        picture.text(names, y, name, "name", "end")
        picture.bar(min(at(0), at(value)), y - 8, abs(at(value) - at(0)), 16, kind)
        picture.text(right + 12, y, signed(value), "value")
    picture.line(at(0), 6, at(0), height - 28, "middle")
    return str(picture)


def tricks_won(pairing: Pairing, foreplay: int) -> str:
    """Player one's share of the tricks of each number, as bars above and below one half."""
    shares = pairing.course.tricks_won
    last = max((place for place, each in enumerate(shares) if each is not None), default=0)
    last = max(last, foreplay - 1)
    picture = _Steps(last + 1, "Tricks won, by their number")
    values = [(100 * share - 50 if share is not None else 0.0) for share in shares[: last + 1]]
    picture.scale(min(*values, -5.0), max(*values, 5.0), lambda value: f"{50 + value:g} %")
    for place, value in enumerate(values):
        kind = "ahead" if value >= 0 else "behind"
        tip = f"trick {place + 1}: {50 + value:.1f} %"
        picture.column(place, value, kind, tip)
    picture.stage_ends(foreplay)
    return str(picture.drawing)


def cards_held(pairing: Pairing, foreplay: int) -> str:
    """How many more trumps and high cards player one holds as each trick begins."""
    course = pairing.course
    count = max(
        (place + 1 for place, each in enumerate(course.trumps) if each is not None), default=1
    )
    picture = _Steps(count, "Cards held")
    lines = {
        "trumps": [each or 0.0 for each in course.trumps[:count]],
        "high": [each or 0.0 for each in course.high_cards[:count]],
    }
    values = [value for line in lines.values() for value in line]
    picture.scale(min(*values, -0.2), max(*values, 0.2), signed_step)
    picture.stage_ends(foreplay)
    for number, line in enumerate(lines.values()):
        picture.curve(line, line_of(number))
    return str(picture.drawing)


class _Steps:
    """A plot over the tricks of a hand."""

    _LEFT, _TOP, _HEIGHT, _STEP = 56.0, 12.0, 150.0, 15.5

    def __init__(self, count: int, label: str) -> None:
        self._count = count
        self._right = self._LEFT + max(count, 10) * self._STEP
        self._step = (self._right - self._LEFT) / count
        self.drawing = Drawing(self._right + 12, self._TOP + self._HEIGHT + 34, label)

    def scale(self, low: float, high: float, words: Callable[[float], str]) -> None:
        """Fix the scale, and draw it."""
        pad = 0.08 * (high - low)
        self._low, self._high = low - pad, high + pad
        for step in round_steps(self._low, self._high, 5):
            self.drawing.line(self._LEFT, self._at(step), self._right, self._at(step), "grid")
            self.drawing.text(self._LEFT - 8, self._at(step), words(round(step, 6)), "axis", "end")
        self.drawing.line(self._LEFT, self._at(0), self._right, self._at(0), "middle")
        for place in range(self._count):
            if place == 0 or (place + 1) % 2 == 1:
                x = self._LEFT + (place + 0.5) * self._step
                y = self._TOP + self._HEIGHT + 12
                self.drawing.text(x, y, str(place + 1), "axis", "middle")
        self.drawing.text(
            (self._LEFT + self._right) / 2, self._TOP + self._HEIGHT + 27, "trick", "axis", "middle"
        )

    def _at(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return self._TOP + self._HEIGHT * (1 - share)

    def column(self, place: int, value: float, kind: str, tip: str) -> None:
        """A bar from zero."""
        x = self._LEFT + place * self._step
        top, bottom = sorted((self._at(value), self._at(0)))
        self.drawing.bar(x + 2, top, self._step - 4, bottom - top, kind, tip)

    def curve(self, values: Sequence[float], kind: str) -> None:
        """A line over the tricks."""
        points = [
            (self._LEFT + (place + 0.5) * self._step, self._at(value))
            for place, value in enumerate(values)
        ]
        self.drawing.path(points, f"curve {kind}")
        for (x, y), value in zip(points, values, strict=True):
            self.drawing.dot(x, y, f"on {kind}", f"{value:+.2f}", 2.2)

    def stage_ends(self, foreplay: int) -> None:
        """Mark where the endgame begins, if the plot goes that far."""
        if 0 < foreplay < self._count:
            x = self._LEFT + foreplay * self._step
            self.drawing.line(x, self._TOP, x, self._TOP + self._HEIGHT, "stage")
