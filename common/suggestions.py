# pyright: strict
"""Words that somebody typed, and those that may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST, _LIKENESS = 2, 0.5


def not_installed(module: str | None, extra: str) -> ModuleNotFoundError:
    """The error for a module that an extra brings, with the command that installs it."""
    package = (module or "").partition(".")[0]
    return ModuleNotFoundError(
        f"{package} is not installed: pip install 'german-whist[{extra}]'", name=module
    )


def a_kind_of(value: object) -> str:
    """What type a value is of, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def meant(word: object, known: Iterable[str], *, listed: bool = True, more: str = "") -> str:
    """The end of a sentence about a word that is not known: what may have been meant.

    Where nothing is near, everything that there is and `more`, unless that is told elsewhere.
    """
    names = list(known)
    bare = {name.lower().lstrip("-"): name for name in names}
    typed = str(word).lower().lstrip("-")
    close = difflib.get_close_matches(typed, bare, n=_MOST, cutoff=_LIKENESS)
    if close:
        return f"; did you mean {' or '.join(repr(bare[each]) for each in close)}?"
    return "; ".join(["", f"there are {', '.join(names)}", *filter(None, [more])]) if listed else ""
