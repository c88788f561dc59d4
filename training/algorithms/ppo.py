"""Proximal policy optimization (PPO) by self-play, both seats learning.

Schulman, Wolski, Dhariwal, Radford and Klimov 2017, "Proximal policy optimization algorithms",
arXiv:1707.06347. Many games run in lockstep. One network plays both seats of each
(`SelfPlayCollector`) and learns from every decision; advantages are estimated by GAE
(`training/rollout/kernels.py`). Rewards come at the end of an episode: by default the exact value
of the endgame. The critic sees all cards by default (an asymmetric actor-critic: Pinto and others
2018, arXiv:1710.06542). Checkpoints hold an exponential moving average (EMA) of the weights. Read
it from top to bottom, beginning at `PPO.iterate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...agents.checkpoints.schema import NetworkCard
from ...agents.networks.custom_network import CustomNetwork
from ...common.jit.compiler import warm_up
from ...common.schema import convert
from ...common.settings import SettingsDoNotFit
from ...common.typing import Arrays, JsonObject
from ..distributed import SINGLE_RANK, Ranks
from ..rollout.backends import Array, make_backend
from ..rollout.networks import ActorCritic, frozen_copy, load_weights, move_towards, weights_of
from ..rollout.optimizer import Adam
from ..rollout.rollout_buffer import RolloutSamples
from ..rollout.tensor_state import (
    module_arrays,
    optimizer_arrays,
    restore_module,
    restore_optimizer,
    with_prefix,
)
from .base import Trainer, TrainerState, torch_device
from .self_play_collector import SelfPlayCollector
from .settings import PPOSettings

# Not -inf: minus infinity times a probability of zero is NaN.
_ILLEGAL_LOGIT = -1e9
# Rows of one forward pass of a reference policy, so that its activations stay small.
_REFERENCE_ROWS = 8192


class PPOState(TrainerState):
    """Plain values of a saved state."""

    rng: JsonObject
    """State of NumPy's generator."""


