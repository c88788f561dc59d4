"""Collection of rollouts by self-play: many games in lockstep, both seats by one network."""

from __future__ import annotations

import numpy as np
import torch

from ...agents.checkpoints.input_names import input_names
from ...agents.checkpoints.schema import HIDDEN_CARDS_SIZE, NetworkCard
from ...agents.networks.custom_network import CustomNetwork, network_of_card, observation_of
from ...engine.batch.results import StepResult
from ...engine.observation.rule_features import RULE_SPEC
from ...envs.self_play import SelfPlayEnv
from ..rollout.backends import Array, TrainingBackend
from ..rollout.input_features import features_of, inputs_of_all
from ..rollout.kernels import (
    GAE,
    ActionSampling,
    HiddenCards,
    estimate_advantages,
    sample_actions,
    write_hidden_cards,
)
from ..rollout.networks import ActorCritic, card_of_module
from ..rollout.rollout_buffer import RolloutBuffer
from .settings import PPOSettings


class SelfPlayCollector:
    """Games, and the rollout buffer that they fill."""

    def __init__(self, settings: PPOSettings, n_envs: int, backend: TrainingBackend) -> None:
        self.settings, self.backend, self.n_envs = settings, backend, n_envs
        options, relative_ranks = settings.all_options, settings.card_ranks == "relative"
        observation = observation_of(settings.network) if settings.network else "vector"
        self.games = SelfPlayEnv(
            n_envs,
            [option.rules for option in options],
            reward=settings.reward,
            suit_order=settings.suit_order,
            horizon=settings.horizon,
            observation=observation,
            copy=False,
            device=backend.games_device,
        )
        if observation == "history":
            relative_ranks = False
            rows, columns = self.games.single_observation_space.shape
            self.inputs = np.arange(rows * columns)
        else:
            self.inputs = inputs_of_all(options, relative_ranks)
        self.features = features_of(options)
        scales = np.ones((n_envs, 1), np.float32)
        for (_, span), option in zip(self.games.parts, options, strict=True):
            scales[span] = settings.reward_scale or max(1.0, 0.4 * option.max_loss)
        self.reward_scales: Array = backend.from_numpy(scales)
        self._rules = [backend.batch_backend.constant(option.rules_array) for option in options]
        self.n_steps = settings.n_steps or settings.episode
        self.buffer = RolloutBuffer(
            backend,
            self.n_steps,
            n_envs,
            self.inputs,
            self.games.actions,
            rule_features=self.games.rule_features[:, self.features],
            relative_ranks=relative_ranks,
            history=observation == "history",
            oracle_critic=settings.critic == "oracle",
        )

    def make_network(self) -> ActorCritic | CustomNetwork:
        """New network for the observations of these games."""
        settings = self.settings
        if settings.network:
            rules, actions = settings.options.rules, self.games.actions
            own = network_of_card(self.network_card(), rules, actions, settings.seed)
            return own.to(self.backend.device)
        network = ActorCritic(
            len(self.inputs) + len(self.features),
            self.games.actions,
            HIDDEN_CARDS_SIZE if settings.critic == "oracle" else 0,
            hidden_sizes=settings.hidden_sizes,
            shared_critic=settings.critic == "shared",
            generator=torch.Generator().manual_seed(settings.seed),
        )
        return network.to(self.backend.device)

    def network_card(self) -> NetworkCard:
        """Inputs and architecture of the network, for a checkpoint's card."""
        settings = self.settings
        if settings.network:
            return card_of_module(settings, self.inputs, settings.card_ranks, settings.critic)
        return NetworkCard(
            kind="mlp",
            inputs=input_names(self.inputs),
            rule_features=input_names(self.features, RULE_SPEC),
            hidden_sizes=settings.hidden_sizes,
            card_ranks=settings.card_ranks,
            critic=settings.critic,
        )

    @torch.no_grad()
    def collect(
        self, network: ActorCritic | CustomNetwork, n_steps: int, rng: np.random.Generator
    ) -> tuple[int, int]:
        """Fill the buffer with `n_steps` steps of all games, and estimate advantages.

        Returns the number of hands and of decisions.
        """
        buffer, backend = self.buffer, self.backend
        result = backend.from_games(self.games.observe())
        for step in range(n_steps):
            self.add_observations(step, result)
            logits, buffer.values[step] = self.evaluate(network, step)
            sampling = ActionSampling(
                logits,
                buffer.action_masks[step],
                backend.uniforms(rng, self.n_envs),
                buffer.actions[step],
                buffer.log_probs[step],
            )
            backend.batch_backend.run_rows(self.n_envs, sample_actions, sampling)
            env_actions = buffer.env_actions[buffer.env_indices, buffer.actions[step]]
            result = backend.from_games(self.games.step(env_actions))
            buffer.rewards[step], buffer.dones[step] = result.rewards, result.ended
        self._estimate_advantages(network, n_steps, result)
        return int(buffer.dones[:n_steps].sum()), n_steps * self.n_envs

    def _estimate_advantages(
        self, network: ActorCritic | CustomNetwork, n_steps: int, result: StepResult
    ) -> None:
        buffer, settings = self.buffer, self.settings
        if buffer.dones[n_steps - 1].all():
            next_values = self.backend.zeros(self.n_envs, np.float32)
        else:
            self.add_observations(-1, result)
            next_values = self.evaluate(network, -1)[1]
        # Once for all steps, before they are read.
        buffer.rewards[:n_steps] /= self.reward_scales
        gae = GAE(
            seats=buffer.seats[:n_steps],
            rewards=buffer.rewards[:n_steps],
            dones=buffer.dones[:n_steps],
            values=buffer.values[:n_steps],
            next_seats=result.seats,
            next_values=next_values,
            gamma=settings.gamma,
            gae_lambda=settings.gae_lambda,
            advantages=buffer.advantages[:n_steps],
        )
        self.backend.batch_backend.run_rows(self.n_envs, estimate_advantages, gae)

    def add_observations(self, step: int, result: StepResult) -> None:
        """Add observations and the critic's hidden cards at a step; -1: after the last."""
        self.buffer.add_observations(step, result)
        if self.settings.critic != "oracle":
            return
        _, hidden_cards = self.buffer.inputs_at(step)
        for (batch, span), rules in zip(self.games.parts, self._rules, strict=True):
            cards = HiddenCards(
                rules=rules,
                records=batch.games,
                seats=result.seats[span],
                orders=batch.suit_orders,
                env_actions=self.buffer.env_actions[span],
                out=hidden_cards[span],
            )
            self.backend.batch_backend.run_rows(batch.n, write_hidden_cards, cards)

    def evaluate(self, network: ActorCritic | CustomNetwork, step: int) -> tuple[Array, Array]:
        """Logits and values of all games at a step; -1: after the last."""
        backend = self.backend
        with backend.autocast():
            inputs = map(backend.to_tensor, self.buffer.inputs_at(step))
            logits, values = network(*backend.cast(*inputs))
        return backend.from_tensor(logits), backend.from_tensor(values)
