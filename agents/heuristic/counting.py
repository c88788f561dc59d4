# pyright: reportArgumentType=false, reportReturnType=false
"""`counting`: a rule-based agent that counts cards still out, known cards and voids.

Each playable card gets a score, a sum of counted features with fixed weights, and the highest
score is played. The weights are interpolated over the foreplay, and were fitted to search values
(see docs/develop/agents.md).

- *Parting with a card* costs by its rank, the number of cards above and below it that are still
  out, and the length of its suit: top cards, long suits and trumps are kept.
- *Winning the trick* is valued as the upcard in this hand, plus or minus the lead of the next
  trick, which counts most at the end: it leads the endgame.
- *Leading a card*: the probabilities that the opponent can win, must lose, must win or can ruff
  follow from the cards that are out, the part of them in the opponent's hand, the cards known to
  be there, and the voids shown; their values depend on the upcard.

The endgame is perfect where the cards are known. Other rule sets:

- Weights were fitted for four kinds of hands: high, low, without trumps, and with every trick
  counting. A low hand in which every trick counts uses the low weights.
- *Races* are too short for what it saves up: played by the rules of thumb.
- *Two cards face up*: the value of a trick is the difference of the two, and it takes the better
  one. *Draft*: the distance of the upcard from the mean of the unseen cards, either way.
- *No card faced*: the trick has no value but its cost.
- *An endgame that cannot be known* (cards set aside), *an exchange*, and the hand after it, in
  which nothing is drawn: by the rules of thumb.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import forceinline, jit, noinline
from ...engine.bitset import NO_CARDS, ONE, bit, lowest, popcount, suit_set
from ...engine.cards import TAKE_HIDDEN
from ...engine.dtypes import CHOOSE, LEAD, NO_CARD, NO_TRUMP
from ...engine.play import Record, row, suit_of
from ...engine.view import legal_in_view
from .base import RuleAgent
from .counting_weights import FOLLOWING, LEADING
from .threshold import ONE_A_SUIT, threshold_action

_TRUMP_BONUS = 13

# Features come in pairs: at the start of the foreplay, and at its end.
CARD = 0  # a card, parted with or won: four for a trump, eight for any other card
CARD_SIZE = 24
CHANCES = CARD_SIZE  # leading: four chances, with eight features each
CHANCE_SIZE = 8
LED = CHANCES + 4 * CHANCE_SIZE  # leading: the card and its suit
WON = CARD_SIZE  # following: the trick is won
PRIZE = WON + 8  # and with it the upcard
MEAN = PRIZE + CARD_SIZE  # instead of a card unseen
RUFFED = MEAN + 2

HIGH_KIND, LOW_KIND, NO_TRUMP_KIND, ALL_KIND = 0, 1, 2, 3


@jit
def weights_index(rules: Record, view: Record) -> int:
    if view.low == 1:
        return LOW_KIND
    if rules.counts_all == 1:
        return ALL_KIND
    return NO_TRUMP_KIND if view.trump == NO_TRUMP else HIGH_KIND


@forceinline
def _blend(weights: np.ndarray, index: int, start: float, value: float) -> float:
    return value * (weights[index] * start + weights[index + 1] * (1.0 - start))


@forceinline
def _above(card: int, cards: np.uint64) -> int:
    return popcount(cards & (bit(13 * suit_of(card) + 13) - bit(card + 1)))


@forceinline
def _below(card: int, cards: np.uint64) -> int:
    return popcount(cards & (bit(card) - bit(13 * suit_of(card))))


class Holding(NamedTuple):
    """A hand, with the cards that give its cards their values."""

    hand: np.uint64
    out: np.uint64
    """Cards still out."""
    trump: int


@forceinline
def card_score(w: np.ndarray, index: int, start: float, card: int, holding: Holding) -> float:
    """Value of a card in a hand, by the weights from `index` on."""
    suit, out = suit_of(card), holding.out
    rank = (card % 13) / 12.0
    above, below = _above(card, out), _below(card, out)
    if suit == holding.trump:
        return (
            _blend(w, index, start, 1.0)
            + _blend(w, index + 2, start, rank)
            + _blend(w, index + 4, start, above / 6.0)
            + _blend(w, index + 6, start, below / 6.0)
        )
    length = popcount(holding.hand & suit_set(suit))
    score = (
        _blend(w, index + 8, start, rank)
        + _blend(w, index + 10, start, rank * rank)
        + _blend(w, index + 12, start, above / 6.0)
        + _blend(w, index + 18, start, length / 6.0)
        + _blend(w, index + 22, start, below / 6.0)
    )
    if above == 0:
        score += _blend(w, index + 14, start, 1.0)
    elif above == 1:
        score += _blend(w, index + 16, start, 1.0)
    if length == 1:
        score += _blend(w, index + 20, start, 1.0)
    return score


@forceinline
def _card_value(card: int, trump: int) -> int:
    return card % 13 + 2 + (_TRUMP_BONUS if suit_of(card) == trump else 0)


@jit
def upcard_gain(rules: Record, view: Record) -> float:
    """Value of the upcard minus that of the loser's card, in units of the trump bonus."""
    trump = np.int64(view.trump)
    if view.upcards[0] == NO_CARD:
        return 0.0
    upper = 1.0 * _card_value(np.int64(view.upcards[0]), trump)
    if view.upcards[1] != NO_CARD:
        return (upper - _card_value(np.int64(view.upcards[1]), trump)) / _TRUMP_BONUS
    count = popcount(view.unseen)
    total = _TRUMP_BONUS * popcount(view.unseen & suit_set(trump)) if trump != NO_TRUMP else 0
    for rank in range(13):
        # The cards of one rank: one bit in every thirteen.
        total += (rank + 2) * popcount((view.unseen >> np.uint64(rank)) & ONE_A_SUIT)
    gain = (upper - total / max(1, count)) / _TRUMP_BONUS
    return abs(gain) if rules.choice == 1 else gain


