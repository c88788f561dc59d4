"""What one player may know: the `VIEW` record, and `View`, the same for people.

A view holds the player's own cards, all that was seen in the order it was seen,
and nothing that follows from hidden cards. Agents get arrays of these records,
copied out of the games. Equal knowledge gives equal bytes, so views compare and
hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.jit.bitset import NO_CARDS, bit, popcount
from ..common.jit.compiler import called, jit
from .cards import ACTIONS, CARDS, CARDS_IN_ALL, Card, cards_of, text_of
from .dtypes import (
    CHOOSE,
    FOLLOW,
    NO_CARD,
    NO_TRUMP,
    OVER,
    PHASE_NAMES,
    TOOK_BLIND,
    UNDECIDED,
    UNSEEN_CARD,
    VIEW,
)
from .play import (
    Record,
    faced_count,
    laid_away,
    legal_actions,
    row,
    stock_card,
    stock_left,
    turned_card,
)
from .rules import Rules


@jit
def write_position(rules: Record, game: Record, seat: int, view: Record) -> None:
    """Everything of a view but the tricks that are over: what an observation shows."""
    other = 1 - seat
    left = stock_left(rules, game)
    trick = np.int64(game.trick)
    phase = np.int64(game.phase)
    # By the draws, not the tricks: one that wins a race is over with nothing drawn.
    count = faced_count(rules, np.int64(game.drawn) // 2, left)
    faced = NO_CARDS
    view.upcards[0] = NO_CARD
    view.upcards[1] = NO_CARD
    for place in range(count):
        card = stock_card(rules, game, place)
        view.upcards[place] = card
        faced |= bit(card)
    view.hand = game.hand[seat]
    view.known = game.known[other]
    view.played[0] = game.played[seat]
    view.played[1] = game.played[other]
    view.faced = faced
    away = NO_CARDS
    view.turned = NO_CARD
    if rules.exchange == 1:
        view.turned = turned_card(rules, game)
        away = _known_away(rules, game, seat)
    view.laid_away = away
    view.exchanged[0] = game.exchanged[seat]
    view.exchanged[1] = game.exchanged[other]
    seen = game.hand[seat] | game.played[0] | game.played[1] | game.known[other] | faced | away
    view.unseen = rules.deck & ~seen
    view.led = game.led_cards[trick] if phase == FOLLOW else NO_CARD
    view.other_cards = popcount(game.hand[other])
    view.other_unseen_draws = game.unseen_draws[other]
    for suit in range(4):
        failed = np.int64(game.failed_at[other][suit])
        since = np.int64(game.unseen_draws[other]) - failed
        view.void_draws[suit] = since if failed >= 0 else -1
    view.points[0] = game.points[seat]
    view.points[1] = game.points[other]
    view.hands = game.hands
    view.hands_won[0] = game.hands_won[seat]
    view.hands_won[1] = game.hands_won[other]
    view.tricks[0] = game.tricks[seat]
    view.tricks[1] = game.tricks[other]
    view.seat = seat
    view.to_move = 1 if game.turn == seat and phase != OVER else 0
    view.phase = phase
    view.i_deal = 1 if game.dealer == seat else 0
    view.i_lead = 1 if leader_of_trick(game) == seat else 0
    view.trick = trick
    view.stock_left = left
    view.trump = game.trump
    view.low = game.low


@called
def _known_away(rules: Record, game: Record, seat: int) -> np.uint64:
    """What a seat knows to be out of play: its own hand laid away, and the dealer's turned card."""
    cards = laid_away(rules, game, seat)
    turned = turned_card(rules, game)
    if turned != NO_CARD and game.exchanged[game.dealer] == TOOK_BLIND:
        cards |= bit(turned)
    return cards


@jit
def first_hand(view: Record) -> np.uint64:
    """The cards that the player whose view this is was dealt."""
    if view.exchanged[0] == TOOK_BLIND:
        # The turned card is known to be out of play, but it was dealt to the dealer.
        others = bit(view.turned) if view.i_deal == 0 and view.turned != NO_CARD else NO_CARDS
        return view.laid_away & ~others
    cards = view.hand | view.played[0]
    for index in range(len(view.my_draws)):
        if view.my_draws[index] < CARDS_IN_ALL:
            cards &= ~bit(view.my_draws[index])
    return cards


@jit
def leader_of_trick(game: Record) -> int:
    """Who leads or led the trick under way; after the end, who won the last one."""
    if game.phase == FOLLOW or game.phase == CHOOSE:
        return np.int64(game.leaders[game.trick])
    return np.int64(game.leader)


