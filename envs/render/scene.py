"""The table as a scene: shapes at their positions, drawn by SVG and raster renderers.

A scene is made from a `View`, so it shows only that seat's knowledge; open hands are added.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.cards import SUIT_NAMES, Card
from ...engine.play import pay_for, row
from ...engine.view import View
from .shapes import (
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
    Shape,
    Text,
    draw_back,
    draw_card,
    draw_row,
    draw_suit,
    felt,
    sorted_hand,
)

WIDTH, HEIGHT = 1000, 640
_MARGIN = 34.0
_TOP, _BOTTOM = 46.0, HEIGHT - CARD_HEIGHT - 46.0
_MIDDLE = HEIGHT / 2 - CARD_HEIGHT / 2


def scene_of(
    view: View,
    *,
    other_hand: Sequence[Card] | None = None,
    names: tuple[str, str] = ("you", "opponent"),
) -> Scene:
    """The table from one seat, at the bottom; `other_hand` shows the opponent's cards."""
    items = felt(WIDTH, HEIGHT)
    opponent_hand = view.known_opponent_cards if other_hand is None else other_hand
    hidden = view.opponent_hand_size - len(opponent_hand)
    ends = _MARGIN, WIDTH - _MARGIN
    draw_row(items, sorted_hand(opponent_hand, view.trump), hidden, *ends, _TOP)
    draw_row(items, sorted_hand(view.hand, view.trump), 0, *ends, _BOTTOM)
    _stock(items, view)
    _trick(items, view, names)
    _side(items, view)
    _captions(items, view, names)
    return Scene(WIDTH, HEIGHT, tuple(items), _title(view, names))


# -- stock, trick and side panel


