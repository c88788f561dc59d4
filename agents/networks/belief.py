# pyright: reportArgumentType=false
"""Belief network: odds of each unseen card to be in the opponent's hand, and hands drawn by them.

Its input is what a player may know, and the history: the sets of cards, and for each past trick
the opponent's card, the player's own card and the upcard. Its output is a logit for each card to
be in the opponent's hand. Hands are drawn in proportion to the product of their cards' odds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...common.jit.compiler import allocates, jit
from ...engine.bitset import NO_CARDS, ONE, bit, lowest, popcount
from ...engine.cards import N_CARDS
from ...engine.dtypes import FOLLOW, NO_CARD, UNSEEN_CARD
from ...engine.observation.spec import OBSERVATION_SPEC, ObservationSpec
from ...engine.observation.suit_order import trump_first_order
from ...engine.play import Record, row, suit_of
from ...engine.rng import random_fraction
from ...engine.rules import Rules
from ...engine.view import i_won
from ..base import Array
from .mlp import MLPBatch, MLPWeights, forward_rows, new_mlp_batch
from .search_networks import read_search_network

_TRICKS = 13
TRICK_SPEC = ObservationSpec(
    1,
    [
        ("opponent_led", N_CARDS, "the card that the opponent led"),
        ("opponent_followed", N_CARDS, "the card that the opponent followed with"),
        ("mine", N_CARDS, "the player's own card"),
        ("upcard", N_CARDS, "the stock card that was played for"),
    ],
)
"""Index table of one past trick in the belief network's input."""
_SHARED = (
    "own_hand",
    "upcards",
    "led",
    "played_by_me",
    "played_by_opponent",
    "opponent_known",
    "unseen",
    "opponent_void",
)
BELIEF_SPEC = ObservationSpec(
    1,
    [
        *((group.name, group.size, group.about) for group in map(OBSERVATION_SPEC.group, _SHARED)),
        ("trick", _TRICKS, "how many tricks are over, one-hot, the last place for 12 or more"),
        ("leads", 1, "the player is not to follow"),
        ("past", TRICK_SPEC.size * (_TRICKS - 1), "the first 12 tricks, each as `TRICK_SPEC`"),
    ],
)
"""Index table of the belief network's input, which begins like an observation."""
INPUTS = BELIEF_SPEC.size

(
    _OWN_HAND,
    _UPCARDS,
    _LED,
    _PLAYED_BY_ME,
    _PLAYED_BY_OPPONENT,
    _OPPONENT_KNOWN,
    _UNSEEN,
    _OPPONENT_VOID,
    _TRICK,
    _LEADS,
    _PAST_TRICKS,
) = (group.start for group in BELIEF_SPEC.groups)
_VOIDS = BELIEF_SPEC.group("opponent_void").size // 4
_TRICK_SIZE = TRICK_SPEC.size
_OPPONENT_LED, _OPPONENT_FOLLOWED, _OWN_CARD, _UPCARD = (group.start for group in TRICK_SPEC.groups)

MAX_BELIEF_INPUTS = N_CARDS + 4 + 2 + 2 + 3 * (_TRICKS - 1)
MAX_HIDDEN_CARDS = 13
MAX_ODDS = 1e4


@jit
def _shown_index(card: int, positions: np.ndarray) -> int:
    return 13 * np.int64(positions[suit_of(card)]) + card % 13


@jit
def _write_set(
    cards: np.uint64, start: int, positions: np.ndarray, out: np.ndarray, count: int
) -> int:
    while cards:
        out[count] = start + _shown_index(lowest(cards), positions)
        count += 1
        cards &= cards - ONE
    return count


@jit
def write_belief_inputs(
    rules: Record, view: Record, order: np.ndarray, positions: np.ndarray, out: np.ndarray
) -> int:
    """Write into `out` the indices in `BELIEF_SPEC` that are 1 for a view; returns their number.

    `order` becomes the suit at each shown position, `positions` the inverse.
    """
    trump_first_order(rules, view, order)
    for place in range(4):
        positions[order[place]] = place
    count = 0
    led = bit(np.int64(view.led)) if view.led != NO_CARD else NO_CARDS
    count = _write_set(view.hand, _OWN_HAND, positions, out, count)
    count = _write_set(view.faced, _UPCARDS, positions, out, count)
    count = _write_set(led, _LED, positions, out, count)
    count = _write_set(view.played[0], _PLAYED_BY_ME, positions, out, count)
    count = _write_set(view.played[1], _PLAYED_BY_OPPONENT, positions, out, count)
    count = _write_set(view.opponent_known, _OPPONENT_KNOWN, positions, out, count)
    count = _write_set(view.unseen, _UNSEEN, positions, out, count)
    for suit in range(4):
        since = np.int64(view.void_draws[suit])
        if since >= 0:
            out[count] = _OPPONENT_VOID + _VOIDS * positions[suit] + min(since, _VOIDS - 1)
            count += 1
    trick = np.int64(view.trick)
    out[count] = _TRICK + min(trick, _TRICKS - 1)
    count += 1
    if view.phase != FOLLOW:
        out[count] = _LEADS
        count += 1
    for past in range(min(trick, _TRICKS - 1)):
        count = _write_trick(view, past, positions, out, count)
    return count


