# pyright: strict
"""Finished hands as they are kept: those of a person, and those that were shared."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple, dataclass

from .database import Database, new_id


@dataclass(frozen=True)
class StoredHand:
    """A finished hand, with its record as a line of text."""

    session: str
    hand: int
    person: str
    finished: float
    rules: str
    opponent: str
    player: str
    tricks: int
    tricks_other: int
    pay: int
    margin: int
    """By how many counting tricks it was won, or lost where negative."""
    record: str
    """Empty where the hand was given up."""
    given_up: int = 0


class HandStore:
    """The finished hands of all persons."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def by_person(self, person: str, most: int | None = None) -> list[StoredHand]:
        """A person's finished hands, the last first."""
        limit = -1 if most is None else most
        query = "WHERE person = ? AND NOT given_up ORDER BY finished DESC, hand DESC LIMIT ?"
        return self._hands(query, person, limit)

    def get(self, session: str, hand: int) -> StoredHand | None:
        """One finished hand of a session."""
        found = self._hands("WHERE session = ? AND hand = ?", session, hand)
        return found[0] if found else None

    def _hands(self, which: str, *values: object) -> list[StoredHand]:
        columns = ", ".join(StoredHand.__dataclass_fields__)
        rows = self._database.rows(f"SELECT {columns} FROM hands {which}", *values)
        return [StoredHand(*row) for row in rows]

    def share(self, session: str, hand: int) -> str:
        """The key by which anybody may look at a finished hand; always the same for one hand."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO shares VALUES (?, ?, ?)", (new_id(), session, hand)
            )
        found = "SELECT key FROM shares WHERE session = ? AND hand = ?"
        ((key,),) = self._database.rows(found, session, hand)
        return key

    def get_shared(self, key: str) -> StoredHand | None:
        """The finished hand that was shared by this key."""
        found = self._database.rows("SELECT session, hand FROM shares WHERE key = ?", key)
        return self.get(*found[0]) if found else None


def add_hand(connection: sqlite3.Connection, hand: StoredHand) -> bool:
    """Keep a finished hand; whether it was not there before."""
    done = connection.execute(
        "INSERT OR IGNORE INTO hands VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(hand)
    )
    return bool(done.rowcount)
