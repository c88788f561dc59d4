"""What the other may hold: a network's guess for each card unseen, and hands drawn by it.

The network reads what a player may know, and who played what to which upcard: the sets of
cards, and for each trick so far the other's card, the player's own and the card that lay face
up. Its word is a chance for each card to be in the other's hand. Hands are drawn so that each
set of cards comes up in proportion to the product of its cards' odds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, bit, lowest, popcount
from ...common.jit.compiler import jit
from ...engine.cards import CARDS_IN_ALL
from ...engine.dtypes import FOLLOW, NO_CARD, UNSEEN_CARD
from ...engine.observation.layout import trump_first
from ...engine.play import Record, suit_of
from ...engine.rng import fraction
from ...engine.rules import Rules
from ...engine.view import i_won
from .auxiliary import read_judge
from .mlp import Layers

# Sets: own hand, upcards, led, played by me, by the other, known of the other, unseen.
_SETS = 7
_VOIDS = 14
_TRICKS = 13
# For each trick: the other's lead, the other's reply, my card, the upcard.
_EVENTS = 4
_VOID_PLACES = CARDS_IN_ALL * _SETS
_TRICK_PLACES = _VOID_PLACES + 4 * _VOIDS
_LEAD_PLACE = _TRICK_PLACES + _TRICKS
_EVENT_PLACES = _LEAD_PLACE + 1
INPUTS = _EVENT_PLACES + CARDS_IN_ALL * _EVENTS * (_TRICKS - 1)
MOST_KNOWN = CARDS_IN_ALL + 4 + 2 + 2 + 3 * (_TRICKS - 1)
MOST_HIDDEN = 13
_MOST_ODDS = 1e4


@jit
def _shown(card: int, places: np.ndarray) -> int:
    return 13 * np.int64(places[suit_of(card)]) + card % 13


@jit
def _write_set(cards: np.uint64, start: int, at: np.ndarray, out: np.ndarray, count: int) -> int:
    while cards:
        out[count] = start + _shown(lowest(cards), at)
        count += 1
        cards &= cards - ONE
    return count


@jit
def write_known(
    rules: Record, view: Record, order: np.ndarray, at: np.ndarray, out: np.ndarray
) -> int:
    """Which inputs of the network are one, in `out`; returns how many.

    `order` becomes the suits as they are shown, `at` where each suit stands.
    """
    trump_first(rules, view, order)
    for place in range(4):
        at[order[place]] = place
    count = 0
    led = bit(np.int64(view.led)) if view.led != NO_CARD else NO_CARDS
    count = _write_set(view.hand, 0, at, out, count)
    count = _write_set(view.faced, CARDS_IN_ALL, at, out, count)
    count = _write_set(led, 104, at, out, count)
    count = _write_set(view.played[0], 156, at, out, count)
    count = _write_set(view.played[1], 208, at, out, count)
    count = _write_set(view.known, 260, at, out, count)
    count = _write_set(view.unseen, 312, at, out, count)
    for suit in range(4):
        since = np.int64(view.void_draws[suit])
        if since >= 0:
            out[count] = _VOID_PLACES + _VOIDS * at[suit] + min(since, _VOIDS - 1)
            count += 1
    trick = np.int64(view.trick)
    out[count] = _TRICK_PLACES + min(trick, _TRICKS - 1)
    count += 1
    if view.phase != FOLLOW:
        out[count] = _LEAD_PLACE
        count += 1
    for past in range(min(trick, _TRICKS - 1)):
        count = _write_trick(view, past, at, out, count)
    return count


@jit
def _write_trick(view: Record, trick: int, at: np.ndarray, out: np.ndarray, count: int) -> int:
    start = _EVENT_PLACES + CARDS_IN_ALL * _EVENTS * trick
    led, followed = np.int64(view.led_cards[trick]), np.int64(view.followed_cards[trick])
    if view.i_led[trick] == 1:
        out[count] = start + CARDS_IN_ALL + _shown(followed, at)
        out[count + 1] = start + 104 + _shown(led, at)
    else:
        out[count] = start + _shown(led, at)
        out[count + 1] = start + 104 + _shown(followed, at)
    count += 2
    upcard = np.int64(view.my_draws[trick]) if i_won(view, trick) else np.int64(
        view.other_draws[trick])  # fmt: skip
    if upcard < UNSEEN_CARD:
        out[count] = start + 156 + _shown(upcard, at)
        count += 1
    return count


@jit
def odds_of(view: Record, at: np.ndarray, guesses: np.ndarray, odds: np.ndarray) -> None:
    """The odds of each unseen card to be in the other's hand, by the network's last layer."""
    odds[:] = 0.0
    cards = view.unseen
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        if view.void_draws[suit_of(card)] != 0:
            guess = np.exp(np.float64(guesses[_shown(card, at)]))
            odds[card] = min(max(guess, 1 / _MOST_ODDS), _MOST_ODDS)


@jit
def plan_hands(cards: np.uint64, count: int, odds: np.ndarray, ways: np.ndarray) -> None:
    """Weigh the choices of so many of the cards.

    `ways[i, k]` becomes the sum, over every choice of `k` among the cards but the lowest `i`,
    of the product of their odds.
    """
    left = popcount(cards)
    order = np.empty(left, np.int64)
    for place in range(left):
        order[place] = lowest(cards)
        cards &= cards - ONE
    ways[left, :] = 0.0
    ways[left, 0] = 1.0
    for place in range(left - 1, -1, -1):
        ways[place, 0] = 1.0
        for k in range(1, count + 1):
            ways[place, k] = ways[place + 1, k] + odds[order[place]] * ways[place + 1, k - 1]


@jit
def plan_any_hands(cards: np.uint64, count: int, odds: np.ndarray, ways: np.ndarray) -> None:
    """The same, but where what is ruled out leaves no choice, nothing is ruled out any more."""
    plan_hands(cards, count, odds, ways)
    if ways[0, count] > 0.0:
        return
    for card in range(len(odds)):
        odds[card] = max(odds[card], 1 / _MOST_ODDS)
    plan_hands(cards, count, odds, ways)


@jit
def draw_planned(
    cards: np.uint64, count: int, odds: np.ndarray, ways: np.ndarray, stream: np.ndarray
) -> np.uint64:
    """A choice of so many of the cards, in proportion to the product of their odds."""
    chosen = NO_CARDS
    place = 0
    while count > 0 and cards:
        card = lowest(cards)
        cards &= cards - ONE
        taken = odds[card] * ways[place + 1, count - 1]
        needed = ways[place + 1, count] == 0.0
        if needed or fraction(stream) * ways[place, count] < taken:
            chosen |= bit(card)
            count -= 1
        place += 1
    return chosen


def read_beliefs(wanted: str | Path, rules: Rules) -> Layers:
    """A network's numbers from its file, refused if it is none or was made for other games."""
    return read_judge(wanted, "beliefs", INPUTS, CARDS_IN_ALL, rules)
