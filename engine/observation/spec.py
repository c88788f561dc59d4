# pyright: reportArgumentType=false, reportReturnType=false
"""Observation vector: flat int8, with the same places in every rule set.

`OBSERVATION_SPEC` is the index table by name; the documentation is generated from it.
`EXCHANGE_SPEC` extends it for rule sets with an exchange. `encode` writes a vector from a `VIEW`
record, in an order of suits (`suit_order.py`): the real one (`raw`), or `trump-first`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ...common.jit.compiler import forceinline, jit
from ...common.markup import markdown_table
from ..bitset import NO_CARDS, ONE, bit, write_bits
from ..cards import N_CARDS
from ..dtypes import EXCHANGE, KEPT_HAND, MAX_TRICKS, NO_CARD, NO_TRUMP, TOOK_BLIND
from ..play import Record
from ..rules import Rules
from ..view import legal_in_view
from .suit_order import identity_order, relabel, trump_first_order

OBSERVATION_VERSION = 1

_MAX_DRAWS = 13
_N_VOID_PLACES = 4 * (_MAX_DRAWS + 1)
_POINT_BITS = 7


# Which places of a group networks read: all; those of the deck's cards; those that
# `training/rollout/input_features.py` lists for the rules; or none.
ALL, DECK, BY_RULES, NONE = "all", "deck", "by rules", "none"


@dataclass(frozen=True)
class Group:
    """A named range of places in the observation."""

    name: str
    start: int
    size: int
    about: str
    network_input: str = ""
    """Which places networks read: `ALL`, `DECK`, `BY_RULES` or `NONE`."""


class ObservationSpec:
    """Where each part of an observation is: `OBSERVATION_SPEC.slice("own_hand")` is `0:52`.

    `size` is the number of places, `groups` are the parts in order, and `version` is the number
    that checkpoints store.
    """

    def __init__(
        self, version: int, groups: Sequence[tuple[str, int, str] | tuple[str, int, str, str]]
    ) -> None:
        """`groups`: name, size, description, and for the observation which places are inputs."""
        self.version = version
        self.size: int
        *starts, self.size = accumulate((group[1] for group in groups), initial=0)
        self.groups: tuple[Group, ...] = tuple(
            Group(name, start, size, *described)
            for (name, size, *described), start in zip(groups, starts, strict=True)
        )
        self._by_name = {group.name: group for group in self.groups}

    def __repr__(self) -> str:
        count = len(self.groups)
        return f"ObservationSpec(version {self.version}, {self.size} places in {count} groups)"

    def group(self, name: str) -> Group:
        if name not in self._by_name:
            raise KeyError(
                f"{name!r} is not in the observation; there are {', '.join(self._by_name)}"
            )
        return self._by_name[name]

    def slice(self, name: str) -> slice:
        group = self.group(name)
        return slice(group.start, group.start + group.size)

    def table(self, start: int = 0) -> str:
        """The index table from place `start` on, in Markdown."""
        rows: list[list[str]] = []
        for group in self.groups:
            if group.start >= start:
                last = group.start + group.size - 1
                places = str(group.start) if group.size == 1 else f"{group.start} to {last}"
                rows.append([places, f"`{group.name}`", group.about])
        return markdown_table(["places", "name", "meaning"], rows)


_GROUPS = [
    ("own_hand", N_CARDS, "cards in the player's own hand", DECK),
    ("upcards", N_CARDS, "cards of the stock that lie face up", DECK),
    ("led", N_CARDS, "the card that was led, if the player to move has to follow it", DECK),
    ("played_by_me", N_CARDS, "cards that the player has played", DECK),
    ("played_by_opponent", N_CARDS, "cards that the opponent has played", DECK),
    (
        "opponent_known",
        N_CARDS,
        "cards that the player knows to be in the opponent's hand, because the player saw "
        "the opponent take or get them",
        DECK,
    ),
    (
        "unseen",
        N_CARDS,
        "cards that the player has not seen: in the opponent's hand, in the stock or out of play",
        BY_RULES,
    ),
    (
        "trumps",
        5,
        "the trump suit, one-hot; the fifth place is set if there are no trumps",
        BY_RULES,
    ),
    (
        "opponent_void",
        _N_VOID_PLACES,
        f"{_MAX_DRAWS + 1} places for each suit. If the opponent always followed the suit, all of "
        "them are zero. Otherwise one is set. It says how many cards the opponent has drawn face "
        f"down since it last failed to follow the suit ({_MAX_DRAWS} also stands for more)",
        BY_RULES,
    ),
    # `draws_left` says it.
    ("stage", 2, "stage of the hand, one-hot: foreplay, endgame", NONE),
    (
        "decision",
        4,
        "what happens next, one-hot: lead, follow, choose between stock cards, "
        "nothing (the hand is over)",
        BY_RULES,
    ),
    # A network is asked only when its player is to move.
    ("to_move", 1, "1 if the player is to move", NONE),
    ("leads", 1, "1 if the player leads or led the current trick", BY_RULES),
    ("dealer", 1, "1 if the player dealt", ALL),
    ("contract", 2, "one-hot: high (the most tricks win), low (the fewest tricks win)", BY_RULES),
    (
        "draws_left",
        MAX_TRICKS,
        "number of tricks still to be played for the stock, as that many ones from the first "
        "place on",
        BY_RULES,
    ),
    (
        "tricks_me",
        MAX_TRICKS,
        "number of counting tricks that the player has taken, as that "
        "many ones from the first place on",
        BY_RULES,
    ),
    ("tricks_opponent", MAX_TRICKS, "the same for the opponent", BY_RULES),
    # A network plays matches always or never.
    ("match", 1, "1 if the hand is part of a match", NONE),
    (
        "match_needs_me",
        _POINT_BITS,
        "points that the player still needs to win the match, or hands in a best-of match: a "
        "binary number of at most 127 with the lowest bit first",
        BY_RULES,
    ),
    ("match_needs_opponent", _POINT_BITS, "the same for the opponent", BY_RULES),
]
OBSERVATION_SPEC = ObservationSpec(OBSERVATION_VERSION, _GROUPS)
"""Groups of an observation by name: `OBSERVATION_SPEC.slice("own_hand")` is `slice(0, 52)`."""
OBSERVATION_SIZE = OBSERVATION_SPEC.size

EXCHANGE_SPEC = ObservationSpec(
    OBSERVATION_VERSION,
    [
        *_GROUPS,
        ("exchange", 1, "1 during the exchange; `decision` is then all zero", BY_RULES),
        (
            "exchanged_me",
            2,
            "one-hot: the player kept the dealt hand, or took the blind hand; zeros before the "
            "decision",
            BY_RULES,
        ),
        ("exchanged_opponent", 2, "the same for the opponent", BY_RULES),
        ("turned", N_CARDS, "the dealer's card that was turned up before the exchange", BY_RULES),
        (
            "laid_away",
            N_CARDS,
            "cards that the player knows to be out of play: the hand that the player put "
            "aside, and the turned card if it was in the hand that the dealer put aside",
            BY_RULES,
        ),
    ],
)
"""Specification for rule sets with an exchange; it begins with `OBSERVATION_SPEC`."""
MAX_OBSERVATION_SIZE = EXCHANGE_SPEC.size


def spec_of(rules: Rules) -> ObservationSpec:
    """The places of the observations of a rule set; those with an exchange have more."""
    return EXCHANGE_SPEC if rules.exchange else OBSERVATION_SPEC


# First place of each group; compiled functions read them as constants.
_OWN_HAND = EXCHANGE_SPEC.group("own_hand").start
_UPCARDS = EXCHANGE_SPEC.group("upcards").start
_LED = EXCHANGE_SPEC.group("led").start
_PLAYED_BY_ME = EXCHANGE_SPEC.group("played_by_me").start
_PLAYED_BY_OPPONENT = EXCHANGE_SPEC.group("played_by_opponent").start
_OPPONENT_KNOWN = EXCHANGE_SPEC.group("opponent_known").start
_UNSEEN = EXCHANGE_SPEC.group("unseen").start
_TRUMPS = EXCHANGE_SPEC.group("trumps").start
_OPPONENT_VOID = EXCHANGE_SPEC.group("opponent_void").start
_STAGE = EXCHANGE_SPEC.group("stage").start
_DECISION = EXCHANGE_SPEC.group("decision").start
_TO_MOVE = EXCHANGE_SPEC.group("to_move").start
_LEADS = EXCHANGE_SPEC.group("leads").start
_DEALER = EXCHANGE_SPEC.group("dealer").start
_CONTRACT = EXCHANGE_SPEC.group("contract").start
_DRAWS_LEFT = EXCHANGE_SPEC.group("draws_left").start
_TRICKS_ME = EXCHANGE_SPEC.group("tricks_me").start
_TRICKS_OPPONENT = EXCHANGE_SPEC.group("tricks_opponent").start
_MATCH = EXCHANGE_SPEC.group("match").start
_NEEDS_ME = EXCHANGE_SPEC.group("match_needs_me").start
_NEEDS_OPPONENT = EXCHANGE_SPEC.group("match_needs_opponent").start
_EXCHANGE = EXCHANGE_SPEC.group("exchange").start
_EXCHANGED_ME = EXCHANGE_SPEC.group("exchanged_me").start
_EXCHANGED_OPPONENT = EXCHANGE_SPEC.group("exchanged_opponent").start
_TURNED = EXCHANGE_SPEC.group("turned").start
_LAID_AWAY = EXCHANGE_SPEC.group("laid_away").start


@jit
def write_mask(out: np.ndarray, shown: np.uint64) -> None:
    """Write a set of relabeled actions as zeros and ones."""
    write_bits(out, 0, shown, N_CARDS)
    for index in range(N_CARDS, len(out)):
        out[index] = np.int8((shown >> np.uint64(index)) & ONE)


@jit
def write_set(
    out: np.ndarray, at: int, cards: np.uint64, order: np.ndarray, unchanged: bool
) -> None:
    write_bits(out, at, cards if unchanged else relabel(cards, order), N_CARDS)


@jit
def write_count(out: np.ndarray, at: int, count: int) -> None:
    write_bits(out, at, bit(count) - ONE, MAX_TRICKS)


@jit
def write_binary(out: np.ndarray, at: int, number: int) -> None:
    write_bits(out, at, np.uint64(min(max(number, 0), (1 << _POINT_BITS) - 1)), _POINT_BITS)


@jit
def still_needed(rules: Record, view: Record, who: int) -> int:
    if rules.match_target > 0:
        return np.int64(rules.match_target) - np.int64(view.points[who])
    return np.int64(rules.match_best_of) // 2 + 1 - np.int64(view.hands_won[who])


@jit
def _write_exchange(view: Record, order: np.ndarray, unchanged: bool, out: np.ndarray) -> None:
    out[_EXCHANGE] = 1 if view.phase == EXCHANGE else 0
    for seat in range(2):
        start = _EXCHANGED_ME if seat == 0 else _EXCHANGED_OPPONENT
        out[start] = 1 if view.exchanged[seat] == KEPT_HAND else 0
        out[start + 1] = 1 if view.exchanged[seat] == TOOK_BLIND else 0
    turned = bit(view.turned) if view.turned != NO_CARD else NO_CARDS
    write_set(out, _TURNED, turned, order, unchanged)
    write_set(out, _LAID_AWAY, view.laid_away, order, unchanged)


@jit
def encode(rules: Record, view: Record, order: np.ndarray, out: np.ndarray) -> None:
    """Write the observation of a view with suits in the given order."""
    unchanged = order[0] == 0 and order[1] == 1 and order[2] == 2
    write_set(out, _OWN_HAND, view.hand, order, unchanged)
    write_set(out, _UPCARDS, view.faced, order, unchanged)
    led = bit(view.led) if view.led != NO_CARD else NO_CARDS
    write_set(out, _LED, led, order, unchanged)
    write_set(out, _PLAYED_BY_ME, view.played[0], order, unchanged)
    write_set(out, _PLAYED_BY_OPPONENT, view.played[1], order, unchanged)
    write_set(out, _OPPONENT_KNOWN, view.opponent_known, order, unchanged)
    write_set(out, _UNSEEN, view.unseen, order, unchanged)
    trumps = bit(4) if view.trump == NO_TRUMP else NO_CARDS
    voids = NO_CARDS
    for place in range(4):
        suit = np.int64(order[place])
        if suit == view.trump:
            trumps |= bit(place)
        since = np.int64(view.void_draws[suit])
        if since >= 0:
            voids |= bit(place * (_MAX_DRAWS + 1) + min(since, _MAX_DRAWS))
    write_bits(out, _TRUMPS, trumps, 5)
    write_bits(out, _OPPONENT_VOID, voids, _N_VOID_PLACES)
    out[_STAGE] = 1 if view.stock_left > 0 else 0
    out[_STAGE + 1] = 1 if view.stock_left == 0 else 0
    for phase in range(4):
        out[_DECISION + phase] = 1 if view.phase == phase else 0
    out[_TO_MOVE] = view.to_move
    out[_LEADS] = view.i_lead
    out[_DEALER] = view.i_deal
    out[_CONTRACT] = 1 - np.int64(view.low)
    out[_CONTRACT + 1] = view.low
    write_count(out, _DRAWS_LEFT, np.int64(view.stock_left) // 2)
    write_count(out, _TRICKS_ME, np.int64(view.tricks[0]))
    write_count(out, _TRICKS_OPPONENT, np.int64(view.tricks[1]))
    match = rules.match_target > 0 or rules.match_best_of > 0
    out[_MATCH] = 1 if match else 0
    write_binary(out, _NEEDS_ME, still_needed(rules, view, 0) if match else 0)
    write_binary(out, _NEEDS_OPPONENT, still_needed(rules, view, 1) if match else 0)
    if rules.exchange == 1:
        _write_exchange(view, order, unchanged, out)


@forceinline
def encode_view(
    rules: Record, view: Record, trumps_first: bool, order: np.ndarray, out: np.ndarray
) -> np.uint64:
    """Write the observation of a view; returns its legal actions, relabeled.

    `order` receives the order of suits.
    """
    if trumps_first:
        trump_first_order(rules, view, order)
    else:
        identity_order(order)
    encode(rules, view, order, out)
    return relabel(legal_in_view(rules, view), order)
