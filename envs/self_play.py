"""Self-play environment: the seat to move in each of `n` games, without an opponent.

Everything is a NumPy array with one row per game, fresh each step, which `torch.from_numpy` wraps
without copying. With `device="cuda"` games and arrays live on a GPU, where
`torch.as_tensor(array, device="cuda")` does so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ..common.jit.compiler import warm_up
from ..engine.batch.batch import Array, Batch, own_array
from ..engine.batch.config import GameOptions, Options, RulesLike, checked_keywords, options_from
from ..engine.batch.kernels import NO_EVENT
from ..engine.batch.results import StepResult
from ..engine.dtypes import SEATS
from ..engine.game import Game
from ..engine.rules import Rules
from ..engine.seeding import checked_count
from ..engine.view import View
from .spaces import observation_box

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SelfPlayEnv:
    """`n` games in which one or two learners play both seats.

    ```python
    env = SelfPlayEnv(1024, "classic")
    step = env.reset(seed=1)
    step = env.step(step.masks.argmax(axis=1))
    ```

    `reset`, `observe` and `step` return a `StepResult` of arrays with one row per game; there is
    no `info`:

    | field | value |
    |---|---|
    | `observations` | int8, from the seat to move |
    | `masks` | int8, 1 for each legal action |
    | `seats` | the seat to move |
    | `rewards` | float32, `(n, 2)`: each seat's reward of the step |
    | `ended` | whether the step ended an episode; the observation is then of the next one |

    `step(actions, indices)` plays in the games of `indices` alone. `hand_over` marks games whose
    hand ended with the last step, which in a match is not always the episode.
    """

    @checked_keywords
    def __init__(
        self,
        num_envs: int = 1024,
        rules: RulesLike = "classic",
        *,
        copy: bool = True,
        threads: int = 1,
        device: str = "cpu",
        **options: Unpack[GameOptions],
    ) -> None:
        """The options are those of `german_whist_v0`; without `copy` buffers are reused.

        On several `threads` parts of the games are played in parallel, with the same results.
        On the `device` `cuda` each game has a GPU thread: actions are arrays there, a step does
        not wait for them, and `batch.check()` reports illegal ones.
        """
        self.options: Options = options_from(rules, **options)
        self.rules: Rules = self.options.rules
        self.num_envs: int = checked_count(num_envs, "num_envs")
        self.single_observation_space: spaces.Box = observation_box(self.options)
        self.single_action_space: spaces.Discrete = spaces.Discrete(self.rules.actions)
        self.batch: Batch = Batch(
            self.options, self.num_envs, checked_count(threads, "threads"), device
        )
        """The games, with both hands open: for trainers, not for players."""
        self.buffers: StepResult | None = None if copy else self._new_result()
        """Arrays of all results, instead of fresh ones."""
        self._reset: Array | None = self.batch.all_games
        if device == "cpu":
            kind = self.options.observation
            warm_up(f"self-play ({kind})", "envs", lambda: _compile_all(kind), seconds=3)

    def _new_result(self) -> StepResult:
        empty = self.batch.backend.empty
        return StepResult(
            *self.batch.new_rows(self.num_envs),
            seats=empty(self.num_envs, np.uint8),
            rewards=empty((self.num_envs, 2), np.float32),
            ended=empty(self.num_envs, np.bool_),
        )

    @property
    def hand_over(self) -> npt.NDArray[np.bool_]:
        """`(n,)` bool, the last step ended a hand; in a match not always the episode."""
        return self.batch.backend.to_host(self.batch.events) != NO_EVENT

    @property
    def new_hands(self) -> Array:
        """Indices of the games in which the last step, or `reset`, began a hand."""
        return np.flatnonzero(self.hand_over) if self._reset is None else self._reset

    def reset(self, seed: int | None = None) -> StepResult:
        """Deal every game; game `i` of `n` gets deals `i`, `i + n` ... of the seed."""
        self._reset = self.batch.reset(seed)
        return self.observe()

    def observe(self) -> StepResult:
        """The current observations, with zero rewards and no ends."""
        batch = self.batch
        batch.check_ready()
        result = self.buffers or self._new_result()
        batch.turns(result.seats)
        batch.observe(batch.all_games, result.seats, out=(result.observations, result.masks))
        for array in (result.rewards, result.ended):
            batch.backend.write(array, 0)
        return result

    def step(self, actions: Any, indices: Any = None) -> StepResult:
        """Play an action of the seat to move in every game; ended episodes begin anew.

        With `indices`, one action for each of these games; the others wait.
        """
        batch = self.batch
        if indices is None:
            games, result = batch.all_games, self.buffers or self._new_result()
        else:
            if batch.gpu is not None:
                raise ValueError(
                    "indices are given, but games on a GPU step together: leave them out"
                )
            games, result = batch.checked_indices(indices), self.observe()
        chosen = batch.checked_actions(actions, None if indices is None else games)
        batch.step(games, chosen, result)
        self._reset = None
        return result

    def state(self) -> dict[str, Array]:
        """The complete state as arrays."""
        return self.batch.state()

    def restore(self, state: Mapping[str, Array]) -> StepResult:
        """Continue from a `state`, in an environment of the same options."""
        self.batch.restore(state, over=False)
        self._reset = self.batch.all_games[:0]
        return self.observe()

    def views(self, seats: Any = None, indices: Any = None) -> Array:
        """`VIEW` records of a seat (default: the one to move) in each game, or in `indices`."""
        batch = self.batch
        games = batch.all_games if indices is None else batch.checked_indices(indices)
        seat_of_game = batch.backend.to_host(batch.turns())[games]
        if seats is not None:
            seat_of_game = np.broadcast_to(seats, seat_of_game.shape)
        if seat_of_game.size and not ((seat_of_game >= 0) & (seat_of_game < SEATS)).all():
            raise ValueError("a seat is out of range: seats are 0 and 1")
        return batch.views(own_array(seat_of_game, np.uint8), games)

    def game(self, index: int) -> Game:
        """An independent copy of one game."""
        return self.batch.game(index)

    def view(self, index: int, seat: int) -> View:
        self.batch.check_ready()
        return self.batch.view(index, seat)


def _compile_all(observation: str) -> None:
    env = SelfPlayEnv(1, "small-last", observation=observation)
    env.step(env.reset(0).masks.argmax(axis=1))
