"""Regularized Nash dynamics (R-NaD), the algorithm of DeepNash.

Perolat, De Vylder, Hennes and others 2022, "Mastering the game of Stratego with model-free
multiagent reinforcement learning", Science 378, arXiv:2206.15378. One network plays both seats. In
place of the game's rewards it learns from

    r_i - η log(π_i(a|x) / π_reg(a|x)) + η log(π_-i(a|x) / π_reg(a|x)),

so that the policy of the transformed game converges. Then the regularization policy π_reg becomes
that fixed point, and the next transformed game begins; the fixed points approach an equilibrium.
Values and advantages of all actions are estimated by V-trace (`v_trace`), and the policy moves by
neural replicator dynamics (NeuRD, Hennes and others 2020, arXiv:1906.00190; `neurd_loss`). The
checkpoint is the target network, an exponential moving average of the weights. DeepNash's
thresholds of the final policy are left out. Read it from top to bottom, beginning at
`RNaD.iterate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from german_whist.agents.checkpoints.schema import NetworkCard
from german_whist.common.settings import (
    Fraction,
    Positive,
    PositiveInt,
    SettingsError,
    doc,
)
from german_whist.common.typing import Array
from german_whist.training.algorithms.base import Arrays, Trainer, torch_device
from german_whist.training.algorithms.ppo import masked_log_softmax, mean_entropy
from german_whist.training.algorithms.self_play_collector import SelfPlayCollector
from german_whist.training.algorithms.settings import (
    CriticSees,
    CustomNetwork,
    HiddenSizes,
    LearningRate,
    LearningRateEnd,
    NEpochs,
    NetworkOptions,
    NSteps,
    PPOSettings,
    RanksSeen,
)
from german_whist.training.given import Given, on_or_off
from german_whist.training.rollout.backends import make_backend
from german_whist.training.rollout.networks import (
    frozen_copy,
    load_weights,
    move_towards,
    weights_of,
)
from german_whist.training.rollout.optimizer import Adam
from german_whist.training.settings import Settings

_COLLECTION = (
    *("rules", "reward", "horizon", "suit_order", "seed", "decisions", "precision"),
    *("hidden_sizes", "network", "network_options", "card_ranks", "critic", "reward_scale"),
    *("n_envs", "n_steps"),
)
"""Settings that hands are collected by, as PPO collects them."""
_NETWORKS = ("network", "target_network", "reg_network", "previous_reg_network")


class RNaDSettings(Settings, frozen=True, kw_only=True):
    """R-NaD: NeuRD on rewards that keep the policy near a slowly changing regularization policy."""

    fixed: ClassVar[tuple[str, ...]] = (
        *Settings.fixed,
        *("network", "network_options", "card_ranks", "critic", "reward_scale"),
    )

    trainer: str = "r_nad"
    # Network.
    hidden_sizes: HiddenSizes = (256, 256)
    network: CustomNetwork = ""
    network_options: NetworkOptions = msgspec.field(default_factory=dict)
    card_ranks: RanksSeen = "relative"
    critic: CriticSees = "separate"
    reward_scale: Annotated[
        float,
        doc(
            "Rewards are divided by this number before learning, so `eta` "
            "applies to the divided rewards. 0: use 0.4 times the largest "
            "possible reward of an episode, and at least 1.",
            ge=0,
            le=1e6,
        ),
    ] = 0.0
    # Rollouts.
    n_envs: Annotated[int, doc("Number of games played side by side.", ge=2, le=10**12 - 1)] = 1024
    n_steps: NSteps = 0
    # Regularization.
    eta: Annotated[Positive, doc("Weight η of the regularization in the rewards.")] = 0.05
    delta_m: Annotated[
        PositiveInt,
        doc(
            "Number of gradient steps Δ_m after which the target network becomes the new "
            "regularization policy. During the first half of the next Δ_m steps, the new "
            "regularization policy gradually replaces the old one."
        ),
    ] = 400
    # Optimization.
    n_epochs: NEpochs = 1
    batch_size: Annotated[
        int,
        doc(
            "Number of decisions in a minibatch. A minibatch consists of whole games.",
            ge=2,
            le=10**12 - 1,
        ),
    ] = 1024
    learning_rate: LearningRate = 8e-3
    learning_rate_end: LearningRateEnd = 0.0
    beta: Annotated[
        Positive,
        doc(
            "Threshold β of NeuRD. If a logit is further than β from the mean of the "
            "legal logits, the update does not move it further away."
        ),
    ] = 8.0
    neurd_clip: Annotated[
        Positive,
        doc("Largest absolute advantage in the loss of NeuRD. Larger advantages are clipped."),
    ] = 15.0
    vtrace_lambda: Annotated[Fraction, doc("λ of V-trace, which computes the value targets.")] = 0.8
    ema_decay: Annotated[
        float,
        doc(
            "Decay of the target network at each gradient step. The target network is an "
            "exponential moving average (EMA) of the weights. Checkpoints hold the target "
            "network.",
            ge=0,
            lt=1,
        ),
    ] = 0.98

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.learning_rate and not self.learning_rate_end:
            raise SettingsError("learning_rate and learning_rate_end are 0: nothing is learned")
        _ = self.collection

    @cached_property
    def collection(self) -> PPOSettings:
        """Settings of the collector; it checks those of the network."""
        return PPOSettings(**{name: getattr(self, name) for name in _COLLECTION})

    @property
    def given(self) -> Given:
        ema = on_or_off(self.ema_decay)
        return msgspec.structs.replace(self.collection.given, ema=ema)

    @property
    def notes(self) -> tuple[str, ...]:
        iteration = self.collection.iteration
        if self.batch_size <= iteration:
            return ()
        return (
            f"batch_size is {self.batch_size:,}, and an iteration has {iteration:,} decisions at "
            "most: all of them are one minibatch",
        )


class Trajectories(NamedTuple):
    """Steps of games in lockstep: tensors `(n_steps, n_games, ...)`."""

    observations: Tensor
    hidden_cards: Tensor
    action_masks: Tensor
    seats: Tensor
    """The player to move."""
    actions: Tensor
    log_probs: Tensor
    """Log probability of the action when it was drawn (μ)."""
    rewards: Tensor
    """Each seat's reward of the step, `(n_steps, n_games, 2)`."""
    dones: Tensor

    def of_games(self, rows: Tensor) -> Trajectories:
        return Trajectories(*(tensor.index_select(1, rows) for tensor in self))


