# pyright: reportArgumentType=false
"""Exact endgame values for Python: one position, a view, or arrays of positions.

Hands are card sets (numbers with bit `card` set), texts such as `AS KS`, or collections of card ids
and texts. Trumps are a suit from 0 to 3 or its letter (C D H S), None or 4 without. Seats are 0 and
1. Tricks are counted from the position on, the current trick included. Compiled callers use
`search`, `choices` and `race`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from ...common.jit.compiler import jit, warm_up
from ...common.threads import usable_threads
from ..bitset import popcount
from ..cards import N_CARDS, SUITS, Card, card, card_set, cards_of
from ..dtypes import FOLLOW, NO_TRUMP, OVER
from ..play import race_pay, row
from ..view import View
from .choices import best_card_compiled, solve_moves
from .index import MAX_CARDS
from .load import empty_tablebase, load_tablebase
from .race import NOT_LEGAL, Race, solve_race_moves
from .search import Ending, Scratch, new_scratch, solve
from .tablebase import Tablebase

Hand = SupportsIndex | str | Iterable[int | str]
Trump = SupportsIndex | str | None

_thread_local = threading.local()


class NotOpenError(ValueError):
    """A position with unknown cards, or without an endgame value."""


def _compile_solver() -> None:
    empty, scratch = empty_tablebase(), new_scratch(1)
    hands = np.array([[1, 2]], np.uint64)
    tricks = np.zeros(N_CARDS, np.int64)
    solve(empty, scratch, hands[0, 0], hands[0, 1], NO_TRUMP)
    ending = Ending(hands[0, 0], hands[0, 1], NO_TRUMP, -1)
    solve_moves(empty, scratch, ending, tricks)
    best_card_compiled(empty, scratch, ending)


def thread_scratch() -> Scratch:
    if not hasattr(_thread_local, "scratch"):
        _thread_local.scratch = new_scratch()
    return _thread_local.scratch


def _compiled_scratch() -> Scratch:
    warm_up("endgame solver", "engine", _compile_solver, seconds=2)
    return thread_scratch()


def _as_card_set(hand: Hand) -> int:
    if isinstance(hand, SupportsIndex) and not isinstance(hand, np.ndarray):
        total = hand.__index__()
        if total < 0 or total >> N_CARDS:
            raise ValueError(f"{total} is not a set of cards: bits 0 to 51 stand for cards")
        return total
    if not isinstance(hand, Iterable):
        raise ValueError(
            f"{hand!r} is no hand: give a text such as 'AS KS', a list of cards, or a card set"
        )
    return card_set(hand)


def _as_suit(trump: Trump) -> int:
    if trump is None:
        return NO_TRUMP
    if isinstance(trump, str) and len(trump) == 1 and trump.upper() in SUITS:
        return SUITS.index(trump.upper())
    if isinstance(trump, SupportsIndex) and not isinstance(trump, (bool, np.ndarray)):
        suit = trump.__index__()
        if 0 <= suit <= NO_TRUMP:
            return suit
    raise ValueError(
        f"trump is {trump!r}: it is a suit from 0 to 3 or one of the letters {' '.join(SUITS)}, "
        "and None or 4 without trumps"
    )


def _checked_ending(
    hands: Sequence[Hand], trump: Trump, leader: int, led: int | str | None = None
) -> Ending:
    if isinstance(hands, str):
        raise ValueError(f"hands is {hands!r}: give two hands, as in ['AS KS', 'QS JS']")
    if len(hands) != 2:
        raise ValueError(f"there are {len(hands)} hands: an ending has two, by seat")
    if leader not in (0, 1):
        raise ValueError(f"the leader is {leader!r}: seats are 0 and 1")
    mover = leader if led is None else 1 - leader
    suit = _as_suit(trump)
    hand, other_hand = _as_card_set(hands[mover]), _as_card_set(hands[1 - mover])
    lead = -1 if led is None else int(card(led))
    led_card = 0 if lead < 0 else 1 << lead
    duplicates = (hand & other_hand) | (led_card & (hand | other_hand))
    if duplicates:
        raise ValueError(
            f"{cards_of(duplicates)[0]} is in two places: a card is in one hand, or on the table"
        )
    n, other_n = hand.bit_count(), other_hand.bit_count() + (lead >= 0)
    if n != other_n or not 1 <= n <= MAX_CARDS:
        counted = "its cards and the card led" if lead >= 0 else "cards"
        raise ValueError(
            f"the player to move has {n} cards and the other {other_n} ({counted}): "
            f"both need as many, from 1 to {MAX_CARDS}"
        )
    return Ending(np.uint64(hand), np.uint64(other_hand), suit, lead)


def value(hands: Sequence[Hand], trump: Trump, leader: int, low: bool = False) -> int:
    """Tricks that `leader` takes with perfect play by both, at the start of a trick."""
    hand, other_hand, suit, _ = _checked_ending(hands, trump, leader)
    return int(
        solve(load_tablebase(suit != NO_TRUMP, low), _compiled_scratch(), hand, other_hand, suit)
    )


def moves(
    hands: Sequence[Hand],
    trump: Trump,
    leader: int,
    led: int | str | None = None,
    low: bool = False,
) -> dict[Card, int]:
    """Tricks that the player to move takes with each legal card.

    At the start of a trick the leader is to move. After `led` (a card in neither hand) the opponent
    is, and the values are the opponent's tricks.
    """
    ending = _checked_ending(hands, trump, leader, led)
    tricks = np.empty(N_CARDS, np.int64)
    solve_moves(load_tablebase(ending.trump != NO_TRUMP, low), _compiled_scratch(), ending, tricks)
    return {card(int(c)): int(tricks[c]) for c in np.flatnonzero(tricks >= 0)}


def best_card(
    hands: Sequence[Hand],
    trump: Trump,
    leader: int,
    led: int | str | None = None,
    low: bool = False,
) -> Card:
    """Lowest of the best cards: by rank, trumps above all others, then by suit."""
    ending = _checked_ending(hands, trump, leader, led)
    tablebase = load_tablebase(ending.trump != NO_TRUMP, low)
    return card(int(best_card_compiled(tablebase, _compiled_scratch(), ending)))


# -- races


def race_moves(
    hands: Sequence[Hand],
    trump: Trump,
    leader: int,
    needed: Sequence[int],
    led: int | str | None = None,
    by_margin: bool = False,
) -> dict[Card, int]:
    """Outcome of a race for the player to move with each legal card: 1, 0 or -1.

    With `by_margin` the margin in tricks by which it is won or lost.
    """
    ending = _checked_ending(hands, trump, leader, led)
    mover = leader if led is None else 1 - leader
    outcomes = np.empty(N_CARDS, np.int64)
    race = Race(int(needed[mover]), int(needed[1 - mover]), by_margin)
    solve_race_moves(
        load_tablebase(ending.trump != NO_TRUMP), thread_scratch(), ending, race, outcomes
    )
    return {card(int(c)): int(outcomes[c]) for c in np.flatnonzero(outcomes != NOT_LEGAL)}


# -- views


_Position = tuple[list[int], int | None, int, int | None]  # hands, trump, leader, led


def _open_position(view: View) -> _Position:
    rules = view.rules
    if rules.set_aside:
        raise NotOpenError(
            f"the endgame of {rules.name!r} is not open: {rules.set_aside} cards are set aside "
            "unseen, so the opponent's hand is never known"
        )
    if view.stock_left:
        raise NotOpenError(
            f"the foreplay is not over: {view.stock_left} cards are left in the stock, so the "
            "opponent's hand is not known"
        )
    record = view.array[0]
    if record["phase"] == OVER:
        raise NotOpenError("the hand is over: there is nothing left to play")
    if len(view.hand) > MAX_CARDS or view.opponent_hand_size > MAX_CARDS:
        raise NotOpenError(
            f"the hands hold more than {MAX_CARDS} cards, and endings are known up to that"
        )
    hands = [int(record["hand"]), int(record["unseen"]) | int(record["opponent_known"])]
    led = view.led if record["phase"] == FOLLOW else None
    return hands, view.trump, 0 if view.i_lead else 1, led


def _position_to_move(view: View) -> _Position:
    position = _open_position(view)
    if not view.to_move:
        raise ValueError("the other player is to move: ask with that player's view")
    return position


def _refuse_race(view: View) -> None:
    if view.rules.race is not None:
        raise NotOpenError(
            f"{view.rules.name!r} is a race to {view.rules.race} tricks and may end early: "
            "how many tricks could be taken does not decide it; ask race_moves_of(view)"
        )


def moves_of(view: View) -> dict[Card, int]:
    """Tricks that the view's player, who is to move, takes with each legal card."""
    _refuse_race(view)
    return moves(*_position_to_move(view), view.low)


