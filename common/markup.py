# pyright: strict
"""Text in Markdown: cells of tables, names and messages of anyone."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> str:
    """A table in Markdown; `right` are the places of columns to the right, as of numbers.

    >>> print(markdown_table(["deck", "cards"], [["`2x4`", "8"]], right=[1]))
    | deck | cards |
    |---|--:|
    | `2x4` | 8 |
    """
    marks = ["--:" if place in right else "---" for place in range(len(header))]
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(marks)}|", *lines[1:]])


_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
# An underscore within a word, as paths have them, marks nothing.
_MARKUP = re.compile(r"[\\`*~\[\]<>&|]|(?<!\w)_|_(?!\w)")


def markdown_text(text: str) -> str:
    """Text as Markdown that shows it as it is, on one line: names and messages may be anyone's."""
    one_line = " ".join(text.splitlines())
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), one_line)


def markdown_code(text: str, in_table: bool = False) -> str:
    """Text as code in Markdown, on one line, whatever backticks it contains."""
    one_line = " ".join(text.splitlines())
    fence = "`" * (1 + max(map(len, re.findall("`+", one_line)), default=0))
    pad = " " if "`" in one_line else ""
    code = f"{fence}{pad}{one_line}{pad}{fence}"
    return code.replace("|", "\\|") if in_table else code
