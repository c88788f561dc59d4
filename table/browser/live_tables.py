# pyright: strict
"""All tables of a server. Those that nobody asks for lie in the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

from ...common.threads import usable_threads
from ..game.database import new_id
from ..game.opponents import Opponents
from ..game.session import Session, Settings
from ..game.store import RevisionConflict, Store
from ..text.labels import say
from .live_table import LiveTable, log
from .messages import TableSummary

OPEN_TABLES_EACH = 100
OPEN_TABLES_IN_ALL = 2_000
_TABLES_IN_MEMORY = 256


class TableNotFound(LookupError):
    """There is no such table, or it is somebody else's."""


class LimitExceeded(ValueError):
    """Somebody wants more than one may have."""


class LiveTables:
    """Opens tables, finds them, and lets their agents think."""

    def __init__(self, store: Store, opponents: Opponents) -> None:
        self.store = store
        self.opponents = opponents
        self._lock = threading.Lock()
        # What a request or a thinking agent holds stays the one table of its name.
        self._alive: WeakValueDictionary[str, LiveTable] = WeakValueDictionary()
        self._recent: OrderedDict[str, LiveTable] = OrderedDict()
        # Whose turn it is to find a table; it is there as long as somebody asks for that table.
        self._loading: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self.closing = False
        self._thinkers = ThreadPoolExecutor(max(1, usable_threads()), "thinking")

    def close(self) -> None:
        """Let everybody go: what is under way was kept before it began."""
        self.closing = True
        for table in list(self._alive.values()):
            table.events.notify()
        self._thinkers.shutdown(wait=False, cancel_futures=True)

    def run_in_background(self, think: Callable[[], None]) -> None:
        """Think in another thread."""

        def told() -> None:
            try:
                think()
            except RevisionConflict:
                pass
            except Exception:
                log.exception("thinking failed")

        self._thinkers.submit(told)

    def open(self, person: str, settings: Settings) -> LiveTable:
        """A new table."""
        if self.store.open_sessions(person) >= OPEN_TABLES_EACH:
            raise LimitExceeded(say("refused.many_tables", n=OPEN_TABLES_EACH))
        if self.store.open_sessions() >= OPEN_TABLES_IN_ALL:
            raise LimitExceeded(say("refused.many_in_all"))
        table = LiveTable(new_id(), person, Session(settings, self.opponents.make), self)
        table.begin()
        with self._lock:
            self._remember(table)
        return table

    def get(self, person: str, name: str) -> LiveTable:
        """A person's table; whoever asks for another's learns nothing, not even that it is."""
        with self._lock:
            turn = self._loading.setdefault(name, threading.Lock())
        # One at a time loads a table, or waits while it is busy; nobody at another one does.
        with turn:
            with self._lock:
                table = self._alive.get(name)
            if table is None or not table.is_current():
                table = self._loaded(name)
            if table is None or table.person != person:
                raise TableNotFound(say("refused.no_table"))
            with self._lock:
                self._remember(table)
        return table

    def _loaded(self, name: str) -> LiveTable | None:
        kept = self.store.load(name)
        if kept is None:
            return None
        session = Session.from_state(kept.state, self.opponents.make)
        table = LiveTable(name, kept.person, session, self, kept)
        table.begin()
        return table

    def _remember(self, table: LiveTable) -> None:
        self._alive[table.id] = table
        self._recent[table.id] = table
        self._recent.move_to_end(table.id)
        while len(self._recent) > _TABLES_IN_MEMORY:
            self._recent.popitem(last=False)

    def list(self, person: str) -> list[TableSummary]:
        """A person's tables: those under way, then those that are over, the last played first."""
        return [
            TableSummary(kept.id, **kept.about, over=kept.over)
            for kept in self.store.sessions(person)
        ]

    def forget(self, person: str, name: str) -> None:
        """Clear a table away; a hand that is under way is given up, finished ones stay."""
        table = self.get(person, name)
        table.leave()
        self.store.forget(name)
        with self._lock:
            self._recent.pop(name, None)
            self._alive.pop(name, None)