class PPO(Trainer):
    """Network, its EMA, optimizer, games and generator."""

    settings_kind = PPOSettings
    several_ranks = True

    def __init__(
        self, settings: PPOSettings, device: str = "cpu", ranks: Ranks = SINGLE_RANK
    ) -> None:
        super().__init__(settings)
        self.ranks = ranks
        """Processes that train together (`data_parallel.py`); one by default."""
        self.backend = make_backend(device, settings.precision)
        self.collector = SelfPlayCollector(settings, settings.n_envs, self.backend)
        self.games = self.collector.games
        self.reset_games(settings.seed)
        self.network = self.collector.make_network()
        self.ema_network = frozen_copy(self.network)
        critic_params = self.network.critic_parameters()
        if not critic_params and (settings.critic_warmup or settings.critic_lr_scale != 1):
            raise SettingsDoNotFit(
                f"critic_warmup and critic_lr_scale need to know the critic: {settings.network} "
                "has no method critic_parameters that returns its parameters"
            )
        of_critic = {id(param) for param in critic_params}
        self._actor_params = [
            param for param in self.network.parameters() if id(param) not in of_critic
        ]
        self.optimizer = Adam(
            [
                {"params": params, "lr_scale": scale}
                for params, scale in (
                    (self._actor_params, 1.0),
                    (critic_params, settings.critic_lr_scale),
                )
                if params
            ],
            lr=settings.learning_rate,
            eps=1e-5,
            on_gpu=self.backend.device.type == "cuda",
        )
        self._learn = self._make_update()
        if device == "cpu":
            warm_up("trainer", "training", _compile_all, seconds=2)

    @classmethod
    def from_settings(cls, settings: PPOSettings, ranks: Ranks = SINGLE_RANK) -> PPO:
        return cls(settings, torch_device(settings, games=True), ranks)

    def _make_update(self) -> Callable[..., dict[str, Tensor]]:
        # Ranks exchange gradients, which a graph cannot capture, and nobody knows what a network of
        # one's own does.
        if self.ranks.is_only and not self.settings.network:
            return self.backend.as_graph(self._update_minibatch)
        return self._update_minibatch

    def reset_games(self, seed: int) -> None:
        """Deal every game, and seed the generator."""
        self.rng = np.random.default_rng(seed)
        self.games.reset(seed)

    # -- one iteration

    def iterate(self) -> dict[str, float]:
        """Collect a rollout, and update the network from it; the last may be cut short."""
        before = self.decisions
        n_steps = self._n_steps()
        hands, decisions = self.collector.collect(self.network, n_steps, self.rng)
        samples = self.collector.buffer.samples(n_steps)
        metrics = self.update(samples, before / self.settings.decisions)
        self.hands += hands
        self.decisions += decisions
        metrics["hands"] = float(hands)
        self._check_finite(metrics)
        return metrics if n_steps == self.collector.n_steps else {}

    def _n_steps(self) -> int:
        """Steps of this iteration: fewer in the last, so that the budget is met closely."""
        settings = self.settings
        remaining = math.ceil((settings.decisions - self.decisions) / settings.n_envs)
        return min(self.collector.n_steps, remaining) if remaining > 0 else self.collector.n_steps

    def update(self, samples: RolloutSamples, progress: float) -> dict[str, float]:
        """Train for `n_epochs` on samples; `progress` is the fraction of the budget spent."""
        settings = self.settings
        lr = _linear_schedule(settings.learning_rate, settings.learning_rate_end, progress)
        ent_coef = _linear_schedule(settings.ent_coef, settings.ent_coef_end, progress)
        schedules = {"learning_rate": lr, "ent_coef": ent_coef}
        self.optimizer.set_learning_rate(lr)
        n_samples = len(samples.actions)
        # At least two samples in each, or there is no standard deviation of advantages.
        n_minibatches = max(1, round(n_samples / settings.batch_size))
        n_minibatches = self.ranks.minimum(min(n_minibatches, n_samples // 2))
        if not n_minibatches:
            return schedules
        ref_log_probs = self._ref_log_probs(samples)
        # At first only the critic learns: a new critic would spoil a policy from `init`.
        critic_only = progress < settings.critic_warmup
        weight = self.backend.scalar(ent_coef)
        updates: list[dict[str, Tensor]] = []
        for _ in range(settings.n_epochs):
            permutation = self.backend.permutation(self.rng, n_samples)
            for rows in torch.tensor_split(permutation, n_minibatches):
                reference = None if ref_log_probs is None else ref_log_probs[rows]
                minibatch = samples.minibatch(rows)
                updates.append(self._learn(minibatch, weight, reference, critic_only))
        return {**_mean_metrics(updates, samples.returns), **schedules}

    def _update_minibatch(
        self,
        batch: RolloutSamples,
        ent_coef: float,
        ref_log_probs: Tensor | None,
        critic_only: bool,
    ) -> dict[str, Tensor]:
        """Take one step of the optimizer on a minibatch; returns its metrics."""
        network = self.network
        loss, metrics = self._loss(batch, ent_coef, ref_log_probs)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.ranks.average_gradients(network.parameters())
        if critic_only:
            for param in self._actor_params:
                param.grad = None
        grad_norm = nn.utils.clip_grad_norm_(network.parameters(), self.settings.max_grad_norm)
        self.optimizer.step()
        self._update_ema()
        return {**metrics, "grad_norm": grad_norm}

    def _loss(
        self, batch: RolloutSamples, ent_coef: float, ref_log_probs: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Clipped policy loss, value loss and entropy bonus of a minibatch, and its metrics."""
        settings = self.settings
        logits, values = self._evaluate(batch)
        log_probs = masked_log_softmax(logits, batch.action_masks)
        new_log_probs = log_probs.gather(1, batch.actions[:, None]).squeeze(1)
        log_ratio = new_log_probs - batch.old_log_probs
        ratio = log_ratio.exp()
        advantages = batch.advantages
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        clipped_ratio = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
        policy_loss = -torch.min(ratio * advantages, clipped_ratio * advantages).mean()
        value_loss = functional.mse_loss(values, batch.returns)
        probs = log_probs.exp()
        entropy = mean_entropy(probs, log_probs)
        loss = policy_loss + settings.vf_coef * value_loss - ent_coef * entropy
        if ref_log_probs is not None:
            loss = loss + settings.kl_coef * mean_kl(probs, log_probs, ref_log_probs)
        with torch.no_grad():
            metrics = {
                "policy_loss": policy_loss.detach(),
                "value_loss": value_loss.detach(),
                "entropy": entropy.detach(),
                # The estimator k3 of http://joschu.net/blog/kl-approx.html: never negative.
                "approx_kl": ((ratio - 1) - log_ratio).mean(),
                "clip_fraction": ((ratio - 1).abs() > settings.clip_range).float().mean(),
            }
        return loss, metrics

    def _evaluate(self, batch: RolloutSamples) -> tuple[Tensor, Tensor]:
        with self.backend.autocast():
            return self.network(*self.backend.cast(batch.observations, batch.hidden_cards))

    def _ref_log_probs(self, samples: RolloutSamples) -> Tensor | None:
        """Log probabilities of the reference policy of the KL term, if there is one: the EMA's."""
        return self.log_probs(self.ema_network, samples) if self.settings.kl_coef else None

    @torch.no_grad()
    def log_probs(self, network: ActorCritic | CustomNetwork, samples: RolloutSamples) -> Tensor:
        """Log probabilities of all actions by a network."""
        chunks = []
        indices = torch.arange(len(samples.actions), device=self.backend.device)
        for rows in indices.split(_REFERENCE_ROWS):
            with self.backend.autocast():
                logits = network(samples.observations[rows].float())[0]
            chunks.append(masked_log_softmax(logits, samples.action_masks[rows]))
        return torch.cat(chunks)

    def _update_ema(self) -> None:
        move_towards(self.ema_network, self.network, 1 - self.settings.ema_decay)

    def _check_finite(self, metrics: Mapping[str, float]) -> None:
        """Stop at NaN, before it is saved in a state or a checkpoint."""
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise ArithmeticError(f"{name} became {value} after {self.decisions:,} decisions")
        for name, param in self.network.named_parameters():
            if not bool(param.isfinite().all()):
                raise ArithmeticError(
                    f"weights of {name} became NaN or infinite after {self.decisions:,} decisions"
                )

    # -- checkpoints

    def policy_weights(self) -> dict[str, Array]:
        """EMA weights of policy and critic."""
        return weights_of(self.ema_network)

    def load_weights(self, weights: Mapping[str, Array]) -> None:
        """Load the weights of a checkpoint; a critic that it lacks stays new."""
        for network in (self.network, self.ema_network):
            load_weights(network, weights)

    def network_card(self) -> NetworkCard:
        return self.collector.network_card()

    # -- state

    def state(self) -> tuple[Arrays, JsonObject]:
        arrays = module_arrays("network.", self.network.state_dict())
        arrays |= module_arrays("ema_network.", self.ema_network.state_dict())
        arrays |= optimizer_arrays("optimizer.", self.optimizer)
        arrays |= {f"games.{name}": array for name, array in self.games.state().items()}
        rng = dict(self.rng.bit_generator.state)
        plain = PPOState(self.decisions, self.hands, rng)
        return arrays, msgspec.to_builtins(plain)

    def restore(self, arrays: Arrays, plain: JsonObject) -> None:
        state = convert(plain, PPOState, "trainer")
        restore_module(self.network, arrays, "network.")
        restore_module(self.ema_network, arrays, "ema_network.")
        restore_optimizer(self.optimizer, arrays, "optimizer.")
        # A graph holds the addresses of the optimizer's former tensors.
        self._learn = self._make_update()
        if games := with_prefix(arrays, "games."):
            self.games.restore(games)
        self.rng.bit_generator.state = state.rng
        self.decisions, self.hands = state.decisions, state.hands


def _compile_all() -> None:
    """Train for an iteration on two games, so that nothing compiles later."""
    PPO(PPOSettings(n_envs=2, n_steps=2, hidden_sizes=(8,))).iterate()


def _linear_schedule(start: float, end: float, progress: float) -> float:
    return start + (end - start) * min(1.0, progress)


def _mean_metrics(updates: Sequence[Mapping[str, Tensor]], returns: Tensor) -> dict[str, float]:
    """Means of the metrics over all updates, and the critic's explained variance."""
    # Copied together: a copy for each update would wait for the device each time.
    table = torch.stack([torch.stack([*update.values()]) for update in updates])
    means = table.double().cpu().numpy().mean(axis=0).tolist()
    metrics = dict(zip(updates[0], means, strict=True))
    variance = float(returns.std()) ** 2
    metrics["explained_variance"] = 1 - metrics["value_loss"] / variance if variance > 0 else 0.0
    return metrics


def masked_log_softmax(logits: Tensor, action_masks: Tensor) -> Tensor:
    """Log probabilities of all actions; illegal ones have a probability of zero."""
    return torch.log_softmax(logits.masked_fill(action_masks == 0, _ILLEGAL_LOGIT), dim=1)


def mean_entropy(probs: Tensor, log_probs: Tensor) -> Tensor:
    """Mean entropy of the policy over a minibatch."""
    return -(probs * log_probs).sum(1).mean()


def mean_kl(probs: Tensor, log_probs: Tensor, ref_log_probs: Tensor) -> Tensor:
    """Mean KL(policy ‖ reference) over a minibatch."""
    # Bounded, so that no single action that the reference hardly ever plays dominates the loss.
    return (probs * (log_probs - ref_log_probs).clamp(-50, 50)).sum(1).mean()
