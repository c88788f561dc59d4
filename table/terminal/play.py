# pyright: strict
"""A hand or a match in the terminal, saved after every action.

Input and output go through a `Frontend`: `KeyFrontend` uses the whole screen, `LineFrontend`
prints and reads lines.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from rich.console import RenderableType

from ...common.plugins import raised_at, told_error
from ...engine.game import IllegalAction
from ...engine.view import View
from ..game.database import new_id
from ..game.session import PERSON, Session, SessionError, Settings, parse_state, winner_of
from ..game.store import Store, StoredSession
from ..review.hints import HintService
from ..text import words
from ..text.labels import capital, say
from .board import help_page, rules_page, seen_page, tricks_page

T = TypeVar("T")
_LONGEST_NAME = 13


class LeaveTable(Exception):
    """The person leaves the table."""


class Frontend(AbstractContextManager["Frontend"], Protocol):
    """How a game is shown and how the person answers."""

    typed: bool
    """Whether whole words are typed, not single keys."""

    def tell(self, text: str) -> None:
        """Say what is to be known before the next decision."""

    def tell_event(self, text: str) -> None:
        """Say what the board shows by itself, where it stands before the person's eyes."""

    def ask(self, view: View) -> int | str:
        """An action, or one of the commands; `LeaveTable` where the person goes away."""
        ...

    def ask_next(self) -> None:
        """Wait until the person has seen how a hand ended."""

    def wait(self, work: Callable[[], T], text: str, least: float) -> T:
        """The result of some work, not before so many seconds."""
        ...

    def show(self, page: RenderableType) -> None:
        """Show a page beside the board."""


def short_names(settings: Settings) -> tuple[str, str]:
    """What the two are called at the table: a checkpoint by its file."""
    first, second = (
        words.plain_text(words.display_name(name), _LONGEST_NAME) for name in settings.names
    )
    return first, second


def score_text(session: Session) -> str:
    """The match so far in a few words."""
    return words.score(session.settings.match, session.game.points, session.game.hands_won)


@dataclass
class SessionSaver:
    """Keeps one session in the store."""

    store: Store
    name: str = field(default_factory=new_id)
    revision: int = 0
    trouble: str | None = None
    """Why the session is not kept as it is, where it could not be."""

    def save(self, session: Session) -> None:
        """Keep the session as it is now; where that cannot be, it is played on all the same."""
        try:
            person = self.store.owner()
            self.revision = self.store.save(self.name, person, session, revision=self.revision)
        except sqlite3.Error as error:
            self.trouble = say("terminal.not_written", path=self.store.path, error=error)
        else:
            self.trouble = None


def find_session(store: Store, settings: Settings, given: Sequence[str]) -> StoredSession | None:
    """The session played last that is not over and agrees in the settings that were given."""
    for kept in store.sessions(store.owner()):
        try:
            found = parse_state(kept.state).settings
        except ValueError:
            continue  # of another version, or of rules that are gone
        agrees = all(getattr(found, name) == getattr(settings, name) for name in given)
        if agrees and not (kept.over or found.watched):
            return kept
    return None


def resume(store: Store, kept: StoredSession) -> tuple[Session, SessionSaver]:
    """A kept session, ready to be played on."""
    try:
        return Session.from_state(kept.state), SessionSaver(store, kept.id, kept.revision)
    except SessionError as error:
        raise SessionError(say("terminal.begin_another", error=error)) from error


