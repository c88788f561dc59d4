# pyright: strict
"""Lines of styled text for the terminal, and how they are painted: with colours, or without.

A line is a list of pieces, each a text and the name of a style. What has colours in one
terminal is bold or reversed in another, and where an encoding lacks the suits, letters
stand in for them.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from ...engine.cards import CARDS_IN_ALL, SUIT_SYMBOLS, SUITS, Card
from ...engine.output import PLAIN
from ..labels import say

Piece = tuple[str, str]
Line = list[Piece]

# A style without colours, with sixteen, and with many.
_STYLES = {
    "": ("", "", ""),
    "faint": ("2", "2", "2"),
    "bold": ("1", "1", "1"),
    "title": ("7", "97;44", "38;5;230;48;5;22"),
    "key": ("1", "1;96", "1;38;5;117"),
    "back": ("2", "37;44", "38;5;110;48;5;24"),
    "good": ("1", "92", "38;5;114"),
    "bad": ("1", "91", "38;5;209"),
    "gold": ("1", "93", "38;5;220"),
    "red suit": ("", "91", "38;5;203"),
    "red": ("", "31;47", "38;5;160;48;5;255"),
    "black": ("", "30;47", "38;5;16;48;5;255"),
    "dim red": ("2", "31;100", "38;5;124;48;5;248"),
    "dim black": ("2", "30;100", "38;5;238;48;5;248"),
    "chosen red": ("7", "31;103", "38;5;160;48;5;228"),
    "chosen black": ("7", "30;103", "38;5;16;48;5;228"),
}
_PLAIN, _SIXTEEN, _MANY = ({name: row[n] for name, row in _STYLES.items()} for n in range(3))
_ASCII = str.maketrans(PLAIN)
_CARD = re.compile(f"((?:10|[2-9JQKA])[{''.join(SUIT_SYMBOLS)}])")


@dataclass(frozen=True)
class Ink:
    """What a terminal can show."""

    colour: bool
    """Whether cards are coloured faces; if not they are drawn as boxes."""
    symbols: bool
    """Whether it has ♣♦♥♠ and lines to draw with."""
    codes: Mapping[str, str]

    def painted(self, line: Line) -> str:
        """A line with the codes that style it."""
        parts: list[str] = []
        for text, style in line:
            code = self.codes[style]
            parts.append(f"\x1b[{code}m{text}\x1b[0m" if code and text else text)
        return self.spelled("".join(parts))

    def spelled(self, text: str) -> str:
        """A text in characters that the terminal has."""
        return text if self.symbols else text.translate(_ASCII)


def ink_for(out: TextIO, environment: Mapping[str, str] = os.environ) -> Ink:
    """The ink of a terminal: `NO_COLOR` is heard, and so is what `TERM` and the encoding say."""
    try:
        "♣♦♥♠│░▲".encode(out.encoding or "ascii")
        symbols = True
    except (UnicodeEncodeError, LookupError):
        symbols = False
    term = environment.get("TERM", "")
    if environment.get("NO_COLOR") or term in ("", "dumb", "vt100", "vt220"):
        return Ink(False, symbols, _PLAIN)
    many = "256" in term or "direct" in term or bool(environment.get("COLORTERM"))
    return Ink(True, symbols, _MANY if many else _SIXTEEN)


# -- measuring


def width_of(text: str) -> int:
    """The columns that a text fills."""
    if text.isascii():
        return len(text)
    return sum(_columns(each) for each in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def line_width(line: Iterable[Piece]) -> int:
    """The columns that a line fills."""
    return sum(width_of(text) for text, _ in line)


def clipped(line: Line, columns: int) -> Line:
    """A line cut to so many columns, an ellipsis in the place of what is lost."""
    if line_width(line) <= columns:
        return line
    kept: Line = []
    left = columns - 1
    for text, style in line:
        if width_of(text) <= left:
            kept.append((text, style))
            left -= width_of(text)
            continue
        while width_of(text) > left:
            text = text[:-1]
        kept.append((text + "…", style))
        break
    return kept


def spread(left: Line, right: Line, columns: int, style: str = "") -> Line:
    """Two lines in one, the second at the right edge."""
    room = columns - line_width(right)
    left = clipped(left, max(room - 1, 0))
    return [*left, (" " * (room - line_width(left)), style), *right]


def put(lines: list[Line], column: int, *, row: int, pieces: Line) -> None:
    """Write pieces into a page behind what stands in a row already, starting at a column."""
    line = lines[row]
    line.append((" " * (column - line_width(line)), ""))
    line.extend(pieces)


def text_of_line(line: Line) -> str:
    """A line without its styles."""
    return "".join(text for text, _ in line).rstrip()


def tidy(name: str, longest: int = 24) -> str:
    """A name as a line can hold it: nothing that moves a cursor, and not too long."""
    kept = "".join(each if each.isprintable() else "?" for each in name).strip()
    while width_of(kept) > longest:
        kept = kept[:-2] + "…"
    return kept


# -- cards


def card_style(card: int, prefix: str = "") -> str:
    """The style of a card's face."""
    red = card < CARDS_IN_ALL and SUITS[Card(card).suit] in "DH"
    return prefix + ("red" if red else "black")


def card_piece(card: Card) -> Piece:
    """A card within a sentence: `10♦`, red suits in red."""
    return card.symbol, "red suit" if SUITS[card.suit] in "DH" else "bold"


def sentence(text: str, style: str = "") -> Line:
    """A sentence, the cards in it as `card_piece` has them."""
    parts = _CARD.split(text)
    styles = {"♦": "red suit", "♥": "red suit", "♣": "bold", "♠": "bold"}
    return [
        (part, styles[part[-1]] if place % 2 else style) for place, part in enumerate(parts) if part
    ]


# -- lines that fit


def wrapped(text: str, columns: int, style: str = "", indent: int = 0) -> list[Line]:
    """A text as lines of so many columns."""
    return [
        [(" " * indent, ""), *line]
        for line in flowed([(" ".join(text.split()), style)], columns - indent)
    ]


def flowed(line: Line, columns: int) -> list[Line]:
    """A line as lines of at most so many columns, broken between words."""
    lines: list[Line] = [[]]
    for text, style in line:
        for place, word in enumerate(text.split(" ")):
            blank = " " if place else ""
            if line_width(lines[-1]) + width_of(blank + word) > columns:
                lines.append([])
                blank = ""
            lines[-1].append((blank + word, style))
    return lines


def told_in_lines(head: str, style: str, text: str, columns: int) -> list[Line]:
    """A sentence with a styled beginning, its cards as people read them, in lines that fit."""
    return flowed([(head, style), *sentence(text)], columns)


def key_line(keys: Sequence[tuple[str, str]], columns: int) -> Line:
    """What keys do, by the names of `bar`; where room lacks those before the last two go."""
    kept = list(keys)
    while True:
        line: Line = [("  ", "")]
        for key, about in kept:
            line += [(f" {key} ", "key"), (say(f"bar.{about}") + " ", "")]
        if line_width(line) <= columns or len(kept) < 3:
            return line
        del kept[-3]