@jit
def write_tricks(rules: Record, game: Record, seat: int, view: Record) -> None:
    """The cards of every trick so far, and who drew what, as this seat saw it."""
    trick = np.int64(game.trick)
    begun = trick
    if game.phase == FOLLOW or game.phase == CHOOSE:
        begun += 1
    base = 2 * np.int64(rules.hand)
    for index in range(len(view.led_cards)):
        view.led_cards[index] = NO_CARD
        view.followed_cards[index] = NO_CARD
        view.my_draws[index] = NO_CARD
        view.other_draws[index] = NO_CARD
        view.took_second[index] = 0
        view.i_led[index] = 0
        if index >= begun:
            continue
        view.led_cards[index] = game.led_cards[index]
        view.i_led[index] = 1 if game.leaders[index] == seat else 0
        if index == trick and game.phase == FOLLOW:
            continue
        view.followed_cards[index] = game.followed_cards[index]
        if index == trick or 2 * index >= np.int64(game.drawn):
            continue
        winner = game.leaders[index + 1] if index + 1 < begun else game.leader
        second = np.int64(game.took_second[index])
        mine = second if winner == seat else 1 - second
        faced = faced_count(rules, index, np.int64(rules.stock) - 2 * index)
        view.my_draws[index] = game.deal[base + 2 * index + mine]
        theirs = 1 - mine
        view.took_second[index] = second
        seen = theirs < faced
        view.other_draws[index] = game.deal[base + 2 * index + theirs] if seen else UNSEEN_CARD


@jit
def i_won(view: Record, trick: int) -> bool:
    """Whether the player whose view this is won a trick that is over."""
    if trick + 1 < np.int64(view.trick):
        return view.i_led[trick + 1] == 1
    return view.i_lead == 1


@jit
def write_view(rules: Record, game: Record, seat: int, view: Record) -> None:
    """All that a seat may know of a game."""
    write_position(rules, game, seat, view)
    write_tricks(rules, game, seat, view)


@jit
def legal_in_view(rules: Record, view: Record) -> np.uint64:
    """The actions open to the player whose view this is; none when the other is to move."""
    if view.to_move == 0:
        return NO_CARDS
    led = np.int64(view.led) if view.phase == FOLLOW else 0
    return legal_actions(rules, view.phase, view.hand, led, view.faced)


@jit
def write_views(rules: np.ndarray, games: np.ndarray, seats: np.ndarray, views: np.ndarray) -> None:
    """The views of one seat of each game."""
    for index in range(len(games)):
        write_view(row(rules, 0), row(games, index), np.int64(seats[index]), row(views, index))


@jit
def legal_in_views(rules: np.ndarray, views: np.ndarray, out: np.ndarray) -> None:
    """`legal_in_view` for each view of an array."""
    for index in range(len(views)):
        out[index] = legal_in_view(row(rules, 0), row(views, index))


@dataclass(frozen=True)
class Trick:
    """One trick as a player saw it; None stands for what has not happened or was not seen."""

    i_led: bool
    led: Card
    followed: Card | None
    my_draw: Card | None
    other_draw: Card | None
    """What the opponent drew, where it was open."""
    other_drew_unseen: bool
    took_second: bool
    """The winner chose the lower of the two stock cards."""


