"""German Whist for three players with a dummy: another game, on the same cards, streams and tricks.

Eight tricks are played for the stock by three hands, then seven by four: what is left of the
stock lies open as the dummy, which whoever won the eighth trick plays in its turn. Only those
seven tricks count. One game is played at a time, in plain Python over card sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..common.jit.compiler import jit, warm_up
from ..engine.cards import CARDS, N_CARDS, SUIT_NAMES, Card, cards_of, text_of
from ..engine.game import IllegalAction, checked_deal, parse_action
from ..engine.play import Record, beats, row, shuffle
from ..engine.rng import random_below, stream_key
from ..engine.rules import load_rules
from ..engine.seeding import checked_seat, checked_seed

PLAYERS = 3
DUMMY = 3
"""The seat of the dummy: between the third player and the first, clockwise."""
HAND = 7
DRAW_TRICKS = 8
TRICKS_IN_ALL = 15
_STOCK = PLAYERS * HAND
_DUMMYS_CARDS = _STOCK + PLAYERS * DRAW_TRICKS
_SUIT = 0x1FFF
# The whole deck.
_CLASSIC = load_rules("classic")
_RULES = _CLASSIC.record()


class ThreeTrick(NamedTuple):
    """A trick: the seat that led, the cards in the order played, the upcard it was played for."""

    leader: int
    cards: tuple[int, ...]
    upcard: int | None

    def __str__(self) -> str:
        return f"{self.leader}: {text_of(self.cards)}"


class ThreeView(NamedTuple):
    """All that a seat may know: sets of cards as numbers (`cards_of`), seats as it sees them.

    Seat 0 is its own here, 1 and 2 are the players after it, clockwise, and 3 is the dummy;
    `seat` and the leaders of `tricks` alone are seats of the table.
    """

    seat: int
    hand: int
    upcard: int
    """The card that lies face up on the stock, as a set; none after the eighth trick."""
    trick: tuple[int, int, int, int]
    """What each seat has played to the trick under way, as sets."""
    played: tuple[int, int, int, int]
    """All that each seat has played."""
    known: tuple[int, int]
    """What the other two players were seen to take, and still hold."""
    dummy: int
    """The dummy's cards, once it lies open."""
    unseen: int
    """The cards whose place the seat cannot know."""
    void_draws: tuple[tuple[int, ...], tuple[int, ...]]
    """For the other two and each suit: the unseen cards drawn since it was last failed to be
    followed; -1: it never was."""
    trump: int
    leader: int
    """Who leads, or led, the trick under way."""
    turn: int | None
    """Whose cards are to be played; None after the end."""
    declarer: int | None
    """Who plays the dummy; None before it lies open."""
    dealer: int
    counted: tuple[int, int, int, int]
    """The counting tricks that each seat has taken."""
    legal: int
    """What may be played; nothing unless it is for this seat to play, from its hand or the
    dummy's."""
    tricks: tuple[ThreeTrick, ...]
    """The tricks that are over."""
    draws: tuple[int, ...]
    """The cards that the seat drew unseen by the others, in order."""

    @property
    def over(self) -> bool:
        """Whether the hand is over."""
        return self.turn is None

    @property
    def draws_left(self) -> int:
        """How many tricks are still played for the stock."""
        return max(0, DRAW_TRICKS - len(self.tricks))

    def cards_held(self, who: int) -> int:
        """How many cards the player itself (0), the next (1) or the one after (2) holds."""
        drawn = min(len(self.tricks), DRAW_TRICKS)
        return HAND + drawn - self.played[who].bit_count()

    @property
    def led(self) -> int | None:
        """The card that the trick under way was led with, if it was."""
        led = self.trick[self.leader]
        return led.bit_length() - 1 if led else None

    @property
    def winning(self) -> int | None:
        """The card that wins the trick under way so far; None before it is led."""
        best = self.led
        if best is not None:
            for held in self.trick:
                if held and beats(held.bit_length() - 1, best, self.trump):
                    best = held.bit_length() - 1
        return best

    @property
    def winner(self) -> int | None:
        """Whose card that is."""
        best = self.winning
        return None if best is None else self.trick.index(1 << best)


