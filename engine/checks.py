# pyright: reportArgumentType=false, reportReturnType=false
"""Checks of what users give: seeds, seats, counts, words, actions, deals and arrays of games."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..common.jit.compiler import jit, warm_up
from ..common.schema import short_repr
from ..common.suggestions import suggest, type_phrase
from ..common.threads import MAX_THREADS
from ..common.typing import Array
from .bitset import ONE
from .cards import KEEP, N_ACTIONS, TAKE_BLIND, TAKE_HIDDEN, as_integer, card, cards
from .dtypes import CHOOSE, FOLLOW, GAME, LEAD, OVER, SEATS, TOOK_BLIND, UNDECIDED
from .play import Record, legal, new_match, play, row, set_up, stock_card
from .rules import Match, Rules, load_rules

_MOST_ENVS = 10_000_000
"""Games side by side, of some hundred bytes each."""

T = TypeVar("T")
Word = TypeVar("Word", bound=str)


class IllegalAction(ValueError):
    """Raised for an action that is not legal now. The game stays unchanged."""


def checked_seed(value: object, name: str = "seed") -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} is {value!r}: it has to be a whole number")
    if not 0 <= int(value) < 2**64:
        raise ValueError(f"{name} is {value}: it has to be from 0 to 2**64 - 1")
    return int(value)


def fresh_seed() -> int:
    return secrets.randbits(63)


def checked_seat(value: T, allowed: tuple[object, ...] = (0, 1), name: str = "seat") -> T:
    """Validate a seat number, or another value of `allowed`."""
    if isinstance(value, (bool, float, np.bool_, np.ndarray)) or value not in allowed:
        *shown, last = map(repr, allowed)
        raise ValueError(f"{name} is {value!r}: it has to be {', '.join(shown)} or {last}")
    return value


def checked_count(value: object, name: str, most: int | None = None) -> int:
    """Validate a positive number of games, determinizations or threads."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or value < 1
        or (most is not None and value > most)
    ):
        limit = "" if most is None else f" to {most}"
        raise ValueError(f"{name} is {value!r}: it has to be a number from 1{limit}")
    return int(value)


def checked_num_envs(num_envs: object) -> int:
    return checked_count(num_envs, "num_envs", _MOST_ENVS)


def checked_threads(threads: object) -> int:
    return checked_count(threads, "threads", MAX_THREADS)


def checked_flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"{name} is {value!r}: it has to be True or False")


def checked_text(value: object, name: str) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{name} is {value!r}, {type_phrase(value)}: it has to be a text")


def checked_choice(name: str, value: Word, allowed: tuple[str, ...]) -> Word:
    """Validate a value that has to be one of several words."""
    if not isinstance(value, str) or value not in allowed:
        suggestion = suggest(value, allowed, listed=False)
        raise ValueError(
            f"{name} is {value!r}: it has to be one of {', '.join(allowed)}{suggestion}"
        )
    return value


def checked_action(action: object, needed: str = "a whole number") -> int:
    number = as_integer(action)
    if number is None:
        raise IllegalAction(f"action is {action!r}, {type_phrase(action)}: it has to be {needed}")
    return number


def parse_action(action: object) -> int:
    """Parse an action from a text or an integer scalar."""
    if isinstance(action, str):
        return int(card(action))
    number = as_integer(action)
    if number is None:
        raise IllegalAction(
            f"{action!r} is {type_phrase(action)}: an action is a card id or a text such as TD"
        )
    return number


# Reset options of a single environment and of a vector environment.
RESET_OPTIONS = ("deal", "dealer", "number")
VECTOR_RESET_OPTIONS = (*RESET_OPTIONS, "reset_mask")


def check_reset_options(options: object, allowed: tuple[str, ...] = RESET_OPTIONS) -> None:
    if not isinstance(options, Mapping):
        raise ValueError(
            f"reset options are {options!r}, {type_phrase(options)}: give a dictionary, as in "
            "reset(options={'number': 3})"
        )
    for name in options:
        if name not in allowed:
            listed, hint = ", ".join(allowed), suggest(name, allowed, listed=False)
            raise ValueError(f"reset has no option {name!r}: its options are {listed}{hint}")