class View:
    """What one player may know of a game: an immutable, hashable value."""

    __slots__ = ("_bytes", "record", "rules")

    rules: Rules
    record: np.ndarray[Any, Any]
    """The same as an array of one `VIEW` record, which cannot be written to."""
    _bytes: bytes

    def __init__(self, rules: Rules, record: np.ndarray[Any, Any]) -> None:
        """`record` is one `VIEW` record, or an array of one; the view keeps a copy."""
        if not isinstance(rules, Rules):
            raise TypeError(f"View({rules!r}, ...): the rules come first, then the record")
        # The bytes are the copy: an array that reads them cannot be written to, and is made faster
        # than one that is copied field by field.
        copied = np.asarray(record, VIEW).tobytes()
        record = np.frombuffer(copied, VIEW).reshape(1)
        for name, value in (("rules", rules), ("record", record), ("_bytes", copied)):
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        return self._bytes == other._bytes and self.rules == other.rules

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a view cannot be changed: {name} was to be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return View, (self.rules, self.record)

    def __hash__(self) -> int:
        return hash(self._bytes)

    def _number(self, name: str) -> int:
        return int(self.record[name][0])

    def _cards(self, name: str) -> list[Card]:
        return cards_of(self._number(name))

    @property
    def seat(self) -> int:
        """The player whose view this is."""
        return self._number("seat")

    @property
    def to_move(self) -> bool:
        """Whether this player is to move."""
        return bool(self._number("to_move"))

    @property
    def phase(self) -> str:
        """`exchange`, `lead`, `follow`, `choose` or `over`."""
        return PHASE_NAMES[self._number("phase")]

    @property
    def hand(self) -> list[Card]:
        """The player's own cards."""
        return self._cards("hand")

    @property
    def known(self) -> list[Card]:
        """Cards that the opponent was seen to take, or to be dealt, and still holds."""
        return self._cards("known")

    @property
    def unseen(self) -> list[Card]:
        """Cards that may be in the opponent's hand, face down in the stock, or out of play."""
        return self._cards("unseen")

    @property
    def laid_away(self) -> list[Card]:
        """Cards known to be out of play since the exchange: the player's own, or the turned one."""
        return self._cards("laid_away")

    @property
    def turned(self) -> Card | None:
        """The dealer's card that was turned up before the exchange."""
        return _card_or_none(self._number("turned"))

    @property
    def exchanged(self) -> tuple[bool | None, bool | None]:
        """Whether this player and the opponent took a blind hand; None: not decided, or none is."""
        mine, others = self.record["exchanged"][0].tolist()
        return _took_blind(mine), _took_blind(others)

    @property
    def played_by_me(self) -> list[Card]:
        """Cards that this player has played."""
        return cards_of(int(self.record["played"][0, 0]))

    @property
    def played_by_other(self) -> list[Card]:
        """Cards that the opponent has played."""
        return cards_of(int(self.record["played"][0, 1]))

    @property
    def upcards(self) -> list[Card]:
        """The stock cards that lie face up, the upper first."""
        return [CARDS[card] for card in self.record["upcards"][0] if card != NO_CARD]

    @property
    def led(self) -> Card | None:
        """The card to follow, if one was led."""
        card = self._number("led")
        return None if card == NO_CARD else CARDS[card]

    @property
    def trump(self) -> int | None:
        """The trump suit, if there is one."""
        suit = self._number("trump")
        return None if suit == NO_TRUMP else suit

    @property
    def low(self) -> bool:
        """Whether fewer tricks win this hand."""
        return bool(self._number("low"))

    @property
    def i_deal(self) -> bool:
        """Whether this player dealt the hand."""
        return bool(self._number("i_deal"))

    @property
    def i_lead(self) -> bool:
        """Whether this player leads the trick under way."""
        return bool(self._number("i_lead"))

    @property
    def trick(self) -> int:
        """How many tricks are over, their stock cards drawn."""
        return self._number("trick")

    @property
    def stock_left(self) -> int:
        """Cards in the stock, face up or down."""
        return self._number("stock_left")

    @property
    def endgame(self) -> bool:
        """Whether the stock is gone."""
        return self.stock_left == 0

    @property
    def open(self) -> bool:
        """Whether this player can know every card: the stock is gone, and none was set aside."""
        return self.endgame and self.rules.open_endgame

    @property
    def theirs(self) -> list[Card]:
        """The opponent's cards that this player can know: all, once the hands are open."""
        return sorted([*self.known, *self.unseen]) if self.open else self.known

    @property
    def other_cards(self) -> int:
        """How many cards the opponent holds."""
        return self._number("other_cards")

    @property
    def counting_tricks(self) -> tuple[int, int]:
        """Counting tricks taken by this player and by the opponent."""
        mine, others = self.record["tricks"][0].tolist()
        return mine, others

    @property
    def points(self) -> tuple[int, int]:
        """Points of the match, this player's and the opponent's."""
        mine, others = self.record["points"][0].tolist()
        return mine, others

    @property
    def void_draws(self) -> dict[int, int]:
        """For each suit the opponent failed to follow: unseen cards it drew since."""
        draws = self.record["void_draws"][0].tolist()
        return {suit: since for suit, since in enumerate(draws) if since >= 0}

    def tricks(self) -> Iterator[Trick]:
        """Every trick that has begun, in order."""
        record = self.record[0]
        for index in range(len(record["led_cards"])):
            led = int(record["led_cards"][index])
            if led == NO_CARD:
                return
            other = int(record["other_draws"][index])
            yield Trick(
                i_led=bool(record["i_led"][index]),
                led=CARDS[led],
                followed=_card_or_none(int(record["followed_cards"][index])),
                my_draw=_card_or_none(int(record["my_draws"][index])),
                other_draw=_card_or_none(other),
                other_drew_unseen=other == UNSEEN_CARD,
                took_second=bool(record["took_second"][index]),
            )

    def legal(self) -> list[int]:
        """The actions open to this player now."""
        out = np.zeros(1, np.uint64)
        legal_in_views(self.rules.record(), self.record, out)
        actions = int(out[0])
        return [action for action in ACTIONS if actions >> action & 1]

    def __repr__(self) -> str:
        parts = [f"seat {self.seat}", self.phase, f"hand {text_of(self.hand)}"]
        if self.upcards:
            parts.append(f"upcard {text_of(self.upcards)}")
        if self.led is not None:
            parts.append(f"led {self.led}")
        return f"View({', '.join(parts)})"


def _took_blind(exchanged: int) -> bool | None:
    return None if exchanged == UNDECIDED else exchanged == TOOK_BLIND


def _card_or_none(card: int) -> Card | None:
    return CARDS[card] if card < len(CARDS) else None
