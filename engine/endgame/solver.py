"""Exact values of endings, for Python: one position, a view, or arrays of positions.

Hands are card sets (numbers with bit `card` set), texts such as `AS KS`, or
collections of card ids and texts. Trumps are a suit from 0 to 3 or its letter (C D
H S), None or 4 without. Seats are 0 and 1. Tricks are counted from the position on,
the trick under way included. What needs a compiled caller's speed is in `search`,
`choices` and `race`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from ...common.jit.bitset import popcount
from ...common.jit.compiler import jit, warm_up
from ...common.threads import usable_threads
from ..cards import CARDS_IN_ALL, SUITS, Card, card, card_set, cards_of
from ..dtypes import FOLLOW, NO_TRUMP, OVER
from ..view import View
from .choices import best_card_compiled, solve_moves
from .index import MOST_CARDS
from .race import NOT_LEGAL, Race, solve_race, solve_race_moves
from .search import Ending, Scratch, Tables, new_scratch, solve
from .tablebase import no_tables, tables

Hand = SupportsIndex | str | Iterable[int | str]
Trump = SupportsIndex | str | None

_own = threading.local()


class NotOpenError(ValueError):
    """A position whose cards are not all known, or that no tablebase is about."""


def _compile_solver() -> None:
    nothing, scratch = no_tables(), new_scratch(1)
    hands = np.array([[1, 2]], np.uint64)
    worth = np.zeros(CARDS_IN_ALL, np.int64)
    solve(nothing, scratch, hands[0, 0], hands[0, 1], NO_TRUMP)
    ending = Ending(hands[0, 0], hands[0, 1], NO_TRUMP, -1)
    solve_moves(nothing, scratch, ending, worth)
    best_card_compiled(nothing, scratch, ending)


def scratch_here() -> Scratch:
    """The calling thread's working memory."""
    if not hasattr(_own, "scratch"):
        _own.scratch = new_scratch()
    return _own.scratch


def _scratch_for_one() -> Scratch:
    """The same where Python asks about one position, for which agents need nothing compiled."""
    warm_up("endgame solver", "engine", _compile_solver)
    return scratch_here()


def _set_of(hand: Hand) -> int:
    if isinstance(hand, SupportsIndex) and not isinstance(hand, np.ndarray):
        total = hand.__index__()
        if total < 0 or total >> CARDS_IN_ALL:
            raise ValueError(f"{total} is not a set of cards: bits 0 to 51 stand for cards")
        return total
    if not isinstance(hand, Iterable):
        raise ValueError(
            f"{hand!r} is no hand: give a text such as 'AS KS', a list of cards, or a card set"
        )
    return card_set(hand)


def _suit_of(trump: Trump) -> int:
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


def _checked(hands: Sequence[Hand], trump: Trump, mover: int, led: int | str | None) -> Ending:
    """The hands of the mover and of the other, trumps and the card led, fit for compiled code."""
    if isinstance(hands, str) or len(hands) != 2:
        if isinstance(hands, str):
            raise ValueError(f"hands is {hands!r}: give two hands, as in ['AS KS', 'QS JS']")
        raise ValueError(f"there are {len(hands)} hands: an ending has two, by seat")
    if mover not in (0, 1):
        raise ValueError(f"the leader is {mover!r}: seats are 0 and 1")
    suit = _suit_of(trump)
    mine, theirs = _set_of(hands[mover]), _set_of(hands[1 - mover])
    lead = -1 if led is None else int(card(led))
    table = 0 if lead < 0 else 1 << lead
    twice = (mine & theirs) | (table & (mine | theirs))
    if twice:
        raise ValueError(
            f"{cards_of(twice)[0]} is in two places: a card is in one hand, or on the table"
        )
    n, others = mine.bit_count(), theirs.bit_count() + (lead >= 0)
    if n != others or not 1 <= n <= MOST_CARDS:
        held = "its cards and the card led" if lead >= 0 else "cards"
        raise ValueError(
            f"the player to move has {n} cards and the other {others} ({held}): "
            f"both need as many, from 1 to {MOST_CARDS}"
        )
    return Ending(np.uint64(mine), np.uint64(theirs), suit, lead)


