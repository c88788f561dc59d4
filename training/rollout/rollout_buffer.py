"""Rollout buffer of self-play, and the decisions in it as samples for PPO."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from ...agents.checkpoints.schema import HIDDEN_CARDS_SIZE
from ...agents.networks.relative_ranks import InputRows, gather_rows
from ...engine.batch.results import StepResult
from .backends import Array, TrainingBackend


class RolloutSamples(NamedTuple):
    """Decisions, one row each."""

    observations: Tensor
    hidden_cards: Tensor
    """Privileged inputs of the critic; no columns if it has none."""
    action_masks: Tensor
    actions: Tensor
    old_log_probs: Tensor
    advantages: Tensor
    returns: Tensor

    def minibatch(self, rows: Tensor) -> RolloutSamples:
        # Whole rows at once: many times as fast as indexing.
        return RolloutSamples(*(tensor.index_select(0, rows) for tensor in self))


class RolloutBuffer:
    """Arrays `(n_steps, n_envs)` for one iteration, allocated once; observations as int8."""

    def __init__(
        self,
        backend: TrainingBackend,
        n_steps: int,
        n_envs: int,
        inputs: np.ndarray,
        n_actions: int,
        *,
        rule_features: np.ndarray,
        relative_ranks: bool,
        history: bool,
        oracle_critic: bool,
    ) -> None:
        """Observations are the `inputs` of each game, followed by its `rule_features`.

        Those of a `history` are its rows, one after the other.
        """
        shape, zeros = (n_steps, n_envs), backend.zeros
        n_inputs = len(inputs) + rule_features.shape[1]
        n_hidden_cards = HIDDEN_CARDS_SIZE if oracle_critic else 0
        self.env_indices: Array = backend.from_numpy(np.arange(n_envs))
        self.observations: Array = zeros((*shape, n_inputs), np.int8)
        self.observations[..., len(inputs) :] = backend.from_numpy(rule_features)
        self.hidden_cards: Array = zeros((*shape, n_hidden_cards), np.int8)
        self.action_masks: Array = zeros((*shape, n_actions), np.int8)
        # After the last step, for the value from which GAE bootstraps.
        self.next_observations: Array = backend.from_tensor(
            backend.to_tensor(self.observations[0]).clone()
        )
        self.next_hidden_cards: Array = zeros((n_envs, n_hidden_cards), np.int8)
        self.next_masks: Array = zeros((n_envs, n_actions), np.int8)
        self.env_actions: Array = zeros((n_envs, n_actions), np.int64)
        """Action of the environment for each action of the network now, -1 for none."""
        self.seats: Array = zeros(shape, np.uint8)
        self.actions: Array = zeros(shape, np.int64)
        self.log_probs: Array = zeros(shape, np.float32)
        self.values: Array = zeros(shape, np.float32)
        self.rewards: Array = zeros((*shape, 2), np.float32)
        self.dones: Array = zeros(shape, np.bool_)
        self.advantages: Array = zeros(shape, np.float32)
        self._backend, self._relative_ranks, self._history = backend, relative_ranks, history
        self._inputs = backend.batch_backend.constant(inputs)
        self._every_action = backend.from_numpy(np.arange(n_actions))

    def add_observations(self, step: int, result: StepResult) -> None:
        """Add observations and masks at a step; -1: after the last."""
        is_next = step < 0
        observations = self.next_observations if is_next else self.observations[step]
        masks = self.next_masks if is_next else self.action_masks[step]
        if self._history:
            observations[:] = result.observations.reshape(observations.shape)
            masks[:] = result.masks
            self.env_actions[:] = self._every_action
        else:
            rows = InputRows(
                observations=result.observations,
                masks=result.masks,
                inputs=self._inputs,
                relative_ranks=self._relative_ranks,
                network_inputs=observations,
                network_masks=masks,
                env_actions=self.env_actions,
            )
            self._backend.batch_backend.run_rows(len(self.env_actions), gather_rows, rows)
        if not is_next:
            self.seats[step] = result.seats

    def inputs_at(self, step: int) -> tuple[Array, Array]:
        """Observations and hidden cards at a step; -1: after the last."""
        if step < 0:
            return self.next_observations, self.next_hidden_cards
        return self.observations[step], self.hidden_cards[step]

    def samples(self, n_steps: int) -> RolloutSamples:
        """The decisions of the first steps."""
        count = n_steps * len(self.env_actions)

        def flatten(array: Array) -> Tensor:
            return self._backend.to_tensor(array[:n_steps].reshape(count, *array.shape[2:]))

        advantages, values = flatten(self.advantages), flatten(self.values)
        return RolloutSamples(
            observations=flatten(self.observations),
            hidden_cards=flatten(self.hidden_cards),
            action_masks=flatten(self.action_masks),
            actions=flatten(self.actions),
            old_log_probs=flatten(self.log_probs),
            advantages=advantages,
            returns=advantages + values,
        )
