# pyright: strict
"""Single key presses of a terminal, by name or as the character typed."""

from __future__ import annotations

import codecs
import os
import re
import select
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def _posix_module(name: str) -> Any:
    return import_module(name) if find_spec(name) else None


_TERMIOS, _TTY = _posix_module("termios"), _posix_module("tty")
_LONE_ESCAPE = 0.05
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")
_PREFIX = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?")
_FINAL = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "left"}
_NUMBERED = {"1": "home", "7": "home", "4": "end", "8": "end", "5": "page up", "6": "page down"}
_CHARACTERS = {
    "\r": "enter",
    "\n": "enter",
    " ": "enter",
    "\t": "right",
    "\x03": "leave",
    "\x04": "leave",
    "\x1a": "suspend",
    "\x0c": "redraw",
}


def has_keys() -> bool:
    """Whether standard input and output are a terminal with single keys and cursor control."""
    if _TERMIOS is None or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


class Keyboard:
    """Unbuffered keys of standard input during a `with` block; Ctrl-C is one of them."""

    def __init__(self) -> None:
        self._in = sys.stdin.fileno()
        self._typed = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._state: list[Any] = []

    def __enter__(self) -> Keyboard:
        self._state = _TERMIOS.tcgetattr(self._in)
        _TTY.setcbreak(self._in)
        state = _TERMIOS.tcgetattr(self._in)
        # No signals: a Ctrl-C within a move would leave it half made.
        state[3] &= ~_TERMIOS.ISIG
        _TERMIOS.tcsetattr(self._in, _TERMIOS.TCSANOW, state)
        return self

    def __exit__(self, *_: object) -> None:
        # Flush unread keys: they must not reach the shell.
        _TERMIOS.tcsetattr(self._in, _TERMIOS.TCSAFLUSH, self._state)

    def key(self, seconds: float) -> str | None:
        """The next key; None after so many seconds without one."""
        while True:
            if (key := self._next()) is not None:
                return key
            unfinished = _PREFIX.fullmatch(self._typed)
            wait = _LONE_ESCAPE if unfinished else seconds
            if not select.select([self._in], [], [], wait)[0]:
                self._typed = ""
                return "escape" if unfinished else None
            try:
                data = os.read(self._in, 4096)
            except OSError:  # the terminal was closed
                data = b""
            if not data:
                return "leave"
            self._typed += self._decoder.decode(data)

    def _next(self) -> str | None:
        while self._typed:
            if self._typed[0] != "\x1b":
                character, self._typed = self._typed[0], self._typed[1:]
                return _CHARACTERS.get(character, character)
            if match := _SEQUENCE.match(self._typed):
                self._typed = self._typed[match.end() :]
                sequence = match.group()
                if name := _FINAL.get(sequence[-1]) or _NUMBERED.get(sequence[2:-1]):
                    return name
            elif _PREFIX.fullmatch(self._typed):
                return None
            else:
                self._typed = self._typed[1:]
                return "escape"
        return None
