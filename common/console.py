# pyright: strict
"""Standard streams that survive a closed pipe, a full disk and a narrow encoding."""

from __future__ import annotations

import codecs
import os
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TextIO, cast

DEBUG = "GERMAN_WHIST_DEBUG"
"""Environment variable that enables tracebacks; child processes inherit it."""


PLAIN = dict(zip("♣♦♥♠│─┌┬┐└┴┘░▲▸←→↑↓·…–−±×½", "cdhs|-++++++#^><>^v.~--+x.", strict=True)) | {
    "±": "+-",
    "½": ".5",
}
"""ASCII replacements: an encoding without suit symbols must not make all cards look alike."""


def debugging() -> bool:
    """Whether `--debug` or the environment asks for tracebacks."""
    return bool(os.environ.get(DEBUG))


def show_traceback(*, is_fault: bool = False) -> None:
    """Print the traceback of the current exception, if it is a fault or `debugging()`."""
    if is_fault or debugging():
        traceback.print_exc()


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return PLAIN.get(error.object[error.start], "?"), error.start + 1


codecs.register_error("german-whist", _replace)


class _LastingStream:
    """A text stream that keeps its first write error: a run must not end because `| head` did."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def _attempt(self, operation: Callable[[], object]) -> None:
        if self._stream.closed:  # a player in this process may have closed it
            return
        try:
            operation()
        except OSError as error:
            self.error = self.error or error
            # Discard what is buffered, without another error at exit.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)

    def write(self, text: str) -> int:
        self._attempt(lambda: self._stream.write(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        self._attempt(lambda: self._stream.writelines(lines))

    def flush(self) -> None:
        self._attempt(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _lasting(stream: TextIO | None) -> _LastingStream:
    if stream is None:  # closed by the shell, as with `>&-`
        stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if hasattr(stream, "reconfigure"):
        cast("Any", stream).reconfigure(errors="german-whist")
    return _LastingStream(stream)


@contextmanager
def lasting_streams() -> Generator[Callable[[], OSError | None]]:
    """Replace the standard streams; yields a function that returns why stdout was not written.

    A closed pipe does not count as a reason.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    if cast("TextIO | None", sys.stdin) is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    out, err = _lasting(sys.stdout), _lasting(sys.stderr)
    sys.stdout, sys.stderr = cast("TextIO", out), cast("TextIO", err)

    def write_error() -> OSError | None:
        out.flush()
        return None if isinstance(out.error, BrokenPipeError) else out.error

    try:
        yield write_error
    finally:
        out.flush()
        err.flush()
        sys.stdin, sys.stdout, sys.stderr = before
