# pyright: strict
"""The tables of a server: those in use are in memory, all others in the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakValueDictionary

from german_whist.common.threads import usable_threads

from ..game.database import new_id
from ..game.opponents import Opponents
from ..game.session import Session, SessionSettings
from ..game.store import RevisionConflict, Store
from ..text.labels import label
from .live_table import LiveTable, log
from .messages import Refused, TableSummary

_TABLES_IN_MEMORY = 256


class LiveTables:
    """Opens and loads tables, and runs their agents in threads."""

    def __init__(self, store: Store, opponents: Opponents) -> None:
        self.store = store
        self.opponents = opponents
        self._lock = threading.Lock()
        # Weak references: while a request or a running agent uses a table, it is not loaded twice.
        self._tables: WeakValueDictionary[str, LiveTable] = WeakValueDictionary()
        self._recent: OrderedDict[str, LiveTable] = OrderedDict()
        # One lock for each table that is being loaded.
        self._loading: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self.closing = False
        self._thinking = threading.Semaphore(max(1, usable_threads()))

    def close(self) -> None:
        """Release all listeners, and start no further agent decision; every move is saved."""
        self.closing = True
        for table in list(self._tables.values()):
            table.events.notify()

    def run_in_background(self, think: Callable[[], None]) -> None:
        def run() -> None:
            with self._thinking:
                if self.closing:
                    return
                try:
                    think()
                except RevisionConflict:
                    pass
                except Exception:
                    log.exception("thinking failed")

        # Not in a pool of threads, whose end a program waits for: an agent may think for ever.
        threading.Thread(target=run, name="thinking", daemon=True).start()

    def open(self, settings: SessionSettings, coached: bool = False) -> LiveTable:
        session = Session(settings, self.opponents.make)
        table = LiveTable(new_id(), session, self, coached=coached)
        table.begin()
        with self._lock:
            self._remember(table)
        return table

    def get(self, name: str) -> LiveTable:
        with self._lock:
            loading = self._loading.setdefault(name, threading.Lock())
        # Only requests for this table wait while it is loaded or busy.
        with loading:
            with self._lock:
                table = self._tables.get(name)
            if table is None or not table.is_current():
                table = self._load(name)
            if table is None:
                raise Refused(label("refused.no_table"), 404)
            with self._lock:
                self._remember(table)
        return table

    def _load(self, name: str) -> LiveTable | None:
        stored = self.store.load(name)
        if stored is None:
            return None
        session = Session.from_state(stored.state, self.opponents.make)
        table = LiveTable(name, session, self, stored)
        table.begin()
        return table

    def _remember(self, table: LiveTable) -> None:
        self._tables[table.id] = table
        self._recent[table.id] = table
        self._recent.move_to_end(table.id)
        while len(self._recent) > _TABLES_IN_MEMORY:
            self._recent.popitem(last=False)

    def list(self) -> list[TableSummary]:
        """Unfinished tables, then finished ones, the latest first."""
        return [
            TableSummary(stored.id, **stored.about, over=bool(stored.over))
            for stored in self.store.sessions()
        ]

    def forget(self, name: str) -> None:
        """Delete a table; an unfinished hand is given up, finished ones stay."""
        table = self.get(name)
        table.leave()
        self.store.forget(name)
        with self._lock:
            self._recent.pop(name, None)
            self._tables.pop(name, None)
