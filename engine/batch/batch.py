"""Batch of games, below every environment and trainer.

`Batch` resets, steps and observes games with the same options, on several threads or on a GPU. Game
`i` of `n` gets the deals `i`, `i + n`, `i + 2n` ... of the seed, so results do not depend on
threads or device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...common.threads import STEP_NS, usable_threads
from ...common.typing import Array as Array
from ..cards import N_ACTIONS, action_text
from ..checks import (
    RESET_OPTIONS,
    IllegalAction,
    action_array,
    check_integers,
    check_reset_options,
    checked_choice,
    checked_seat,
    checked_seed,
    first_impossible,
    fresh_seed,
    own_array,
    state_array,
)
from ..dtypes import GAME, OVER, VIEW
from ..endgame.game_values import best_tricks, endgame_tablebases
from ..game import Game
from ..observation.state import state_spec_of
from ..rules import Rules
from ..view import View, write_views
from .config import Options
from .cpu_backend import DEVICES, CpuBackend
from .kernels import (
    SHOWN,
    TRICKS_OF_LEADER,
    WORKSPACE,
    BatchArrays,
    Moves,
    Watched,
    apply_all,
    clear_all,
    deal_next_all,
    encode_states,
    first_illegal,
    observe_all,
    reset_all,
    step_all,
    turns_all,
)
from .results import RESULT, StepResult
from .step import ENDGAME_REACHED, EPISODE_OVER, NEXT_HAND

if TYPE_CHECKING:
    from .cuda_backend import CudaBackend

Backend: TypeAlias = "CpuBackend | CudaBackend"
"""Memory of a batch's games, and the processor that runs their kernels."""

# Names of the arrays of a state.
STATE_ARRAYS = ("records", "seed")

# Approximate cost in nanoseconds of reading or writing one number of a game.
READ_NS = 3


def actions_text(actions: Iterable[int], options: Options) -> str:
    """Actions as errors name them: with their cards, unless suits are relabeled."""
    if options.suit_order == "trump-first":
        return ", ".join(str(action) for action in actions)
    return ", ".join(action_text(action) for action in actions)


def _make_backend(device: str, threads: int) -> tuple[Backend, CudaBackend | None]:
    if device == "cpu":
        return CpuBackend(threads), None
    if threads != 1:
        raise ValueError(f"threads is {threads}, and on a GPU each game has its own: leave it out")
    from .cuda_backend import CudaBackend

    gpu = CudaBackend()
    return gpu, gpu


