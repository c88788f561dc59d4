"""Helpers of the tests: rule sets for both implementations, players, and expected records.

What is expected of the engine is built here from the plain implementation's
views, so that a comparison of bytes is a comparison of every field.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from german_whist.engine.game import Game
from german_whist.engine.rules import Rules, load_rules
from german_whist.engine.state import (
    MOST_TRICKS,
    NO_CARD,
    NO_TRUMP,
    PHASE_NAMES,
    UNSEEN_CARD,
    VIEW,
)
from plain_whist import HIDDEN, NAMED, PlainGame, PlainRules

# Rule sets that nobody would name, at the edges of what can be played.
_ALL_CARDS = {"suits": 4, "ranks": 13}
ODD: dict[str, dict[str, Any]] = {
    "no stock": {**_ALL_CARDS, "hand": 13, "stock": 0, "trumps": "none"},
    "all dealt": {**_ALL_CARDS, "hand": 26, "stock": 0, "trumps": "none", "pay": "margin"},
    "hand of one": {**_ALL_CARDS, "hand": 1, "stock": 50, "counts": "all", "pay": "margin"},
    "set aside": {"suits": 4, "ranks": 7, "hand": 5, "stock": 10, "pay": "margin"},
    "one set aside": {"suits": 3, "ranks": 5, "hand": 3, "stock": 8, "counts": "all"},
    "two by six": {"suits": 2, "ranks": 6, "hand": 3, "stock": 6, "counts": "all", "pay": "margin"},
    "one suit": {"suits": 1, "ranks": 13, "hand": 4, "stock": 4, "counts": "all"},
    "one rank": {"suits": 4, "ranks": 1, "hand": 1, "stock": 2, "counts": "all"},
    "two cards": {"suits": 1, "ranks": 2, "hand": 1, "stock": 0, "trumps": "none"},
    "blind": {**_ALL_CARDS, "hand": 13, "stock": 26, "trumps": "none", "faced": "never"},
    "blind fifty": {
        **_ALL_CARDS,
        "hand": 1,
        "stock": 50,
        "trumps": "none",
        "faced": "never",
        "counts": "all",
    },
    "two up": {**_ALL_CARDS, "hand": 10, "stock": 30, "face_up": 2, "counts": "all"},
    "two up, late, choice": {
        "suits": 4,
        "ranks": 9,
        "hand": 8,
        "stock": 20,
        "trumps": "none",
        "faced": "after-first",
        "face_up": 2,
        "choice": True,
        "counts": "all",
        "pay": "margin",
    },
    "draft, late": {
        **_ALL_CARDS,
        "hand": 9,
        "stock": 26,
        "trumps": "none",
        "faced": "after-first",
        "choice": True,
    },
    "low": {"suits": 4, "ranks": 7, "hand": 7, "stock": 14, "contract": "low", "pay": "margin"},
    "low race": {
        "suits": 4,
        "ranks": 8,
        "hand": 8,
        "stock": 16,
        "contract": "low",
        "counts": "all",
        "race": 5,
    },
    "colour of two suits": {
        "suits": 2,
        "ranks": 13,
        "hand": 6,
        "stock": 14,
        "contract": "colour",
        "pay": "over_book",
        "slam_pay": 9,
    },
    "race of the endgame": {
        "suits": 4,
        "ranks": 8,
        "hand": 9,
        "stock": 14,
        "race": 5,
        "pay": "over_book",
        "book": 2,
    },
    "race to the slam": {
        "suits": 2,
        "ranks": 8,
        "hand": 4,
        "stock": 8,
        "race": 4,
        "pay": "over_book",
        "slam_pay": 7,
    },
    "race that nobody may win": {"suits": 3, "ranks": 6, "hand": 4, "stock": 10, "race": 4},
    "race of one, late": {
        "suits": 4,
        "ranks": 5,
        "hand": 5,
        "stock": 10,
        "trumps": "none",
        "faced": "after-first",
        "counts": "all",
        "race": 1,
    },
    "race with a draft": {
        **_ALL_CARDS,
        "hand": 13,
        "stock": 26,
        "choice": True,
        "counts": "all",
        "race": 8,
        "pay": "margin",
    },
    "no book": {
        "suits": 2,
        "ranks": 9,
        "hand": 5,
        "stock": 8,
        "pay": "over_book",
        "book": 0,
        "counts": "all",
    },
}
EVERY_SET = (*NAMED, *ODD)


@cache
def engine_rules(name: str) -> Rules:
    """The engine's rules of a named or an odd set."""
    return Rules(name=name, **ODD[name]) if name in ODD else load_rules(name)


@cache
def plain_rules(name: str) -> PlainRules:
    """The plain implementation's rules of the same set."""
    return PlainRules(name, **ODD[name]) if name in ODD else NAMED[name]


def plain_twin(game: Game) -> PlainGame:
    """The plain game that begins with the deal and the dealer of an engine's game."""
    deal = [int(card) for card in game.cards_dealt]
    return PlainGame(plain_rules(game.rules.name), deal, game.dealer)


