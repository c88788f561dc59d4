# pyright: strict
"""A terminal as one page: keys come in one by one, and only lines that changed go out.

While it is open the terminal is in the state that single keys need, on its alternate
page and without a cursor. It gets its own state back whatever happens: an end, an error, a
signal that ends the program (`Stopped`), a pause with Ctrl-Z.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import signal
import socket
import sys
import time
from types import FrameType, TracebackType
from typing import TextIO

from .styled_text import Ink, Line, clipped, ink_for

if sys.platform != "win32":
    import termios
    import tty

_OPEN = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J"
_CLOSE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
# Terminals that know these show a page at once, the others pass over them.
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")
_PREFIX = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?")
_LONE_ESCAPE = 0.05
_KEYS = {
    "[A": "up",
    "OA": "up",
    "[B": "down",
    "OB": "down",
    "[C": "right",
    "OC": "right",
    "[D": "left",
    "OD": "left",
    "[H": "home",
    "OH": "home",
    "[1~": "home",
    "[7~": "home",
    "[F": "end",
    "OF": "end",
    "[4~": "end",
    "[8~": "end",
    "[5~": "page up",
    "[6~": "page down",
    "[Z": "left",
    "OM": "enter",
}
_CHARACTERS = {
    "\r": "enter",
    "\n": "enter",
    " ": "space",
    "\t": "right",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x04": "quit",
    "\x03": "quit",
    "\x0c": "redraw",
}
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGWINCH", "SIGTSTP")


class Stopped(Exception):
    """A signal asks the program to end, or the terminal is gone (signal 0)."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}")
        self.number = number


def has_keys() -> bool:
    """Whether there is a terminal that gives single keys and shows pages."""
    if sys.platform == "win32" or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


class Screen:
    """The terminal, open while the `with` block lasts."""

    def __init__(self) -> None:
        self.ink: Ink = ink_for(sys.stdout)
        self.columns, self.rows = 80, 24
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._encoding = sys.stdout.encoding or "ascii"
        self._painted: list[str] = []
        self._typed = ""
        self._bytes = b""
        self._arrived: list[int] = []
        self._said = io.StringIO()
        self._errors: TextIO | None = None
        self._measure()

    # -- opening and closing

    def __enter__(self) -> Screen:
        sys.stdout.flush()
        if sys.stderr.isatty():
            # What is said meanwhile, such as that something is compiled, would spoil the page.
            self._errors, sys.stderr = sys.stderr, self._said
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._old_wake = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        numbers = [getattr(signal, name) for name in _SIGNALS]
        self._old_handlers = {each: signal.signal(each, self._heard) for each in numbers}
        self._state = termios.tcgetattr(self._in)
        try:
            self._begin()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError, termios.error, Stopped):
            self._finish()
        if self._errors is not None:
            sys.stderr = self._errors
            sys.stderr.write(self._said.getvalue())
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wake)
        self._wake.close()
        self._woken.close()

    def _begin(self) -> None:
        tty.setcbreak(self._in)
        self._measure()
        self._painted = []
        self._write(_OPEN)

    def _finish(self) -> None:
        """Everything as it was; keys that nobody read do not go to the shell."""
        try:
            self._write(_CLOSE)
        finally:
            termios.tcsetattr(self._in, termios.TCSAFLUSH, self._state)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        # Only noted: what is being saved or played is finished first.
        self._arrived.append(number)

    def _answer_signals(self) -> None:
        while self._arrived:
            number = self._arrived.pop(0)
            if number == signal.SIGWINCH:
                self._measure()
            elif number == signal.SIGTSTP:
                self._pause()
            else:
                raise Stopped(number)

    def _pause(self) -> None:
        self._finish()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # the program stands still here
        signal.signal(signal.SIGTSTP, self._heard)
        self._begin()
        self._typed += "\x0c"

    @property
    def said(self) -> str:
        """The last line that was meant for the terminal while the page lay over it."""
        return (self._said.getvalue().splitlines() or [""])[-1]

    # -- showing

    def _measure(self) -> None:
        try:
            size = os.get_terminal_size(self._out)
        except OSError:
            return
        # A terminal that does not know its size says 0.
        self.columns, self.rows = size.columns or 80, size.lines or 24

    def show(self, page: list[Line]) -> None:
        """Show a page: one line for each row, from the top."""
        painted = [self.ink.painted(clipped(line, self.columns)) for line in page[: self.rows]]
        painted += [""] * (self.rows - len(painted))
        whole = len(self._painted) != len(painted)
        parts = [_BEGIN]
        if whole:
            parts.append("\x1b[2J")
        for row, text in enumerate(painted):
            if whole or self._painted[row] != text:
                parts.append(f"\x1b[{row + 1};1H{text}\x1b[0m\x1b[K")
        self._painted = painted
        if len(parts) > 1:
            self._write("".join([*parts, _END]))

    def redraw(self) -> None:
        """Forget what was shown, so that the next page is drawn whole."""
        self._painted = []

    def _write(self, text: str) -> None:
        left = text.encode(self._encoding, "replace")
        try:
            while left:
                left = left[os.write(self._out, left) :]
        except OSError as error:
            raise Stopped(0) from error

    # -- keys

    def key(self, timeout: float | None = None) -> str | None:
        """The next key by name or as its character; `resize`, or None when the time is over."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            before = self.columns, self.rows
            self._answer_signals()
            if (self.columns, self.rows) != before:
                self.redraw()
                return "resize"
            found = self._next()
            if found is not None:
                if found == "redraw":
                    self.redraw()
                return found
            left = None if until is None else max(0.0, until - time.monotonic())
            if _PREFIX.fullmatch(self._typed):
                left = _LONE_ESCAPE
            if not self._wait(left):
                if self._typed.startswith("\x1b"):
                    self._typed = self._typed[1:]
                    return "escape"
                if until is not None and time.monotonic() >= until:
                    return None

    def _wait(self, seconds: float | None) -> bool:
        """Wait for keys or a signal; False when the time went by."""
        ready = select.select([self._in, self._woken], [], [], seconds)[0]
        if self._woken in ready:
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(4096)
        if self._in in ready:
            try:
                read = os.read(self._in, 4096)
            except OSError as error:
                raise Stopped(0) from error
            if not read:
                raise Stopped(0)
            self._take(read)
        return bool(ready)

    def _take(self, read: bytes) -> None:
        """Bytes as characters; what is left of one that is not whole yet waits for the rest."""
        self._bytes += read
        for cut in range(min(4, len(self._bytes) + 1)):
            whole = self._bytes[: len(self._bytes) - cut]
            try:
                self._typed += whole.decode("utf-8")
            except UnicodeDecodeError:
                continue
            self._bytes = self._bytes[len(whole) :]
            return
        self._bytes = b""

    def _next(self) -> str | None:
        """A key out of what was typed; sequences that mean nothing here are passed over."""
        while self._typed:
            if self._typed[0] != "\x1b":
                character, self._typed = self._typed[0], self._typed[1:]
                return _CHARACTERS.get(character, character)
            if found := _SEQUENCE.match(self._typed):
                self._typed = self._typed[found.end() :]
                if name := _KEYS.get(found.group()[1:]):
                    return name
                continue
            if _PREFIX.fullmatch(self._typed):
                return None
            self._typed = self._typed[1:]
            return "escape"
        return None
