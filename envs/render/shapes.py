"""Shapes of scenes, and what tables are made of: cards, hands, the stock, a trick, trumps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...engine.cards import RANKS, Card
from .suits import COLORS, SHAPES, Outline, Point

CARD_WIDTH, CARD_HEIGHT = 92.0, 130.0

TABLE, TABLE_EDGE, TABLE_LIGHT = "#1d5c45", "#123c2d", "#256b52"
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
    size: float = 16
    fill: str = FAINT
    anchor: str = "middle"
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


def table_background(width: int, height: int) -> list[Item]:
    """An empty table."""
    edge = Box(0, 0, width, height, radius=0, fill=TABLE_EDGE)
    return [
        edge,
        Box(10, 10, width - 20, height - 20, radius=26, fill=TABLE, line=TABLE_LIGHT, line_width=2),
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


def draw_suit(
    items: list[Item], suit: int, x: float, y: float, size: float, *, turned: bool = False
) -> None:
    """Add the symbol of a suit, centered at `(x, y)`."""
    sign = -1 if turned else 1
    for outline in SHAPES[suit]:
        points = tuple((x + sign * size * px, y + sign * size * py) for px, py in outline)
        items.append(Shape(points, COLORS[suit]))


def _card_box(x: float, y: float, fill: str | None, line: str, line_width: float = 1) -> Box:
    return Box(x, y, CARD_WIDTH, CARD_HEIGHT, radius=8, fill=fill, line=line, line_width=line_width)


def draw_card(items: list[Item], card: Card, x: float, y: float) -> None:
    """Add a card, face up, with its upper left corner at `(x, y)`."""
    color = COLORS[card.suit]
    items.append(_card_box(x, y, CREAM, "#55606b"))
    rank = "10" if RANKS[card.rank] == "T" else RANKS[card.rank]
    size = 19.0 if len(rank) == 1 else 16.0
    items.append(Text(x + 13, y + 16, rank, size, color, bold=True))
    draw_suit(items, card.suit, x + 13, y + 35, 13)
    far_x, far_y = x + CARD_WIDTH - 13, y + CARD_HEIGHT - 16
    items.append(Text(far_x, far_y, rank, size, color, bold=True, turned=True))
    draw_suit(items, card.suit, x + CARD_WIDTH - 13, y + CARD_HEIGHT - 35, 13, turned=True)
    middle_x, middle_y = x + CARD_WIDTH / 2, y + CARD_HEIGHT / 2
    pips = card.rank + 2
    if pips in _PIPS:
        for px, py in _PIPS[pips]:
            at = middle_x + px * CARD_WIDTH, middle_y + py * CARD_HEIGHT
            draw_suit(items, card.suit, *at, 15, turned=py > 0.01)
    elif rank == "A":
        draw_suit(items, card.suit, middle_x, middle_y, 44)
    else:
        size = CARD_WIDTH - 52, CARD_HEIGHT - 36
        items.append(Box(x + 26, y + 18, *size, radius=4, fill="#f4ead2", line=color))
        items.append(Text(middle_x, middle_y - 15, rank, 38, color, bold=True))
        draw_suit(items, card.suit, middle_x, middle_y + 22, 26)


def draw_back(items: list[Item], x: float, y: float) -> None:
    """Add a card, face down."""
    items.append(_card_box(x, y, _BACK, "#16233f"))
    inner = CARD_WIDTH - 12, CARD_HEIGHT - 12
    items.append(Box(x + 6, y + 6, *inner, radius=5, fill=None, line=_BACK_LINE, line_width=1.5))
    middle_x, middle_y = x + CARD_WIDTH / 2, y + CARD_HEIGHT / 2
    for size, color in ((30.0, _BACK_LINE), (24.0, _BACK)):
        corners = ((0, -size), (size * 0.7, 0), (0, size), (-size * 0.7, 0))
        items.append(Shape(tuple((middle_x + a, middle_y + b) for a, b in corners), color))


# -- what lies on a table


def draw_hand(items: list[Item], cards: Sequence[Card], corners: Iterable[Point]) -> None:
    """Add a card at each of these corners; those after the last of `cards` lie face down."""
    for place, corner in enumerate(corners):
        if place < len(cards):
            draw_card(items, cards[place], *corner)
        else:
            draw_back(items, *corner)


def row_corners(count: int, left: float, right: float, y: float) -> list[Point]:
    """Corners of cards in a row between two edges."""
    step = min(CARD_WIDTH + 8, (right - left - CARD_WIDTH) / max(count - 1, 1))
    x = (left + right) / 2 - (step * (count - 1) + CARD_WIDTH) / 2
    return [(x + place * step, y) for place in range(count)]


def under_card(x: float, y: float, text: str, size: float = 16) -> Text:
    """Text under the middle of a card at `(x, y)`."""
    return Text(x + CARD_WIDTH / 2, y + CARD_HEIGHT + 16, text, size)


def draw_pile(items: list[Item], x: float, y: float, layers: int) -> None:
    """Add a pile of cards, face down; without layers the place where it lay."""
    if layers == 0:
        items.append(_card_box(x, y, None, TABLE_LIGHT, 2))
    for layer in range(layers):
        draw_back(items, x - 2.5 * layer, y - 2.5 * layer)


def draw_stock(items: list[Item], left: int, upcards: Sequence[Card], x: float, y: float) -> None:
    """Add a stock of `left` cards, those face up beside it."""
    if left == 0:
        draw_pile(items, x, y, 0)
        items.append(Text(x + CARD_WIDTH / 2, y + CARD_HEIGHT / 2, "no stock"))
        return
    face_down, step = left - len(upcards), CARD_WIDTH + 12
    first = x + step * (face_down > 0)
    if face_down:
        draw_pile(items, x, y, min(4, (face_down + 5) // 6))
    for place, card in enumerate(upcards):
        draw_card(items, card, first + step * place, y)
    items.append(under_card(x, y, f"stock {left}"))
    if upcards:
        label = "upcard" if len(upcards) == 1 else "upcards"
        items.append(Text(first + step * len(upcards) / 2 - 6, y + CARD_HEIGHT + 16, label))


def draw_trick(
    items: list[Item],
    places: Sequence[tuple[Card, str] | None],
    heading: str,
    gap: float,
    at: Point,
) -> None:
    """Add the cards of a trick in a row from `at` on, each above a line of text."""
    x, y = at
    for place, played in enumerate(places):
        if played is not None:
            card, text = played
            corner = x + (CARD_WIDTH + gap) * place, y
            draw_card(items, card, *corner)
            items.append(under_card(*corner, text, 15))
    width = len(places) * (CARD_WIDTH + gap) - gap
    items.append(Text(x + width / 2, y - 16, heading, 15))


def draw_trumps(items: list[Item], trump: int | None, width: float, x: float, y: float) -> None:
    """Add a panel that shows trumps, its middle at `x`."""
    items.append(Box(x - width / 2, y - 12, width, CARD_HEIGHT + 24, radius=14, fill=TABLE_EDGE))
    items.append(Text(x, y + 8, "no trumps" if trump is None else "trumps"))
    if trump is not None:
        items.append(Box(x - 30, y + 22, 60, 60, radius=12, fill=CREAM))
        draw_suit(items, trump, x, y + 52, 44)


def tricks_text(count: int) -> str:
    return f"{count} trick" + ("" if count == 1 else "s")
