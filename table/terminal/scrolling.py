# pyright: strict
"""A page of lines in the terminal that is read and closed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..labels import say
from .keeping import Left
from .screen import Screen
from .styled_text import Line, spread


@dataclass(frozen=True)
class Page:
    """A title and lines below it, which scroll where they are more than the screen has."""

    title: str
    lines: Sequence[Line]

    def shown(self, columns: int, rows: int, first: int, closes: str = "") -> list[Line]:
        """The page from line `first` on."""
        room = rows - 4
        last = min(first + room, len(self.lines))
        title: Line = [(f" {self.title}", "title")]
        where = f"{first + 1}-{last} of {len(self.lines)} " if len(self.lines) > room else " "
        body = [[(" ", ""), *line] for line in self.lines[first:last]]
        body += [[] for _ in range(room - len(body))]
        keys: Line = [(" Enter ", "key"), (closes or say("bar.back"), "")]
        if len(self.lines) > room:
            keys += [("   ↑ ↓ ", "key"), (say("bar.further"), "")]
        return [spread(title, [(where, "title")], columns, "title"), [], *body, [], keys]

    def last_start(self, rows: int) -> int:
        """The furthest line that a page of so many rows can begin with."""
        return max(0, len(self.lines) - (rows - 4))


def scrolled(screen: Screen, opened: Page, closes: str = "", leaves: bool = False) -> None:
    """Show a page until it is closed; where `leaves`, q leaves the table."""
    first = 0
    while True:
        last = opened.last_start(screen.rows)
        first = max(0, min(first, last))
        screen.show(opened.shown(screen.columns, screen.rows, first, closes))
        key = screen.key() or ""
        if key == "quit" or (leaves and key in ("q", "escape")):
            raise Left
        if key in ("enter", "q", "escape", "backspace") or (key == "space" and first == last):
            return
        step = screen.rows - 5
        steps = {"up": -1, "down": 1, "page up": -step, "page down": step, "space": step}
        first += steps.get(key, 0)
        first = {"home": 0, "end": last}.get(key, first)
