# pyright: strict
"""How a person gets on: ratings of hands and puzzles, mistakes, and how well hands were played."""

from __future__ import annotations

import sqlite3
import time
from typing import NamedTuple

from ..rating import Rating
from ..review.analysis import Analysis
from ..strengths import strengths
from .database import Database
from .hands import HandStore, StoredHand
from .session import HUMAN, PERSON

_DAY = 86400.0
_MOST_MISTAKES = 300
_LAST_RATING = (
    "SELECT rating, deviation, finished FROM ratings WHERE person = ? AND kind = ?"
    " ORDER BY finished DESC, rowid DESC LIMIT 1"
)


class StoredMistake(NamedTuple):
    """A mistake of a person, and the hand that it was made in."""

    session: str
    hand: int
    decision: int
    cost: float
    solved: int | None
    """Whether it was solved when it was tried again; None before that."""
    finished: float
    rules: str
    opponent: str


class PlayerProgress:
    """Ratings and exercises of all persons."""

    def __init__(self, database: Database, hands: HandStore) -> None:
        self._database = database
        self._hands = hands

    def rating(self, person: str, kind: str) -> Rating:
        """A person's rating: `play` against agents, or `puzzles`."""
        return _rating_in(self._database.rows(_LAST_RATING, person, kind))[0]

    def record_attempt(self, person: str, puzzle: str, against: Rating, solved: bool) -> Rating:
        """Note a puzzle that was tried; only the first attempt counts for the rating."""
        now = time.time()
        with self._database.transaction() as connection:
            rating, since = _last_rating(connection, person, "puzzles")
            new = connection.execute(
                "INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?)", (person, puzzle, solved, now)
            )
            if new.rowcount:
                days = (now - (since or now)) / _DAY
                rating = rating.after([(against, float(solved))], days)
                _note_rating(connection, person, "puzzles", rating, now)
        return rating

    def attempts(self, person: str) -> dict[str, bool]:
        """The puzzles that a person has tried, the last first, and whether they were solved."""
        query = (
            "SELECT puzzle, solved FROM attempts WHERE person = ?"
            " ORDER BY finished DESC, rowid DESC"
        )
        return {puzzle: bool(solved) for puzzle, solved in self._database.rows(query, person)}

    def mistakes(self, person: str) -> list[StoredMistake]:
        """A person's own mistakes, the last first."""
        rows = self._database.rows(
            "SELECT m.session, m.hand, m.decision, m.cost, m.solved, h.finished, h.rules,"
            " h.opponent FROM mistakes m JOIN hands h ON h.session = m.session AND h.hand = m.hand"
            " WHERE m.person = ? ORDER BY h.finished DESC, m.cost DESC LIMIT ?",
            *(person, _MOST_MISTAKES),
        )
        return [StoredMistake(*row) for row in rows]

    def record_retry(self, person: str, mistake: tuple[str, int, int], solved: bool) -> None:
        """Note a mistake of a session, hand and decision that was tried again."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE mistakes SET solved = ?"
                " WHERE session = ? AND hand = ? AND decision = ? AND person = ?",
                (solved, *mistake, person),
            )

    def store_analysis(self, person: str, session: str, hand: int, found: Analysis) -> None:
        """Keep how well a person played a hand, and the mistakes as exercises."""
        kept, mine = self._hands.get(session, hand), found.totals[PERSON]
        if kept is None or kept.player != HUMAN or kept.person != person:
            return
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO accuracies VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session, hand, person, kept.finished, mine.mattered, mine.mistakes, mine.cost),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO mistakes VALUES (?, ?, ?, ?, ?, NULL, ?)",
                [
                    (session, hand, each.n, person, each.cost, each.text)
                    for each in found.mistakes
                    if each.who == PERSON
                ],
            )


def rate_hand(connection: sqlite3.Connection, hand: StoredHand) -> None:
    """Count a hand for the rating, where it is known how strong the opponent is."""
    strength = strengths().get(hand.opponent)
    if strength is None:
        return
    rating, since = _last_rating(connection, hand.person, "play")
    score = (1 + (hand.pay > 0) - (hand.pay < 0)) / 2
    days = (hand.finished - (since or hand.finished)) / _DAY
    after = rating.after([(Rating(*strength), score)], days)
    _note_rating(connection, hand.person, "play", after, hand.finished)


def _last_rating(
    connection: sqlite3.Connection, person: str, kind: str
) -> tuple[Rating, float | None]:
    return _rating_in(connection.execute(_LAST_RATING, (person, kind)).fetchall())


def _rating_in(rows: list[tuple[float, float, float]]) -> tuple[Rating, float | None]:
    """The rating in a row, and when it was made."""
    return (Rating(*rows[0][:2]), rows[0][2]) if rows else (Rating(), None)


def _note_rating(
    connection: sqlite3.Connection, person: str, kind: str, rating: Rating, now: float
) -> None:
    connection.execute("INSERT INTO ratings VALUES (?, ?, ?, ?, ?)", (person, kind, now, *rating))
