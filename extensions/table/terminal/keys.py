# pyright: strict
"""The frontend for single keys: the board on the whole screen, with a marker on the cards.

Agents compute in a thread of their own, so that resizing and leaving work meanwhile.
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

from german_whist.engine.cards import N_CARDS, RANKS, Card
from german_whist.engine.view import View

from ..game.session import PERSON, Session
from ..text import words
from ..text.labels import label, labels
from .board import board, choices, new_console, print_sentence, sentence
from .keyboard import Keyboard
from .play import Frontend, LeaveTable, T, score_text, short_names

_WIDTH, _MIN_WIDTH, _FRAMED_HEIGHT = 78, 56, 23
_LAYOUTS = ((True, True, True), (False, True, True), (False, False, True), (False, False, False))
"""Whether cards have frames, parts have gaps, and a hint has the prompt below it.

The first layout that fits the window is drawn.
"""
_THREAD_POLL, _SIZE_POLL = 0.02, 0.15
"""Seconds between checks of a working thread, and of the window's size."""
_ENTER_DEBOUNCE = 0.4
"""Seconds within which a second Enter is ignored: it was meant for the previous screen."""
_LEAVE_KEYS = ("q", "escape")
_RANK_KEYS = {**{rank: rank for rank in RANKS}, "0": "T", "1": "T"}