class RNaD(Trainer):
    """Network, target network, two regularization policies, optimizer and games."""

    settings_kind = RNaDSettings
    settings: RNaDSettings
    state_attributes = (*_NETWORKS, "optimizer", "games", "rng", "updates")

    def __init__(self, settings: RNaDSettings, device: str = "cpu") -> None:
        super().__init__(settings)
        self.backend = make_backend(device, settings.precision)
        self.collector = SelfPlayCollector(settings.collection, settings.n_envs, self.backend)
        self.games = self.collector.games
        self.games.reset(settings.seed)
        self.rng = np.random.default_rng(settings.seed)
        self.network = self.collector.make_network()
        self.target_network = frozen_copy(self.network)
        self.reg_network = frozen_copy(self.network)
        self.previous_reg_network = frozen_copy(self.network)
        # Without momentum, which would push logits beyond the threshold of NeuRD.
        params = {"params": [*self.network.parameters()], "betas": (0.0, 0.999), "lr_scale": 1.0}
        self.optimizer = Adam(
            [params],
            lr=settings.learning_rate,
            eps=1e-7,
            on_gpu=self.backend.device.type == "cuda",
        )
        self.updates = 0
        """Gradient steps so far."""

    @classmethod
    def from_settings(cls, settings: RNaDSettings) -> RNaD:
        return cls(settings, torch_device(settings, games=True))

    # -- one iteration

    def iterate(self) -> dict[str, float]:
        """Collect a rollout, and learn from it; the last may be cut short."""
        settings, collector = self.settings, self.collector
        remaining = math.ceil((settings.decisions - self.decisions) / settings.n_envs)
        n_steps = min(collector.n_steps, remaining) if remaining > 0 else collector.n_steps
        progress = min(1.0, self.decisions / settings.decisions)
        lr = settings.learning_rate
        lr += (settings.learning_rate_end - lr) * progress
        self.optimizer.set_learning_rate(lr)
        hands, decisions = collector.collect(self.network, n_steps, self.rng)
        trajectories, next_values = self._trajectories(n_steps), self._next_values(n_steps)
        n_minibatches = max(1, min(round(decisions / settings.batch_size), settings.n_envs))
        metrics: list[dict[str, Tensor]] = []
        for _ in range(settings.n_epochs):
            permutation = self.backend.permutation(self.rng, settings.n_envs)
            for rows in torch.tensor_split(permutation, n_minibatches):
                metrics.append(self._update(trajectories.of_games(rows), next_values[rows]))
        self.hands += hands
        self.decisions += decisions
        if n_steps < collector.n_steps:
            return {}
        means = {
            name: float(torch.stack([each[name] for each in metrics]).mean()) for name in metrics[0]
        }
        return {**means, "learning_rate": lr, "hands": float(hands)}

    def _trajectories(self, n_steps: int) -> Trajectories:
        buffer = self.collector.buffer

        def steps(array: Array) -> Tensor:
            return self.backend.to_tensor(array[:n_steps])

        return Trajectories(
            observations=steps(buffer.observations),
            hidden_cards=steps(buffer.hidden_cards),
            action_masks=steps(buffer.action_masks),
            seats=steps(buffer.seats).long(),
            actions=steps(buffer.actions),
            log_probs=steps(buffer.log_probs),
            rewards=steps(buffer.rewards),
            dones=steps(buffer.dones),
        )

    def _next_values(self, n_steps: int) -> Tensor:
        """`(n_games, 2)`: what each seat expects after the last step, where its episode goes on."""
        buffer = self.collector.buffer
        values = torch.zeros((self.settings.n_envs, 2), device=self.backend.device)
        if buffer.dones[n_steps - 1].all():
            return values
        seats = self.backend.to_tensor(self.backend.from_games(self.games.observe()).seats).long()
        mover_values = self.backend.to_tensor(self.collector.evaluate(self.target_network, -1)[1])
        # The game is zero-sum.
        values[:] = -mover_values[:, None]
        return values.scatter_(1, seats[:, None], mover_values[:, None])

    def _update(self, steps: Trajectories, next_values: Tensor) -> dict[str, Tensor]:
        """Take one step of the optimizer on the steps of some games; returns its metrics."""
        settings = self.settings
        masks = steps.action_masks != 0
        logits, values = self._evaluate(self.network, steps)
        log_probs = _log_probs(logits, masks)
        with torch.no_grad():
            _, target_values = self._evaluate(self.target_network, steps)
            log_ratios = log_probs - self._reg_log_probs(steps, masks)
            value_targets, q_values = v_trace(
                steps,
                target_values,
                next_values,
                log_probs,
                log_ratios.masked_fill(~masks, 0.0),
                eta=settings.eta,
                vtrace_lambda=settings.vtrace_lambda,
            )
        policy_loss = neurd_loss(
            logits, log_probs, q_values, masks, beta=settings.beta, clip=settings.neurd_clip
        )
        value_loss = functional.mse_loss(values, value_targets)
        self.optimizer.zero_grad(set_to_none=True)
        (policy_loss + value_loss).backward()
        self.optimizer.step()
        self.updates += 1
        self._follow()
        with torch.no_grad():
            probs = log_probs.exp()
            kl = (probs * log_ratios.masked_fill(~masks, 0.0)).sum(-1).mean()
            return {
                "policy_loss": policy_loss.detach(),
                "value_loss": value_loss.detach(),
                "entropy": mean_entropy(probs.flatten(0, 1), log_probs.flatten(0, 1)).detach(),
                "regularization_kl": kl,
            }

    def _evaluate(self, network: nn.Module, steps: Trajectories) -> tuple[Tensor, Tensor]:
        """Logits and values of a network at all steps."""
        shape = steps.seats.shape
        with self.backend.autocast():
            inputs = steps.observations.flatten(0, 1), steps.hidden_cards.flatten(0, 1)
            logits, values = network(*self.backend.cast(*inputs))
        return logits.reshape(*shape, -1), values.reshape(shape)

    def _reg_log_probs(self, steps: Trajectories, masks: Tensor) -> Tensor:
        """Log probabilities of the regularization policy, which fades from the previous one."""
        alpha = regularization_alpha(self.updates, self.settings.delta_m)

        def of(network: nn.Module) -> Tensor:
            with self.backend.autocast():
                # Without hidden cards there are the logits alone.
                logits, _ = network(*self.backend.cast(steps.observations.flatten(0, 1)))
            return _log_probs(logits.reshape(masks.shape), masks)

        newer = of(self.reg_network)
        if alpha == 1:
            return newer
        return alpha * newer + (1 - alpha) * of(self.previous_reg_network)

    @torch.no_grad()
    def _follow(self) -> None:
        """Move the target network, and every `delta_m` steps the regularization policies."""
        move_towards(self.target_network, self.network, 1 - self.settings.ema_decay)
        if self.updates % self.settings.delta_m == 0:
            self.previous_reg_network.load_state_dict(self.reg_network.state_dict())
            self.reg_network.load_state_dict(self.target_network.state_dict())

    # -- checkpoints

    def policy_weights(self) -> Arrays:
        """Weights of the target network."""
        return weights_of(self.target_network)

    def load_weights(self, weights: Mapping[str, Array]) -> None:
        """Load the weights of a checkpoint; it is the first regularization policy too."""
        for name in _NETWORKS:
            load_weights(getattr(self, name), weights)

    def network_card(self) -> NetworkCard:
        return self.collector.network_card()