def value(hands: Sequence[Hand], trump: Trump, leader: int, low: bool = False) -> int:
    """The tricks that `leader` takes with best play by both, at the start of a trick."""
    mine, theirs, suit, _ = _checked(hands, trump, leader, None)
    return int(solve(tables(suit != NO_TRUMP, low), _scratch_for_one(), mine, theirs, suit))


def moves(
    hands: Sequence[Hand],
    trump: Trump,
    leader: int,
    led: int | str | None = None,
    low: bool = False,
) -> dict[Card, int]:
    """What each legal card is worth to the player to move: the tricks that player takes.

    At the start of a trick the leader is to move. When `led` lies on the table,
    and so is in neither hand, the other player is, and the values are the
    other's tricks.
    """
    mover = leader if led is None else 1 - leader
    ending = _checked(hands, trump, mover, led)
    worth = np.empty(CARDS_IN_ALL, np.int64)
    solve_moves(tables(ending.trump != NO_TRUMP, low), _scratch_for_one(), ending, worth)
    return {card(int(c)): int(worth[c]) for c in np.flatnonzero(worth >= 0)}


def best_card(
    hands: Sequence[Hand],
    trump: Trump,
    leader: int,
    led: int | str | None = None,
    low: bool = False,
) -> Card:
    """The lowest of the best cards: by rank, trumps above all others, then by suit."""
    mover = leader if led is None else 1 - leader
    ending = _checked(hands, trump, mover, led)
    known = tables(ending.trump != NO_TRUMP, low)
    return card(int(best_card_compiled(known, _scratch_for_one(), ending)))


# -- races


def race_value(hands: Sequence[Hand], trump: Trump, leader: int, wanted: Sequence[int]) -> int:
    """Who wins a race: 1 for the leader, -1 for the other, 0 when nobody can arrive.

    `wanted` says for each seat how many tricks it still needs.
    """
    ending = _checked(hands, trump, leader, None)
    race = Race(int(wanted[leader]), int(wanted[1 - leader]))
    return int(solve_race(tables(ending.trump != NO_TRUMP), scratch_here(), ending, race))


def race_moves(
    hands: Sequence[Hand],
    trump: Trump,
    leader: int,
    wanted: Sequence[int],
    led: int | str | None = None,
) -> dict[Card, int]:
    """How a race ends for the player to move with each legal card: 1, 0 or -1."""
    mover = leader if led is None else 1 - leader
    ending = _checked(hands, trump, mover, led)
    ends = np.empty(CARDS_IN_ALL, np.int64)
    race = Race(int(wanted[mover]), int(wanted[1 - mover]))
    solve_race_moves(tables(ending.trump != NO_TRUMP), scratch_here(), ending, race, ends)
    return {card(int(c)): int(ends[c]) for c in np.flatnonzero(ends != NOT_LEGAL)}


# -- views


def _open_position(view: View) -> tuple[list[int], int | None, int, int | None]:
    """Both hands (mine first), trumps, the leader and the card led, when all is known."""
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
    record = view.record[0]
    if record["phase"] == OVER:
        raise NotOpenError("the hand is over: there is nothing left to play")
    if len(view.hand) > MOST_CARDS or view.other_cards > MOST_CARDS:
        raise NotOpenError(
            f"the hands hold more than {MOST_CARDS} cards, and endings are known up to that"
        )
    hands = [int(record["hand"]), int(record["unseen"]) | int(record["known"])]
    led = view.led if record["phase"] == FOLLOW else None
    return hands, view.trump, 0 if view.i_lead else 1, led


