# pyright: strict
"""Error texts: suggestions for unknown names, types with their article, missing extras."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MAX_SUGGESTIONS, _CUTOFF = 2, 0.5
_INSTALL_PAGE = "docs/guide/start.md"


def not_installed(purpose: str, module: str | None, extra: str, page: str = _INSTALL_PAGE) -> str:
    """Error sentence for a missing optional dependency: what needs it, and the extra with it."""
    package = (module or "").partition(".")[0]
    return f"{purpose} needs {package}, which is not installed: {install_hint(extra, page)}"


def install_hint(extra: str, page: str = _INSTALL_PAGE) -> str:
    """Command that installs an extra, and the page about it.

    The command names no package of an index: none is published there.
    """
    return f'pip install ".[{extra}]" in a clone of the repository ({page})'


def type_phrase(value: object) -> str:
    """Name of a value's type, with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def suggest(word: object, names: Iterable[str], *, listed: bool = True, more: str = "") -> str:
    """End of an error sentence about an unknown word: the nearest names.

    Without a near name, all names and `more`, if `listed`.
    """
    names = list(names)
    bare = {name.lower().lstrip("-").replace("-", "_"): name for name in names}
    typed = str(word).lower().lstrip("-").replace("-", "_")
    close = difflib.get_close_matches(typed, bare, n=_MAX_SUGGESTIONS, cutoff=_CUTOFF)
    if close:
        return f"; did you mean {' or '.join(repr(bare[name]) for name in close)}?"
    known = f"there are {', '.join(names)}" if names else ""
    return "; ".join(["", *filter(None, [known, more])]) if listed else ""