def regularization_alpha(updates: int, delta_m: int) -> float:
    """Weight of the newer of the two regularization policies after this many gradient steps."""
    return min(1.0, 2 * (updates % delta_m) / delta_m)


def _log_probs(logits: Tensor, masks: Tensor) -> Tensor:
    flat = masked_log_softmax(logits.flatten(0, -2), masks.flatten(0, -2))
    return flat.reshape(logits.shape)


def v_trace(
    steps: Trajectories,
    values: Tensor,
    next_values: Tensor,
    log_probs: Tensor,
    log_ratios: Tensor,
    *,
    eta: float,
    vtrace_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Value targets of the player to move, and its estimated values of all actions.

    For each seat by itself, as the other seat's steps lie between its own: their rewards and ratios
    π/μ belong to its own last step. `log_ratios` are log(π/π_reg) of all actions, 0 for illegal
    ones. ρ of the paper is not bounded, and c is at most 1.
    """
    probs = log_probs.exp()
    # What the mover loses by the regularization at its step, and the other seat gains.
    regularization = -eta * (probs * log_ratios).sum(-1)
    taken = steps.actions[..., None]
    inverse_mu = (-steps.log_probs).exp()
    ratios = log_probs.gather(-1, taken).squeeze(-1).exp() * inverse_mu
    value_targets, q_values = torch.zeros_like(values), values[..., None] - eta * log_ratios
    # Of the steps behind, for each seat.
    reward, reward_regularized = torch.zeros_like(next_values), torch.zeros_like(next_values)
    importance = torch.ones_like(next_values)
    next_value = next_target = next_values
    for step in range(len(values) - 1, -1, -1):
        done = steps.dones[step][:, None]
        reward, reward_regularized, next_value, next_target = (
            each.masked_fill(done, 0.0)
            for each in (reward, reward_regularized, next_value, next_target)
        )
        importance = importance.masked_fill(done, 1.0)
        mover = steps.seats[step][:, None]
        ratio, value = ratios[step][:, None], values[step][:, None]
        bonus = (
            regularization[step][:, None]
            .repeat(1, 2)
            .scatter_add_(1, 1 - mover, -2 * regularization[step][:, None])
        )
        reward = reward + steps.rewards[step]
        reward_regularized = reward_regularized + steps.rewards[step] + bonus
        rho = ratio * importance
        targets = value + rho * (reward_regularized + next_value - value)
        targets = targets + vtrace_lambda * rho.clamp(max=1) * (next_target - next_value)
        value_targets[step] = targets.gather(1, mover).squeeze(1)
        corrected = reward + importance * next_target - value
        q_values[step].scatter_add_(
            1, taken[step], inverse_mu[step][:, None] * corrected.gather(1, mover)
        )
        own = torch.zeros_like(reward, dtype=torch.bool).scatter_(1, mover, True)
        reward = torch.where(own, 0.0, bonus + ratio * reward)
        reward_regularized = reward_regularized.masked_fill(own, 0.0)
        next_value = torch.where(own, value, next_value)
        next_target = torch.where(own, targets, next_target)
        importance = torch.where(own, 1.0, rho)
    return value_targets, q_values


def neurd_loss(
    logits: Tensor, log_probs: Tensor, q_values: Tensor, masks: Tensor, *, beta: float, clip: float
) -> Tensor:
    """Loss of NeuRD: each legal action's logit moves by its advantage, within a threshold."""
    advantages = q_values - (log_probs.exp() * q_values).sum(-1, keepdim=True)
    advantages = advantages.clamp(-clip, clip).detach()
    legal = masks.float()
    mean = (logits * legal).sum(-1, keepdim=True) / legal.sum(-1, keepdim=True)
    centered = logits - mean
    can_move = torch.where(advantages > 0, centered < beta, centered > -beta)
    return -(centered * advantages * can_move * legal).sum(-1).mean()
