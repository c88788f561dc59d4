"""What was played in one iteration of the trainer, and as rows to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ...agents.checkpoints.schema import HIDDEN_SIZE
from ...agents.networks.relative_ranks import gather_rows
from ...engine.batch.results import StepResult
from .backends import Array, Side


@dataclass
class Decisions:
    """Decisions to learn from, one row each."""

    x: Tensor
    hidden: Tensor
    masks: Tensor
    actions: Tensor
    logs: Tensor
    advantages: Tensor
    returns: Tensor

    def rows(self, rows: Tensor) -> Decisions:
        """Some of them."""
        # Whole rows at once: many times as fast as an index.
        return Decisions(*(
            tensor.index_select(0, rows)
            for tensor in (self.x, self.hidden, self.masks, self.actions,
                           self.logs, self.advantages, self.returns)
        ))  # fmt: skip


class Buffers:
    """Room for the decisions of one iteration: `(steps, games)` rows, observations as int8."""

    def __init__(
        self, side: Side, steps: int, games: int, inputs: np.ndarray[Any, Any], actions: int, *,
        told: np.ndarray[Any, Any], closed: bool, oracle: bool,
    ) -> None:  # fmt: skip
        """`told` is what stands behind the inputs of each game: features of its rules."""
        shape, seen, zeros = (steps, games), len(inputs) + told.shape[1], side.zeros
        self.all: Array = side.put(np.arange(games))
        self.observations: Array = zeros((*shape, seen), np.int8)
        self.observations[..., len(inputs) :] = side.put(told)
        self.hidden: Array = zeros((*shape, HIDDEN_SIZE if oracle else 0), np.int8)
        self.beyond: Array = side.own(side.tensor(self.observations[0]).clone())
        self.beyond_hidden: Array = zeros((games, HIDDEN_SIZE if oracle else 0), np.int8)
        self.beyond_masks: Array = zeros((games, actions), np.int8)
        self.masks: Array = zeros((*shape, actions), np.int8)
        self.shown: Array = zeros((games, actions), np.int64)
        """The action that stands in each of the network's places now, -1 for none."""
        self.seats: Array = zeros(shape, np.uint8)
        self.learns: Array = zeros(shape, np.bool_)
        self.actions: Array = zeros(shape, np.int64)
        self.logs: Array = zeros(shape, np.float32)
        self.values: Array = zeros(shape, np.float32)
        self.rewards: Array = zeros((*shape, 2), np.float32)
        self.ended: Array = zeros(shape, np.bool_)
        self.advantages: Array = zeros(shape, np.float32)
        self._side, self._closed = side, closed
        self._inputs = side.place.keep(inputs)

    def take(self, step: int, now: StepResult) -> None:
        """Keep what is seen at a step; -1 for what lies beyond the last."""
        beyond = step < 0
        self._side.place.rows(
            len(self.shown), gather_rows, now.observations, now.masks, self._inputs, self._closed,
            self.beyond if beyond else self.observations[step],
            self.beyond_masks if beyond else self.masks[step],
            self.shown,
        )  # fmt: skip
        if not beyond:
            self.seats[step] = now.seats

    def at(self, step: int) -> tuple[Array, Array]:
        """What is seen, and what is not at a step; -1 beyond the last."""
        if step < 0:
            return self.beyond, self.beyond_hidden
        return self.observations[step], self.hidden[step]

    def decisions(self, steps: int) -> Decisions:
        """The learner's decisions of so many steps as rows."""
        learns = self.learns[:steps]
        count = steps * len(self.shown)
        where = None if learns.all() else self._side.where(learns.reshape(count))

        def rows(array: Array) -> Tensor:
            flat = array[:steps].reshape(count, *array.shape[2:])
            return self._side.tensor(flat if where is None else flat[where])

        gained, values = rows(self.advantages), rows(self.values)
        return Decisions(
            rows(self.observations), rows(self.hidden), rows(self.masks),
            rows(self.actions), rows(self.logs), gained, gained + values,
        )  # fmt: skip
