"""A rule player that counts: cards still out, known cards, voids, and what a trick is worth.

Each card it may play gets a score, a sum of counted features with fixed weights, and the
highest score is played. The weights depend on how far the foreplay is, and were fitted to
what whole searches found such cards to be worth (see docs/players.md).

- *Parting with a card* costs by its rank, by how many cards above and below it are still
  out, and by the length of its suit: top cards, long suits and trumps are kept.
- *Winning the trick* is worth what the upcard would be worth in this hand, more or less the
  lead of the next trick, which counts most at the end: it leads the endgame.
- *Leading a card*, the other may win it or have to: the chance follows from the cards that
  are out, the share of them in the other hand, the cards known to be there, and the suits it
  could not follow; and what that means depends on the upcard.

The endgame is perfect where the cards are known. Other rule sets:

- Weights were fitted for four kinds: hands played high, played low, without trumps, and with
  every trick counting. A low hand in which every trick counts goes with the other low ones.
- *Races* are over too soon for what it saves up: they are played by the rules of thumb.
- *Two cards face up*: a trick is worth the difference of the two cards, and it takes the
  better one. *Draft*: how far the upcard is from the mean of the cards unseen, either way.
- *No card faced*: the trick is worth nothing but what it costs.
- *An endgame that cannot be known* (cards set aside): by the rules of thumb.
- *An exchange*, and the hand after it, in which nothing is drawn: by the rules of thumb.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, bit, lowest, popcount, suit_set
from ...common.jit.compiler import forceinline, jit, noinline
from ...engine.cards import TAKE_HIDDEN
from ...engine.dtypes import CHOOSE, LEAD, NO_CARD, NO_TRUMP
from ...engine.play import Record, row, suit_of
from ...engine.view import legal_in_view
from ..base import Array
from .counting_weights import FOLLOWING, LEADING
from .threshold import RuledAgent, threshold_action

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
def kind_of(rules: Record, view: Record) -> int:
    """Which weights a hand is played with."""
    if view.low == 1:
        return LOW_KIND
    if rules.counts_all == 1:
        return ALL_KIND
    return NO_TRUMP_KIND if view.trump == NO_TRUMP else HIGH_KIND


@forceinline
def _blend(weights: np.ndarray, at: int, start: float, value: float) -> float:
    return value * (weights[at] * start + weights[at + 1] * (1.0 - start))


@forceinline
def _above(card: int, cards: np.uint64) -> int:
    return popcount(cards & (bit(13 * suit_of(card) + 13) - bit(card + 1)))


@forceinline
def _below(card: int, cards: np.uint64) -> int:
    return popcount(cards & (bit(card) - bit(13 * suit_of(card))))


class Holding(NamedTuple):
    """A hand, and what its cards are worth by."""

    hand: np.uint64
    out: np.uint64
    """The cards still out."""
    trump: int


@forceinline
def card_score(w: np.ndarray, at: int, start: float, card: int, holding: Holding) -> float:
    """What a card means for a hand, by weights from `at` on."""
    suit, out = suit_of(card), holding.out
    rank = (card % 13) / 12.0
    above, below = _above(card, out), _below(card, out)
    if suit == holding.trump:
        return (
            _blend(w, at, start, 1.0)
            + _blend(w, at + 2, start, rank)
            + _blend(w, at + 4, start, above / 6.0)
            + _blend(w, at + 6, start, below / 6.0)
        )
    length = popcount(holding.hand & suit_set(suit))
    score = (
        _blend(w, at + 8, start, rank)
        + _blend(w, at + 10, start, rank * rank)
        + _blend(w, at + 12, start, above / 6.0)
        + _blend(w, at + 18, start, length / 6.0)
        + _blend(w, at + 22, start, below / 6.0)
    )
    if above == 0:
        score += _blend(w, at + 14, start, 1.0)
    elif above == 1:
        score += _blend(w, at + 16, start, 1.0)
    if length == 1:
        score += _blend(w, at + 20, start, 1.0)
    return score


@forceinline
def _worth(card: int, trump: int) -> int:
    return card % 13 + 2 + (_TRUMP_BONUS if suit_of(card) == trump else 0)


@jit
def upcard_gain(rules: Record, view: Record) -> float:
    """How much better the upcard is than what the loser draws, in units of a trump's bonus."""
    trump = np.int64(view.trump)
    if view.upcards[0] == NO_CARD:
        return 0.0
    upper = 1.0 * _worth(np.int64(view.upcards[0]), trump)
    if view.upcards[1] != NO_CARD:
        return (upper - _worth(np.int64(view.upcards[1]), trump)) / _TRUMP_BONUS
    count = popcount(view.unseen)
    total = _TRUMP_BONUS * popcount(view.unseen & suit_set(trump)) if trump != NO_TRUMP else 0
    for rank in range(13):
        # The cards of one rank: one bit in every thirteen.
        total += (rank + 2) * popcount((view.unseen >> np.uint64(rank)) & _ONE_A_SUIT)
    gain = (upper - total / max(1, count)) / _TRUMP_BONUS
    return abs(gain) if rules.choice == 1 else gain


_ONE_A_SUIT = np.uint64(1 | 1 << 13 | 1 << 26 | 1 << 39)


# -- following


