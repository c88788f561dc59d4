"""Reports of a run as text and tables: for the terminal, as Markdown, and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...common.markup import markdown_code, markdown_table, markdown_text, printable
from ...common.serialization import csv_text
from ..formats import (
    duration,
    in_columns,
    milliseconds,
    number_with_interval,
    percent,
    percent_with_interval,
    plus_minus,
    signed,
)
from ..results import Ladder, Pairing, Result, Stages, ms_a_move


@dataclass(frozen=True)
class Table:
    """A table of text cells with a title."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    left: int = 1
    """Number of left-aligned columns; the others are right-aligned."""


def title_of(result: Result) -> str:
    """Rules, seed and number of hands, in a line."""
    units = "matches" if result.match else "hands"
    count = sum(2 * pairing.pairs for pairing in result.pairings)
    game = f"{result.rules}, {result.match}" if result.match else result.rules
    return f"{game}, seed {result.seed}: {count:,} {units}, every deal twice with seats exchanged"


# -- tables


def tables_of(result: Result) -> list[Table]:
    tables = []
    if result.ladder is not None:
        tables += [_ratings_table(result, result.ladder), _cross_table(result, result.ladder)]
    tables += [pairings_table(result), _stages_table(result)]
    return [*tables, _agents_table(result)] if result.details else tables


def _ratings_table(result: Result, ladder: Ladder) -> Table:
    rows = []
    for rank, (agent, elo) in enumerate(ladder.ranked(), 1):
        opponents = [other for other in result.agents if other != agent]
        win_rates = [result.win_rate(agent, opponent) for opponent in opponents]
        mean_win_rate = _mean([rate and rate.value for rate in win_rates])
        rows.append(
            (
                f"{rank}. {agent}",
                f"{elo.value:.0f}",
                "–" if agent == ladder.anchor else plus_minus(elo, 0) or "–",
                percent(0.5 if mean_win_rate is None else mean_win_rate),
                milliseconds(ms_a_move(_from_agent(result, agent))),
            )
        )
    fixed = f"{ladder.anchor} is set to 1000" if ladder.anchor else "the mean is set to 1000"
    return Table(
        "Ratings",
        ("agent", "Elo", "95 %", "mean win rate", "ms a move"),
        tuple(rows),
        f"Elo by maximum likelihood (Bradley–Terry, a tie as half a win); {fixed}. "
        "For the 95 % intervals each deal, which all pairings share, is one observation.",
    )


def _cross_table(result: Result, ladder: Ladder) -> Table:
    agents = [agent for agent, _ in ladder.ranked()]
    rows = []
    for agent in agents:
        rates = [result.win_rate(agent, opponent) for opponent in agents]
        rows.append(
            (agent, *("·" if rate is None else f"{100 * rate.value:.1f}" for rate in rates))
        )
    return Table(
        "Cross table",
        ("win rate in %", *agents),
        tuple(rows),
        "The row's agent against the column's.",
    )


_Column = tuple[str, Callable[[Pairing], str]]


def pairings_table(result: Result) -> Table:
    matches = result.match is not None
    columns: list[_Column] = [
        ("pairing", lambda pairing: f"{pairing.agent} – {pairing.opponent}"),
        ("hands", lambda pairing: f"{pairing.hands:,}"),
        ("win rate", lambda pairing: percent_with_interval(pairing.win_rate)),
    ]
    if matches:
        columns[2:] = [
            ("matches", lambda pairing: f"{2 * pairing.pairs:,}"),
            ("matches won", columns[2][1]),
            ("hands won", lambda pairing: percent_with_interval(pairing.hand_win_rate)),
        ]
    elif any(pairing.as_played is not None for pairing in result.pairings):
        columns.append(
            (
                "as played",
                lambda pairing: percent_with_interval(pairing.as_played or pairing.win_rate),
            )
        )
    columns += [
        ("margin", lambda pairing: number_with_interval(pairing.margin)),
        ("points", lambda pairing: number_with_interval(pairing.points)),
        ("as leader", lambda pairing: percent(pairing.as_leader)),
        ("as dealer", lambda pairing: percent(pairing.as_dealer)),
    ]
    return Table(
        "Pairings",
        tuple(header for header, _ in columns),
        tuple(tuple(cell(pairing) for _, cell in columns) for pairing in result.pairings),
        "Seen from the first agent, with 95 % intervals over the pairs; a tie counts half. "
        "Margin: counting tricks a hand. Points: what the rules pay a hand. "
        "As leader: hands won as non-dealer.",
    )


