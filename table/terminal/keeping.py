# pyright: strict
"""What an evening at the terminal asks besides the cards: keeping, hints, statistics, decisions."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from ...agents.naming import raised_at, told_error
from ...engine.view import View
from ..hints import Advisers
from ..labels import say
from ..session import Session, Settings
from ..statistics import Statistics, statistics_of
from ..store import Store, new_id
from ..words import called
from .styled_text import tidy


class Left(Exception):
    """The person leaves the table."""


@dataclass
class Keeper:
    """Keeps one session in the store after every action; what an evening asks besides."""

    store: Store
    name: str = field(default_factory=new_id)
    revision: int = 0
    trouble: str | None = None
    """Why the session is not kept as it is, where it could not be."""
    _advisers: Advisers = field(default_factory=Advisers)

    def keep(self, session: Session) -> None:
        """Keep the session as it is now; where that can not be, it is played on all the same."""
        try:
            person = self.store.owner()
            self.revision = self.store.keep(self.name, person, session, revision=self.revision)
        except sqlite3.Error as error:
            self.trouble = say("terminal.not_written", path=self.store.path, error=error)
        else:
            self.trouble = None

    def hint(self, view: View) -> tuple[int, str]:
        """What to play, and why."""
        told = self._advisers.hint(view)
        return told.action, told.why

    def statistics(self) -> Statistics:
        """The person's results so far."""
        return statistics_of(self.store, self.store.owner())


def short_names(settings: Settings) -> tuple[str, str]:
    """What the two are called at the table: a checkpoint by its file, nobody at length."""
    first, second = (tidy(called(name), 13) for name in settings.names)
    return first, second


def decided(session: Session) -> int:
    """What the agent to move plays; one that fails is told about in a sentence."""
    try:
        return session.decide()
    except ValueError:
        raise
    except Exception as error:
        name = session.settings.names[session.turn or 0]
        told = say("terminal.failed", name=name, error=told_error(error), where=raised_at(error))
        raise ValueError(told) from error