# -- players, to get into every corner of the game

STYLES = ("any", "high", "low", "hoard", "squander", "shorten")


def chosen_action(
    style: str, legal: Sequence[int], hand: Sequence[int], endgame: bool, rng: random.Random
) -> int:
    """An action in a style: hoarders save high cards for the endgame, squanderers none."""
    if style == "any" or legal[-1] == HIDDEN or rng.random() < 0.05:
        return rng.choice(legal)
    if style == "shorten":  # get rid of the shortest suit, so as to fail to follow soon
        length = [sum(card // 13 == suit for card in hand) for suit in range(4)]
        return min(legal, key=lambda card: (length[card // 13], card))
    high = style == "high" or (style == "hoard") == endgame
    if style == "low":
        high = False
    return (max if high else min)(legal, key=lambda card: (card % 13, card))


# -- what a view of the engine has to hold

_CODES = {"u8": "Q", "i4": "i", "u2": "H", "u1": "B", "i1": "b"}
_FORMAT = "=" + "".join(
    f"{VIEW[name].itemsize // VIEW[name].base.itemsize}{_CODES[VIEW[name].base.str[1:]]}"
    for name in VIEW.names or ()
)


def card_bits(cards: Sequence[int]) -> int:
    """A set of cards as a number."""
    return sum(1 << card for card in cards)


def expected_view(
    view: Mapping[str, Any],
    points: Sequence[int] = (0, 0),
    hands: int = 0,
    hands_won: Sequence[int] = (0, 0),
) -> dict[str, Any]:
    """The fields of a `VIEW` record from a plain view; the match's score comes in seat order."""
    me = view["seat"]
    plays = view["plays"]
    leader = view["leader"]
    if leader is None:  # the hand is over: the winner of the last trick stands there
        leader = next(event[1] for event in reversed(view["events"]) if event[0] == "won")
    own_played, other_played = 0, 0
    padded = {
        key: [NO_CARD] * MOST_TRICKS
        for key in ("led_cards", "followed_cards", "my_draws", "other_draws")
    }
    i_led = [0] * MOST_TRICKS
    unseen_draws = 0
    for index, trick in enumerate(plays):
        mine = trick["leader"] == me
        i_led[index] = int(mine)
        padded["led_cards"][index] = trick["lead"]
        follow = 0
        if trick["follow"] is not None:
            padded["followed_cards"][index] = trick["follow"]
            follow = 1 << trick["follow"]
        own_played |= 1 << trick["lead"] if mine else follow
        other_played |= follow if mine else 1 << trick["lead"]
        if trick["own_took"] is not None:
            padded["my_draws"][index] = trick["own_draw"]
            if trick["opponent_took"] == "hidden":
                padded["other_draws"][index] = UNSEEN_CARD
                unseen_draws += 1
            else:
                padded["other_draws"][index] = trick["opponent_draw"]
    face_up = view["face_up"]
    return {
        **padded,
        "i_led": i_led,
        "hand": card_bits(view["hand"]),
        "known": card_bits(view["opponent_known"]),
        "played": (own_played, other_played),
        "unseen": card_bits(view["unseen"]),
        "faced": card_bits(face_up),
        "points": (points[me], points[1 - me]),
        "hands": hands,
        "hands_won": (hands_won[me], hands_won[1 - me]),
        "upcards": [*face_up, NO_CARD, NO_CARD][:2],
        "led": NO_CARD if view["led"] is None else view["led"],
        "void_draws": [view["opponent_void"].get(suit, -1) for suit in range(4)],
        "other_unseen_draws": unseen_draws,
        "other_cards": view["opponent_hand_size"],
        "tricks": view["counting"],
        "seat": me,
        "to_move": int(view["turn"] == me),
        "phase": PHASE_NAMES.index(view["phase"]),
        "i_deal": int(view["dealer"] == me),
        "i_lead": int(leader == me),
        "trick": view["trick_number"],
        "stock_left": view["stock_left"],
        "trump": NO_TRUMP if view["trump"] is None else view["trump"],
        "low": int(view["low"]),
    }


def view_bytes(fields: Mapping[str, Any]) -> bytes:
    """The bytes of a `VIEW` record with these fields, nothing else in it."""
    flat: list[int] = []
    for name in VIEW.names or ():
        value = fields[name] if name != "spare" else [0] * VIEW["spare"].shape[0]
        if isinstance(value, int):
            flat.append(value)
        else:
            flat.extend(value)
    return struct.pack(_FORMAT, *flat)


def differences(found: bytes, fields: Mapping[str, Any]) -> str:
    """Which fields of a `VIEW` record are not as expected, for a message."""
    record = np.frombuffer(found, VIEW)[0]
    wanted = np.frombuffer(view_bytes(fields), VIEW)[0]
    return "; ".join(
        f"{name}: {record[name]} instead of {wanted[name]}"
        for name in VIEW.names or ()
        if not np.array_equal(record[name], wanted[name])
    )
