# pyright: strict
"""The numbered events of a table, and subscribers that wait for new ones."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

from .messages import TableEvent

_MAX_EVENTS = 400


class EventLog:
    """The latest events of a table; adding and reading need the table's lock."""

    def __init__(self, last: int = 0) -> None:
        self.last: int = last
        """The number of the latest event."""
        self._events: deque[TableEvent] = deque(maxlen=_MAX_EVENTS)
        self._lock = threading.Lock()
        self._callbacks: set[Callable[[], None]] = set()

    def add(self, events: Iterable[TableEvent]) -> None:
        for event in events:
            self.last += 1
            event.n = self.last
            self._events.append(event)
        self.notify()

    def after(self, n: int) -> list[TableEvent]:
        """The events after number `n`, without those that are too old."""
        return [event for event in self._events if event.n > n]

    def subscribe(self, callback: Callable[[], None]) -> None:
        with self._lock:
            self._callbacks.add(callback)

    def unsubscribe(self, callback: Callable[[], None]) -> None:
        with self._lock:
            self._callbacks.discard(callback)

    @property
    def n_subscribers(self) -> int:
        return len(self._callbacks)

    def notify(self) -> None:
        """Call the subscribers, outside of the lock, since they may unsubscribe."""
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()
