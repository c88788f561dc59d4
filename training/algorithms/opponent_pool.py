"""Opponents of a learner in self-play: fixed agents, and earlier selves that join on the way."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from ...agents.base import Agent, agent_key, decision_streams
from ...agents.calls import Named
from ...agents.registry import make_agent
from ...common.typing import Arrays
from ...envs.mixed import MixedSelfPlayEnv
from ...envs.opponents import PendingDecisions, query_opponent
from ...envs.self_play import SelfPlayEnv
from ..rollout.backends import Array, Side
from ..rollout.kernels import ActionSampling, place_actions, sample_actions, show_actions
from ..rollout.networks import Network
from ..rollout.rollout_buffer import RolloutBuffer
from ..rollout.tensor_state import of_tensors, tensors_in
from .settings import PPOSettings

NOBODY = 2
"""The seat of the opponent in a game where the learner plays both."""


class OpponentPool:
    """Opponents that play one seat in a share of the games, one of them in each iteration."""

    def __init__(
        self, settings: PPOSettings, games: MixedSelfPlayEnv, network: Network, side: Side
    ) -> None:
        self._settings, self._games, self._side = settings, games, side
        self.agents: list[Sequence[Agent]] = [
            [Named(make_agent(name, each.rules)) for each in settings.all_options]
            for name in settings.opponents
        ]
        """Fixed opponents, each with an agent for each rule set."""
        self.snapshots: list[dict[str, Tensor]] = []
        """Weights of earlier selves."""
        self.snapshot: Network = copy.deepcopy(network).requires_grad_(False)
        """The earlier self that plays now, if no agent does."""
        self.current: Sequence[Agent] | None = None
        """The agents that play now, one for each rule set."""
        self.seats: Array = np.full(games.num_envs, NOBODY, np.uint8)
        """The opponent's seat in each game, or `NOBODY`."""

    @property
    def n_games(self) -> int:
        """Games in which an opponent plays; none as long as there is nobody."""
        if not self.agents and not self.snapshots:
            return 0
        return sum(self._shared(games) for games, _ in self._games.parts())

    def _shared(self, games: SelfPlayEnv) -> int:
        """In how many games of a rule set an opponent plays: the first of them."""
        return int(self._settings.pool_fraction * games.num_envs)

    def draw(self, rng: np.random.Generator) -> None:
        """Draw the opponent of an iteration, and give it seat 1 and 0 of its games in turn."""
        self.seats = np.full(self._games.num_envs, NOBODY, np.uint8)
        self.current = None
        if not self.n_games:
            return
        for games, span in self._games.parts():
            stop = span.start + self._shared(games)
            self.seats[span.start : stop] = 0
            self.seats[span.start : stop : 2] = 1
        drawn = int(rng.integers(len(self.agents) + len(self.snapshots)))
        if drawn >= len(self.agents):
            self.snapshot.load_state_dict(self.snapshots[drawn - len(self.agents)])
            return
        self.current = self.agents[drawn]
        # What an agent remembers is of games that others have gone on with.
        for agent, (games, _) in zip(self.current, self._games.parts(), strict=True):
            agent.reset(games.batch.all_games[: self._shared(games)].copy())

    def reset_notifications(self) -> None:
        """Tell agents of their hands that the last step began."""
        for agent, (games, span) in zip(self.current or (), self._games.parts(), strict=False):
            begun = games.new_hands
            agent.reset(begun[self.seats[span][begun] != NOBODY].copy())

    def replace_actions(self, buffer: RolloutBuffer, step: int, rng: np.random.Generator) -> None:
        """Overwrite the learner's actions where the opponent is to move."""
        if not self.n_games:
            return
        if self.current is None:
            self._replace_by_snapshot(buffer, step, rng)
            return
        side = self._side
        for agent, (games, span) in zip(self.current, self._games.parts(), strict=True):
            where = side.where(~buffer.is_learner[step, span])
            if len(where):
                actions = actions_of(agent, games, side.tensor(where).cpu().numpy())
                place_actions(actions, side.tensor(buffer.shown[span][where]).cpu().numpy())
                buffer.actions[step, span][where] = side.put(actions)

    def _replace_by_snapshot(
        self, buffer: RolloutBuffer, step: int, rng: np.random.Generator
    ) -> None:
        side = self._side
        where = side.where(~buffer.is_learner[step])
        count = len(where)
        if not count:
            return
        with side.autocast():
            observations = side.tensor(buffer.at(step)[0][where])
            logits = self.snapshot.logits(observations.float())
        actions, log_probs = side.zeros(count, np.int64), side.zeros(count, np.float32)
        side.place.run_rows(
            count, sample_actions,
            ActionSampling(side.own(logits), buffer.action_masks[step][where],
                           side.chances(rng, count), actions, log_probs),
        )  # fmt: skip
        buffer.actions[step, where] = actions

    def add(self, network: Network, rng: np.random.Generator) -> int | None:
        """Add an earlier self; the place of the one to remove, if there are too many now.

        The newest is never removed. Several ranks have to agree on the place.
        """
        weights = {name: each.clone() for name, each in network.state_dict().items()}
        self.snapshots.append(weights)
        if len(self.snapshots) <= self._settings.pool_size:
            return None
        return int(rng.integers(len(self.snapshots) - 1))

    def state(self) -> Arrays:
        """Weights of all earlier selves."""
        arrays: Arrays = {}
        for place, weights in enumerate(self.snapshots):
            arrays |= of_tensors(f"pool.{place}.", weights)
        return arrays

    def restore(self, arrays: Mapping[str, Array], size: int) -> None:
        """Go on with so many earlier selves of a `state`."""
        self.snapshots = [tensors_in(arrays, f"pool.{place}.") for place in range(size)]


def actions_of(agent: Agent, games: SelfPlayEnv, where: Array) -> Array:
    """An agent's actions in some games, as they are shown there."""
    batch = games.batch.on_host()
    views = batch.views(batch.turns())[where]
    rng = decision_streams(agent_key(batch.seed), batch.records["number"][where], views)
    actions = query_opponent(batch, agent, PendingDecisions(where, views, rng))
    show_actions(actions, batch.suit_orders[where])
    return actions
