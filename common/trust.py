# pyright: strict
"""Code that a command may load: only modules and pickles that its words name.

Names of agents, trainers and callbacks also stand in files, such as the settings of a run, which
may be a stranger's. `--trust NAME` is the word for what only a file names. Programs in Python are
not restricted.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager

_WORDS = "GERMAN_WHIST_COMMAND_WORDS"
"""Environment variable, which worker processes inherit."""
_BEFORE, _BEHIND = r"(?<![^\s,=:\[\]{}'\"])", r"(?![^\s,=:\[\]{}'\"])"


class UntrustedCode(ValueError):
    """A file names code that the command line does not name."""


@contextmanager
def restricted_to(words: Sequence[str]) -> Generator[None]:
    """Load only code that the words of a command name, in this process and in its workers."""
    before = os.environ.get(_WORDS)
    os.environ[_WORDS] = json.dumps([*words])
    try:
        yield
    finally:
        if before is None:
            del os.environ[_WORDS]
        else:
            os.environ[_WORDS] = before


def check_trusted(code: str) -> None:
    """Refuse code, by its name in an agent, trainer or callback, that no word of a command names.

    >>> check_trusted("my_module:MyAgent")
    """
    text = os.environ.get(_WORDS)
    name = re.compile(f"{_BEFORE}{re.escape(code)}{_BEHIND}")
    if text is None or any(name.search(word) for word in json.loads(text)):
        return
    raise UntrustedCode(
        f"{code} is code that a file names, and the command does not: look at it, and if you trust "
        f"it add --trust {shlex.quote(code)}"
    )
