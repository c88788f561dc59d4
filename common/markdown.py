# pyright: strict
"""Tables in Markdown."""

from __future__ import annotations

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