class TerminalGame:
    """A person's game against an agent, until it is over or the person leaves."""

    def __init__(
        self, session: Session, keeper: SessionSaver, front: Frontend, pause: float = 1.0
    ) -> None:
        """`pause` is how long a trick lies, in seconds, before the other leads the next."""
        self.session, self._keeper, self._front = session, keeper, front
        self._pause = pause
        self._names = short_names(session.settings)
        self._advisers = HintService()

    def run(self) -> None:
        """Play until nothing is left to play; `LeaveTable` when the person leaves before."""
        session, front = self.session, self._front
        self._keep()
        if not session.game.over:
            self._tell_deal()
        while True:
            if session.game.over:
                self._tell_result()
                front.ask_next()
                if session.over:
                    return
                session.next_hand()
                self._keep()
                self._tell_deal()
            elif session.agent_to_move:
                self._let_agent_move()
            else:
                self._ask()

    def _keep(self) -> None:
        before = self._keeper.trouble
        self._keeper.save(self.session)
        if self._keeper.trouble not in (None, before):
            self._front.tell(f"{self._keeper.trouble}.")

    def _let_agent_move(self) -> None:
        session, name = self.session, self._names[1]
        # A whole trick is looked at for longer than a card that was led.
        lies = session.game.trick > 0 and session.game.phase == "lead"
        least = self._pause if lies else self._pause * 0.3
        action = self._front.wait(self._decided, say("hand.thinking", name=name), least)
        self._played(1, lambda: session.play_decided(action))

    def _decided(self) -> int:
        """What the agent plays; one that fails is told about in a sentence."""
        try:
            return self.session.decide()
        except ValueError:
            raise
        except Exception as error:
            name, where = self.session.settings.opponent, raised_at(error)
            told = say("terminal.failed", name=name, error=told_error(error), where=where)
            raise ValueError(told) from error

    def _ask(self) -> None:
        view = self.session.view(PERSON)
        answer = self._front.ask(view)
        if isinstance(answer, str):
            self._answer(answer, view)
            return
        try:
            self._played(PERSON, lambda: self.session.play(answer))
        except IllegalAction as error:
            self._front.tell(say("terminal.not_allowed", error=error))

    def _played(self, seat: int, play: Callable[[], None]) -> None:
        """Let a seat play, and tell what it did and what came of it."""
        before = self.session.view(PERSON)
        play()
        self._keep()
        after, front = self.session.view(PERSON), self._front
        action = int(self.session.game.actions[-1])
        front.tell_event(capital(f"{words.action_text(self._names[seat], before.phase, action)}."))
        if after.trick > before.trick or after.phase == "over":
            front.tell_event(f"{words.last_trick(after, self._names)}.")
            if before.stock_left and not after.stock_left and after.phase != "over":
                front.tell(words.stock_is_gone(after, self._names))

    def _answer(self, command: str, view: View) -> None:
        """Carry out a command."""
        session, front = self.session, self._front
        if command == "quit":
            raise LeaveTable
        if command == "hint":
            work = lambda: self._advisers.hint(view)  # noqa: E731
            hint = front.wait(work, say("terminal.thinking_of_hint"), 0.0)
            session.helped = True  # such a hand is not rated
            self._keep()
            front.tell(say("terminal.hint", why=hint.why))
        elif command == "back":
            try:
                session.take_back()
            except IllegalAction as error:
                front.tell(str(error))
            else:
                self._keep()
                front.tell(say("event.took_back") + ".")
        elif command == "rules":
            front.show(rules_page(view.rules))
        elif command == "seen":
            front.show(seen_page(view, self._names))
        elif command == "tricks":
            front.show(tricks_page(view, self._names))
        else:
            front.show(help_page(front.typed))

    def _tell_deal(self) -> None:
        """What a hand begins with."""
        view = self.session.view(PERSON)
        dealer = self._names[0 if view.i_deal else 1]
        rules = words.title_of(view.rules.name)
        told = {"rules": rules, "score": score_text(self.session), "trumps": words.trumps(view)}
        self._front.tell_event(say("terminal.deal", name=dealer, **told))
        if view.low:
            self._front.tell(say("terminal.low"))

    def _tell_result(self) -> None:
        """How a hand ended, and a match."""
        session, front = self.session, self._front
        tricks, pays, low = session.results[-1]
        front.tell(capital(words.result(tricks, pays, self._names, low)) + ".")
        if session.settings.match is None:
            return
        front.tell(capital(score_text(session)) + ".")
        if session.over:
            front.tell(words.headline(self._names, winner_of(session), "match") + ".")


def closing_notice(session: Session, keeper: SessionSaver) -> str | None:
    """That a session which is not over goes on later, or why it does not."""
    if keeper.trouble is not None:
        return say("terminal.last_not_kept", trouble=keeper.trouble)
    if session.over or not keeper.store.persistent:
        return None
    settings = session.settings
    rules, opponent = settings.rules.name, settings.opponent
    return say("terminal.farewell", rules=rules, opponent=opponent, score=score_text(session))


def resume_notice(kept: StoredSession, session: Session) -> str:
    """That a kept session goes on."""
    when = time.strftime("%d %b %H:%M", time.localtime(kept.updated)).lstrip("0")
    rules, opponent = session.settings.rules.name, session.settings.opponent
    now = score_text(session)
    return say("terminal.resumed", rules=rules, opponent=opponent, score=now, when=when)
