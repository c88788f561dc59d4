"""What was played in one iteration of the trainer, and as rows to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..agents.card import HIDDEN_SIZE
from ..agents.closing import gather
from ..engine.history import HISTORY_COLUMNS
from ..envs.self_play import Round

Array = np.ndarray[Any, Any]


@dataclass
class Decisions:
    """Decisions to learn from, one row each."""

    x: Tensor
    events: Tensor
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
            for tensor in (self.x, self.events, self.hidden, self.masks, self.actions,
                           self.logs, self.advantages, self.returns)
        ))  # fmt: skip


class Buffers:
    """Room for the decisions of one iteration: `(steps, games)` rows, observations as int8."""

    def __init__(
        self, steps: int, games: int, inputs: Array, actions: int, *, told: Array, closed: bool,
        oracle: bool, events: int,
    ) -> None:  # fmt: skip
        """`told` is what stands behind the inputs of each game: features of its rules."""
        shape, seen = (steps, games), len(inputs) + told.shape[1]
        self.all = np.arange(games)
        self.observations = np.zeros((*shape, seen), np.int8)
        self.observations[..., len(inputs) :] = told
        self.events = np.zeros((*shape, events, HISTORY_COLUMNS), np.int8)
        self.hidden = np.zeros((*shape, HIDDEN_SIZE if oracle else 0), np.int8)
        self.beyond = self.observations[0].copy()
        self.beyond_events = np.zeros((games, events, HISTORY_COLUMNS), np.int8)
        self.beyond_hidden = np.zeros((games, HIDDEN_SIZE if oracle else 0), np.int8)
        self.beyond_masks = np.zeros((games, actions), np.int8)
        self.masks = np.zeros((*shape, actions), np.int8)
        self.shown = np.zeros((games, actions), np.int64)
        """The action that stands in each of the network's places now, -1 for none."""
        self.seats = np.zeros(shape, np.uint8)
        self.learns = np.ones(shape, np.bool_)
        self.actions = np.zeros(shape, np.int64)
        self.logs = np.zeros(shape, np.float32)
        self.values = np.zeros(shape, np.float32)
        self.rewards = np.zeros((*shape, 2), np.float32)
        self.ended = np.zeros(shape, np.bool_)
        self.advantages = np.zeros(shape, np.float32)
        self._inputs, self._closed = inputs, closed

    def take(self, step: int, now: Round) -> None:
        """Keep what is seen at a step; -1 for what lies beyond the last."""
        beyond = step < 0
        gather(
            now.observations, now.masks, self._inputs, self._closed,
            self.beyond if beyond else self.observations[step],
            self.beyond_masks if beyond else self.masks[step],
            self.shown,
        )  # fmt: skip
        if not beyond:
            self.seats[step] = now.seats

    def at(self, step: int) -> tuple[Array, Array, Array]:
        """What is seen, now and in order, and what is not at a step; -1 beyond the last."""
        if step < 0:
            return self.beyond, self.beyond_events, self.beyond_hidden
        return self.observations[step], self.events[step], self.hidden[step]

    def decisions(self, steps: int, device: torch.device) -> Decisions:
        """The learner's decisions of so many steps as rows on the device."""
        learns = self.learns[:steps]
        where = None if learns.all() else np.flatnonzero(learns)

        def rows(array: Array) -> Tensor:
            flat = array[:steps].reshape(learns.size, *array.shape[2:])
            return torch.from_numpy(flat if where is None else flat[where]).to(device)

        gained, values = rows(self.advantages), rows(self.values)
        return Decisions(
            rows(self.observations), rows(self.events), rows(self.hidden), rows(self.masks),
            rows(self.actions), rows(self.logs), gained, gained + values,
        )  # fmt: skip
