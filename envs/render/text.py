"""The table as a few lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.cards import SUIT_NAMES, SUIT_SYMBOLS, Card
from ...engine.view import View
from .scene import exchange_text, result_text
from .shapes import sorted_hand


def text_table(
    view: View,
    *,
    other_hand: Sequence[Card] | None = None,
    names: tuple[str, str] = ("you", "opponent"),
) -> str:
    """The table from one seat, at the bottom."""
    opponent_hand = view.known_opponent_cards if other_hand is None else other_hand
    hidden = view.opponent_hand_size - len(opponent_hand)
    width = max(map(len, names)) + 9
    cards, own_cards = (
        shown_cards(sorted_hand(hand, view.trump)) for hand in (opponent_hand, view.hand)
    )
    suit, goal = view.trump, ", fewer tricks win" if view.low else ""
    trumps = "no trumps" if suit is None else f"trumps {SUIT_NAMES[suit]} {SUIT_SYMBOLS[suit]}"
    lines = [
        f"{view.rules.name}: {_stage(view)}, {trumps}{goal}",
        _line(view, 1, names, width, cards + " ??" * hidden),
        " " * width + _middle(view, names),
        _line(view, 0, names, width, own_cards),
    ]
    if view.phase == "over":
        lines.append(result_text(view, names))
    else:
        lines.append(f"{names[0 if view.to_move else 1]} to {view.phase}")
    return "\n".join(lines) + "\n"


def _stage(view: View) -> str:
    rules = view.rules
    if view.phase == "over":
        return "the hand is over"
    if view.phase == "exchange":
        return "the exchange"
    if rules.exchange:
        return f"trick {view.trick + 1} of {rules.hand}"
    if view.stock_left:
        return f"foreplay, trick {view.trick + 1} of {rules.foreplay_tricks}"
    return f"endgame, trick {view.trick - rules.foreplay_tricks + 1} of {rules.hand}"


def shown_cards(cards: Sequence[Card]) -> str:
    """Card symbols in columns."""
    return " ".join(f"{card.symbol:>3}" for card in cards)


def _line(view: View, at: int, names: tuple[str, str], width: int, cards: str) -> str:
    name = names[at] + ("*" if view.i_deal == (at == 0) else "")
    return f"{name:<{width - 6}}[{view.counting_tricks[at]:>2}]  {cards}".rstrip()


def _middle(view: View, names: tuple[str, str]) -> str:
    parts = [f"stock {view.stock_left}" if view.stock_left else "no stock"]
    if view.rules.exchange:
        exchanges = [f"{name} {exchange_text(view, at)}" for at, name in enumerate(names)]
        parts = [part for part in exchanges if not part.endswith(" ")]
        if view.turned is not None:
            parts.insert(0, f"turned up {view.turned.symbol}")
    if view.upcards:
        parts.append("faced " + " ".join(card.symbol for card in view.upcards))
    tricks = list(view.tricks())
    if tricks:
        trick = tricks[-1]
        leader, follower = names if trick.i_led else names[::-1]
        cards = f"{leader} {trick.led.symbol}"
        if trick.followed is not None:
            cards += f", {follower} {trick.followed.symbol}"
        under_way = trick.followed is None or view.phase == "choose"
        parts.append(("trick " if under_way else "last trick ") + cards)
    return "   ".join(parts)
