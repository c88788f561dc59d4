# pyright: strict
"""How somebody has done, by opponent and rule set, and the same as files."""

from __future__ import annotations

import csv
import io
from datetime import datetime, timezone

from msgspec import Struct

from .session import HUMAN
from .store import Store

# Watched hands are nobody's own, so they are not counted.
_HANDS = """
SELECT opponent, rules, COUNT(*), SUM(pay > 0), SUM(pay = 0), SUM(pay < 0), AVG(margin),
    MAX(margin)
FROM hands WHERE person = ? AND player = ? GROUP BY opponent, rules
"""
_MATCHES = """
SELECT opponent, rules, COUNT(*), SUM(won > 0) FROM matches
WHERE person = ? AND player = ? GROUP BY opponent, rules
"""
_COLUMNS = (
    *("finished", "table", "hand", "rules", "opponent", "tricks", "tricks_of_opponent"),
    *("margin", "pay"),
)


class Row(Struct):
    """Results against one opponent under one rule set."""

    opponent: str
    rules: str
    hands: int
    won: int
    drawn: int
    lost: int
    margin: float
    best: int
    matches: int
    matches_won: int


class Total(Struct):
    """Results in all."""

    hands: int
    won: int
    drawn: int
    lost: int
    matches: int
    matches_won: int


class Statistics(Struct):
    """A person's results."""

    rows: list[Row]
    total: Total


def statistics_of(store: Store, person: str) -> Statistics:
    """A person's results: a row for every opponent and rule set, and one for all."""
    matches: dict[tuple[str, str], tuple[int, int]] = {
        (opponent, rules): (played, won)
        for opponent, rules, played, won in store.rows(_MATCHES, person, HUMAN)
    }
    rows: list[Row] = []
    for opponent, rules, hands, won, drawn, lost, margin, best in store.rows(_HANDS, person, HUMAN):
        played = matches.get((opponent, rules), (0, 0))
        told = Row(opponent, rules, hands, won, drawn, lost, round(margin, 2), best, *played)
        rows.append(told)
    rows.sort(key=lambda row: -row.hands)
    total = Total(*(sum(getattr(row, name) for row in rows) for name in Total.__struct_fields__))
    return Statistics(rows, total)


def as_csv(store: Store, person: str) -> str:
    """A line for every finished hand of a person."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for hand in reversed(store.hands(person)):
        if hand.player == HUMAN:
            finished = datetime.fromtimestamp(hand.finished, timezone.utc)
            writer.writerow(
                (
                    *(finished.isoformat(timespec="seconds"), hand.session, hand.hand),
                    *(hand.rules, hand.opponent, hand.tricks, hand.tricks_other),
                    *(hand.margin, hand.pay),
                )
            )
    return text.getvalue()


def as_records(store: Store, person: str) -> str:
    """The records of a person's finished hands, one JSON line each."""
    return "".join(f"{hand.record}\n" for hand in reversed(store.hands(person)))
