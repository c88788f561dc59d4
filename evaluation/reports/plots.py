"""Plots of a run: intervals, a heat map, and the course of a hand."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from ..formats import percent_with_interval, signed
from ..results import Pairing, Result, ms_a_move
from ..statistics import Estimate
from .charts import Curve, Drawing, curves, round_steps, short_number, signed_step

_ROW = 26
_CHARACTER = 7.2


def _scaled_drawing(
    names: Sequence[str],
    limits: tuple[float, float],
    reference: float,
    label: str,
    tick_text: Callable[[float], str],
) -> tuple[Drawing, Callable[[float], float]]:
    """A drawing with a row for each name, and the function from values to x coordinates."""
    low, high = limits
    edge = max(map(len, names)) * _CHARACTER + 16
    drawing = Drawing(edge + 620, len(names) * _ROW + 44, label)
    left, right, bottom = edge + 10, drawing.width - 130, drawing.height - 30

    def x_of(value: float) -> float:
        value = min(max(value, low), high)
        return left + (right - left) * (value - low) / (high - low)

    for step in round_steps(low, high):
        drawing.line(x_of(step), 8, x_of(step), bottom, "grid")
        drawing.text(x_of(step), bottom + 14, tick_text(step), "axis", "middle")
    drawing.line(x_of(reference), 8, x_of(reference), bottom, "middle")
    for row, name in enumerate(names):
        drawing.text(edge, _y_of(row), name, "name", "end")
    return drawing, x_of


def _y_of(row: int) -> float:
    return 8 + _ROW * (row + 0.5)


def intervals(
    rows: Sequence[tuple[str, Estimate]], reference: float, unit: str, label: str, digits: int = 1
) -> str:
    """Estimates with their intervals, a row each, on one scale that includes `reference`."""
    bounds = [bound for _, rating in rows for bound in (rating.value, rating.low, rating.high)]
    bounds = [reference, *filter(math.isfinite, bounds)]
    low, high = min(bounds), max(bounds)
    pad = 0.06 * (high - low or 1.0)
    low, high = low - pad, high + pad
    names = [name for name, _ in rows]
    drawing, x_of = _scaled_drawing(
        names, (low, high), reference, label, lambda step: f"{step:g}{unit}"
    )
    for row, (name, estimate) in enumerate(rows):
        y = _y_of(row)
        text = f"{estimate.value:.{digits}f}{unit}"
        half = estimate.margin_of_error
        if math.isfinite(half):
            text += f" ± {half:.{digits}f}" if half else ""
            drawing.line(x_of(estimate.low), y, x_of(estimate.high), y, "whisker")
            for bound in (estimate.low, estimate.high):
                drawing.line(x_of(bound), y - 5, x_of(bound), y + 5, "whisker")
        drawing.dot(x_of(estimate.value), y, "dot", f"{name}: {text}")
        drawing.text(x_of(high) + 14, y, text, "value")
    return str(drawing)


def win_rates(result: Result) -> str:
    rows = [
        (f"{pairing.agent} – {pairing.opponent}", pairing.win_rate.scaled(100))
        for pairing in result.pairings
    ]
    return intervals(rows, 50.0, " %", "Win rates with 95 % intervals")


def heat_map(result: Result, agents: Sequence[str]) -> str:
    """The cross table, colored by the row's win rate against the column's."""
    name_width = max(map(len, agents)) * _CHARACTER
    edge, cell, height, top = name_width + 16, max(64.0, name_width + 6), 36, 30
    n = len(agents)
    drawing = Drawing(edge + cell * n + 4, top + height * n + 4, "Cross table")
    for column, agent in enumerate(agents):
        drawing.text(edge + cell * (column + 0.5), top / 2, agent, "name", "middle")
    for row, agent in enumerate(agents):
        y = top + height * row
        drawing.text(edge - 8, y + height / 2, agent, "name", "end")
        for column, opponent in enumerate(agents):
            x = edge + cell * column
            rate = result.win_rate(agent, opponent)
            if rate is None:
                drawing.bar(x + 1, y + 1, cell - 2, height - 2, "empty")
                continue
            lead = max(-1.0, min(1.0, 2 * rate.value - 1))
            tip = f"{agent} against {opponent}: {percent_with_interval(rate)}"
            drawing.bar(
                x + 1,
                y + 1,
                cell - 2,
                height - 2,
                "ahead" if lead >= 0 else "behind",
                tip=tip,
                style=f"fill-opacity:{0.04 + 0.86 * abs(lead) ** 0.8:.3f}",
            )
            shade = "cell strong" if abs(lead) > 0.6 else "cell"
            drawing.text(x + cell / 2, y + height / 2, f"{100 * rate.value:.1f}", shade, "middle")
    return str(drawing)


_SEARCH_BUDGET = re.compile(
    r"^(flat-mc|ismcts|thinker|responder):[\d.]+(?:ms|s)?(?=,|$)", re.IGNORECASE
)


def search_kind(name: str) -> str:
    """The name of a search without its budget."""
    return _SEARCH_BUDGET.sub(r"\1", name)


def curves_by_move_time(result: Result) -> dict[str, Curve]:
    """Win rates against the first agent over milliseconds a move, a curve for each kind of agent.

    Empty unless some kind of search has several budgets.
    """
    points: defaultdict[str, list[tuple[float, Estimate]]] = defaultdict(list)
    agent, *opponents = result.agents
    pairings = [result.pairing(agent, opponent) for opponent in opponents]
    met = [pairing for pairing in pairings if pairing is not None]
    for opponent in (pairing.mirror() for pairing in met):
        if ms := ms_a_move([opponent]):
            kind = search_kind(opponent.agent)
            points[kind].append((ms, opponent.win_rate))
    if max(map(len, points.values()), default=0) < 2:
        return {}
    if ms := ms_a_move(met):
        points[agent].append((ms, Estimate(0.5, 0.5, 0.5)))
    lines: dict[str, Curve] = {}
    for kind, row in points.items():
        row.sort(key=lambda point: point[0])
        lines[kind] = Curve(
            [(ms, 100 * rate.value) for ms, rate in row],
            [100 * rate.margin_of_error for _, rate in row],
        )
    return lines


def strength_by_move_time(agent: str, lines: Mapping[str, Curve]) -> str:
    """A line chart of win rates against an agent over time per move, on a logarithmic scale."""
    label = f"hands won against {agent}, in %"
    return curves(lines, "milliseconds a move", label, reference=50.0, log_x=True)


# -- where in the hand the margin arises


def parts_of_margin(pairing: Pairing, counts_all: bool) -> list[tuple[str, float]]:
    """The margin as a sum of the contributions of each stage and each agent's errors."""
    one, two = pairing.stages
    parts = []
    if counts_all:
        parts.append(("foreplay tricks", one.upcards - two.upcards))
    if pairing.ending_margin is not None and one.thrown is not None and two.thrown is not None:
        parts.append(("cards won in the foreplay", pairing.ending_margin))
        # A trick lost by one agent is won by the other: it counts twice in the margin.
        parts.append((f"endgame errors of {pairing.opponent}", 2 * two.thrown))
        parts.append((f"endgame errors of {pairing.agent}", -2 * one.thrown))
    rest = pairing.margin.value - sum(part for _, part in parts)
    if abs(rest) > 0.005:
        parts.append(("forfeits and hands that ended early" if parts else "all tricks", rest))
    return parts


