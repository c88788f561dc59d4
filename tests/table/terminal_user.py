"""A person at a terminal: a program behind a pseudo-terminal, its screen read, keys pressed."""

import fcntl
import os
import pty
import random
import select
import struct
import sys
import termios
import time

import pyte
import warm

from german_whist.table.statistics import Statistics, Total
from german_whist.table.terminal.styled_text import ink_for, line_width, text_of_line

PATIENCE = 240.0
ONE_PRESS = 0.6
"""Within so many seconds Enter counts as pressed once."""
KEYS = {
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "enter": "\r",
    "escape": "\x1b",
    "ctrl-c": "\x03",
    "ctrl-d": "\x04",
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
        told = {**os.environ, "TERM": "xterm-256color", "GERMAN_WHIST_DATA": str(folder)}
        told = {name: value for name, value in told.items() if name != "NO_COLOR"}
        self.process = warm.Popen(
            [sys.executable, "-m", "german_whist", *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={**told, **environment},
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
        """Drag the window's corner."""
        self.read(0.0)
        self.screen.resize(rows, columns)
        self._size(columns, rows)

    def press(self, *keys):
        """Press keys, each when the one before was answered or passed over, at a person's pace."""
        for key in keys:
            if key == "enter":
                self.read_until(self._entered + ONE_PRESS)
                self._entered = time.monotonic()
            os.write(self._master, KEYS.get(key, key).encode())
            self.read(0.05)

    def type(self, keys):
        """Keys all at once, faster than anybody looks."""
        os.write(self._master, keys.encode())

    def read_until(self, moment):
        """Take in what the program writes until then."""
        while (left := moment - time.monotonic()) > 0:
            self.read(left)

    def read(self, seconds):
        """Take in what the program writes for so long, or until a moment after it began to."""
        until = time.monotonic() + seconds
        while select.select([self._master], [], [], max(0.0, until - time.monotonic()))[0]:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            self.output += data
            self._stream.feed(data)

    @property
    def lines(self):
        """The screen as a person sees it."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self):
        return "\n".join(self.lines)

    def wait_for(self, *words):
        """Wait until one of these is on the screen; returns which."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            self.read(0.02)
            for each in words:
                if each in self.text:
                    return each
            if self.process.poll() is not None:
                self.read(0.2)
                found = [each for each in words if each in self.text]
                assert found, f"it ended with {self.process.returncode}:\n{self.text}"
                return found[0]
        raise AssertionError(f"{words} did not come:\n{self.text}")

    def end(self):
        """Wait for the end; returns the exit status, the terminal being as it was."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < until:
            self.read(0.05)
        self.read(0.1)
        assert termios.tcgetattr(self._slave) == self.state
        assert self.output.count(b"\x1b[?1049h") == self.output.count(b"\x1b[?1049l")
        assert self.output.count(b"\x1b[?25l") == self.output.count(b"\x1b[?25h")
        return self.process.returncode

    def play_through(self, *until):
        """Press Enter at every card until one of these is on the screen; returns which."""
        over = time.monotonic() + 4 * PATIENCE
        while time.monotonic() < over:
            found = self.wait_for("Enter play", "Enter take", "Enter next hand", *until)
            if found in until or any(each in self.text for each in until):
                return found
            self.press("enter")
        raise AssertionError(f"{until} did not come:\n{self.text}")


class FakeScreen:
    """A screen that looks at every page and presses keys at random."""

    KEYS = ("left", "right", "up", "down", "home", "end", *"7Kkostr?mx", "resize")

    def __init__(self, columns, rows, seed, keys=KEYS):
        self.ink = ink_for(sys.stdout, {"NO_COLOR": "1"})
        self.columns, self.rows = columns, rows
        self.pages = []
        self.said = ""
        self._random, self._keys = random.Random(seed), keys

    def show(self, lines):
        assert len(lines) <= self.rows
        for line in lines:
            assert line_width(line) <= self.columns, text_of_line(line)
            self.ink.painted(line)
        self.pages.append("\n".join(map(text_of_line, lines)))

    def key(self, timeout=None):
        return self._random.choice([*["enter"] * 6, *self._keys])


class NoKeeper:
    """Keeps nothing."""

    def keep(self, session):
        pass

    def statistics(self):
        return Statistics([], Total(0, 0, 0, 0, 0, 0), [], [], [])