class KeyFrontend(Frontend):
    """The terminal as one page during a `with` block, which restores the terminal."""

    typed = False

    def __init__(self, session: Session) -> None:
        self._session, self._names = session, short_names(session.settings)
        self._console = new_console()
        self._keyboard = Keyboard()
        self._stack = ExitStack()
        self._notices = io.StringIO()
        self._size = self._console.size
        self._sentences: list[str] = []
        self._chosen: int | None = None
        self._chosen_move = -1
        self._entered_at = 0.0

    def __enter__(self) -> KeyFrontend:
        self._stack.enter_context(self._keyboard)
        self._stack.enter_context(self._console.screen())
        if sys.stderr.isatty():
            # Notices, such as those of the compiler, would spoil the page.
            self._stack.enter_context(redirect_stderr(self._notices))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        sys.stderr.write(self._notices.getvalue())
        # The last sentences stay readable after the alternate screen closes.
        for text in self._sentences:
            print_sentence(self._console, text)

    def report(self, text: str) -> None:
        self._sentences.append(text)

    def report_event(self, text: str) -> None:
        """Ignore it: the board shows it."""

    def ask(self, view: View) -> int | str:
        actions = choices(view)
        if self._chosen_move != (move := self._session.moves) or self._chosen is None:
            self._chosen_move, self._chosen = move, _initial_choice(view, actions)
        prompt = f"{words.prompt(view, self._names)}."
        enter = {"choose": "take", "exchange": "choose"}.get(view.phase, "play")
        commands = {word[0]: word for word in labels()["terminal"]["commands"]}
        commands |= {"?": "help", "escape": "quit"}
        while True:
            self._console.update_screen(self._board(view, [*self._sentences, prompt], enter))
            key = self._key()
            if self._entered_now(key):
                self._sentences = []
                return self._chosen
            if key in commands:
                self._sentences = []
                return commands[key]
            chosen = _move_marker(key, self._chosen, actions, view)
            if chosen is not None:
                self._chosen, self._sentences = chosen, []

    def ask_next(self) -> None:
        view, sentences = self._session.view(PERSON), self._sentences
        key: str | None = None
        while not self._entered_now(key):
            self._console.update_screen(self._board(view, sentences, None))
            key = self._key()
            if key in _LEAVE_KEYS:
                raise LeaveTable
        if not self._session.over:
            self._sentences = []

    def wait(self, work: Callable[[], T], text: str, least: float) -> T:
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        view, start = self._session.view(PERSON), time.monotonic()
        threading.Thread(target=run, daemon=True).start()
        drawn: list[str] | None = None
        hurried = False
        while not future.done() or (not hurried and time.monotonic() < start + least):
            seconds = int(time.monotonic() - start)
            notice = self._notices.getvalue().splitlines()[-1:]
            sentences = [*notice, f"{text}, {seconds} s"] if seconds else self._sentences
            if sentences != drawn:
                self._console.update_screen(self._board(view, sentences, None))
                drawn = sentences
            key = self._key(_THREAD_POLL)
            if key in _LEAVE_KEYS:
                raise LeaveTable
            hurried |= self._entered_now(key)
        return future.result()

    def show(self, page: RenderableType) -> None:
        first = 0
        while True:
            console = self._console
            options = console.options.update(width=min(console.width - 2, _WIDTH), height=None)
            lines = console.render_lines(page, options)
            height = console.height - 2
            last = max(0, len(lines) - height)
            first = max(0, min(first, last))
            keys = {"Enter": "back"} | ({"↑↓": "further"} if last else {})
            visible = SegmentLines(lines[first : first + height], new_lines=True)
            self._console.update_screen(Group(visible, Text(), _key_line(keys)))
            key = self._key()
            if key in ("enter", "escape", "q"):
                return
            step = {"up": -1, "down": 1, "page up": -height, "page down": height}.get(key or "", 0)
            first = {"home": 0, "end": last}.get(key or "", first + step)

    # -- the screen

    def _board(self, view: View, sentences: Sequence[str], enter: str | None) -> RenderableType:
        console = self._console
        width = min(console.width, _WIDTH)
        options = console.options.update(width=width, height=None)
        lines = []
        for frames, gap, prompt in _LAYOUTS[console.height < _FRAMED_HEIGHT :]:
            shown = sentences if prompt or not enter else sentences[:-1]
            page = self._page(view, shown, enter, frames=frames, gap=gap)
            lines = console.render_lines(page, options)
            if len(lines) <= console.height:
                break
        if width < _MIN_WIDTH or len(lines) > console.height:
            least = {"least_columns": _MIN_WIDTH, "least_rows": len(lines)}
            size = {"columns": console.width, "rows": console.height}
            return Text(label("terminal.too_small", **size, **least))
        left, above = (console.width - width) // 2, (console.height - len(lines)) // 3
        return Padding(SegmentLines(lines, new_lines=True), (above, 0, 0, left))

    def _page(
        self, view: View, sentences: Sequence[str], enter: str | None, *, frames: bool, gap: bool
    ) -> RenderableType:
        keys = {"←→": "move", "Enter": enter} if enter else {"Enter": "go_on"}
        chosen = self._chosen if enter else None
        score = score_text(self._session)
        table = board(view, self._names, score, chosen=chosen, frames=frames)
        below = [Padding(sentence(text), (0, 0, 0, 3)) for text in sentences]
        gaps = [Text()] if gap else []
        return Group(table, *gaps, *below, *gaps, _key_line(keys))

    # -- keys

    def _key(self, seconds: float = math.inf) -> str | None:
        """The next key; None after so many seconds, or when the window was resized."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            key = self._keyboard.key(min(left, _SIZE_POLL))
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
        self._stack.close()
        os.kill(os.getpid(), getattr(signal, "SIGTSTP"))  # noqa: B009
        self.__enter__()

    def _entered_now(self, key: str | None) -> bool:
        """Whether Enter was pressed for the present screen: not held down, not pressed twice."""
        if key is None:
            return False
        before, self._entered_at = self._entered_at, time.monotonic() if key == "enter" else 0.0
        return key == "enter" and self._entered_at - before > _ENTER_DEBOUNCE


def _key_line(keys: dict[str, str]) -> Text:
    line = Text("  ")
    for key, effect in keys.items():
        line.append(f" {key}", "bold").append(f" {label(f'bar.{effect}')} ")
    if "←→" in keys:
        for word in labels()["terminal"]["commands"]:
            line.append(f" {word[0]}", "bold").append(f" {word} ")
        line.append(" ?", "bold")
    return line


def _initial_choice(view: View, actions: Sequence[int]) -> int:
    """The lowest legal card, which is at the right; the first option of a choice."""
    legal = [action for action in actions if action in view.legal()]
    return legal[0 if view.phase in ("choose", "exchange") else -1]


def _move_marker(key: str | None, chosen: int, actions: Sequence[int], view: View) -> int | None:
    """The action that a key moves the marker to; None for other keys."""
    index = actions.index(chosen)
    if key in ("left", "right"):
        return actions[(index + (1 if key == "right" else -1)) % len(actions)]
    if key in ("home", "end"):
        return actions[0 if key == "home" else -1]
    rank = _RANK_KEYS.get(key or "")
    cycle = [*actions[index + 1 :], *actions[: index + 1]]
    matches = [card for card in cycle if card < N_CARDS and RANKS[Card(card).rank] == rank]
    legal = set(view.legal())
    return next((card for card in matches if card in legal), matches[0] if matches else None)
