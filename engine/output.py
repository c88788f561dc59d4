# pyright: strict
"""What is told to a person: streams that outlive their readers, in whatever characters they have.

A reader that goes away, as `head` does, or a disk that fills never ends the work of a command,
and no encoding does: the rest is told to nobody, or spelled in plainer characters.
`debugging` says whether tracebacks are wanted; processes that are started inherit it.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
import traceback
import unicodedata
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

DEBUG = "GERMAN_WHIST_DEBUG"

PLAIN = {
    "♣": "c",
    "♦": "d",
    "♥": "h",
    "♠": "s",
    "│": "|",
    "─": "-",
    "┌": "+",
    "┬": "+",
    "┐": "+",
    "└": "+",
    "┴": "+",
    "┘": "+",
    "░": "#",
    "▲": "^",
    "▸": ">",
    "←": "<",
    "→": ">",
    "↑": "^",
    "↓": "v",
    "·": ".",
    "…": "~",
    "–": "-",
    "−": "-",
    "±": "+-",
    "×": "x",
    "½": ".5",
}
"""What stands for characters that an encoding lacks."""


def debugging() -> bool:
    """Whether tracebacks are wanted: `--debug` on the command line, or the variable `DEBUG`."""
    return bool(os.environ.get(DEBUG))


def show_traceback() -> None:
    """Tell where the error that is being handled was raised, if that is wanted."""
    if debugging():
        traceback.print_exc()


def _plainer(error: UnicodeError) -> tuple[str | bytes, int]:
    """The error handler of our streams: characters that are missing are told in others."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start]
    if "\udc80" <= found <= "\udcff":  # a byte of a file's name that is no text
        return bytes([ord(found) - 0xDC00]), error.start + 1
    spelled = PLAIN.get(found) or unicodedata.normalize("NFKD", found)
    return spelled.encode("ascii", "ignore").decode() or "?", error.start + 1


codecs.register_error("german-whist", _plainer)


class _Patient(io.FileIO):
    """A file that takes everything: what can not be written any more is dropped."""

    fault: OSError | None = None

    def write(self, b: Any, /) -> int:
        left = memoryview(b).cast("B")
        try:
            while left and self.fault is None:
                written: int | None = super().write(left)
                if written is None:  # a pipe that is full, and that nobody is to wait for
                    select.select([], [self], [])
                left = left[written or 0 :]
        except OSError as error:
            self.fault = error
        return memoryview(b).nbytes


class _Open(io.TextIOWrapper):
    """A stream that stays open whoever closes it: there may be more to tell."""

    def close(self) -> None:
        self.flush()


def _lasting(stream: TextIO | None) -> TextIO:
    if stream is None:  # closed by the shell, as with `>&-`
        return open(os.devnull, "w", encoding="utf-8")
    if type(stream) is not io.TextIOWrapper or not isinstance(_raw(stream), io.FileIO):
        return stream  # somebody else's: a test's, a notebook's, or a console of Windows
    with suppress(OSError):
        stream.flush()
    patient = _Patient(stream.fileno(), "w", closefd=False)
    return _Open(
        patient if stream.write_through else io.BufferedWriter(patient),  # type: ignore[arg-type]
        encoding=stream.encoding,
        errors="german-whist",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _raw(stream: TextIO) -> object:
    """What a stream writes into at last; where Python runs unbuffered, nothing lies between."""
    buffer = getattr(stream, "buffer", None)
    return getattr(buffer, "raw", buffer)


def _fault_of(stream: TextIO) -> OSError | None:
    stream.flush()
    return getattr(_raw(stream), "fault", None)


@contextmanager
def lasting_streams() -> Generator[Callable[[], OSError | None]]:
    """Let the standard streams outlive their readers; gives what asks why stdout was not written.

    A reader that went away is no reason.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    if cast("TextIO | None", sys.stdin) is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    out, err = _lasting(sys.stdout), _lasting(sys.stderr)
    sys.stdout, sys.stderr = out, err

    def fault() -> OSError | None:
        found = _fault_of(out)
        return None if isinstance(found, BrokenPipeError) else found

    try:
        yield fault
    finally:
        for stream in (out, err):
            _fault_of(stream)
        sys.stdin, sys.stdout, sys.stderr = before