@jit
def _deal(
    rules: np.ndarray, seed: np.uint64, number: np.uint64, stream: np.ndarray, deal: np.ndarray
) -> int:
    """Write deal `number` of a seed; returns its dealer."""
    here: Record = row(rules, 0)
    stream[0] = stream_key(seed, number)
    dealer = random_below(stream, PLAYERS)
    shuffle(here, stream, deal)
    return dealer


def _dealt(seed: int, number: int) -> tuple[int, list[int]]:
    deal = np.zeros(N_CARDS, np.uint8)
    stream = np.zeros(1, np.uint64)
    dealer = int(_deal(_RULES, np.uint64(seed), np.uint64(number), stream, deal))
    return dealer, deal.tolist()


def _compile_all() -> None:
    _dealt(0, 0)
    beats(0, 1, 0)


class ThreeGame:
    """One game for three with a dummy.

    >>> game = ThreeGame(seed=1)
    >>> while not game.over:
    ...     game.play(game.legal()[0])
    >>> sum(game.pays)
    0
    """

    def __init__(self, seed: int = 0, number: int = 0) -> None:
        """Deal number `number` of a seed."""
        warm_up("game for three", "engine", _compile_all)
        self.deal(seed, number)

    # -- dealing

    def deal(self, seed: int = 0, number: int = 0) -> None:
        """Deal hand `number` of a seed, its dealer drawn with it."""
        checked = checked_seed(seed), checked_seed(number, "number")
        self.seed: int
        self.number: int
        self.seed, self.number = checked
        dealer, deal = _dealt(*checked)
        self._begin(deal, dealer)

    def deal_cards(self, deal: str | Iterable[int | str], dealer: int) -> None:
        """Deal these cards: in dealing order, from the dealer's left, then the stock from the top.

        The last seven become the dummy.
        """
        order = [int(each) for each in checked_deal(_CLASSIC, deal)]
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
        """The seat that plays the dummy, once it lies open."""
        self.leader: int = (dealer + 1) % PLAYERS
        """The seat that leads, or led, the trick under way."""
        self.turn: int | None = self.leader
        """The seat whose cards are to be played, the dummy's included; None after the end."""

    # -- playing

    @property
    def mover(self) -> int | None:
        """The player who is to move: the declarer for the dummy; None after the end."""
        return self.declarer if self.turn == DUMMY else self.turn

    @property
    def over(self) -> bool:
        """Whether the hand is over."""
        return self.turn is None

    @property
    def legal_set(self) -> int:
        """The cards that may be played, as a set."""
        if self.turn is None:
            return 0
        hand = self._hands[self.turn]
        if not self._cards:
            return hand
        return hand & (_SUIT << 13 * (self._cards[0] // 13)) or hand

    def legal(self) -> list[int]:
        """The cards that may be played."""
        return [int(each) for each in cards_of(self.legal_set)]

    def play(self, action: int | str) -> None:
        """Play a card, by id or text, from the hand that is to play; else raise a sentence."""
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
        seats = PLAYERS if self.declarer is None else PLAYERS + 1
        if len(self._cards) < seats:
            self.turn = (seat + 1) % seats
        else:
            self._end_trick((self.leader + self._winning_place()) % seats)

    def _winning_place(self) -> int:
        """The place of the card that wins the trick: every card against the best before it."""
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

    # -- looking

    def _upcard(self) -> int | None:
        trick = len(self._tricks)
        return self._deal[_STOCK + PLAYERS * trick] if trick < DRAW_TRICKS else None

    def view(self, seat: int | None = None) -> ThreeView:
        """All that a seat may know; if none is named, the player to move."""
        if seat is None:
            seat = self.mover
            if seat is None:
                raise IllegalAction("the hand is over, so no seat is to move: name one, 0, 1 or 2")
        # The dummy is no player.
        checked_seat(seat, (0, 1, 2))
        left, right = (seat + 1) % PLAYERS, (seat + 2) % PLAYERS
        trick, leader = [0] * 4, self.leader
        for place, number in enumerate(self._cards):
            at = (leader + place) % (PLAYERS if self.declarer is None else PLAYERS + 1)
            trick[at] = 1 << number
        upcard = self._upcard()
        turned = 0 if upcard is None else 1 << upcard
        hand, known, dummy = self._hands[seat], self._known, self._hands[DUMMY]
        mine, lefts, rights, dummys = (self._played[at] for at in (seat, left, right, DUMMY))
        seen = mine | lefts | rights | dummys | hand | known[left] | known[right] | dummy | turned
        return ThreeView(
            seat=seat,
            hand=hand,
            upcard=turned,
            trick=(trick[seat], trick[left], trick[right], trick[DUMMY]),
            played=(mine, lefts, rights, dummys),
            known=(known[left], known[right]),
            dummy=dummy,
            unseen=_DECK & ~seen,
            void_draws=(self._void_draws(left), self._void_draws(right)),
            trump=self.trump,
            leader=_seen_from(seat, leader),
            turn=None if self.turn is None else _seen_from(seat, self.turn),
            declarer=None if self.declarer is None else _seen_from(seat, self.declarer),
            dealer=_seen_from(seat, self.dealer),
            counted=(
                self._counted[seat],
                self._counted[left],
                self._counted[right],
                self._counted[DUMMY],
            ),
            legal=self.legal_set if self.mover == seat else 0,
            tricks=tuple(self._tricks),
            draws=tuple(self._unseen_draws[seat]),
        )

    def _void_draws(self, seat: int) -> tuple[int, ...]:
        drawn = len(self._unseen_draws[seat])
        return tuple(at if at < 0 else drawn - at for at in self._failed_at[seat])

    @property
    def upcard(self) -> Card | None:
        """The stock card that lies face up; None after the eighth trick."""
        upcard = self._upcard()
        return None if upcard is None else CARDS[upcard]

    @property
    def hands(self) -> tuple[list[Card], ...]:
        """The cards that each seat holds, the dummy's last, once it lies open."""
        return tuple(map(cards_of, self._hands))

    @property
    def trick_cards(self) -> list[Card]:
        """The cards of the trick under way, in the order played."""
        return [CARDS[each] for each in self._cards]

    @property
    def tricks(self) -> list[ThreeTrick]:
        """The tricks that are over."""
        return list(self._tricks)

    @property
    def cards_dealt(self) -> list[Card]:
        """The whole deal: hands from the dealer's left, the stock from the top, the dummy."""
        return [CARDS[each] for each in self._deal]

    @property
    def actions(self) -> list[int]:
        """Every card played, in order."""
        return [each for trick in self._tricks for each in trick.cards] + self._cards

    @property
    def counting_tricks(self) -> tuple[int, int, int, int]:
        """Counting tricks that each seat has taken, the dummy's last."""
        first, second, third, dummys = self._counted
        return first, second, third, dummys

    @property
    def pays(self) -> tuple[int, int, int]:
        """What the tricks pay each player so far: three times its own less those of all three."""
        first, second, third, _ = self._counted
        together = first + second + third
        return 3 * first - together, 3 * second - together, 3 * third - together

    def __repr__(self) -> str:
        if self.over:
            return f"ThreeGame(over, pays {self.pays})"
        hands = "; ".join(text_of(hand) for hand in self.hands)
        return f"ThreeGame(seat {self.mover} to play, hands {hands})"

    def _why_illegal(self, number: int) -> str:
        if not 0 <= number < N_CARDS:
            return f"{number} is not an action: actions run from 0 to {N_CARDS - 1}"
        if self.turn is None:
            return f"{CARDS[number]} cannot be played: the hand is over, deal again"
        hand = self._hands[self.turn]
        whose = "the dummy" if self.turn == DUMMY else f"seat {self.turn}"
        if not hand >> number & 1:
            held = text_of(cards_of(hand))
            return f"{CARDS[number]} is not in the hand of {whose}, which holds {held}"
        suit = SUIT_NAMES[self._cards[0] // 13]
        choices = " or ".join(str(each) for each in cards_of(self.legal_set))
        return f"{CARDS[number]} does not follow suit: {suit} were led, play {choices} of {whose}"


_DECK = (1 << N_CARDS) - 1


def _seen_from(seat: int, other: int) -> int:
    return DUMMY if other == DUMMY else (other - seat) % PLAYERS
