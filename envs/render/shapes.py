"""Shapes of scenes, and cards made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.cards import RANKS, Card
from .suits import COLOURS, SHAPES, Outline

CARD_WIDTH, CARD_HEIGHT = 92.0, 130.0

FELT, FELT_EDGE, FELT_LIGHT = "#1d5c45", "#123c2d", "#256b52"
INK, CREAM, FAINT = "#f3efe2", "#fdfcf7", "#a9c7b8"
_BACK, _BACK_LINE, GOLD = "#27406f", "#8fa6d1", "#f2c14e"


@dataclass(frozen=True)
class Box:
    """A rounded rectangle."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str | None
    line: str | None = None
    line_width: float = 1.0


@dataclass(frozen=True)
class Shape:
    """A filled polygon."""

    points: Outline
    fill: str


@dataclass(frozen=True)
class Text:
    """One line of text; `anchor` is `start`, `middle` or `end`, and y its middle."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: str = "start"
    bold: bool = False
    turned: bool = False
    """Upside down."""


Item = Box | Shape | Text


@dataclass(frozen=True)
class Scene:
    """Shapes from back to front, and a title."""

    width: int
    height: int
    items: tuple[Item, ...]
    title: str


def felt(width: int, height: int) -> list[Item]:
    """An empty table."""
    return [
        Box(0, 0, width, height, 0, FELT_EDGE),
        Box(10, 10, width - 20, height - 20, 26, FELT, FELT_LIGHT, 2),
    ]


# -- cards


def sorted_hand(cards: Sequence[Card], trump: int | None) -> list[Card]:
    """Trumps first, then black and red in turn, high to low."""
    order = {suit: place for place, suit in enumerate((3, 2, 0, 1))}
    if trump is not None:
        order[trump] = -1
    return sorted(cards, key=lambda card: (order[card.suit], -card.rank))


_LEFT, _CENTRE, _RIGHT = -0.19, 0.0, 0.19


def _pair(*heights: float) -> list[tuple[float, float]]:
    return [(column, height) for height in heights for column in (_LEFT, _RIGHT)]


_PIPS: dict[int, list[tuple[float, float]]] = {
    2: [(_CENTRE, -0.33), (_CENTRE, 0.33)],
    3: [(_CENTRE, -0.33), (_CENTRE, 0.0), (_CENTRE, 0.33)],
    4: _pair(-0.33, 0.33),
    5: [*_pair(-0.33, 0.33), (_CENTRE, 0.0)],
    6: _pair(-0.33, 0.0, 0.33),
    7: [*_pair(-0.33, 0.0, 0.33), (_CENTRE, -0.165)],
    8: [*_pair(-0.33, 0.0, 0.33), (_CENTRE, -0.165), (_CENTRE, 0.165)],
    9: [*_pair(-0.33, -0.11, 0.11, 0.33), (_CENTRE, 0.0)],
    10: [*_pair(-0.33, -0.11, 0.11, 0.33), (_CENTRE, -0.22), (_CENTRE, 0.22)],
}


def draw_suit(items: list[Item], suit: int, x: float, y: float, size: float, turned: bool) -> None:
    """Add the symbol of a suit, centred at `(x, y)`."""
    sign = -1 if turned else 1
    for outline in SHAPES[suit]:
        points = tuple((x + sign * size * px, y + sign * size * py) for px, py in outline)
        items.append(Shape(points, COLOURS[suit]))


def draw_card(items: list[Item], card: Card, x: float, y: float) -> None:
    """Add a card, face up, with its upper left corner at `(x, y)`."""
    colour = COLOURS[card.suit]
    items.append(Box(x, y, CARD_WIDTH, CARD_HEIGHT, 8, CREAM, "#55606b", 1))
    rank = "10" if RANKS[card.rank] == "T" else RANKS[card.rank]
    size = 19.0 if len(rank) == 1 else 16.0
    items.append(Text(x + 13, y + 16, rank, size, colour, "middle", bold=True))
    draw_suit(items, card.suit, x + 13, y + 35, 13, turned=False)
    far_x, far_y = x + CARD_WIDTH - 13, y + CARD_HEIGHT - 16
    items.append(Text(far_x, far_y, rank, size, colour, "middle", bold=True, turned=True))
    draw_suit(items, card.suit, x + CARD_WIDTH - 13, y + CARD_HEIGHT - 35, 13, turned=True)
    middle_x, middle_y = x + CARD_WIDTH / 2, y + CARD_HEIGHT / 2
    pips = card.rank + 2
    if pips in _PIPS:
        for px, py in _PIPS[pips]:
            at = middle_x + px * CARD_WIDTH, middle_y + py * CARD_HEIGHT
            draw_suit(items, card.suit, *at, 15, turned=py > 0.01)
    elif rank == "A":
        draw_suit(items, card.suit, middle_x, middle_y, 44, turned=False)
    else:
        inner = Box(x + 26, y + 18, CARD_WIDTH - 52, CARD_HEIGHT - 36, 4, "#f4ead2", colour, 1)
        items.append(inner)
        items.append(Text(middle_x, middle_y - 15, rank, 38, colour, "middle", bold=True))
        draw_suit(items, card.suit, middle_x, middle_y + 22, 26, turned=False)


def draw_back(items: list[Item], x: float, y: float) -> None:
    """Add a card, face down."""
    items.append(Box(x, y, CARD_WIDTH, CARD_HEIGHT, 8, _BACK, "#16233f", 1))
    inner = Box(x + 6, y + 6, CARD_WIDTH - 12, CARD_HEIGHT - 12, 5, None, _BACK_LINE, 1.5)
    items.append(inner)
    middle_x, middle_y = x + CARD_WIDTH / 2, y + CARD_HEIGHT / 2
    for size, colour in ((30.0, _BACK_LINE), (24.0, _BACK)):
        corners = ((0, -size), (size * 0.7, 0), (0, size), (-size * 0.7, 0))
        items.append(Shape(tuple((middle_x + a, middle_y + b) for a, b in corners), colour))


def draw_row(
    items: list[Item], cards: Sequence[Card], hidden: int, left: float, right: float, y: float
) -> None:
    """Add a hand in a row; hidden cards lie face down on the right."""
    count = len(cards) + hidden
    if count == 0:
        return
    step = min(CARD_WIDTH + 8, (right - left - CARD_WIDTH) / max(count - 1, 1))
    x = (left + right) / 2 - (step * (count - 1) + CARD_WIDTH) / 2
    for place in range(count):
        if place < len(cards):
            draw_card(items, cards[place], x + place * step, y)
        else:
            draw_back(items, x + place * step, y)
