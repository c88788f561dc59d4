# pyright: strict
"""Finished hands in the database: by person, and by the key of a shared hand."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple, dataclass

from .database import Database, new_id


@dataclass(frozen=True)
class StoredHand:
    """A row of `hands`; `record` is a line of JSON, empty where the hand was given up."""

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
    """Counting tricks that decided the hand, negative if it was lost."""
    record: str
    given_up: int = 0


class HandStore:
    """The finished hands of all persons."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def by_person(self, person: str, limit: int = -1) -> list[StoredHand]:
        """A person's finished hands, the latest first; -1: without a limit."""
        where = "WHERE person = ? AND NOT given_up ORDER BY finished DESC, hand DESC LIMIT ?"
        return self._select(where, person, limit)

    def get(self, session: str, hand: int) -> StoredHand | None:
        return next(iter(self._select("WHERE session = ? AND hand = ?", session, hand)), None)

    def _select(self, where: str, *values: object) -> list[StoredHand]:
        columns = ", ".join(StoredHand.__dataclass_fields__)
        rows = self._database.rows(f"SELECT {columns} FROM hands {where}", *values)
        return [StoredHand(*row) for row in rows]

    def share(self, session: str, hand: int) -> str:
        """The key that opens a finished hand to everybody; one hand keeps its key."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO shares VALUES (?, ?, ?)", (new_id(), session, hand)
            )
        query = "SELECT key FROM shares WHERE session = ? AND hand = ?"
        ((key,),) = self._database.rows(query, session, hand)
        return key

    def get_shared(self, key: str) -> StoredHand | None:
        rows = self._database.rows("SELECT session, hand FROM shares WHERE key = ?", key)
        return self.get(*rows[0]) if rows else None


def insert_hand(connection: sqlite3.Connection, hand: StoredHand) -> bool:
    """Insert a finished hand; returns whether it was new."""
    placeholders = ", ".join("?" * len(StoredHand.__dataclass_fields__))
    cursor = connection.execute(
        f"INSERT OR IGNORE INTO hands VALUES ({placeholders})", astuple(hand)
    )
    return bool(cursor.rowcount)
