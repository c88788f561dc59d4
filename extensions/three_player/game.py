"""German Whist for three players with a dummy: another game on the same cards and random streams.

Three hands play eight tricks for the stock, then four hands play seven: the rest of the stock is
the open dummy, played by the winner of the eighth trick. Only those seven tricks count. One game
at a time, in plain Python over card sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from german_whist.common.jit.compiler import jit, warm_up
from german_whist.engine.cards import CARDS, N_CARDS, SUIT_NAMES, Card, cards_of, text_of
from german_whist.engine.checks import (
    IllegalAction,
    checked_deal,
    checked_seat,
    checked_seed,
    parse_action,
)
from german_whist.engine.play import Record, beats, row, shuffle
from german_whist.engine.rng import random_below, stream_state
from german_whist.engine.rules import load_rules

PLAYERS = 3
DUMMY = 3
"""Seat of the dummy: between the third player and the first, clockwise."""
HAND = 7
DRAW_TRICKS = 8
TRICKS_IN_ALL = 15
_STOCK = PLAYERS * HAND
_DUMMYS_CARDS = _STOCK + PLAYERS * DRAW_TRICKS
_SUIT = 0x1FFF
# The whole deck.
_CLASSIC = load_rules("classic")
_RULES = _CLASSIC.array()


class ThreeTrick(NamedTuple):
    """A trick: its leader, the cards in the order played, the upcard."""

    leader: int
    cards: tuple[int, ...]
    upcard: int | None

    def __str__(self) -> str:
        return f"{self.leader}: {text_of(self.cards)}"


class ThreeView(NamedTuple):
    """All that a seat may know: card sets as integers (`cards_of`), and relative seats.

    Relative seat 0 is its own, 1 and 2 are the next players clockwise, and 3 is the dummy; `seat`
    and the leaders of `tricks` alone are absolute seats.
    """

    seat: int
    hand: int
    upcard: int
    """The faced stock card, as a set; empty after the eighth trick."""
    trick: tuple[int, int, int, int]
    """Card of each seat in the current trick."""
    played: tuple[int, int, int, int]
    known: tuple[int, int]
    """Cards that the other two players took openly and still hold."""
    dummy: int
    unseen: int
    void_draws: tuple[tuple[int, ...], tuple[int, ...]]
    """For the other two and each suit: unseen draws since the last failure to follow, or -1."""
    trump: int
    leader: int
    turn: int | None
    """Seat whose card is due, the dummy included; None after the end."""
    declarer: int | None
    """Seat that plays the dummy; None before it is open."""
    dealer: int
    tricks_won: tuple[int, int, int, int]
    """Counting tricks of each seat."""
    legal: int
    """Legal cards; empty unless this seat is to move, for itself or the dummy."""
    tricks: tuple[ThreeTrick, ...]
    draws: tuple[int, ...]
    """Cards that the seat drew unseen by the others, in order."""

    @property
    def over(self) -> bool:
        return self.turn is None

    @property
    def draws_left(self) -> int:
        """Number of tricks still to be played for the stock."""
        return max(0, DRAW_TRICKS - len(self.tricks))

    def hand_size(self, seat: int) -> int:
        """Number of cards of a player, by relative seat."""
        drawn = min(len(self.tricks), DRAW_TRICKS)
        return HAND + drawn - self.played[seat].bit_count()

    @property
    def led(self) -> int | None:
        led = self.trick[self.leader]
        return led.bit_length() - 1 if led else None

    @property
    def winning(self) -> int | None:
        """The card that wins the current trick so far; None before a lead."""
        best = self.led
        if best is not None:
            for card_set in self.trick:
                if card_set and beats(card_set.bit_length() - 1, best, self.trump):
                    best = card_set.bit_length() - 1
        return best

    @property
    def winner(self) -> int | None:
        """Relative seat of that card."""
        best = self.winning
        return None if best is None else self.trick.index(1 << best)


@jit
def _deal(
    rules: np.ndarray, seed: np.uint64, number: np.uint64, stream: np.ndarray, deal: np.ndarray
) -> int:
    rules_array: Record = row(rules, 0)
    stream[0] = stream_state(seed, number)
    dealer = random_below(stream, PLAYERS)
    shuffle(rules_array, stream, deal)
    return dealer


def _dealt(seed: int, number: int) -> tuple[int, list[int]]:
    deal = np.zeros(N_CARDS, np.uint8)
    stream = np.zeros(1, np.uint64)
    dealer = int(_deal(_RULES, np.uint64(seed), np.uint64(number), stream, deal))
    return dealer, deal.tolist()


class ThreeGame:
    """One game for three with a dummy.

    >>> game = ThreeGame(seed=1)
    >>> while not game.over:
    ...     game.play(game.legal()[0])
    >>> sum(game.payoffs)
    0
    """

    def __init__(self, seed: int = 0, number: int = 0) -> None:
        warm_up("game for three", "engine", lambda: (_dealt(0, 0), beats(0, 1, 0)))
        self.deal(seed, number)

    # -- dealing

    def deal(self, seed: int = 0, number: int = 0) -> None:
        """Deal number `number` of a seed, with a random dealer."""
        self.seed, self.number = checked_seed(seed), checked_seed(number, "number")
        dealer, deal = _dealt(self.seed, self.number)
        self._begin(deal, dealer)

    def deal_cards(self, deal: str | Iterable[int | str], dealer: int) -> None:
        """Deal these cards in dealing order: from the dealer's left, then the stock from the top.

        The last seven become the dummy.
        """
        order = [int(card) for card in checked_deal(_CLASSIC, deal)]
        checked_seat(dealer, (0, 1, 2), "dealer")
        self._begin(order, int(dealer))

    def _begin(self, deal: list[int], dealer: int) -> None:
        self._deal = deal
        self.dealer = dealer
        self.trump: int = deal[_STOCK] // 13
        self._hands = [0] * 4
        for place in range(_STOCK):
            self._hands[(dealer + 1 + place) % PLAYERS] |= 1 << deal[place]
        self._played = [0] * 4
        self._known = [0] * PLAYERS
        self._unseen_draws: list[list[int]] = [[] for _ in range(PLAYERS)]
        self._failed_at = [[-1] * 4 for _ in range(PLAYERS)]
        self._tricks: list[ThreeTrick] = []
        self._cards: list[int] = []
        self._counted = [0] * 4
        self.declarer: int | None = None
        """Seat that plays the dummy, after it was opened."""
        self.leader: int = (dealer + 1) % PLAYERS
        """Leader of the current trick."""
        self.turn: int | None = self.leader
        """Seat whose card is due, the dummy included; None after the end."""

    # -- playing

    @property
    def mover(self) -> int | None:
        """Player to move: the declarer for the dummy; None after the end."""
        return self.declarer if self.turn == DUMMY else self.turn

    @property
    def over(self) -> bool:
        return self.turn is None

    @property
    def legal_set(self) -> int:
        if self.turn is None:
            return 0
        hand = self._hands[self.turn]
        if not self._cards:
            return hand
        return hand & (_SUIT << 13 * (self._cards[0] // 13)) or hand

    def legal(self) -> list[int]:
        return [int(card) for card in cards_of(self.legal_set)]

    def play(self, action: int | str) -> None:
        """Play a card by id or text; an illegal one raises `IllegalAction`."""
        number = parse_action(action)
        seat = self.turn
        if seat is None or not 0 <= number < N_CARDS or not self.legal_set >> number & 1:
            raise IllegalAction(self._why_illegal(number))
        played = 1 << number
        self._hands[seat] ^= played
        self._played[seat] |= played
        if seat != DUMMY:
            self._known[seat] &= ~played
            if self._cards and number // 13 != (led := self._cards[0] // 13):
                self._failed_at[seat][led] = len(self._unseen_draws[seat])
        self._cards.append(number)
        seats = self._seats_playing
        if len(self._cards) < seats:
            self.turn = (seat + 1) % seats
        else:
            self._end_trick((self.leader + self._winning_place()) % seats)

    @property
    def _seats_playing(self) -> int:
        return PLAYERS if self.declarer is None else PLAYERS + 1

    def _winning_place(self) -> int:
        best = 0
        for place in range(1, len(self._cards)):
            if beats(self._cards[place], self._cards[best], self.trump):
                best = place
        return best

    def _end_trick(self, winner: int) -> None:
        self._tricks.append(ThreeTrick(self.leader, tuple(self._cards), self._upcard()))
        self._cards = []
        self.leader = self.turn = winner
        if self.declarer is not None:
            self._counted[winner] += 1
            if len(self._tricks) == TRICKS_IN_ALL:
                self.turn = None
            return
        first = _STOCK + PLAYERS * (len(self._tricks) - 1)
        for place in range(PLAYERS):
            drawn, seat = self._deal[first + place], (winner + place) % PLAYERS
            self._hands[seat] |= 1 << drawn
            if place == 0:
                self._known[seat] |= 1 << drawn
            else:
                self._unseen_draws[seat].append(drawn)
        if len(self._tricks) == DRAW_TRICKS:
            self.declarer = winner
            for drawn in self._deal[_DUMMYS_CARDS:]:
                self._hands[DUMMY] |= 1 << drawn

    # -- views and state

    def _upcard(self) -> int | None:
        trick = len(self._tricks)
        return self._deal[_STOCK + PLAYERS * trick] if trick < DRAW_TRICKS else None

    def view(self, seat: int | None = None) -> ThreeView:
        """The view of a seat, by default of the player to move."""
        if seat is None:
            seat = self.mover
            if seat is None:
                raise IllegalAction("the hand is over, so no seat is to move: name one, 0, 1 or 2")
        # The dummy is no player.
        checked_seat(seat, (0, 1, 2))
        left, right = (seat + 1) % PLAYERS, (seat + 2) % PLAYERS
        trick, leader = [0] * 4, self.leader
        for place, number in enumerate(self._cards):
            trick[(leader + place) % self._seats_playing] = 1 << number
        upcard = self._upcard()
        turned = 0 if upcard is None else 1 << upcard
        hand, known, dummy = self._hands[seat], self._known, self._hands[DUMMY]
        played = _relative(seat, self._played)
        located = hand | known[left] | known[right] | dummy | turned
        for cards in played:
            located |= cards
        return ThreeView(
            seat=seat,
            hand=hand,
            upcard=turned,
            trick=_relative(seat, trick),
            played=played,
            known=(known[left], known[right]),
            dummy=dummy,
            unseen=_DECK & ~located,
            void_draws=(self._void_draws(left), self._void_draws(right)),
            trump=self.trump,
            leader=relative_seat(seat, leader),
            turn=None if self.turn is None else relative_seat(seat, self.turn),
            declarer=None if self.declarer is None else relative_seat(seat, self.declarer),
            dealer=relative_seat(seat, self.dealer),
            tricks_won=_relative(seat, self._counted),
            legal=self.legal_set if self.mover == seat else 0,
            tricks=tuple(self._tricks),
            draws=tuple(self._unseen_draws[seat]),
        )

    def _void_draws(self, seat: int) -> tuple[int, ...]:
        drawn = len(self._unseen_draws[seat])
        return tuple(count if count < 0 else drawn - count for count in self._failed_at[seat])

    @property
    def upcard(self) -> Card | None:
        """The faced stock card; None after the eighth trick."""
        upcard = self._upcard()
        return None if upcard is None else CARDS[upcard]

    @property
    def hands(self) -> tuple[list[Card], ...]:
        """Cards of each seat, the dummy's last."""
        return tuple(map(cards_of, self._hands))

    @property
    def tricks(self) -> list[ThreeTrick]:
        return list(self._tricks)

    @property
    def cards_dealt(self) -> list[Card]:
        """The deal in dealing order: hands from the dealer's left, the stock, the dummy."""
        return [CARDS[card] for card in self._deal]

    @property
    def actions(self) -> list[int]:
        return [card for trick in self._tricks for card in trick.cards] + self._cards

    @property
    def counting_tricks(self) -> tuple[int, int, int, int]:
        """Counting tricks of each seat, the dummy's last."""
        first, second, third, dummys = self._counted
        return first, second, third, dummys

    @property
    def payoffs(self) -> tuple[int, int, int]:
        """Payoff of each player so far: three times its own tricks minus those of all three."""
        first, second, third, _ = self._counted
        together = first + second + third
        return 3 * first - together, 3 * second - together, 3 * third - together

    def __repr__(self) -> str:
        if self.over:
            return f"ThreeGame(over, pays {self.payoffs})"
        hands = "; ".join(text_of(hand) for hand in self.hands)
        return f"ThreeGame(seat {self.mover} to play, hands {hands})"

    def _why_illegal(self, number: int) -> str:
        if not 0 <= number < N_CARDS:
            return f"{number} is not an action: actions run from 0 to {N_CARDS - 1}"
        if self.turn is None:
            return f"{CARDS[number]} cannot be played: the hand is over, deal again"
        hand = self._hands[self.turn]
        owner = "the dummy" if self.turn == DUMMY else f"seat {self.turn}"
        if not hand >> number & 1:
            holding = text_of(cards_of(hand))
            return f"{CARDS[number]} is not in the hand of {owner}, which holds {holding}"
        suit = SUIT_NAMES[self._cards[0] // 13]
        choices = " or ".join(str(card) for card in cards_of(self.legal_set))
        return f"{CARDS[number]} does not follow suit: {suit} were led, play {choices} of {owner}"


_DECK = (1 << N_CARDS) - 1


def _relative(seat: int, values: Sequence[int]) -> tuple[int, int, int, int]:
    """Values by absolute seat, as a seat counts them."""
    left, right = (seat + 1) % PLAYERS, (seat + 2) % PLAYERS
    return values[seat], values[left], values[right], values[DUMMY]


def relative_seat(seat: int, other: int) -> int:
    return DUMMY if other == DUMMY else (other - seat) % PLAYERS
