# pyright: strict
"""Themes of open endings: what a card does in its trick, and why it is right."""

from __future__ import annotations

from german_whist.engine.cards import Card
from german_whist.engine.endgame import moves_of
from german_whist.engine.view import View

from ..text.labels import label

THEMES = ("cash", "draw", "force", "exit", "take", "duck", "ruff", "spare", "discard")


def theme_of(view: View, action: int) -> str:
    """What a card does in an open ending, one of `THEMES`."""
    card = Card(action)
    if view.led is None:
        return _theme_of_lead(view, card)
    led, trump = view.led, view.trump
    others = [Card(other) for other in view.legal() if other != card]
    if card.suit not in (led.suit, trump):
        return "spare" if any(other.suit == trump for other in others) else "discard"
    if card.suit != led.suit:
        return "ruff"
    if card > led:
        return "take"
    return "duck" if any(other.suit == led.suit and other > led for other in others) else "discard"


def _theme_of_lead(view: View, card: Card) -> str:
    suit = [other for other in view.known_opponent_cards if other.suit == card.suit]
    if any(other > card for other in suit):
        return "exit"
    if card.suit == view.trump:
        return "draw" if suit else "cash"
    trumps = any(other.suit == view.trump for other in view.known_opponent_cards)
    return "force" if trumps and not suit else "cash"


def ending_reason(view: View, action: int, played: int) -> str:
    """Why a card is right: what it does, and how many tricks it and another card leave.

    The other card is the one played, if it leaves fewer tricks, or else the next best.
    """
    tricks = {int(card): count for card, count in moves_of(view).items()}
    best, card = tricks[action], Card(action).symbol
    sentence = label(f"themes.{theme_of(view, action)}.why", card=card)
    worse = [other for other in tricks if tricks[other] < best]
    if not worse:
        return sentence
    other = played if played in worse else max(worse, key=tricks.__getitem__)
    symbol, n = Card(other).symbol, len(view.hand)
    left = label("themes.leaves", card=card, tricks=best, n=n, other=symbol, less=tricks[other])
    return f"{sentence} {left}"
