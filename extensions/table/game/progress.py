# pyright: strict
"""The player's progress in the database: ratings, puzzle attempts, mistakes and accuracies."""

from __future__ import annotations

import sqlite3
import time
from typing import NamedTuple

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


_LESSONS_DONE = """
SELECT DISTINCT json_extract(state, '$.settings.lesson') AS lesson FROM sessions
WHERE over AND lesson > 0 AND NOT coalesce(json_extract(extra, '$.left'), 0) ORDER BY lesson
"""


class LessonProgress(Struct):
    """The lessons played to their end, and whether the person has finished a hand."""

    done: list[int]
    played: bool


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


class RatingChange(NamedTuple):
    """The rating before and after a hand, and the number of rated hands so far."""

    before: float
    after: float
    hands: int


class PlayerProgress:
    """Ratings, puzzle attempts and exercises."""

    def __init__(self, database: Database, hands: HandStore) -> None:
        self._database = database
        self._hands = hands

    def rating(self, kind: str) -> Rating:
        """The rating of a kind: `play` against agents, or `puzzles`."""
        return _rating_and_time(self._database.rows(_LAST_RATING, kind))[0]

    def rating_change(self, session: str, hand: int) -> RatingChange | None:
        """How a finished hand changed the rating; None if it was not rated."""
        rows = self._database.rows(
            "SELECT r.rating, r.finished = h.finished FROM hands h JOIN ratings r"
            " ON r.kind = 'play' AND r.finished <= h.finished"
            " WHERE h.session = ? AND h.hand = ? ORDER BY r.finished DESC, r.rowid DESC",
            session,
            hand,
        )
        if not rows or not rows[0][1]:
            return None
        before = rows[1][0] if len(rows) > 1 else Rating().value
        return RatingChange(before, rows[0][0], len(rows))

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

    def lessons(self) -> LessonProgress:
        rows = self._database.rows(_LESSONS_DONE)
        ((played,),) = self._database.rows(
            "SELECT EXISTS(SELECT 1 FROM hands WHERE player = ?)", HUMAN
        )
        return LessonProgress(done=[lesson for (lesson,) in rows], played=bool(played))

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


def rate_hand(connection: sqlite3.Connection, hand: StoredHand) -> None:
    """Update the rating by a classic hand against an opponent of known strength."""
    score = (1 + (hand.pay > 0) - (hand.pay < 0)) / 2
    _rate(connection, hand.opponent, score, hand.finished)


def convert_ratings(connection: sqlite3.Connection) -> None:
    """Rate the classic hands alone, which an earlier layout rated together with all others.

    Its ratings stay in the table as `all-rules` and `memory`.
    """
    hands = connection.execute(
        "SELECT h.opponent, (1 + (h.pay > 0) - (h.pay < 0)) / 2.0, h.finished FROM hands h"
        " WHERE h.rules = 'classic' AND EXISTS (SELECT 1 FROM ratings r"
        " WHERE r.kind IN ('play', 'memory') AND r.finished = h.finished) ORDER BY h.finished"
    ).fetchall()
    connection.execute("UPDATE ratings SET kind = 'all-rules' WHERE kind = 'play'")
    for opponent, score, finished in hands:
        if opponent in strengths():
            _rate(connection, opponent, score, finished)


def _rate(connection: sqlite3.Connection, opponent: str, score: float, finished: float) -> None:
    rating, rated_at = _last_rating(connection, "play")
    days = (finished - (rated_at or finished)) / _DAY
    updated = rating.after([(Rating(*strengths()[opponent]), score)], days)
    _insert_rating(connection, "play", updated, finished)


def _last_rating(connection: sqlite3.Connection, kind: str) -> tuple[Rating, float | None]:
    return _rating_and_time(connection.execute(_LAST_RATING, (kind,)).fetchall())


def _rating_and_time(rows: list[tuple[float, float, float]]) -> tuple[Rating, float | None]:
    return (Rating(*rows[0][:2]), rows[0][2]) if rows else (Rating(), None)


def _insert_rating(connection: sqlite3.Connection, kind: str, rating: Rating, now: float) -> None:
    connection.execute("INSERT INTO ratings VALUES (?, ?, ?, ?)", (kind, now, *rating))
