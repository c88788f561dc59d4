"""Structured dtypes of the compiled engine, and the codes of phases, contracts and pays.

`RULES` holds the parameters of a rule set, `GAME` one game with its history, `VIEW` the information
state of one player. A hundred thousand games are one array.
"""

from __future__ import annotations

import numpy as np

from .cards import N_CARDS

# Every trick takes two of the 52 cards.
MAX_TRICKS = 26
SEATS = 2

# Phases of a hand.
LEAD, FOLLOW, CHOOSE, OVER, EXCHANGE = 0, 1, 2, 3, 4
PHASE_NAMES = ("lead", "follow", "choose", "over", "exchange")
# Decision of a seat in the exchange.
UNDECIDED, KEPT_HAND, TOOK_BLIND = 0, 1, 2

# Contracts, and what a hand pays.
HIGH, LOW, COLOUR = 0, 1, 2
CONTRACTS = ("high", "low", "colour")
WIN, MARGIN, OVER_BOOK = 0, 1, 2
PAYS = ("win", "margin", "over_book")
EVERY, AFTER_FIRST, NEVER = 0, 1, 2
FACED = ("every", "after-first", "never")

# In place of a card id: no card, or a card that this player did not see.
NO_CARD = 255
UNSEEN_CARD = 254
NO_TRUMP = 4


def _without_gaps(
    fields: list[tuple[str, str] | tuple[str, str, tuple[int, ...]]],
) -> np.dtype[np.void]:
    """Structured dtype without padding, so that equal records have equal bytes."""
    size = np.dtype(fields).itemsize
    spare = -size % 8
    packed = np.dtype([*fields, ("spare", "u1", (spare,))] if spare else fields)
    for name in packed.names or ():
        base, offset = packed.fields[name][0].base, packed.fields[name][1]  # type: ignore[index]
        assert offset % base.alignment == 0, name
    return np.dtype(packed, align=False)


RULES = _without_gaps(
    [
        ("deck", "u8"),  # every card of the deck, as a set
        ("suits", "i2"),
        ("ranks", "i2"),
        ("hand", "i2"),  # cards in a hand
        ("stock", "i2"),  # cards in the stock
        ("set_aside", "i2"),  # cards that are neither dealt nor in the stock
        ("trumps", "i2"),  # 1: the first upcard's suit, 0: none
        ("contract", "i2"),
        ("counts_all", "i2"),  # 1: every trick counts, 0: those of the endgame
        ("pay", "i2"),
        ("book", "i2"),
        ("slam_pay", "i2"),  # 0: a slam pays as any other result
        ("face_up", "i2"),  # stock cards that lie face up together
        ("faced", "i2"),
        ("choice", "i2"),
        ("race", "i2"),  # counting tricks that end the hand; 0: no race
        ("counting", "i2"),  # counting tricks in a hand
        ("exchange", "i2"),  # 1: four hands are dealt, and each player may take a blind one
        ("match_target", "i2"),  # points that end a match; 0: none
        ("match_best_of", "i2"),  # hands in a best-of match; 0: none
    ]
)

GAME = _without_gaps(
    [
        ("hand", "u8", (SEATS,)),
        ("known_cards", "u8", (SEATS,)),  # cards in a seat's hand that both players know
        ("played", "u8", (SEATS,)),
        ("number", "u8"),  # of the deal
        ("points", "i4", (SEATS,)),  # of the match so far
        ("hands", "u2"),  # hands of the match that are over
        ("hands_won", "u2", (SEATS,)),
        # In dealing order: a card to each hand in turn, non-dealer first, then the stock; with
        # an exchange the hands are first blind, non-dealer, second blind, dealer.
        ("deal", "u1", (N_CARDS,)),
        ("led_cards", "u1", (MAX_TRICKS,)),
        ("followed_cards", "u1", (MAX_TRICKS,)),
        ("leaders", "u1", (MAX_TRICKS,)),
        (
            "took_second",
            "u1",
            (MAX_TRICKS,),
        ),  # the winner took the second stock card
        ("failed_at", "i1", (SEATS, 4)),  # unseen cards drawn when last void in a suit; -1: never
        ("unseen_draws", "u1", (SEATS,)),  # cards that a seat drew unseen by the other
        ("tricks", "u1", (SEATS,)),  # counting tricks
        ("turn", "u1"),
        ("phase", "u1"),
        ("dealer", "u1"),
        ("leader", "u1"),
        ("trick", "u1"),  # completed tricks, their stock cards drawn
        ("drawn", "u1"),  # number of stock cards drawn
        ("trump", "u1"),
        ("low", "u1"),
        ("exchanged", "u1", (SEATS,)),
    ]
)

VIEW = _without_gaps(
    [
        ("hand", "u8"),
        ("opponent_known", "u8"),  # public part of the opponent's hand
        ("played", "u8", (SEATS,)),  # own, the opponent's
        ("unseen", "u8"),  # cards of unknown place
        ("faced", "u8"),  # stock cards that lie face up
        ("laid_away", "u8"),  # cards known to be out of play since the exchange
        ("points", "i4", (SEATS,)),  # own, the opponent's, as all pairs here
        ("hands", "u2"),
        ("hands_won", "u2", (SEATS,)),
        ("upcards", "u1", (2,)),  # the faced cards, upper first
        ("led", "u1"),
        ("led_cards", "u1", (MAX_TRICKS,)),
        ("followed_cards", "u1", (MAX_TRICKS,)),
        ("i_led", "u1", (MAX_TRICKS,)),
        ("my_draws", "u1", (MAX_TRICKS,)),
        ("opponent_draws", "u1", (MAX_TRICKS,)),
        (
            "took_second",
            "u1",
            (MAX_TRICKS,),
        ),  # the winner took the second stock card
        ("void_draws", "i1", (4,)),  # unseen cards the opponent drew since it failed; -1: never
        ("opponent_unseen_draws", "u1"),
        ("opponent_hand_size", "u1"),  # cards in the opponent's hand
        ("tricks", "u1", (SEATS,)),  # counting tricks
        ("seat", "u1"),
        ("to_move", "u1"),  # 1: the view's player is
        ("phase", "u1"),
        ("i_deal", "u1"),
        ("i_lead", "u1"),  # the current trick
        ("trick", "u1"),
        ("stock_left", "u1"),
        ("trump", "u1"),
        ("low", "u1"),
        ("exchanged", "u1", (SEATS,)),
        ("turned", "u1"),  # the dealer's card that was turned up before the exchange
    ]
)
