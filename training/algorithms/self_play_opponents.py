"""Opponent pool of `ppo` and `mmd`: fixed agents, and snapshots of earlier policies."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from ...agents.base import Agent, agent_key, decision_streams
from ...agents.calls import FaultNamingAgent
from ...agents.registry import make_agent
from ...common.typing import Arrays
from ...engine.batch.batch import Batch
from ...engine.batch.step import NO_EVENT
from ...envs.opponents import OpponentGames, PendingDecisions, query_opponent
from ...envs.self_play import SelfPlayEnv
from ..rollout.backends import Array, TrainingBackend
from ..rollout.kernels import (
    ActionSampling,
    relabel_actions,
    sample_actions,
    to_network_actions,
)
from ..rollout.networks import ActorCritic
from ..rollout.rollout_buffer import RolloutBuffer
from ..rollout.tensor_state import module_arrays, module_tensors
from .settings import PPOSettings

NO_SEAT = 2
"""The opponent's seat in a game where the learner plays both."""


class SelfPlayOpponents:
    """Opponents that play one seat in a fraction of the games, one of them in each iteration."""

    def __init__(
        self,
        settings: PPOSettings,
        games: SelfPlayEnv,
        network: ActorCritic,
        backend: TrainingBackend,
    ) -> None:
        self._settings, self._games, self._backend = settings, games, backend
        self.agents: list[Sequence[Agent]] = [
            [FaultNamingAgent(make_agent(name, option.rules)) for option in settings.all_options]
            for name in settings.opponents
        ]
        """Fixed opponents, each with an agent for each rule set."""
        self.snapshots: list[dict[str, Tensor]] = []
        """Weights of earlier policies."""
        self.snapshot: ActorCritic = copy.deepcopy(network).requires_grad_(False)
        """The earlier policy that plays now, if no agent does."""
        self.current: Sequence[Agent] | None = None
        """The agents that play now, one for each rule set."""
        self.seats: Array = np.full(games.num_envs, NO_SEAT, np.uint8)
        """The opponent's seat in each game, or `NO_SEAT`."""

    @property
    def n_games(self) -> int:
        """Number of games with an opponent; 0 as long as the pool is empty."""
        if not self.agents and not self.snapshots:
            return 0
        return sum(self._n_games_of(batch) for batch, _ in self._games.parts)

    def _n_games_of(self, batch: Batch) -> int:
        """Number of games of a rule set with an opponent: the first ones."""
        return int(self._settings.pool_fraction * batch.n)

    def sample_opponent(self, rng: np.random.Generator) -> None:
        """Draw the opponent of an iteration, and give it seat 1 and 0 of its games in turn."""
        self.seats = np.full(self._games.num_envs, NO_SEAT, np.uint8)
        self.current = None
        if not self.n_games:
            return
        for batch, span in self._games.parts:
            stop = span.start + self._n_games_of(batch)
            self.seats[span.start : stop] = 0
            self.seats[span.start : stop : 2] = 1
        index = int(rng.integers(len(self.agents) + len(self.snapshots)))
        if index >= len(self.agents):
            self.snapshot.load_state_dict(self.snapshots[index - len(self.agents)])
            return
        self.current = self.agents[index]
        # Since an agent last played, another opponent has played on in these games.
        for agent, (batch, _) in zip(self.current, self._games.parts, strict=True):
            agent.reset(batch.all_games[: self._n_games_of(batch)].copy())

    def notify_resets(self) -> None:
        """Reset agents in the games where the last step began a hand."""
        for agent, (batch, span) in zip(self.current or (), self._games.parts, strict=False):
            is_new = batch.backend.to_host(batch.events) != NO_EVENT
            agent.reset(np.flatnonzero(is_new & (self.seats[span] != NO_SEAT)).copy())

    def replace_actions(self, buffer: RolloutBuffer, step: int, rng: np.random.Generator) -> None:
        """Overwrite the learner's actions where the opponent is to move."""
        if not self.n_games:
            return
        if self.current is None:
            self._replace_by_snapshot(buffer, step, rng)
            return
        backend = self._backend
        for agent, (batch, span) in zip(self.current, self._games.parts, strict=True):
            rows = backend.nonzero(~buffer.is_learner[step, span])
            if len(rows):
                actions = env_actions_of(agent, batch, backend.to_tensor(rows).cpu().numpy())
                env_actions = backend.to_tensor(buffer.env_actions[span][rows])
                to_network_actions(actions, env_actions.cpu().numpy())
                buffer.actions[step, span][rows] = backend.from_numpy(actions)

    def _replace_by_snapshot(
        self, buffer: RolloutBuffer, step: int, rng: np.random.Generator
    ) -> None:
        backend = self._backend
        rows = backend.nonzero(~buffer.is_learner[step])
        count = len(rows)
        if not count:
            return
        with backend.autocast():
            observations = backend.to_tensor(buffer.inputs_at(step)[0][rows])
            logits = self.snapshot.logits(observations.float())
        actions, log_probs = backend.zeros(count, np.int64), backend.zeros(count, np.float32)
        sampling = ActionSampling(
            backend.from_tensor(logits),
            buffer.action_masks[step][rows],
            backend.uniforms(rng, count),
            actions,
            log_probs,
        )
        backend.batch_backend.run_rows(count, sample_actions, sampling)
        buffer.actions[step, rows] = actions

    def add(self, network: ActorCritic, rng: np.random.Generator) -> None:
        """Add a snapshot; if there are too many, remove one that is not the newest."""
        weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        self.snapshots.append(weights)
        if len(self.snapshots) > self._settings.pool_size:
            del self.snapshots[int(rng.integers(len(self.snapshots) - 1))]

    def state(self) -> Arrays:
        """Weights of all snapshots."""
        arrays: Arrays = {}
        for index, weights in enumerate(self.snapshots):
            arrays |= module_arrays(f"pool.{index}.", weights)
        return arrays

    def restore(self, arrays: Mapping[str, Array], size: int) -> None:
        """Restore `size` snapshots of a `state`."""
        self.snapshots = [module_tensors(arrays, f"pool.{index}.") for index in range(size)]


def env_actions_of(agent: Agent, batch: Batch, rows: Array) -> Array:
    """Actions of an agent in some games, as the environment takes them."""
    batch = batch.on_host()
    views = batch.views(batch.turns())[rows]
    rng = decision_streams(agent_key(batch.seed), batch.games["number"][rows], views)
    # The agent plays in no other games.
    opponent = OpponentGames(agent, 0, rows)
    actions = query_opponent(batch, opponent, PendingDecisions(rows, views, rng))
    relabel_actions(actions, batch.suit_orders[rows])
    return actions
