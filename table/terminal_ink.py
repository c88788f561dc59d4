# pyright: strict
"""Lines of styled text for the terminal, and how they are painted: with colours, or without.

A line is a list of pieces, each a text and the name of a style. What has colours in one
terminal is bold or reversed in another, and where an encoding lacks the suits, letters
stand in for them.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TextIO

from ..engine.cards import SUITS, TAKE_HIDDEN, Card
from ..engine.output import PLAIN

Piece = tuple[str, str]
Line = list[Piece]

_PLAIN = {
    "": "",
    "faint": "2",
    "bold": "1",
    "title": "7",
    "chosen": "7",
    "key": "1",
    "red": "",
    "black": "",
    "back": "2",
    "dim red": "2",
    "dim black": "2",
    "red suit": "",
    "good": "1",
    "bad": "1",
    "gold": "1",
    "trump red": "",
    "trump black": "",
    "chosen red": "7",
    "chosen black": "7",
}
_SIXTEEN = {
    **_PLAIN,
    "title": "97;44",
    "red": "31;47",
    "black": "30;47",
    "back": "37;44",
    "dim red": "31;100",
    "dim black": "30;100",
    "chosen red": "31;103",
    "chosen black": "30;103",
    "red suit": "91",
    "good": "92",
    "bad": "91",
    "gold": "93",
    "key": "1;96",
}
_MANY = {
    **_SIXTEEN,
    "title": "38;5;230;48;5;22",
    "red": "38;5;160;48;5;255",
    "black": "38;5;16;48;5;255",
    "back": "38;5;110;48;5;24",
    "dim red": "38;5;124;48;5;248",
    "chosen red": "38;5;160;48;5;228",
    "dim black": "38;5;238;48;5;248",
    "chosen black": "38;5;16;48;5;228",
    "red suit": "38;5;203",
    "good": "38;5;114",
    "bad": "38;5;209",
    "gold": "38;5;220",
    "key": "1;38;5;117",
}
_ASCII = str.maketrans(PLAIN)


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
    red = card < TAKE_HIDDEN and SUITS[Card(card).suit] in "DH"
    return prefix + ("red" if red else "black")


def card_piece(card: Card) -> Piece:
    """A card within a sentence: `10♦`, red suits in red."""
    return card.symbol, "red suit" if SUITS[card.suit] in "DH" else "bold"


def sentence(*parts: str | Card) -> Line:
    """A line of words and cards."""
    return [card_piece(part) if isinstance(part, Card) else (part, "") for part in parts]
