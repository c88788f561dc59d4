"""Picture of the three-player game: the view's seat below, the others clockwise, the dummy fourth.

It is drawn from a `ThreeView`, so it shows what that seat may know; `open` pictures also show the
other hands.
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
from .game import DRAW_TRICKS, DUMMY, HAND, PLAYERS, ThreeView, relative_seat

_WIDTH, _HEIGHT = 1100, 720
_MARGIN = 34.0
_STEP = 48.0
_COLUMN = 176.0
_MIDDLE = _HEIGHT / 2 - CARD_HEIGHT / 2

Hands = tuple[list[Card], ...]


class _Seat(NamedTuple):
    name: str
    cards: list[Card]
    hidden: int
    tricks: int
    to_play: bool
    notes: tuple[str, ...]

    @property
    def summary(self) -> str:
        tricks = f"{self.tricks} trick" + ("" if self.tricks == 1 else "s")
        return ", ".join([tricks, *self.notes])


def _seats(view: ThreeView, hands: Hands | None) -> list[_Seat]:
    known = (view.hand, *view.known, view.dummy)
    seats: list[_Seat] = []
    for seat in range(4):
        place = relative_seat(view.seat, seat)
        cards = cards_of(known[place]) if hands is None else hands[seat]
        hand_size = len(cards) if seat == DUMMY else view.hand_size(place)
        notes: list[str] = []
        if place == view.dealer:
            notes.append("dealer")
        if place == view.declarer:
            notes.append("plays the dummy")
        seats.append(
            _Seat(
                "dummy" if seat == DUMMY else f"player_{seat}",
                sorted_hand(cards, view.trump),
                hand_size - len(cards),
                view.tricks_won[place],
                view.turn == place,
                tuple(notes),
            )
        )
    return seats


def _trick(view: ThreeView) -> list[tuple[int, Card]]:
    if view.led is None and view.tricks:
        last = view.tricks[-1]
        seats = len(last.cards)
        return [
            ((last.leader + offset) % seats, CARDS[card]) for offset, card in enumerate(last.cards)
        ]
    seats = PLAYERS if view.declarer is None else PLAYERS + 1
    leader = DUMMY if view.leader == DUMMY else (view.leader + view.seat) % PLAYERS
    order = [(leader + offset) % seats for offset in range(seats)]
    lying = [(seat, view.trick[relative_seat(view.seat, seat)]) for seat in order]
    return [(seat, CARDS[card_set.bit_length() - 1]) for seat, card_set in lying if card_set]


def _stage(view: ThreeView) -> str:
    if view.over:
        return "the hand is over"
    if view.draws_left:
        return f"foreplay {len(view.tricks) + 1} of {DRAW_TRICKS}"
    return f"endgame {len(view.tricks) - DRAW_TRICKS + 1} of {HAND}"


def _pays(view: ThreeView) -> str:
    own, left, right, _ = view.tricks_won
    together = own + left + right
    paid = [
        f"player_{seat} {PLAYERS * view.tricks_won[relative_seat(view.seat, seat)] - together:+d}"
        for seat in range(PLAYERS)
    ]
    return ", ".join(paid)


# -- shapes


def scene_of_three(view: ThreeView, hands: Hands | None = None) -> Scene:
    """Picture from one seat; with `hands` all their cards lie open."""
    seats = _seats(view, hands)
    items = felt(_WIDTH, _HEIGHT)
    below, left, top, right = (seats[(view.seat + offset) % 4] for offset in range(4))
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
    tricks = ", ".join(f"{seat.name} {seat.tricks}" for seat in seats)
    return Scene(
        _WIDTH, _HEIGHT, tuple(items), f"German Whist for three, {trumps}, tricks {tricks}"
    )


def _row(items: list[Item], seat: _Seat, y: float, text_y: float) -> None:
    draw_row(items, seat.cards, seat.hidden, 170.0, _WIDTH - 170.0, y)
    colour = GOLD if seat.to_play else INK
    items.append(Text(_WIDTH / 2 - 8, text_y, seat.name, 19, colour, "end", bold=True))
    items.append(Text(_WIDTH / 2 + 8, text_y, seat.summary, 16, FAINT))


def _column(items: list[Item], seat: _Seat, x: float, edge: float, anchor: str) -> None:
    colour = GOLD if seat.to_play else INK
    items.append(Text(edge, _COLUMN - 66, seat.name, 19, colour, anchor, bold=True))
    tricks, *notes = seat.summary.split(", ")
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
    remaining = PLAYERS * view.draws_left + HAND
    for card_x, label in ((x, f"stock {remaining}"), (x + CARD_WIDTH + 12, "upcard")):
        under = y + CARD_HEIGHT + 16
        items.append(Text(card_x + CARD_WIDTH / 2, under, label, 16, FAINT, "middle"))


def _middle(items: list[Item], view: ThreeView, seats: Sequence[_Seat]) -> None:
    trick, x = _trick(view), 402.0
    if not trick:
        return
    heading = "last trick" if view.led is None else "this trick"
    middle = x + (len(trick) * (CARD_WIDTH + 12) - 12) / 2
    items.append(Text(middle, _MIDDLE - 18, heading, 16, FAINT, "middle"))
    for place, (seat, card) in enumerate(trick):
        card_x = x + (CARD_WIDTH + 12) * place
        draw_card(items, card, card_x, _MIDDLE)
        under = card_x + CARD_WIDTH / 2, _MIDDLE + CARD_HEIGHT + 16
        items.append(Text(*under, seats[seat].name, 16, FAINT, "middle"))


def _trumps(items: list[Item], view: ThreeView) -> None:
    x, y = 893.0, _MIDDLE
    items.append(Box(x - 65, y - 12, 130, CARD_HEIGHT + 24, 14, FELT_EDGE))
    items.append(Text(x, y + 8, "trumps", 16, FAINT, "middle"))
    items.append(Box(x - 30, y + 26, 60, 60, 12, CREAM))
    draw_suit(items, view.trump, x, y + 56, 44, turned=False)
    items.append(Text(x, y + 112, _stage(view), 15, INK, "middle"))


# -- text


def text_of_three(view: ThreeView, hands: Hands | None = None) -> str:
    """The same picture as lines of text, the seats in absolute order."""
    seats = _seats(view, hands)
    lines = [f"{_stage(view)}, trumps {SUIT_NAMES[view.trump]} {SUIT_SYMBOLS[view.trump]}"]
    for seat in seats:
        cards = shown_cards(seat.cards) + " ??" * seat.hidden
        notes = f"  ({', '.join(seat.notes)})" if seat.notes else ""
        mark = ">" if seat.to_play else " "
        lines.append(f"{mark} {seat.name:<9} [{seat.tricks}]  {cards}{notes}".rstrip())
    parts = [f"faced {card.symbol}" for card in cards_of(view.upcard)]
    if trick := _trick(view):
        heading = "last trick " if view.led is None else "trick "
        parts.append(
            heading + ", ".join(f"{seats[seat].name} {card.symbol}" for seat, card in trick)
        )
    return "\n".join([*lines, "   ".join(parts), *([_pays(view)] if view.over else [])]) + "\n"
