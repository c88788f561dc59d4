"""Decisions of one iteration of self-play, and the learner's among them as training samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from ...agents.checkpoints.schema import HIDDEN_SIZE
from ...agents.networks.relative_ranks import gather_rows
from ...engine.batch.results import StepResult
from .backends import Array, Side


class RolloutSamples(NamedTuple):
    """Decisions to learn from, one row each."""

    observations: Tensor
    hidden: Tensor
    """What the critic sees beyond the policy; no columns if nothing."""
    action_masks: Tensor
    actions: Tensor
    old_log_probs: Tensor
    advantages: Tensor
    returns: Tensor

    def minibatch(self, rows: Tensor) -> RolloutSamples:
        """Some of them."""
        # Whole rows at once: many times as fast as an index.
        return RolloutSamples(*(tensor.index_select(0, rows) for tensor in self))


class RolloutBuffer:
    """Arrays `(steps, games)` for one iteration, allocated once; observations as int8."""

    def __init__(
        self, side: Side, steps: int, games: int, inputs: np.ndarray[Any, Any], actions: int, *,
        rule_features: np.ndarray[Any, Any], closed: bool, oracle: bool,
    ) -> None:  # fmt: skip
        """`rule_features` of each game follow its inputs."""
        shape, size, zeros = (steps, games), len(inputs) + rule_features.shape[1], side.zeros
        self.all: Array = side.put(np.arange(games))
        self.observations: Array = zeros((*shape, size), np.int8)
        self.observations[..., len(inputs) :] = side.put(rule_features)
        self.hidden: Array = zeros((*shape, HIDDEN_SIZE if oracle else 0), np.int8)
        self.action_masks: Array = zeros((*shape, actions), np.int8)
        # After the last step, where the critic is asked for the value of the rest.
        self.next_observations: Array = side.own(side.tensor(self.observations[0]).clone())
        self.next_hidden: Array = zeros((games, HIDDEN_SIZE if oracle else 0), np.int8)
        self.next_masks: Array = zeros((games, actions), np.int8)
        self.shown: Array = zeros((games, actions), np.int64)
        """The action that stands in each of the network's places now, -1 for none."""
        self.seats: Array = zeros(shape, np.uint8)
        self.is_learner: Array = zeros(shape, np.bool_)
        self.actions: Array = zeros(shape, np.int64)
        self.log_probs: Array = zeros(shape, np.float32)
        self.values: Array = zeros(shape, np.float32)
        self.rewards: Array = zeros((*shape, 2), np.float32)
        self.ended: Array = zeros(shape, np.bool_)
        self.advantages: Array = zeros(shape, np.float32)
        self._side, self._closed = side, closed
        self._inputs = side.place.constant(inputs)

    def add_observations(self, step: int, now: StepResult) -> None:
        """Keep what is seen at a step; -1 for after the last."""
        after = step < 0
        self._side.place.run_rows(
            len(self.shown), gather_rows, now.observations, now.masks, self._inputs, self._closed,
            self.next_observations if after else self.observations[step],
            self.next_masks if after else self.action_masks[step],
            self.shown,
        )  # fmt: skip
        if not after:
            self.seats[step] = now.seats

    def at(self, step: int) -> tuple[Array, Array]:
        """Observations, and what the critic sees beyond them; -1 after the last step."""
        if step < 0:
            return self.next_observations, self.next_hidden
        return self.observations[step], self.hidden[step]

    def samples(self, steps: int) -> RolloutSamples:
        """The learner's decisions of so many steps as rows."""
        learner = self.is_learner[:steps]
        count = steps * len(self.shown)
        where = None if learner.all() else self._side.where(learner.reshape(count))

        def rows(array: Array) -> Tensor:
            flat = array[:steps].reshape(count, *array.shape[2:])
            return self._side.tensor(flat if where is None else flat[where])

        advantages, values = rows(self.advantages), rows(self.values)
        return RolloutSamples(
            rows(self.observations), rows(self.hidden), rows(self.action_masks),
            rows(self.actions), rows(self.log_probs), advantages, advantages + values,
        )  # fmt: skip