def check_function(value: object, name: str, *takes: str) -> None:
    """Refuse what cannot be called with so many arguments, which `takes` describes."""
    if callable(value):
        try:
            inspect.signature(value).bind(*takes)
            return
        except ValueError:
            return  # of compiled code, which tells only when it is called
        except TypeError:
            pass
    raise TypeError(
        f"{name} is {short_repr(value)}: give a function that takes {' and '.join(takes)}"
    )


def check_state(state: object) -> None:
    """Refuse what is no dictionary of arrays."""
    if not isinstance(state, Mapping):
        raise ValueError(
            f"the state is {short_repr(state)}, {type_phrase(state)}: give what state() returned"
        )


def state_array(state: Mapping[str, Array], name: str, count: int | None = None) -> Array:
    """An array of a state, with `count` rows."""
    check_state(state)
    array = np.asarray(state[name]) if name in state else None
    if array is None or (count is not None and array.shape != (count,)):
        required = repr(name) if count is None else f"{name!r} of {count} rows"
        raise ValueError(f"the state has no {required}: give what state() returned")
    return array


def checked_deal(rules: Rules, deal: str | Iterable[int | str]) -> Sequence[int]:
    """Validate a deal in dealing order; cards left over may be omitted and follow by id."""
    if not isinstance(deal, Iterable):
        raise ValueError(f"the deal is {deal!r}: it has to be cards, in dealing order")
    order, deck, dealt = cards(deal), set(rules.deck), set[int]()
    for dealt_card in order:
        if dealt_card not in deck:
            raise ValueError(f"{dealt_card} is not in the deck of {rules.name}")
        if dealt_card in dealt:
            raise ValueError(f"{dealt_card} is dealt twice")
        dealt.add(dealt_card)
    needed = rules.dealt_cards
    if len(order) not in (needed, len(rules.deck)):
        raise ValueError(f"a deal of {rules.name} has {needed} cards, this one has {len(order)}")
    return order + [left_over for left_over in rules.deck if left_over not in dealt]


# -- arrays of actions


def action_array(actions: object, count: int) -> Array:
    """Actions for `count` games as an int64 array."""
    try:
        array = np.asarray(actions)
    except (TypeError, ValueError, RuntimeError) as error:
        raise IllegalAction(
            f"actions are {type_phrase(actions)} that NumPy cannot read ({error}): pass an array, "
            "a list of whole numbers, or a tensor on the CPU"
        ) from error
    check_integers(array, count)
    return own_array(array, np.int64)


def own_array(array: npt.ArrayLike, dtype: npt.DTypeLike) -> Array:
    """A contiguous array that may be written to: for others numba would compile kernels anew."""
    array = np.ascontiguousarray(array, dtype)
    return array if array.flags.writeable else array.copy()


def check_integers(actions: Array, count: int) -> None:
    if actions.shape != (count,):
        raise IllegalAction(
            f"actions have shape {actions.shape}: one for each of {count} games is needed"
        )
    if actions.dtype.kind not in "iu":
        raise IllegalAction(f"actions are {actions.dtype}: they have to be whole numbers")


# -- arrays of games
#
# Compiled code trusts its arrays: a turn of 2 or a 27th trick would make it write into other games.
# So each hand is replayed from its deal, every action is checked, and the result has to equal the
# array byte for byte.


