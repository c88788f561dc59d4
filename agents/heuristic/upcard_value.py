"""One number for every card: win the trick when the upcard is worth what winning costs.

**Worth.** A card's worth is its rank (2 to 14), and B more for a trump. The *gain* of a
trick is the worth of the upcard less the mean worth of the cards still unseen.

**Following.** It wins with its cheapest winner if the gain exceeds what that costs over its
cheapest loser, and else plays its cheapest loser.

**Leading.** The card of highest worth outside trumps if the gain is positive, else the card
of lowest worth. With nothing but trumps it leads the lowest.

**Endgame.** Perfect, where the cards are known.

`value:13` is about as good as `threshold`; other numbers are for comparison. Other rule sets
are read so:

- *Two cards face up*: the gain is the difference of the two, and of the two it takes the
  better.
- *Draft*: the winner takes the upcard or the hidden card, so the gain is how far the upcard
  is from the mean, either way; it takes the upcard if that is above the mean.
- *No card faced*: the gain is 0.
- *Low contracts*: every worth counts negative, so what it wants are low cards outside
  trumps, and what it gives away first are high cards and trumps. To win a trick it leads its
  card of highest rank outside trumps, as ever.
- *An exchange*: it keeps a hand whose worth is at least what as many of the unseen cards are
  worth on average; else it takes the blind one.
- *No trumps*: no card is a trump.
- *Every trick counts*: a trick taken adds to the gain what a middling card is worth over the
  lowest, six; in a low contract it takes six off. In a *race* nothing is worth more.
- *An endgame that cannot be known* (cards set aside, or hands exchanged): there is nothing to
  draw, and a card kept is worth nothing in the end, so the trick is worth more than any card.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, lowest, popcount, suit_set
from ...common.jit.compiler import jit
from ...engine.cards import KEEP, TAKE_BLIND, TAKE_HIDDEN
from ...engine.dtypes import CHOOSE, EXCHANGE, LEAD, NO_CARD, NO_TRUMP
from ...engine.play import Record, row, suit_of
from ...engine.rules import Match
from ...engine.view import legal_in_view
from ..base import Array
from .threshold import RuledAgent, winners_over

_TRICK = 6
_MOST_BONUS = 1000
_ALL_THERE_IS = 2 * _MOST_BONUS


@jit
def worth_of(card: int, trump: int, bonus: int, low: bool) -> int:
    """A card's worth: rank and trump bonus, negative in a low contract."""
    worth = card % 13 + 2 + (bonus if suit_of(card) == trump else 0)
    return -worth if low else worth


@jit
def _total_worth(cards: np.uint64, trump: int, bonus: int, low: bool) -> int:
    total = 0
    while cards:
        total += worth_of(lowest(cards), trump, bonus, low)
        cards &= cards - ONE
    return total


@jit
def _gain(rules: Record, view: Record, bonus: int) -> tuple[int, int]:
    """What winning the trick is worth beside losing it, as a fraction."""
    trump, low = np.int64(view.trump), view.low == 1
    count = max(1, popcount(view.unseen))
    above = 0
    if view.upcards[0] != NO_CARD:
        upper = worth_of(np.int64(view.upcards[0]), trump, bonus, low)
        if view.upcards[1] != NO_CARD:
            above = count * (upper - worth_of(np.int64(view.upcards[1]), trump, bonus, low))
        else:
            above = count * upper - _total_worth(view.unseen, trump, bonus, low)
    if rules.choice == 1:
        above = abs(above)
    if rules.counts_all == 1 or view.stock_left == 0:
        trick = count * (_ALL_THERE_IS if rules.race > 0 or view.stock_left == 0 else _TRICK)
        above += -trick if low else trick
    return above, count


@jit
def _extreme(cards: np.uint64, trump: int, bonus: int, low: bool, sign: int) -> int:
    """The card of highest (sign 1) or lowest (sign -1) worth, the first suit of equals."""
    best, most = -1, 0
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        worth = sign * worth_of(card, trump, bonus, low)
        if best < 0 or worth > most:
            best, most = card, worth
    return best


@jit
def value_action(rules: Record, view: Record, bonus: int) -> int:
    """What the rule plays, with so much on top for a trump."""
    trump, low = np.int64(view.trump), view.low == 1
    if view.phase == CHOOSE:
        return _chosen(view, bonus)
    if view.phase == EXCHANGE:
        mine = _total_worth(view.hand, trump, bonus, low) * popcount(view.unseen)
        blind = _total_worth(view.unseen, trump, bonus, low) * popcount(view.hand)
        return KEEP if mine >= blind else TAKE_BLIND
    above, count = _gain(rules, view, bonus)
    cards = legal_in_view(rules, view)
    if view.phase == LEAD:
        plain = cards if trump == NO_TRUMP else cards & ~suit_set(trump)
        if above > 0 and plain != NO_CARDS:
            return _extreme(plain, trump, bonus, False, 1)
        return _extreme(cards, trump, bonus, False, -1)
    winners = winners_over(cards, np.int64(view.led), trump)
    losers = cards & ~winners
    if winners == NO_CARDS:
        return _extreme(losers, trump, bonus, low, -1)
    winner = _extreme(winners, trump, bonus, low, -1)
    if losers == NO_CARDS:
        return winner
    loser = _extreme(losers, trump, bonus, low, -1)
    cost = worth_of(winner, trump, bonus, low) - worth_of(loser, trump, bonus, low)
    return winner if above > cost * count else loser


@jit
def _chosen(view: Record, bonus: int) -> int:
    trump, low = np.int64(view.trump), view.low == 1
    upper, lower = np.int64(view.upcards[0]), np.int64(view.upcards[1])
    worth = worth_of(upper, trump, bonus, low)
    if lower != NO_CARD:
        return upper if worth >= worth_of(lower, trump, bonus, low) else lower
    mean = _total_worth(view.unseen, trump, bonus, low)
    return upper if worth * popcount(view.unseen) >= mean else TAKE_HIDDEN


@jit
def value_actions(rules: np.ndarray, views: np.ndarray, bonus: int, actions: np.ndarray) -> None:
    """`value_action` for each view of an array."""
    for index in range(len(views)):
        actions[index] = value_action(row(rules, 0), row(views, index), bonus)


class ValueAgent(RuledAgent):
    """Weighs the upcard against what winning it costs, with a perfect endgame."""

    def __init__(
        self, rules: Any = "classic", bonus: int | str = 13, *, match: Match | None = None
    ):
        self.bonus = _checked_bonus(bonus)
        self.name = f"value:{self.bonus}"
        super().__init__(rules, match=match)

    def _decide(self, views: Array, actions: Array) -> None:
        value_actions(self.record, views, self.bonus, actions)


def _checked_bonus(bonus: int | str) -> int:
    text = str(bonus).strip()
    if not text.lstrip("+-").isdecimal() or abs(int(text)) > _MOST_BONUS:
        raise ValueError(
            f"value takes the bonus of a trump, a whole number up to {_MOST_BONUS} as in "
            f"value:13, not {text!r}"
        )
    return int(text)