def value_of(view: View) -> int:
    """Tricks that the view's player still takes, with perfect play by both."""
    _refuse_race(view)
    hands, trump, leader, led = _open_position(view)
    total = max(hand.bit_count() for hand in hands)
    if led is None:
        tricks = value(hands, trump, leader, view.low)
        return tricks if leader == 0 else total - tricks
    best = (min if view.low else max)(moves(hands, trump, leader, led, view.low).values())
    return best if view.to_move else total - best


def best_card_of(view: View) -> Card:
    """Lowest of the best cards of the view's player, who is to move."""
    _refuse_race(view)
    return best_card(*_position_to_move(view), view.low)


def race_moves_of(view: View) -> dict[Card, int]:
    """What a race pays the view's player with each legal card."""
    hands, trump, leader, led = _position_to_move(view)
    if view.rules.race is None:
        raise NotOpenError(f"{view.rules.name!r} is no race; ask moves_of(view)")
    needed = [view.rules.race - taken for taken in view.counting_tricks]
    values = race_moves(hands, trump, leader, needed, led, view.rules.pay == "margin")
    unit = int(race_pay(row(view.rules.array(), 0)))
    return {card: unit * value for card, value in values.items()}


# -- arrays


_Endings = tuple[np.ndarray, ...]
"""Arrays of positions at the start of a trick: card sets `[N, 2]`, trumps, leaders."""


