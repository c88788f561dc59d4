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

from german_whist.common.plugins import error_location, error_text
from german_whist.engine.checks import IllegalAction
from german_whist.engine.view import View

from ..game.database import new_id
from ..game.session import PERSON, Session, SessionError, SessionSettings, parse_state, winner_of
from ..game.store import Store, StoredSession
from ..review.hints import find_hint
from ..text import words
from ..text.labels import begin, capital, label
from .board import help_page, rules_page, seen_page, tricks_page

T = TypeVar("T")
_MAX_NAME = 13


class LeaveTable(Exception):
    """The person leaves the table."""


class Frontend(AbstractContextManager["Frontend"], Protocol):
    """Output and input of a terminal game."""

    typed: bool
    """Whether commands are typed as words, not as single keys."""

    def report(self, text: str) -> None:
        """Show a sentence before the next decision."""

    def report_event(self, text: str) -> None:
        """Tell an event that the board, where it stays on the screen, shows by itself."""

    def ask(self, view: View) -> int | str:
        """An action, or one of the commands; `LeaveTable` where the person leaves."""
        ...

    def ask_next(self) -> None:
        """Wait until the person has seen the result of a hand."""

    def wait(self, work: Callable[[], T], text: str, least: float) -> T:
        """The result of `work`, after at least so many seconds."""
        ...

    def show(self, page: RenderableType) -> None:
        """Show a page beside the board."""


def short_names(settings: SessionSettings) -> tuple[str, str]:
    """The players' names, shortened to fit the board."""
    first, second = (
        words.plain_text(words.display_name(name, settings.names), _MAX_NAME)
        for name in settings.names
    )
    return first, second


def score_text(session: Session) -> str:
    """The score of the match."""
    return words.score(session.settings.match, session.game.points, session.game.hands_won)


@dataclass
class SessionSaver:
    """Saves one session in the store."""

    store: Store
    name: str = field(default_factory=new_id)
    revision: int = 0
    trouble: str | None = None
    """Why the last save failed; None if it did not."""

    def save(self, session: Session) -> None:
        """Save the session; a failure is noted in `trouble`, and play continues."""
        try:
            self.revision = self.store.save(self.name, session, revision=self.revision)
        except sqlite3.Error as error:
            self.trouble = label("terminal.not_written", path=self.store.path, error=error)
        else:
            self.trouble = None


def find_session(
    store: Store, settings: SessionSettings, given: Sequence[str]
) -> StoredSession | None:
    """The last played unfinished session that agrees with the settings named in `given`."""
    for stored in store.sessions():
        try:
            candidate = parse_state(stored.state).settings
        except ValueError:
            continue  # of another version, or of rules that no longer exist
        agrees = all(getattr(candidate, name) == getattr(settings, name) for name in given)
        # The terminal shows known cards.
        if agrees and not (stored.over or candidate.watched or candidate.memory):
            return stored
    return None


def resume(store: Store, stored: StoredSession) -> tuple[Session, SessionSaver]:
    """Restore a stored session."""
    try:
        return Session.from_state(stored.state), SessionSaver(store, stored.id, stored.revision)
    except SessionError as error:
        raise SessionError(label("terminal.begin_another", error=error)) from error


