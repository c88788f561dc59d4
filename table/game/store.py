# pyright: strict
"""What people play, kept in one SQLite file: sessions under way, finished hands and matches.

The page and the terminal share it, also at the same time: every change of a session
counts its revisions, so nobody writes over what somebody else has played on. A file that
is damaged is moved aside and a new one begun.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from ..rating import Rating
from ..review.analysis import Analysis
from ..strengths import strengths
from ..text.words import called, kind_of, listed, match_words, title_of
from .session import HUMAN, OPPONENT, PERSON, Session, score_of, winner_of

FILE = "table.sqlite3"
_VERSION = 4
_IN_MEMORY = ":memory:"
_BUSY_SECONDS = 5.0
_ID_BYTES = 18
_MOST_LISTED = 200
_DAY = 86400.0

_SCHEMA = """
CREATE TABLE persons (name TEXT PRIMARY KEY, person TEXT NOT NULL);
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, person TEXT NOT NULL, revision INTEGER NOT NULL, updated REAL NOT NULL,
    over INTEGER NOT NULL, about TEXT NOT NULL, state TEXT NOT NULL, extra TEXT NOT NULL
);
CREATE INDEX sessions_of ON sessions (person, updated);
CREATE TABLE hands (
    session TEXT NOT NULL, hand INTEGER NOT NULL, person TEXT NOT NULL, finished REAL NOT NULL,
    rules TEXT NOT NULL, opponent TEXT NOT NULL, player TEXT NOT NULL,
    tricks INTEGER NOT NULL, tricks_other INTEGER NOT NULL, pay INTEGER NOT NULL,
    margin INTEGER NOT NULL, record TEXT NOT NULL, given_up INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, hand)
);
CREATE INDEX hands_of ON hands (person, finished);
CREATE TABLE matches (
    session TEXT PRIMARY KEY, person TEXT NOT NULL, finished REAL NOT NULL, rules TEXT NOT NULL,
    opponent TEXT NOT NULL, player TEXT NOT NULL, kind TEXT NOT NULL, n INTEGER NOT NULL,
    hands INTEGER NOT NULL, points INTEGER NOT NULL, points_other INTEGER NOT NULL,
    won INTEGER NOT NULL
);
CREATE TABLE ratings (
    person TEXT NOT NULL, kind TEXT NOT NULL, finished REAL NOT NULL, rating REAL NOT NULL,
    deviation REAL NOT NULL
);
CREATE INDEX ratings_of ON ratings (person, kind, finished);
CREATE TABLE attempts (
    person TEXT NOT NULL, puzzle TEXT NOT NULL, solved INTEGER NOT NULL, finished REAL NOT NULL,
    PRIMARY KEY (person, puzzle)
);
CREATE TABLE accuracies (
    session TEXT NOT NULL, hand INTEGER NOT NULL, person TEXT NOT NULL, finished REAL NOT NULL,
    mattered INTEGER NOT NULL, mistakes INTEGER NOT NULL, cost REAL NOT NULL,
    PRIMARY KEY (session, hand)
);
CREATE TABLE mistakes (
    session TEXT NOT NULL, hand INTEGER NOT NULL, decision INTEGER NOT NULL,
    person TEXT NOT NULL, cost REAL NOT NULL, solved INTEGER, text TEXT NOT NULL,
    PRIMARY KEY (session, hand, decision)
);
CREATE TABLE shares (
    key TEXT PRIMARY KEY, session TEXT NOT NULL, hand INTEGER NOT NULL, UNIQUE (session, hand)
)
"""


class StoreError(ValueError):
    """A file that can not be used for what people play."""


class PlayedElsewhere(ValueError):
    """A session was played on, or forgotten, by another program meanwhile."""


def data_folder() -> Path:
    """The folder that `GERMAN_WHIST_DATA` names, or the user's data folder."""
    wanted = os.environ.get("GERMAN_WHIST_DATA")
    return Path(wanted) if wanted else Path(platformdirs.user_data_dir("german-whist"))


def new_id() -> str:
    """A name that nobody can guess."""
    return secrets.token_urlsafe(_ID_BYTES)


@dataclass(frozen=True)
class Kept:
    """A session as it was kept."""

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