# -- following


@jit
def _stock_score(view: Record, w: np.ndarray, start: float, card: int) -> float:
    """Value of a stock card in this hand, compared with another one."""
    trump = np.int64(view.trump)
    out = (view.unseen | view.opponent_known | view.faced) & ~bit(card)
    score = card_score(w, PRIZE, start, card, Holding(view.hand, out, trump))
    return score + _blend(w, WON + 3, start, _card_value(card, trump) / _TRUMP_BONUS)


@jit
def prize(rules: Record, view: Record, w: np.ndarray, start: float, gain: float) -> float:
    """Value of winning the trick instead of losing it, without the cards played."""
    trump = np.int64(view.trump)
    if view.upcards[0] == NO_CARD:
        return 0.0
    upper = np.int64(view.upcards[0])
    if view.upcards[1] != NO_CARD:
        difference = _stock_score(view, w, start, upper)
        difference -= _stock_score(view, w, start, np.int64(view.upcards[1]))
        return abs(difference) if rules.choice == 1 else difference
    out = view.unseen | view.opponent_known | view.faced
    score = _blend(w, WON, start, 1.0) + _blend(w, WON + 3, start, gain)
    if view.stock_left == 2:
        score += w[WON + 2] + w[WON + 5] * gain
    elif view.stock_left == 4:
        score += w[WON + 6] + w[WON + 7] * gain
    holding = Holding(view.hand, out & ~bit(upper), trump)
    score += card_score(w, PRIZE, start, upper, holding)
    if trump != NO_TRUMP:
        fraction = popcount(view.unseen & suit_set(trump)) / max(1, popcount(view.unseen))
        score += _blend(w, MEAN, start, fraction)
    return abs(score) if rules.choice == 1 else score


@jit
def _follow(rules: Record, view: Record, w: np.ndarray, cards: np.uint64) -> int:
    trump, led = np.int64(view.trump), np.int64(view.led)
    start = view.stock_left / rules.stock
    won = prize(rules, view, w, start, upcard_gain(rules, view))
    holding = Holding(view.hand, view.unseen | view.opponent_known | view.faced, trump)
    best, best_score = -1, 0.0
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        score = card_score(w, CARD, start, card, holding)
        if suit_of(card) == suit_of(led):
            if card > led:
                score += won
        elif suit_of(card) == trump:
            score += won + _blend(w, RUFFED, start, 1.0)
        if best < 0 or score > best_score:
            best, best_score = card, score
    return best


# -- leading


@forceinline
def _hold_probability(view: Record, suit: int, unseen: int, hidden: int) -> float:
    """Probability that an unseen card of a suit is in the opponent's hand."""
    draws = np.int64(view.void_draws[suit])
    return min(hidden, draws if draws >= 0 else hidden) / max(1, unseen)


@forceinline
def _power(base: float, exponent: int) -> float:
    product = 1.0
    for _ in range(exponent):
        product *= base
    return product


