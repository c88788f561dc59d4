# pyright: reportArgumentType=false
"""Global state of a game as a vector, for training alone: both hands, the stock, the history.

A critic or a mixing network may read it; no agent gets it. `STATE_SPEC` is its index table, which
`EXCHANGE_STATE_SPEC` extends for rule sets with an exchange. It is written from the side of the
player to move, with the suits of the observation that this player was shown. The groups before
`played_at` are the position, from which the hand goes on; the others are its history.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import jit
from ..bitset import NO_CARDS, bit, popcount
from ..cards import N_CARDS
from ..dtypes import KEPT_HAND, MAX_TRICKS, NO_CARD, NO_TRUMP, TOOK_BLIND
from ..play import Record, stock_card
from ..rules import Rules
from .spec import ObservationSpec, still_needed, write_binary, write_count, write_set

STATE_VERSION = 1

_PLACE_BITS, _TRICK_BITS, _NEEDS_BITS = 6, 5, 7
_N_PHASES = 5
_BINARY = "as a binary number (52 places of the array for each bit, lowest bit first)"
_GROUPS = [
    (
        "hand_mover",
        N_CARDS,
        "cards in the hand of the player to move, who is called the *mover* here",
    ),
    ("hand_other", N_CARDS, "cards in the hand of the other player"),
    ("known_mover", N_CARDS, "cards in the mover's hand that the other player knows"),
    ("known_other", N_CARDS, "cards in the other player's hand that the mover knows"),
    ("played_mover", N_CARDS, "cards that the mover has played"),
    ("played_other", N_CARDS, "cards that the other player has played"),
    ("led", N_CARDS, "the card that was led, if the player to move has to follow it"),
    ("upcards", N_CARDS, "cards of the stock that lie face up"),
    ("stock", N_CARDS, "cards left in the stock"),
    (
        "stock_place",
        _PLACE_BITS * N_CARDS,
        f"position of each stock card in the stock, from 1 for the top card, {_BINARY}",
    ),
    ("trumps", 5, "the trump suit, one-hot; the fifth place is set if there are no trumps"),
    (
        "decision",
        _N_PHASES,
        "what happens next, one-hot: lead, follow, choose between stock "
        "cards, nothing (the hand is over), exchange",
    ),
    ("seat", 2, "the mover's seat, one-hot"),
    ("leads", 1, "1 if the mover leads or led the current trick"),
    ("dealer", 1, "1 if the mover dealt"),
    ("contract", 2, "one-hot: high (the most tricks win), low (the fewest tricks win)"),
    (
        "draws_left",
        MAX_TRICKS,
        "number of tricks still to be played for the stock, as that "
        "many ones from the first place on",
    ),
    (
        "tricks_mover",
        MAX_TRICKS,
        "number of counting tricks that the mover has taken, as that "
        "many ones from the first place on",
    ),
    ("tricks_other", MAX_TRICKS, "the same for the other player"),
    ("match", 1, "1 if the hand is part of a match"),
    (
        "match_needs_mover",
        _NEEDS_BITS,
        "points that the mover still needs to win the match, as "
        "in `match_needs_me` of the observation",
    ),
    ("match_needs_other", _NEEDS_BITS, "the same for the other player"),
    (
        "played_at",
        _TRICK_BITS * N_CARDS,
        f"number of the trick in which each card was played, from 1, {_BINARY}",
    ),
    (
        "drawn_at",
        _TRICK_BITS * N_CARDS,
        f"number of the trick after which each card was drawn, from 1, {_BINARY}",
    ),
    ("mover_led", MAX_TRICKS, "one place per trick: 1 if the mover led the trick"),
    (
        "took_second",
        MAX_TRICKS,
        "one place per trick: 1 if the winner took the second stock card",
    ),
]
STATE_SPEC = ObservationSpec(STATE_VERSION, _GROUPS)
"""Groups of the global state by name. `state()` and `with_state=True` return this state."""
EXCHANGE_STATE_SPEC = ObservationSpec(
    STATE_VERSION,
    [
        *_GROUPS,
        ("exchanged_mover", 2, "one-hot: the mover kept the dealt hand, took the blind hand"),
        ("exchanged_other", 2, "the same for the other player"),
        ("dealt_mover", N_CARDS, "the hand that was dealt to the mover"),
        ("dealt_other", N_CARDS, "the hand that was dealt to the other player"),
        ("blind_mover", N_CARDS, "the blind hand that the mover may take or could have taken"),
        ("blind_other", N_CARDS, "the same for the other player"),
    ],
)
"""Specification for rule sets with an exchange; it begins with `STATE_SPEC`."""


def state_spec_of(rules: Rules) -> ObservationSpec:
    return EXCHANGE_STATE_SPEC if rules.exchange else STATE_SPEC


(
    _HAND_MOVER,
    _HAND_OTHER,
    _KNOWN_MOVER,
    _KNOWN_OTHER,
    _PLAYED_MOVER,
    _PLAYED_OTHER,
    _LED,
    _UPCARDS,
    _STOCK,
    _STOCK_PLACE,
    _TRUMPS,
    _DECISION,
    _SEAT,
    _LEADS,
    _DEALER,
    _CONTRACT,
    _DRAWS_LEFT,
    _TRICKS_MOVER,
    _TRICKS_OTHER,
    _MATCH,
    _NEEDS_MOVER,
    _NEEDS_OTHER,
    _PLAYED_AT,
    _DRAWN_AT,
    _MOVER_LED,
    _TOOK_SECOND,
    _EXCHANGED_MOVER,
    _EXCHANGED_OTHER,
    _DEALT_MOVER,
    _DEALT_OTHER,
    _BLIND_MOVER,
    _BLIND_OTHER,
) = (group.start for group in EXCHANGE_STATE_SPEC.groups)


@jit
def _has_bit(number: int, place: int) -> bool:
    return (number >> place) & 1 == 1


@jit
def _write_stock(
    rules: Record, game: Record, view: Record, order: np.ndarray, out: np.ndarray
) -> None:
    left, drawn = np.int64(view.stock_left), np.int64(game.drawn)
    first = 2 * np.int64(rules.hand)
    cards = NO_CARDS
    for place in range(left):
        cards |= bit(stock_card(rules, game, place))
    write_set(out, _STOCK, cards, order, False)
    for bit_place in range(_PLACE_BITS):
        cards = NO_CARDS
        for place in range(left):
            if _has_bit(place + 1, bit_place):
                cards |= bit(stock_card(rules, game, place))
        write_set(out, _STOCK_PLACE + N_CARDS * bit_place, cards, order, False)
    for bit_place in range(_TRICK_BITS):
        cards = NO_CARDS
        for place in range(drawn):
            if _has_bit(place // 2 + 1, bit_place):
                cards |= bit(np.int64(game.deal[first + place]))
        write_set(out, _DRAWN_AT + N_CARDS * bit_place, cards, order, False)


@jit
def _write_played(game: Record, seat: int, order: np.ndarray, out: np.ndarray) -> None:
    count = popcount(game.played[0] | game.played[1])
    for bit_place in range(_TRICK_BITS):
        cards = NO_CARDS
        for number in range(count):
            trick = number // 2
            if _has_bit(trick + 1, bit_place):
                in_order = game.led_cards if number % 2 == 0 else game.followed_cards
                cards |= bit(np.int64(in_order[trick]))
        write_set(out, _PLAYED_AT + N_CARDS * bit_place, cards, order, False)
    for trick in range(MAX_TRICKS):
        begun = 2 * trick < count
        out[_MOVER_LED + trick] = 1 if begun and game.leaders[trick] == seat else 0
        drawn = 2 * trick < np.int64(game.drawn)
        out[_TOOK_SECOND + trick] = game.took_second[trick] if drawn else 0


@jit
def _write_dealt(
    rules: Record, game: Record, view: Record, order: np.ndarray, out: np.ndarray
) -> None:
    """Write the hands of a deal with an exchange, and what was done with them."""
    for hand in range(4):
        cards = NO_CARDS
        for number in range(np.int64(rules.hand)):
            cards |= bit(np.int64(game.deal[4 * number + hand]))
        # In dealing order: first blind, non-dealer, second blind, dealer.
        is_mover = (hand >= 2) == (view.i_deal == 1)
        start = _DEALT_MOVER if hand % 2 == 1 else _BLIND_MOVER
        write_set(out, start if is_mover else start + N_CARDS, cards, order, False)
    for who in range(2):
        out[_EXCHANGED_MOVER + 2 * who] = 1 if view.exchanged[who] == KEPT_HAND else 0
        out[_EXCHANGED_MOVER + 2 * who + 1] = 1 if view.exchanged[who] == TOOK_BLIND else 0


@jit
def encode_state(
    rules: Record, game: Record, view: Record, order: np.ndarray, out: np.ndarray
) -> None:
    """Write the global state with suits in the given order.

    `view` is the position of the seat to move, as of `write_position`.
    """
    seat = np.int64(view.seat)
    other = 1 - seat
    write_set(out, _HAND_MOVER, game.hand[seat], order, False)
    write_set(out, _HAND_OTHER, game.hand[other], order, False)
    write_set(out, _KNOWN_MOVER, game.known_cards[seat], order, False)
    write_set(out, _KNOWN_OTHER, game.known_cards[other], order, False)
    write_set(out, _PLAYED_MOVER, game.played[seat], order, False)
    write_set(out, _PLAYED_OTHER, game.played[other], order, False)
    led = bit(view.led) if view.led != NO_CARD else NO_CARDS
    write_set(out, _LED, led, order, False)
    write_set(out, _UPCARDS, view.faced, order, False)
    _write_stock(rules, game, view, order, out)
    _write_played(game, seat, order, out)
    for place in range(4):
        out[_TRUMPS + place] = 1 if order[place] == view.trump else 0
    out[_TRUMPS + 4] = 1 if view.trump == NO_TRUMP else 0
    for phase in range(_N_PHASES):
        out[_DECISION + phase] = 1 if view.phase == phase else 0
    out[_SEAT] = other
    out[_SEAT + 1] = seat
    out[_LEADS] = view.i_lead
    out[_DEALER] = view.i_deal
    out[_CONTRACT] = 1 - np.int64(view.low)
    out[_CONTRACT + 1] = view.low
    write_count(out, _DRAWS_LEFT, np.int64(view.stock_left) // 2)
    write_count(out, _TRICKS_MOVER, np.int64(view.tricks[0]))
    write_count(out, _TRICKS_OTHER, np.int64(view.tricks[1]))
    match = rules.match_target > 0 or rules.match_best_of > 0
    out[_MATCH] = 1 if match else 0
    write_binary(out, _NEEDS_MOVER, still_needed(rules, view, 0) if match else 0)
    write_binary(out, _NEEDS_OTHER, still_needed(rules, view, 1) if match else 0)
    if rules.exchange == 1:
        _write_dealt(rules, game, view, order, out)