class TerminalGame:
    """A person's game against an agent, until it is over or the person leaves."""

    def __init__(
        self, session: Session, saver: SessionSaver, front: Frontend, pause: float = 1.0
    ) -> None:
        """`pause`: seconds that a completed trick is shown before the opponent leads the next."""
        self.session, self._saver, self._front = session, saver, front
        self._pause = pause
        self._names = short_names(session.settings)

    def run(self) -> None:
        """Play until the session is over; raises `LeaveTable` if the person leaves before."""
        session, front = self.session, self._front
        self._save()
        if not session.game.over:
            self._report_deal()
        while True:
            if session.game.over:
                self._report_result()
                front.ask_next()
                if session.over:
                    return
                session.next_hand()
                self._save()
                self._report_deal()
            elif session.agent_to_move:
                self._let_agent_move()
            else:
                self._ask()

    def _save(self) -> None:
        before = self._saver.trouble
        self._saver.save(self.session)
        if self._saver.trouble not in (None, before):
            self._front.report(f"{self._saver.trouble}.")

    def _let_agent_move(self) -> None:
        session, name = self.session, self._names[1]
        # A completed trick is shown for longer than a single card.
        after_trick = session.game.trick > 0 and session.game.phase == "lead"
        least = self._pause if after_trick else self._pause * 0.3
        action = self._front.wait(self._decide, label("hand.thinking", name=name), least)
        self._play(1, lambda: session.play_decided(action))

    def _decide(self) -> int:
        try:
            return self.session.decide()
        except ValueError:
            raise
        except Exception as error:  # a third-party agent: report it in a sentence
            name, where = self.session.settings.opponent, error_location(error)
            sentence = label("terminal.failed", name=name, error=error_text(error), where=where)
            raise ValueError(sentence) from error

    def _ask(self) -> None:
        view = self.session.view(PERSON)
        answer = self._front.ask(view)
        if isinstance(answer, str):
            self._run_command(answer, view)
            return
        try:
            self._play(PERSON, lambda: self.session.play(answer))
        except IllegalAction as error:
            self._front.report(label("terminal.not_allowed", error=error))

    def _play(self, seat: int, play: Callable[[], None]) -> None:
        before = self.session.view(PERSON)
        play()
        self._save()
        after, front = self.session.view(PERSON), self._front
        action = int(self.session.game.actions[-1])
        front.report_event(begin(f"{words.action_text(self._names[seat], before.phase, action)}."))
        if after.trick > before.trick or after.phase == "over":
            front.report_event(f"{words.last_trick(after, self._names)}.")
            if before.stock_left and not after.stock_left and after.phase != "over":
                front.report(words.stock_is_gone(after, self._names, after.open))

    def _run_command(self, command: str, view: View) -> None:
        session, front = self.session, self._front
        if command == "quit":
            raise LeaveTable
        if command == "hint":
            hint = front.wait(lambda: find_hint(view), label("terminal.thinking_of_hint"), 0.0)
            session.helped = True  # such a hand is not rated
            self._save()
            front.report(label("terminal.hint", why=hint.why))
        elif command == "back":
            try:
                session.take_back()
            except IllegalAction as error:
                front.report(str(error))
            else:
                self._save()
                front.report(label("event.took_back") + ".")
        elif command == "rules":
            front.show(rules_page(view.rules))
        elif command == "seen":
            front.show(seen_page(view, self._names))
        elif command == "tricks":
            front.show(tricks_page(view, self._names))
        else:
            front.show(help_page(front.typed))

    def _report_deal(self) -> None:
        view = self.session.view(PERSON)
        self._front.report_event(
            label(
                "terminal.deal",
                name=self._names[0 if view.i_deal else 1],
                rules=words.title_of(view.rules.name),
                score=score_text(self.session),
                trumps=words.trumps(view),
            )
        )
        if view.low:
            self._front.report(label("terminal.low"))

    def _report_result(self) -> None:
        session, front = self.session, self._front
        tricks, payoffs, low = session.results[-1]
        front.report(capital(words.result(tricks, payoffs, self._names, low)) + ".")
        if session.settings.match is None:
            return
        front.report(capital(score_text(session)) + ".")
        if session.over:
            front.report(words.headline(self._names, winner_of(session), "match") + ".")


def closing_notice(session: Session, saver: SessionSaver) -> str | None:
    """How to continue an unfinished session, or why it was not saved."""
    if saver.trouble is not None:
        return label("terminal.last_not_kept", trouble=saver.trouble)
    if session.over or not saver.store.persistent:
        return None
    settings = session.settings
    rules, opponent = settings.rules.name, settings.opponent
    return label("terminal.farewell", rules=rules, opponent=opponent, score=score_text(session))


def resume_notice(stored: StoredSession, session: Session) -> str:
    """Which stored session continues."""
    when = time.strftime("%d %b %H:%M", time.localtime(stored.updated)).lstrip("0")
    rules, opponent = session.settings.rules.name, session.settings.opponent
    score = score_text(session)
    return label("terminal.resumed", rules=rules, opponent=opponent, score=score, when=when)
