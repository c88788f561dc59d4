# pyright: strict
"""A table: one session that several threads may ask for.

It answers for quick agents at once. One that searches thinks in a thread of its own, while
the table goes on answering others. Watched agents move only while somebody looks.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from ...engine.game import IllegalAction
from ...engine.records import GameRecord
from ...engine.view import View
from ..game.opponents import Opponents
from ..game.session import PERSON, Session
from ..game.store import Kept, Store
from ..text import words
from ..text.labels import say
from .messages import Answer, Around, Event, Speed, dealt, glance, names_at, played, state_of

log = logging.getLogger("german_whist.table")

_EVENTS_KEPT = 400
_DELAY, _LEAST_DELAY, _MOST_DELAY = 1000, 50, 60_000
_PAUSE_AFTER_HAND = 4
"""Delays between the last card of a watched hand and the next deal."""


class OldMove(ValueError):
    """A page acts on a state that is over."""


class Room(Protocol):
    """Where a table stands."""

    store: Store
    opponents: Opponents

    def apart(self, think: Callable[[], None]) -> None:
        """Call `think` in another thread."""
        ...


class LiveTable:
    """One session, its events, and whoever waits for them. Every public method may be called
    from any thread."""

    def __init__(
        self, name: str, person: str, session: Session, room: Room, kept: Kept | None = None
    ) -> None:
        """`kept` is what the store knows of it, if it is not new."""
        self.id = name
        self.person = person
        self.session = session
        self._room = room
        self._lock = threading.RLock()
        extra: Mapping[str, Any] = {} if kept is None else kept.extra
        self.revision = 0 if kept is None else kept.revision
        self.left = bool(extra.get("left", False))
        self._n: int = extra.get("n", 0)
        self._events: deque[Event] = deque(maxlen=_EVENTS_KEPT)
        self._ringing: set[Callable[[], None]] = set()
        self.busy = False
        """Whether an agent thinks, or moves, in some thread."""
        self._trouble: str | None = None
        self._notice: str | None = None
        self._kept_n: int = self._n if kept is not None else -1
        self._delay: int = extra.get("delay_ms", _DELAY)
        self._paused = bool(extra.get("paused", False))
        self._due = time.monotonic() + self._delay / 1000

    # -- looking

    def message(self, after: int | None) -> Answer:
        """The state, and the events after number `after`; without one none of them."""
        with self._lock:
            events = [each for each in self._events if after is not None and each.n > after]
            return Answer(state_of(self.session, self._around()), events)

    def _around(self) -> Around:
        watched = self.session.settings.watched
        return Around(
            id=self.id,
            n=self._n,
            thinking=self.busy and not watched,
            trouble=self._trouble,
            notice=self._notice,
            left=self.left,
            speed=Speed(self._delay, self._paused) if watched else None,
            compared=self._compared(),
        )

    def _compared(self) -> str:
        """How the hand went beside the one that it is played again after."""
        session, again = self.session, self.session.settings.again
        if again is None or not session.game.over:
            return ""
        before = self._room.store.hands.one(*again)
        if before is None or before.person != self.person:
            return ""
        swapped = GameRecord.from_line(before.record).dealer != session.game.dealer
        told = (before.tricks, before.tricks_other)
        return words.compared(session.game.counting_tricks, told, names_at(session), swapped)

    def is_current(self) -> bool:
        """Whether no other program has played on here."""
        with self._lock:
            return self._room.store.revision(self.id) == self.revision

    def has_news(self, after: int) -> bool:
        """Whether the last event is another one than number `after`."""
        with self._lock:
            return self._n != after

    @property
    def last_event(self) -> int:
        """The number of the last event."""
        return self._n

    def add_bell(self, ring: Callable[[], None]) -> None:
        """Call `ring` whenever something happens."""
        with self._lock:
            self._ringing.add(ring)

    def remove_bell(self, ring: Callable[[], None]) -> None:
        """Do not call it any more."""
        with self._lock:
            self._ringing.discard(ring)

    @property
    def bells(self) -> int:
        """How many wait for something to happen."""
        return len(self._ringing)

    def person_view(self) -> View:
        """What the person sees, for help."""
        with self._lock:
            return self.session.view(PERSON)

    # -- playing

    def begin(self) -> None:
        """Tell the deal and let agents that are to move do so: the table is new, or back again."""
        with self._lock:
            if not self.revision:
                self._happened(dealt(self.session))
            self._go_on()

    def play(self, action: int, move: int) -> None:
        """The person's action, and the answer of a quick opponent."""
        with self._lock:
            self._check_here()
            self._check_move(move)
            if self.session.agent_to_move and not self.session.settings.watched:
                raise OldMove(say("refused.not_your_turn", name=self.session.settings.opponent))
            before = glance(self.session)
            self.session.play(action)
            self._happened(played(self.session, before, action))
            self._go_on()

    def take_back(self) -> None:
        """Back to the person's last decision; the hand is then not rated."""
        with self._lock:
            self._check_here()
            if self.busy:
                raise OldMove(say("refused.busy"))
            self.session.take_back()
            self._happened([Event("taken_back", PERSON, say("event.took_back"))])
            self._go_on()

    def claim(self, tricks: int, move: int) -> None:
        """Claim tricks of an open endgame; what is claimed rightly is played out at once."""
        with self._lock:
            self._check_here()
            self._check_move(move)
            if not self.session.claim(tricks):
                raise IllegalAction(say("refused.nothing_to_claim"))
            last = self.session.results[-1]
            text = words.result(last.tricks, last.pays, names_at(self.session), last.low)
            self._happened([Event("claimed", PERSON, text)])
            self._go_on()

    def note_hint(self) -> None:
        """The person had a hint, so the hand is not rated."""
        with self._lock:
            if not self.session.helped:
                self.session.helped = True
                self._happened([Event("helped", PERSON, "")])
                self._keep()

    def next_hand(self, move: int | None = None) -> None:
        """Deal the next hand of the match."""
        with self._lock:
            self._check_here()
            if move is not None:
                self._check_move(move)
            self.session.next_hand()
            self._happened(dealt(self.session))
            self._go_on()

    def leave(self) -> None:
        """End it here; a hand or a match that is given up is lost."""
        with self._lock:
            if not self.session.over and not self.left:
                self.left = True
                self._happened([Event("left", PERSON, say("event.left"))])
                self._keep()

    def _check_here(self) -> None:
        if self.left:
            raise OldMove(say("refused.left"))

    def _check_move(self, move: int) -> None:
        if move != self.session.moves:
            raise OldMove(say("refused.old_move", move=move, next=self.session.moves))

    def _go_on(self) -> None:
        """Whatever comes by itself, and keep the session. The lock is held."""
        session = self.session
        if not session.settings.watched and not self.left:
            while session.agent_to_move and self._trouble is None:
                if not self._room.opponents[session.settings.opponent].quick:
                    if not self.busy:
                        self._think_apart()
                    break
                self._answer()
        self._keep()

    def _answer(self) -> None:
        """One action of the agent to move, while the lock is held or nobody else may move."""
        try:
            action = self.session.decide()
        except Exception as error:
            self._failed(error)
            return
        with self._lock:
            if not self.left:
                self._play_decided(action)

    def _play_decided(self, action: int) -> None:
        before = glance(self.session)
        self.session.play_decided(action)
        self._happened(played(self.session, before, action))

    def _think_apart(self) -> None:
        self.busy = True
        name = self.session.settings.opponent
        self._happened([Event("thinking", 1, say("hand.thinking", name=name))])
        self._room.apart(self._think)

    def _think(self) -> None:
        """Decide without the lock: nobody else may move meanwhile, and others may look."""
        while True:
            self._answer()
            with self._lock:
                goes_on = self.session.agent_to_move and not self.left and self._trouble is None
                if not goes_on:
                    self._thought_enough()
                self._keep()
            if not goes_on:
                return

    def _thought_enough(self) -> None:
        self.busy = False
        self.ring()

    def _failed(self, error: Exception) -> None:
        log.error("table %s: an agent failed", self.id, exc_info=error)
        turn = self.session.turn or 0
        with self._lock:
            name = self.session.settings.names[turn]
            self._trouble = say("refused.failed", name=name, error=type(error).__name__)
            self._happened([Event("trouble", turn, self._trouble)])

    # -- watching

    def seconds_to_wait(self) -> float | None:
        """How long until watched agents go on; None where nothing goes on by itself."""
        with self._lock:
            still = self._paused or self.session.over or self.left or self._trouble is not None
            if still or self.busy or not self.session.settings.watched:
                return None
            return max(0.0, self._due - time.monotonic())

    def advance(self) -> None:
        """Let watched agents make their next move, if it is due and nobody else lets them."""
        with self._lock:
            if self.seconds_to_wait() != 0.0:
                return
            self.busy = True
        self._step()

    def set_speed(
        self, delay_ms: int | None = None, pause: bool | None = None, step: bool = False
    ) -> None:
        """How fast watched agents play; with `step` they make one move and wait."""
        with self._lock:
            if not self.session.settings.watched:
                raise IllegalAction(say("refused.speed"))
            if delay_ms is not None:
                self._delay = min(max(delay_ms, _LEAST_DELAY), _MOST_DELAY)
            if pause is not None or step:
                self._paused = step or bool(pause)
            self._due = time.monotonic() + self._delay / 1000
            self._happened([Event("speed", None, "")])
            self._keep()
            steps = step and not (self.busy or self.left or self._trouble or self.session.over)
            if steps:
                self.busy = True
        if steps:
            self._step()

    def _step(self) -> None:
        """One move, or the next hand; that the table is busy keeps others from doing the same."""
        try:
            if self.session.game.over:
                with self._lock:
                    self.session.next_hand()
                    self._happened(dealt(self.session))
            else:
                self._answer()
        finally:
            with self._lock:
                self._thought_enough()
                pause = _PAUSE_AFTER_HAND if self.session.game.over else 1
                self._due = time.monotonic() + pause * self._delay / 1000
                self._keep()

    # -- what happened

    def _happened(self, events: Iterable[Event]) -> None:
        for event in events:
            self._n += 1
            event.n = self._n
            self._events.append(event)
        self.ring()

    def ring(self) -> None:
        """Call whoever waits."""
        for ring in list(self._ringing):
            ring()

    def _keep(self) -> None:
        """Keep what has happened. The lock is held."""
        if self._n == self._kept_n:
            return
        extra = {
            "n": self._n, "left": self.left, "delay_ms": self._delay, "paused": self._paused,
        }  # fmt: skip
        try:
            self.revision = self._room.store.keep(
                *(self.id, self.person, self.session),
                revision=self.revision,
                over=self.left or self.session.over,
                given_up=self.left,
                extra=extra,
            )
        except sqlite3.Error as error:
            log.error("table %s can not be kept: %s", self.id, error)
            self._notice = say("refused.not_kept", error=error)
            return
        self._notice = None
        self._kept_n = self._n
        self.session.records.clear()  # the store has them now
