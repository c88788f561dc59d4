# pyright: strict
"""Sessions in the database: those under way, their finished hands and matches.

The page and the terminal may use it at the same time. Each save increments the session's
revision and is refused if the revision has changed meanwhile (optimistic locking).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..text.words import display_name, join_words, match_kind, match_words, title_of
from .database import Database, HandStore, StoredHand, insert_hand
from .progress import PlayerProgress, convert_ratings, rate_hand
from .session import OPPONENT, PERSON, Session, score_of, winner_of

_MAX_LISTED = 200
# Layout 5 had five lessons; of these the third and fourth are gone, and the fifth is the third.
_LESSON = "json_extract(state, '$.settings.lesson')"
_DELETE_OLD_LESSONS = f"DELETE FROM sessions WHERE {_LESSON} IN (3, 4)"
_RENUMBER_LESSON = (
    f"UPDATE sessions SET state = json_set(state, '$.settings.lesson', 3) WHERE {_LESSON} = 5"
)
SUBSTITUTE = "substitute"
"""In the place of a person who took over a hand that others had begun: it does not count."""


class RevisionConflict(ValueError):
    """Another program has played on or deleted the session."""


@dataclass(frozen=True)
class StoredSession:
    """A row of `sessions`."""

    id: str
    revision: int
    updated: float
    over: bool
    about: Mapping[str, Any]
    """What is played, and the score, for a list."""
    state: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The table's own data, such as the speed of watched agents."""


class Store(Database):
    """Sessions, with finished `hands` and the player's `progress`."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(folder)
        self.hands = HandStore(self)
        self.progress = PlayerProgress(self, self.hands)

    def convert(self, connection: sqlite3.Connection) -> None:
        connection.execute(_DELETE_OLD_LESSONS)
        connection.execute(_RENUMBER_LESSON)
        convert_ratings(connection)

    def save(
        self,
        name: str,
        session: Session,
        *,
        revision: int = 0,
        given_up: bool = False,
        excused: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> int:
        """Save a session and its newly finished hands; returns the new revision.

        `revision` is that of the last `save`, 0 for a new session. `given_up` marks a session that
        was left before its end, which counts as a loss unless it is `excused`.
        """
        values = (
            revision + 1,
            time.time(),
            session.over or given_up,
            _json(_about(session)),
            _json(session.state()),
            _json(extra or {}),
        )
        with self.transaction() as connection:
            if revision:
                cursor = connection.execute(
                    "UPDATE sessions SET revision = ?, updated = ?, over = ?, about = ?,"
                    " state = ?, extra = ? WHERE id = ? AND revision = ?",
                    (*values, name, revision),
                )
            else:
                cursor = connection.execute(
                    "INSERT OR IGNORE INTO sessions (revision, updated, over, about, state,"
                    " extra, id) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (*values, name),
                )
            if not cursor.rowcount:
                raise RevisionConflict("this table was played on, or cleared away, elsewhere")
            _insert_finished(connection, name, session, given_up and not excused)
        return revision + 1

    def load(self, name: str) -> StoredSession | None:
        return next(iter(self._select("WHERE id = ?", name)), None)

    def sessions(self) -> list[StoredSession]:
        """Unfinished sessions, then finished ones, the latest first."""
        return self._select("ORDER BY over, updated DESC LIMIT ?", _MAX_LISTED)

    def _select(self, where: str, *values: object) -> list[StoredSession]:
        columns = "SELECT id, revision, updated, over, about, state, extra FROM sessions "
        rows = self.rows(columns + where, *values)
        return [StoredSession(*row[:4], *map(json.loads, row[4:])) for row in rows]

    def revision(self, name: str) -> int:
        """The present revision of a session; 0 if there is none."""
        rows = self.rows("SELECT revision FROM sessions WHERE id = ?", name)
        return rows[0][0] if rows else 0

    def forget(self, name: str) -> None:
        """Delete a session; its finished hands stay."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE id = ?", (name,))


def _about(session: Session) -> dict[str, object]:
    settings = session.settings
    players = join_words(list(map(display_name, settings.names)))
    return {
        "title": f"{title_of(settings.rules.name)}, {players}",
        "match": match_words(settings.match),
        "score": list(score_of(session)),
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _insert_finished(
    connection: sqlite3.Connection, name: str, session: Session, given_up: bool
) -> None:
    """Insert newly finished hands and matches; a hand that is given up, and its match, are lost."""
    settings, now = session.settings, time.time()
    if settings.lesson:
        return
    own, other = session.game.counting_tricks
    under_way = StoredHand(
        session=name,
        hand=session.game.number + 1,
        finished=now,
        rules=settings.rules.name,
        opponent=settings.opponent,
        player=SUBSTITUTE if settings.prior_actions else settings.player,
        tricks=own,
        tricks_other=other,
        pay=-1,
        margin=0,
        record="",
        given_up=1,
    )
    first = session.hands_finished - len(session.records)
    for number, record in enumerate(session.records, first + 1):
        own, other = record.counting_tricks
        hand = replace(
            under_way,
            hand=number,
            tricks=own,
            tricks_other=other,
            pay=record.payoffs[0],
            margin=other - own if session.results[number - 1].low else own - other,
            record=record.to_line(),
            given_up=0,
        )
        if insert_hand(connection, hand) and settings.rated and not record.meta.get("helped"):
            rate_hand(connection, hand)
    given_up = given_up and not settings.watched and not session.over
    lost = given_up and not session.game.over and insert_hand(connection, under_way)
    if lost and settings.rated and not session.helped:
        rate_hand(connection, under_way)
    if settings.match is None or not (session.over or given_up):
        return
    won = -1 if given_up else {PERSON: 1, OPPONENT: -1, None: 0}[winner_of(session)]
    match = (*match_kind(settings.match), session.hands_finished, *session.game.points, won)
    players = (settings.rules.name, settings.opponent, settings.player)
    connection.execute(
        "INSERT OR IGNORE INTO matches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, now, *players, *match),
    )
