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
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...engine.game import IllegalAction
from ...engine.records import GameRecord
from ...engine.view import View
from ..game.opponents import Opponents
from ..game.session import PERSON, Session
from ..game.store import Store, StoredSession
from ..text import words
from ..text.labels import say
from .event_log import EventLog
from .messages import (
    Speed,
    TableContext,
    TableEvent,
    TableUpdate,
    deal_events,
    display_names,
    play_events,
    table_state,
    take_snapshot,
)

log = logging.getLogger("german_whist.table")

_DEFAULT_DELAY, _MIN_DELAY, _MAX_DELAY = 1000, 50, 60_000
"""Milliseconds."""
_PAUSE_AFTER_HAND = 4
"""Delays between the last card of a watched hand and the next deal."""


class WatchPace:
    """The delay between moves of watched agents."""

    def __init__(self, delay_ms: int = _DEFAULT_DELAY, paused: bool = False) -> None:
        self.delay_ms = delay_ms
        self.paused = paused
        self.restart()

    def restart(self, n_delays: int = 1) -> None:
        """Set the next move's time to so many delays from now."""
        self._due = time.monotonic() + n_delays * self.delay_ms / 1000

    def change(self, delay_ms: int | None, pause: bool | None) -> None:
        """Set the delay, pause or both; None leaves the value."""
        if delay_ms is not None:
            self.delay_ms = min(max(delay_ms, _MIN_DELAY), _MAX_DELAY)
        if pause is not None:
            self.paused = pause
        self.restart()

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._due - time.monotonic())

    @property
    def speed(self) -> Speed:
        return Speed(self.delay_ms, self.paused)


class StaleMove(ValueError):
    """A page acts on a state that is over."""


class TableBackend(Protocol):
    """Where a table stands."""

    store: Store
    opponents: Opponents

    def run_in_background(self, think: Callable[[], None]) -> None:
        """Call `think` in another thread."""
        ...


