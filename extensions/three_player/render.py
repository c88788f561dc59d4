"""Picture of the three-player game: the view's seat below, the others clockwise, the dummy fourth.

It is drawn from a `ThreeView`, so it shows what that seat may know; `open` pictures also show the
other hands.
"""

from __future__ import annotations

from typing import NamedTuple

from german_whist.engine.cards import CARDS, SUIT_NAMES, SUIT_SYMBOLS, Card, cards_of
from german_whist.envs.render.shapes import (
    CARD_HEIGHT,
    CARD_WIDTH,
    GOLD,
    INK,
    Item,
    Scene,
    Text,
    draw_hand,
    draw_stock,
    draw_trick,
    draw_trumps,
    row_corners,
    sorted_hand,
    table_background,
    tricks_text,
)

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
        return ", ".join([tricks_text(self.tricks), *self.notes])


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
                name="dummy" if seat == DUMMY else f"player_{seat}",
                cards=sorted_hand(cards, view.trump),
                hidden=hand_size - len(cards),
                tricks=view.tricks_won[place],
                to_play=view.turn == place,
                notes=tuple(notes),
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


def _payoffs(view: ThreeView) -> str:
    own, left, right, _ = view.tricks_won
    together = own + left + right
    texts = [
        f"player_{seat} {PLAYERS * view.tricks_won[relative_seat(view.seat, seat)] - together:+d}"
        for seat in range(PLAYERS)
    ]
    return ", ".join(texts)


# -- shapes


def scene_of_three(view: ThreeView, hands: Hands | None = None) -> Scene:
    """Picture from one seat; with `hands` all their cards lie open."""
    seats = _seats(view, hands)
    items = table_background(_WIDTH, _HEIGHT)
    below, left, top, right = (seats[(view.seat + offset) % 4] for offset in range(4))
    _row(items, top, 46.0, 29.0)
    _row(items, below, _HEIGHT - CARD_HEIGHT - 46.0, _HEIGHT - 28.0)
    _column(items, left, _MARGIN, _MARGIN, "start")
    _column(items, right, _WIDTH - _MARGIN - CARD_WIDTH, _WIDTH - _MARGIN, "end")
    stock = PLAYERS * view.draws_left + HAND if view.declarer is None else 0
    draw_stock(items, stock, cards_of(view.upcard), 180.0, _MIDDLE)
    if trick := _trick(view):
        heading = "last trick" if view.led is None else "this trick"
        cards = [(card, seats[seat].name) for seat, card in trick]
        draw_trick(items, cards, heading, 12, (402.0, _MIDDLE))
    draw_trumps(items, view.trump, 130, 893.0, _MIDDLE)
    items.append(Text(893.0, _MIDDLE + 100, _stage(view), 15, INK))
    if view.over:
        items.append(Text(_WIDTH / 2, _HEIGHT - 70, _payoffs(view), 22, GOLD, bold=True))
    trumps = f"{SUIT_NAMES[view.trump]} are trumps"
    tricks = ", ".join(f"{seat.name} {seat.tricks}" for seat in seats)
    title = f"German Whist for three, {trumps}, tricks {tricks}"
    return Scene(_WIDTH, _HEIGHT, tuple(items), title)


def _row(items: list[Item], seat: _Seat, y: float, text_y: float) -> None:
    count = len(seat.cards) + seat.hidden
    draw_hand(items, seat.cards, row_corners(count, 170.0, _WIDTH - 170.0, y))
    items.append(_name(seat, _WIDTH / 2 - 8, text_y, "end"))
    items.append(Text(_WIDTH / 2 + 8, text_y, seat.summary, anchor="start"))


def _column(items: list[Item], seat: _Seat, x: float, edge: float, anchor: str) -> None:
    items.append(_name(seat, edge, _COLUMN - 66, anchor))
    tricks, *notes = seat.summary.split(", ")
    items.append(Text(edge, _COLUMN - 42, tricks, anchor=anchor))
    items.append(Text(edge, _COLUMN - 20, ", ".join(notes), anchor=anchor))
    count = len(seat.cards) + seat.hidden
    draw_hand(items, seat.cards, [(x, _COLUMN + _STEP * place) for place in range(count)])


def _name(seat: _Seat, x: float, y: float, anchor: str) -> Text:
    return Text(x, y, seat.name, 19, GOLD if seat.to_play else INK, anchor=anchor, bold=True)


# -- text


def text_of_three(view: ThreeView, hands: Hands | None = None) -> str:
    """The same picture as lines of text, the seats in absolute order."""
    seats = _seats(view, hands)
    lines = [f"{_stage(view)}, trumps {SUIT_NAMES[view.trump]} {SUIT_SYMBOLS[view.trump]}"]
    for seat in seats:
        cards = " ".join(f"{card.symbol:>3}" for card in seat.cards) + " ??" * seat.hidden
        notes = f"  ({', '.join(seat.notes)})" if seat.notes else ""
        mark = ">" if seat.to_play else " "
        lines.append(f"{mark} {seat.name:<9} [{seat.tricks}]  {cards}{notes}".rstrip())
    parts = [f"faced {card.symbol}" for card in cards_of(view.upcard)]
    if trick := _trick(view):
        heading = "last trick " if view.led is None else "trick "
        parts.append(
            heading + ", ".join(f"{seats[seat].name} {card.symbol}" for seat, card in trick)
        )
    return "\n".join([*lines, "   ".join(parts), *([_payoffs(view)] if view.over else [])]) + "\n"
