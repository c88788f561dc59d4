# pyright: strict, reportConstantRedefinition=false
"""Cards and card sets: ids, text forms, and what people read.

A card is a plain integer, `suit * 13 + rank`, that prints as rank and suit
(`TD` is the ten of diamonds). Ids never change with the deck.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from operator import index
from typing import Any

from ..common.suggestions import a_kind_of

RANKS = "23456789TJQKA"
SUITS = "CDHS"
SUIT_SYMBOLS = "♣♦♥♠"
SUIT_NAMES = ("clubs", "diamonds", "hearts", "spades")
RANK_NAMES = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("jack", "queen", "king", "ace"),
)
CARDS_IN_ALL = 52
TAKE_HIDDEN = 52
"""The one choice that is no card: take the hidden card instead of the upcard."""
KEEP = 53
"""In the exchange: keep the hand that was dealt."""
TAKE_BLIND = 54
"""In the exchange: lay the hand away unseen, and take a blind one."""
ACTIONS_IN_ALL = 55


class Card(int):
    """One of the 52 cards: an integer id that knows its suit, its rank and its text."""

    __slots__ = ()

    @property
    def suit(self) -> int:
        """0 clubs, 1 diamonds, 2 hearts, 3 spades."""
        return int(self) // 13

    @property
    def rank(self) -> int:
        """0 for a two up to 12 for an ace."""
        return int(self) % 13

    @property
    def symbol(self) -> str:
        """The card as people read it, such as `10♦`."""
        rank = RANKS[self.rank]
        return ("10" if rank == "T" else rank) + SUIT_SYMBOLS[self.suit]

    @property
    def name(self) -> str:
        """The card in words, such as `ten of diamonds`."""
        return f"{RANK_NAMES[self.rank]} of {SUIT_NAMES[self.suit]}"

    def __str__(self) -> str:
        return RANKS[self.rank] + SUITS[self.suit]

    def __repr__(self) -> str:
        return str(self)


CARDS: tuple[Card, ...] = tuple(Card(number) for number in range(CARDS_IN_ALL))
ACTIONS: tuple[int, ...] = (*CARDS, TAKE_HIDDEN, KEEP, TAKE_BLIND)
"""Every action of every rule set, in the order of its number."""
_BY_TEXT = {str(card): card for card in CARDS}
_BY_TEXT |= {card.symbol: card for card in CARDS}
_BY_TEXT |= {RANKS[card.rank] + SUIT_SYMBOLS[card.suit]: card for card in CARDS}
_BY_TEXT |= {"10" + SUITS[card.suit]: card for card in CARDS if RANKS[card.rank] == "T"}


def whole_number(value: Any) -> int | None:
    """An integer, or the one of a scalar or one-element array (NumPy, torch, JAX); else None."""
    if not isinstance(value, int) and hasattr(value, "item"):
        # What holds several numbers has no item, and says so in many ways.
        with suppress(TypeError, ValueError, RuntimeError):
            value = value.item()
    if isinstance(value, bool):
        return None
    try:
        return int(index(value))
    except (TypeError, ValueError):
        return None


def card(value: int | str) -> Card:
    """The card with this id or this text (`TD`, `10d`, `10♦`)."""
    if isinstance(value, str):
        found = _BY_TEXT.get(value.strip().upper())
        if found is None:
            raise ValueError(
                f"{value!r} is not a card: write rank then suit, ranks {RANKS}, suits {SUITS}, "
                "as in TD for the ten of diamonds"
            )
        return found
    number = whole_number(value)
    if number is None:
        raise ValueError(f"{value!r} is {a_kind_of(value)}: a card is an id or a text such as TD")
    if not 0 <= number < CARDS_IN_ALL:
        raise ValueError(f"{number} is not a card id: ids run from 0 (2C) to 51 (AS)")
    return CARDS[number]


def cards(text: str | Iterable[int | str]) -> list[Card]:
    """Cards from a text such as `AS KD 2C`, or from ids and texts, in the order given."""
    return [card(part) for part in (text.split() if isinstance(text, str) else text)]


def card_set(members: str | Iterable[int | str]) -> int:
    """The set of these cards as a 64-bit number; a card that comes twice is refused."""
    total = 0
    for member in cards(members):
        if total >> member & 1:
            raise ValueError(f"{member} comes twice")
        total |= 1 << member
    return total


def cards_of(total: int) -> list[Card]:
    """The cards in a set, lowest id first."""
    total = int(total)
    if total >> CARDS_IN_ALL:
        raise ValueError(f"{total} is not a set of cards: it has bits above the ace of spades")
    return [each for each in CARDS if total >> each & 1]


def text_of(members: Iterable[int]) -> str:
    """Cards as one text, `AS KD 2C`."""
    return " ".join(str(CARDS[member]) for member in members)


CHOICE_WORDS = {TAKE_HIDDEN: "hidden", KEEP: "keep", TAKE_BLIND: "blind"}
"""The actions that are no card, as people write them and as records hold them."""
CHOICES = {
    TAKE_HIDDEN: "the hidden card",
    KEEP: "keep the hand",
    TAKE_BLIND: "take the blind hand",
}
"""The actions that are no card, in words."""


def action_word(action: int) -> str:
    """An action as people write it and as records hold it: a card, or one of `CHOICE_WORDS`."""
    return CHOICE_WORDS.get(action) or str(CARDS[action])


def action_text(action: int) -> str:
    """An action in words that an error can use."""
    if 0 <= action < CARDS_IN_ALL:
        return f"{action} ({CARDS[action]})"
    return f"{action} ({CHOICES[action]})" if action in CHOICES else str(action)
