"""Many games at once, for machines: whoever is to move in each, stepped together.

`Games.step` takes an action for every game and gives observations, masks,
seats, rewards and ends, dealing finished games anew. It reads a `Batch`, which plays
with the same compiled functions as `Game`; game `i` gets the deals `i`, `i + n`,
`i + 2n` ... of the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from .batch import Array, Batch, actions_in, checked_count, one_for_each
from .cards import CARDS, CARDS_IN_ALL
from .compiled import warm_up
from .episodes import GOES_ON
from .game import Game, IllegalAction
from .options import GameOptions, Options, RulesLike, named_options, options_from
from .rules import Match, Rules
from .seeds import checked_seed
from .state import OVER, SEATS
from .view import View

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Step(NamedTuple):
    """What a step shows: arrays with one row per game."""

    observations: npt.NDArray[np.int8]
    """`(n, size)` int8, or `(n, rows, 4)` with histories, seen by the seat to move."""
    masks: npt.NDArray[np.int8]
    """`(n, actions)` int8, its legal actions."""
    seats: npt.NDArray[np.uint8]
    """`(n,)` uint8, the seat to move."""
    rewards: npt.NDArray[np.float32]
    """`(n, seats)` float32, what the step paid: by default, what a hand that just ended did."""
    hand_over: npt.NDArray[np.bool_]
    """`(n,)` bool, a hand just ended."""
    over: npt.NDArray[np.bool_]
    """`(n,)` bool, so did the episode: the hand, or the match."""


class Games:
    """A batch of games of one rule set.

    >>> games = Games("classic", 1000, seed=1)
    >>> step = games.look()
    >>> for _ in range(100):
    ...     step = games.step(step.masks.argmax(axis=1))
    """

    @named_options
    def __init__(
        self,
        rules: RulesLike = "classic",
        n: int = 1024,
        seed: int = 0,
        *,
        threads: int = 1,
        deal_anew: bool = True,
        **options: Unpack[GameOptions],
    ) -> None:
        """`n` games; with `deal_anew` a finished one is dealt again within the same step.

        The other options are those of the environments; with a `match` one is played.
        """
        if options.get("match") is not None:
            options.setdefault("horizon", "match")
        self.options: Options = options_from(rules, **options)
        self.rules: Rules = self.options.rules
        self.match: Match | None = self.options.match
        self.layout: str = self.options.layout
        self.n: int = checked_count(n, "n")
        self.deal_anew = deal_anew
        self._batch = Batch(self.options, self.n, checked_count(threads, "threads"))
        self.records: npt.NDArray[np.void] = self._batch.records
        """The games as `GAME` records."""
        self.orders: npt.NDArray[np.uint8] = self._batch.orders
        """The real suit in each place where a suit is shown, as each game was shown last."""
        self._buffers = Step(
            *self._batch.rows(self.n),
            seats=np.zeros(self.n, np.uint8),
            rewards=np.zeros((self.n, SEATS), np.float32),
            hand_over=np.zeros(self.n, np.bool_),
            over=np.zeros(self.n, np.bool_),
        )
        warm_up("batch of games", "engine", _compile_all)
        self.reset(seed)

    def reset(self, seed: int = 0) -> None:
        """Deal every game from the start of a seed."""
        self._batch.start(checked_seed(seed))
        self._show(self._batch.all)

    def look(self, *, copy: bool = True) -> Step:
        """What the seats to move see now; without `copy`, buffers that the next step overwrites."""
        if not copy:
            return self._buffers
        return Step(*(array.copy() for array in self._buffers))

    def step(self, actions: Array, indices: Array | None = None, *, copy: bool = True) -> Step:
        """Play one action in every game, or in those of `indices`; all or none are played."""
        where = self._batch.all if indices is None else self._checked_indices(indices)
        chosen = self._checked_actions(actions, where)
        observations, masks, seats, rewards, hand_over, over = self._buffers
        self._batch.step(
            where, chosen, observations, masks, seats, rewards, over, anew=self.deal_anew
        )
        np.not_equal(self._batch.led_to, GOES_ON, out=hand_over)
        return self.look(copy=copy)

    def deal_again(self, indices: Array) -> None:
        """Deal the next hand in these games, for batches that do not do so by themselves."""
        where = self._checked_indices(indices)
        if (self.records["phase"][where] != OVER).any():
            raise IllegalAction("deal_again was asked of a game whose hand is not over")
        self._batch.deal_on(where)
        self._show(where)

    def _show(self, where: Array) -> None:
        """Show these games, in which nothing has just ended."""
        observations, masks, seats, *told = self._buffers
        seats[where] = self.records["turn"][where]
        observations[where], masks[where] = self._batch.show(where, seats)
        for each in told:
            each[where] = 0

    # -- looking closer, and keeping

    def views(self, seats: Array | int | None = None, indices: Array | None = None) -> Array:
        """What a seat of each game may know (by default the one to move), as `VIEW` records.

        The records are a copy: they share no memory with the games.
        """
        where = None if indices is None else self._checked_indices(indices)
        chosen = self.records["turn"] if where is None else self.records["turn"][where]
        if seats is not None:
            chosen = np.broadcast_to(seats, chosen.shape)
        if chosen.size and not ((chosen >= 0) & (chosen < SEATS)).all():
            raise ValueError("a seat is out of range: seats are 0 and 1")
        return self._batch.views(np.ascontiguousarray(chosen, np.uint8), where)

    def view(self, index: int, seat: int) -> View:
        """All that a seat of one game may know, for people."""
        return self._batch.view(index, seat)

    def game(self, index: int) -> Game:
        """A copy of one game as it stands, as a `Game` that goes on by itself."""
        return self._batch.game(index)

    def state(self) -> dict[str, Array]:
        """All that goes on, as arrays: what games of the same options can `restore`."""
        return self._batch.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from what `state` gave; what does not fit is refused, and changes nothing."""
        self._batch.restore(state, over=not self.deal_anew)
        self._show(self._batch.all)

    # -- checking

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
        chosen = one_for_each(actions, len(where))
        wrong = self._batch.first_illegal(where, chosen)
        if wrong >= 0:
            named = int(np.asarray(actions)[wrong])
            raise IllegalAction(self._why_illegal(int(where[wrong]), named))
        return chosen

    def _why_illegal(self, index: int, action: int) -> str:
        allowed = actions_in(self._batch.legal[index])
        if not allowed:
            return f"game {index} is over: action {action} can not be played, deal it again"
        shown = " ".join(str(CARDS[each] if each < CARDS_IN_ALL else each) for each in allowed)
        named = f" ({CARDS[action]})" if 0 <= action < CARDS_IN_ALL else ""
        return f"action {action}{named} is not legal in game {index}: its mask allows {shown}"


def _compile_all() -> None:
    """Go through every compiled function once, on a batch of one."""
    batch = Games("classic", 1)
    step = batch.look()
    batch.step(step.masks.argmax(axis=1))
    batch.views()
    batch.records["phase"] = OVER
    batch.deal_again(np.zeros(1, np.int64))
