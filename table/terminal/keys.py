# pyright: strict
"""A game by keys: the board has the whole terminal, and a marker goes over the cards.

Agents think in a thread of their own, so that the window's size and the keys that leave are
answered meanwhile.
"""

from __future__ import annotations

import io
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, redirect_stderr

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.segment import SegmentLines
from rich.text import Text

from ...engine.cards import CARDS_IN_ALL, RANKS, Card
from ...engine.view import View
from ..game.session import PERSON, Session
from ..text import words
from ..text.labels import labels, say
from .board import board, choices, new_console, sentence
from .keyboard import Keyboard
from .play import Frontend, LeaveTable, T, score_text, short_names

_WIDTH, _LEAST_WIDTH, _FRAMED_HEIGHT = 78, 56, 23
_TICK, _GLANCE = 0.02, 0.15
"""Seconds between two looks at a thread that works, and at the window's size."""
_SAME_PRESS = 0.4
"""Seconds within which Enter was meant for what was shown before."""
_LEAVING = ("q", "escape")
_RANK_KEYS = {**{rank: rank for rank in RANKS}, "0": "T", "1": "T"}


class KeyFrontend(Frontend):
    """The terminal as one page while the `with` block lasts; it gets its own state back."""

    typed = False

    def __init__(self, session: Session) -> None:
        self._session, self._names = session, short_names(session.settings)
        self._console = new_console()
        self._keyboard = Keyboard()
        self._open = ExitStack()
        self._notices = io.StringIO()
        self._size = self._console.size
        self._told: list[str] = []
        self._chosen: int | None = None
        self._asked = -1
        self._entered = 0.0

    def __enter__(self) -> KeyFrontend:
        self._open.enter_context(self._keyboard)
        self._open.enter_context(self._console.screen())
        if sys.stderr.isatty():
            # A notice, such as that something is compiled, would spoil the page.
            self._open.enter_context(redirect_stderr(self._notices))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        sys.stderr.write(self._notices.getvalue())
        # What was told last stays readable in the terminal's own page.
        for text in self._told:
            self._console.print(sentence(text), soft_wrap=True)

    # -- what a front does

    def tell(self, text: str) -> None:
        """Show a sentence below the board until something is played."""
        self._told.append(text)

    def tell_event(self, text: str) -> None:
        """The board shows it."""

    def ask(self, view: View) -> int | str:
        """Move the marker until Enter or the key of a command is pressed."""
        marked = choices(view)
        if self._asked != (now := self._session.moves) or self._chosen is None:
            self._asked, self._chosen = now, _first(view, marked)
        prompt = f"{words.prompt(view, self._names)}."
        does = {"choose": "take", "exchange": "choose"}.get(view.phase, "play")
        commands = {word[0]: word for word in labels()["terminal"]["commands"]}
        commands |= {"?": "help", "escape": "quit"}
        while True:
            self._draw(self._board(view, [*self._told, prompt], does))
            key = self._key()
            if self._entered_now(key):
                self._told = []
                return self._chosen
            if key in commands:
                self._told = []
                return commands[key]
            moved = _moved(key, self._chosen, marked, view)
            if moved is not None:
                self._chosen, self._told = moved, []

    def ask_next(self) -> None:
        """Wait for Enter below how the hand ended."""
        view, told = self._session.view(PERSON), self._told
        key: str | None = None
        while not self._entered_now(key):
            self._draw(self._board(view, told, None))
            key = self._key()
            if key in _LEAVING:
                raise LeaveTable
        if not self._session.over:
            self._told = []

    def wait(self, work: Callable[[], T], text: str, least: float) -> T:
        """Show the board while a thread works, and for so many seconds that the cards are seen."""
        found: Future[T] = Future()

        def at_work() -> None:
            try:
                found.set_result(work())
            except BaseException as error:
                found.set_exception(error)

        view, begun = self._session.view(PERSON), time.monotonic()
        threading.Thread(target=at_work, daemon=True).start()
        shown: list[str] | None = None
        hurried = False
        while not found.done() or (not hurried and time.monotonic() < begun + least):
            seconds = int(time.monotonic() - begun)
            notice = self._notices.getvalue().splitlines()[-1:]
            told = [*notice, f"{text}, {seconds} s"] if seconds else self._told
            if told != shown:
                self._draw(self._board(view, told, None))
                shown = told
            key = self._key(_TICK)
            if key in _LEAVING:
                raise LeaveTable
            hurried |= self._entered_now(key)
        return found.result()

    def show(self, page: RenderableType) -> None:
        """Show a page in the board's place until it is closed."""
        first = 0
        while True:
            console = self._console
            options = console.options.update(width=min(console.width - 2, _WIDTH), height=None)
            lines = console.render_lines(page, options)
            room = console.height - 2
            last = max(0, len(lines) - room)
            first = max(0, min(first, last))
            keys = {"Enter": "back"} | ({"↑↓": "further"} if last else {})
            shown = SegmentLines(lines[first : first + room], new_lines=True)
            self._draw(Group(shown, Text(), _key_line(keys)))
            key = self._key()
            if key in ("enter", "escape", "q"):
                return
            step = {"up": -1, "down": 1, "page up": -room, "page down": room}.get(key or "", 0)
            first = {"home": 0, "end": last}.get(key or "", first + step)

    # -- the page

    def _board(self, view: View, told: Sequence[str], does: str | None) -> RenderableType:
        """The board with sentences and keys below, in frames where the window has room for them."""
        console = self._console
        width = min(console.width, _WIDTH)
        options = console.options.update(width=width, height=None)
        keys = {"←→": "move", "Enter": does} if does else {"Enter": "go_on"}
        score = score_text(self._session)
        lines = []
        for frames in (True, False)[console.height < _FRAMED_HEIGHT :]:
            drawn = board(
                view, self._names, score, chosen=self._chosen if does else None, frames=frames
            )
            below = [Padding(sentence(text), (0, 0, 0, 3)) for text in told]
            page = Group(drawn, Text(), *below, Text(), _key_line(keys))
            lines = console.render_lines(page, options)
            if len(lines) <= console.height:
                break
        if width < _LEAST_WIDTH or len(lines) > console.height:
            least = {"least_columns": _LEAST_WIDTH, "least_rows": len(lines)}
            size = {"columns": console.width, "rows": console.height}
            return Text(say("terminal.too_small", **size, **least))
        left, above = (console.width - width) // 2, (console.height - len(lines)) // 3
        return Padding(SegmentLines(lines, new_lines=True), (above, 0, 0, left))

    def _draw(self, page: RenderableType) -> None:
        self._console.update_screen(page)

    # -- keys

    def _key(self, seconds: float = math.inf) -> str | None:
        """The next key; None after so many seconds, or when the window has a new size."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            key = self._keyboard.key(min(left, _GLANCE))
            if key == "leave":
                raise LeaveTable
            if key == "suspend":
                self._suspend()
                return None
            if key is not None:
                return key
            if self._console.size != self._size:
                self._size = self._console.size
                return None
        return None

    def _suspend(self) -> None:
        """Stand still as other programs do at Ctrl-Z."""
        self._open.close()
        os.kill(os.getpid(), getattr(signal, "SIGTSTP"))  # noqa: B009
        self.__enter__()

    def _entered_now(self, key: str | None) -> bool:
        """Whether Enter is pressed for what is shown: not again at once, and not held down."""
        if key is None:
            return False
        before, self._entered = self._entered, time.monotonic() if key == "enter" else 0.0
        return key == "enter" and self._entered - before > _SAME_PRESS


def _key_line(keys: dict[str, str]) -> Text:
    """What keys do; with those of all commands where cards are played."""
    line = Text("  ")
    for key, about in keys.items():
        line.append(f" {key}", "bold").append(f" {say(f'bar.{about}')} ")
    if "←→" in keys:
        for word in labels()["terminal"]["commands"]:
            line.append(f" {word[0]}", "bold").append(f" {word} ")
        line.append(" ?", "bold")
    return line


def _first(view: View, marked: Sequence[int]) -> int:
    """Where the marker begins: the lowest card of those that may be played, far right."""
    playable = [action for action in marked if action in view.legal()]
    return playable[0 if view.phase in ("choose", "exchange") else -1]


def _moved(key: str | None, chosen: int, marked: Sequence[int], view: View) -> int | None:
    """Where the marker goes by a key; None when the key does not move it."""
    at = marked.index(chosen)
    if key in ("left", "right"):
        return marked[(at + (1 if key == "right" else -1)) % len(marked)]
    if key in ("home", "end"):
        return marked[0 if key == "home" else -1]
    rank = _RANK_KEYS.get(key or "")
    circle = [*marked[at + 1 :], *marked[: at + 1]]
    same = [each for each in circle if each < CARDS_IN_ALL and RANKS[Card(each).rank] == rank]
    legal = set(view.legal())
    return next((each for each in same if each in legal), same[0] if same else None)
