"""An arena run in words and tables: for the terminal, as Markdown, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from ..figures import figures_of
from ..formats import duration, in_columns, milliseconds, percent, reach, signed
from ..results import Ladder, Pairing, Result


@dataclass(frozen=True)
class Table:
    """A titled table of texts; its first columns stand left, the others right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    left: int = 1
    """How many columns stand left."""


def title_of(result: Result) -> str:
    """What was played, in a line."""
    units = "matches" if result.match else "hands"
    played = sum(2 * each.pairs for each in result.pairings)
    what = f"{result.rules}, {result.match}" if result.match else result.rules
    return f"{what}, seed {result.seed}: {played:,} {units}, every deal twice with seats exchanged"


# -- tables


def tables_of(result: Result) -> list[Table]:
    """Everything a report shows in tables."""
    found = []
    if result.ladder is not None:
        found += [ratings_table(result, result.ladder), cross_table(result, result.ladder)]
    found += [pairings_table(result), stages_table(result)]
    return [*found, players_table(result)] if result.details else found


def ratings_table(result: Result, ladder: Ladder) -> Table:
    """Players by rating."""
    rows = []
    for place, (player, elo) in enumerate(ladder.ranked(), 1):
        rows.append(
            (
                f"{place}. {player}",
                f"{elo.value:.0f}",
                "–" if player == ladder.anchor else reach(elo, 0) or "–",
                percent(mean_score(result, player)),
                milliseconds(mean_ms(result, player)),
            )
        )
    fixed = f"{ladder.anchor} is set to 1000" if ladder.anchor else "the mean is set to 1000"
    return Table(
        "Ratings",
        ("player", "Elo", "95 %", "mean win rate", "ms a move"),
        tuple(rows),
        f"Elo by maximum likelihood (Bradley–Terry, a tie as half a win); {fixed}. "
        "For the 95 % intervals each deal, which all pairings share, is one observation.",
    )


def mean_score(result: Result, player: str) -> float:
    """The mean win rate of a player over its opponents."""
    rates = [result.win_rate(player, other) for other in result.players if other != player]
    values = [rate.value for rate in rates if rate is not None]
    return sum(values) / len(values) if values else 0.5


def mean_ms(result: Result, player: str) -> float | None:
    """Milliseconds a move of a player over all its pairings."""
    spent, moves = 0.0, 0
    for each in result.pairings:
        for name, stage in zip((each.player, each.opponent), each.stages, strict=True):
            if name == player and stage.ms_a_move is not None:
                spent += stage.ms_a_move * stage.moves
                moves += stage.moves
    return spent / moves if moves else None


def cross_table(result: Result, ladder: Ladder) -> Table:
    """Win rates of the row's player against the column's."""
    ranked = [player for player, _ in ladder.ranked()]
    rows = []
    for player in ranked:
        rates = [result.win_rate(player, other) for other in ranked]
        rows.append(
            (player, *("·" if rate is None else f"{100 * rate.value:.1f}" for rate in rates))
        )
    return Table("Cross table", ("win rate in %", *ranked), tuple(rows),
                 "The row's player against the column's.")  # fmt: skip


def pairings_table(result: Result) -> Table:
    """What every pairing came to."""
    matches = result.match is not None
    shown = {
        name: each
        for name, each in figures_of(Pairing).items()
        if each.heads[matches] and any(getattr(one, name) is not None for one in result.pairings)
    }
    header = ["pairing", "hands", *(["matches"] if matches else [])]
    header += [each.heads[matches] for each in shown.values()]
    rows = []
    for each in result.pairings:
        cells = [f"{each.player} – {each.opponent}", f"{each.hands:,}"]
        if matches:
            cells.append(f"{2 * each.pairs:,}")
        cells += [figure.text(getattr(each, name)) for name, figure in shown.items()]
        rows.append(tuple(cells))
    about = " ".join(each.about for each in shown.values() if each.about)
    return Table(
        "Pairings",
        tuple(header),
        tuple(rows),
        "Seen from the first player, with 95 % intervals over the pairs; a tie counts half. "
        + about,
    )


