"""Both seats at once, for self-play trainers: whoever is to move in each of `n` games.

Everything comes as NumPy arrays with one row per game, fresh each step, which
`torch.from_numpy` wraps without copying.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ..agents.base import Array
from ..engine.rules import Match, Rules
from ..engine.view import View
from .against import prepare
from .batch import Batch, checked_count
from .options import Options, RulesLike, named_options, options_from


class Round(NamedTuple):
    """What a step shows: arrays with one row per game."""

    observations: npt.NDArray[np.int8]
    """int8, seen by the seat to move."""
    masks: npt.NDArray[np.int8]
    """`(n, actions)` int8, its legal actions."""
    seats: npt.NDArray[np.uint8]
    """`(n,)` uint8, the seat to move."""
    rewards: npt.NDArray[np.float32]
    """`(n, 2)` float32, what the step paid each seat."""
    ended: npt.NDArray[np.bool_]
    """`(n,)` bool, the episode ended; what is shown is of the next one."""


class SelfPlayEnv:
    """`n` games in which the same learner, or two, play both seats.

    >>> env = SelfPlayEnv(1024, "classic")
    >>> now = env.reset(seed=1)
    >>> now = env.step(now.masks.argmax(axis=1))
    """

    @named_options
    def __init__(
        self,
        num_envs: int = 1024,
        rules: RulesLike = "classic",
        *,
        copy: bool = True,
        reward: str = "points",
        layout: str = "raw",
        horizon: str = "hand",
        observation: str = "vector",
        match: Match | int | None = None,
    ) -> None:
        """The options are those of `german_whist_v0`; without `copy` buffers are reused."""
        self.options: Options = options_from(
            rules,
            reward=reward,
            layout=layout,
            horizon=horizon,
            observation=observation,
            match=match,
        )
        self.rules: Rules = self.options.rules
        self.num_envs: int = checked_count(num_envs, "num_envs")
        self.single_observation_space: spaces.Box = self.options.observation_box()
        self.single_action_space: spaces.Discrete = self.options.action_space()
        self._batch = Batch(self.options, self.num_envs)
        self._copy = copy
        self._learners = np.zeros(self.num_envs, np.uint8)
        self.begun: Array = self._batch.all
        """The games in which the last step, or `reset`, began a hand."""
        prepare()

    def reset(self, seed: int | None = None) -> Round:
        """Deal every game; game `i` of `n` gets deals `i`, `i + n` ... of the seed."""
        self._batch.start(seed, self._learners)
        self.begun = self._batch.all
        return self._round(np.zeros(self.num_envs, np.bool_))

    def step(self, actions: Any) -> Round:
        """Play an action in every game, for the seat to move; what ended is dealt anew."""
        batch = self._batch
        chosen = batch.checked_actions(actions)
        batch.rewards[:] = 0
        ended, dealt = batch.play(batch.all, chosen, shown=True)
        self.begun = np.concatenate([ended, dealt])
        over = np.zeros(self.num_envs, np.bool_)
        if len(ended):
            over[ended] = True
            batch.begin_next(ended, self._learners)
        return self._round(over)

    def _round(self, ended: Array) -> Round:
        batch = self._batch
        seats = batch.turns()
        observations, masks = batch.show(batch.all, seats, copy=self._copy)
        return Round(observations, masks, seats, batch.rewards.astype(np.float32), ended)

    def views(self) -> Array:
        """What the seat to move in each game may know, as `VIEW` records, copied out."""
        return self._batch.views(self._batch.turns())

    def view(self, index: int, seat: int) -> View:
        """All that a seat of one game may know."""
        return self._batch.view(index, seat)
