"""Checks of what users give: seeds, seats, counts, words and actions; and random seeds."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..common.suggestions import suggest, type_phrase
from ..common.typing import Array
from .cards import as_integer, card, cards
from .rules import Rules


class IllegalAction(ValueError):
    """An action that is not legal now; the game is unchanged."""


def checked_seed(value: object, name: str = "seed") -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} is {value!r}: it has to be a whole number")
    if not 0 <= int(value) < 2**64:
        raise ValueError(f"{name} is {value}: it has to be from 0 to 2**64 - 1")
    return int(value)


def fresh_seed() -> int:
    return secrets.randbits(63)


def checked_seat(value: object, allowed: tuple[object, ...] = (0, 1), name: str = "seat") -> Any:
    """Validate a seat number, or another value of `allowed`."""
    if isinstance(value, (bool, np.bool_, float)) or value not in allowed:
        *shown, last = map(repr, allowed)
        raise ValueError(f"{name} is {value!r}: it has to be {', '.join(shown)} or {last}")
    return value


def checked_count(value: object, name: str) -> int:
    """Validate a positive number of games, determinizations or threads."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} is {value!r}: it has to be a number from 1")
    return int(value)


def checked_choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Validate a value that has to be one of several words."""
    if value not in allowed:
        suggestion = suggest(value, allowed, listed=False)
        raise ValueError(
            f"{name} is {value!r}: it has to be one of {', '.join(allowed)}{suggestion}"
        )
    return value


def checked_action(action: object) -> int:
    number = as_integer(action)
    if number is None:
        raise IllegalAction(
            f"action is {action!r}, {type_phrase(action)}: it has to be a whole number"
        )
    return number


def parse_action(action: object) -> int:
    """Parse an action from a text or an integer scalar."""
    if isinstance(action, str):
        return int(card(action))
    number = as_integer(action)
    if number is None:
        raise IllegalAction(
            f"{action!r} is {type_phrase(action)}: an action is a card id or a text such as TD"
        )
    return number


# Reset options of a single environment and of a vector environment.
RESET_OPTIONS = ("deal", "dealer", "number")
VECTOR_RESET_OPTIONS = (*RESET_OPTIONS, "reset_mask")


def check_reset_options(options: object, allowed: tuple[str, ...] = RESET_OPTIONS) -> None:
    if not isinstance(options, Mapping):
        raise ValueError(
            f"reset options are {options!r}, {type_phrase(options)}: give a dictionary, as in "
            "reset(options={'number': 3})"
        )
    for name in options:
        if name not in allowed:
            known, hint = ", ".join(allowed), suggest(name, allowed, listed=False)
            raise ValueError(f"reset has no option {name!r}: its options are {known}{hint}")


def state_array(state: Mapping[str, Array], name: str, count: int | None = None) -> Array:
    """An array of a state, with `count` rows."""
    array = np.asarray(state[name]) if name in state else None
    if array is None or (count is not None and array.shape != (count,)):
        required = repr(name) if count is None else f"{name!r} of {count} rows"
        raise ValueError(f"the state has no {required}: give what state() returned")
    return array


def checked_deal(rules: Rules, deal: str | Iterable[int | str]) -> Sequence[int]:
    """Validate a deal in dealing order; cards left over may be omitted and follow by id."""
    if not isinstance(deal, Iterable):
        raise ValueError(f"the deal is {deal!r}: it has to be cards, in dealing order")
    order, deck, dealt = cards(deal), set(rules.deck), set[int]()
    for dealt_card in order:
        if dealt_card not in deck:
            raise ValueError(f"{dealt_card} is not in the deck of {rules.name}")
        if dealt_card in dealt:
            raise ValueError(f"{dealt_card} is dealt twice")
        dealt.add(dealt_card)
    needed = rules.dealt_cards
    if len(order) not in (needed, len(rules.deck)):
        raise ValueError(f"a deal of {rules.name} has {needed} cards, this one has {len(order)}")
    return order + [left_over for left_over in rules.deck if left_over not in dealt]
