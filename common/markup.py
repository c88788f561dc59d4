# pyright: strict
"""Text of others, as names and messages are, for a terminal, HTML and Markdown.

Names come from files that anyone may have written. Each place has one function that shows a text
as it is, and gives it no effect there; `files.file_name` is the one for names of files.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Sequence


def printable(text: str) -> str:
    """A text for a terminal: its lines, with a blank for every control or direction character.

    Halves of surrogate pairs, which stand for bytes in names of files, stay: streams escape them.
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character == "\n" or "\ud800" <= character <= "\udfff"
        else " "
        for character in text
    )


def one_line(text: str) -> str:
    """A `printable` text on one line, as a cell of a table."""
    return " ".join(printable(text).split())


def html_text(text: str) -> str:
    """Text as HTML, also in an attribute, and as XML, which knows no control characters."""
    return html.escape(printable(text))


_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
# An underscore within a word, as paths have them, marks nothing.
_MARKUP = re.compile(r"[\\`*~\[\]<>&|]|(?<!\w)_|_(?!\w)")


def markdown_text(text: str) -> str:
    """Text as Markdown, on one line, also in a cell of a table."""
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), one_line(text))


def markdown_code(text: str, in_table: bool = False) -> str:
    """Text as code in Markdown, on one line, whatever backticks it contains."""
    line = one_line(text)
    fence = "`" * (1 + _longest_run_of_backticks(line))
    pad = " " if "`" in line else ""
    code = f"{fence}{pad}{line}{pad}{fence}"
    return code.replace("|", "\\|") if in_table else code


def markdown_block(text: str, language: str = "") -> str:
    """Lines of text as a block of code in Markdown, whatever backticks they contain."""
    fence = "`" * max(3, 1 + _longest_run_of_backticks(text))
    return f"{fence}{language}\n{printable(text).rstrip()}\n{fence}"


def _longest_run_of_backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> str:
    """A table of cells in Markdown; `right` are the places of columns to the right, as of numbers.

    >>> print(markdown_table(["deck", "cards"], [["`2x4`", "8"]], right=[1]))
    | deck | cards |
    |---|--:|
    | `2x4` | 8 |
    """
    marks = ["--:" if place in right else "---" for place in range(len(header))]
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(marks)}|", *lines[1:]])
