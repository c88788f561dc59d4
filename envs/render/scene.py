"""The table as a scene: shapes at their positions, drawn by SVG and raster renderers.

A scene is made from a `View`, so it shows only that seat's knowledge; open hands are added.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.cards import SUIT_NAMES, Card
from ...engine.play import payoff_of_tricks, row
from ...engine.view import View
from .shapes import (
    CARD_HEIGHT,
    CARD_WIDTH,
    GOLD,
    INK,
    Item,
    Scene,
    Shape,
    Text,
    draw_card,
    draw_hand,
    draw_pile,
    draw_stock,
    draw_trick,
    draw_trumps,
    row_corners,
    sorted_hand,
    table_background,
    tricks_text,
    under_card,
)

WIDTH, HEIGHT = 1000, 640
_MARGIN = 34.0
_TOP, _BOTTOM = 46.0, HEIGHT - CARD_HEIGHT - 46.0
_MIDDLE = HEIGHT / 2 - CARD_HEIGHT / 2
_STOCK = 70.0, _MIDDLE


def scene_of(
    view: View,
    *,
    other_hand: Sequence[Card] | None = None,
    names: tuple[str, str] = ("you", "opponent"),
) -> Scene:
    """The table from one seat, at the bottom; `other_hand` shows the opponent's cards."""
    items = table_background(WIDTH, HEIGHT)
    opponent_hand = view.known_opponent_cards if other_hand is None else other_hand
    for y, cards, count in (
        (_TOP, opponent_hand, max(view.opponent_hand_size, len(opponent_hand))),
        (_BOTTOM, view.hand, len(view.hand)),
    ):
        corners = row_corners(count, _MARGIN, WIDTH - _MARGIN, y)
        draw_hand(items, sorted_hand(cards, view.trump), corners)
    if view.rules.exchange:
        _exchange(items, view)
    else:
        draw_stock(items, view.stock_left, view.upcards, *_STOCK)
    _trick(items, view, names)
    _side(items, view)
    _captions(items, view, names)
    return Scene(WIDTH, HEIGHT, tuple(items), _title(view, names))


# -- stock, trick and side panel


def _exchange(items: list[Item], view: View) -> None:
    x, y = _STOCK
    draw_pile(items, x, y, 3 if view.phase == "exchange" else 0)
    items.append(under_card(x, y, "blind hands"))
    if view.turned is not None:
        at = x + CARD_WIDTH + 28
        draw_card(items, view.turned, at, y)
        items.append(under_card(at, y, "turned up"))


def _exchange_text(view: View, at: int) -> str:
    """A player's choice in the exchange: `kept`, `took a blind hand`, or empty before it."""
    took = view.exchanged[at]
    return "" if took is None else "took a blind hand" if took else "kept"


def _trick(items: list[Item], view: View, names: tuple[str, str]) -> None:
    tricks = list(view.tricks())
    if not tricks:
        return
    trick = tricks[-1]
    played = {trick.i_led: trick.led}
    if trick.followed is not None:
        played[not trick.i_led] = trick.followed
    under_way = trick.followed is None or view.phase == "choose"
    cards = [
        (played[own], f"{names[0 if own else 1]} {'led' if own == trick.i_led else 'played'}")
        if own in played
        else None
        for own in (False, True)
    ]
    heading = "this trick" if under_way else "last trick"
    draw_trick(items, cards, heading, 34, (470.0, _MIDDLE))


def _side(items: list[Item], view: View) -> None:
    x, y = 880.0, _MIDDLE
    draw_trumps(items, view.trump, 164, x, y)
    rules = view.rules
    if view.phase == "exchange":
        stage = "exchange"
    elif rules.exchange:
        stage = f"trick {_number_of(view)} of {rules.hand}"
    elif view.stock_left:
        stage = f"foreplay {view.trick + 1} of {rules.foreplay_tricks}"
    else:
        stage = f"endgame {_number_of(view)} of {rules.hand}"
    items.append(Text(x, y + 100, stage, fill=INK))
    goal = "play low" if view.low else "play high"
    if rules.race is not None:
        goal = f"first to {rules.race}"
    items.append(Text(x, y + 122, f"{rules.name}: {goal}", 13))


def _number_of(view: View) -> int:
    return min(view.trick - view.rules.foreplay_tricks + 1, view.rules.hand)


# -- captions


def _captions(items: list[Item], view: View, names: tuple[str, str]) -> None:
    for y, own in ((29.0, False), (HEIGHT - 28.0, True)):
        at = 0 if own else 1
        name = names[at]
        if view.i_deal == own:
            name += " (dealer)"
        if exchange := _exchange_text(view, at):
            name += f", {exchange}"
        to_move = view.to_move if own else view.phase != "over" and not view.to_move
        if to_move:
            corners = ((0, -8), (12, 0), (0, 8))
            items.append(Shape(tuple((_MARGIN + a, y + b) for a, b in corners), GOLD))
        color = GOLD if to_move else INK
        items.append(Text(_MARGIN + 20, y, name, 19, color, anchor="start", bold=True))
        if to_move:
            prompts = {"lead": "to lead", "follow": "to follow", "choose": "to choose a card"}
            prompts["exchange"] = "to keep the hand or take a blind one"
            items.append(Text(WIDTH / 2, y, prompts[view.phase], 17, GOLD))
        score = _score(view, at)
        items.append(Text(WIDTH - _MARGIN, y, score, 19, INK, anchor="end", bold=True))
    if view.phase == "over":
        result = _result_text(view, names)
        items.append(Text(WIDTH / 2, HEIGHT - 30, result, 20, GOLD, bold=True))


def _score(view: View, at: int) -> str:
    score = tricks_text(view.counting_tricks[at])
    if any(view.points):
        score += f", {view.points[at]} points"
    return score


def _result_text(view: View, names: tuple[str, str]) -> str:
    """The result of a hand as text."""
    own_tricks, opponent_tricks = view.counting_tricks
    rules = view.rules.array()
    payoff = payoff_of_tricks(row(rules, 0), int(view.low), own_tricks, opponent_tricks)
    if payoff == 0:
        return f"{own_tricks} to {opponent_tricks}: nobody is paid"
    winner = names[0] if payoff > 0 else names[1]
    return f"{own_tricks} to {opponent_tricks}: {abs(payoff)} for {winner}"


def _title(view: View, names: tuple[str, str]) -> str:
    trumps = "no trumps" if view.trump is None else f"{SUIT_NAMES[view.trump]} are trumps"
    own_tricks, opponent_tricks = view.counting_tricks
    return f"German Whist, {trumps}, tricks {names[0]} {own_tricks}, {names[1]} {opponent_tricks}"
