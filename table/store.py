# pyright: strict
"""What people play, kept in one SQLite file: sittings under way, finished hands and matches.

The page and the terminal share it, also at the same time: every change of a sitting
counts its revisions, so nobody writes over what somebody else has played on. A file that
is damaged is moved aside and a new one begun.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .folders import data_folder
from .messages import kind_of, listed, winner_of
from .sitting import OPPONENT, PERSON, Sitting

FILE = "table.sqlite3"
_VERSION = 1
_BUSY_SECONDS = 5.0
_ID_BYTES = 18
_MOST_LISTED = 200

_SCHEMA = """
CREATE TABLE persons (name TEXT PRIMARY KEY, person TEXT NOT NULL);
CREATE TABLE sittings (
    id TEXT PRIMARY KEY, person TEXT NOT NULL, revision INTEGER NOT NULL, updated REAL NOT NULL,
    over INTEGER NOT NULL, about TEXT NOT NULL, state TEXT NOT NULL, extra TEXT NOT NULL
);
CREATE INDEX sittings_of ON sittings (person, updated);
CREATE TABLE hands (
    sitting TEXT NOT NULL, hand INTEGER NOT NULL, person TEXT NOT NULL, finished REAL NOT NULL,
    rules TEXT NOT NULL, opponent TEXT NOT NULL, player TEXT NOT NULL,
    tricks INTEGER NOT NULL, tricks_other INTEGER NOT NULL, pay INTEGER NOT NULL,
    margin INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (sitting, hand)
);
CREATE INDEX hands_of ON hands (person, finished);
CREATE TABLE matches (
    sitting TEXT PRIMARY KEY, person TEXT NOT NULL, finished REAL NOT NULL, rules TEXT NOT NULL,
    opponent TEXT NOT NULL, player TEXT NOT NULL, kind TEXT NOT NULL, n INTEGER NOT NULL,
    hands INTEGER NOT NULL, points INTEGER NOT NULL, points_other INTEGER NOT NULL,
    won INTEGER NOT NULL
);
"""


class StoreError(ValueError):
    """A file that can not be used for what people play."""


class PlayedElsewhere(ValueError):
    """A sitting was played on, or forgotten, by another program meanwhile."""


def new_id() -> str:
    """A name that nobody can guess."""
    return secrets.token_urlsafe(_ID_BYTES)


@dataclass(frozen=True)
class Kept:
    """A sitting as it was kept."""

    id: str
    person: str
    revision: int
    updated: float
    over: bool
    about: Mapping[str, Any]
    """What is played and how it stands, for a list."""
    state: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the table knows beside it, such as how fast it is watched."""


@dataclass(frozen=True)
class KeptHand:
    """A finished hand, with its record as a line of text."""

    sitting: str
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