def _stock(items: list[Item], view: View) -> None:
    x, y = 70.0, _MIDDLE
    upcards = view.upcards
    face_down = view.stock_left - len(upcards)
    if view.rules.exchange:
        _exchange(items, view)
        return
    if view.stock_left == 0:
        items.append(Box(x, y, CARD_WIDTH, CARD_HEIGHT, 8, None, FELT_LIGHT, 2))
        items.append(Text(x + CARD_WIDTH / 2, _MIDDLE + 65, "no stock", 16, FAINT, "middle"))
        return
    for layer in range(min(4, (face_down + 5) // 6)):
        draw_back(items, x - 2.5 * layer, y - 2.5 * layer)
    for place, card in enumerate(upcards):
        draw_card(items, card, x + (CARD_WIDTH + 12) * (place + (face_down > 0)), y)
    label = f"stock {view.stock_left}"
    items.append(Text(x + CARD_WIDTH / 2, y + CARD_HEIGHT + 16, label, 16, FAINT, "middle"))
    if upcards:
        at = x + (CARD_WIDTH + 12) * (face_down > 0) + (CARD_WIDTH + 12) * len(upcards) / 2 - 6
        label = "upcard" if len(upcards) == 1 else "upcards"
        items.append(Text(at, y + CARD_HEIGHT + 16, label, 16, FAINT, "middle"))


def _exchange(items: list[Item], view: View) -> None:
    x, y = 70.0, _MIDDLE
    if view.phase == "exchange":
        for layer in range(3):
            draw_back(items, x - 2.5 * layer, y - 2.5 * layer)
    else:
        items.append(Box(x, y, CARD_WIDTH, CARD_HEIGHT, 8, None, FELT_LIGHT, 2))
    items.append(Text(x + CARD_WIDTH / 2, y + CARD_HEIGHT + 16, "blind hands", 16, FAINT, "middle"))
    if view.turned is not None:
        at = x + CARD_WIDTH + 28
        draw_card(items, view.turned, at, y)
        label = Text(at + CARD_WIDTH / 2, y + CARD_HEIGHT + 16, "turned up", 16, FAINT, "middle")
        items.append(label)


def exchange_text(view: View, at: int) -> str:
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
    x = 470.0
    for own, card in sorted(played.items()):
        at = x + (CARD_WIDTH + 34) * own
        draw_card(items, card, at, _MIDDLE)
        label = f"{names[0 if own else 1]} {'led' if own == trick.i_led else 'played'}"
        under = at + CARD_WIDTH / 2, _MIDDLE + CARD_HEIGHT + 16
        items.append(Text(*under, label, 15, FAINT, "middle"))
    heading = "this trick" if under_way else "last trick"
    middle = x + CARD_WIDTH + 17
    items.append(Text(middle, _MIDDLE - 16, heading, 15, FAINT, "middle"))


def _side(items: list[Item], view: View) -> None:
    x, y = 880.0, _MIDDLE
    items.append(Box(x - 82, y - 12, 164, CARD_HEIGHT + 24, 14, FELT_EDGE))
    heading = "trumps" if view.trump is not None else "no trumps"
    items.append(Text(x, y + 8, heading, 16, FAINT, "middle"))
    if view.trump is not None:
        items.append(Box(x - 30, y + 22, 60, 60, 12, CREAM))
        draw_suit(items, view.trump, x, y + 52, 44, turned=False)
    rules = view.rules
    if view.phase == "exchange":
        stage = "exchange"
    elif rules.exchange:
        stage = f"trick {_number_of(view)} of {rules.hand}"
    elif view.stock_left:
        stage = f"foreplay {view.trick + 1} of {rules.foreplay_tricks}"
    else:
        stage = f"endgame {_number_of(view)} of {rules.hand}"
    items.append(Text(x, y + 100, stage, 16, INK, "middle"))
    goal = "play low" if view.low else "play high"
    if rules.race is not None:
        goal = f"first to {rules.race}"
    items.append(Text(x, y + 122, f"{rules.name}: {goal}", 13, FAINT, "middle"))


def _number_of(view: View) -> int:
    return min(view.trick - view.rules.foreplay_tricks + 1, view.rules.hand)


# -- captions


def _captions(items: list[Item], view: View, names: tuple[str, str]) -> None:
    for y, own in ((29.0, False), (HEIGHT - 28.0, True)):
        at = 0 if own else 1
        name = names[at]
        if view.i_deal == own:
            name += " (dealer)"
        if exchange := exchange_text(view, at):
            name += f", {exchange}"
        to_move = view.to_move if own else view.phase != "over" and not view.to_move
        if to_move:
            corners = ((0, -8), (12, 0), (0, 8))
            items.append(Shape(tuple((_MARGIN + a, y + b) for a, b in corners), GOLD))
        items.append(Text(_MARGIN + 20, y, name, 19, GOLD if to_move else INK, bold=True))
        if to_move:
            prompts = {"lead": "to lead", "follow": "to follow", "choose": "to choose a card"}
            prompts["exchange"] = "to keep the hand or take a blind one"
            items.append(Text(WIDTH / 2, y, prompts[view.phase], 17, GOLD, "middle"))
        items.append(Text(WIDTH - _MARGIN, y, _score(view, at), 19, INK, "end", bold=True))
    if view.phase == "over":
        result = result_text(view, names)
        items.append(Text(WIDTH / 2, HEIGHT - 30, result, 20, GOLD, "middle", True))


def _score(view: View, at: int) -> str:
    tricks = view.counting_tricks[at]
    score = f"{tricks} trick" + ("" if tricks == 1 else "s")
    if any(view.points):
        score += f", {view.points[at]} points"
    return score


def result_text(view: View, names: tuple[str, str]) -> str:
    """The result of a hand as text."""
    own_tricks, opponent_tricks = view.counting_tricks
    rules = view.rules.record()
    paid = pay_for(row(rules, 0), int(view.low), own_tricks, opponent_tricks)
    if paid == 0:
        return f"{own_tricks} to {opponent_tricks}: nobody is paid"
    winner = names[0] if paid > 0 else names[1]
    return f"{own_tricks} to {opponent_tricks}: {abs(paid)} for {winner}"


def _title(view: View, names: tuple[str, str]) -> str:
    trumps = "no trumps" if view.trump is None else f"{SUIT_NAMES[view.trump]} are trumps"
    own_tricks, opponent_tricks = view.counting_tricks
    return f"German Whist, {trumps}, tricks {names[0]} {own_tricks}, {names[1]} {opponent_tricks}"
