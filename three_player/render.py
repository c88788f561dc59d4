"""A picture of the table of three: its seat below, the others clockwise, the dummy as the fourth.

It is made from a `ThreeView`, so it shows what that seat may know; `open` pictures get the
other hands on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..engine.cards import CARDS, SUIT_NAMES, SUIT_SYMBOLS, Card, cards_of
from ..envs.render.shapes import (
    CARD_HEIGHT,
    CARD_WIDTH,
    CREAM,
    FAINT,
    FELT_EDGE,
    FELT_LIGHT,
    GOLD,
    INK,
    Box,
    Item,
    Scene,
    Text,
    draw_back,
    draw_card,
    draw_row,
    draw_suit,
    felt,
    sorted_hand,
)
from ..envs.render.text import shown_cards
from .game import DRAW_TRICKS, DUMMY, HAND, PLAYERS, ThreeView

_WIDTH, _HEIGHT = 1100, 720
_MARGIN = 34.0
_STEP = 48.0
_COLUMN = 176.0
_MIDDLE = _HEIGHT / 2 - CARD_HEIGHT / 2

Hands = tuple[list[Card], ...]
"""The cards of every seat, the dummy's last."""


class _Seat(NamedTuple):
    """A seat as the picture shows it."""

    name: str
    cards: list[Card]
    hidden: int
    tricks: int
    to_play: bool
    notes: tuple[str, ...]

    @property
    def told(self) -> str:
        tricks = f"{self.tricks} trick" + ("" if self.tricks == 1 else "s")
        return ", ".join([tricks, *self.notes])


def _place(view: ThreeView, seat: int) -> int:
    """A seat of the table as the view counts them."""
    return DUMMY if seat == DUMMY else (seat - view.seat) % PLAYERS


def _seats(view: ThreeView, hands: Hands | None) -> list[_Seat]:
    """The four seats, in the order of the table."""
    known = (view.hand, *view.known, view.dummy)
    found: list[_Seat] = []
    for seat in range(4):
        who = _place(view, seat)
        cards = cards_of(known[who]) if hands is None else hands[seat]
        held = len(cards) if seat == DUMMY else view.cards_held(who)
        notes: list[str] = []
        if who == view.dealer:
            notes.append("dealer")
        if who == view.declarer:
            notes.append("plays the dummy")
        found.append(
            _Seat(
                "dummy" if seat == DUMMY else f"player_{seat}",
                sorted_hand(cards, view.trump),
                held - len(cards),
                view.counted[who],
                view.turn == who,
                tuple(notes),
            )
        )
    return found


def _trick(view: ThreeView) -> list[tuple[int, Card]]:
    """Whose cards lie in the middle, in the order played: of this trick, or of the last one."""
    if view.led is None and view.tricks:
        last = view.tricks[-1]
        seats = len(last.cards)
        return [((last.leader + at) % seats, CARDS[card]) for at, card in enumerate(last.cards)]
    seats = PLAYERS if view.declarer is None else PLAYERS + 1
    leader = DUMMY if view.leader == DUMMY else (view.leader + view.seat) % PLAYERS
    order = [(leader + at) % seats for at in range(seats)]
    lying = [(seat, view.trick[_place(view, seat)]) for seat in order]
    return [(seat, CARDS[held.bit_length() - 1]) for seat, held in lying if held]


def _stage(view: ThreeView) -> str:
    if view.over:
        return "the hand is over"
    if view.draws_left:
        return f"foreplay {len(view.tricks) + 1} of {DRAW_TRICKS}"
    return f"endgame {len(view.tricks) - DRAW_TRICKS + 1} of {HAND}"


def _pays(view: ThreeView) -> str:
    """How the hand ended, in words."""
    mine, left, right, _ = view.counted
    together = mine + left + right
    paid = [
        f"player_{seat} {PLAYERS * view.counted[_place(view, seat)] - together:+d}"
        for seat in range(PLAYERS)
    ]
    return ", ".join(paid)


# -- as shapes


def scene_of_three(view: ThreeView, hands: Hands | None = None) -> Scene:
    """The table as one seat sees it; with `hands` all cards in them lie open."""
    seats = _seats(view, hands)
    items = felt(_WIDTH, _HEIGHT)
    below, left, top, right = (seats[(view.seat + at) % 4] for at in range(4))
    _row(items, top, 46.0, 29.0)
    _row(items, below, _HEIGHT - CARD_HEIGHT - 46.0, _HEIGHT - 28.0)
    _column(items, left, _MARGIN, _MARGIN, "start")
    _column(items, right, _WIDTH - _MARGIN - CARD_WIDTH, _WIDTH - _MARGIN, "end")
    _stock(items, view)
    _middle(items, view, seats)
    _trumps(items, view)
    if view.over:
        items.append(Text(_WIDTH / 2, _HEIGHT - 70, _pays(view), 22, GOLD, "middle", True))
    trumps = f"{SUIT_NAMES[view.trump]} are trumps"
    tricks = ", ".join(f"{each.name} {each.tricks}" for each in seats)
    return Scene(
        _WIDTH, _HEIGHT, tuple(items), f"German Whist for three, {trumps}, tricks {tricks}"
    )


