# pyright: reportArgumentType=false, reportReturnType=false
"""Information state of one player: the `VIEW` record, and `View` for Python.

A view holds the player's own cards and all public events, and nothing that depends on hidden cards.
Agents get arrays of these records, copied out of the games. Equal information gives equal bytes, so
views compare and hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..common.jit.compiler import jit, noinline
from ..common.schema import short_repr
from ..common.typing import Array
from .bitset import NO_CARDS, ONE, bit, popcount
from .cards import ACTIONS, CARDS, N_CARDS, Card, cards_of, text_of
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
    laid_away,
    legal_actions,
    n_faced,
    row,
    stock_card,
    stock_left,
    turned_card,
)
from .rules import Rules


@jit
def write_position(rules: Record, game: Record, seat: int, view: Record) -> None:
    """Write the current position of a view: everything but the completed tricks."""
    other = 1 - seat
    left = stock_left(rules, game)
    trick = np.int64(game.trick)
    phase = np.int64(game.phase)
    # By draws, not tricks: the trick that wins a race is not followed by a draw.
    count = n_faced(rules, np.int64(game.drawn) // 2, left)
    faced = NO_CARDS
    view.upcards[0] = NO_CARD
    view.upcards[1] = NO_CARD
    for place in range(count):
        card = stock_card(rules, game, place)
        view.upcards[place] = card
        faced |= bit(card)
    view.hand = game.hand[seat]
    view.opponent_known = game.known_cards[other]
    view.played[0] = game.played[seat]
    view.played[1] = game.played[other]
    view.faced = faced
    laid_away_cards = NO_CARDS
    view.turned = NO_CARD
    if rules.exchange == 1:
        view.turned = turned_card(rules, game)
        laid_away_cards = _known_away(rules, game, seat)
    view.laid_away = laid_away_cards
    view.exchanged[0] = game.exchanged[seat]
    view.exchanged[1] = game.exchanged[other]
    visible = (
        game.hand[seat]
        | game.played[0]
        | game.played[1]
        | game.known_cards[other]
        | faced
        | laid_away_cards
    )
    view.unseen = rules.deck & ~visible
    view.led = game.led_cards[trick] if phase == FOLLOW else NO_CARD
    view.opponent_hand_size = popcount(game.hand[other])
    view.opponent_unseen_draws = game.unseen_draws[other]
    for suit in range(4):
        failed = np.int64(game.failed_at[other][suit])
        draws_since = np.int64(game.unseen_draws[other]) - failed
        view.void_draws[suit] = draws_since if failed >= 0 else -1
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


@noinline
def _known_away(rules: Record, game: Record, seat: int) -> np.uint64:
    cards = laid_away(rules, game, seat)
    turned = turned_card(rules, game)
    if turned != NO_CARD and game.exchanged[game.dealer] == TOOK_BLIND:
        cards |= bit(turned)
    return cards


@jit
def first_hand(view: Record) -> np.uint64:
    """The dealt hand of the view's player."""
    if view.exchanged[0] == TOOK_BLIND:
        # The turned card is known to be out of play, but it was dealt to the dealer.
        turned_card_ = bit(view.turned) if view.i_deal == 0 and view.turned != NO_CARD else NO_CARDS
        return view.laid_away & ~turned_card_
    cards = view.hand | view.played[0]
    for index in range(len(view.my_draws)):
        if view.my_draws[index] < N_CARDS:
            cards &= ~bit(view.my_draws[index])
    return cards


@jit
def leader_of_trick(game: Record) -> int:
    """Leader of the current trick; after the end, winner of the last one."""
    if game.phase == FOLLOW or game.phase == CHOOSE:
        return np.int64(game.leaders[game.trick])
    return np.int64(game.leader)


def blank_tricks(views: Array) -> None:
    """Write no tricks and draws, as agents get views that read no past tricks."""
    for name in ("led_cards", "followed_cards", "my_draws", "opponent_draws"):
        views[name] = NO_CARD
    for name in ("i_led", "took_second"):
        views[name] = 0