_STAGES_NOTE = (
    "Ending's worth: the margin of the endgame under perfect play by both, which the foreplay "
    "decides. Thrown away: endgame tricks lost against perfect play."
)
_STAGES_HEADER = ("player", "upcards won", "ending's worth", "thrown away", "ms a move")


def stages_table(result: Result) -> Table:
    """What the players did in the two stages: in a ladder the means over all opponents."""
    rows = []
    if result.ladder is not None:
        for player, _ in result.ladder.ranked():
            met = (result.pairing(player, other) for other in result.players if other != player)
            seen = [each for each in met if each is not None]
            rows.append(_stages_row(player, seen, result))
    else:
        for each in result.pairings:
            rows.append(_stages_row(f"{each.player} (against {each.opponent})", [each], result))
            turned = each.turned()
            rows.append(_stages_row(f"{each.opponent} (against {each.player})", [turned], result))
    return Table("Stages, a hand", _STAGES_HEADER, tuple(rows), _STAGES_NOTE)


def players_table(result: Result) -> Table:
    """Who plays each player's endings, and the checkpoints that were played."""
    rows = [(each.name, each.endgame_text, each.checkpoints_text or "–") for each in result.details]
    return Table(
        "Players",
        ("player", "endgame", "weights"),
        tuple(rows),
        "Endgame: whether the exact solver or the player itself plays the cards once both hands "
        "are known; in brackets the option that changes it.",
        left=3,
    )


def _stages_row(title: str, seen: Sequence[Pairing], result: Result) -> tuple[str, ...]:
    """The stages of the first player of some pairings."""
    stages = [each.stages[0] for each in seen]
    worth = _mean([each.ending_margin for each in seen])
    thrown = _mean([each.thrown for each in stages])
    moves = sum(each.moves for each in stages)
    spent = sum((each.ms_a_move or 0.0) * each.moves for each in stages)
    return (
        title,
        f"{_mean([each.upcards for each in stages]) or 0.0:.2f}",
        "–" if worth is None else signed(worth),
        thrown_text(thrown, all(each.perfect for each in stages)),
        milliseconds(spent / moves if moves else None),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None


def thrown_text(thrown: float | None, perfect: bool) -> str:
    """Tricks thrown away, or that a player throws none away."""
    if thrown is None:
        return "–"
    return "perfect" if perfect else f"{thrown:.2f}"


# -- as text


def as_text(result: Result) -> str:
    """For the terminal."""
    parts = [title_of(result)]
    parts += [_text_table(table) for table in tables_of(result)]
    parts += [f"Note: {note}" for note in result.notes]
    parts.append(f"The same again: --seed {result.seed} --key {result.key}")
    return "\n\n".join(parts)


def _text_table(table: Table) -> str:
    lines = in_columns(table.header, table.rows, table.left)
    return "\n".join([table.title, *(f"  {line.rstrip()}" for line in lines)])


def as_markdown(result: Result, heading: str = "Ladder", about: str = "") -> str:
    """As a page of documentation, with how to make it again."""
    parts = [f"# {heading}"]
    if about:
        parts.append(about.strip())
    parts.append(title_of(result)[0].upper() + title_of(result)[1:] + ".")
    for table in tables_of(result):
        parts += [f"## {table.title}", _markdown_table(table)]
        if table.note:
            parts.append(table.note)
    parts += list(result.notes)
    parts += ["## How it was made", "\n".join(origin_of(result))]
    return "\n\n".join(parts) + "\n"


def origin_of(result: Result) -> list[str]:
    """Command, seed and machine of a run, as lines of a list."""
    lines = []
    if result.command:
        lines.append(f"- Command: `{result.command}`")
    lines.append(f"- Seed: {result.seed}; key: {result.key}; version {result.version}")
    if result.machine:
        lines.append(f"- Machine: {result.machine}")
    processes = "1 process" if result.workers == 1 else f"{result.workers} processes"
    lines.append(f"- Time: {duration(result.seconds)} with {processes}")
    return lines


def _markdown_table(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    marks = [*["---"] * table.left, *["---:"] * (len(table.header) - table.left)]
    return "\n".join([line(table.header), line(marks), *map(line, table.rows)])


# -- as CSV


def as_csv(result: Result) -> str:
    """One line for each pairing."""
    out, rows = io.StringIO(), result.rows()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
