# pyright: reportArgumentType=false, reportReturnType=false
"""One value for every card: win the trick when the upcard's value exceeds the cost of winning.

**Value.** A card's value is its rank (2 to 14), plus B for a trump. The *gain* of a
trick is the value of the upcard minus the mean value of the unseen cards.

**Following.** It wins with its cheapest winner if the gain exceeds the cost over its
cheapest loser, and else plays its cheapest loser.

**Leading.** The card of highest value outside trumps if the gain is positive, else the card
of lowest value. With nothing but trumps it leads the lowest.

**Endgame.** Perfect, where the cards are known.

A trump counts 13 more, or N in `upcard-value:N`. With 13 it is about as good as `threshold`;
other numbers are for comparison. Other rule sets:

- *Two cards face up*: the gain is the difference of the two, and of the two it takes the
  better.
- *Draft*: the winner takes the upcard or the hidden card, so the gain is the distance of the
  upcard from the mean, either way; it takes the upcard if that is above the mean.
- *No card faced*: the gain is 0.
- *Low contracts*: every value is negative, so it wants low cards outside trumps, and gives away
  high cards and trumps first. To win a trick it leads its card of highest rank outside trumps.
- *An exchange*: it keeps a hand whose value is at least that of as many unseen cards on average;
  else it takes the blind one.
- *No trumps*: no card is a trump.
- *Every trick counts*: a trick adds to the gain the difference of a middling card to the lowest,
  six; in a low contract it takes six off. In a *race* a trick outweighs every card.
- *An endgame that cannot be known* (cards set aside, or hands exchanged): nothing is left to draw,
  so the trick outweighs every card.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import jit
from ...engine.bitset import NO_CARDS, ONE, lowest, popcount, suit_set
from ...engine.cards import KEEP, TAKE_BLIND, TAKE_HIDDEN
from ...engine.dtypes import CHOOSE, EXCHANGE, LEAD, NO_CARD, NO_TRUMP
from ...engine.play import Record, row, suit_of
from ...engine.rules import Match, RulesLike
from ...engine.view import legal_in_view
from ..base import Array
from .base import RuleAgent
from .threshold import winners_over

_TRICK_VALUE = 6
_MAX_BONUS = 1000
_BONUS = 13
_DECISIVE_TRICK = 2 * _MAX_BONUS


@jit
def card_value(card: int, trump: int, bonus: int, low: bool) -> int:
    """Rank plus trump bonus, negative in a low contract."""
    value = card % 13 + 2 + (bonus if suit_of(card) == trump else 0)
    return -value if low else value


@jit
def _total_value(cards: np.uint64, trump: int, bonus: int, low: bool) -> int:
    total = 0
    while cards:
        total += card_value(lowest(cards), trump, bonus, low)
        cards &= cards - ONE
    return total


@jit
def _gain(rules: Record, view: Record, bonus: int) -> tuple[int, int]:
    """Value of winning the trick instead of losing it, as a fraction."""
    trump, low = np.int64(view.trump), view.low == 1
    count = max(1, popcount(view.unseen))
    above = 0
    if view.upcards[0] != NO_CARD:
        upper = card_value(np.int64(view.upcards[0]), trump, bonus, low)
        if view.upcards[1] != NO_CARD:
            above = count * (upper - card_value(np.int64(view.upcards[1]), trump, bonus, low))
        else:
            above = count * upper - _total_value(view.unseen, trump, bonus, low)
    if rules.choice == 1:
        above = abs(above)
    if rules.counts_all == 1 or view.stock_left == 0:
        trick = count * (
            _DECISIVE_TRICK if rules.race > 0 or view.stock_left == 0 else _TRICK_VALUE
        )
        above += -trick if low else trick
    return above, count


@jit
def _extreme(cards: np.uint64, trump: int, bonus: int, low: bool, sign: int) -> int:
    """Card of highest (sign 1) or lowest (sign -1) value, the first suit of equals."""
    best, best_value = -1, 0
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        value = sign * card_value(card, trump, bonus, low)
        if best < 0 or value > best_value:
            best, best_value = card, value
    return best


@jit
def value_action(rules: Record, view: Record, bonus: int) -> int:
    """Action by this rule with a trump bonus."""
    trump, low = np.int64(view.trump), view.low == 1
    if view.phase == CHOOSE:
        return _chosen(view, bonus)
    if view.phase == EXCHANGE:
        own = _total_value(view.hand, trump, bonus, low) * popcount(view.unseen)
        blind = _total_value(view.unseen, trump, bonus, low) * popcount(view.hand)
        return KEEP if own >= blind else TAKE_BLIND
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
    cost = card_value(winner, trump, bonus, low) - card_value(loser, trump, bonus, low)
    return winner if above > cost * count else loser


@jit
def _chosen(view: Record, bonus: int) -> int:
    trump, low = np.int64(view.trump), view.low == 1
    upper, lower = np.int64(view.upcards[0]), np.int64(view.upcards[1])
    upper_value = card_value(upper, trump, bonus, low)
    if lower != NO_CARD:
        return upper if upper_value >= card_value(lower, trump, bonus, low) else lower
    mean = _total_value(view.unseen, trump, bonus, low)
    return upper if upper_value * popcount(view.unseen) >= mean else TAKE_HIDDEN


@jit
def value_actions(rules: np.ndarray, views: np.ndarray, bonus: int, actions: np.ndarray) -> None:
    for index in range(len(views)):
        actions[index] = value_action(row(rules, 0), row(views, index), bonus)


class UpcardValueAgent(RuleAgent):
    """Weighs the upcard against the cost of winning it; perfect endgame."""

    def __init__(
        self, rules: RulesLike = "classic", bonus: int | str = _BONUS, *, match: Match | None = None
    ):
        self.bonus = _checked_bonus(bonus)
        self.name = "upcard-value" if self.bonus == _BONUS else f"upcard-value:{self.bonus}"
        super().__init__(rules, match=match)

    def decide(self, record: Array, views: Array, actions: Array) -> None:
        value_actions(record, views, self.bonus, actions)


def _checked_bonus(bonus: int | str) -> int:
    text = str(bonus).strip()
    if not text.lstrip("+-").isdecimal() or abs(int(text)) > _MAX_BONUS:
        raise ValueError(
            f"upcard-value takes the bonus of a trump, a whole number up to {_MAX_BONUS} as in "
            f"upcard-value:9, not {text!r}"
        )
    return int(text)