def _no_race(view: View) -> None:
    if view.rules.race is not None:
        raise NotOpenError(
            f"{view.rules.name!r} is a race to {view.rules.race} tricks and may end early: "
            "how many tricks could be taken does not decide it; ask race_moves_of(view)"
        )


def moves_of(view: View) -> dict[Card, int]:
    """What each legal card is worth, in tricks, to the player to move, whose view this is."""
    _no_race(view)
    hands, trump, leader, led = _open_position(view)
    _must_move(view)
    return moves(hands, trump, leader, led, view.low)


def value_of(view: View) -> int:
    """The tricks that the player whose view this is still takes, with best play by both."""
    _no_race(view)
    hands, trump, leader, led = _open_position(view)
    total = max(hand.bit_count() for hand in hands)
    if led is None:
        tricks = value(hands, trump, leader, view.low)
        return tricks if leader == 0 else total - tricks
    best = (min if view.low else max)(moves(hands, trump, leader, led, view.low).values())
    return best if view.to_move else total - best


def best_card_of(view: View) -> Card:
    """The lowest of the best cards of the player to move, whose view this is."""
    _no_race(view)
    hands, trump, leader, led = _open_position(view)
    _must_move(view)
    return best_card(hands, trump, leader, led, view.low)


def race_moves_of(view: View) -> dict[Card, int]:
    """How a race ends for the player to move with each legal card: 1, 0 or -1."""
    hands, trump, leader, led = _open_position(view)
    _must_move(view)
    if view.rules.race is None:
        raise NotOpenError(f"{view.rules.name!r} is no race; ask moves_of(view)")
    taken = view.counting_tricks
    return race_moves(hands, trump, leader, [view.rules.race - won for won in taken], led)


def _must_move(view: View) -> None:
    if not view.to_move:
        raise ValueError("the other player is to move: ask with that player's view")


# -- arrays


class Endings(NamedTuple):
    """Arrays of endings, a row for each."""

    hands: np.ndarray
    """`[N, 2]` card sets, by seat."""
    trumps: np.ndarray
    leaders: np.ndarray
    led: np.ndarray
    """The cards on the table, -1 at the start of a trick."""

    def of(self, which: Any) -> Endings:
        """Those in a slice, or under a mask."""
        return Endings(*(column[which] for column in self))


@jit
def _solve_rows(known: Any, scratch: Any, endings: Endings, out: np.ndarray) -> None:
    for k in range(len(out)):
        leader = np.int64(endings.leaders[k])
        mine, theirs = endings.hands[k, leader], endings.hands[k, 1 - leader]
        out[k] = solve(known, scratch, mine, theirs, np.int64(endings.trumps[k])) if mine else 0


@jit
def _solve_move_rows(
    known: Any, scratch: Any, endings: Endings, worth: np.ndarray, out: np.ndarray
) -> None:
    for k in range(len(out)):
        led, leader = np.int64(endings.led[k]), np.int64(endings.leaders[k])
        mover = leader if led < 0 else 1 - leader
        mine, theirs = endings.hands[k, mover], endings.hands[k, 1 - mover]
        ending = Ending(mine, theirs, np.int64(endings.trumps[k]), led)
        solve_moves(known, scratch, ending, worth)
        for c in range(CARDS_IN_ALL):
            out[k, c] = worth[c]


@jit
def _first_wrong(endings: Endings) -> int:
    """The first row that is no ending, or -1."""
    hands, trumps, leaders, led = endings
    for k in range(len(hands)):
        leader, lead = np.int64(leaders[k]), np.int64(led[k])
        if not (0 <= leader <= 1 and 0 <= trumps[k] <= 4 and -1 <= lead < CARDS_IN_ALL):
            return k
        mine, theirs = hands[k, leader], hands[k, 1 - leader]
        if lead >= 0:
            table = np.uint64(1) << np.uint64(lead)
            if (mine | theirs) & table:
                return k
            mine |= table
        n = popcount(mine)
        if (
            mine & theirs
            or n != popcount(theirs)
            or n < 1
            or n > 13
            or (mine | theirs) >> np.uint64(CARDS_IN_ALL)
        ):
            return k
    return -1


