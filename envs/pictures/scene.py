"""A picture of the table: what lies where, as shapes that SVG and raster both draw.

The picture is made from a `View`, so it shows what that seat may know; `open`
pictures get the other hand on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.cards import RANKS, SUIT_NAMES, Card
from ...engine.play import pay_for, row
from ...engine.view import View
from .suits import COLOURS, SHAPES, Outline

WIDTH, HEIGHT = 1000, 640
CARD_WIDTH, CARD_HEIGHT = 92.0, 130.0
_MARGIN = 34.0
_TOP, _BOTTOM = 46.0, HEIGHT - CARD_HEIGHT - 46.0
_MIDDLE = HEIGHT / 2 - CARD_HEIGHT / 2

_FELT, _FELT_EDGE, _FELT_LIGHT = "#1d5c45", "#123c2d", "#256b52"
_INK, _CREAM, _FAINT = "#f3efe2", "#fdfcf7", "#a9c7b8"
_BACK, _BACK_LINE, _GOLD = "#27406f", "#8fa6d1", "#f2c14e"


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
    """A picture: its shapes from the back to the front, and what it shows in words."""

    width: int
    height: int
    items: tuple[Item, ...]
    title: str


def scene_of(
    view: View,
    *,
    other_hand: Sequence[Card] | None = None,
    names: tuple[str, str] = ("you", "opponent"),
) -> Scene:
    """The table as one seat sees it, that seat below; with `other_hand` the other's cards too."""
    items: list[Item] = [
        Box(0, 0, WIDTH, HEIGHT, 0, _FELT_EDGE),
        Box(10, 10, WIDTH - 20, HEIGHT - 20, 26, _FELT, _FELT_LIGHT, 2),
    ]
    known = known_hand(view) if other_hand is None else other_hand
    hidden = view.other_cards - len(known)
    _hand(items, _TOP, sorted_hand(known, view), hidden)
    _hand(items, _BOTTOM, sorted_hand(view.hand, view), 0)
    _stock(items, view)
    _trick(items, view, names)
    _side(items, view)
    _captions(items, view, names)
    return Scene(WIDTH, HEIGHT, tuple(items), _title(view, names))


def known_hand(view: View) -> list[Card]:
    """The cards of the other hand that the seat can know: all of them in an open endgame."""
    if view.stock_left == 0 and view.rules.open_endgame:
        return [*view.known, *view.unseen]
    return view.known


def sorted_hand(cards: Sequence[Card], view: View) -> list[Card]:
    """Trumps first, then black and red in turn, high to low."""
    order = {suit: place for place, suit in enumerate((3, 2, 0, 1))}
    if view.trump is not None:
        order[view.trump] = -1
    return sorted(cards, key=lambda card: (order[card.suit], -card.rank))


# -- cards

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


def _suit(items: list[Item], suit: int, x: float, y: float, size: float, turned: bool) -> None:
    sign = -1 if turned else 1
    for outline in SHAPES[suit]:
        points = tuple((x + sign * size * px, y + sign * size * py) for px, py in outline)
        items.append(Shape(points, COLOURS[suit]))


def _card(items: list[Item], card: Card, x: float, y: float) -> None:
    colour = COLOURS[card.suit]
    items.append(Box(x, y, CARD_WIDTH, CARD_HEIGHT, 8, _CREAM, "#55606b", 1))
    rank = "10" if RANKS[card.rank] == "T" else RANKS[card.rank]
    size = 19.0 if len(rank) == 1 else 16.0
    items.append(Text(x + 13, y + 16, rank, size, colour, "middle", bold=True))
    _suit(items, card.suit, x + 13, y + 35, 13, turned=False)
    far_x, far_y = x + CARD_WIDTH - 13, y + CARD_HEIGHT - 16
    items.append(Text(far_x, far_y, rank, size, colour, "middle", bold=True, turned=True))
    _suit(items, card.suit, x + CARD_WIDTH - 13, y + CARD_HEIGHT - 35, 13, turned=True)
    middle_x, middle_y = x + CARD_WIDTH / 2, y + CARD_HEIGHT / 2
    pips = card.rank + 2
    if pips in _PIPS:
        for px, py in _PIPS[pips]:
            _suit(
                items,
                card.suit,
                middle_x + px * CARD_WIDTH,
                middle_y + py * CARD_HEIGHT,
                15,
                turned=py > 0.01,
            )
    elif rank == "A":
        _suit(items, card.suit, middle_x, middle_y, 44, turned=False)
    else:
        inner = Box(x + 26, y + 18, CARD_WIDTH - 52, CARD_HEIGHT - 36, 4, "#f4ead2", colour, 1)
        items.append(inner)
        items.append(Text(middle_x, middle_y - 15, rank, 38, colour, "middle", bold=True))
        _suit(items, card.suit, middle_x, middle_y + 22, 26, turned=False)