@jit
def _write_trick(
    view: Record, trick: int, positions: np.ndarray, out: np.ndarray, count: int
) -> int:
    start = _PAST_TRICKS + _TRICK_SIZE * trick
    led, followed = np.int64(view.led_cards[trick]), np.int64(view.followed_cards[trick])
    if view.i_led[trick] == 1:
        out[count] = start + _OPPONENT_FOLLOWED + _shown_index(followed, positions)
        out[count + 1] = start + _OWN_CARD + _shown_index(led, positions)
    else:
        out[count] = start + _OPPONENT_LED + _shown_index(led, positions)
        out[count + 1] = start + _OWN_CARD + _shown_index(followed, positions)
    count += 2
    upcard = (
        np.int64(view.my_draws[trick])
        if i_won(view, trick)
        else np.int64(view.opponent_draws[trick])
    )
    if upcard < UNSEEN_CARD:
        out[count] = start + _UPCARD + _shown_index(upcard, positions)
        count += 1
    return count


@jit
def write_odds(view: Record, positions: np.ndarray, logits: np.ndarray, odds: np.ndarray) -> None:
    """Write the odds of each unseen card to be in the opponent's hand."""
    odds[:] = 0.0
    cards = view.unseen
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        if view.void_draws[suit_of(card)] != 0:
            odd = np.exp(np.float64(logits[_shown_index(card, positions)]))
            odds[card] = min(max(odd, 1 / MAX_ODDS), MAX_ODDS)


@jit
@allocates
def _sum_products(cards: np.uint64, count: int, odds: np.ndarray, sums: np.ndarray) -> None:
    """Elementary symmetric polynomials of the odds, for drawing whole hands.

    Independent draws by each card's probability would seldom give the right number of cards.
    `sums[i, k]` becomes the sum, over every choice of `k` among the cards but the lowest `i`,
    of the product of their odds.
    """
    n = popcount(cards)
    order = np.empty(n, np.int64)
    for place in range(n):
        order[place] = lowest(cards)
        cards &= cards - ONE
    sums[n, :] = 0.0
    sums[n, 0] = 1.0
    for place in range(n - 1, -1, -1):
        sums[place, 0] = 1.0
        for k in range(1, count + 1):
            sums[place, k] = sums[place + 1, k] + odds[order[place]] * sums[place + 1, k - 1]


@jit
def sum_hand_weights(cards: np.uint64, count: int, odds: np.ndarray, sums: np.ndarray) -> None:
    """`_sum_products`, with positive odds for every card if no hand of this size is possible."""
    _sum_products(cards, count, odds, sums)
    if sums[0, count] > 0.0:
        return
    for card in range(len(odds)):
        odds[card] = max(odds[card], 1 / MAX_ODDS)
    _sum_products(cards, count, odds, sums)


@jit
def draw_weighted_hand(
    cards: np.uint64, count: int, odds: np.ndarray, sums: np.ndarray, stream: np.ndarray
) -> np.uint64:
    """Draw a hand of `count` cards in proportion to the product of their odds."""
    hand = NO_CARDS
    place = 0
    while count > 0 and cards:
        card = lowest(cards)
        cards &= cards - ONE
        with_card = odds[card] * sums[place + 1, count - 1]
        forced = sums[place + 1, count] == 0.0
        if forced or random_fraction(stream) * sums[place, count] < with_card:
            hand |= bit(card)
            count -= 1
        place += 1
    return hand


def read_belief_network(source: str | Path, rules: Rules) -> MLPWeights:
    return read_search_network(source, "belief", INPUTS, N_CARDS, rules)


@jit
@allocates
def _write_view_odds(
    rules: np.ndarray, views: np.ndarray, net: MLPWeights, rows: MLPBatch, odds: np.ndarray
) -> None:
    order, positions = np.zeros(4, np.uint8), np.zeros(4, np.int64)
    for index in range(len(views)):
        view = row(views, index)
        rows.n_active[0] = write_belief_inputs(
            row(rules, 0), view, order, positions, rows.active_inputs[0]
        )
        forward_rows(net, rows, 1)
        write_odds(view, positions, rows.out[0], odds[index])


def view_beliefs(rules: Rules, views: Array, net: MLPWeights) -> Array:
    """`(n, 52)`: probability of each card to be in the opponent's hand, 1 for known ones.

    The network's odds are those of hands of the right size, as the searches draw them.
    """
    odds = np.zeros((len(views), N_CARDS))
    _write_view_odds(rules.array(), views, net, new_mlp_batch(net, 1, MAX_BELIEF_INPUTS), odds)
    known = _as_flags(views["opponent_known"])
    hidden = views["opponent_hand_size"].astype(np.int64) - known.sum(axis=1)
    unseen = _as_flags(views["unseen"])
    beliefs = known.astype(np.float64)
    for index, count in enumerate(hidden.tolist()):
        cards = np.flatnonzero(unseen[index])
        beliefs[index, cards] = inclusion_probabilities(odds[index, cards], count)
    return beliefs


def inclusion_probabilities(odds: Array, count: int) -> Array:
    """Probability of each card in a set of `count`, drawn in proportion to its product of odds."""
    if np.count_nonzero(odds) < count:  # as `sum_hand_weights` does
        odds = np.maximum(odds, 1 / MAX_ODDS)
    # Polynomials whose coefficient of x^k sums the products of k odds, below and above each card.
    below, above = [np.ones(1)], [np.ones(1)]
    for odd in odds:
        below.append(np.convolve(below[-1], (1.0, odd))[: count + 1])
    for odd in odds[::-1]:
        above.append(np.convolve(above[-1], (1.0, odd))[: count + 1])
    total = below[-1][count]
    probabilities = np.zeros(len(odds))
    for place, odd in enumerate(odds if count else ()):
        others = np.convolve(below[place], above[len(odds) - place - 1])
        probabilities[place] = odd * others[count - 1] / total
    return probabilities


def _as_flags(cards: Array) -> Array:
    """`(n, 52)` bool of card sets."""
    return (cards[:, None] >> np.arange(N_CARDS, dtype=np.uint64) & np.uint64(1)).astype(np.bool_)