class Store:
    """The file; threads may share it."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is the user's data folder unless another is named."""
        self.path = (folder or data_folder()) / FILE
        self.notice: str | None = None
        """What has to be said about the file, if it was damaged."""
        self._lock = threading.RLock()
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self._connected()
        except (OSError, sqlite3.OperationalError) as error:
            raise StoreError(
                f"{self.path} can not be opened ({error}): name another folder with --data or "
                "GERMAN_WHIST_DATA"
            ) from error
        except sqlite3.DatabaseError as error:
            self.notice = self._moved_aside(error)
            return self._connected()

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if told != "ok":
                raise sqlite3.DatabaseError(told)
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        self.path.chmod(0o600)
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={_VERSION}")
        connection.execute("COMMIT")
        if version not in (0, _VERSION):
            raise StoreError(
                f"{self.path} was written by another version of this program (layout {version}, "
                f"this one reads {_VERSION}): use that one, or name another folder with --data"
            )

    def _moved_aside(self, error: Exception) -> str:
        aside = self.path.with_name(f"{FILE}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        for ending in ("", "-wal", "-shm"):
            part = self.path.with_name(FILE + ending)
            if part.exists():
                part.replace(aside.with_name(aside.name + ending))
        return (
            f"{self.path} is damaged ({error}): it was moved to {aside.name}, and a new one begins"
        )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _changing(self) -> Generator[sqlite3.Connection]:
        """One transaction: all of it is kept, or nothing."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock, closing(self._connection.execute(query, values)) as cursor:
            return cursor.fetchall()

    # -- persons

    def owner(self) -> str:
        """The person whose computer this is: at the terminal, and in the page that it opens."""
        with self._changing() as connection:
            connection.execute("INSERT OR IGNORE INTO persons VALUES ('owner', ?)", (new_id(),))
        ((person,),) = self._rows("SELECT person FROM persons WHERE name = 'owner'")
        return person

    # -- sittings

    def keep(
        self,
        name: str,
        person: str,
        sitting: Sitting,
        *,
        revision: int = 0,
        over: bool | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> int:
        """Keep a sitting, with the hands that it has finished; returns its new revision.

        `revision` is what the last `keep` returned, 0 for a sitting that is new. `over` is told
        where somebody has left it before its end.
        """
        values = (
            *(revision + 1, time.time(), sitting.over if over is None else over),
            *(_json(listed(sitting)), _json(sitting.state()), _json(extra or {})),
        )
        with self._changing() as connection:
            if revision:
                done = connection.execute(
                    "UPDATE sittings SET revision = ?, updated = ?, over = ?, about = ?,"
                    " state = ?, extra = ? WHERE id = ? AND revision = ?",
                    (*values, name, revision),
                )
            else:
                done = connection.execute(
                    "INSERT OR IGNORE INTO sittings (revision, updated, over, about, state,"
                    " extra, id, person) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*values, name, person),
                )
            if not done.rowcount:
                raise PlayedElsewhere("this table was played on, or cleared away, elsewhere")
            _keep_finished(connection, name, person, sitting)
        return revision + 1

    def kept(self, name: str) -> Kept | None:
        """The sitting of this name."""
        found = self._sittings("WHERE id = ?", name)
        return found[0] if found else None

    def sittings(self, person: str) -> list[Kept]:
        """A person's sittings: those under way, then those that are over, the last played first."""
        which = "WHERE person = ? ORDER BY over, updated DESC LIMIT ?"
        return self._sittings(which, person, _MOST_LISTED)

    def _sittings(self, which: str, *values: object) -> list[Kept]:
        columns = "SELECT id, person, revision, updated, over, about, state, extra FROM sittings "
        return [
            Kept(name, person, revision, updated, bool(over), *map(json.loads, told))
            for name, person, revision, updated, over, *told in self._rows(columns + which, *values)
        ]

    def revision(self, name: str) -> int:
        """The present revision of a sitting; 0 if there is none."""
        found = self._rows("SELECT revision FROM sittings WHERE id = ?", name)
        return found[0][0] if found else 0

    def open_sittings(self, person: str | None = None) -> int:
        """How many sittings are not over, of one person or in all."""
        if person is None:
            ((count,),) = self._rows("SELECT COUNT(*) FROM sittings WHERE NOT over")
        else:
            ((count,),) = self._rows(
                "SELECT COUNT(*) FROM sittings WHERE NOT over AND person = ?", person
            )
        return count

    def forget(self, name: str) -> None:
        """Forget a sitting; the hands that were finished in it stay."""
        with self._changing() as connection:
            connection.execute("DELETE FROM sittings WHERE id = ?", (name,))

    # -- finished hands

    def hands(self, person: str, most: int | None = None) -> list[KeptHand]:
        """A person's finished hands, the last first."""
        limit = -1 if most is None else most
        query = "WHERE person = ? ORDER BY finished DESC, hand DESC LIMIT ?"
        return self._hands(query, person, limit)

    def hand(self, sitting: str, hand: int) -> KeptHand | None:
        """One finished hand of a sitting."""
        found = self._hands("WHERE sitting = ? AND hand = ?", sitting, hand)
        return found[0] if found else None

    def _hands(self, which: str, *values: object) -> list[KeptHand]:
        columns = ", ".join(KeptHand.__dataclass_fields__)
        rows = self._rows(f"SELECT {columns} FROM hands {which}", *values)
        return [KeptHand(*row) for row in rows]

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds, for statistics."""
        return self._rows(query, *values)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _keep_finished(
    connection: sqlite3.Connection, name: str, person: str, sitting: Sitting
) -> None:
    """Keep the hands that were finished since the sitting was taken up, and the match."""
    settings, now = sitting.settings, time.time()
    who = (settings.rules.name, settings.opponent, settings.player)
    first = sitting.hands_over - len(sitting.records)
    for hand, record in enumerate(sitting.records, first + 1):
        mine, others = record.counting_tricks
        margin = others - mine if sitting.results[hand - 1].low else mine - others
        connection.execute(
            "INSERT OR IGNORE INTO hands VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (name, hand, person, now, *who, mine, others, record.pays[0], margin, record.to_line()),
        )
    if settings.match is None or not sitting.over:
        return
    won = {PERSON: 1, OPPONENT: -1, None: 0}[winner_of(sitting)]
    match = (*kind_of(settings.match), sitting.hands_over, *sitting.game.points, won)
    connection.execute(
        "INSERT OR IGNORE INTO matches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, person, now, *who, *match),
    )