def _row(items: list[Item], seat: _Seat, y: float, told: float) -> None:
    draw_row(items, seat.cards, seat.hidden, 170.0, _WIDTH - 170.0, y)
    colour = GOLD if seat.to_play else INK
    items.append(Text(_WIDTH / 2 - 8, told, seat.name, 19, colour, "end", bold=True))
    items.append(Text(_WIDTH / 2 + 8, told, seat.told, 16, FAINT))


def _column(items: list[Item], seat: _Seat, x: float, edge: float, anchor: str) -> None:
    colour = GOLD if seat.to_play else INK
    items.append(Text(edge, _COLUMN - 66, seat.name, 19, colour, anchor, bold=True))
    tricks, *notes = seat.told.split(", ")
    items.append(Text(edge, _COLUMN - 42, tricks, 16, FAINT, anchor))
    items.append(Text(edge, _COLUMN - 20, ", ".join(notes), 16, FAINT, anchor))
    for place in range(len(seat.cards) + seat.hidden):
        if place < len(seat.cards):
            draw_card(items, seat.cards[place], x, _COLUMN + _STEP * place)
        else:
            draw_back(items, x, _COLUMN + _STEP * place)


def _stock(items: list[Item], view: ThreeView) -> None:
    x, y = 180.0, _MIDDLE
    if view.declarer is not None:
        items.append(Box(x, y, CARD_WIDTH, CARD_HEIGHT, 8, None, FELT_LIGHT, 2))
        items.append(Text(x + CARD_WIDTH / 2, _HEIGHT / 2, "no stock", 16, FAINT, "middle"))
        return
    for layer in range(view.draws_left // 2 + 1):
        draw_back(items, x - 2.5 * layer, y - 2.5 * layer)
    draw_card(items, cards_of(view.upcard)[0], x + CARD_WIDTH + 12, y)
    left = PLAYERS * view.draws_left + HAND
    for at, label in ((x, f"stock {left}"), (x + CARD_WIDTH + 12, "upcard")):
        under = y + CARD_HEIGHT + 16
        items.append(Text(at + CARD_WIDTH / 2, under, label, 16, FAINT, "middle"))


def _middle(items: list[Item], view: ThreeView, seats: Sequence[_Seat]) -> None:
    trick, x = _trick(view), 402.0
    if not trick:
        return
    heading = "last trick" if view.led is None else "this trick"
    middle = x + (len(trick) * (CARD_WIDTH + 12) - 12) / 2
    items.append(Text(middle, _MIDDLE - 18, heading, 16, FAINT, "middle"))
    for place, (seat, card) in enumerate(trick):
        at = x + (CARD_WIDTH + 12) * place
        draw_card(items, card, at, _MIDDLE)
        under = at + CARD_WIDTH / 2, _MIDDLE + CARD_HEIGHT + 16
        items.append(Text(*under, seats[seat].name, 16, FAINT, "middle"))


def _trumps(items: list[Item], view: ThreeView) -> None:
    x, y = 893.0, _MIDDLE
    items.append(Box(x - 65, y - 12, 130, CARD_HEIGHT + 24, 14, FELT_EDGE))
    items.append(Text(x, y + 8, "trumps", 16, FAINT, "middle"))
    items.append(Box(x - 30, y + 26, 60, 60, 12, CREAM))
    draw_suit(items, view.trump, x, y + 56, 44, turned=False)
    items.append(Text(x, y + 112, _stage(view), 15, INK, "middle"))


# -- as text


def text_of_three(view: ThreeView, hands: Hands | None = None) -> str:
    """The same as a few lines of text, the seats in the order of the table."""
    seats = _seats(view, hands)
    lines = [f"{_stage(view)}, trumps {SUIT_NAMES[view.trump]} {SUIT_SYMBOLS[view.trump]}"]
    for seat in seats:
        cards = shown_cards(seat.cards) + " ??" * seat.hidden
        notes = f"  ({', '.join(seat.notes)})" if seat.notes else ""
        mark = ">" if seat.to_play else " "
        lines.append(f"{mark} {seat.name:<9} [{seat.tricks}]  {cards}{notes}".rstrip())
    parts = [f"faced {each.symbol}" for each in cards_of(view.upcard)]
    if trick := _trick(view):
        heading = "last trick " if view.led is None else "trick "
        parts.append(heading + ", ".join(f"{seats[at].name} {card.symbol}" for at, card in trick))
    return "\n".join([*lines, "   ".join(parts), *([_pays(view)] if view.over else [])]) + "\n"
