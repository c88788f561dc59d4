"""What a position of the foreplay is worth to the player on lead, all cards in view but the
stock's order: a small network's word on how many tricks of the ending that player will take.

It is asked by searches, in worlds that they imagine, and sees there what no player may see:
both hands, which cards of each the other has seen, the upcard, and what is left in the stock.
Suits are shown trumps first, then by the leader's cards, and ranks are closed: each card in
play stands as high as its suit lets it. Its word is a probability for every number of tricks,
so that one network serves whatever a hand pays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, suit_part
from ...common.jit.compiler import jit
from ...engine.cards import CARDS_IN_ALL
from ...engine.endgame.game_values import why_not_exact
from ...engine.play import Record, pay_for, stock_left
from ...engine.rules import Rules
from ..base import Array, CannotPlay
from .auxiliary import read_judge
from .mlp import Layers

# Sets of 52 cards, in order: mine, the other's, the upcard, the stock below it, what the other
# has seen of mine, what I have seen of the other's; then the trick.
SETS = 6
TRICKS = 13
INPUTS = SETS * CARDS_IN_ALL + TRICKS
MOST_PLACES = CARDS_IN_ALL + 26 + 1
OUTCOMES = 14
"""From no trick of the ending to thirteen."""


@jit
def write_places(
    mine: np.uint64, theirs: np.uint64, up: np.uint64, rest: np.uint64, mine_seen: np.uint64,
    theirs_seen: np.uint64, trump: int, trick: int, places: np.ndarray,
) -> int:  # fmt: skip
    """Which inputs of the network are one, in `places`; returns how many."""
    order0, order1, order2, order3 = _order(mine, theirs, trump)
    count = 0
    for at in range(4):
        suit = order0 if at == 0 else order1 if at == 1 else order2 if at == 2 else order3
        own, other = suit_part(mine, suit), suit_part(theirs, suit)
        faced, hidden = suit_part(up, suit), suit_part(rest, suit)
        seen = suit_part(mine_seen | theirs_seen, suit)
        there = own | other | faced | hidden
        place = 13 * at + 12
        rank = ONE << np.uint64(12)
        while there:
            if there & rank:
                there ^= rank
                if own & rank:
                    places[count] = place
                    count += 1
                    if seen & rank:
                        places[count] = 4 * CARDS_IN_ALL + place
                        count += 1
                elif other & rank:
                    places[count] = CARDS_IN_ALL + place
                    count += 1
                    if seen & rank:
                        places[count] = 5 * CARDS_IN_ALL + place
                        count += 1
                else:
                    places[count] = (104 if faced & rank else 156) + place
                    count += 1
                place -= 1
            rank >>= ONE
    places[count] = SETS * CARDS_IN_ALL + trick
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
    """The same for a game that stands before a trick of the foreplay."""
    leader = np.int64(game.leader)
    base = 2 * np.int64(rules.hand) + np.int64(game.drawn)
    rest = NO_CARDS
    for place in range(1, stock_left(rules, game)):
        rest |= ONE << np.uint64(game.deal[base + place])
    return write_places(
        game.hand[leader], game.hand[1 - leader], ONE << np.uint64(game.deal[base]), rest,
        game.known[leader], game.known[1 - leader], np.int64(game.trump), np.int64(game.trick),
        places,
    )  # fmt: skip


@jit
def paid_on_average(out: np.ndarray, pays: np.ndarray) -> float:
    """What the leader is paid on average, by the network's last layer and each outcome's pay."""
    top = out[0]
    for k in range(1, len(pays)):
        top = max(top, out[k])
    total, sum_ = np.float32(0), np.float32(0)
    for k in range(len(pays)):
        share = np.exp(out[k] - top)
        total += share
        sum_ += share * pays[k]
    return sum_ / total


def check_judged(rules: Rules) -> None:
    """Refuse games that the inputs of such a network have no words for."""
    plain = rules.trumps == "upcard" and rules.faced == "every" and not rules.choice
    exact = not why_not_exact(rules)
    if not (plain and exact and rules.counts == "last" and rules.contract == "high"):
        raise CannotPlay(
            f"a network of worth does not judge {rules.name}: it knows games with one upcard, in "
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


def read_worth(wanted: str | Path, rules: Rules) -> Layers:
    """A network's numbers from its file, refused if it is none or judges other games."""
    check_judged(rules)
    return read_judge(wanted, "worth", INPUTS, OUTCOMES, rules)