def _back(items: list[Item], x: float, y: float) -> None:
    items.append(Box(x, y, CARD_WIDTH, CARD_HEIGHT, 8, _BACK, "#16233f", 1))
    inner = Box(x + 6, y + 6, CARD_WIDTH - 12, CARD_HEIGHT - 12, 5, None, _BACK_LINE, 1.5)
    items.append(inner)
    middle_x, middle_y = x + CARD_WIDTH / 2, y + CARD_HEIGHT / 2
    for size, colour in ((30.0, _BACK_LINE), (24.0, _BACK)):
        corners = ((0, -size), (size * 0.7, 0), (0, size), (-size * 0.7, 0))
        items.append(Shape(tuple((middle_x + a, middle_y + b) for a, b in corners), colour))


def _hand(items: list[Item], y: float, cards: Sequence[Card], hidden: int) -> None:
    """A hand in a row, as wide as it fits; cards not known lie face down to the right."""
    count = len(cards) + hidden
    if count == 0:
        return
    room = WIDTH - 2 * _MARGIN - CARD_WIDTH
    step = min(CARD_WIDTH + 8, room / max(count - 1, 1))
    x = WIDTH / 2 - (step * (count - 1) + CARD_WIDTH) / 2
    for place in range(count):
        if place < len(cards):
            _card(items, cards[place], x + place * step, y)
        else:
            _back(items, x + place * step, y)


# -- the middle


