"""Single game with checks and error messages, for interactive use and tests.

`Game` holds one record like those of a batch and calls the same compiled functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..common.jit.compiler import jit, warm_up
from ..common.typing import Array
from .bitset import ONE, lowest
from .cards import (
    ACTIONS,
    CARDS,
    CHOICES,
    KEEP,
    N_ACTIONS,
    N_CARDS,
    SUIT_NAMES,
    TAKE_BLIND,
    TAKE_HIDDEN,
    Card,
    action_text,
    cards_of,
    text_of,
)
from .checks import (
    IllegalAction,
    checked_deal,
    checked_seat,
    checked_seed,
    first_impossible,
    parse_action,
)
from .dtypes import (
    CHOOSE,
    EXCHANGE,
    FOLLOW,
    GAME,
    KEPT_HAND,
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
    Record,
    deal_next,
    deal_numbered,
    faced_cards,
    legal,
    match_over,
    new_match,
    payoff,
    play,
    row,
    set_up,
)
from .rules import Match, Rules, as_match, load_rules
from .view import View, write_view

# All data of one game in one array: each array argument of compiled code costs time.
_SINGLE_GAME = np.dtype(
    [
        ("rules", RULES),
        ("game", GAME),
        ("legal", "i8", (N_ACTIONS,)),
        ("stream", "u8", (8,)),  # as in a batch's workspace, for which dealing is compiled too
        # As of the last refresh.
        ("faced", "u8"),  # face-up stock cards
        ("payoff", "i8"),  # to seat 0
        ("match_over", "i8"),
    ]
)

# Codes for the start of a hand, and the refresh action: few functions with several purposes, since
# each one that Python calls takes time to compile.
_NUMBERED, _NEXT, _GIVEN = range(3)
_REFRESH = -1
# A status is the number of legal actions, with the phase in the bits above.
_PHASE_SHIFT, _COUNT_BITS = 8, 255


@jit
def _deal(states: np.ndarray, start: int, seed: np.uint64, number: np.uint64, dealer: int) -> None:
    state = row(states, 0)
    if start == _GIVEN:
        set_up(state.rules, state.game, dealer)
        return
    if start == _NEXT:
        deal_next(state.rules, state.game, seed, number, state.stream)
        return
    new_match(state.game)
    deal_numbered(state.rules, state.game, seed, number, state.stream)


@jit
def _play(states: np.ndarray, action: int) -> int:
    """Play an action if it is legal, and list the legal actions; -1 if it is not.

    Returns a status. `_REFRESH` plays nothing, and updates the fields that are read less often.
    """
    state = row(states, 0)
    if action == _REFRESH:
        state.faced = faced_cards(state.rules, state.game)
        state.payoff = payoff(state.rules, state.game, 0)
        state.match_over = 1 if match_over(state.rules, state.game) else 0
    else:
        if not (legal(state.rules, state.game) >> np.uint64(action)) & ONE:
            return -1
        play(state.rules, state.game, action)
    left = legal(state.rules, state.game)
    count = 0
    while left:
        state.legal[count] = lowest(left)
        left &= left - ONE
        count += 1
    return count + (np.int64(state.game.phase) << _PHASE_SHIFT)


@jit
def _view(states: np.ndarray, seat: int, views: np.ndarray) -> None:
    state = row(states, 0)
    write_view(state.rules, state.game, seat, row(views, 0))


def _compile_play() -> Array:
    states = np.zeros(1, _SINGLE_GAME)
    states["rules"] = load_rules("classic").array()
    _deal(states, _NUMBERED, np.uint64(0), np.uint64(0), 0)
    _play(states, _REFRESH)
    return states


def _compile_view() -> None:
    # Apart from play, which then compiles faster.
    _view(_compile_play(), 0, np.zeros(1, VIEW))


class Game:
    """One game with open cards, played action by action: a hand, or a match of several hands.

    ```python
    game = Game("classic", seed=1)  # the deal number 0 of seed 1
    while not game.over:
        game.play(game.legal()[0])  # or a text such as "TD"
    game.payoffs  # what the hand pays seat 0 and seat 1
    ```

    - `rules`: the rule set. A name such as `"classic"` (default), a `Rules`, a mapping of its
      fields, or the path of a YAML file.
    - `seed`, `number`: the deal, as in the environments (0 and 0). `deal` deals another one, and
      `deal_cards` deals cards of your choice.
    - `match`: `None` (default) for a single hand. A number of points or a `Match` for several
      hands, of which `deal_next` deals the next.

    A `Game` shows both hands and the stock. `view(seat)` is what one player may know. `undo()`
    takes the last action back, and `clone()` makes an independent copy. An illegal action raises
    `IllegalAction` and changes nothing.
    """

    def __init__(
        self,
        rules: str | Path | Rules | Mapping[str, object] = "classic",
        seed: int = 0,
        number: int = 0,
        *,
        match: Match | int | None = None,
    ) -> None:
        warm_up("single game", "engine", _compile_play)
        self.rules: Rules = load_rules(rules)
        self.match: Match | None = as_match(match)
        self._use_state(np.zeros(1, _SINGLE_GAME))
        self._state["rules"] = self.rules.array(match)
        self.deal(seed, number)

    def _use_state(self, states: Array) -> None:
        self._state = states
        self.array: npt.NDArray[np.void] = states["game"]
        """A one-element `GAME` array."""
        legal = states["legal"][0]
        self._legal = [legal[:count] for count in range(len(legal) + 1)]

    @classmethod
    def of_array(
        cls,
        rules: Rules,
        record: Array,
        *,
        match: Match | int | None = None,
        seed: int = 0,
    ) -> Game:
        """Make a game from a one-element `GAME` array. `seed` is the seed of its deal."""
        match = as_match(match)
        if first_impossible(rules, match, record, stopped=True) >= 0:
            raise ValueError(
                f"play by the rules {rules.name} never leads to this record: give the record of a "
                "game, and its match if it has one"
            )
        game = cls(rules, seed, int(record["number"][0]), match=match)
        game.array[:] = record
        game._begin(_GIVEN, int(record["dealer"][0]))
        played = (action for _, actions in tricks_in(rules, record[0]) for action in actions)
        game.actions = [*exchanges_in(record[0]), *played]
        game._replay()
        if game.over and match is not None:
            # The replay has added the hand's payoff to a score that includes it.
            for name in _SCORE:
                game._first_array[name] -= game.array[name] - record[name]
                game.array[name] = record[name]
        return game

    # -- deals

    def deal(self, seed: int = 0, number: int = 0) -> None:
        """Deal hand `number` of `seed`. If matches are played, a new match begins with it."""
        checked = checked_seed(seed), checked_seed(number, "number")
        self.seed: int
        self.number: int
        self.seed, self.number = checked
        self._begin(_NUMBERED)

    def deal_cards(self, deal: str | Iterable[int | str], dealer: int) -> None:
        """Deal given cards, in the order in which they are dealt.

        One card goes to the non-dealer, one to the dealer, and so on in turn. After the hands, the
        stock follows from the top.
        """
        order = checked_deal(self.rules, deal)
        checked_seat(dealer, name="dealer")
        self.array["deal"][0, : len(order)] = order
        self._begin(_GIVEN, int(dealer))

    def deal_next(self) -> None:
        """Deal the next hand, with the other player as dealer. After a match, begin a new match."""
        if not self.over:
            raise IllegalAction("the hand is not over: play it out, or deal anew")
        self.number += 1
        self._begin(_NEXT)

    def _begin(self, start: int, dealer: int = 0) -> None:
        _deal(self._state, start, np.uint64(self.seed), np.uint64(self.number), dealer)
        self._first_array = self.array.copy()
        self.actions: list[int] = []
        self._refresh()

    def _replay(self) -> None:
        for action in self.actions:
            _play(self._state, action)
        self._refresh()

    def _refresh(self) -> None:
        status = _play(self._state, _REFRESH)
        self._phase, self._count = status >> _PHASE_SHIFT, status & _COUNT_BITS

    # -- play

    def legal(self) -> list[int]:
        """Legal actions of the player to move: cards, or the choices 52 to 54."""
        return _ACTIONS[self._legal[self._count]].tolist()

    def play(self, action: int | str) -> None:
        """Play a card, given as its number or a text, or make a choice.

        An action that is not legal now raises `IllegalAction`.
        """
        # An int is a much faster argument of compiled code than a Card.
        number = int(action) if action.__class__ in _NUMBERS else parse_action(action)
        status = _play(self._state, number) if 0 <= number < N_ACTIONS else -1
        if status < 0:
            raise IllegalAction(self._illegal_reason(number))
        self._phase, self._count = status >> _PHASE_SHIFT, status & _COUNT_BITS
        self.actions.append(number)

    def undo(self) -> None:
        if not self.actions:
            raise IllegalAction("there is nothing to take back: no card has been played")
        self.actions.pop()
        self.array[:] = self._first_array
        self._replay()

    def clone(self) -> Game:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._use_state(self._state.copy())
        other._first_array = self._first_array.copy()
        other.actions = self.actions.copy()
        return other

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, object]) -> Game:
        return self.clone()

    def __getstate__(self) -> dict[str, object]:
        # These arrays are views of the state; pickling would copy them.
        return {**self.__dict__, "array": None, "_legal": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._use_state(self._state)

    # -- state

    def view(self, seat: int | None = None) -> View:
        """What the player of a seat may know, as a `View`. Default: the seat to move."""
        if seat is None:
            seat = self.turn
            if seat is None:
                raise IllegalAction("the hand is over, so no seat is to move: name one, 0 or 1")
        checked_seat(seat)
        warm_up("view of a single game", "engine", _compile_view)
        record = np.zeros(1, VIEW)
        _view(self._state, seat, record)
        return View(self.rules, record)

    def _field(self, name: str) -> int:
        return int(self.array[name][0])

    def _refreshed(self, name: str) -> int:
        self._refresh()
        return int(self._state[name][0])

    @property
    def turn(self) -> int | None:
        """The seat to move; None after the end."""
        return None if self.over else self._field("turn")

    @property
    def phase(self) -> str:
        """`exchange`, `lead`, `follow`, `choose` or `over`."""
        return PHASE_NAMES[self._phase]

    @property
    def over(self) -> bool:
        return self._phase == OVER

    @property
    def match_over(self) -> bool:
        """Whether the match is over; without a match, whether the hand is."""
        if self.match is None:
            return self.over
        return bool(self._refreshed("match_over"))

    @property
    def dealer(self) -> int:
        return self._field("dealer")

    @property
    def trump(self) -> int | None:
        suit = self._field("trump")
        return None if suit == NO_TRUMP else suit

    @property
    def low(self) -> bool:
        """Whether fewer tricks win this hand."""
        return bool(self._field("low"))

    @property
    def trick(self) -> int:
        return self._field("trick")

    @property
    def led(self) -> Card | None:
        if self._phase != FOLLOW:
            return None
        return CARDS[int(self.array["led_cards"][0, self.trick])]

    @property
    def hands(self) -> tuple[list[Card], ...]:
        return tuple(cards_of(cards) for cards in self.array["hand"][0].tolist())

    @property
    def upcards(self) -> list[Card]:
        """Face-up stock cards, the upper one first."""
        faced = self._refreshed("faced")
        return [card for card in self.stock[:2] if faced >> card & 1]

    @property
    def turned(self) -> Card | None:
        """The dealer's card that was turned up before an exchange."""
        if not self.rules.exchange or self.rules.faced != "every":
            return None
        return self.cards_dealt[self.rules.dealt_cards - 1]

    @property
    def exchanged(self) -> tuple[bool | None, ...]:
        """Whether each seat took a blind hand; None if undecided, or without an exchange."""
        values = {UNDECIDED: None, KEPT_HAND: False, TOOK_BLIND: True}
        return tuple(values[code] for code in self.array["exchanged"][0].tolist())

    @property
    def stock(self) -> list[Card]:
        start = SEATS * self.rules.hand
        drawn = self._field("drawn")
        return self.cards_dealt[start + drawn : start + self.rules.stock_cards]

    @property
    def cards_dealt(self) -> list[Card]:
        """The cards in the order in which they were dealt; cards left over come last.

        The hands get one card each in turn: non-dealer, dealer. With an exchange there are four
        hands: first blind, non-dealer, second blind, dealer.
        """
        return [CARDS[card] for card in self.array["deal"][0, : len(self.rules.deck)].tolist()]

    @property
    def counting_tricks(self) -> tuple[int, ...]:
        return tuple(self.array["tricks"][0].tolist())

    @property
    def payoffs(self) -> tuple[int, ...]:
        """Payoff of each seat, once the hand is over."""
        if not self.over:
            raise IllegalAction("the hand is not over, so nothing is paid yet")
        first = self._refreshed("payoff")
        return first, -first

    @property
    def points(self) -> tuple[int, ...]:
        return tuple(self.array["points"][0].tolist())

    @property
    def hands_won(self) -> tuple[int, ...]:
        return tuple(self.array["hands_won"][0].tolist())

    def __repr__(self) -> str:
        if self.over:
            return f"Game({self.rules.name}, over, pays {self.payoffs})"
        hands = "; ".join(text_of(hand) for hand in self.hands)
        return f"Game({self.rules.name}, seat {self.turn} to {self.phase}, hands {hands})"

    # -- errors

    def _illegal_reason(self, number: int) -> str:
        if self.over:
            return f"{_action_name(number)} cannot be played: the hand is over, deal again"
        if not 0 <= number < self.rules.actions:
            return f"{number} is not an action: actions run from 0 to {self.rules.actions - 1}"
        choices = " or ".join(_action_name(action) for action in self.legal())
        seat = self.turn
        if self._phase == EXCHANGE:
            name = _action_name(number)
            return f"{name} cannot be played yet: seat {seat} is to exchange, {choices}"
        if self._phase == CHOOSE:
            return f"{_action_name(number)} cannot be taken: seat {seat} chooses {choices}"
        if number in CHOICES:
            return f"{_action_name(number)} is not to be chosen now: seat {seat} is to {self.phase}"
        hand = self.hands[seat or 0]
        if number not in hand:
            return f"{CARDS[number]} is not in the hand of seat {seat}, which holds {text_of(hand)}"
        suit = SUIT_NAMES[CARDS[int(self.array["led_cards"][0, self.trick])].suit]
        return f"{CARDS[number]} does not follow suit: {suit} were led, play {choices}"


# Fields that the end of a hand changes besides the phase.
_SCORE = ("points", "hands", "hands_won")

# An object array: indexing it is faster than a loop over a tuple.
_ACTIONS = np.array(ACTIONS, object)
_NUMBERS = frozenset((int, Card))


def _action_name(action: int) -> str:
    return str(CARDS[action]) if 0 <= action < N_CARDS else action_text(action)


def tricks_in(rules: Rules, game: Record) -> list[tuple[int, list[int]]]:
    """Tricks of a `GAME` record: the leader, and the actions, a choice last."""
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


def exchanges_in(game: Record) -> list[int]:
    """Exchange actions of a `GAME` record, the non-dealer's first."""
    dealer = int(game["dealer"])
    codes = game["exchanged"][[1 - dealer, dealer]].tolist()
    return [TAKE_BLIND if code == TOOK_BLIND else KEEP for code in codes if code != UNDECIDED]
