"""Belief network: the odds of each unseen card to be in the opponent's hand, and hands drawn by it.

The network reads what a player may know, and who played what to which upcard: the sets of
cards, and for each trick so far the opponent's card, the player's own and the card that lay face
up. The output is a logit for each card to be in the opponent's hand. Hands are drawn so that each
set of cards comes up in proportion to the product of its cards' odds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, bit, lowest, popcount
from ...common.jit.compiler import jit
from ...engine.cards import N_CARDS
from ...engine.dtypes import FOLLOW, NO_CARD, UNSEEN_CARD
from ...engine.observation.layout import LAYOUT, Layout, trump_first_order
from ...engine.play import Record, suit_of
from ...engine.rng import random_fraction
from ...engine.rules import Rules
from ...engine.view import i_won
from .auxiliary import read_auxiliary
from .mlp import Layers

_TRICKS = 13
TRICK_LAYOUT = Layout(
    1,
    [
        ("opponent_led", N_CARDS, "the card that the opponent led"),
        ("opponent_followed", N_CARDS, "the card that the opponent followed with"),
        ("mine", N_CARDS, "the player's own card"),
        ("upcard", N_CARDS, "the stock card that was played for"),
    ],
)
"""The index table of one past trick in the belief network's input."""
_SHARED = ("own_hand", "upcards", "led", "played_by_me", "played_by_opponent", "opponent_known",
           "unseen", "opponent_void")  # fmt: skip
BELIEF_LAYOUT = Layout(
    1,
    [
        *((group.name, group.size, group.about) for group in map(LAYOUT.group, _SHARED)),
        ("trick", _TRICKS, "how many tricks are over, one-hot, the last place for 12 or more"),
        ("leads", 1, "the player is not to follow"),
        ("past", TRICK_LAYOUT.size * (_TRICKS - 1), "the first 12 tricks, each as `TRICK_LAYOUT`"),
    ],
)
"""The index table of the belief network's input, which begins like that of an observation."""
INPUTS = BELIEF_LAYOUT.size

_OWN_HAND = BELIEF_LAYOUT.group("own_hand").start
_UPCARDS = BELIEF_LAYOUT.group("upcards").start
_LED = BELIEF_LAYOUT.group("led").start
_PLAYED_BY_ME = BELIEF_LAYOUT.group("played_by_me").start
_PLAYED_BY_OPPONENT = BELIEF_LAYOUT.group("played_by_opponent").start
_OPPONENT_KNOWN = BELIEF_LAYOUT.group("opponent_known").start
_UNSEEN = BELIEF_LAYOUT.group("unseen").start
_OPPONENT_VOID = BELIEF_LAYOUT.group("opponent_void").start
_VOIDS = BELIEF_LAYOUT.group("opponent_void").size // 4
_TRICK = BELIEF_LAYOUT.group("trick").start
_LEADS = BELIEF_LAYOUT.group("leads").start
_PAST = BELIEF_LAYOUT.group("past").start
_PAST_TRICK = TRICK_LAYOUT.size
_THEIR_LEAD = TRICK_LAYOUT.group("opponent_led").start
_THEIR_REPLY = TRICK_LAYOUT.group("opponent_followed").start
_MINE = TRICK_LAYOUT.group("mine").start
_UPCARD = TRICK_LAYOUT.group("upcard").start

MOST_KNOWN = N_CARDS + 4 + 2 + 2 + 3 * (_TRICKS - 1)
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
    trump_first_order(rules, view, order)
    for place in range(4):
        at[order[place]] = place
    count = 0
    led = bit(np.int64(view.led)) if view.led != NO_CARD else NO_CARDS
    count = _write_set(view.hand, _OWN_HAND, at, out, count)
    count = _write_set(view.faced, _UPCARDS, at, out, count)
    count = _write_set(led, _LED, at, out, count)
    count = _write_set(view.played[0], _PLAYED_BY_ME, at, out, count)
    count = _write_set(view.played[1], _PLAYED_BY_OPPONENT, at, out, count)
    count = _write_set(view.opponent_known, _OPPONENT_KNOWN, at, out, count)
    count = _write_set(view.unseen, _UNSEEN, at, out, count)
    for suit in range(4):
        since = np.int64(view.void_draws[suit])
        if since >= 0:
            out[count] = _OPPONENT_VOID + _VOIDS * at[suit] + min(since, _VOIDS - 1)
            count += 1
    trick = np.int64(view.trick)
    out[count] = _TRICK + min(trick, _TRICKS - 1)
    count += 1
    if view.phase != FOLLOW:
        out[count] = _LEADS
        count += 1
    for past in range(min(trick, _TRICKS - 1)):
        count = _write_trick(view, past, at, out, count)
    return count


@jit
def _write_trick(view: Record, trick: int, at: np.ndarray, out: np.ndarray, count: int) -> int:
    start = _PAST + _PAST_TRICK * trick
    led, followed = np.int64(view.led_cards[trick]), np.int64(view.followed_cards[trick])
    if view.i_led[trick] == 1:
        out[count] = start + _THEIR_REPLY + _shown(followed, at)
        out[count + 1] = start + _MINE + _shown(led, at)
    else:
        out[count] = start + _THEIR_LEAD + _shown(led, at)
        out[count + 1] = start + _MINE + _shown(followed, at)
    count += 2
    upcard = np.int64(view.my_draws[trick]) if i_won(view, trick) else np.int64(
        view.opponent_draws[trick])  # fmt: skip
    if upcard < UNSEEN_CARD:
        out[count] = start + _UPCARD + _shown(upcard, at)
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
    """Weigh the choices of so many of the cards, so that whole hands can be drawn at once.

    Independent draws by each card's probability would seldom give the right number of cards.
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
    """`plan_hands`; where odds of zero leave no hand of that size, every card gets some odds."""
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
        if needed or random_fraction(stream) * ways[place, count] < taken:
            chosen |= bit(card)
            count -= 1
        place += 1
    return chosen


def read_belief_network(wanted: str | Path, rules: Rules) -> Layers:
    """A network's numbers from its file, refused if it is none or was made for other games."""
    return read_auxiliary(wanted, "belief", INPUTS, N_CARDS, rules)
