"""A person at a terminal: a program in a pseudo-terminal, its screen read, keys pressed."""

import fcntl
import io
import os
import pty
import random
import select
import struct
import subprocess
import sys
import termios
import time

import pyte
from rich.console import Console

from german_whist.table.terminal import keys

PATIENCE = 240.0
ENTER_PAUSE = 0.6
"""Seconds between two presses of Enter that both count."""
KEYS = {
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "enter": "\r",
    "escape": "\x1b",
    "ctrl-c": "\x03",
}


class TerminalUser:
    """`german-whist` with some arguments, in a terminal of its own."""

    def __init__(self, folder, *arguments, columns=80, rows=24, **environment):
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.output = b""
        self._entered = 0.0
        self._master, self._slave = pty.openpty()
        self._size(columns, rows)
        self.state = termios.tcgetattr(self._slave)
        # The size is the window's, whatever the environment says.
        unset = ("COLUMNS", "LINES", "NO_COLOR")
        inherited = {name: value for name, value in os.environ.items() if name not in unset}
        terminal = {"TERM": "xterm-256color", "GERMAN_WHIST_DATA": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "german_whist", *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={**inherited, **terminal, **environment},
            start_new_session=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    def _size(self, columns, rows):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.read(0.0)
        self.screen.resize(rows, columns)
        self._size(columns, rows)

    def press(self, *keys):
        """Press keys at a person's pace."""
        for key in keys:
            if key == "enter":
                self.read_until(self._entered + ENTER_PAUSE)
                self._entered = time.monotonic()
            os.write(self._master, KEYS.get(key, key).encode())
            self.read(0.3)

    def type(self, keys):
        os.write(self._master, keys.encode())

    def read_until(self, moment):
        while (left := moment - time.monotonic()) > 0:
            self.read(left)

    def read(self, seconds):
        deadline = time.monotonic() + seconds
        while select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))[0]:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            self.output += data
            self._stream.feed(data)

    @property
    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self):
        return "\n".join(self.lines)

    def wait_for(self, words):
        until = time.monotonic() + PATIENCE
        while words not in self.text:
            assert time.monotonic() < until, f"{words} did not come:\n{self.text}"
            ended = self.process.poll() is not None
            self.read(0.2 if ended else 0.02)
            assert not ended or words in self.text, f"it ended:\n{self.text}"

    def end(self):
        """Wait for the exit status; check that the terminal is restored."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < until:
            self.read(0.05)
        self.read(0.1)
        assert termios.tcgetattr(self._slave) == self.state
        assert self.output.count(b"\x1b[?1049h") == self.output.count(b"\x1b[?1049l")
        assert self.output.count(b"\x1b[?25l") == self.output.count(b"\x1b[?25h")
        return self.process.returncode


class FakeTerminal(Console):
    """A screen in this process that stores every page, and a keyboard with random keys."""

    KEYS = ("left", "right", "home", *"7Kstr?bx")

    def __init__(self, monkeypatch, columns, rows):
        super().__init__(
            file=io.StringIO(), force_terminal=True, width=columns, height=rows, highlight=False
        )
        self.pages = []
        self._rng, self._pressed = random.Random(7), 0
        monkeypatch.setattr(keys, "new_console", lambda: self)
        monkeypatch.setattr(keys, "Keyboard", lambda: self)

    def update_screen(self, renderable, **options):
        lines = self.render_lines(renderable, self.options.update(height=None), pad=False)
        assert len(lines) <= self.height
        self.pages.append("\n".join("".join(part.text for part in line).rstrip() for line in lines))

    @property
    def page(self):
        return self.pages[-1]

    def key(self, seconds):
        # Enter at once after Enter is passed over.
        self._pressed += 1
        return "enter" if self._pressed % 2 else self._rng.choice(self.KEYS)
