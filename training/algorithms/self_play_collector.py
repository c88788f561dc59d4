"""Collection of rollouts by self-play: many games in lockstep, both seats by one network."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import torch

from ...agents.checkpoints.schema import HIDDEN_SIZE
from ...engine.batch.results import StepResult
from ...envs.mixed import MixedSelfPlayEnv
from ..rollout.backends import Array, Side
from ..rollout.kernels import (
    GAE,
    ActionSampling,
    HiddenCards,
    estimate_advantages,
    sample_actions,
    write_hidden,
)
from ..rollout.network_inputs import features_of, inputs_of_all
from ..rollout.networks import Network
from ..rollout.rollout_buffer import RolloutBuffer
from .opponent_pool import OpponentPool
from .settings import PPOSettings


class Collected(NamedTuple):
    """Counts of one rollout, and where its time went."""

    hands: int
    decisions: int
    """The learner's."""
    acting: float
    """Seconds in the network and opponents."""
    environment: float
    """Seconds in the games."""


class SelfPlayCollector:
    """Games, the buffer that they fill, and opponents in a share of them."""

    def __init__(self, settings: PPOSettings, n_envs: int, side: Side) -> None:
        self.settings, self.side, self.n_envs = settings, side, n_envs
        options = settings.all_options
        self.games = MixedSelfPlayEnv(
            n_envs,
            [each.rules for each in options],
            reward=settings.reward,
            layout=settings.layout,
            horizon=settings.horizon,
            copy=False,
            device=side.games,
        )
        self.inputs = inputs_of_all(options, settings.card_ranks == "relative")
        self.features = features_of(options)
        scales = np.ones((n_envs, 1), np.float32)
        for (_, span), each in zip(self.games.parts(), options, strict=True):
            scales[span] = settings.reward_scale or max(1.0, 0.4 * each.max_loss)
        self.reward_scales: Array = side.put(scales)
        self._rules = [side.place.constant(each.rules_record) for each in options]
        self.n_steps = settings.n_steps or settings.episode
        self.buffer = RolloutBuffer(
            side, self.n_steps, n_envs, self.inputs, self.games.actions,
            rule_features=self.games.rule_features[:, self.features],
            closed=settings.card_ranks == "relative", oracle=settings.critic == "oracle",
        )  # fmt: skip

    def make_network(self) -> Network:
        """A network for what these games show, with fresh weights."""
        settings = self.settings
        critic_inputs = {"shared": None, "separate": 0, "oracle": HIDDEN_SIZE}[settings.critic]
        rng = torch.Generator().manual_seed(settings.seed)
        size = len(self.inputs) + len(self.features)
        network = Network(size, settings.hidden_sizes, self.games.actions, critic_inputs, rng)
        return network.to(self.side.device)

    @torch.no_grad()
    def collect(
        self, network: Network, pool: OpponentPool, n_steps: int, rng: np.random.Generator
    ) -> Collected:
        """Fill the buffer with so many steps of all games, and estimate their advantages."""
        buffer, side, clock = self.buffer, self.side, time.perf_counter
        acting = environment = 0.0
        began = clock()
        pool.draw(rng)
        opponent_seats = side.put(pool.seats)
        now = side.seen(self.games.observe())
        for step in range(n_steps):
            self.add_observations(step, now)
            buffer.is_learner[step] = now.seats != opponent_seats
            observed = clock()
            logits, buffer.values[step] = self.evaluate(network, step)
            side.place.run_rows(
                self.n_envs, sample_actions,
                ActionSampling(logits, buffer.action_masks[step], side.chances(rng, self.n_envs),
                               buffer.actions[step], buffer.log_probs[step]),
            )  # fmt: skip
            pool.replace_actions(buffer, step, rng)
            acted = clock()
            now = side.seen(self.games.step(buffer.shown[buffer.all, buffer.actions[step]]))
            pool.reset_notifications()
            buffer.rewards[step], buffer.ended[step] = now.rewards, now.ended
            stepped = clock()
            acting += acted - observed
            environment += observed - began + stepped - acted
            began = stepped
        self._estimate_advantages(network, n_steps, now)
        hands, decisions = buffer.ended[:n_steps].sum(), buffer.is_learner[:n_steps].sum()
        return Collected(int(hands), int(decisions), acting, environment)

    def _estimate_advantages(self, network: Network, n_steps: int, now: StepResult) -> None:
        buffer, settings = self.buffer, self.settings
        if buffer.ended[n_steps - 1].all():
            next_values = self.side.zeros(self.n_envs, np.float32)
        else:
            self.add_observations(-1, now)
            next_values = self.evaluate(network, -1)[1]
        # Once for all steps, before anybody reads them.
        buffer.rewards[:n_steps] /= self.reward_scales
        gae = GAE(
            buffer.seats[:n_steps], buffer.rewards[:n_steps], buffer.ended[:n_steps],
            buffer.values[:n_steps], now.seats, next_values,
            settings.gamma, settings.gae_lambda, buffer.advantages[:n_steps],
        )  # fmt: skip
        self.side.place.run_rows(self.n_envs, estimate_advantages, gae)

    def add_observations(self, step: int, now: StepResult) -> None:
        """Keep what is seen at a step, and what the critic sees beyond it; -1 after the last."""
        self.buffer.add_observations(step, now)
        if self.settings.critic != "oracle":
            return
        _, hidden = self.buffer.at(step)
        for (games, span), rules in zip(self.games.parts(), self._rules, strict=True):
            batch, shown = games.batch, self.buffer.shown[span]
            cards = HiddenCards(
                rules, batch.records, now.seats[span], batch.suit_orders, shown, hidden[span]
            )
            self.side.place.run_rows(games.num_envs, write_hidden, cards)

    def evaluate(self, network: Network, step: int) -> tuple[Array, Array]:
        """Logits and values of all games at a step; -1 after the last."""
        side = self.side
        with side.autocast():
            logits, values = network(*side.floats(*map(side.tensor, self.buffer.at(step))))
        return side.own(logits), side.own(values)
