# pyright: strict
"""The player's results by opponent and rule set, and their export as CSV and JSON lines."""

from __future__ import annotations

from datetime import datetime, timezone

from msgspec import Struct

from german_whist.common.serialization import csv_text

from ..text.words import display_name
from .session import HUMAN
from .store import SUBSTITUTE, Store

# Hands of two watched agents are not the player's own, so they are not counted.
_HANDS = """
SELECT opponent, rules, COUNT(*), SUM(pay > 0), SUM(pay = 0), SUM(pay < 0),
    SUM(given_up), AVG(margin), MAX(margin)
FROM hands WHERE player = ? GROUP BY opponent, rules
"""
_MATCHES = """
SELECT opponent, rules, COUNT(*), SUM(won > 0) FROM matches
WHERE player = ? GROUP BY opponent, rules
"""
_RATINGS = """
SELECT finished, ROUND(rating), ROUND(deviation) FROM ratings WHERE kind = ?
ORDER BY finished, rowid
"""
_ACCURACIES = """
SELECT finished, mattered, mistakes FROM accuracies WHERE mattered > 0 ORDER BY finished
"""
_COUNTS = ("hands", "won", "drawn", "lost", "matches", "matches_won")


class ResultRow(Struct):
    """Results against one opponent under one rule set."""

    opponent: str
    rules: str
    hands: int
    won: int
    drawn: int
    lost: int
    given_up: int
    margin: float
    best: int
    matches: int
    matches_won: int


class RatingPoint(Struct):
    """The rating after a hand or a puzzle."""

    finished: float
    rating: float
    deviation: float


class AccuracyPoint(Struct):
    """The accuracy in a hand: the share in percent of decisions that were no mistakes."""

    finished: float
    mattered: int
    mistakes: int
    accuracy: float


class Statistics(Struct):
    """The player's results, and the course of ratings and accuracy."""

    rows: list[ResultRow]
    total: dict[str, int]
    """Counts of the rows added up."""
    play: list[RatingPoint]
    puzzles: list[RatingPoint]
    accuracy: list[AccuracyPoint]


def compute_statistics(store: Store) -> Statistics:
    """The player's results, with a row for every opponent and rule set."""
    matches: dict[tuple[str, str], tuple[int, int]] = {
        (opponent, rules): (played, won)
        for opponent, rules, played, won in store.rows(_MATCHES, HUMAN)
    }
    rows: list[ResultRow] = []
    for *counts, margin, best in store.rows(_HANDS, HUMAN):
        played = matches.get((counts[0], counts[1]), (0, 0))
        rows.append(ResultRow(*counts, round(margin, 2), best, *played))  # pyright: ignore[reportCallIssue]
    rows.sort(key=lambda row: -row.hands)
    opponents = [row.opponent for row in rows]
    for row in rows:
        row.opponent = display_name(row.opponent, opponents)
    total = {name: sum(getattr(row, name) for row in rows) for name in _COUNTS}
    accuracy = [
        AccuracyPoint(finished, mattered, mistakes, round(100 * (1 - mistakes / mattered), 1))
        for finished, mattered, mistakes in store.rows(_ACCURACIES)
    ]
    play, puzzles = (
        [RatingPoint(*row) for row in store.rows(_RATINGS, kind)] for kind in ("play", "puzzles")
    )
    return Statistics(rows=rows, total=total, play=play, puzzles=puzzles, accuracy=accuracy)


def as_csv(store: Store) -> str:
    """A CSV line for every finished hand, with a mark on those that others began."""
    return csv_text(
        [
            {
                "finished": datetime.fromtimestamp(hand.finished, timezone.utc).isoformat(
                    timespec="seconds"
                ),
                "table": hand.session,
                "hand": hand.hand,
                "rules": hand.rules,
                "opponent": hand.opponent,
                "tricks": hand.tricks,
                "tricks_of_opponent": hand.tricks_other,
                "margin": hand.margin,
                "pay": hand.pay,
                "played_on": hand.player == SUBSTITUTE,
            }
            for hand in reversed(store.hands.latest())
            if hand.player in (HUMAN, SUBSTITUTE)
        ]
    )


def as_records(store: Store) -> str:
    """The records of the finished hands as JSON lines."""
    return "".join(f"{hand.record}\n" for hand in reversed(store.hands.latest()))