@jit
def _solve_rows(tablebase: Tablebase, scratch: Scratch, endings: _Endings, out: np.ndarray) -> None:
    hands, trumps, leaders = endings
    for k in range(len(out)):
        leader = np.int64(leaders[k])
        hand, other_hand = hands[k, leader], hands[k, 1 - leader]
        out[k] = solve(tablebase, scratch, hand, other_hand, np.int64(trumps[k]))


@jit
def _first_invalid(endings: _Endings) -> int:
    hands, trumps, leaders = endings
    for k in range(len(hands)):
        if not (0 <= leaders[k] <= 1 and 0 <= trumps[k] <= 4):
            return k
        hand, other_hand = hands[k, 0], hands[k, 1]
        n = popcount(hand)
        if (
            hand & other_hand
            or n != popcount(other_hand)
            or n < 1
            or n > 13
            or (hand | other_hand) >> np.uint64(N_CARDS)
        ):
            return k
    return -1


def _checked_rows(hands: npt.ArrayLike, trumps: npt.ArrayLike, leaders: npt.ArrayLike) -> _Endings:
    sets = np.ascontiguousarray(hands, np.uint64)
    if sets.ndim != 2 or sets.shape[1] != 2:
        raise ValueError(f"hands has shape {sets.shape}: it has to be (positions, 2)")
    columns = [
        np.ascontiguousarray(np.broadcast_to(np.asarray(column, np.int8), len(sets)))
        for column in (trumps, leaders)
    ]
    endings = sets, *columns
    invalid = int(_first_invalid(endings))
    if invalid >= 0:
        raise ValueError(
            f"position {invalid} is no ending: it needs two hands of equal length, 1 to "
            f"{MAX_CARDS} cards without a common one, a leader 0 or 1, and trumps 0 to 3, or 4 for "
            "none"
        )
    return endings


def _select(endings: _Endings, rows: slice | np.ndarray) -> _Endings:
    return tuple(column[rows] for column in endings)


def _solve_all(tablebase: Tablebase, endings: _Endings, threads: int | None) -> np.ndarray:
    workers, count = threads or usable_threads(), len(endings[0])
    out = np.zeros(count, np.int8)

    def solve_slice(rows: slice) -> None:
        _solve_rows(tablebase, thread_scratch(), _select(endings, rows), out[rows])

    pieces = max(1, min(4 * workers, count // 16))
    edges = [count * k // pieces for k in range(pieces + 1)]
    slices = [slice(start, stop) for start, stop in pairwise(edges)]
    if workers == 1 or pieces == 1:
        for rows in slices:
            solve_slice(rows)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(solve_slice, slices))
    return out


def values(
    hands: npt.ArrayLike,
    trumps: npt.ArrayLike,
    leaders: npt.ArrayLike,
    low: bool = False,
    threads: int | None = None,
) -> np.ndarray:
    """Tricks of each leader, for arrays of positions: `hands[N, 2]` are card sets.

    `trumps` are suits, 4 for none; `trumps` and `leaders` may be single numbers.
    """
    endings = _checked_rows(hands, trumps, leaders)
    out = np.zeros(len(endings[0]), np.int8)
    # Endgames with trumps and those without have different tablebases.
    for with_trumps in (True, False):
        chosen = (endings[1] != NO_TRUMP) == with_trumps
        if chosen.any():
            # A slice of all rows copies nothing, as a mask would.
            rows = slice(None) if chosen.all() else chosen
            out[rows] = _solve_all(
                load_tablebase(with_trumps, low), _select(endings, rows), threads
            )
    return out
