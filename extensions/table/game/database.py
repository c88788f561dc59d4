# pyright: strict
"""The SQLite database of sessions, hands, ratings and puzzles: opening, queries, transactions.

A damaged file is renamed, and a new one is created.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import platformdirs

FILE = "table.sqlite3"
_SUFFIXES = ("", "-wal", "-shm")
_VERSION, _CONVERTED = 6, 5
"""Of the tables below, and the earlier one that is converted when it is opened."""
_IN_MEMORY = ":memory:"
_BUSY_SECONDS = 5.0
_ID_BYTES = 18

_SCHEMA = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, revision INTEGER NOT NULL, updated REAL NOT NULL,
    over INTEGER NOT NULL, about TEXT NOT NULL, state TEXT NOT NULL, extra TEXT NOT NULL
);
CREATE INDEX sessions_by_time ON sessions (updated);
CREATE TABLE hands (
    session TEXT NOT NULL, hand INTEGER NOT NULL, finished REAL NOT NULL,
    rules TEXT NOT NULL, opponent TEXT NOT NULL, player TEXT NOT NULL,
    tricks INTEGER NOT NULL, tricks_other INTEGER NOT NULL, pay INTEGER NOT NULL,
    margin INTEGER NOT NULL, record TEXT NOT NULL, given_up INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, hand)
);
CREATE INDEX hands_by_time ON hands (finished);
CREATE TABLE matches (
    session TEXT PRIMARY KEY, finished REAL NOT NULL, rules TEXT NOT NULL,
    opponent TEXT NOT NULL, player TEXT NOT NULL, kind TEXT NOT NULL, n INTEGER NOT NULL,
    hands INTEGER NOT NULL, points INTEGER NOT NULL, points_other INTEGER NOT NULL,
    won INTEGER NOT NULL
);
CREATE TABLE ratings (
    kind TEXT NOT NULL, finished REAL NOT NULL, rating REAL NOT NULL, deviation REAL NOT NULL
);
CREATE INDEX ratings_by_time ON ratings (kind, finished);
CREATE TABLE attempts (
    puzzle TEXT PRIMARY KEY, solved INTEGER NOT NULL, finished REAL NOT NULL
);
CREATE TABLE accuracies (
    session TEXT NOT NULL, hand INTEGER NOT NULL, finished REAL NOT NULL,
    mattered INTEGER NOT NULL, mistakes INTEGER NOT NULL, cost REAL NOT NULL,
    PRIMARY KEY (session, hand)
);
CREATE TABLE mistakes (
    session TEXT NOT NULL, hand INTEGER NOT NULL, decision INTEGER NOT NULL,
    cost REAL NOT NULL, solved INTEGER, text TEXT NOT NULL,
    PRIMARY KEY (session, hand, decision)
)
"""


def data_folder() -> Path:
    """The folder in `GERMAN_WHIST_DATA`, or the user's data folder."""
    configured = os.environ.get("GERMAN_WHIST_DATA")
    return Path(configured or platformdirs.user_data_dir("german-whist"))


def new_id() -> str:
    """A random id that cannot be guessed."""
    return secrets.token_urlsafe(_ID_BYTES)


class Database:
    """The SQLite file; threads may share it."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` defaults to the user's data folder.

        If the default cannot be written, the database is in memory and lasts until the program
        ends.
        """
        self.path = (folder or data_folder()) / FILE
        self.notice: str | None = None
        """A sentence for the user if the file was damaged or cannot be written."""
        self._lock = threading.RLock()
        self._connection = self._open(explicit=folder is not None)

    def _open(self, explicit: bool) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self._connect(self.path)
        except (OSError, sqlite3.OperationalError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            problem = f"{self.path} cannot be opened ({reason})"
            if explicit:
                raise ValueError(f"{problem}: name another folder with --data") from error
            self.notice = (
                f"{problem}, so what you play is not kept: name another folder with --data or "
                "GERMAN_WHIST_DATA"
            )
            return self._connect(_IN_MEMORY)
        except sqlite3.DatabaseError as error:
            self.notice = self._rename_damaged(error)
            return self._connect(self.path)

    def _connect(self, target: Path | str) -> sqlite3.Connection:
        if target != _IN_MEMORY:
            # Before SQLite writes into it: the files beside it get the permissions of this one.
            self.path.touch(0o600)
            for suffix in _SUFFIXES:
                with suppress(FileNotFoundError):
                    self._part(suffix).chmod(0o600)
        connection = sqlite3.connect(
            target, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            (check,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if check != "ok":
                raise sqlite3.DatabaseError(check)
            self._create_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _part(self, suffix: str) -> Path:
        return self.path.with_name(FILE + suffix)

    def _create_schema(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
        elif version == _CONVERTED:
            self.convert(connection)
        if version in (0, _CONVERTED):
            connection.execute(f"PRAGMA user_version={_VERSION}")
        connection.execute("COMMIT")
        if version not in (0, _CONVERTED, _VERSION):
            raise ValueError(
                f"{self.path} was written by another version of this program (layout {version}, "
                f"this one reads {_VERSION}): use that one, or name another folder with --data"
            )

    def convert(self, connection: sqlite3.Connection) -> None:
        """Change what an earlier layout meant; its tables are the same."""

    def _rename_damaged(self, error: Exception) -> str:
        damaged = self.path.with_name(f"{FILE}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        for suffix in _SUFFIXES:
            part = self._part(suffix)
            if part.exists():
                part.replace(damaged.with_name(damaged.name + suffix))
        return (
            f"{self.path} is damaged ({error}): it was moved to {damaged.name}, and a new one "
            "begins"
        )

    @property
    def persistent(self) -> bool:
        """Whether there is a file, so that data outlasts this program."""
        return bool(self.rows("PRAGMA database_list")[0][2])

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """A transaction, rolled back on exceptions."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have ended it
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock, closing(self._connection.execute(query, values)) as cursor:
            return cursor.fetchall()


# -- finished hands


@dataclass(frozen=True)
class StoredHand:
    """A row of `hands`; `record` is a line of JSON, empty where the hand was given up."""

    session: str
    hand: int
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
    """The finished hands."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def latest(self, limit: int = -1) -> list[StoredHand]:
        """The finished hands, the latest first; -1: without a limit."""
        return self._select("WHERE NOT given_up ORDER BY finished DESC, hand DESC LIMIT ?", limit)

    def get(self, session: str, hand: int) -> StoredHand | None:
        return next(iter(self._select("WHERE session = ? AND hand = ?", session, hand)), None)

    def _select(self, where: str, *values: object) -> list[StoredHand]:
        columns = ", ".join(StoredHand.__dataclass_fields__)
        rows = self._database.rows(f"SELECT {columns} FROM hands {where}", *values)
        return [StoredHand(*row) for row in rows]


def insert_hand(connection: sqlite3.Connection, hand: StoredHand) -> bool:
    """Insert a finished hand; returns whether it was new."""
    placeholders = ", ".join("?" * len(StoredHand.__dataclass_fields__))
    cursor = connection.execute(
        f"INSERT OR IGNORE INTO hands VALUES ({placeholders})", astuple(hand)
    )
    return bool(cursor.rowcount)
