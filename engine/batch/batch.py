"""Many episodes at once: what every environment and the trainers read and step.

`Batch` begins, plays and shows episodes of one set of options, on as many threads
as wanted or on a GPU. Game `i` of `n` gets the deals `i`, `i + n`, `i + 2n` ... of the
seed, so results do not depend on the threads, nor on where the games live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...common.suggestions import a_kind_of, meant
from ...common.threads import STEP
from ...common.typing import Array as Array
from ..cards import ACTIONS_IN_ALL, action_text, whole_number
from ..dtypes import GAME, OVER, VIEW
from ..endgame.game_values import best_tricks, known_endings
from ..game import Game, IllegalAction
from ..rules import Rules
from ..seeding import checked_seat, checked_seed, fresh_seed
from ..validation import first_impossible
from ..view import View, write_views
from .config import Options, one_of
from .cpu_backend import DEVICES, Host
from .kernels import (
    ENDING,
    NEXT_HAND,
    WORKSPACE,
    Board,
    Shown,
    begin_all,
    close_all,
    deal_all,
    first_illegal,
    play_all,
    rest_all,
    show_all,
    step_all,
    turns_of_all,
)
from .results import RESULT, StepResult

if TYPE_CHECKING:
    from .cuda_backend import Device

Place: TypeAlias = "Host | Device"
"""Where a batch's games live."""

# What the `options` of a reset may hold, and what else those of a vector may.
RESET_OPTIONS = ("deal", "dealer", "number")
VECTOR_RESET_OPTIONS = (*RESET_OPTIONS, "reset_mask")

# The names of the arrays of a state.
STATE = ("records", "seed")

# About how many nanoseconds it takes to read or to write a number of a game.
LOOK = 3


def checked_action(action: object) -> int:
    """One action as an int; what is no whole number is refused with a sentence."""
    number = whole_number(action)
    if number is None:
        raise IllegalAction(
            f"action is {action!r}, {a_kind_of(action)}: it has to be a whole number"
        )
    return number


def actions_text(actions: Iterable[int], options: Options) -> str:
    """Actions as an error names them: with their cards, unless suits are relabelled."""
    if options.layout == "trump-first":
        return ", ".join(str(each) for each in actions)
    return ", ".join(action_text(each) for each in actions)


def actions_in(allowed: int | np.integer[Any]) -> list[int]:
    """The actions of a set of them, in order."""
    return [each for each in range(ACTIONS_IN_ALL) if int(allowed) >> each & 1]


def kept(state: Mapping[str, Array], name: str, count: int | None = None) -> Array:
    """An array of a state, of so many rows."""
    found = np.asarray(state[name]) if name in state else None
    if found is None or (count is not None and found.shape != (count,)):
        wanted = repr(name) if count is None else f"{name!r} of {count} rows"
        raise ValueError(f"the state has no {wanted}: give what state() returned")
    return found


def one_for_each(actions: Any, count: int) -> Array:
    """Actions for so many games as an int64 array, or why they are none."""
    try:
        chosen = np.asarray(actions)
    except (TypeError, ValueError, RuntimeError) as error:
        raise IllegalAction(
            f"actions are {a_kind_of(actions)} that NumPy cannot read ({error}): pass an array, "
            "a list of whole numbers, or a tensor on the CPU"
        ) from error
    _check_numbers(chosen, count)
    return np.ascontiguousarray(chosen, np.int64)


def _check_numbers(actions: Any, count: int) -> None:
    """Refuse what are not so many whole numbers."""
    if actions.shape != (count,):
        raise IllegalAction(
            f"actions have shape {actions.shape}: one for each of {count} games is needed"
        )
    if actions.dtype.kind not in "iu":
        raise IllegalAction(f"actions are {actions.dtype}: they have to be whole numbers")


def _place(device: str, threads: int) -> tuple[Place, Any]:
    """Where games live; the same once more if it is a GPU."""
    if device == "cpu":
        return Host(threads), None
    if threads != 1:
        raise ValueError(f"threads is {threads}, and on a GPU each game has its own: leave it out")
    from .cuda_backend import Device

    gpu = Device()
    return gpu, gpu


