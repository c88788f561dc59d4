# pyright: strict
"""What people play, kept in one SQLite file: sessions under way, finished hands and matches.

The page and the terminal share it, also at the same time: every change of a session
counts its revisions, so nobody writes over what somebody else has played on.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..text.words import display_name, join_words, match_kind, match_words, title_of
from .database import Database
from .hands import HandStore, StoredHand, add_hand
from .progress import PlayerProgress, rate_hand
from .session import OPPONENT, PERSON, Session, score_of, winner_of

_MOST_LISTED = 200


class RevisionConflict(ValueError):
    """A session was played on, or forgotten, by another program meanwhile."""


@dataclass(frozen=True)
class StoredSession:
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


class Store(Database):
    """Sessions, and beside them `hands` that are finished and the `progress` of persons."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is the user's data folder unless another is named."""
        super().__init__(folder)
        self.hands = HandStore(self)
        self.progress = PlayerProgress(self, self.hands)

    def save(
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
        with self.transaction() as connection:
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
                raise RevisionConflict("this table was played on, or cleared away, elsewhere")
            _keep_finished(connection, name, person, session, given_up)
        return revision + 1

    def load(self, name: str) -> StoredSession | None:
        """The session of this name."""
        found = self._sessions("WHERE id = ?", name)
        return found[0] if found else None

    def sessions(self, person: str) -> list[StoredSession]:
        """A person's sessions: those under way, then those that are over, the last played first."""
        which = "WHERE person = ? ORDER BY over, updated DESC LIMIT ?"
        return self._sessions(which, person, _MOST_LISTED)

    def _sessions(self, which: str, *values: object) -> list[StoredSession]:
        columns = "SELECT id, person, revision, updated, over, about, state, extra FROM sessions "
        return [
            StoredSession(name, person, revision, updated, bool(over), *map(json.loads, told))
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
        with self.transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE id = ?", (name,))


def _about(session: Session) -> dict[str, Any]:
    """The session in a list: what is played, and how it stands."""
    settings = session.settings
    players = join_words(list(map(display_name, settings.names)))
    return {
        "title": f"{title_of(settings.rules.name)}, {players}",
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
    first = session.hands_finished - len(session.records)
    for number, record in enumerate(session.records, first + 1):
        mine, others = record.counting_tricks
        margin = others - mine if session.results[number - 1].low else mine - others
        result = (mine, others, record.pays[0], margin, record.to_line())
        hand = StoredHand(name, number, person, now, *who, *result)
        if add_hand(connection, hand) and settings.rated and not record.meta.get("helped"):
            rate_hand(connection, hand)
    given_up = given_up and not settings.watched and not session.over
    if given_up and not session.game.over:
        mine, others = session.game.counting_tricks
        number = session.game.number + 1
        hand = StoredHand(name, number, person, now, *who, mine, others, -1, 0, "", given_up=1)
        if add_hand(connection, hand) and settings.rated:
            rate_hand(connection, hand)
    if settings.match is None or not (session.over or given_up):
        return
    won = -1 if given_up else {PERSON: 1, OPPONENT: -1, None: 0}[winner_of(session)]
    match = (*match_kind(settings.match), session.hands_finished, *session.game.points, won)
    connection.execute(
        "INSERT OR IGNORE INTO matches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, person, now, *who, *match),
    )
