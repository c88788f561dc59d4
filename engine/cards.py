# pyright: strict, reportConstantRedefinition=false, reportUnnecessaryIsInstance=false
"""Cards, card sets and actions: ids and text forms.

A card is an integer, `suit * 13 + rank`, that prints as rank and suit (`TD` is the ten of
diamonds). Ids do not depend on the deck.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from ..common.suggestions import type_phrase

RANKS = "23456789TJQKA"
SUITS = "CDHS"
SUIT_SYMBOLS = "♣♦♥♠"
SUIT_NAMES = ("clubs", "diamonds", "hearts", "spades")
RANK_NAMES = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "jack",
    "queen",
    "king",
    "ace",
)
N_CARDS = 52
TAKE_HIDDEN = 52
"""Action in rule sets with a choice: take the hidden stock card instead of the upcard."""
KEEP = 53
"""Action in rule sets with an exchange: keep the dealt hand."""
TAKE_BLIND = 54
"""Action in rule sets with an exchange: put the dealt hand aside and take an unseen hand."""
N_ACTIONS = 55


class Card(int):
    """One of the 52 cards: the integer `suit * 13 + rank`, which prints as `TD`.

    Suits are 0 clubs, 1 diamonds, 2 hearts, 3 spades. Ranks are 0 for the two to 12 for the ace.
    A `Card` is also the action that plays it. Make cards with `card("TD")` or `cards("AS KD")`.
    """

    __slots__ = ()

    @property
    def suit(self) -> int:
        """0 clubs, 1 diamonds, 2 hearts, 3 spades."""
        return int(self) // 13

    @property
    def rank(self) -> int:
        """0 for the two, 12 for the ace."""
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

    __repr__ = __str__


CARDS: tuple[Card, ...] = tuple(Card(number) for number in range(N_CARDS))
ACTIONS: tuple[int, ...] = (*CARDS, TAKE_HIDDEN, KEEP, TAKE_BLIND)
"""All actions of all rule sets, by number."""
_CARD_OF_TEXT = {str(card): card for card in CARDS}
_CARD_OF_TEXT |= {card.symbol: card for card in CARDS}
_CARD_OF_TEXT |= {RANKS[card.rank] + SUIT_SYMBOLS[card.suit]: card for card in CARDS}
_CARD_OF_TEXT |= {card.name.upper(): card for card in CARDS}
_CARD_OF_TEXT |= {"10" + SUITS[card.suit]: card for card in CARDS if RANKS[card.rank] == "T"}


def as_integer(value: Any) -> int | None:
    """An integer from an int, a scalar or a one-element array (NumPy, torch, JAX); else None."""
    try:
        number = value if isinstance(value, int) else value.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):
        # Arrays of several numbers have no item; libraries raise different errors.
        number = value
    if type(number) is int:
        return number
    if isinstance(number, bool):
        return None
    try:
        return int(index(number))
    except (TypeError, ValueError):
        return None


def card(value: int | str) -> Card:
    """The card of an id (0 to 51) or of a text: `TD`, `10d`, `10♦` or `ten of diamonds`.

    Raises `ValueError` if there is no such card.
    """
    if isinstance(value, str):
        text = " ".join(value.upper().split())
        by_text = _CARD_OF_TEXT.get(text)
        if by_text is None:
            raise ValueError(
                f"{value!r} is not a card: write rank then suit, ranks {RANKS}, suits {SUITS}, "
                "as in TD, or ten of diamonds"
            )
        return by_text
    number = as_integer(value)
    if number is None:
        raise ValueError(f"{value!r} is {type_phrase(value)}: a card is an id or a text such as TD")
    if not 0 <= number < N_CARDS:
        raise ValueError(f"{number} is not a card id: ids run from 0 (2C) to 51 (AS)")
    return CARDS[number]


def cards(text: str | Iterable[int | str]) -> list[Card]:
    """The cards of a text such as `AS KD 2C`, or of several ids and texts, in their order.

    Raises `ValueError` if one of them is no card.
    """
    if not isinstance(text, Iterable):
        raise ValueError(
            f"{text!r} is {type_phrase(text)}: cards are a text such as AS KD 2C, or several ids "
            "and texts"
        )
    return [card(part) for part in (text.split() if isinstance(text, str) else text)]


def card_set(members: str | Iterable[int | str]) -> int:
    """The set of some cards as an int in which bit `i` stands for card `i`.

    Takes what `cards` takes. The same card twice raises `ValueError`. `cards_of` is the inverse.
    """
    total = 0
    for member in cards(members):
        if total >> member & 1:
            raise ValueError(f"{member} comes twice")
        total |= 1 << member
    return total


def cards_of(total: int) -> list[Card]:
    """The cards of a set, lowest id first; the set is an int as `card_set` returns."""
    number = as_integer(total)
    if number is None:
        raise ValueError(f"{total!r} is {type_phrase(total)}: a set of cards is a whole number")
    if number >> N_CARDS:
        raise ValueError(f"{number} is not a set of cards: it has bits above the ace of spades")
    return [card for card in CARDS if number >> card & 1]


def text_of(members: Iterable[int]) -> str:
    """Several cards as one text, such as `AS KS 2C`."""
    return " ".join(map(str, cards(members)))


CHOICE_WORDS = {TAKE_HIDDEN: "hidden", KEEP: "keep", TAKE_BLIND: "blind"}
"""Short texts of the actions that are not cards, as in records."""
CHOICES = {TAKE_HIDDEN: "the hidden card", KEEP: "keep the hand", TAKE_BLIND: "take the blind hand"}
"""Descriptions of the actions that are not cards."""


def action_word(action: int) -> str:
    """Short text of an action, as records hold it: a card or one of `CHOICE_WORDS`."""
    return CHOICE_WORDS.get(action) or str(CARDS[action])


def action_text(action: int) -> str:
    if 0 <= action < N_CARDS:
        return f"{action} ({CARDS[action]})"
    return f"{action} ({CHOICES[action]})" if action in CHOICES else str(action)