class Batch:
    """Games with the same options: `reset`, then `step`, or `apply_actions` and `observe`."""

    def __init__(self, options: Options, n: int, threads: int = 1, device: str = "cpu") -> None:
        """`n` games in host memory, or in that of a GPU with `device` `cuda`.

        On a GPU, steps and observations are device arrays, kernels run asynchronously, and `check`
        reports illegal actions.
        """
        self.options: Options = options
        self.rules: Rules = options.rules
        self.n: int = n
        self.device: str = checked_choice("device", device, DEVICES)
        self.backend: Backend
        self.gpu: CudaBackend | None
        self.backend, self.gpu = _make_backend(self.device, threads)
        """The backend, if it is a GPU; else None."""
        zeros = self.backend.zeros
        self.games: Array = zeros(n, GAME)
        self.suit_orders: Array = zeros((n, 4), np.uint8)
        self.legal: Array = zeros(n, np.uint64)
        """Legal actions of each game, as last observed."""
        self.results: Array = zeros(n, RESULT)
        """Rewards of the last action, and the result of the last episode, of each game."""
        self.events: Array = zeros(n, np.int8)
        """Event of the last action in each game, such as `NEXT_HAND` or `EPISODE_OVER`."""
        self.seed: int = 0
        """Seed of the deals."""
        self.config: Array = options.config_array()
        self.arrays: BatchArrays = BatchArrays(
            config=self.backend.to_device(self.config),
            games=self.games,
            suit_orders=self.suit_orders,
            results=self.results,
            legal=self.legal,
            events=self.events,
            workspace=zeros(1, WORKSPACE),
        )
        """All arrays, with the workspace of the calling thread."""
        self._thread_arrays = [self.arrays]
        for _ in range(1, threads):
            self._thread_arrays.append(self.arrays._replace(workspace=zeros(1, WORKSPACE)))
        self.all_games: Array = self.backend.constant(np.arange(n))
        self._ends_at_endgame = options.horizon == "foreplay"
        self.first_game: int = 0
        """Number of its first game in errors: its games may be a part of more."""
        self.ready: bool = False
        """Whether the batch can step: not before a reset, nor after a failed one."""
        self._dealt = False
        if self._ends_at_endgame:
            tablebases = endgame_tablebases(options.rules)
            if self.gpu is not None:
                self.gpu.load_tablebases(tablebases, self.rules.hand)

    def run(
        self, size: int, function: Callable[..., int], *arguments: object, cost_ns: int = STEP_NS
    ) -> int:
        """Run a compiled function over `size` games, on threads; returns the sum of results.

        `cost_ns` is the approximate cost of one game in nanoseconds.
        """
        return self.backend.run(size, function, self._thread_arrays, *arguments, cost_ns=cost_ns)

    # -- reset

    def reset(
        self,
        seed: int | None,
        reset_options: Mapping[str, Any] | None = None,
        allowed: tuple[str, ...] = RESET_OPTIONS,
    ) -> Array:
        """Start every game with the first deals of a seed; without a seed, with the next ones.

        `reset_options` have names of `allowed`: `number`, the deal of the seed; `deal`
        and `dealer`, a given deal for a batch of one; `reset_mask`, the games to reset. Returns
        those games. Invalid options are refused before anything changes, but then the batch needs a
        reset before a step.
        """
        was_ready, self.ready = self.ready, False
        reset_options = {} if reset_options is None else reset_options
        check_reset_options(reset_options, allowed)
        indices = self.all_games
        if reset_options.get("reset_mask") is not None:
            indices = self._games_of_mask(reset_options["reset_mask"], seed, was_ready)
        given_game = self._game_with_deal(reset_options.get("deal"), reset_options.get("dealer"))
        number, next_seed = reset_options.get("number"), self.seed
        if seed is None and self._dealt:
            numbers = self.backend.to_host(self.games)["number"] + np.uint64(self.n)
        else:
            next_seed = fresh_seed() if seed is None else checked_seed(seed)
            numbers = self.all_games.astype(np.uint64)
        if number is not None:
            numbers = np.uint64(checked_seed(number, "number")) + self.all_games.astype(np.uint64)
        if next_seed != self.seed:
            self._set_seed(next_seed)
        self._dealt = True
        if indices is not self.all_games:
            self.run(self.n, clear_all, cost_ns=READ_NS)
        self.run(len(indices), reset_all, indices, numbers)
        if given_game is not None:
            begun = self.backend.to_host(self.games)
            if reset_options.get("deal") is None:
                given_game.deal_cards(begun["deal"][0, : len(self.rules.deck)], given_game.dealer)
            given_game.array["number"] = begun["number"]
            self.backend.write(self.games, given_game.array)
        self.ready = True
        return indices

    def _set_seed(self, seed: int) -> None:
        self.config["seed"] = self.seed = seed
        self.backend.write(self.arrays.config, self.config)

    def _games_of_mask(self, mask: object, seed: int | None, was_ready: bool) -> Array:
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

    def _game_with_deal(
        self, deal: str | Iterable[int | str] | None, dealer: int | None
    ) -> Game | None:
        if deal is None and dealer is None:
            return None
        if self.n != 1:
            raise ValueError(f"a deal can be given to one game, not to a batch of {self.n}")
        game = Game(self.rules, match=self.options.match)
        game.deal_cards(self.rules.deck if deal is None else deal, 0 if dealer is None else dealer)
        return game

    def begin_next(self, indices: Array) -> None:
        """Start the next episode in each of these games, wherever its last one ended.

        A match also ends by an illegal action: its score does not say whether it is over.
        """
        numbers = np.empty(self.n, np.uint64)
        numbers[indices] = self.games["number"][indices] + np.uint64(self.n)
        self.run(len(indices), reset_all, indices, numbers)

    def deal_next(self, indices: Array) -> None:
        """Deal the next hand of each of these matches."""
        self.run(len(indices), deal_next_all, indices)

    # -- stepping

    def step(self, indices: Array, actions: Array, result: StepResult) -> None:
        """Play an action, as observed, in each of these games, and observe for the seat to move.

        The rows of `result` for these games are written, and their events are in `events`. A
        finished hand is followed by the next deal.
        """
        if len(indices) != self.n:
            self.run(self.n, clear_all, cost_ns=READ_NS)
            # The other games get no reward.
            for array in (result.rewards, result.ended):
                self.backend.write(array, 0)
        moves = Moves(indices, actions, SHOWN)
        if self.run(len(indices), step_all, moves, result) and self._ends_at_endgame:
            endings = self._endings(indices)
            self.run(len(endings.indices), step_all, endings, result)

    def _endings(self, indices: Array) -> Moves:
        """The leaders' tricks in those of these games that have reached the endgame."""
        gpu, host = self.gpu, self.backend.to_host
        if gpu is not None and gpu.has_all_endings:
            return gpu.best_tricks(self._thread_arrays, indices)
        endings = indices[host(self.events)[indices] == ENDGAME_REACHED]
        # All records of a GPU are copied, so only where there is an ending.
        best, threads = endings, 1 if gpu is None else usable_threads()
        if len(endings):
            best = best_tricks(host(self.games)[endings], threads)
        return Moves(endings, best, TRICKS_OF_LEADER)

    def apply_actions(self, moves: Moves) -> Array:
        """Play an action in each of some games; returns those in which it began a new hand.

        Rewards are added to `results`, after those of earlier actions are cleared if the actions
        are as observed, and events are in `events`.
        """
        indices = moves.indices
        if not self.run(len(indices), apply_all, moves):
            return self.all_games[:0]
        if self._ends_at_endgame:
            self.score_endings(indices)
        return indices[self.backend.to_host(self.events)[indices] == NEXT_HAND]

    def score_endings(self, indices: Array) -> None:
        """End the episodes of those games that have just reached the endgame, by perfect play."""
        endings = self._endings(indices)
        self.run(len(endings.indices), apply_all, endings)

    def abandon(self, indices: Array, seats: Array) -> None:
        """End the episodes of these games, each as lost by its seat."""
        results, records = self.results, self.games
        for name, source in (("tricks", "tricks"), ("points", "points"), ("deal", "number")):
            results[name][indices] = records[source][indices]
        results["won"][indices] = np.where(seats == 0, -1, 1)
        records["phase"][indices] = OVER
        self.events[indices] = EPISODE_OVER

    # -- state

    def state(self) -> dict[str, Array]:
        """State as arrays, for `restore` in a batch with the same options."""
        self.check()
        records = self.backend.to_host(self.games)
        return {"records": records.view(np.uint8).copy(), "seed": self.config["seed"].copy()}

    def restore(
        self, state: Mapping[str, Array], *, over: bool = True, abandoned: bool = False
    ) -> None:
        """Continue from a `state`; an invalid one is refused and changes nothing.

        Without `over`, finished hands are refused too; with `abandoned`, they may have ended at any
        point.
        """
        records, seed = self.checked_state(state, over=over, abandoned=abandoned)
        self._set_seed(seed)
        self.backend.write(self.games, records)
        self.run(self.n, clear_all, cost_ns=READ_NS)
        self._dealt = self.ready = True

    def checked_state(
        self, state: Mapping[str, Array], *, over: bool = True, abandoned: bool = False
    ) -> tuple[Array, int]:
        """Records and seed of a state, validated by replay.

        With `abandoned`, finished hands may have ended at any point.
        """
        data = np.ascontiguousarray(state_array(state, "records"))
        (seed,) = state_array(state, "seed", 1)
        if data.dtype != np.uint8 or data.shape != (self.games.nbytes,):
            raise ValueError(
                f"the state is {data.size / GAME.itemsize:g} games of {data.dtype}, and {self.n} "
                "of uint8 are needed: restore it where as many games are played"
            )
        records = data.view(GAME)
        rules, match, foreplay = self.rules, self.options.match, self._ends_at_endgame
        invalid = first_impossible(rules, match, records, foreplay=foreplay, stopped=abandoned)
        if invalid >= 0:
            raise ValueError(
                f"the state is not of games by the rules {rules.name}: play never leads to "
                f"the record of game {self.first_game + invalid}, so give what state() returned "
                "for the same options"
            )
        if not over and (records["phase"] == OVER).any():
            game = self.first_game + int((records["phase"] == OVER).argmax())
            raise ValueError(
                f"the hand of game {game} is over in the state, and here a new hand follows at "
                "once: give what state() returned for the same options"
            )
        return records, checked_seed(seed)

    # -- observations

    def new_rows(self, count: int) -> tuple[Array, Array]:
        """Empty observations and masks for `count` games."""
        empty, shape = self.backend.empty, self.options.observation_shape
        return empty((count, *shape), np.int8), empty((count, self.rules.actions), np.int8)

    def observe(
        self,
        indices: Array,
        seats: Array,
        *,
        keep: bool = True,
        out: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Array]:
        """Observations and action masks of a seat of each of these games, one row per game.

        `seats` holds a seat for every game of the batch. With `keep`, the next step is checked
        against the actions observed here. `out` are rows to write to.
        """
        rows = self.new_rows(len(indices)) if out is None else out
        self.run(len(indices), observe_all, Watched(indices, seats, keep, *rows))
        return rows

    def global_states(self, out: Array | None = None) -> Array:
        """Global state of every game, for training alone; `out` are rows to write to."""
        shape = self.n, state_spec_of(self.rules).size
        states = self.backend.empty(shape, np.int8) if out is None else out
        self.run(self.n, encode_states, states)
        return states

    def turns(self, out: Array | None = None) -> Array:
        seats = self.backend.empty(self.n, np.uint8) if out is None else out
        self.run(self.n, turns_all, seats, cost_ns=READ_NS)
        return seats

    def views(self, seats: Array, indices: Array | None = None) -> Array:
        """Information states of one seat per game: a fresh `VIEW` array."""
        records, seats = self.backend.to_host(self.games), self.backend.to_host(seats)
        games = records if indices is None else records[indices]
        views = np.zeros(len(games), VIEW)
        write_views(self.options.rules_array, games, seats, views)
        return views

    def game(self, index: int = 0) -> Game:
        """A copy of one game, with both hands and the stock open."""
        record = self.backend.to_host(self.games)[self._checked_index(index)]
        return Game.of_array(self.rules, record, match=self.options.match, seed=self.seed)

    def view(self, index: int, seat: int) -> View:
        seats = np.full(1, checked_seat(seat), np.uint8)
        return View(self.rules, self.views(seats, self.all_games[self._checked_index(index)]))

    def _checked_index(self, index: int) -> slice:
        if not 0 <= index < self.n:
            raise IndexError(f"there is no game {index}: games run from 0 to {self.n - 1}")
        return slice(index, index + 1)

    # -- checks

    def checked_indices(self, indices: npt.ArrayLike) -> Array:
        """Validate game indices: an int64 array without duplicates."""
        array = np.ascontiguousarray(indices)
        if array.size == 0:
            array = np.zeros(0, np.int64)
        if array.dtype.kind not in "iu" or array.ndim != 1:
            raise ValueError(
                f"indices are {array.dtype} of shape {array.shape}: give a list of game numbers"
            )
        array = own_array(array, np.int64)
        outside = array[(array < 0) | (array >= self.n)]
        if outside.size:
            raise ValueError(f"there is no game {outside[0]}: games run from 0 to {self.n - 1}")
        if np.unique(array).size != array.size:
            raise ValueError("a game comes twice among the indices")
        return array

    def action_array(self, actions: object, count: int) -> Array:
        """Actions for `count` games as an array where the games of this batch are."""
        if self.gpu is None or not self.gpu.is_device_array(actions):
            return self.backend.to_device(action_array(actions, count))
        array = self.gpu.to_device(actions)
        check_integers(array, count)
        return array

    def checked_actions(self, actions: object, indices: Array | None = None) -> Array:
        """Validate one action for each game, or for each of `indices`.

        On a GPU, an illegal action is replaced by a legal one, and the next `check` raises.
        """
        self.check_ready()
        if self.gpu is not None and indices is None:
            device_actions = self.action_array(actions, self.n)
            return self.gpu.replace_illegal(self._thread_arrays, device_actions)
        indices = self.all_games if indices is None else indices
        array = action_array(actions, len(indices))
        illegal = first_illegal(self.legal, indices, array)
        if illegal >= 0:
            # The original number: values beyond int64 have wrapped around.
            action = int(np.asarray(actions)[illegal])
            raise IllegalAction(self._illegal_reason(int(indices[illegal]), action))
        return array

    def check(self) -> None:
        """Raise if an action on a GPU was illegal since the last check."""
        game = -1 if self.gpu is None else self.gpu.first_illegal()
        if game >= 0:
            raise IllegalAction(
                f"the action in game {self.first_game + game} was not legal, and another was "
                "played: actions have to be among those of the mask"
            )

    def check_ready(self) -> None:
        if not self.ready:
            raise IllegalAction("there is nothing to step yet: call reset() first")

    def _illegal_reason(self, index: int, action: int) -> str:
        text = str(action)
        if not 0 <= action < self.rules.actions:
            reason = f"actions run from 0 to {self.rules.actions - 1} with these rules"
        else:
            text = actions_text([action], self.options)
            mask = int(self.legal[index])
            allowed = [number for number in range(N_ACTIONS) if mask >> number & 1]
            legal = actions_text(allowed, self.options)
            reason = f"its mask allows {legal or 'nothing'}"
        return f"action {text} is not legal in game {self.first_game + index}: {reason}"
