"""Many games at once, for machines: one array of records, stepped together.

`Games.step` takes an action for every game and gives observations, masks,
seats, rewards and ends, dealing finished games anew. It plays with the same
compiled functions as `Game`, on as many threads as wanted; game `i` gets the
deals `i`, `i + n`, `i + 2n` ... of the seed, so results do not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .bits import ONE
from .cards import CARDS, TAKE_HIDDEN
from .compiled import jit, warm_up
from .game import IllegalAction, _checked_seed
from .layout import (
    OBSERVATION_SIZE,
    encode,
    keep_suits,
    layout_number,
    real_action,
    relabelled,
    trump_first,
    write_mask,
)
from .play import (
    Record,
    deal_next,
    deal_numbered,
    in_match,
    match_over,
    new_match,
    pay,
    play,
    row,
)
from .rules import Match, Rules, load_rules
from .state import GAME, OVER, SEATS, VIEW
from .threads import Threads
from .view import legal_in_view, write_position, write_views

Array = np.ndarray[Any, Any]


class Step(NamedTuple):
    """What a step shows: arrays with one row per game."""

    observations: npt.NDArray[np.int8]
    """`(n, size)` int8, seen by the seat to move."""
    masks: npt.NDArray[np.int8]
    """`(n, actions)` int8, its legal actions."""
    seats: npt.NDArray[np.uint8]
    """`(n,)` uint8, the seat to move."""
    rewards: npt.NDArray[np.float32]
    """`(n, seats)` float32, what a hand that just ended paid."""
    hand_over: npt.NDArray[np.bool_]
    """`(n,)` bool, a hand just ended."""
    over: npt.NDArray[np.bool_]
    """`(n,)` bool, so did the episode: the hand, or the match."""


@jit
def _show(
    rules: Record,
    game: Record,
    seat: int,
    trumps_first: bool,
    view: Record,
    order: np.ndarray,
    observation: np.ndarray,
    mask: np.ndarray,
) -> np.uint64:
    """Write what a seat sees; returns its legal actions as they are shown."""
    write_position(rules, game, seat, view)
    if trumps_first:
        trump_first(rules, view, order)
    else:
        keep_suits(order)
    encode(rules, view, order, observation)
    actions = legal_in_view(rules, view)
    write_mask(mask, actions, order)
    return relabelled(actions, order)


@jit
def _deal_all(
    rules: np.ndarray,
    games: np.ndarray,
    seed: np.uint64,
    indices: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """Begin each game with the deal of its own number."""
    stream = np.zeros(1, np.uint64)
    for index in indices[start:stop]:
        game = row(games, index)
        new_match(game)
        deal_numbered(row(rules, 0), game, seed, np.uint64(index), stream)


@jit
def _deal_again(
    rules: np.ndarray,
    games: np.ndarray,
    seed: np.uint64,
    indices: np.ndarray,
    start: int,
    stop: int,
) -> None:
    stream = np.zeros(1, np.uint64)
    for index in indices[start:stop]:
        game = row(games, index)
        deal_next(row(rules, 0), game, seed, game.number + np.uint64(len(games)), stream)


@jit
def _show_all(
    rules: np.ndarray,
    games: np.ndarray,
    trumps_first: bool,
    indices: np.ndarray,
    orders: np.ndarray,
    actions: np.ndarray,
    observations: np.ndarray,
    masks: np.ndarray,
    seats: np.ndarray,
    scratch: np.ndarray,
    start: int,
    stop: int,
) -> None:
    view = row(scratch, 0)
    first = row(rules, 0)
    for index in indices[start:stop]:
        game = row(games, index)
        seat = np.int64(game.turn)
        seats[index] = seat
        actions[index] = _show(
            first, game, seat, trumps_first, view, orders[index], observations[index], masks[index]
        )


@jit
def _first_illegal(legal_now: np.ndarray, indices: np.ndarray, actions: np.ndarray) -> int:
    for place in range(len(indices)):
        action = actions[place]
        if action < 0 or action > 52:
            return place
        if not (legal_now[indices[place]] >> np.uint64(action)) & ONE:
            return place
    return -1


@jit
def _step_all(
    rules: np.ndarray,
    games: np.ndarray,
    seed: np.uint64,
    trumps_first: bool,
    deal_anew: bool,
    indices: np.ndarray,
    chosen: np.ndarray,
    orders: np.ndarray,
    actions: np.ndarray,
    observations: np.ndarray,
    masks: np.ndarray,
    seats: np.ndarray,
    rewards: np.ndarray,
    hand_over: np.ndarray,
    over: np.ndarray,
    scratch: np.ndarray,
    start: int,
    stop: int,
) -> None:
    view = row(scratch, 0)
    first = row(rules, 0)
    stream = np.zeros(1, np.uint64)
    for place in range(start, stop):
        index = indices[place]
        game = row(games, index)
        play(first, game, real_action(np.int64(chosen[place]), orders[index]))
        rewards[index, 0] = 0.0
        rewards[index, 1] = 0.0
        hand_over[index] = False
        over[index] = False
        if game.phase == OVER:
            paid = pay(first, game, 0)
            rewards[index, 0] = paid
            rewards[index, 1] = -paid
            hand_over[index] = True
            over[index] = not in_match(first) or match_over(first, game)
            if deal_anew:
                deal_next(first, game, seed, game.number + np.uint64(len(games)), stream)
        seat = np.int64(game.turn)
        seats[index] = seat
        actions[index] = _show(
            first, game, seat, trumps_first, view, orders[index], observations[index], masks[index]
        )


class Games:
    """A batch of games of one rule set.

    >>> games = Games("classic", 1000, seed=1)
    >>> step = games.look()
    >>> for _ in range(100):
    ...     step = games.step(step.masks.argmax(axis=1))
    """

    def __init__(
        self,
        rules: str | Path | Rules | Mapping[str, Any] = "classic",
        n: int = 1024,
        seed: int = 0,
        *,
        match: Match | None = None,
        layout: str = "raw",
        threads: int = 1,
        deal_anew: bool = True,
    ) -> None:
        """`n` games; with `deal_anew` a finished one is dealt again within the same step."""
        for name, value in (("n", n), ("threads", threads)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{name} is {value!r}: it has to be a number from 1")
        self.rules: Rules = load_rules(rules)
        self.match = match
        self.n: int = int(n)
        self.layout = layout
        self.deal_anew = deal_anew
        self._trumps_first = layout_number(layout) == 1
        self._rules = self.rules.record(match)
        self.records: npt.NDArray[np.void] = np.zeros(self.n, GAME)
        self._threads = Threads(int(threads))
        self._all = np.arange(self.n)
        self._legal = np.zeros(self.n, np.uint64)
        self._orders = np.zeros((self.n, 4), np.uint8)
        self._buffers = Step(
            observations=np.zeros((self.n, OBSERVATION_SIZE), np.int8),
            masks=np.zeros((self.n, self.rules.actions), np.int8),
            seats=np.zeros(self.n, np.uint8),
            rewards=np.zeros((self.n, SEATS), np.float32),
            hand_over=np.zeros(self.n, np.bool_),
            over=np.zeros(self.n, np.bool_),
        )
        warm_up("batch of games", "engine", _compile_all)
        self.reset(seed)

    def reset(self, seed: int = 0) -> None:
        """Deal every game from the start of a seed."""
        self._seed = np.uint64(_checked_seed(seed, "seed"))
        self._on_threads(self.n, _deal_all, self._rules, self.records, self._seed, self._all)
        self._show(self._all)
        self._forget_ends()

    def look(self, *, copy: bool = True) -> Step:
        """What the seats to move see now; without `copy`, buffers that the next step overwrites."""
        if not copy:
            return self._buffers
        return Step(*(array.copy() for array in self._buffers))

    def step(self, actions: Array, indices: Array | None = None, *, copy: bool = True) -> Step:
        """Play one action in every game, or in those of `indices`; all or none are played."""
        where = self._all if indices is None else self._checked_indices(indices)
        chosen = self._checked_actions(actions, where)
        if indices is not None:
            self._forget_ends()
        self._on_threads(
            len(where),
            _step_all,
            self._rules,
            self.records,
            self._seed,
            self._trumps_first,
            self.deal_anew,
            where,
            chosen,
            self._orders,
            self._legal,
            *self._buffers,
            scratch=True,
        )
        return self.look(copy=copy)

    def deal_again(self, indices: Array) -> None:
        """Deal the next hand in these games, for batches that do not do so by themselves."""
        where = self._checked_indices(indices)
        if (self.records["phase"][where] != OVER).any():
            raise IllegalAction("deal_again was asked of a game whose hand is not over")
        self._on_threads(len(where), _deal_again, self._rules, self.records, self._seed, where)
        self._show(where)
        self._forget_ends(where)

    def views(self, seats: Array | int | None = None, indices: Array | None = None) -> Array:
        """What a seat of each game may know (by default the one to move), as `VIEW` records.

        The records are a copy: they share no memory with the games.
        """
        games = self.records if indices is None else self.records[self._checked_indices(indices)]
        chosen = games["turn"] if seats is None else np.broadcast_to(seats, (len(games),))
        if chosen.size and not ((chosen >= 0) & (chosen < self.rules.seats)).all():
            raise ValueError("a seat is out of range: seats are 0 and 1")
        out = np.zeros(len(games), VIEW)
        write_views(self._rules, games, np.ascontiguousarray(chosen, np.uint8), out)
        return out

    # -- within

    def _forget_ends(self, where: Array | slice = slice(None)) -> None:
        """Nothing has just ended in these games: rewards and ends speak of the last step alone."""
        for array in (self._buffers.rewards, self._buffers.hand_over, self._buffers.over):
            array[where] = 0

    def _show(self, where: Array) -> None:
        buffers = self._buffers
        self._on_threads(
            len(where),
            _show_all,
            self._rules,
            self.records,
            self._trumps_first,
            where,
            self._orders,
            self._legal,
            buffers.observations,
            buffers.masks,
            buffers.seats,
            scratch=True,
        )

    def _on_threads(
        self, size: int, kernel: Callable[..., None], *arguments: Any, scratch: bool = False
    ) -> None:
        """Run a kernel over `size` games, with a view to write in for each thread that needs it."""
        rooms = [(np.zeros(1, VIEW),) if scratch else () for _ in range(self._threads.count)]
        self._threads.run(size, kernel, *arguments, rooms=rooms)

    def _checked_indices(self, indices: Array) -> Array:
        where = np.ascontiguousarray(indices)
        if where.size == 0:
            where = np.zeros(0, np.int64)
        if where.dtype == np.bool_ or where.dtype.kind not in "iu" or where.ndim != 1:
            raise ValueError(
                f"indices are {where.dtype} of shape {where.shape}: give a list of game numbers"
            )
        where = where.astype(np.int64, copy=False)
        outside = where[(where < 0) | (where >= self.n)]
        if outside.size:
            raise ValueError(f"there is no game {outside[0]}: games run from 0 to {self.n - 1}")
        if np.unique(where).size != where.size:
            raise ValueError("a game comes twice among the indices")
        return where

    def _checked_actions(self, actions: Array, where: Array) -> Array:
        chosen = np.asarray(actions)
        if chosen.shape != where.shape:
            raise IllegalAction(
                f"actions have shape {chosen.shape}: one for each of {len(where)} games is needed"
            )
        if chosen.dtype.kind not in "iu":
            raise IllegalAction(f"actions are {chosen.dtype}: they have to be whole numbers")
        chosen = np.ascontiguousarray(chosen, np.int64)
        wrong = _first_illegal(self._legal, where, chosen)
        if wrong >= 0:
            named = int(np.asarray(actions)[wrong])
            raise IllegalAction(self._why_illegal(int(where[wrong]), named))
        return chosen

    def _why_illegal(self, index: int, action: int) -> str:
        allowed = int(self._legal[index])
        if not allowed:
            return f"game {index} is over: action {action} can not be played, deal it again"
        ids = [each for each in range(TAKE_HIDDEN + 1) if allowed >> each & 1]
        shown = " ".join("52" if each == TAKE_HIDDEN else str(CARDS[each]) for each in ids)
        named = f" ({CARDS[action]})" if 0 <= action < TAKE_HIDDEN else ""
        return f"action {action}{named} is not legal in game {index}: its mask allows {shown}"


def _compile_all() -> None:
    """Go through every compiled function once, on a batch of one."""
    batch = Games("classic", 1)
    step = batch.look()
    batch.step(step.masks.argmax(axis=1))
    batch.views()
    batch.records["phase"] = OVER
    batch.deal_again(np.zeros(1, np.int64))