def margin_parts(pairing: Pairing, counts_all: bool) -> str:
    """A bar chart of the parts of the margin, and of their sum."""
    rows = [*parts_of_margin(pairing, counts_all), ("margin a hand", pairing.margin.value)]
    values = [value for _, value in rows]
    low, high = min(0.0, *values), max(0.0, *values)
    if high - low < 0.5:
        low, high = low - 0.25, high + 0.25
    names = [name for name, _ in rows]
    drawing, x_of = _scaled_drawing(names, (low, high), 0.0, "Parts of the margin", signed_step)
    for row, value in enumerate(values):
        y = _y_of(row)
        kind = ("ahead" if value >= 0 else "behind") + (" whole" if row == len(rows) - 1 else "")
        drawing.bar(min(x_of(0), x_of(value)), y - 8, abs(x_of(value) - x_of(0)), 16, kind)
        drawing.text(x_of(high) + 12, y, signed(value), "value")
    return str(drawing)


def tricks_won(pairing: Pairing, foreplay: int) -> str:
    """The fraction of the tricks that agent one won, by number of the trick."""
    percentages = [None if won is None else 100 * won for won in pairing.course.tricks_won]
    return _by_trick({pairing.agent: percentages}, "tricks won, in %", 50.0, foreplay, short_number)


def card_surplus(pairing: Pairing, foreplay: int) -> str:
    """Agent one's surplus of trumps and high cards as each trick begins."""
    lines = {"trumps": pairing.course.trumps, "queens, kings and aces": pairing.course.high_cards}
    return _by_trick(lines, "more cards", 0.0, foreplay, signed_step)


def _by_trick(
    lines: Mapping[str, Sequence[float | None]],
    y_label: str,
    reference: float,
    foreplay: int,
    tick_text: Callable[[float], str],
) -> str:
    """Lines over the tricks of a hand; a broken line marks the end of the foreplay."""
    by_name = {
        name: Curve([(trick, y) for trick, y in enumerate(values, 1) if y is not None])
        for name, values in lines.items()
    }
    last = max((curve.points[-1][0] for curve in by_name.values() if curve.points), default=0)
    border = foreplay + 0.5 if 0 < foreplay < last else None
    return curves(
        by_name,
        "trick",
        y_label,
        width=470,
        height=240,
        reference=reference,
        tick_text=tick_text,
        border=border,
    )