_STAGES_NOTE = (
    "Ending's worth: the margin of the endgame under perfect play by both, which the foreplay "
    "decides. Thrown away: endgame tricks lost against perfect play."
)
_STAGES_HEADER = ("agent", "upcards won", "ending's worth", "thrown away", "ms a move")


def _stages_table(result: Result) -> Table:
    """Figures of foreplay and endgame; in a ladder the means over all opponents."""
    rows = []
    if result.ladder is not None:
        for agent, _ in result.ladder.ranked():
            rows.append(_stages_row(agent, _from_agent(result, agent)))
    else:
        for pairing in result.pairings:
            for view in (pairing, pairing.mirror()):
                rows.append(_stages_row(f"{view.agent} (against {view.opponent})", [view]))
    return Table("Stages, a hand", _STAGES_HEADER, tuple(rows), _STAGES_NOTE)


def _agents_table(result: Result) -> Table:
    rows = [
        (agent.name, agent.endgame_text, agent.checkpoints_text or "–") for agent in result.details
    ]
    return Table(
        "Agents",
        ("agent", "endgame", "weights"),
        tuple(rows),
        "Endgame: whether the exact solver or the agent itself plays the cards once both hands "
        "are known; in brackets the option that changes it.",
        left=3,
    )


def _from_agent(result: Result, agent: str) -> list[Pairing]:
    pairings = (result.pairing(agent, other) for other in result.agents if other != agent)
    return [pairing for pairing in pairings if pairing is not None]


def _stages_row(title: str, pairings: Sequence[Pairing]) -> tuple[str, ...]:
    stages: list[Stages] = [pairing.stages[0] for pairing in pairings]
    ending_margin = _mean([pairing.ending_margin for pairing in pairings])
    thrown = _mean([stage.thrown for stage in stages])
    return (
        title,
        f"{_mean([stage.upcards for stage in stages]) or 0.0:.2f}",
        "–" if ending_margin is None else signed(ending_margin),
        thrown_text(thrown, all(stage.perfect for stage in stages)),
        milliseconds(ms_a_move(pairings)),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def thrown_text(thrown: float | None, perfect: bool) -> str:
    """Endgame tricks lost per hand, or `perfect` for an agent that loses none."""
    if thrown is None:
        return "–"
    return "perfect" if perfect else f"{thrown:.2f}"


# -- as text


def as_text(result: Result) -> str:
    parts = [title_of(result)]
    parts += [_text_table(table) for table in tables_of(result)]
    parts += [f"Note: {note}" for note in result.notes]
    parts.append(f"The same again: --seed {result.seed} --key {result.key}")
    return printable("\n\n".join(parts))


def _text_table(table: Table) -> str:
    lines = in_columns(table.header, table.rows, table.left)
    return "\n".join([table.title, *(f"  {line.rstrip()}" for line in lines)])


def as_markdown(result: Result, heading: str = "Ladder", about: str = "") -> str:
    parts = [f"# {markdown_text(heading)}"]
    if about:
        parts.append(printable(about.strip()).replace("<", "&lt;"))
    title = title_of(result)
    parts.append(markdown_text(title[0].upper() + title[1:]) + ".")
    for table in tables_of(result):
        parts += [f"## {table.title}", _markdown_table(table)]
        if table.note:
            parts.append(markdown_text(table.note))
    parts += map(markdown_text, result.notes)
    parts += ["## How it was made", "\n".join(origin_of(result))]
    return "\n\n".join(parts) + "\n"


def origin_of(result: Result) -> list[str]:
    """Command, seed and machine of a run, as lines of a Markdown list."""
    lines = []
    if result.command:
        lines.append(f"- Command: {markdown_code(result.command)}")
    lines.append(f"- Seed: {result.seed}; key: {result.key}; version {result.version}")
    if result.machine:
        lines.append(f"- Machine: {result.machine}")
    processes = "1 process" if result.workers == 1 else f"{result.workers} processes"
    lines.append(f"- Time: {duration(result.seconds)} with {processes}")
    return lines


def _markdown_table(table: Table) -> str:
    header, *rows = [list(map(markdown_text, cells)) for cells in (table.header, *table.rows)]
    return markdown_table(header, rows, right=range(table.left, len(header)))


# -- as CSV


def as_csv(result: Result) -> str:
    """The report as CSV, one line for each pairing."""
    return csv_text(result.rows())