@jit
def write_tricks(rules: Record, game: Record, seat: int, view: Record) -> None:
    """Write the cards and draws of all tricks, as the seat saw them."""
    trick = np.int64(game.trick)
    n_begun = trick
    if game.phase == FOLLOW or game.phase == CHOOSE:
        n_begun += 1
    base = 2 * np.int64(rules.hand)
    for index in range(len(view.led_cards)):
        view.led_cards[index] = NO_CARD
        view.followed_cards[index] = NO_CARD
        view.my_draws[index] = NO_CARD
        view.opponent_draws[index] = NO_CARD
        view.took_second[index] = 0
        view.i_led[index] = 0
        if index >= n_begun:
            continue
        view.led_cards[index] = game.led_cards[index]
        view.i_led[index] = 1 if game.leaders[index] == seat else 0
        if index == trick and game.phase == FOLLOW:
            continue
        view.followed_cards[index] = game.followed_cards[index]
        if index == trick or 2 * index >= np.int64(game.drawn):
            continue
        winner = game.leaders[index + 1] if index + 1 < n_begun else game.leader
        second = np.int64(game.took_second[index])
        own_place = second if winner == seat else 1 - second
        faced = n_faced(rules, index, np.int64(rules.stock) - 2 * index)
        view.my_draws[index] = game.deal[base + 2 * index + own_place]
        other_place = 1 - own_place
        view.took_second[index] = second
        visible = other_place < faced
        view.opponent_draws[index] = (
            game.deal[base + 2 * index + other_place] if visible else UNSEEN_CARD
        )


@jit
def i_won(view: Record, trick: int) -> bool:
    """Whether the view's player won a completed trick."""
    if trick + 1 < np.int64(view.trick):
        return view.i_led[trick + 1] == 1
    return view.i_lead == 1


@jit
def write_view(rules: Record, game: Record, seat: int, view: Record) -> None:
    write_position(rules, game, seat, view)
    write_tricks(rules, game, seat, view)


@jit
def legal_in_view(rules: Record, view: Record) -> np.uint64:
    """Set of legal actions of the view's player; empty if the opponent is to move."""
    if view.to_move == 0:
        return NO_CARDS
    led = np.int64(view.led) if view.phase == FOLLOW else 0
    return legal_actions(rules, view.phase, view.hand, led, view.faced)


@jit
def write_views(rules: np.ndarray, games: np.ndarray, seats: np.ndarray, views: np.ndarray) -> None:
    for index in range(len(games)):
        write_view(row(rules, 0), row(games, index), np.int64(seats[index]), row(views, index))


@jit
def legal_in_views(rules: np.ndarray, views: np.ndarray, out: np.ndarray) -> None:
    for index in range(len(views)):
        out[index] = legal_in_view(row(rules, 0), row(views, index))


def action_masks(rules: Array, views: Array, n_actions: int) -> Array:
    """`(views, actions)`: whether an action is legal; `rules` is their record."""
    legal = np.zeros(len(views), np.uint64)
    legal_in_views(rules, views, legal)
    return (legal[:, None] >> np.arange(n_actions, dtype=np.uint64)) & ONE == 1


@dataclass(frozen=True)
class Trick:
    """One trick as a player saw it; None for what has not happened or was not visible."""

    i_led: bool
    """Whether the player led."""
    led: Card
    """The card that was led."""
    followed: Card | None
    """The other player's card; None while it has not been played."""
    my_draw: Card | None
    """The card that the player took from the stock; None if there was no draw."""
    opponent_draw: Card | None
    """The card that the opponent took from the stock; None if the player could not see it."""
    opponent_drew_unseen: bool
    """Whether the opponent took a card that the player could not see."""
    took_second: bool
    """Whether the winner took the second stock card, not the first."""