class Batch:
    """Episodes of one set of options: `start`, then `step`, or `play` and `show` by themselves."""

    def __init__(self, options: Options, n: int, threads: int = 1, device: str = "cpu") -> None:
        """`n` games that live on this side, or on the `device` `cuda`.

        There, what is stepped and shown are arrays of the device, nothing waits for it but what
        is read here, and an action that is not legal is told by `check`.
        """
        self.options: Options = options
        self.rules: Rules = options.rules
        self.n: int = n
        self.device: str = one_of("device", device, DEVICES)
        self.place: Place
        self.gpu: Any
        self.place, self.gpu = _place(self.device, threads)
        """Where they live; the device once more, None on this side."""
        zeros = self.place.zeros
        self.records: Any = zeros(n, GAME)
        self.orders: Any = zeros((n, 4), np.uint8)
        self.legal: Any = zeros(n, np.uint64)
        """The actions open in each game, as they were last shown."""
        self.results: Any = zeros(n, RESULT)
        """What each game has just paid, and how its last episode ended."""
        self.led_to: Any = zeros(n, np.int8)
        """What the last action in each game led to: `GOES_ON`, `NEXT_HAND`, `ENDED` or `ENDING`."""
        self.seed: int = 0
        """The seed whose deals are played."""
        self.plan: Array = options.plan()
        self.board: Board = Board(
            self.place.taken(self.plan),
            self.records,
            self.orders,
            self.results,
            self.legal,
            self.led_to,
            zeros(1, WORKSPACE),
        )
        """The arrays of the batch, with the workspace of the calling thread."""
        self._boards = [self.board]
        for _ in range(1, threads):
            self._boards.append(self.board._replace(workspace=zeros(1, WORKSPACE)))
        self.all: Array = self.place.keep(np.arange(n))
        self._width = int(np.prod(options.observation_shape))
        self._endings = options.horizon == "foreplay"
        self.ready: bool = False
        """Whether there is something to step: not before a reset, nor after one that failed."""
        self._begun = False
        if self._endings:
            known = known_endings(options.rules)
            if self.gpu is not None:
                self.gpu.know(known, self.rules.hand)

    def run(self, size: int, kernel: Callable[..., int], *arguments: Any, each: int = STEP) -> int:
        """Run a kernel over so many games on the batch's threads; returns the sum of its counts.

        `each` is about how many nanoseconds it takes for a game.
        """
        return self.place.run(size, kernel, self._boards, *arguments, each=each)

    # -- beginning

    def start(
        self,
        seed: int | None,
        wishes: Mapping[str, Any] | None = None,
        known: tuple[str, ...] = RESET_OPTIONS,
    ) -> Array:
        """Begin every game with a seed's first deals; without a seed, go on to the next ones.

        `wishes` are the options of a reset, by names of `known`: `number`, the deal of
        the seed; `deal` and `dealer`, a deal that is given, for a batch of one;
        `reset_mask`, the games to begin. Returns those games; what cannot be done is
        refused before anything has changed, but then there is nothing to step.
        """
        was_ready, self.ready = self.ready, False
        wishes = {} if wishes is None else wishes
        for name in wishes:
            if name not in known:
                hint = meant(name, known, listed=False)
                raise ValueError(
                    f"reset has no option {name!r}: its options are {', '.join(known)}{hint}"
                )
        where = self.all
        if wishes.get("reset_mask") is not None:
            where = self._checked_mask(wishes["reset_mask"], seed, was_ready)
        given = self._given_deal(wishes.get("deal"), wishes.get("dealer"))
        number, next_seed = wishes.get("number"), self.seed
        if seed is None and self._begun:
            numbers = self.place.fetched(self.records)["number"] + np.uint64(self.n)
        else:
            next_seed = fresh_seed() if seed is None else checked_seed(seed)
            numbers = self.all.astype(np.uint64)
        if number is not None:
            numbers = np.uint64(checked_seed(number, "number")) + self.all.astype(np.uint64)
        if next_seed != self.seed:
            self._go_by(next_seed)
        self._begun = True
        if where is not self.all:
            self.run(self.n, rest_all, each=LOOK)
        self.run(len(where), begin_all, where, numbers)
        if given is not None:
            begun = self.place.fetched(self.records)
            if wishes.get("deal") is None:
                given.deal_cards(begun["deal"][0, : len(self.rules.deck)], given.dealer)
            given.record["number"] = begun["number"]
            self.place.write(self.records, given.record)
        self.ready = True
        return where

    def _go_by(self, seed: int) -> None:
        """Play the deals of a seed from now on."""
        self.plan["seed"] = self.seed = seed
        self.place.write(self.board.plan, self.plan)

    def _checked_mask(self, mask: object, seed: int | None, was_ready: bool) -> Array:
        """The games of a `reset_mask`."""
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.n,):
            raise ValueError(f"reset_mask is {mask!r}: it has to be {self.n} booleans in an array")
        if not mask.any():
            raise ValueError("reset_mask holds no True: it has to name a game to reset")
        if seed is not None:
            raise ValueError(
                f"seed is {seed} beside a reset_mask: games of one batch share a seed, so give it "
                "to a reset of them all"
            )
        if not was_ready:
            raise ValueError("reset_mask names some games, but nothing is dealt: reset them all")
        return np.flatnonzero(mask)

    def _given_deal(self, deal: Any, dealer: Any) -> Game | None:
        """A game with a deal that is given, or of a dealer that is; None if neither is."""
        if deal is None and dealer is None:
            return None
        if self.n != 1:
            raise ValueError(f"a deal can be given to one game, not to a batch of {self.n}")
        game = Game(self.rules, match=self.options.match)
        game.deal_cards(self.rules.deck if deal is None else deal, 0 if dealer is None else dealer)
        return game

    def deal_on(self, indices: Array) -> None:
        """The next deals in games whose hand is over: of their match, or of another episode."""
        self.run(len(indices), deal_all, indices)

    # -- stepping

    def step(self, indices: Array, actions: Array, result: StepResult) -> None:
        """Play an action in each of these games, as shown, and show it to whoever is to move next.

        Their rows of `result` are written; what came of it is in `led_to`. A hand that is over is
        followed by the next deal.
        """
        if len(indices) != self.n:
            self.run(self.n, rest_all, each=LOOK)
            # The games that wait are paid nothing.
            for each in (result.rewards, result.ended):
                self.place.write(each, 0)
        observations = result.observations.reshape(self.n, self._width)
        flat = StepResult(observations, *result[1:])  # three times as fast as `_replace`
        if self.run(len(indices), step_all, indices, actions, False, flat) and self._endings:
            endings, best = self._best_in_endings(indices)
            self.run(len(endings), step_all, endings, best, True, flat)

    def _best_in_endings(self, indices: Array) -> tuple[Array, Any]:
        """Those of these games that have come to an ending, and the tricks of their leaders."""
        place, gpu = self.place, self.gpu
        if gpu is not None and gpu.knows_all:
            return indices, gpu.best(self._boards, indices)
        endings = indices[place.fetched(self.led_to)[indices] == ENDING]
        return endings, best_tricks(place.fetched(self.records)[endings])

    def play(self, indices: Array, actions: Array, *, shown: bool) -> Array:
        """Play an action in each of these games; returns those which are in a new hand by it.

        What was paid is added to `results`, and what came of it is in `led_to`. With `shown` the
        actions are as `show` relabels them, and what was paid before is forgotten.
        """
        if not self.run(len(indices), play_all, indices, actions, shown):
            return self.all[:0]
        led_to = self.place.fetched(self.led_to)[indices]
        endings = indices[led_to == ENDING]
        if len(endings):
            self.close(endings)
        return indices[led_to == NEXT_HAND]

    def close(self, indices: Array) -> None:
        """End the episodes of games that stand before an ending: it counts as perfectly played."""
        best = best_tricks(self.place.fetched(self.records)[indices])
        self.run(len(indices), close_all, indices, best)

    def abandon(self, seat: int) -> None:
        """Stop the one game where it stands, lost by this seat."""
        result, record = self.results, self.records
        result["tricks"], result["points"] = record["tricks"], record["points"]
        result["won"], result["deal"] = (-1 if seat == 0 else 1), record["number"]
        record["phase"] = OVER

    # -- keeping

    def state(self) -> dict[str, Array]:
        """All that goes on, as arrays: what a batch of the same options can `restore`."""
        self.check()
        records = self.place.fetched(self.records)
        return {"records": records.view(np.uint8).copy(), "seed": self.plan["seed"].copy()}

    def restore(self, state: Mapping[str, Array], *, over: bool = True) -> None:
        """Go on from what `state` gave; what does not fit is refused, and changes nothing.

        Without `over`, so are hands that are over.
        """
        records, seed = self.checked_state(state, over=over)
        self._go_by(seed)
        self.place.write(self.records, records)
        self.run(self.n, rest_all, each=LOOK)
        self._begun = self.ready = True

    def checked_state(self, state: Mapping[str, Array], *, over: bool = True) -> tuple[Array, int]:
        """The records and the seed of a state, refused unless play can have led there."""
        data, (seed,) = np.ascontiguousarray(kept(state, "records")), kept(state, "seed", 1)
        if data.dtype != np.uint8 or data.shape != (self.records.nbytes,):
            raise ValueError(
                f"the state is {data.size / GAME.itemsize:g} games of {data.dtype}, and {self.n} "
                "of uint8 are needed: restore it where as many games are played"
            )
        records = data.view(GAME)
        wrong = first_impossible(self.rules, self.options.match, records, foreplay=self._endings)
        if wrong >= 0:
            raise ValueError(
                f"the state is not of games by the rules {self.rules.name}: play never leads to "
                f"the record of game {wrong}, so give what state() returned for the same options"
            )
        if not over and (records["phase"] == OVER).any():
            raise ValueError(
                f"the hand of game {int((records['phase'] == OVER).argmax())} is over in the "
                "state, and here a new hand follows at once: give what state() returned for "
                "the same options"
            )
        return records, checked_seed(seed)

    # -- showing

    def rows(self, count: int) -> tuple[Array, Array]:
        """Room for the observations and masks of so many games."""
        empty, shape = self.place.empty, self.options.observation_shape
        return empty((count, *shape), np.int8), empty((count, self.rules.actions), np.int8)

    def show(
        self,
        indices: Array,
        seats: Array,
        *,
        keep: bool = True,
        out: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """The observations and masks of a seat of each of these games, one row per game.

        `seats` holds a seat for every game of the batch. With `keep` the actions
        shown are those the next step is checked against. `out` are rows to write in.
        """
        count = len(indices)
        observations, masks = self.rows(count) if out is None else out
        # An action that is played is looked up in what was last kept, so a look beside it must not
        # overwrite that.
        shown = Shown(
            self.orders if keep else self.place.empty(self.orders.shape, np.uint8),
            self.legal if keep else self.place.empty(self.legal.shape, np.uint64),
            observations.reshape(count, self._width),
            masks,
        )
        self.run(count, show_all, indices, seats, shown)
        return observations, masks

    def turns(self) -> Array:
        """The seat to move in each game."""
        seats = self.place.empty(self.n, np.uint8)
        self.run(self.n, turns_of_all, seats, each=LOOK)
        return seats

    def here(self) -> Batch:
        """The same games as a batch of this side, to look at: itself, unless they are far."""
        if self.gpu is None:
            return self
        batch = Batch(self.options, self.n)
        batch.restore(self.state())
        batch.orders[:], batch.legal[:] = map(self.place.fetched, (self.orders, self.legal))
        return batch

    def views(self, seats: Array, indices: Array | None = None) -> Array:
        """What a seat of each game may know, as `VIEW` records that share no memory with it."""
        records, seats = self.place.fetched(self.records), self.place.fetched(seats)
        games = records if indices is None else records[indices]
        views = np.zeros(len(games), VIEW)
        write_views(self.options.rules_record, games, seats, views)
        return views

    def game(self, index: int = 0) -> Game:
        """A copy of one game as it stands, both hands and the stock open."""
        record = self.place.fetched(self.records)[self._checked_index(index)]
        return Game.of_record(self.rules, record, match=self.options.match, seed=self.seed)

    def view(self, index: int, seat: int) -> View:
        """All that a seat of one game may know."""
        seats = np.full(1, checked_seat(seat), np.uint8)
        return View(self.rules, self.views(seats, self.all[self._checked_index(index)]))

    def _checked_index(self, index: int) -> slice:
        if not 0 <= index < self.n:
            raise IndexError(f"there is no game {index}: games run from 0 to {self.n - 1}")
        return slice(index, index + 1)

    # -- checking

    def checked_indices(self, indices: Any) -> Array:
        """Numbers of games as an int64 array, none twice, or why they are none."""
        where = np.ascontiguousarray(indices)
        if where.size == 0:
            where = np.zeros(0, np.int64)
        if where.dtype.kind not in "iu" or where.ndim != 1:
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

    def checked_actions(self, actions: Any, where: Array | None = None) -> Array:
        """One action for each game, or for each of `where`, refused unless they are legal.

        Where the games are out of reach, a legal action comes in place of one that is not, and
        `check` refuses it.
        """
        self.check_ready()
        if self.gpu is not None and where is None:
            taken = self.gpu.taken(actions)
            _check_numbers(taken, self.n)
            return self.gpu.allowed(self._boards, taken)
        where = self.all if where is None else where
        chosen = one_for_each(actions, len(where))
        wrong = first_illegal(self.legal, where, chosen)
        if wrong >= 0:
            # Named as it was given: int64 has other numbers for those beyond it.
            given = int(np.asarray(actions)[wrong])
            raise IllegalAction(self._why_illegal(int(where[wrong]), given))
        return chosen

    def check(self) -> None:
        """Refuse what was not legal since the last check, where nothing waited to do so at once."""
        wrong = -1 if self.gpu is None else self.gpu.first_refused()
        if wrong >= 0:
            raise IllegalAction(
                f"the action in game {wrong} was not legal, and another was played: actions have "
                "to be among those of the mask"
            )

    def check_ready(self) -> None:
        """Refuse to go on where nothing is dealt."""
        if not self.ready:
            raise IllegalAction("there is nothing to step yet: call reset() first")

    def _why_illegal(self, index: int, action: int) -> str:
        named = str(action)
        if not 0 <= action < self.rules.actions:
            why = f"actions run from 0 to {self.rules.actions - 1} with these rules"
        else:
            named = actions_text([action], self.options)
            allowed = actions_text(actions_in(self.legal[index]), self.options)
            why = f"its mask allows {allowed or 'nothing'}"
        return f"action {named} is not legal in game {index}: {why}"
