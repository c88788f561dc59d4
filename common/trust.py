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
from itertools import pairwise

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


@contextmanager
def trusting(names: Sequence[str]) -> Generator[None]:
    """Load these classes too, which an argument of the command names whole."""
    text = os.environ.get(_WORDS)
    if text is None:
        yield
        return
    with restricted_to([*json.loads(text), *(f"--trust={name}" for name in names)]):
        yield


def trust(code: str) -> None:
    """Load this class too, as long as the command runs: code that it trusts names it."""
    text, word = os.environ.get(_WORDS), f"--trust={code}"
    if text is not None and word not in (words := json.loads(text)):
        os.environ[_WORDS] = json.dumps([*words, word])


def check_trusted_class(code: str) -> None:
    """Refuse the class that a checkpoint's card or settings name, unless an option names it whole.

    Any other word, such as an agent's name, may look like a class in a file of this folder.
    """
    text = os.environ.get(_WORDS)
    if text is not None and code not in _named_by(("--trust", "network"), json.loads(text)):
        raise _untrusted(code)


def _named_by(options: Sequence[str], words: Sequence[str]) -> set[str]:
    """The values of some options, `--name VALUE`, `--name=VALUE` or `name=VALUE`."""
    named = {word.partition("=")[2] for word in words if word.partition("=")[0] in options}
    return named | {value for word, value in pairwise(words) if word in options and "--" in word}


def check_trusted(code: str) -> None:
    """Refuse code, by its name in an agent, trainer or callback, that no word of a command names.

    >>> check_trusted("my_module:MyAgent")
    """
    text = os.environ.get(_WORDS)
    if text is None:
        return
    name, words = re.compile(f"{_BEFORE}{re.escape(code)}{_BEHIND}"), json.loads(text)
    trusted = _named_by(["--trust"], words)
    if code in trusted or any(name.search(word) for word in words if word not in trusted):
        return
    raise _untrusted(code)


def _untrusted(code: str) -> UntrustedCode:
    return UntrustedCode(
        f"a file names {code}, and loading it executes code: find out whose it is, and if you "
        f"trust it add --trust {shlex.quote(code)}"
    )
