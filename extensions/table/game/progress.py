# pyright: strict
"""The player's progress in the database: ratings, puzzle attempts, mistakes and accuracies."""

from __future__ import annotations

import sqlite3
import time

from msgspec import Struct

from ..rating import Rating, strengths
from ..review.analysis import Analysis
from ..text.words import hand_title
from .database import Database, HandStore, StoredHand
from .session import HUMAN, PERSON

_DAY = 86400.0
_MAX_MISTAKES = 300
_LAST_RATING = (
    "SELECT rating, deviation, finished FROM ratings WHERE kind = ?"
    " ORDER BY finished DESC, rowid DESC LIMIT 1"
)


class Exercise(Struct):
    """A mistake of the player, without the better card."""

    id: str
    hand: int
    decision: int
    cost: float
    solved: bool | None
    """Whether the last retry solved it; None without one."""
    finished: float
    title: str


class PlayerProgress:
    """Ratings, puzzle attempts and exercises."""

    def __init__(self, database: Database, hands: HandStore) -> None:
        self._database = database
        self._hands = hands

    def rating(self, kind: str) -> Rating:
        """The rating of a kind: `play` against agents, `memory`, or `puzzles`."""
        return _rating_and_time(self._database.rows(_LAST_RATING, kind))[0]

    def rating_change(self, session: str, hand: int, kind: str) -> tuple[float, float] | None:
        """The rating before and after a finished hand; None if it was not rated."""
        rows = self._database.rows(
            "SELECT r.rating, r.finished = h.finished FROM hands h JOIN ratings r"
            " ON r.kind = ? AND r.finished <= h.finished"
            " WHERE h.session = ? AND h.hand = ? ORDER BY r.finished DESC, r.rowid DESC LIMIT 2",
            kind,
            session,
            hand,
        )
        if not rows or not rows[0][1]:
            return None
        return (rows[1][0] if len(rows) > 1 else Rating().value), rows[0][0]

    def record_attempt(self, puzzle: str, difficulty: Rating, solved: bool) -> Rating:
        """Record an attempt at a puzzle; only the first changes the rating, which is returned."""
        now = time.time()
        with self._database.transaction() as connection:
            rating, rated_at = _last_rating(connection, "puzzles")
            inserted = connection.execute(
                "INSERT OR IGNORE INTO attempts VALUES (?, ?, ?)", (puzzle, solved, now)
            )
            if inserted.rowcount:
                days = (now - (rated_at or now)) / _DAY
                rating = rating.after([(difficulty, float(solved))], days)
                _insert_rating(connection, "puzzles", rating, now)
        return rating

    def attempts(self) -> dict[str, bool]:
        """The puzzles that were attempted, the latest first, and whether each was solved."""
        query = "SELECT puzzle, solved FROM attempts ORDER BY finished DESC, rowid DESC"
        return {puzzle: bool(solved) for puzzle, solved in self._database.rows(query)}

    def exercises(self) -> list[Exercise]:
        rows = self._database.rows(
            "SELECT m.session, m.hand, m.decision, m.cost, m.solved, h.finished, h.rules,"
            " h.opponent FROM mistakes m JOIN hands h ON h.session = m.session AND h.hand = m.hand"
            " ORDER BY h.finished DESC, m.cost DESC LIMIT ?",
            _MAX_MISTAKES,
        )
        return [
            Exercise(
                *key,
                solved=None if solved is None else bool(solved),
                finished=finished,
                title=hand_title(rules, opponent),
            )
            for *key, solved, finished, rules, opponent in rows
        ]

    def record_retry(self, mistake: tuple[str, int, int], solved: bool) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE mistakes SET solved = ? WHERE session = ? AND hand = ? AND decision = ?",
                (solved, *mistake),
            )

    def store_analysis(self, session: str, hand: int, analysis: Analysis) -> None:
        stored, totals = self._hands.get(session, hand), analysis.totals[PERSON]
        if stored is None or stored.player != HUMAN:
            return
        key = session, hand
        mistakes = [mistake for mistake in analysis.mistakes if mistake.who == PERSON]
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO accuracies VALUES (?, ?, ?, ?, ?, ?)",
                (*key, stored.finished, totals.mattered, totals.mistakes, totals.cost),
            )
            # What an earlier analysis called a mistake, and this one does not, is no exercise.
            known = connection.execute(
                "SELECT decision FROM mistakes WHERE session = ? AND hand = ?", key
            )
            gone = {decision for (decision,) in known} - {mistake.n for mistake in mistakes}
            connection.executemany(
                "DELETE FROM mistakes WHERE session = ? AND hand = ? AND decision = ?",
                [(*key, decision) for decision in gone],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO mistakes VALUES (?, ?, ?, ?, NULL, ?)",
                [(*key, mistake.n, mistake.cost, mistake.text) for mistake in mistakes],
            )


def rate_hand(connection: sqlite3.Connection, hand: StoredHand, kind: str) -> None:
    """Update the rating of a kind by a hand against an opponent of known strength."""
    strength = strengths().get(hand.opponent)
    if strength is None:
        return
    rating, rated_at = _last_rating(connection, kind)
    score = (1 + (hand.pay > 0) - (hand.pay < 0)) / 2
    days = (hand.finished - (rated_at or hand.finished)) / _DAY
    updated = rating.after([(Rating(*strength), score)], days)
    _insert_rating(connection, kind, updated, hand.finished)


def _last_rating(connection: sqlite3.Connection, kind: str) -> tuple[Rating, float | None]:
    return _rating_and_time(connection.execute(_LAST_RATING, (kind,)).fetchall())


def _rating_and_time(rows: list[tuple[float, float, float]]) -> tuple[Rating, float | None]:
    return (Rating(*rows[0][:2]), rows[0][2]) if rows else (Rating(), None)


def _insert_rating(connection: sqlite3.Connection, kind: str, rating: Rating, now: float) -> None:
    connection.execute("INSERT INTO ratings VALUES (?, ?, ?, ?)", (kind, now, *rating))
