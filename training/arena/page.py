"""An arena run as one HTML page: plots and tables, with nothing to load from elsewhere."""

from __future__ import annotations

from html import escape

from ...engine.rules import Rules
from . import plots
from .report import Table, number_with_reach, origin_of, percent_with_reach, tables_of, title_of
from .results import Pairing, Result

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2430; --soft: #5d6675; --rule: #d9dde5;
  --paper: #fbfbf9; --card: #ffffff; --ahead: #b4531b; --behind: #2c6a9b; --third: #5a7d2a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e4; --soft: #a2a9b5; --rule: #3a404c;
  --paper: #16191f; --card: #1e222a; --ahead: #e8894a; --behind: #6ab0e0; --third: #a5c96a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 8px; }
h3 { font-size: 15px; margin: 0 0 6px; }
p { margin: 4px 0 10px; max-width: 76ch; } .soft, figcaption { color: var(--soft); }
section.card { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 16px 18px; margin: 12px 0; overflow-x: auto; }
.side { display: flex; flex-wrap: wrap; gap: 12px 28px; } figure { margin: 8px 0 0; }
figcaption { font-size: 13px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 4px 12px; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { text-align: left;
  padding-left: 0; }
summary { cursor: pointer; }
.note { border-left: 3px solid var(--ahead); padding: 2px 0 2px 12px; }
code { font: 13px ui-monospace, Menlo, Consolas, monospace; }
svg { max-width: 100%; height: auto; display: block; }
svg text { fill: var(--ink); font-size: 13px; } svg .axis { fill: var(--soft); font-size: 12px; }
svg .value { font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--rule); } svg .middle { stroke: var(--soft); stroke-width: 1.3; }
svg .stage { stroke: var(--soft); stroke-dasharray: 4 4; }
svg .whisker { stroke: var(--ink); stroke-width: 1.6; } svg .dot { fill: var(--ahead); }
svg .ahead { fill: var(--ahead); } svg .behind { fill: var(--behind); }
svg rect { fill-opacity: .72; } svg rect.whole { fill-opacity: 1; }
svg rect.empty { fill: var(--rule); fill-opacity: .35; }
svg .cell { font-variant-numeric: tabular-nums; }
svg .strong { fill: var(--card); font-weight: 600; }
svg .curve { fill: none; stroke-width: 2; } svg .curve.trumps { stroke: var(--ahead); }
svg .curve.high { stroke: var(--third); } svg .on.trumps { fill: var(--ahead); }
svg .on.high { fill: var(--third); }
.key { display: inline-block; width: 18px; height: 3px; vertical-align: middle; margin-right: 4px; }
"""


def as_html(result: Result, rules: Rules) -> str:
    """The whole page."""
    ladder = result.ladder
    heading = "Ladder" if ladder is not None else f"{result.players[0]} in the arena"
    parts = [f"<h1>{escape(heading)}</h1>", f'<p class="soft">{escape(title_of(result))}.</p>']
    parts += [f'<p class="note">{escape(note)}</p>' for note in result.notes]
    if ladder is not None:
        rows = ladder.ranked()
        middle = 1000.0
        parts += ["<h2>Ratings</h2>", _card(plots.intervals(rows, middle, "", "Elo", 0))]
        parts += ["<h2>Cross table</h2>", _card(
            plots.heat_map(result, [player for player, _ in rows])
            + "<p class='soft'>The row's win rate in % against the column's.</p>")]  # fmt: skip
    if result.pairings:
        parts += ["<h2>Win rates with 95 % intervals</h2>", _card(plots.win_rates(result))]
        parts += ["<h2>Where in the hand the margin arises</h2>", _KEY]
        few = len(result.pairings) <= _OPEN_AT_FIRST
        parts += [_course(each, rules, few) for each in result.pairings]
    parts += ["<h2>In figures</h2>", *map(_table, tables_of(result))]
    parts += ["<h2>How it was made</h2>", *_origin(result)]
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(heading)} – German Whist</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


_OPEN_AT_FIRST = 6

_KEY = (
    '<p class="soft">Everything is seen from the first player of a pairing. The margin is the '
    "difference of counting tricks a hand; it is the sum of the bars above it. In the plots over "
    "tricks a broken line marks the end of the foreplay.</p>"
)


def _card(inner: str) -> str:
    return f'<section class="card">{inner}</section>'


def _course(pairing: Pairing, rules: Rules, opened: bool) -> str:
    foreplay = rules.foreplay_tricks
    head = (
        f"<summary><b>{escape(pairing.player)} – {escape(pairing.opponent)}</b>: "
        f"{percent_with_reach(pairing.win_rate)}, margin {number_with_reach(pairing.margin)}"
        "</summary>"
    )
    keys = (
        '<span class="key" style="background:var(--ahead)"></span>trumps &nbsp; '
        '<span class="key" style="background:var(--third)"></span>queens, kings and aces'
    )
    return _card(
        ("<details open>" if opened else "<details>")
        + head
        + plots.margin_parts(pairing, rules.counts == "all")
        + '<div class="side">'
        + _figure(plots.tricks_won(pairing, foreplay), "share of the tricks won, by their number")
        + _figure(plots.cards_held(pairing, foreplay), f"more cards held than the other: {keys}")
        + "</div></details>"
    )


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    note = f'<p class="soft">{escape(table.note)}</p>' if table.note else ""
    return _card(
        f"<h3>{escape(table.title)}</h3><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{note}"
    )


def _origin(result: Result) -> list[str]:
    lines = []
    for line in origin_of(result):
        words = line.removeprefix("- ")
        before, mark, code = words.partition("`")
        told = escape(before) + (f"<code>{escape(code.rstrip('`'))}</code>" if mark else "")
        lines.append(f"<p>{told}</p>")
    return lines
