"""One game, for people and tests: deal, look, play, take back.

`Game` holds a single record of the same kind as a batch and calls the same
compiled functions; what it adds is checking and words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..common.jit.bitset import ONE, lowest
from ..common.jit.compiler import jit, warm_up
from ..common.suggestions import a_kind_of
from .cards import (
    ACTIONS,
    ACTIONS_IN_ALL,
    CARDS,
    CHOICES,
    KEEP,
    SUIT_NAMES,
    TAKE_BLIND,
    TAKE_HIDDEN,
    Card,
    card,
    cards_of,
    text_of,
    whole_number,
)
from .dtypes import (
    CHOOSE,
    EXCHANGE,
    FOLLOW,
    GAME,
    KEPT,
    NO_TRUMP,
    OVER,
    PHASE_NAMES,
    RULES,
    SEATS,
    TOOK_BLIND,
    UNDECIDED,
    VIEW,
)
from .play import (
    deal_next,
    deal_numbered,
    faced_cards,
    legal,
    match_over,
    new_match,
    pay,
    play,
    row,
    set_up,
)
from .rules import Match, Rules, load_rules
from .seeding import checked_seat, checked_seed
from .validation import first_impossible
from .view import View, write_view


class IllegalAction(ValueError):
    """An action that the rules do not allow now; nothing was changed by it."""


# What one game needs, in one array: each array handed to compiled code costs time.
_TABLE = np.dtype(
    [
        ("rules", RULES),
        ("game", GAME),
        ("legal", "i8", (ACTIONS_IN_ALL,)),
        ("stream", "u8", (1,)),
        # As of the last look.
        ("faced", "u8"),  # the stock cards that lie face up
        ("paid", "i8"),  # to seat 0
        ("match_over", "i8"),
    ]
)

# Few functions that do several things, as each that Python calls takes time to compile: how a
# hand begins, and what to do with no action at all.
_NUMBERED, _NEXT, _AS_IT_LIES = range(3)
_LOOK = -1
_ZERO = np.uint64(0)


@jit
def _deal(table: np.ndarray, how: int, seed: np.uint64, number: np.uint64, dealer: int) -> None:
    """Begin a hand: a numbered deal of a new match, the next of this one, or the cards as given."""
    here = row(table, 0)
    if how == _AS_IT_LIES:
        set_up(here.rules, here.game, dealer)
        return
    if how == _NEXT:
        deal_next(here.rules, here.game, seed, number, here.stream)
        return
    new_match(here.game)
    deal_numbered(here.rules, here.game, seed, number, here.stream)


@jit
def _play(table: np.ndarray, action: int) -> int:
    """Play if that is legal, and list the legal actions; -1 if it is not.

    Returns how many there are, and the phase above bit 8; `_LOOK` plays nothing, and notes
    what is asked less often.
    """
    here = row(table, 0)
    if action == _LOOK:
        here.faced = faced_cards(here.rules, here.game)
        here.paid = pay(here.rules, here.game, 0)
        here.match_over = 1 if match_over(here.rules, here.game) else 0
    else:
        if not (legal(here.rules, here.game) >> np.uint64(action)) & ONE:
            return -1
        play(here.rules, here.game, action)
    left = legal(here.rules, here.game)
    count = 0
    while left:
        here.legal[count] = lowest(left)
        left &= left - ONE
        count += 1
    return count + (np.int64(here.game.phase) << 8)


@jit
def _view(table: np.ndarray, seat: int, views: np.ndarray) -> None:
    here = row(table, 0)
    write_view(here.rules, here.game, seat, row(views, 0))


def _compile_play() -> np.ndarray[Any, Any]:
    table = np.zeros(1, _TABLE)
    table["rules"] = load_rules("classic").record()
    _deal(table, _NUMBERED, _ZERO, _ZERO, 0)
    _play(table, _LOOK)
    return table


def _compile_view() -> None:
    # Apart from play: whoever only plays need not wait for it.
    _view(_compile_play(), 0, np.zeros(1, VIEW))


class Game:
    """One game of any rule set.

    >>> game = Game("classic", seed=1)
    >>> while not game.over:
    ...     game.play(game.legal()[0])
    >>> game.pays in ((1, -1), (-1, 1))
    True
    """

    def __init__(
        self,
        rules: str | Path | Rules | Mapping[str, Any] = "classic",
        seed: int = 0,
        number: int = 0,
        *,
        match: Match | None = None,
    ) -> None:
        """Deal number `number` of a seed; with `match`, its hands add up (`deal_next`)."""
        warm_up("single game", "engine", _compile_play)
        self.rules: Rules = load_rules(rules)
        self.match = match
        self._sit_at(np.zeros(1, _TABLE))
        self._table["rules"] = self.rules.record(match)
        self.deal(seed, number)

    def _sit_at(self, table: np.ndarray[Any, Any]) -> None:
        self._table = table
        self.record: npt.NDArray[np.void] = table["game"]
        """The game as an array of one `GAME` record."""
        legal = table["legal"][0]
        self._legal = [legal[:count] for count in range(len(legal) + 1)]

    @classmethod
    def of_record(
        cls,
        rules: Rules,
        record: np.ndarray[Any, Any],
        *,
        match: Match | None = None,
        seed: int = 0,
    ) -> Game:
        """The game behind an array of one `GAME` record, as if it had been played here.

        `seed` is the one that its deal, and those after it, are of.
        """
        if first_impossible(rules, match, record, stopped=True) >= 0:
            raise ValueError(
                f"play by the rules {rules.name} never leads to this record: give the record of a "
                "game, and its match if it has one"
            )
        game = cls(rules, seed, int(record["number"][0]), match=match)
        game.record[:] = record
        _deal(game._table, _AS_IT_LIES, _ZERO, _ZERO, int(record["dealer"][0]))
        game._begin()
        played = (action for _, actions in tricks_in(rules, record[0]) for action in actions)
        game.actions = [*exchanges_in(record[0]), *played]
        game._replay()
        if game.over and match is not None:
            # The record's score has this hand's pay already, which was now added once more.
            for name in _SCORE:
                game._start[name] -= game.record[name] - record[name]
                game.record[name] = record[name]
        return game

    # -- dealing

    def deal(self, seed: int = 0, number: int = 0) -> None:
        """Deal hand `number` of a seed; a match starts again."""
        checked = checked_seed(seed), checked_seed(number, "number")
        self.seed: int
        self.number: int
        self.seed, self.number = checked
        _deal(self._table, _NUMBERED, np.uint64(self.seed), np.uint64(self.number), 0)
        self._begin()

    def deal_cards(self, deal: str | Iterable[int | str], dealer: int) -> None:
        """Deal these cards: in dealing order, non-dealer first, then the stock from the top."""
        order = checked_deal(self.rules, deal)
        checked_seat(dealer, name="dealer")
        self.record["deal"][0, : len(order)] = order
        _deal(self._table, _AS_IT_LIES, _ZERO, _ZERO, int(dealer))
        self._begin()

    def deal_next(self) -> None:
        """Deal the next hand: the deal alternates; after a match a new one begins."""
        if not self.over:
            raise IllegalAction("the hand is not over: play it out, or deal anew")
        self.number += 1
        _deal(self._table, _NEXT, np.uint64(self.seed), np.uint64(self.number), 0)
        self._begin()

    def _begin(self) -> None:
        self._start = self.record.copy()
        self.actions: list[int] = []
        self._look()

    def _replay(self) -> None:
        """Carry out the actions once more, from the start."""
        for action in self.actions:
            _play(self._table, action)
        self._look()

    def _look(self) -> None:
        """Take the phase and the legal actions from the record."""
        now = _play(self._table, _LOOK)
        self._phase, self._count = now >> 8, now & 255

    # -- playing

    def legal(self) -> list[int]:
        """The legal actions of the player to move: cards, or those of a choice (52 to 54)."""
        return _ACTIONS[self._legal[self._count]].tolist()

    def play(self, action: int | str) -> None:
        """Play a card, by id or text, or make a choice; what is illegal raises a sentence."""
        # Compiled code takes a plain int much faster than a Card.
        number = int(action) if action.__class__ in _NUMBERS else parsed_action(action)
        now = _play(self._table, number) if 0 <= number < ACTIONS_IN_ALL else -1
        if now < 0:
            raise IllegalAction(self._why_illegal(number))
        self._phase, self._count = now >> 8, now & 255
        self.actions.append(number)

    def undo(self) -> None:
        """Take back the last action."""
        if not self.actions:
            raise IllegalAction("there is nothing to take back: no card has been played")
        self.actions.pop()
        self.record[:] = self._start
        self._replay()

    def clone(self) -> Game:
        """An independent copy that goes its own way."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._sit_at(self._table.copy())
        other._start = self._start.copy()
        other.actions = self.actions.copy()
        return other

    def __copy__(self) -> Game:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Game:
        return self.clone()

    def __getstate__(self) -> dict[str, Any]:
        # Arrays that look into the table would come back as copies of their own.
        return {**self.__dict__, "record": None, "_legal": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._sit_at(self._table)

    # -- looking

    def view(self, seat: int | None = None) -> View:
        """All that a seat may know; if none is named, the seat to move."""
        if seat is None:
            seat = self.turn
            if seat is None:
                raise IllegalAction("the hand is over, so no seat is to move: name one, 0 or 1")
        checked_seat(seat)
        warm_up("view of a single game", "engine", _compile_view)
        record = np.zeros(1, VIEW)
        _view(self._table, seat, record)
        return View(self.rules, record)

    def _number_of(self, name: str) -> int:
        return int(self.record[name][0])

    def _noted(self, name: str) -> int:
        """What a look notes."""
        self._look()
        return int(self._table[name][0])

    @property
    def turn(self) -> int | None:
        """The seat to move; None after the end."""
        return None if self.over else self._number_of("turn")

    @property
    def phase(self) -> str:
        """`exchange`, `lead`, `follow`, `choose` or `over`."""
        return PHASE_NAMES[self._phase]

    @property
    def over(self) -> bool:
        """Whether the hand is over."""
        return self._phase == OVER

    @property
    def match_over(self) -> bool:
        """Whether the match is over; without a match, whether the hand is."""
        if self.match is None:
            return self.over
        return bool(self._noted("match_over"))

    @property
    def dealer(self) -> int:
        """The seat that dealt."""
        return self._number_of("dealer")

    @property
    def trump(self) -> int | None:
        """The trump suit, if there is one."""
        suit = self._number_of("trump")
        return None if suit == NO_TRUMP else suit

    @property
    def low(self) -> bool:
        """Whether fewer tricks win this hand."""
        return bool(self._number_of("low"))

    @property
    def trick(self) -> int:
        """How many tricks are over, their stock cards drawn."""
        return self._number_of("trick")

    @property
    def led(self) -> Card | None:
        """The card to follow, if one was led."""
        if self._phase != FOLLOW:
            return None
        return CARDS[int(self.record["led_cards"][0, self.trick])]

    @property
    def hands(self) -> tuple[list[Card], ...]:
        """The cards that each seat holds."""
        return tuple(cards_of(cards) for cards in self.record["hand"][0].tolist())

    @property
    def upcards(self) -> list[Card]:
        """The stock cards that lie face up, the upper first."""
        faced = self._noted("faced")
        return [each for each in self.stock[:2] if faced >> each & 1]

    @property
    def turned(self) -> Card | None:
        """The dealer's card that was turned up before an exchange."""
        if not self.rules.exchange or self.rules.faced != "every":
            return None
        return self.cards_dealt[self.rules.dealt_cards - 1]

    @property
    def exchanged(self) -> tuple[bool | None, ...]:
        """Whether each seat took a blind hand; None: it has not decided, or there is none."""
        told = {UNDECIDED: None, KEPT: False, TOOK_BLIND: True}
        return tuple(told[each] for each in self.record["exchanged"][0].tolist())

    @property
    def stock(self) -> list[Card]:
        """The cards left in the stock, from the top."""
        start = SEATS * self.rules.hand
        gone = self._number_of("drawn")
        return self.cards_dealt[start + gone : start + self.rules.stock_cards]

    @property
    def cards_dealt(self) -> list[Card]:
        """The whole deal in dealing order, non-dealer first; cards left over come last.

        With an exchange there are four hands, dealt in turn: first blind, non-dealer, second
        blind, dealer.
        """
        return [CARDS[each] for each in self.record["deal"][0, : len(self.rules.deck)].tolist()]

    @property
    def counting_tricks(self) -> tuple[int, ...]:
        """Counting tricks that each seat has taken."""
        return tuple(self.record["tricks"][0].tolist())

    @property
    def pays(self) -> tuple[int, ...]:
        """What the hand pays each seat, once it is over."""
        if not self.over:
            raise IllegalAction("the hand is not over, so nothing is paid yet")
        first = self._noted("paid")
        return first, -first

    @property
    def points(self) -> tuple[int, ...]:
        """The points of the match so far."""
        return tuple(self.record["points"][0].tolist())

    @property
    def hands_won(self) -> tuple[int, ...]:
        """The hands of the match that each seat has won."""
        return tuple(self.record["hands_won"][0].tolist())

    def __repr__(self) -> str:
        if self.over:
            return f"Game({self.rules.name}, over, pays {self.pays})"
        hands = "; ".join(text_of(hand) for hand in self.hands)
        return f"Game({self.rules.name}, seat {self.turn} to {self.phase}, hands {hands})"

    # -- words

    def _why_illegal(self, number: int) -> str:
        if self.over:
            return f"{_shown(number)} cannot be played: the hand is over, deal again"
        if not 0 <= number < self.rules.actions:
            return f"{number} is not an action: actions run from 0 to {self.rules.actions - 1}"
        choices = " or ".join(_shown(each) for each in self.legal())
        seat = self.turn
        if self._phase == EXCHANGE:
            return f"{_shown(number)} cannot be played yet: seat {seat} is to exchange, {choices}"
        if self._phase == CHOOSE:
            return f"{_shown(number)} cannot be taken: seat {seat} chooses {choices}"
        if number in CHOICES:
            return f"{_shown(number)} is not to be chosen now: seat {seat} is to {self.phase}"
        hand = self.hands[seat or 0]
        if number not in hand:
            return f"{CARDS[number]} is not in the hand of seat {seat}, which holds {text_of(hand)}"
        led = self.led
        suit = SUIT_NAMES[led.suit] if led is not None else ""
        return f"{CARDS[number]} does not follow suit: {suit} were led, play {choices}"


# The fields of a record that a hand's end changes beside its phase.
_SCORE = ("points", "hands", "hands_won")

# As an array of objects: picking from it is faster than a loop over a tuple.
_ACTIONS = np.array(ACTIONS, object)
_NUMBERS = frozenset((int, Card))


def parsed_action(action: object) -> int:
    """An action from a text or a scalar of an array library; what is neither is refused."""
    if isinstance(action, str):
        return int(card(action))
    number = whole_number(action)
    if number is None:
        raise IllegalAction(
            f"{action!r} is {a_kind_of(action)}: an action is a card id or a text such as TD"
        )
    return number


def _shown(action: int) -> str:
    if action in CHOICES:
        return f"{action} ({CHOICES[action]})"
    return str(CARDS[action]) if 0 <= action < len(CARDS) else str(action)


def tricks_in(rules: Rules, game: Any) -> list[tuple[int, list[int]]]:
    """The tricks that led to a `GAME` record: who led, and the actions, a choice last."""
    tricks: list[tuple[int, list[int]]] = []
    played = (int(game["played"][0]) | int(game["played"][1])).bit_count()
    for trick in range((played + 1) // 2):
        actions = [int(game["led_cards"][trick])]
        if 2 * trick + 1 < played:
            actions.append(int(game["followed_cards"][trick]))
            faced = rules.faced == "every" or (rules.faced == "after-first" and trick > 0)
            if rules.choice and faced and 2 * trick < game["drawn"]:
                second = int(game["took_second"][trick])
                card = int(game["deal"][SEATS * rules.hand + 2 * trick + second])
                actions.append(TAKE_HIDDEN if second and rules.hidden_choice else card)
        tricks.append((int(game["leaders"][trick]), actions))
    return tricks


def exchanges_in(game: Any) -> list[int]:
    """What was kept and taken before the first lead, by the non-dealer and the dealer."""
    did = [int(game["exchanged"][seat]) for seat in (1 - int(game["dealer"]), int(game["dealer"]))]
    return [TAKE_BLIND if each == TOOK_BLIND else KEEP for each in did if each != UNDECIDED]


def checked_deal(rules: Rules, deal: str | Iterable[int | str]) -> Sequence[int]:
    """A deal in dealing order, refused unless it is the whole deck, each card once.

    Cards that are left over may be left out; they follow in order of their ids.
    """
    if not isinstance(deal, Iterable):
        raise ValueError(f"the deal is {deal!r}: it has to be cards, in dealing order")
    order = [card(each) for each in (deal.split() if isinstance(deal, str) else deal)]
    deck = set(rules.deck)
    seen: set[int] = set()
    for each in order:
        if each not in deck:
            raise ValueError(f"{each} is not in the deck of {rules.name}")
        if each in seen:
            raise ValueError(f"{each} is dealt twice")
        seen.add(each)
    needed = rules.dealt_cards
    if len(order) not in (needed, len(deck)):
        raise ValueError(f"a deal of {rules.name} has {needed} cards, this one has {len(order)}")
    return order + [each for each in rules.deck if each not in seen]
