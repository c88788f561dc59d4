# pyright: strict
"""What happened at a table, numbered, and whoever waits for the next of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

from .messages import TableEvent

_EVENTS_KEPT = 400


class EventLog:
    """The last events of a table; who adds and reads them holds the table's lock."""

    def __init__(self, last: int = 0) -> None:
        self.last: int = last
        """The number of the last event."""
        self._events: deque[TableEvent] = deque(maxlen=_EVENTS_KEPT)
        self._lock = threading.Lock()
        self._bells: set[Callable[[], None]] = set()

    def add(self, events: Iterable[TableEvent]) -> None:
        """Number events and tell whoever waits."""
        for event in events:
            self.last += 1
            event.n = self.last
            self._events.append(event)
        self.notify()

    def after(self, n: int) -> list[TableEvent]:
        """The events after number `n`, as far as they are still known."""
        return [each for each in self._events if each.n > n]

    def subscribe(self, ring: Callable[[], None]) -> None:
        """Call `ring` whenever something happens."""
        with self._lock:
            self._bells.add(ring)

    def unsubscribe(self, ring: Callable[[], None]) -> None:
        """Do not call it any more."""
        with self._lock:
            self._bells.discard(ring)

    @property
    def n_subscribers(self) -> int:
        """How many wait for something to happen."""
        return len(self._bells)

    def notify(self) -> None:
        """Call whoever waits: outside of the lock, since a bell may remove itself."""
        with self._lock:
            bells = list(self._bells)
        for ring in bells:
            ring()
