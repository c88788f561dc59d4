# pyright: strict
"""A table: one session, used by several threads.

Quick agents move within the request. Agents that search decide in a thread of their own, without
the table's lock. Watched agents move only while a page listens.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec.structs import asdict

from german_whist.engine.checks import IllegalAction
from german_whist.engine.records import GameRecord
from german_whist.engine.view import View

from ..game.opponents import Opponents
from ..game.session import PERSON, ClaimRefused, Session
from ..game.store import Store, StoredSession
from ..text import words
from ..text.labels import label
from .messages import (
    Refused,
    Speed,
    TableEvent,
    TableUpdate,
    deal_events,
    display_names,
    play_events,
    table_state,
)

log = logging.getLogger("german_whist.table")

_MAX_EVENTS = 400
_DEFAULT_DELAY, _MIN_DELAY, _MAX_DELAY = 1000, 50, 60_000
"""Milliseconds."""
PATIENCE_SECONDS = 60.0
"""After so long a person may leave an agent that still thinks, and loses nothing."""
_PAUSE_AFTER_HAND = 4
"""Delays between the last card of a watched hand and the next deal."""


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

    def forget(self) -> None:
        """Keep no event so far; their numbers go on."""
        self._events.clear()

    def after(self, n: int) -> list[TableEvent]:
        """The events after number `n`, without those that are too old."""
        return [event for event in self._events if event.n > n]

    def subscribe(self, callback: Callable[[], None]) -> None:
        with self._lock:
            self._callbacks.add(callback)

    def unsubscribe(self, callback: Callable[[], None]) -> None:
        with self._lock:
            self._callbacks.discard(callback)

    def notify(self) -> None:
        """Call the subscribers, outside of the lock, since they may unsubscribe."""
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()


class TableBackend(Protocol):
    """What a table needs of its server."""

    store: Store
    opponents: Opponents

    def run_in_background(self, think: Callable[[], None]) -> None:
        """Call `think` in a worker thread."""
        ...


class LiveTable:
    """A session with its `events` and the `speed` of watched agents; thread-safe."""

    def __init__(
        self,
        name: str,
        session: Session,
        backend: TableBackend,
        stored: StoredSession | None = None,
        coached: bool = False,
    ) -> None:
        """`stored` is the table's row in the store; None for a new table.

        `coached`: whether a coach speaks in the first hand.
        """
        self.id = name
        self.session = session
        self._backend = backend
        self._lock = threading.RLock()
        extra: Mapping[str, Any] = {} if stored is None else stored.extra
        self.revision = 0 if stored is None else stored.revision
        self.left = bool(extra.get("left", False))
        self._coached = bool(extra.get("coached", coached))
        self.events = EventLog(extra.get("n", 0))
        self.speed = Speed(extra.get("delay_ms", _DEFAULT_DELAY), extra.get("paused", False))
        self._restart_clock()
        self.busy = False
        """Whether a thread decides or moves for an agent."""
        self._busy_since = 0.0
        self._excused = False
        """Whether the table was left because its agent could not go on."""
        self._trouble: str | None = None
        self._notice: str | None = None
        self._saved_n: int = -1 if stored is None else self.events.last

    # -- state

    def message(self, after: int | None) -> TableUpdate:
        """The state, and the events after number `after`; None: no events."""
        with self._lock:
            events = [] if after is None else self.events.after(after)
            state = table_state(
                self.session,
                self._notes(),
                coached=self._coached and self.session.game.number == 0,
                id=self.id,
                n=self.events.last,
                thinking=self.busy and not self.session.settings.watched,
                trouble=self._trouble,
                notice=self._notice,
                left=self.left,
                speed=self.speed if self.session.settings.watched else None,
            )
            return TableUpdate(state, events)

    def _notes(self) -> list[str]:
        """What there is to say about the hand that is over beside its result."""
        if not self.session.game.over:
            return []
        hand = self.session.game.number + 1
        change = self._backend.store.progress.rating_change(self.id, hand)
        return [*self._compared(), *([] if change is None else [words.rating_change(*change)])]

    def _compared(self) -> list[str]:
        session, earlier = self.session, self.session.settings.replayed_from
        before = None if earlier is None else self._backend.store.hands.get(*earlier)
        if before is None:
            return []
        swapped = GameRecord.from_line(before.record).dealer != session.game.dealer
        tricks = (before.tricks, before.tricks_other)
        names = display_names(session)
        return [words.compare_deals(session.game.counting_tricks, tricks, names, swapped)]

    def is_current(self) -> bool:
        """Whether no other program has saved the session since."""
        with self._lock:
            return self._backend.store.revision(self.id) == self.revision

    def view_for_help(self) -> View:
        with self._lock:
            if self.session.settings.memory and not self.session.game.over:
                raise Refused(label("refused.memory"), 409)
            return self.session.view(PERSON)

    # -- playing

    def begin(self) -> None:
        """Add the events of a new deal, and let the agent to move play."""
        with self._lock:
            if not self.revision:
                self.events.add(deal_events(self.session))
            self._continue()

    def play(self, action: int, move: int) -> None:
        """Play the person's action and a quick opponent's reply."""
        with self._lock:
            self._check()
            if self._action_at(move) == action:
                return  # Sent again, since the answer was lost: it has been played.
            self._check(move)
            if self.session.agent_to_move and not self.session.settings.watched:
                name = self.session.settings.opponent
                raise Refused(label("refused.not_your_turn", name=name), 409)
            before = self.session.view(PERSON)
            self.session.play(action)
            self._forget_played()
            self.events.add(play_events(self.session, before, action))
            self._continue()

    def _action_at(self, move: int) -> int | None:
        """The action that was decision `move`, if that is one of this hand."""
        actions = self.session.game.actions
        place = move - self.session.moves + len(actions)
        return int(actions[place]) if 0 <= place < len(actions) else None

    def take_back(self) -> None:
        with self._lock:
            self._check()
            if self.busy:
                raise Refused(label("refused.busy"), 409)
            self.session.take_back()
            self.events.add([TableEvent("taken_back", PERSON, label("event.took_back"))])
            self._continue()

    def claim(self, tricks: int, move: int) -> None:
        with self._lock:
            self._check(move)
            try:
                actions = self.session.claim(tricks)
            except ClaimRefused:
                self._note_help()
                raise
            if not actions:
                raise IllegalAction(label("refused.nothing_to_claim"))
            last = self.session.results[-1]
            text = words.result(last.tricks, last.payoffs, display_names(self.session), last.low)
            self.events.add([TableEvent("claimed", PERSON, text)])
            self._continue()

    def view_for_hint(self) -> View:
        """The view of a person who asks for a hint: the hand is not rated from now on.

        Before the hint is there, the hand may be over, and another one begun.
        """
        with self._lock:
            self._check()
            view = self.session.view(PERSON)
            if not view.to_move or self.session.settings.watched:
                raise Refused(label("refused.no_advice"), 409)
            if not self.session.helped:
                self.session.helped = True
                self._note_help()
            return view

    def _note_help(self) -> None:
        """Save that this hand is not rated from now on; needs the lock."""
        self.events.add([TableEvent("helped", PERSON, "")])
        self._save()

    def next_hand(self) -> None:
        with self._lock:
            self._check()
            self.session.next_hand()
            self._forget_played()
            self.events.add(deal_events(self.session))
            self._continue()

    def _forget_played(self) -> None:
        """From memory, keep no events before the person's latest action; needs the lock."""
        if self.session.settings.memory:
            self.events.forget()

    def leave(self) -> None:
        """Close the table; an unfinished hand or match is lost, unless the agent cannot go on."""
        with self._lock:
            if not self.session.over and not self.left:
                late = self.busy and time.monotonic() - self._busy_since > PATIENCE_SECONDS
                self._excused = late or self._trouble is not None
                self.left = True
                self.events.add([TableEvent("left", PERSON, label("event.left"))])
                self._save()

    def _check(self, move: int | None = None) -> None:
        """Refuse if the table is closed, or `move` is not the current decision."""
        if self.left:
            raise Refused(label("refused.left"), 409)
        if move not in (None, self.session.moves):
            raise Refused(label("refused.old_move", move=move, next=self.session.moves), 409)

    def _continue(self) -> None:
        """Let the agent to move play, and save the session; needs the lock."""
        session = self.session
        if not session.settings.watched and not self.left:
            while session.agent_to_move and self._trouble is None:
                if not self._backend.opponents[session.settings.opponent].quick:
                    if not self.busy:
                        self._start_thinking()
                    break
                self._answer()
        self._save()

    def _answer(self) -> None:
        """Play one action of the agent to move; needs the lock, or `busy` set by this thread."""
        try:
            action = self.session.decide()
        except Exception as error:
            self._failed(error)
            return
        with self._lock:
            if not self.left:
                before = self.session.view(PERSON)
                self.session.play_decided(action)
                self.events.add(play_events(self.session, before, action))
                self._save()  # before another thread can send what is not saved

    def _start_thinking(self) -> None:
        self.busy = True
        self._busy_since = time.monotonic()
        name = self.session.settings.opponent
        self.events.add([TableEvent("thinking", 1, label("hand.thinking", name=name))])
        self._backend.run_in_background(self._think)

    def _think(self) -> None:
        """Decide without the lock: `busy` keeps others from moving, but not from reading."""
        while True:
            self._answer()
            with self._lock:
                done = not self.session.agent_to_move or self.left or self._trouble is not None
                if done:
                    self._clear_busy()
                self._save()
            if done:
                return

    def _clear_busy(self) -> None:
        self.busy = False
        self.events.notify()

    def _failed(self, error: Exception) -> None:
        log.error("table %s: an agent failed", self.id, exc_info=error)
        turn = self.session.turn or 0
        with self._lock:
            name = display_names(self.session)[turn]
            self._trouble = label("refused.failed", name=name, error=type(error).__name__)
            self.events.add([TableEvent("trouble", turn, self._trouble)])

    # -- watching

    def seconds_to_wait(self) -> float | None:
        """Seconds to the next move of watched agents; None if none is due."""
        with self._lock:
            stopped = self.session.over or self.left or self._trouble is not None
            if stopped or self.speed.paused or self.busy or not self.session.settings.watched:
                return None
            return max(0.0, self._due - time.monotonic())

    def _restart_clock(self, n_delays: int = 1) -> None:
        """Let the next move be due after so many delays from now."""
        self._due = time.monotonic() + n_delays * self.speed.delay_ms / 1000

    def advance(self) -> None:
        """Let watched agents make their next move, if it is due and no other thread does so."""
        with self._lock:
            if self.seconds_to_wait() != 0.0:
                return
            self.busy = True
        self._step()

    def set_speed(
        self, delay_ms: int | None = None, pause: bool | None = None, step: bool = False
    ) -> None:
        """Set the speed of watched agents; `step`: make one move and pause."""
        with self._lock:
            if not self.session.settings.watched:
                raise IllegalAction(label("refused.speed"))
            if delay_ms is not None:
                self.speed.delay_ms = min(max(delay_ms, _MIN_DELAY), _MAX_DELAY)
            if step or pause is not None:
                self.speed.paused = step or bool(pause)
            self._restart_clock()
            self.events.add([TableEvent("speed", None, "")])
            self._save()
            steps = step and not (self.busy or self.left or self._trouble or self.session.over)
            if steps:
                self.busy = True
        if steps:
            self._step()

    def _step(self) -> None:
        """One move, or the next deal; `busy` was set by this thread."""
        try:
            if self.session.game.over:
                with self._lock:
                    self.session.next_hand()
                    self.events.add(deal_events(self.session))
            else:
                self._answer()
        finally:
            with self._lock:
                self._clear_busy()
                self._restart_clock(_PAUSE_AFTER_HAND if self.session.game.over else 1)
                self._save()

    # -- saving

    def _save(self) -> None:
        """Save the session if there are new events; needs the lock."""
        if self.events.last == self._saved_n:
            return
        extra = {"n": self.events.last, "left": self.left, "coached": self._coached}
        extra |= asdict(self.speed)
        try:
            self.revision = self._backend.store.save(
                self.id,
                self.session,
                revision=self.revision,
                given_up=self.left,
                excused=self._excused,
                extra=extra,
            )
        except sqlite3.Error as error:
            log.error("table %s cannot be kept: %s", self.id, error)
            self._notice = label("refused.not_kept", error=error)
            return
        self._notice = None
        self._saved_n = self.events.last
        self.session.records.clear()  # they are in the store now