class View:
    """All that one player may know: their cards and every public event, and nothing hidden.

    Agents get views. A view cannot be changed. Two views with equal information are equal and
    have equal hashes, so a view can be the key of a dictionary.

    ```python
    view = german_whist.Game("classic", seed=1).view()  # of the player to move
    view.hand, view.upcards, view.led  # Card, list[Card], None: nothing is led yet
    view.legal()  # the actions that may be played, as int
    ```

    "The player" is the one whose view it is. A `Card` is an int, `suit * 13 + rank`, with suits
    clubs, diamonds, hearts, spades (0 to 3) and ranks two to ace (0 to 12).

    | attribute | type | value |
    |---|---|---|
    | `rules` | `Rules` | the rule set |
    | `seat` | `int` | the player's seat, 0 or 1 |
    | `to_move` | `bool` | whether the player is to move |
    | `phase` | `str` | what the mover does: `exchange`, `lead`, `follow`, `choose`; or `over` |
    | `hand` | `list[Card]` | the player's cards, lowest number first |
    | `upcards` | `list[Card]` | stock cards that lie face up, the upper one first |
    | `led` | `Card` or None | the card to follow; None while nobody has led |
    | `trump` | `int` or None | the trump suit, 0 to 3; None without trumps |
    | `low` | `bool` | whether fewer tricks win |
    | `trick` | `int` | the number of the trick under way, from 0 |
    | `i_lead` | `bool` | whether the player leads or led this trick |
    | `i_deal` | `bool` | whether the player dealt |
    | `stock_left` | `int` | the number of cards in the stock |
    | `endgame` | `bool` | whether the stock is empty |
    | `open` | `bool` | whether the player can know every card |
    | `counting_tricks` | `tuple[int, int]` | counting tricks of the player and the opponent |
    | `points` | `tuple[int, int]` | match points of the player and the opponent |
    | `played_by_me`, `played_by_opponent` | `list[Card]` | cards that each has played |
    | `opponent_known` | `list[Card]` | cards that the opponent took openly and still holds |
    | `known_opponent_cards` | `list[Card]` | the same; in an open endgame, all of the opponent's |
    | `opponent_hand_size` | `int` | how many cards the opponent holds |
    | `unseen` | `list[Card]` | cards whose place the player cannot know |
    | `void_draws` | `dict[int, int]` | opponent's unseen draws since it failed to follow a suit |
    | `turned` | `Card` or None | the dealer's card turned up before an exchange of hands |
    | `laid_away` | `list[Card]` | cards known to be out of play since the exchange |
    | `exchanged` | pair of `bool` or None | whether player and opponent took a blind hand |
    | `array` | `VIEW` record | the same as numbers, for compiled agents |

    `tricks()` goes through all tricks so far, and `legal()` lists the legal actions.
    """

    __slots__ = ("_bytes", "array", "rules")

    rules: Rules
    array: Array
    """Read-only one-element `VIEW` array."""
    _bytes: bytes

    def __init__(self, rules: Rules, array: Array) -> None:
        """`array` is one `VIEW` record or a one-element array; the view keeps a copy."""
        if not isinstance(rules, Rules):
            raise TypeError(f"View({rules!r}, ...): the rules come first, then the array")
        if getattr(array, "dtype", None) != VIEW or np.size(array) != 1:
            raise TypeError(f"{short_repr(array)} is no array of one VIEW record, as views hold it")
        # An array over a bytes copy is read-only, and faster than a copy field by field.
        copied = np.asarray(array, VIEW).tobytes()
        array = np.frombuffer(copied, VIEW).reshape(1)
        for name, value in (("rules", rules), ("array", array), ("_bytes", copied)):
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        return self._bytes == other._bytes and self.rules == other.rules

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a view cannot be changed: {name} was to be set")

    def __reduce__(self) -> tuple[type[View], tuple[Rules, Array]]:
        return View, (self.rules, self.array)

    def __hash__(self) -> int:
        return hash(self._bytes)

    def _field(self, name: str) -> int:
        return int(self.array[name][0])

    def _card_list(self, name: str) -> list[Card]:
        return cards_of(self._field(name))

    @property
    def seat(self) -> int:
        """The player's seat, 0 or 1."""
        return self._field("seat")

    @property
    def to_move(self) -> bool:
        """Whether the player is to move."""
        return bool(self._field("to_move"))

    @property
    def phase(self) -> str:
        """What the mover has to do: `exchange`, `lead`, `follow` or `choose`; or `over`."""
        return PHASE_NAMES[self._field("phase")]

    @property
    def hand(self) -> list[Card]:
        """The player's cards, lowest number first."""
        return self._card_list("hand")

    @property
    def opponent_known(self) -> list[Card]:
        """Cards that the opponent openly took, or was openly dealt, and still holds."""
        return self._card_list("opponent_known")

    @property
    def unseen(self) -> list[Card]:
        """Cards of unknown place: in the opponent's hand, in the stock, or out of play."""
        return self._card_list("unseen")

    @property
    def laid_away(self) -> list[Card]:
        """Cards known to be out of play since the exchange."""
        return self._card_list("laid_away")

    @property
    def turned(self) -> Card | None:
        """The dealer's card that was turned up before the exchange."""
        return _card_or_none(self._field("turned"))

    @property
    def exchanged(self) -> tuple[bool | None, bool | None]:
        """Whether player and opponent took a blind hand; None if undecided or no exchange."""
        own, other = self.array["exchanged"][0].tolist()
        return _took_blind(own), _took_blind(other)

    @property
    def played_by_me(self) -> list[Card]:
        """Cards that the player has played."""
        return cards_of(int(self.array["played"][0, 0]))

    @property
    def played_by_opponent(self) -> list[Card]:
        """Cards that the opponent has played."""
        return cards_of(int(self.array["played"][0, 1]))

    @property
    def upcards(self) -> list[Card]:
        """Face-up stock cards, the upper one first."""
        return [CARDS[card] for card in self.array["upcards"][0] if card != NO_CARD]

    @property
    def led(self) -> Card | None:
        """The card that has to be followed; None while nobody has led."""
        card = self._field("led")
        return None if card == NO_CARD else CARDS[card]

    @property
    def trump(self) -> int | None:
        """The trump suit: 0 clubs, 1 diamonds, 2 hearts, 3 spades; None without trumps."""
        suit = self._field("trump")
        return None if suit == NO_TRUMP else suit

    @property
    def low(self) -> bool:
        """Whether the player with fewer tricks wins."""
        return bool(self._field("low"))

    @property
    def i_deal(self) -> bool:
        """Whether the player dealt."""
        return bool(self._field("i_deal"))

    @property
    def i_lead(self) -> bool:
        """Whether the player leads, or led, the trick under way."""
        return bool(self._field("i_lead"))

    @property
    def trick(self) -> int:
        """The number of the trick under way, from 0; after the end, the number of tricks."""
        return self._field("trick")

    @property
    def stock_left(self) -> int:
        """How many cards the stock still has."""
        return self._field("stock_left")

    @property
    def endgame(self) -> bool:
        """Whether the stock is empty."""
        return self.stock_left == 0

    @property
    def open(self) -> bool:
        """Whether all cards can be known: the stock is empty, and no card was set aside."""
        return self.endgame and self.rules.open_endgame

    @property
    def known_opponent_cards(self) -> list[Card]:
        """The opponent's cards that the player can know: all of them in an open endgame."""
        return sorted([*self.opponent_known, *self.unseen]) if self.open else self.opponent_known

    @property
    def opponent_hand_size(self) -> int:
        """How many cards the opponent holds."""
        return self._field("opponent_hand_size")

    @property
    def counting_tricks(self) -> tuple[int, int]:
        """Counting tricks of the player and of the opponent."""
        own, other = self.array["tricks"][0].tolist()
        return own, other

    @property
    def points(self) -> tuple[int, int]:
        """Match points of the player and of the opponent; zeros outside a match."""
        own, other = self.array["points"][0].tolist()
        return own, other

    @property
    def void_draws(self) -> dict[int, int]:
        """By suit that the opponent failed to follow: number of its unseen draws since then."""
        draws = self.array["void_draws"][0].tolist()
        return {suit: since for suit, since in enumerate(draws) if since >= 0}

    def tricks(self) -> Iterator[Trick]:
        """Iterate over the tricks in order. The last one may still be under way."""
        view = self.array[0]
        for index in range(len(view["led_cards"])):
            led = int(view["led_cards"][index])
            if led == NO_CARD:
                return
            other = int(view["opponent_draws"][index])
            yield Trick(
                i_led=bool(view["i_led"][index]),
                led=CARDS[led],
                followed=_card_or_none(int(view["followed_cards"][index])),
                my_draw=_card_or_none(int(view["my_draws"][index])),
                opponent_draw=_card_or_none(other),
                opponent_drew_unseen=other == UNSEEN_CARD,
                took_second=bool(view["took_second"][index]),
            )

    def legal(self) -> list[int]:
        """The legal actions of the player, lowest first; empty if the opponent is to move."""
        out = np.zeros(1, np.uint64)
        legal_in_views(self.rules.array(), self.array, out)
        actions = int(out[0])
        return [action for action in ACTIONS if actions >> action & 1]

    def __repr__(self) -> str:
        parts = [f"seat {self.seat}", self.phase, f"hand {text_of(self.hand)}"]
        if self.upcards:
            parts.append(f"upcard {text_of(self.upcards)}")
        if self.led is not None:
            parts.append(f"led {self.led}")
        return f"View({', '.join(parts)})"


def checked_view(value: object) -> View:
    if isinstance(value, View):
        return value
    raise TypeError(f"{short_repr(value)} is no view: give a View, as of game.view()")


def _took_blind(exchanged: int) -> bool | None:
    return None if exchanged == UNDECIDED else exchanged == TOOK_BLIND


def _card_or_none(card: int) -> Card | None:
    return CARDS[card] if card < len(CARDS) else None
