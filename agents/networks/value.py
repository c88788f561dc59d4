"""Value network: the distribution of endgame tricks of the player on lead, both hands in view.

Searches query it at the leaves of sampled determinizations, so its input holds what no player may
see: both hands, which cards of each the opponent has seen, the upcard, and the set of cards left
in the stock. Suits come trumps first, then by the leader's cards, with relative ranks: each card
in play stands as high as its suit lets it. The output is a distribution over numbers of tricks
instead of an expected pay, so that one network serves every rule set's pay.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, suit_part
from ...common.jit.compiler import jit
from ...engine.cards import N_CARDS
from ...engine.endgame.game_values import inexact_reason
from ...engine.observation.layout import Layout
from ...engine.play import Record, pay_for, stock_left
from ...engine.rules import Rules
from ..base import Array, CannotPlay
from .auxiliary import read_auxiliary
from .mlp import Layers

VALUE_LAYOUT = Layout(
    1,
    [
        ("leader_hand", N_CARDS, "cards of the player on lead"),
        ("other_hand", N_CARDS, "cards of the other player"),
        ("upcard", N_CARDS, "the stock card that lies face up"),
        ("stock", N_CARDS, "the stock cards below it"),
        ("leader_seen", N_CARDS, "cards of the player on lead that the other has seen"),
        ("other_seen", N_CARDS, "cards of the other player that the one on lead has seen"),
        ("trick", 13, "how many tricks of the foreplay are over, one-hot"),
    ],
)
"""The index table of the value network's input."""
INPUTS = VALUE_LAYOUT.size
# Each card in play is one place, those that were seen (at most all 26 in hands) another.
MOST_PLACES = N_CARDS + 26 + 1
OUTCOMES = 14
"""From no trick of the ending to thirteen."""

_LEADER_HAND = VALUE_LAYOUT.group("leader_hand").start
_OTHER_HAND = VALUE_LAYOUT.group("other_hand").start
_UPCARD = VALUE_LAYOUT.group("upcard").start
_STOCK = VALUE_LAYOUT.group("stock").start
_LEADER_SEEN = VALUE_LAYOUT.group("leader_seen").start
_OTHER_SEEN = VALUE_LAYOUT.group("other_seen").start
_TRICK = VALUE_LAYOUT.group("trick").start


class Position(NamedTuple):
    """A position before a trick of the foreplay: sets of cards by the groups of `VALUE_LAYOUT`."""

    leader_hand: np.uint64
    other_hand: np.uint64
    upcard: np.uint64
    stock: np.uint64
    leader_seen: np.uint64
    other_seen: np.uint64
    trump: int
    trick: int


@jit
def _write_places(position: Position, places: np.ndarray) -> int:
    """Which inputs of the network are one, in `places`; returns how many."""
    mine, theirs = position.leader_hand, position.other_hand
    order0, order1, order2, order3 = _order(mine, theirs, position.trump)
    count = 0
    for at in range(4):
        suit = order0 if at == 0 else order1 if at == 1 else order2 if at == 2 else order3
        own, other = suit_part(mine, suit), suit_part(theirs, suit)
        faced, hidden = suit_part(position.upcard, suit), suit_part(position.stock, suit)
        seen = suit_part(position.leader_seen | position.other_seen, suit)
        there = own | other | faced | hidden
        place = 13 * at + 12
        rank = ONE << np.uint64(12)
        while there:
            if there & rank:
                there ^= rank
                if own & rank:
                    places[count] = _LEADER_HAND + place
                    count += 1
                    if seen & rank:
                        places[count] = _LEADER_SEEN + place
                        count += 1
                elif other & rank:
                    places[count] = _OTHER_HAND + place
                    count += 1
                    if seen & rank:
                        places[count] = _OTHER_SEEN + place
                        count += 1
                else:
                    places[count] = (_UPCARD if faced & rank else _STOCK) + place
                    count += 1
                place -= 1
            rank >>= ONE
    places[count] = _TRICK + position.trick
    return count + 1


@jit
def _order(mine: np.uint64, theirs: np.uint64, trump: int) -> tuple[int, int, int, int]:
    """Trumps first, then the suits by the leader's cards in them."""
    a = 0 if trump != 0 else 1
    b = 1 if trump > 1 else 2
    c = 2 if trump == 3 else 3
    if _goes_before(mine, theirs, b, a):
        a, b = b, a
    if _goes_before(mine, theirs, c, b):
        b, c = c, b
        if _goes_before(mine, theirs, b, a):
            a, b = b, a
    return trump, a, b, c


@jit
def _goes_before(mine: np.uint64, theirs: np.uint64, a: int, b: int) -> bool:
    first, second = suit_part(mine, a), suit_part(mine, b)
    if first != second:
        return first > second
    return suit_part(theirs, a) > suit_part(theirs, b)


@jit
def write_game_places(rules: Record, game: Record, places: np.ndarray) -> int:
    """Which inputs are one for a game before a trick of the foreplay; returns how many."""
    leader = np.int64(game.leader)
    base = 2 * np.int64(rules.hand) + np.int64(game.drawn)
    rest = NO_CARDS
    for place in range(1, stock_left(rules, game)):
        rest |= ONE << np.uint64(game.deal[base + place])
    position = Position(
        game.hand[leader], game.hand[1 - leader], ONE << np.uint64(game.deal[base]), rest,
        game.known_cards[leader], game.known_cards[1 - leader],
        np.int64(game.trump), np.int64(game.trick),
    )  # fmt: skip
    return _write_places(position, places)


@jit
def paid_on_average(out: np.ndarray, pays: np.ndarray) -> float:
    """What the leader is paid on average, by the network's last layer and each outcome's pay."""
    # A softmax of its own, in float32 and without an array of weights: it runs at every leaf of a
    # search, and `masked_softmax`, in float64 over legal actions, would give other last digits.
    top = out[0]
    for k in range(1, len(pays)):
        top = max(top, out[k])
    total, sum_ = np.float32(0), np.float32(0)
    for k in range(len(pays)):
        share = np.exp(out[k] - top)
        total += share
        sum_ += share * pays[k]
    return sum_ / total


def check_value_rules(rules: Rules) -> None:
    """Refuse games that the inputs of such a network have no words for."""
    plain = rules.trumps == "upcard" and rules.faced == "every" and not rules.choice
    exact = not inexact_reason(rules)
    if not (plain and exact and rules.counts == "last" and rules.contract == "high"):
        raise CannotPlay(
            f"a value network does not cover {rules.name}: it knows games with one upcard, in "
            "which the tricks of an open endgame are wanted and alone count"
        )


def pays_of(rules: Rules) -> Array:
    """What each number of tricks in the ending pays."""
    record = rules.record()[0]
    tricks = rules.hand
    return np.array(
        [pay_for(record, 0, k, tricks - k) if k <= tricks else 0 for k in range(OUTCOMES)],
        np.float32,
    )


def read_value_network(wanted: str | Path, rules: Rules) -> Layers:
    """A network's numbers from its file, refused if it is none or judges other games."""
    check_value_rules(rules)
    return read_auxiliary(wanted, "value", INPUTS, OUTCOMES, rules)
