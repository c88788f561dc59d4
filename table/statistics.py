# pyright: strict
"""How somebody has done, by opponent and rule set, and the same as files."""

from __future__ import annotations

import csv
import io
from datetime import datetime, timezone
from typing import Any

from .sitting import HUMAN
from .store import Store

# Watched hands are nobody's own, so they are not counted.
_HANDS = """
SELECT opponent, rules, COUNT(*), SUM(pay > 0), SUM(pay = 0), SUM(pay < 0), SUM(pay),
    AVG(margin), MAX(margin), MIN(margin), MAX(pay), MAX(finished)
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


def statistics_of(store: Store, person: str) -> dict[str, Any]:
    """A person's results: a row for every opponent and rule set, and one for all."""
    matches = {tuple(row[:2]): row[2:] for row in store.rows(_MATCHES, person, HUMAN)}
    rows: list[dict[str, Any]] = []
    for opponent, rules, *numbers in store.rows(_HANDS, person, HUMAN):
        hands, won, tied, lost, pay, margin, best, worst, best_pay, last = numbers
        played, taken = matches.get((opponent, rules), (0, 0))
        rows.append(
            {
                "opponent": opponent,
                "rules": rules,
                "hands": hands,
                "won": won,
                "drawn": tied,
                "lost": lost,
                "pay": pay,
                "margin": round(margin, 2),
                "best": best,
                "worst": worst,
                "best_pay": best_pay,
                "matches": played,
                "matches_won": taken,
                "last": last,
            }
        )
    rows.sort(key=lambda row: -row["hands"])
    counted = ("hands", "won", "drawn", "lost", "matches", "matches_won")
    return {"rows": rows, "total": {name: sum(row[name] for row in rows) for name in counted}}


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
                    *(finished.isoformat(timespec="seconds"), hand.sitting, hand.hand),
                    *(hand.rules, hand.opponent, hand.tricks, hand.tricks_other),
                    *(hand.margin, hand.pay),
                )
            )
    return text.getvalue()


def as_records(store: Store, person: str) -> str:
    """The records of a person's finished hands, one JSON line each."""
    return "".join(f"{hand.record}\n" for hand in reversed(store.hands(person)))