class Store:
    """The file; threads may share it."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is the user's data folder unless another is named.

        Where nobody named one and the usual one can not be written, nothing is kept beyond
        the end of this program.
        """
        self.path = (folder or data_folder()) / FILE
        self.notice: str | None = None
        """What has to be said about the file, if it was damaged or can not be written."""
        self._lock = threading.RLock()
        self._connection = self._opened(named=folder is not None)

    def _opened(self, named: bool) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self._connected(self.path)
        except (OSError, sqlite3.OperationalError) as error:
            why = getattr(error, "strerror", None) or str(error)
            told = f"{self.path} can not be opened ({why})"
            if named:
                raise StoreError(f"{told}: name another folder with --data") from error
            self.notice = (
                f"{told}, so what you play is not kept: name another folder with --data or "
                "GERMAN_WHIST_DATA"
            )
            return self._connected(_IN_MEMORY)
        except sqlite3.DatabaseError as error:
            self.notice = self._moved_aside(error)
            return self._connected(self.path)

    def _connected(self, place: Path | str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            place, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
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
        if place != _IN_MEMORY:
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

    @property
    def keeps(self) -> bool:
        """Whether there is a file, so that anything outlasts this program."""
        return bool(self.rows("PRAGMA database_list")[0][2])

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
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have ended it
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with self._lock, closing(self._connection.execute(query, values)) as cursor:
            return cursor.fetchall()

    # -- persons

    def owner(self) -> str:
        """The person whose computer this is: at the terminal, and in the page that it opens."""
        with self._changing() as connection:
            connection.execute("INSERT OR IGNORE INTO persons VALUES ('owner', ?)", (new_id(),))
        ((person,),) = self.rows("SELECT person FROM persons WHERE name = 'owner'")
        return person

    # -- sessions

    def keep(
        self,
        name: str,
        person: str,
        session: Session,
        *,
        revision: int = 0,
        over: bool | None = None,
        given_up: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> int:
        """Keep a session, with the hands that it has finished; returns its new revision.

        `revision` is what the last `keep` returned, 0 for a session that is new. `over` is told
        where somebody has left it before its end, `given_up` where that is a loss.
        """
        values = (
            *(revision + 1, time.time(), bool(session.over if over is None else over)),
            *(_json(_about(session)), _json(session.state()), _json(extra or {})),
        )
        with self._changing() as connection:
            if revision:
                done = connection.execute(
                    "UPDATE sessions SET revision = ?, updated = ?, over = ?, about = ?,"
                    " state = ?, extra = ? WHERE id = ? AND revision = ?",
                    (*values, name, revision),
                )
            else:
                done = connection.execute(
                    "INSERT OR IGNORE INTO sessions (revision, updated, over, about, state,"
                    " extra, id, person) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*values, name, person),
                )
            if not done.rowcount:
                raise PlayedElsewhere("this table was played on, or cleared away, elsewhere")
            _keep_finished(connection, name, person, session, given_up)
        return revision + 1

    def kept(self, name: str) -> Kept | None:
        """The session of this name."""
        found = self._sessions("WHERE id = ?", name)
        return found[0] if found else None

    def sessions(self, person: str) -> list[Kept]:
        """A person's sessions: those under way, then those that are over, the last played first."""
        which = "WHERE person = ? ORDER BY over, updated DESC LIMIT ?"
        return self._sessions(which, person, _MOST_LISTED)

    def _sessions(self, which: str, *values: object) -> list[Kept]:
        columns = "SELECT id, person, revision, updated, over, about, state, extra FROM sessions "
        return [
            Kept(name, person, revision, updated, bool(over), *map(json.loads, told))
            for name, person, revision, updated, over, *told in self.rows(columns + which, *values)
        ]

    def revision(self, name: str) -> int:
        """The present revision of a session; 0 if there is none."""
        found = self.rows("SELECT revision FROM sessions WHERE id = ?", name)
        return found[0][0] if found else 0

    def open_sessions(self, person: str | None = None) -> int:
        """How many sessions are not over, of one person or in all."""
        query = "SELECT COUNT(*) FROM sessions WHERE NOT over AND person = IFNULL(?, person)"
        ((count,),) = self.rows(query, person)
        return count

    def forget(self, name: str) -> None:
        """Forget a session; the hands that were finished in it stay."""
        with self._changing() as connection:
            connection.execute("DELETE FROM sessions WHERE id = ?", (name,))

    # -- finished hands

    def hands(self, person: str, most: int | None = None) -> list[KeptHand]:
        """A person's finished hands, the last first."""
        limit = -1 if most is None else most
        query = "WHERE person = ? AND NOT given_up ORDER BY finished DESC, hand DESC LIMIT ?"
        return self._hands(query, person, limit)

    def hand(self, session: str, hand: int) -> KeptHand | None:
        """One finished hand of a session."""
        found = self._hands("WHERE session = ? AND hand = ?", session, hand)
        return found[0] if found else None

    def _hands(self, which: str, *values: object) -> list[KeptHand]:
        columns = ", ".join(KeptHand.__dataclass_fields__)
        rows = self.rows(f"SELECT {columns} FROM hands {which}", *values)
        return [KeptHand(*row) for row in rows]

    def share(self, session: str, hand: int) -> str:
        """The key by which anybody may look at a finished hand; always the same for one hand."""
        with self._changing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO shares VALUES (?, ?, ?)", (new_id(), session, hand)
            )
        found = "SELECT key FROM shares WHERE session = ? AND hand = ?"
        ((key,),) = self.rows(found, session, hand)
        return key

    def shared(self, key: str) -> KeptHand | None:
        """The finished hand that was shared by this key."""
        found = self.rows("SELECT session, hand FROM shares WHERE key = ?", key)
        return self.hand(*found[0]) if found else None

    # -- learning

    def rating(self, person: str, kind: str) -> Rating:
        """A person's rating: `play` against agents, or `puzzles`."""
        with self._lock:
            return _last_rating(self._connection, person, kind)[0]

    def tried(self, person: str, puzzle: str, against: Rating, solved: bool) -> Rating:
        """Note a puzzle that was tried; only the first attempt counts for the rating."""
        now = time.time()
        with self._changing() as connection:
            rating, since = _last_rating(connection, person, "puzzles")
            new = connection.execute(
                "INSERT OR IGNORE INTO attempts VALUES (?, ?, ?, ?)", (person, puzzle, solved, now)
            )
            if new.rowcount:
                days = (now - (since or now)) / _DAY
                rating = rating.after([(against, float(solved))], days)
                _note_rating(connection, person, "puzzles", rating, now)
        return rating

    def note_analysis(self, person: str, session: str, hand: int, found: Analysis) -> None:
        """Keep how well a person played a hand, and the mistakes as exercises."""
        kept, mine = self.hand(session, hand), found.totals[PERSON]
        if kept is None or kept.player != HUMAN or kept.person != person:
            return
        with self._changing() as connection:
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

    def write(self, statement: str, *values: object) -> None:
        """One statement that changes something."""
        with self._changing() as connection:
            connection.execute(statement, values)


def _about(session: Session) -> dict[str, Any]:
    """The session in a list: what is played, and how it stands."""
    settings = session.settings
    return {
        "title": f"{title_of(settings.rules.name)}, {listed(list(map(called, settings.names)))}",
        "match": match_words(settings.match),
        "score": list(score_of(session)),
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _keep_finished(
    connection: sqlite3.Connection, name: str, person: str, session: Session, given_up: bool
) -> None:
    """Keep the hands that were finished since the session was taken up, and the match.

    A hand that is given up is lost, and so is its match.
    """
    settings, now = session.settings, time.time()
    if settings.lesson:
        return
    who = (settings.rules.name, settings.opponent, settings.player)
    first = session.hands_over - len(session.records)
    for hand, record in enumerate(session.records, first + 1):
        mine, others = record.counting_tricks
        margin = others - mine if session.results[hand - 1].low else mine - others
        told = (*who, mine, others, record.pays[0], margin, record.to_line(), 0)
        new = _new_hand(connection, name, hand, person, now, told)
        if new and settings.rated and not record.meta.get("helped"):
            _rate(connection, person, settings.opponent, record.pays[0], now)
    given_up = given_up and not settings.watched and not session.over
    if given_up and not session.game.over:
        told = (*who, *session.game.counting_tricks, -1, 0, "", 1)
        new = _new_hand(connection, name, session.game.number + 1, person, now, told)
        if new and settings.rated:
            _rate(connection, person, settings.opponent, -1, now)
    if settings.match is None or not (session.over or given_up):
        return
    won = -1 if given_up else {PERSON: 1, OPPONENT: -1, None: 0}[winner_of(session)]
    match = (*kind_of(settings.match), session.hands_over, *session.game.points, won)
    connection.execute(
        "INSERT OR IGNORE INTO matches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, person, now, *who, *match),
    )


def _new_hand(
    connection: sqlite3.Connection, name: str, hand: int, person: str, now: float, told: Any
) -> bool:
    """Keep a finished hand; whether it was not there before."""
    done = connection.execute(
        "INSERT OR IGNORE INTO hands VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, hand, person, now, *told),
    )
    return bool(done.rowcount)


def _rate(connection: sqlite3.Connection, person: str, opponent: str, pay: int, now: float) -> None:
    """Count a hand for the rating, where it is known how strong the opponent is."""
    strength = strengths().get(opponent)
    if strength is None:
        return
    rating, since = _last_rating(connection, person, "play")
    score = (1 + (pay > 0) - (pay < 0)) / 2
    after = rating.after([(Rating(*strength), score)], (now - (since or now)) / _DAY)
    _note_rating(connection, person, "play", after, now)


def _last_rating(
    connection: sqlite3.Connection, person: str, kind: str
) -> tuple[Rating, float | None]:
    query = (
        "SELECT rating, deviation, finished FROM ratings WHERE person = ? AND kind = ?"
        " ORDER BY finished DESC, rowid DESC LIMIT 1"
    )
    found = connection.execute(query, (person, kind)).fetchone()
    return (Rating(), None) if found is None else (Rating(*found[:2]), found[2])


def _note_rating(
    connection: sqlite3.Connection, person: str, kind: str, rating: Rating, now: float
) -> None:
    connection.execute("INSERT INTO ratings VALUES (?, ?, ?, ?, ?)", (person, kind, now, *rating))
