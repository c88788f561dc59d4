"""The `history` observation: everything a player has seen, in order, one row per event.

Rows are `(kind, who, card, trick)` for recurrent networks and transformers. They
are made from a `VIEW` record, so they hold what a player may know and no more.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.bitset import NO_CARDS, bit
from ...common.jit.compiler import called, jit
from ..cards import CARDS_IN_ALL
from ..dtypes import KEPT, NO_CARD, TOOK_BLIND, UNDECIDED, UNSEEN_CARD, VIEW
from ..play import Record, faced_count, row, suit_of
from ..rules import Rules
from ..view import first_hand, i_won
from .layout import keep_suits, shown_action, trump_first

HISTORY_VERSION = 2

# Kinds of events; 0 fills the rows after the last one.
START, DEALT, TURNED, LED, FOLLOWED, DRAWN, SCORE = 1, 2, 3, 4, 5, 6, 7
# Who: nobody, the player, the opponent.
NOBODY, ME, OTHER = 0, 1, 2
# In the place of a card: one that was not seen, and none at all.
CARD_UNSEEN, CARD_NONE = 52, 53
HISTORY_COLUMNS = 4

HISTORY_ABOUT = """\
| column | name | values |
|---|---|---|
| 0 | kind | 0 none, 1 start, 2 dealt, 3 turned, 4 led, 5 followed, 6 drawn, 7 score |
| 1 | who | 0 nobody, 1 the player, 2 the opponent; at the start: who dealt |
| 2 | card | 0 to 51, 52 a card not seen, 53 none; in a score row: points, at most 127; in an \
exchange, drawn 53 is a hand kept, and drawn 52 the blind hand that the opponent took |
| 3 | trick | the trick that the event belongs to, from 0 |"""


def history_rows(rules: Rules) -> int:
    """The most rows that a hand of these rules can fill."""
    turned = rules.stock_cards if rules.face_up == 2 else rules.foreplay_tricks
    # With an exchange: the turned card, a blind hand drawn, and what the opponent did.
    exchange = 2 + rules.hand if rules.exchange else 0
    return 3 + rules.hand + 2 * rules.tricks + 2 * rules.foreplay_tricks + turned + exchange


@jit
def _add(out: np.ndarray, at: int, kind: int, who: int, card: int, trick: int) -> int:
    out[at, 0] = kind
    out[at, 1] = who
    out[at, 2] = card
    out[at, 3] = trick
    return at + 1


@jit
def _add_cards(out: np.ndarray, at: int, kind: int, cards: np.uint64, order: np.ndarray) -> int:
    """A row for each card of the player's, as they are shown, lowest first."""
    for place in range(CARDS_IN_ALL):
        card = place + 13 * (np.int64(order[place // 13]) - place // 13)
        if cards & bit(card):
            at = _add(out, at, kind, ME, place, 0)
    return at


@called
def _add_exchange(view: Record, order: np.ndarray, out: np.ndarray, at: int) -> int:
    """What was turned up, and who kept a hand or drew a blind one, the non-dealer first."""
    if view.turned != NO_CARD:
        at = _add(out, at, TURNED, NOBODY, shown_action(view.turned, order), 0)
    for turn in range(2):
        mine = view.i_deal == turn
        did = view.exchanged[0 if mine else 1]
        if did == UNDECIDED:
            break
        if did == KEPT:
            at = _add(out, at, DRAWN, ME if mine else OTHER, CARD_NONE, 0)
        elif mine:
            at = _add_cards(out, at, DRAWN, view.hand | view.played[0], order)
        else:
            at = _add(out, at, DRAWN, OTHER, CARD_UNSEEN, 0)
    return at


@jit
def _upcard_at(rules: Record, view: Record, trick: int, place: int) -> int:
    """The card that lay face up at a trick, in that place, upper first; NO_CARD if none did."""
    left = np.int64(rules.stock) - 2 * trick
    gone = np.int64(rules.stock) - np.int64(view.stock_left)
    if place >= faced_count(rules, trick, left) or 2 * trick > gone:
        return NO_CARD
    if 2 * trick == gone:
        return np.int64(view.upcards[place])
    upper_is_mine = i_won(view, trick) != (view.took_second[trick] == 1)
    if (place == 0) == upper_is_mine:
        return np.int64(view.my_draws[trick])
    return np.int64(view.other_draws[trick])


@jit
def write_history(
    rules: Record, view: Record, order: np.ndarray, in_match: bool, out: np.ndarray
) -> int:
    """Write the rows of a view, its suits in the given order; returns how many there are."""
    at = _add(out, 0, START, ME if view.i_deal == 1 else OTHER, CARD_NONE, 0)
    if in_match:
        at = _add(out, at, SCORE, ME, min(np.int64(view.points[0]), 127), 0)
        at = _add(out, at, SCORE, OTHER, min(np.int64(view.points[1]), 127), 0)
    at = _add_cards(out, at, DEALT, first_hand(view), order)
    if rules.exchange == 1:
        at = _add_exchange(view, order, out, at)
    for trick in range(len(view.led_cards)):
        for place in range(2):
            upcard = _upcard_at(rules, view, trick, place)
            if upcard != NO_CARD and trick <= view.trick:
                at = _add(out, at, TURNED, NOBODY, shown_action(upcard, order), trick)
        if view.led_cards[trick] == NO_CARD:
            break
        leader = ME if view.i_led[trick] == 1 else OTHER
        at = _add(out, at, LED, leader, shown_action(view.led_cards[trick], order), trick)
        if view.followed_cards[trick] == NO_CARD:
            break
        card = shown_action(view.followed_cards[trick], order)
        at = _add(out, at, FOLLOWED, ME + OTHER - leader, card, trick)
        if view.my_draws[trick] == NO_CARD:
            continue
        at = _add(out, at, DRAWN, ME, shown_action(view.my_draws[trick], order), trick)
        other = np.int64(view.other_draws[trick])
        shown = CARD_UNSEEN if other == UNSEEN_CARD else shown_action(other, order)
        at = _add(out, at, DRAWN, OTHER, shown, trick)
    for rest in range(at, len(out)):
        for column in range(HISTORY_COLUMNS):
            out[rest, column] = 0
    return at


@jit
def history_suits(
    rules: Record,
    view: Record,
    relabel: bool,
    scratch: Record,
    order: np.ndarray,
    rows: np.ndarray,
) -> None:
    """The suits' order for the whole hand: by the cards dealt, then by what came up first.

    So it does not depend on the names of suits that were dealt alike, and a row that
    is written stays. `rows` is room to write the history in.
    """
    keep_suits(order)
    if not relabel:
        return
    scratch.hand = first_hand(view)
    # The hand taken in an exchange comes whole, as the one dealt does.
    took = view.exchanged[0] == TOOK_BLIND
    scratch.laid_away = view.hand | view.played[0] if took else NO_CARDS
    scratch.turned = view.turned
    scratch.played[0] = 0
    scratch.played[1] = 0
    scratch.known = 0
    scratch.faced = 0
    scratch.led = NO_CARD
    scratch.trump = view.trump
    for suit in range(4):
        scratch.void_draws[suit] = -1
    # The last thing by which suits are set in order; it stands here for how early each came up.
    early = 4
    for at in range(write_history(rules, view, order, False, rows)):
        card = np.int64(rows[at, 2])
        whole = rows[at, 0] == DEALT or (rules.exchange == 1 and rows[at, 0] == DRAWN)
        if whole or card >= CARDS_IN_ALL or scratch.void_draws[suit_of(card)] >= 0:
            continue
        scratch.void_draws[suit_of(card)] = early
        early -= 1
    trump_first(rules, scratch, order)


@jit
def write_histories(
    rules: np.ndarray, views: np.ndarray, relabel: bool, orders: np.ndarray, out: np.ndarray
) -> None:
    """The history rows of each view, and the order of suits that they are written in."""
    scratch = views[:1].copy()
    for index in range(len(views)):
        view = row(views, index)
        first = row(rules, 0)
        history_suits(first, view, relabel, row(scratch, 0), orders[index], out[index])
        in_match = first.match_target > 0 or first.match_best_of > 0
        write_history(first, view, orders[index], in_match, out[index])


def histories(
    rules: np.ndarray, views: np.ndarray, rows: int, relabel: bool
) -> tuple[np.ndarray, np.ndarray]:
    """History rows of an array of views, `(n, rows, 4)` int8, and the suits' orders `(n, 4)`."""
    assert views.dtype == VIEW
    out = np.zeros((len(views), rows, HISTORY_COLUMNS), np.int8)
    orders = np.zeros((len(views), 4), np.uint8)
    if len(views):
        write_histories(rules, views, relabel, orders, out)
    return out, orders