@jit
def _stock_score(view: Record, w: np.ndarray, start: float, card: int) -> float:
    """What a stock card would be worth in this hand, compared with another one."""
    trump = np.int64(view.trump)
    out = (view.unseen | view.opponent_known | view.faced) & ~bit(card)
    score = card_score(w, PRIZE, start, card, Holding(view.hand, out, trump))
    return score + _blend(w, WON + 3, start, _worth(card, trump) / _TRUMP_BONUS)


@jit
def prize(rules: Record, view: Record, w: np.ndarray, start: float, gain: float) -> float:
    """What winning the trick is worth beside losing it, but for the cards played."""
    trump = np.int64(view.trump)
    if view.upcards[0] == NO_CARD:
        return 0.0
    upper = np.int64(view.upcards[0])
    if view.upcards[1] != NO_CARD:
        more = _stock_score(view, w, start, upper)
        more -= _stock_score(view, w, start, np.int64(view.upcards[1]))
        return abs(more) if rules.choice == 1 else more
    out = view.unseen | view.opponent_known | view.faced
    score = _blend(w, WON, start, 1.0) + _blend(w, WON + 3, start, gain)
    if view.stock_left == 2:
        score += w[WON + 2] + w[WON + 5] * gain
    elif view.stock_left == 4:
        score += w[WON + 6] + w[WON + 7] * gain
    holding = Holding(view.hand, out & ~bit(upper), trump)
    score += card_score(w, PRIZE, start, upper, holding)
    if trump != NO_TRUMP:
        share = popcount(view.unseen & suit_set(trump)) / max(1, popcount(view.unseen))
        score += _blend(w, MEAN, start, share)
    return abs(score) if rules.choice == 1 else score


@jit
def _follow(rules: Record, view: Record, w: np.ndarray, cards: np.uint64) -> int:
    trump, led = np.int64(view.trump), np.int64(view.led)
    start = view.stock_left / rules.stock
    won = prize(rules, view, w, start, upcard_gain(rules, view))
    holding = Holding(view.hand, view.unseen | view.opponent_known | view.faced, trump)
    best, most = -1, 0.0
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        score = card_score(w, CARD, start, card, holding)
        if suit_of(card) == suit_of(led):
            if card > led:
                score += won
        elif suit_of(card) == trump:
            score += won + _blend(w, RUFFED, start, 1.0)
        if best < 0 or score > most:
            best, most = card, score
    return best


# -- leading


@forceinline
def _share(view: Record, suit: int, unseen: int, hidden: int) -> float:
    """The chance that an unseen card of a suit is in the other hand."""
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
        absent = 1.0 - _share(view, trump, unseen, hidden)
        ruffs = 1.0 - _power(absent, popcount(view.unseen & suit_set(trump)))
        if view.opponent_known & suit_set(trump):
            ruffs = 1.0
    best, most = -1, 0.0
    for suit in range(4):
        held = cards & suit_set(suit)
        if held == NO_CARDS:
            continue
        absent = 1.0 - _share(view, suit, unseen, hidden)
        in_suit, known = view.unseen & suit_set(suit), view.opponent_known & suit_set(suit)
        for_suit = w[LED + 4] * gain * popcount(view.hand & suit_set(suit)) / 6.0
        for_suit += (w[LED + 5] + w[LED + 6] * gain) * popcount(known) / 3.0
        for_suit += w[LED + 7] * popcount(out & suit_set(suit)) / 6.0
        while held:
            card = lowest(held)
            held &= held - ONE
            none_above = 0.0 if _above(card, known) else _power(absent, _above(card, in_suit))
            none_below = 0.0 if _below(card, known) else _power(absent, _below(card, in_suit))
            void = none_above * none_below
            ruffed = void * ruffs if suit != trump else 0.0
            score = for_suit + card_score(w, CARD, start, card, holding)
            can_win = 1.0 - none_above + ruffed
            must_lose = none_above * (1.0 - void) + void - ruffed
            must_win = (1.0 - none_above) * none_below
            score += _meaning(w, 0, start, gain, is_last) * can_win
            score += _meaning(w, 1, start, gain, is_last) * must_lose
            score += _meaning(w, 2, start, gain, is_last) * must_win
            score += _meaning(w, 3, start, gain, is_last) * ruffed
            rank = (card % 13) / 12.0
            if suit == trump:
                score += (w[LED + 1] + w[LED + 2] * rank) * gain
            else:
                score += (w[LED] * gain + w[LED + 3] * abs(gain)) * rank
            if best < 0 or score > most:
                best, most = card, score
    return best


@forceinline
def _meaning(w: np.ndarray, which: int, start: float, gain: float, is_last: bool) -> float:
    """What it means that the other can win, must lose, must win, or can ruff."""
    at = CHANCES + CHANCE_SIZE * which
    sign = 2 if gain > 0.0 else 4
    score = _blend(w, at, start, 1.0) + _blend(w, at + sign, start, gain)
    if is_last:
        score += w[at + 6] + w[at + 7] * gain
    return score


# -- the player


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
    """What the counting player plays."""
    kind = kind_of(rules, view)
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
    """`counting_action` for each view of an array."""
    for index in range(len(views)):
        actions[index] = counting_action(row(rules, 0), row(views, index))


class CountingAgent(RuledAgent):
    """Counts what is out, where it may be, and what a trick is worth; perfect endgame."""

    name = "counting"

    def _decide(self, views: Array, actions: Array) -> None:
        counting_actions(self.record, views, actions)