class LiveTable:
    """One session, its `events`, and its `pace` where agents are watched. Every public method may
    be called from any thread."""

    def __init__(
        self,
        name: str,
        person: str,
        session: Session,
        room: TableBackend,
        kept: StoredSession | None = None,
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
        self.events = EventLog(extra.get("n", 0))
        self.pace = WatchPace(
            **{name: extra[name] for name in ("delay_ms", "paused") if name in extra}
        )
        self.busy = False
        """Whether an agent thinks, or moves, in some thread."""
        self._trouble: str | None = None
        self._notice: str | None = None
        self._kept_n: int = -1 if kept is None else self.events.last

    # -- looking

    def message(self, after: int | None) -> TableUpdate:
        """The state, and the events after number `after`; without one none of them."""
        with self._lock:
            events = [] if after is None else self.events.after(after)
            return TableUpdate(table_state(self.session, self._around()), events)

    def _around(self) -> TableContext:
        watched = self.session.settings.watched
        return TableContext(
            id=self.id,
            n=self.events.last,
            thinking=self.busy and not watched,
            trouble=self._trouble,
            notice=self._notice,
            left=self.left,
            speed=self.pace.speed if watched else None,
            compared=self._compared(),
        )

    def _compared(self) -> str:
        """How the hand went beside the one that it is played again after."""
        session, again = self.session, self.session.settings.again
        if again is None or not session.game.over:
            return ""
        before = self._room.store.hands.get(*again)
        if before is None or before.person != self.person:
            return ""
        swapped = GameRecord.from_line(before.record).dealer != session.game.dealer
        told = (before.tricks, before.tricks_other)
        return words.compare_deals(
            session.game.counting_tricks, told, display_names(session), swapped
        )

    def is_current(self) -> bool:
        """Whether no other program has played on here."""
        with self._lock:
            return self._room.store.revision(self.id) == self.revision

    def person_view(self) -> View:
        """What the person sees, for help."""
        with self._lock:
            return self.session.view(PERSON)

    # -- playing

    def begin(self) -> None:
        """Tell the deal and let agents that are to move do so: the table is new, or back again."""
        with self._lock:
            if not self.revision:
                self.events.add(deal_events(self.session))
            self._go_on()

    def play(self, action: int, move: int) -> None:
        """The person's action, and the answer of a quick opponent."""
        with self._lock:
            self._check()
            if self._action_at(move) == action:
                return  # Sent again, since the answer was lost: it has been played.
            self._check(move)
            if self.session.agent_to_move and not self.session.settings.watched:
                raise StaleMove(say("refused.not_your_turn", name=self.session.settings.opponent))
            before = take_snapshot(self.session)
            self.session.play(action)
            self.events.add(play_events(self.session, before, action))
            self._go_on()

    def _action_at(self, move: int) -> int | None:
        """The action that was decision `move`, if that is one of this hand."""
        actions = self.session.game.actions
        place = move - self.session.moves + len(actions)
        return int(actions[place]) if 0 <= place < len(actions) else None

    def take_back(self) -> None:
        """Back to the person's last decision; the hand is then not rated."""
        with self._lock:
            self._check()
            if self.busy:
                raise StaleMove(say("refused.busy"))
            self.session.take_back()
            self.events.add([TableEvent("taken_back", PERSON, say("event.took_back"))])
            self._go_on()

    def claim(self, tricks: int, move: int) -> None:
        """Claim tricks of an open endgame; what is claimed rightly is played out at once."""
        with self._lock:
            self._check(move)
            if not self.session.claim(tricks):
                raise IllegalAction(say("refused.nothing_to_claim"))
            last = self.session.results[-1]
            text = words.result(last.tricks, last.pays, display_names(self.session), last.low)
            self.events.add([TableEvent("claimed", PERSON, text)])
            self._go_on()

    def note_hint(self) -> None:
        """The person had a hint, so the hand is not rated."""
        with self._lock:
            if not self.session.helped:
                self.session.helped = True
                self.events.add([TableEvent("helped", PERSON, "")])
                self._keep()

    def next_hand(self, move: int | None = None) -> None:
        """Deal the next hand of the match."""
        with self._lock:
            self._check(move)
            self.session.next_hand()
            self.events.add(deal_events(self.session))
            self._go_on()

    def leave(self) -> None:
        """End it here; a hand or a match that is given up is lost."""
        with self._lock:
            if not self.session.over and not self.left:
                self.left = True
                self.events.add([TableEvent("left", PERSON, say("event.left"))])
                self._keep()

    def _check(self, move: int | None = None) -> None:
        """Refuse what comes after the end, or was meant as another decision."""
        if self.left:
            raise StaleMove(say("refused.left"))
        if move not in (None, self.session.moves):
            raise StaleMove(say("refused.old_move", move=move, next=self.session.moves))

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
                before = take_snapshot(self.session)
                self.session.play_decided(action)
                self.events.add(play_events(self.session, before, action))

    def _think_apart(self) -> None:
        self.busy = True
        name = self.session.settings.opponent
        self.events.add([TableEvent("thinking", 1, say("hand.thinking", name=name))])
        self._room.run_in_background(self._think)

    def _think(self) -> None:
        """Decide without the lock: nobody else may move meanwhile, and others may look."""
        while True:
            self._answer()
            with self._lock:
                goes_on = self.session.agent_to_move and not self.left and self._trouble is None
                if not goes_on:
                    self._rest()
                self._keep()
            if not goes_on:
                return

    def _rest(self) -> None:
        self.busy = False
        self.events.notify()

    def _failed(self, error: Exception) -> None:
        log.error("table %s: an agent failed", self.id, exc_info=error)
        turn = self.session.turn or 0
        with self._lock:
            name = self.session.settings.names[turn]
            self._trouble = say("refused.failed", name=name, error=type(error).__name__)
            self.events.add([TableEvent("trouble", turn, self._trouble)])

    # -- watching

    def seconds_to_wait(self) -> float | None:
        """How long until watched agents go on; None where nothing goes on by itself."""
        with self._lock:
            still = self.pace.paused or self.session.over or self.left or self._trouble is not None
            if still or self.busy or not self.session.settings.watched:
                return None
            return self.pace.seconds_left

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
            self.pace.change(delay_ms, True if step else pause)
            self.events.add([TableEvent("speed", None, "")])
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
                    self.events.add(deal_events(self.session))
            else:
                self._answer()
        finally:
            with self._lock:
                self._rest()
                self.pace.restart(_PAUSE_AFTER_HAND if self.session.game.over else 1)
                self._keep()

    # -- keeping

    def _keep(self) -> None:
        """Keep what has happened. The lock is held."""
        if self.events.last == self._kept_n:
            return
        extra = {
            "n": self.events.last, "left": self.left,
            "delay_ms": self.pace.delay_ms, "paused": self.pace.paused,
        }  # fmt: skip
        try:
            self.revision = self._room.store.save(
                *(self.id, self.person, self.session),
                revision=self.revision,
                over=self.left or self.session.over,
                given_up=self.left,
                extra=extra,
            )
        except sqlite3.Error as error:
            log.error("table %s cannot be kept: %s", self.id, error)
            self._notice = say("refused.not_kept", error=error)
            return
        self._notice = None
        self._kept_n = self.events.last
        self.session.records.clear()  # the store has them now
