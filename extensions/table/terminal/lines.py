# pyright: strict
"""The frontend for plain lines: pipes, screen readers and terminals without single keys.

A card is typed as `TD` or `10♦`, a command as a word or its beginning.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from rich.console import RenderableType

from german_whist.common.suggestions import suggest
from german_whist.engine.cards import CHOICE_WORDS, card
from german_whist.engine.view import View

from ..game.session import Session
from ..text import words
from ..text.labels import label, labels
from .board import board, choices, new_console, print_sentence, short_word
from .play import Frontend, LeaveTable, T, score_text, short_names

_LEAVE_WORDS = ("q", "quit")


class LineFrontend(Frontend):
    """Prints events and reads actions; the end of the input leaves the table."""

    typed = True

    def __init__(self, session: Session) -> None:
        self._session, self._names = session, short_names(session.settings)
        self._console = new_console()
        self._shown_move: tuple[int, int] | None = None

    def __exit__(self, *_: object) -> None:
        pass

    def report(self, text: str) -> None:
        print_sentence(self._console, text)

    report_event = report

    def show(self, page: RenderableType) -> None:
        self._console.print("", page, "", sep="\n")

    def wait(self, work: Callable[[], T], text: str, least: float) -> T:
        return work()

    def ask_next(self) -> None:
        if (
            not self._session.over
            and self._read(label("terminal.next_hand")).lower() in _LEAVE_WORDS
        ):
            raise LeaveTable

    def ask(self, view: View) -> int | str:
        """Show the board once before each decision, and ask until the input is valid."""
        move = self._session.hands_finished, self._session.moves
        if move != self._shown_move:
            self._shown_move = move
            self._show_board(view)
        commands: dict[str, Any] = labels()["terminal"]["commands"]
        while True:
            answer = self._read(_question(view)).lower()
            if (action := _action(answer)) is not None:
                return action
            if answer in ("?", "help"):
                return "help"
            command = next((word for word in commands if answer and word.startswith(answer)), None)
            if command is not None:
                return command
            if answer:
                near = suggest(answer, list(commands), listed=False) or label("terminal.type_or")
                self.report(label("terminal.no_card", answer=repr(answer[:30]), near=near))
            else:
                self._show_board(view)

    def _show_board(self, view: View) -> None:
        self.show(board(view, self._names, score_text(self._session), frames=False))
        self.report(f"{words.prompt(view, self._names)}.")

    def _read(self, question: str) -> str:
        print_sentence(self._console, question, end=" ")
        sys.stdout.flush()
        try:
            answer = sys.stdin.readline()
        except UnicodeDecodeError:
            return "?"
        if not answer:
            self._console.print()
            raise LeaveTable
        if not sys.stdin.isatty():
            self._console.print(answer.strip(), soft_wrap=True)
        return answer.strip()


def _question(view: View) -> str:
    if view.phase not in ("choose", "exchange"):
        return label("terminal.your_card")
    key = "terminal.exchange" if view.phase == "exchange" else "terminal.take"
    return label(
        key, cards=words.join_words([short_word(action) for action in choices(view)], "or")
    )


def _action(answer: str) -> int | None:
    for action, word in CHOICE_WORDS.items():
        if answer in (short_word(action), label(f"cards.{word}")):
            return action
    try:
        return int(card(answer))
    except ValueError:
        return None
