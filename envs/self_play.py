"""Both seats at once, for self-play trainers: whoever is to move in each of `n` games.

Everything comes as NumPy arrays with one row per game, fresh each step, which
`torch.from_numpy` wraps without copying. With `device="cuda"` games and arrays live on a GPU,
where `torch.as_tensor(array, device="cuda")` does the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ..common.jit.compiler import warm_up
from ..engine.batch.batch import Array, Batch
from ..engine.batch.config import GameOptions, Options, RulesLike, checked_keywords, options_from
from ..engine.batch.kernels import NO_EVENT
from ..engine.batch.results import StepResult
from ..engine.dtypes import SEATS
from ..engine.game import Game
from ..engine.rules import Rules
from ..engine.seeding import checked_count
from ..engine.view import View
from .single_agent_batch import prepare
from .spaces import action_space, observation_box

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SelfPlayEnv:
    """`n` games in which the same learner, or two, play both seats.

    ```python
    env = SelfPlayEnv(1024, "classic")
    now = env.reset(seed=1)
    now = env.step(now.masks.argmax(axis=1))
    ```

    What `reset`, `look` and `step` give is a `StepResult`, a row for each game. There is no `info`.

    `step(actions, indices)` plays in the games of `indices` alone, `hand_over` tells where the last
    step ended a hand, which in a match is not yet the episode.

    ### What a StepResult holds

    | field | value |
    |---|---|
    | `observations` | int8, what the seat to move sees |
    | `masks` | int8, 1 for each action that is legal for it |
    | `seats` | who is to move |
    | `rewards` | float32, `(n, 2)`: what the step paid each seat |
    | `ended` | whether the step ended an episode; what is shown is of the next one |
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

        On several `threads` the games are played in parts at once, which changes nothing else.
        On the `device` `cuda` each game has a thread of the GPU's: actions come from there, a
        step does not wait for them, and what is not legal is told by `batch.check()`.
        """
        self.options: Options = options_from(rules, **options)
        self.rules: Rules = self.options.rules
        self.num_envs: int = checked_count(num_envs, "num_envs")
        self.single_observation_space: spaces.Box = observation_box(self.options)
        self.single_action_space: spaces.Discrete = action_space(self.options)
        self.batch: Batch = Batch(
            self.options, self.num_envs, checked_count(threads, "threads"), device
        )
        """The games behind it, both hands open: for trainers, not for players."""
        self._round: StepResult | None = None if copy else self._room()
        self._reset: Array | None = self.batch.all_games
        if device == "cpu":
            prepare()
            warm_up("self-play", "envs", _compile_all)

    def _room(self) -> StepResult:
        """Room for what a step shows."""
        empty = self.batch.backend.empty
        return StepResult(
            *self.batch.new_rows(self.num_envs),
            seats=empty(self.num_envs, np.uint8),
            rewards=empty((self.num_envs, 2), np.float32),
            ended=empty(self.num_envs, np.bool_),
        )

    @property
    def hand_over(self) -> npt.NDArray[np.bool_]:
        """`(n,)` bool, the last step ended a hand: with a match, not always its episode."""
        return self.batch.backend.to_host(self.batch.events) != NO_EVENT

    @property
    def begun(self) -> Array:
        """The games in which the last step, or `reset`, began a hand."""
        return np.flatnonzero(self.hand_over) if self._reset is None else self._reset

    def reset(self, seed: int | None = None) -> StepResult:
        """Deal every game; game `i` of `n` gets deals `i`, `i + n` ... of the seed."""
        self._reset = self.batch.reset(seed)
        return self.look()

    def look(self) -> StepResult:
        """What the seats to move see now, as if nothing had just been paid or ended."""
        batch = self.batch
        batch.check_ready()
        now = (self._round or self._room())._replace(seats=batch.turns())
        batch.observe(batch.all_games, now.seats, out=(now.observations, now.masks))
        nothing = batch.backend.zeros
        return now._replace(
            rewards=nothing((self.num_envs, 2), np.float32), ended=nothing(self.num_envs, np.bool_)
        )

    def step(self, actions: Any, indices: Any = None) -> StepResult:
        """Play an action in every game, for the seat to move; what ended is dealt anew.

        With `indices`, numbers of games, one in each of these, and the others wait.
        """
        batch = self.batch
        if indices is None:
            where, now = batch.all_games, self._round or self._room()
        else:
            if batch.gpu is not None:
                raise ValueError(
                    "indices are given, but games on a GPU step together: leave them out"
                )
            where, now = batch.checked_indices(indices), self.look()
        chosen = batch.checked_actions(actions, None if indices is None else where)
        batch.step(where, chosen, now)
        self._reset = None
        return now

    def state(self) -> dict[str, Array]:
        """All that goes on, as arrays."""
        return self.batch.state()

    def restore(self, state: Mapping[str, Array]) -> StepResult:
        """Go on from what `state` gave, in an environment of the same options."""
        self.batch.restore(state, over=False)
        self._reset = self.batch.all_games[:0]
        return self.look()

    def views(self, seats: Any = None, indices: Any = None) -> Array:
        """What a seat of each game may know (by default the one to move), as `VIEW` records.

        With `indices` of these games alone. The records are a copy.
        """
        batch = self.batch
        where = batch.all_games if indices is None else batch.checked_indices(indices)
        chosen = batch.backend.to_host(batch.turns())[where]
        if seats is not None:
            chosen = np.broadcast_to(seats, chosen.shape)
        if chosen.size and not ((chosen >= 0) & (chosen < SEATS)).all():
            raise ValueError("a seat is out of range: seats are 0 and 1")
        return batch.views(np.ascontiguousarray(chosen, np.uint8), where)

    def game(self, index: int) -> Game:
        """A copy of one game as it stands, as a `Game` that goes on by itself."""
        return self.batch.game(index)

    def view(self, index: int, seat: int) -> View:
        """All that a seat of one game may know."""
        return self.batch.view(index, seat)


def _compile_all() -> None:
    env = SelfPlayEnv(1)
    env.step(env.reset(0).masks.argmax(axis=1))