def _stock(items: list[Item], view: View) -> None:
    x, y = 70.0, _MIDDLE
    faced = view.upcards
    down = view.stock_left - len(faced)
    if view.stock_left == 0:
        items.append(Box(x, y, CARD_WIDTH, CARD_HEIGHT, 8, None, _FELT_LIGHT, 2))
        items.append(Text(x + CARD_WIDTH / 2, _MIDDLE + 65, "no stock", 16, _FAINT, "middle"))
        return
    for layer in range(min(4, (down + 5) // 6)):
        _back(items, x - 2.5 * layer, y - 2.5 * layer)
    for place, card in enumerate(faced):
        _card(items, card, x + (CARD_WIDTH + 12) * (place + (down > 0)), y)
    label = f"stock {view.stock_left}"
    items.append(Text(x + CARD_WIDTH / 2, y + CARD_HEIGHT + 16, label, 16, _FAINT, "middle"))
    if faced:
        at = x + (CARD_WIDTH + 12) * (down > 0) + (CARD_WIDTH + 12) * len(faced) / 2 - 6
        label = "upcard" if len(faced) == 1 else "upcards"
        items.append(Text(at, y + CARD_HEIGHT + 16, label, 16, _FAINT, "middle"))


def _trick(items: list[Item], view: View, names: tuple[str, str]) -> None:
    """The cards of the trick under way, or of the last one."""
    tricks = list(view.tricks())
    if not tricks:
        return
    trick = tricks[-1]
    played = {trick.i_led: trick.led}
    if trick.followed is not None:
        played[not trick.i_led] = trick.followed
    under_way = trick.followed is None or view.phase == "choose"
    x = 470.0
    for mine, card in sorted(played.items()):
        at = x + (CARD_WIDTH + 34) * mine
        _card(items, card, at, _MIDDLE)
        led = mine == trick.i_led
        verb = "led" if led else "played"
        label = f"{names[0] if mine else names[1]} {verb}"
        items.append(
            Text(at + CARD_WIDTH / 2, _MIDDLE + CARD_HEIGHT + 16, label, 15, _FAINT, "middle")
        )
    heading = "this trick" if under_way else "last trick"
    middle = x + CARD_WIDTH + 17
    items.append(Text(middle, _MIDDLE - 16, heading, 15, _FAINT, "middle"))


def _side(items: list[Item], view: View) -> None:
    """Trumps, the stage, and the contract where there is a choice of them."""
    x, y = 880.0, _MIDDLE
    items.append(Box(x - 82, y - 12, 164, CARD_HEIGHT + 24, 14, _FELT_EDGE))
    items.append(
        Text(x, y + 8, "trumps" if view.trump is not None else "no trumps", 16, _FAINT, "middle")
    )
    if view.trump is not None:
        items.append(Box(x - 30, y + 22, 60, 60, 12, _CREAM))
        _suit(items, view.trump, x, y + 52, 44, turned=False)
    rules = view.rules
    if view.stock_left:
        stage = f"foreplay {view.trick + 1} of {rules.foreplay_tricks}"
    else:
        number = min(view.trick - rules.foreplay_tricks + 1, rules.hand)
        stage = f"endgame {number} of {rules.hand}"
    items.append(Text(x, y + 100, stage, 16, _INK, "middle"))
    goal = "play low" if view.low else "play high"
    if rules.race is not None:
        goal = f"first to {rules.race}"
    items.append(Text(x, y + 122, f"{rules.name}: {goal}", 13, _FAINT, "middle"))


# -- words


def _captions(items: list[Item], view: View, names: tuple[str, str]) -> None:
    lines = ((_HEIGHT_OF_OTHER, False), (_HEIGHT_OF_MINE, True))
    for y, mine in lines:
        at = 0 if mine else 1
        name = names[at]
        if view.i_deal == mine:
            name += " (dealer)"
        to_move = view.to_move if mine else view.phase != "over" and not view.to_move
        if to_move:
            corners = ((0, -8), (12, 0), (0, 8))
            items.append(Shape(tuple((_MARGIN + a, y + b) for a, b in corners), _GOLD))
        items.append(Text(_MARGIN + 20, y, name, 19, _GOLD if to_move else _INK, bold=True))
        if to_move:
            doing = {"lead": "to lead", "follow": "to follow", "choose": "to choose a card"}
            items.append(Text(WIDTH / 2, y, doing[view.phase], 17, _GOLD, "middle"))
        items.append(Text(WIDTH - _MARGIN, y, _score(view, at), 19, _INK, "end", bold=True))
    if view.phase == "over":
        items.append(
            Text(WIDTH / 2, HEIGHT - 30, result_text(view, names), 20, _GOLD, "middle", True)
        )


_HEIGHT_OF_OTHER, _HEIGHT_OF_MINE = 29.0, HEIGHT - 28.0


def _score(view: View, at: int) -> str:
    tricks = view.counting_tricks[at]
    score = f"{tricks} trick" + ("" if tricks == 1 else "s")
    if any(view.points):
        score += f", {view.points[at]} points"
    return score


def result_text(view: View, names: tuple[str, str]) -> str:
    """How a hand that is over ended, in words."""
    mine, others = view.counting_tricks
    rules = view.rules.record()
    paid = pay_for(row(rules, 0), int(view.low), mine, others)
    if paid == 0:
        return f"{mine} to {others}: nobody is paid"
    winner = names[0] if paid > 0 else names[1]
    return f"{mine} to {others}: {abs(paid)} for {winner}"


def _title(view: View, names: tuple[str, str]) -> str:
    trumps = "no trumps" if view.trump is None else f"{SUIT_NAMES[view.trump]} are trumps"
    mine, others = view.counting_tricks
    return f"German Whist, {trumps}, tricks {names[0]} {mine}, {names[1]} {others}"
