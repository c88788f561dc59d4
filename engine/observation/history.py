# pyright: reportArgumentType=false, reportReturnType=false
"""History observation: one row per event that a player has seen, in order.

Rows are `(kind, who, card, trick)` for recurrent networks and transformers, generated from a `VIEW`
record.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import allocates, jit, noinline
from ..bitset import NO_CARDS, bit
from ..cards import N_CARDS
from ..dtypes import KEPT_HAND, NO_CARD, TOOK_BLIND, UNDECIDED, UNSEEN_CARD
from ..play import Record, n_faced, row, suit_of
from ..rules import Rules
from ..view import first_hand, i_won
from .suit_order import identity_order, relabelled_action, trump_first_order

HISTORY_VERSION = 2

# Kinds of events; 0 fills the rows after the last one.
START, DEALT, TURNED, LED, FOLLOWED, DRAWN, SCORE = 1, 2, 3, 4, 5, 6, 7
# Who: nobody, the player, the opponent.
NOBODY, ME, OTHER = 0, 1, 2
# In place of a card id: a card that was not seen, and no card.
CARD_UNSEEN, CARD_NONE = 52, 53
HISTORY_COLUMNS = 4

HISTORY_ABOUT = """\
| column | name | values |
|---|---|---|
| 0 | kind | what happened: 1 the hand starts, 2 a card is dealt, 3 a card is turned up, 4 a card \
is led, 5 a card is played second, 6 a card is drawn, 7 the score of the match. Unused rows have \
0. |
| 1 | who | who did it: 1 the player, 2 the opponent, 0 nobody. In the row of the start, who \
dealt. |
| 2 | card | the card from 0 to 51, 52 for a card that the player did not see, or 53 for no card. \
A row of the score has here the points that the player or the opponent has won in the match so \
far, at most 127. In an exchange, kind 6 with 53 means that the hand was kept, and kind 6 with 52 \
means that the opponent took the blind hand. |
| 3 | trick | number of the trick that the event belongs to, from 0 |"""


def history_rows(rules: Rules) -> int:
    """Maximum number of rows of a hand."""
    turned = rules.stock_cards if rules.face_up == 2 else rules.foreplay_tricks
    # With an exchange: the turned card, the blind hand taken, and the opponent's decision.
    exchange = 2 + rules.hand if rules.exchange else 0
    return 3 + rules.hand + 2 * rules.tricks + 2 * rules.foreplay_tricks + turned + exchange


@jit
def _add(out: np.ndarray, at: int, event: tuple[int, int, int, int]) -> int:
    kind, who, card, trick = event
    out[at, 0] = kind
    out[at, 1] = who
    out[at, 2] = card
    out[at, 3] = trick
    return at + 1


@jit
def _add_cards(out: np.ndarray, at: int, kind: int, cards: np.uint64, order: np.ndarray) -> int:
    for place in range(N_CARDS):
        card = place + 13 * (np.int64(order[place // 13]) - place // 13)
        if cards & bit(card):
            at = _add(out, at, (kind, ME, place, 0))
    return at


@noinline
def _add_exchange(view: Record, order: np.ndarray, out: np.ndarray, at: int) -> int:
    if view.turned != NO_CARD:
        at = _add(out, at, (TURNED, NOBODY, relabelled_action(view.turned, order), 0))
    for turn in range(2):
        is_own = view.i_deal == turn
        decision = view.exchanged[0 if is_own else 1]
        if decision == UNDECIDED:
            break
        if decision == KEPT_HAND:
            at = _add(out, at, (DRAWN, ME if is_own else OTHER, CARD_NONE, 0))
        elif is_own:
            at = _add_cards(out, at, DRAWN, view.hand | view.played[0], order)
        else:
            at = _add(out, at, (DRAWN, OTHER, CARD_UNSEEN, 0))
    return at


@jit
def _upcard_at(rules: Record, view: Record, trick: int, place: int) -> int:
    left = np.int64(rules.stock) - 2 * trick
    drawn = np.int64(rules.stock) - np.int64(view.stock_left)
    if place >= n_faced(rules, trick, left) or 2 * trick > drawn:
        return NO_CARD
    if 2 * trick == drawn:
        return np.int64(view.upcards[place])
    upper_is_mine = i_won(view, trick) != (view.took_second[trick] == 1)
    if (place == 0) == upper_is_mine:
        return np.int64(view.my_draws[trick])
    return np.int64(view.opponent_draws[trick])


@jit
def write_history(
    rules: Record, view: Record, order: np.ndarray, in_match: bool, out: np.ndarray
) -> int:
    """Write the rows of a view with suits in the given order; returns their number."""
    at = _add(out, 0, (START, ME if view.i_deal == 1 else OTHER, CARD_NONE, 0))
    if in_match:
        at = _add(out, at, (SCORE, ME, min(np.int64(view.points[0]), 127), 0))
        at = _add(out, at, (SCORE, OTHER, min(np.int64(view.points[1]), 127), 0))
    at = _add_cards(out, at, DEALT, first_hand(view), order)
    if rules.exchange == 1:
        at = _add_exchange(view, order, out, at)
    for trick in range(len(view.led_cards)):
        for place in range(2):
            upcard = _upcard_at(rules, view, trick, place)
            if upcard != NO_CARD and trick <= view.trick:
                at = _add(out, at, (TURNED, NOBODY, relabelled_action(upcard, order), trick))
        if view.led_cards[trick] == NO_CARD:
            break
        leader = ME if view.i_led[trick] == 1 else OTHER
        at = _add(out, at, (LED, leader, relabelled_action(view.led_cards[trick], order), trick))
        if view.followed_cards[trick] == NO_CARD:
            break
        card = relabelled_action(view.followed_cards[trick], order)
        at = _add(out, at, (FOLLOWED, ME + OTHER - leader, card, trick))
        if view.my_draws[trick] == NO_CARD:
            continue
        at = _add(out, at, (DRAWN, ME, relabelled_action(view.my_draws[trick], order), trick))
        other = np.int64(view.opponent_draws[trick])
        shown = CARD_UNSEEN if other == UNSEEN_CARD else relabelled_action(other, order)
        at = _add(out, at, (DRAWN, OTHER, shown, trick))
    for rest in range(at, len(out)):
        for column in range(HISTORY_COLUMNS):
            out[rest, column] = 0
    return at


@jit
def history_suits(
    rules: Record, view: Record, scratch: Record, order: np.ndarray, rows: np.ndarray
) -> None:
    """Order of suits for the whole hand: by the cards dealt, then by first appearance.

    It does not depend on the names of equivalent suits, and written rows never change. `rows` is a
    buffer for the history.
    """
    identity_order(order)
    scratch.hand = first_hand(view)
    # A blind hand counts as a whole, like the dealt one.
    took = view.exchanged[0] == TOOK_BLIND
    scratch.laid_away = view.hand | view.played[0] if took else NO_CARDS
    scratch.turned = view.turned
    scratch.played[0] = 0
    scratch.played[1] = 0
    scratch.opponent_known = 0
    scratch.faced = 0
    scratch.led = NO_CARD
    scratch.trump = view.trump
    for suit in range(4):
        scratch.void_draws[suit] = -1
    # `void_draws` is the last criterion of the order; here it holds how early a suit appeared.
    earliness = 4
    for index in range(write_history(rules, view, order, False, rows)):
        card = np.int64(rows[index, 2])
        whole_hand = rows[index, 0] == DEALT or (rules.exchange == 1 and rows[index, 0] == DRAWN)
        if whole_hand or card >= N_CARDS or scratch.void_draws[suit_of(card)] >= 0:
            continue
        scratch.void_draws[suit_of(card)] = earliness
        earliness -= 1
    trump_first_order(rules, scratch, order)


@jit
@allocates
def write_histories(
    rules: np.ndarray, views: np.ndarray, relabel: bool, orders: np.ndarray, out: np.ndarray
) -> None:
    """Write the rows of each view, and the order of suits in them."""
    scratch = views[:1].copy()
    for index in range(len(views)):
        view = row(views, index)
        first = row(rules, 0)
        if relabel:
            history_suits(first, view, row(scratch, 0), orders[index], out[index])
        else:
            identity_order(orders[index])
        in_match = first.match_target > 0 or first.match_best_of > 0
        write_history(first, view, orders[index], in_match, out[index])


def histories(
    rules: np.ndarray, views: np.ndarray, rows: int, relabel: bool
) -> tuple[np.ndarray, np.ndarray]:
    """History rows of an array of views, `(n, rows, 4)` int8, and orders of suits `(n, 4)`."""
    out = np.zeros((len(views), rows, HISTORY_COLUMNS), np.int8)
    orders = np.zeros((len(views), 4), np.uint8)
    if len(views):
        write_histories(rules, views, relabel, orders, out)
    return out, orders
