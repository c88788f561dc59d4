"""Reports of a run as one self-contained HTML page of plots and tables."""

from __future__ import annotations

from ...common.markup import html_text
from ...engine.rules import Rules
from ..formats import number_with_interval, percent_with_interval
from ..results import Pairing, Result
from . import charts, plots
from .text import Table, origin_of, tables_of, title_of


def as_html(result: Result, rules: Rules) -> str:
    ladder = result.ladder
    heading = "Ladder" if ladder is not None else f"{result.agents[0]} in the arena"
    parts = [
        f"<h1>{html_text(heading)}</h1>",
        f'<p class="soft">{html_text(title_of(result))}.</p>',
    ]
    parts += [f'<p class="note">{html_text(note)}</p>' for note in result.notes]
    if ladder is not None:
        rows = ladder.ranked()
        parts += ["<h2>Ratings</h2>", charts.card(plots.intervals(rows, 1000.0, "", "Elo", 0))]
        parts += [
            "<h2>Cross table</h2>",
            charts.card(
                plots.heat_map(result, [agent for agent, _ in rows])
                + "<p class='soft'>The row's win rate in % against the column's.</p>"
            ),
        ]
    if result.pairings:
        parts += ["<h2>Win rates with 95 % intervals</h2>", charts.card(plots.win_rates(result))]
        if lines := plots.curves_by_move_time(result):
            chart = plots.strength_by_move_time(result.agents[0], lines)
            parts += [
                "<h2>Strength against time per move</h2>",
                charts.card(charts.figure(chart, charts.keys([*lines]))),
            ]
        parts += ["<h2>Where in the hand the margin arises</h2>", _KEY]
        opened = len(result.pairings) <= _MAX_OPENED
        parts += [_course(pairing, rules, opened) for pairing in result.pairings]
    parts += ["<h2>In figures</h2>", *map(_table, tables_of(result))]
    parts += ["<h2>How it was made</h2>", *_origin(result)]
    return charts.page(f"{heading} – German Whist", parts)


_MAX_OPENED = 6

_KEY = (
    '<p class="soft">Everything is seen from the first agent of a pairing. The margin is the '
    "difference of counting tricks a hand; it is the sum of the bars above it. In the plots over "
    "tricks a broken line marks the end of the foreplay.</p>"
)


def _course(pairing: Pairing, rules: Rules, opened: bool) -> str:
    foreplay = rules.foreplay_tricks
    head = (
        f"<summary><b>{html_text(pairing.agent)} – {html_text(pairing.opponent)}</b>: "
        f"{percent_with_interval(pairing.win_rate)}, margin {number_with_interval(pairing.margin)}"
        "</summary>"
    )
    keys = charts.keys(("trumps", "queens, kings and aces"))
    tricks_won = plots.tricks_won(pairing, foreplay)
    surplus = plots.card_surplus(pairing, foreplay)
    return charts.card(
        ("<details open>" if opened else "<details>")
        + head
        + plots.margin_parts(pairing, rules.counts == "all")
        + '<div class="side">'
        + charts.figure(tricks_won, "tricks won in %, by their number")
        + charts.figure(surplus, f"more cards held than the other: {keys}")
        + "</div></details>"
    )


def _table(table: Table) -> str:
    note = f'<p class="soft">{html_text(table.note)}</p>' if table.note else ""
    rows = charts.table(table.header, table.rows, table.left)
    return charts.card(f"<h3>{html_text(table.title)}</h3>{rows}{note}")


def _origin(result: Result) -> list[str]:
    lines = []
    for line in origin_of(result):
        label, _, code = line.removeprefix("- ").partition("`")
        text = html_text(label) + (
            f"<code>{html_text(code.strip('`').strip())}</code>" if code else ""
        )
        lines.append(f"<p>{text}</p>")
    return lines