def _rows(hands: Any, trumps: Any, leaders: Any, led: Any) -> Endings:
    sets = np.ascontiguousarray(hands, np.uint64)
    if sets.ndim != 2 or sets.shape[1] != 2:
        raise ValueError(f"hands has shape {sets.shape}: it has to be (positions, 2)")
    count = len(sets)
    columns = [
        np.ascontiguousarray(np.broadcast_to(np.asarray(column, np.int8), count))
        for column in (trumps, leaders, -1 if led is None else led)
    ]
    endings = Endings(sets, *columns)
    wrong = int(_first_wrong(endings))
    if wrong >= 0:
        raise ValueError(
            f"position {wrong} is no ending: it needs two hands of equal length, 1 to "
            f"{MOST_CARDS} cards without a common one (the card led, in neither hand, counts "
            "for the leader), a leader 0 or 1, and trumps 0 to 3, or 4 for none"
        )
    return endings


def _shared_out(count: int, threads: int | None, work: Callable[[slice], None]) -> None:
    """`work(rows)` over all rows, in slices, each thread with a scratch of its own."""
    workers = threads or usable_threads()
    pieces = max(1, min(4 * workers, count // 16))
    edges = [count * k // pieces for k in range(pieces + 1)]
    slices = [slice(a, b) for a, b in pairwise(edges)]
    if workers == 1 or pieces == 1:
        for rows in slices:
            work(rows)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, slices))


def _solve_kinds(
    endings: Endings,
    out: np.ndarray,
    low: bool,
    threads: int | None,
    solve_some: Callable[[Tables, Endings, np.ndarray], None],
) -> None:
    """`solve_some` over all rows, those with trumps and those without by their own tables."""
    for with_trumps in (True, False):
        mask = (endings.trumps != NO_TRUMP) == with_trumps
        if not mask.any():
            continue
        known = tables(with_trumps, low)
        some = endings if mask.all() else endings.of(mask)
        part = out if mask.all() else out[mask]

        def work(
            rows: slice, known: Tables = known, some: Endings = some, part: np.ndarray = part
        ) -> None:
            solve_some(known, some.of(rows), part[rows])

        _shared_out(len(part), threads, work)
        if part is not out:
            out[mask] = part


def values(
    hands: Any, trumps: Any, leaders: Any, low: bool = False, threads: int | None = None
) -> np.ndarray:
    """The tricks each leader takes, for arrays of positions: `hands[N, 2]` are card sets.

    `trumps` are suits, 4 for none; `trumps` and `leaders` may be single numbers.
    """
    endings = _rows(hands, trumps, leaders, None)
    out = np.zeros(len(endings.hands), np.int8)

    def solve_some(known: Tables, some: Endings, part: np.ndarray) -> None:
        _solve_rows(known, scratch_here(), some, part)

    _solve_kinds(endings, out, low, threads, solve_some)
    return out


def moves_many(
    hands: Any,
    trumps: Any,
    leaders: Any,
    led: Any = None,
    *,
    low: bool = False,
    threads: int | None = None,
) -> np.ndarray:
    """`[N, 52]`: what each card is worth to the player to move, -1 where it may not be played.

    As `moves`, for arrays of positions; `led` is -1 at the start of a trick.
    """
    endings = _rows(hands, trumps, leaders, led)
    out = np.zeros((len(endings.hands), CARDS_IN_ALL), np.int8)

    def solve_some(known: Tables, some: Endings, part: np.ndarray) -> None:
        worth = np.empty(CARDS_IN_ALL, np.int64)
        _solve_move_rows(known, scratch_here(), some, worth, part)

    _solve_kinds(endings, out, low, threads, solve_some)
    return out