def first_impossible(
    rules: Rules,
    match: Match | None,
    records: Array,
    *,
    foreplay: bool = False,
    stopped: bool = False,
) -> int:
    """Index of the first `GAME` record that play by the rules cannot reach; -1 for none.

    With `foreplay`, hands end where the endgame begins; with `stopped`, they may end anywhere.
    """
    warm_up("check of game records", "engine", _compile_replay)
    size = len(rules.deck)
    # Records that can be dealt and replayed; everything else is compared below.
    possible = (records["dealer"] < SEATS) & (
        np.sort(records["deal"][:, :size], axis=1) == rules.deck
    ).all(axis=1)
    replayed = records.copy()
    _replay_all(rules.array(match), records, replayed, possible)
    possible &= score_is_possible(
        rules, match, *(records[name] - replayed[name].astype(np.int64) for name in _SCORE)
    )
    for name in _SCORE:
        replayed[name] = records[name]
    is_over = records["phase"] == OVER
    if stopped:
        replayed["phase"][is_over] = OVER
    if foreplay:
        in_ending = replayed["drawn"] == rules.stock_cards
        at_ending = in_ending & (replayed["phase"] == LEAD)
        at_ending &= replayed["trick"] == rules.foreplay_tricks
        possible &= is_over | ~in_ending
        replayed["phase"][is_over & at_ending] = OVER
    possible &= (_bytes(replayed) == _bytes(records)).all(axis=1)
    return -1 if possible.all() else int(possible.argmin())


# Fields that persist from hand to hand.
_SCORE = ("points", "hands_won", "hands")


def score_is_possible(
    rules: Rules,
    match: Match | None,
    points: npt.ArrayLike,
    hands_won: npt.ArrayLike,
    hands: int | Array,
) -> npt.NDArray[np.bool_]:
    """Whether a match can have this score before a hand, for one score or arrays."""
    points, won = np.asarray(points), np.asarray(hands_won)
    possible = (won >= 0) & (points >= won) & (points <= won * rules.max_payoff)
    possible = possible.all(axis=-1) & (won.sum(axis=-1) <= hands)
    if match is None:
        return possible & (np.asarray(hands) == 0)
    if match.best_of is not None:
        return possible & (2 * won.max(axis=-1) <= match.best_of)
    most = points.max(axis=-1)
    return possible & ((most < match.target) | (points[..., 0] == points[..., 1]))


def _bytes(records: Array) -> Array:
    return records.view(np.uint8).reshape(len(records), GAME.itemsize)


@jit
def _recorded_action(rules: Record, game: Record, replayed: Record) -> int:
    trick = np.int64(replayed.trick)
    if replayed.phase == LEAD:
        return np.int64(game.led_cards[trick])
    if replayed.phase == FOLLOW:
        return np.int64(game.followed_cards[trick])
    if replayed.phase == CHOOSE:
        if game.took_second[trick] == 0:
            return stock_card(rules, replayed, 0)
        return TAKE_HIDDEN if rules.face_up == 1 else stock_card(rules, replayed, 1)
    return TAKE_BLIND if game.exchanged[replayed.turn] == TOOK_BLIND else KEEP


@jit
def _replay(rules: Record, game: Record, replayed: Record) -> None:
    new_match(replayed)
    for seat in range(2):
        replayed.exchanged[seat] = UNDECIDED
    set_up(rules, replayed, np.int64(game.dealer))
    while (
        replayed.trick != game.trick
        or replayed.played[0] != game.played[0]
        or replayed.played[1] != game.played[1]
        or replayed.exchanged[0] != game.exchanged[0]
        or replayed.exchanged[1] != game.exchanged[1]
    ):
        action = _recorded_action(rules, game, replayed)
        # No action is legal once the hand is over.
        if action >= N_ACTIONS or not (legal(rules, replayed) >> np.uint64(action)) & ONE:
            return
        play(rules, replayed, action)


@jit
def _replay_all(
    rules: np.ndarray, games: np.ndarray, copies: np.ndarray, dealt: np.ndarray
) -> None:
    for index in range(len(games)):
        if dealt[index]:
            _replay(row(rules, 0), row(games, index), row(copies, index))


def _compile_replay() -> None:
    games = np.zeros(1, GAME)
    _replay_all(load_rules("classic").array(), games, games.copy(), np.zeros(1, np.bool_))