@jit
def _lead(rules: Record, view: Record, w: np.ndarray, cards: np.uint64) -> int:
    trump = np.int64(view.trump)
    start = view.stock_left / rules.stock
    gain = upcard_gain(rules, view)
    unseen = popcount(view.unseen)
    hidden = np.int64(view.opponent_hand_size) - popcount(view.opponent_known)
    out = view.unseen | view.opponent_known | view.faced
    holding, is_last = Holding(view.hand, out, trump), view.stock_left == 2
    ruffs = 0.0
    if trump != NO_TRUMP:
        absent = 1.0 - _hold_probability(view, trump, unseen, hidden)
        ruffs = 1.0 - _power(absent, popcount(view.unseen & suit_set(trump)))
        if view.opponent_known & suit_set(trump):
            ruffs = 1.0
    best, best_score = -1, 0.0
    for suit in range(4):
        suit_cards = cards & suit_set(suit)
        if suit_cards == NO_CARDS:
            continue
        absent = 1.0 - _hold_probability(view, suit, unseen, hidden)
        unseen_in_suit = view.unseen & suit_set(suit)
        known_in_suit = view.opponent_known & suit_set(suit)
        suit_score = w[LED + 4] * gain * popcount(view.hand & suit_set(suit)) / 6.0
        suit_score += (w[LED + 5] + w[LED + 6] * gain) * popcount(known_in_suit) / 3.0
        suit_score += w[LED + 7] * popcount(out & suit_set(suit)) / 6.0
        while suit_cards:
            card = lowest(suit_cards)
            suit_cards &= suit_cards - ONE
            none_above = (
                0.0 if _above(card, known_in_suit) else _power(absent, _above(card, unseen_in_suit))
            )
            none_below = (
                0.0 if _below(card, known_in_suit) else _power(absent, _below(card, unseen_in_suit))
            )
            void = none_above * none_below
            ruffed = void * ruffs if suit != trump else 0.0
            score = suit_score + card_score(w, CARD, start, card, holding)
            can_win = 1.0 - none_above + ruffed
            must_lose = none_above * (1.0 - void) + void - ruffed
            must_win = (1.0 - none_above) * none_below
            score += _outcome_score(w, 0, start, gain, is_last) * can_win
            score += _outcome_score(w, 1, start, gain, is_last) * must_lose
            score += _outcome_score(w, 2, start, gain, is_last) * must_win
            score += _outcome_score(w, 3, start, gain, is_last) * ruffed
            rank = (card % 13) / 12.0
            if suit == trump:
                score += (w[LED + 1] + w[LED + 2] * rank) * gain
            else:
                score += (w[LED] * gain + w[LED + 3] * abs(gain)) * rank
            if best < 0 or score > best_score:
                best, best_score = card, score
    return best


@forceinline
def _outcome_score(w: np.ndarray, outcome: int, start: float, gain: float, is_last: bool) -> float:
    index = CHANCES + CHANCE_SIZE * outcome
    sign = 2 if gain > 0.0 else 4
    score = _blend(w, index, start, 1.0) + _blend(w, index + sign, start, gain)
    if is_last:
        score += w[index + 6] + w[index + 7] * gain
    return score


# -- the agent


@jit
def _chosen(view: Record, w: np.ndarray, start: float) -> int:
    upper, lower = np.int64(view.upcards[0]), np.int64(view.upcards[1])
    score = _stock_score(view, w, start, upper)
    if lower != NO_CARD:
        return upper if score >= _stock_score(view, w, start, lower) else lower
    mean, count = 0.0, 0
    cards = view.unseen
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        mean += _stock_score(view, w, start, card)
        count += 1
    return upper if score * count >= mean else TAKE_HIDDEN


@noinline
def counting_action(rules: Record, view: Record) -> int:
    kind = weights_index(rules, view)
    if view.phase == CHOOSE and rules.race == 0:
        return _chosen(view, FOLLOWING[kind], view.stock_left / rules.stock)
    if view.stock_left == 0 or rules.race > 0:
        return threshold_action(rules, view)
    cards = legal_in_view(rules, view)
    if cards & (cards - ONE) == NO_CARDS:
        return lowest(cards)
    if view.phase == LEAD:
        return _lead(rules, view, LEADING[kind], cards)
    return _follow(rules, view, FOLLOWING[kind], cards)


@jit
def counting_actions(rules: np.ndarray, views: np.ndarray, actions: np.ndarray) -> None:
    for index in range(len(views)):
        actions[index] = counting_action(row(rules, 0), row(views, index))


class CountingAgent(RuleAgent):
    """Counts cards, voids and known cards; perfect endgame."""

    name = "counting"
    decide = staticmethod(counting_actions)
