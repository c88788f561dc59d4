# pyright: reportArgumentType=false, reportOptionalMemberAccess=false
"""The classic rules of thumb: go for trumps and high cards, and save strength otherwise.

**Wanting.** It wants the upcard if that is a trump or a queen or better. With no card
faced it wants nothing.

**Leading.** The highest non-trump if it wants the card, else the lowest non-trump; trumps
only when it has nothing else. Of equal ranks the first suit in order.

**Following.** If it wants the card and can win: the lowest winning non-trump, else the
lowest winning trump. Otherwise the lowest non-trump it may play, else the lowest trump.

**Endgame.** Perfect, where the cards are known; in a race for its result.

Other rule sets:

- *Two cards face up*: it wants the trick if it wants either of them.
- *Choosing*: of two faced cards the one of higher value, a trump counting 13 ranks more;
  between the upcard and the hidden card, the upcard if it wants it.
- *Low contracts*: it wants an eight or lower that is no trump, and chooses the card of lowest
  value. It wins with its highest winner, and loses with its highest loser, to get rid of
  dangerous cards; it leads its highest card to win a trick and its lowest to lose it.
- *An exchange*: it keeps a hand with at least as many wanted cards as a blind hand has on average,
  by the unseen cards; else it takes the blind one.
- *No trumps*: no card is a trump.
- *Every trick counts*: the same rules; wanting every trick is weaker.
- *Races in which every trick counts*, and *an endgame that cannot be known* (cards set aside): it
  wants every trick, and in a low contract none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import jit, noinline
from ...engine.bitset import NO_CARDS, ONE, SUIT_BITS, bit, highest, lowest, popcount, suit_set
from ...engine.cards import KEEP, TAKE_BLIND, TAKE_HIDDEN
from ...engine.dtypes import CHOOSE, EXCHANGE, LEAD, NO_CARD, NO_TRUMP
from ...engine.play import Record, row, suit_of
from ...engine.view import legal_in_view
from .base import RuleAgent

_QUEEN = 10
_EIGHT = 6
ONE_A_SUIT = np.uint64(1 | 1 << 13 | 1 << 26 | 1 << 39)


@jit
def ranks_of(cards: np.uint64) -> np.uint64:
    """Ranks that a set has in any suit, as 13 bits."""
    folded = cards | (cards >> np.uint64(26))
    return (folded | (folded >> np.uint64(13))) & SUIT_BITS


@jit
def _first_suit_with(cards: np.uint64, rank: int) -> int:
    of_rank = (cards >> np.uint64(rank)) & ONE_A_SUIT
    return suit_of(lowest(of_rank))


@jit
def lowest_rank(cards: np.uint64) -> int:
    """Card of lowest rank in a nonempty set, the first suit of equals."""
    rank = lowest(ranks_of(cards))
    return 13 * _first_suit_with(cards, rank) + rank


@jit
def highest_rank(cards: np.uint64) -> int:
    """Card of highest rank in a nonempty set, the first suit of equals."""
    rank = highest(ranks_of(cards))
    return 13 * _first_suit_with(cards, rank) + rank


@jit
def winners_over(cards: np.uint64, led: int, trump: int) -> np.uint64:
    suit = suit_of(led)
    # All cards of the suit above the one led; a shift by 13 * suit + 13 stays below 64.
    above = (bit(13 * suit + 13) - bit(led + 1)) & cards
    if trump != NO_TRUMP and trump != suit:
        above |= cards & suit_set(trump)
    return above


class Situation(NamedTuple):
    """Inputs of the rules of thumb, from a view or a game."""

    phase: int
    legal: np.uint64
    led: int
    upper: int
    """The faced stock card (of two, the upper one), or `NO_CARD`."""
    lower: int
    stock_left: int
    trump: int
    low: bool


@jit
def _wants_card(card: int, trump: int, low: bool) -> bool:
    is_trump = suit_of(card) == trump
    if low:
        return not is_trump and card % 13 <= _EIGHT
    return is_trump or card % 13 >= _QUEEN


@jit
def _wants_trick(rules: Record, situation: Situation) -> bool:
    trump, low = situation.trump, situation.low
    if situation.stock_left == 0 or (rules.race > 0 and rules.counts_all == 1):
        return not low
    upper, lower = situation.upper, situation.lower
    if upper != NO_CARD and _wants_card(upper, trump, low):
        return True
    return lower != NO_CARD and _wants_card(lower, trump, low)


@jit
def _value(card: int, trump: int) -> int:
    return card % 13 + (13 if suit_of(card) == trump else 0)


@jit
def _chosen(upper: int, lower: int, trump: int, low: bool) -> int:
    if lower == NO_CARD:
        return upper if _wants_card(upper, trump, low) else TAKE_HIDDEN
    upper_is_worth_more = _value(upper, trump) >= _value(lower, trump)
    return upper if upper_is_worth_more != low else lower


@jit
def _count_wanted(cards: np.uint64, trump: int, low: bool) -> int:
    count = 0
    while cards:
        if _wants_card(lowest(cards), trump, low):
            count += 1
        cards &= cards - ONE
    return count


@noinline
def choose_exchange(hand: np.uint64, unseen: np.uint64, trump: int, low: bool) -> int:
    """Keep a hand that is at least as good as the mean blind one, else take the blind hand."""
    own = _count_wanted(hand, trump, low) * popcount(unseen)
    blind_hand = _count_wanted(unseen, trump, low) * popcount(hand)
    return KEEP if own >= blind_hand else TAKE_BLIND


@jit
def _outside(cards: np.uint64, trumps: np.uint64) -> np.uint64:
    plain = cards & ~trumps
    return plain if plain != NO_CARDS else cards


@jit
def rule_of_thumb(rules: Record, situation: Situation) -> int:
    """Action by the rules of thumb, except in an exchange."""
    legal, trump, low = situation.legal, situation.trump, situation.low
    if situation.phase == CHOOSE:
        return _chosen(situation.upper, situation.lower, trump, low)
    trumps = NO_CARDS if trump == NO_TRUMP else suit_set(trump)
    wants = _wants_trick(rules, situation)
    if situation.phase == LEAD:
        pool = _outside(legal, trumps)
        return highest_rank(pool) if wants else lowest_rank(pool)
    winners = winners_over(legal, situation.led, trump)
    if low:
        fitting = winners if wants else legal & ~winners
        return highest_rank(fitting if fitting != NO_CARDS else legal)
    if wants and winners != NO_CARDS:
        return lowest_rank(_outside(winners, trumps))
    return lowest_rank(_outside(legal, trumps))


@jit
def threshold_action(rules: Record, view: Record) -> int:
    if view.phase == EXCHANGE:
        return choose_exchange(view.hand, view.unseen, np.int64(view.trump), view.low == 1)
    situation = Situation(
        phase=np.int64(view.phase),
        legal=legal_in_view(rules, view),
        led=np.int64(view.led),
        upper=np.int64(view.upcards[0]),
        lower=np.int64(view.upcards[1]),
        stock_left=np.int64(view.stock_left),
        trump=np.int64(view.trump),
        low=view.low == 1,
    )
    return rule_of_thumb(rules, situation)


@jit
def threshold_actions(rules: np.ndarray, views: np.ndarray, actions: np.ndarray) -> None:
    for index in range(len(views)):
        actions[index] = threshold_action(row(rules, 0), row(views, index))


class ThresholdAgent(RuleAgent):
    """The classic rules of thumb, with a perfect endgame where that is defined."""

    name = "threshold"
    decide = staticmethod(threshold_actions)
