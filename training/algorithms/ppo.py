"""Proximal policy optimization by self-play, both seats learning.

Schulman, Wolski, Dhariwal, Radford and Klimov 2017, "Proximal policy optimization algorithms",
arXiv:1707.06347. Many games run in lockstep. One network plays both seats of each
(`SelfPlayCollector`), learns from every decision, and is paid at the end of an episode: by default
the exact value of the ending. The player is an average of the weights along the way. Read it from
top to bottom, beginning at `PPO.iterate`.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...agents.checkpoints.input_names import input_names
from ...agents.checkpoints.schema import Count, NetworkCard
from ...common.jit.compiler import warm_up
from ...common.schema import convert
from ...engine.observation.rule_features import RULE_LAYOUT
from ..distributed import ALONE, Ranks
from ..rollout.adam import Adam
from ..rollout.backends import Array, side_of
from ..rollout.kernels import compile_all
from ..rollout.networks import Network, begin_with, weights_of
from ..rollout.rollout_buffer import RolloutSamples
from ..rollout.tensor_state import (
    digest_of,
    of_optimizer,
    of_tensors,
    part_of,
    restore_module,
    restore_optimizer,
)
from .base import Diverged, Trainer, torch_device
from .opponent_pool import OpponentPool
from .self_play_collector import SelfPlayCollector
from .settings import PPOSettings

# Not -inf: minus infinity times a probability of zero is NaN.
_NOT_LEGAL = -1e9
# Rows of one forward pass for reference policies, so that its activations stay small.
_REFERENCE_ROWS = 8192


@dataclass
class Seconds:
    """Where the time of iterations went."""

    acting: float = 0.0
    environment: float = 0.0
    learning: float = 0.0


class Moments(NamedTuple):
    """Mean and standard deviation of a minibatch over all ranks."""

    mean: Tensor
    std: Tensor
    share: float
    """How much of the minibatch is on this rank."""


class State(msgspec.Struct, forbid_unknown_fields=True):
    """What is saved beside arrays."""

    decisions: Count
    hands: Count
    pool: Count
    """The number of earlier selves."""
    random: dict[str, Any]
    """The state of NumPy's generator."""
    others: list[dict[str, Any]] = []
    """Those of the other ranks."""


class PPO(Trainer):
    """A training under way: network, average of its weights, games, and random generators.

    Each of several `ranks` plays its share of the games, and learns from its share of
    every minibatch: settings are of all ranks together.
    """

    settings_kind = PPOSettings
    several_ranks = True
    loss_metrics: ClassVar[tuple[str, ...]] = (
        *("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction"),
    )
    """Names of the metrics that `_loss` returns."""

    def __init__(self, settings: PPOSettings, device: str = "cpu", ranks: Ranks = ALONE) -> None:
        super().__init__(settings)
        self.ranks = ranks
        n_envs, left = divmod(settings.n_envs, ranks.world)
        if left:
            raise ValueError(
                f"n_envs is {settings.n_envs}, which {ranks.world} processes cannot share evenly: "
                f"give {ranks.world * max(1, n_envs)} or another multiple"
            )
        self.side = side_of(device, settings.precision)
        self.collector = SelfPlayCollector(settings, n_envs, self.side)
        self.games = self.collector.games
        self._begin_games(0)
        self.network = self.collector.make_network()
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.pool = OpponentPool(settings, self.games, self.network, self.side)
        self.optimizer = Adam(
            [{"params": [*part.parameters()], "times": times} for part, times in self._parts()],
            lr=settings.learning_rate, eps=1e-5,
        )  # fmt: skip
        self.seconds = Seconds()
        if device == "cpu":
            rules, place = settings.options.rules_record, self.side.place
            warm_up("trainer", "training", lambda: compile_all(rules, place))

    @classmethod
    def made(cls, settings: PPOSettings, ranks: Ranks = ALONE) -> PPO:
        """A trainer for a run with these settings."""
        return cls(settings, torch_device(settings, games=True), ranks)

    def _parts(self) -> Iterator[tuple[nn.Module, float]]:
        """Parameter groups and the factors of their learning rates, in the order of the state."""
        network, times = self.network, self.settings.critic_lr_scale
        yield from ((network.hidden, 1.0), (network.policy, 1.0))
        if network.critic is not None:
            yield network.critic, times
        yield network.value, times

    def _begin_games(self, since: int) -> None:
        """Deal every game and seed this rank's generator, after so many decisions."""
        seed = self.ranks.seed(self.settings.seed, since)
        self.random = np.random.default_rng(seed)
        self.games.reset(seed)

    # -- one iteration

    def iterate(self) -> dict[str, float]:
        """Collect a rollout, and learn from it."""
        before = self.decisions
        n_steps = self._n_steps()
        rollout = self.collector.collect(self.network, self.pool, n_steps, self.random)
        hands, decisions = map(int, self.ranks.reduced([rollout.hands, rollout.decisions]))
        began = time.perf_counter()
        metrics = self.update(
            self.collector.buffer.samples(n_steps), decisions, before / self.settings.decisions
        )
        self.seconds.acting += rollout.acting
        self.seconds.environment += rollout.environment
        self.seconds.learning += time.perf_counter() - began
        self.hands += hands
        self.decisions += decisions
        metrics["hands"] = float(hands)
        self._check_finite(metrics)
        self._grow_pool(before)
        return metrics

    def _n_steps(self) -> int:
        """Steps of this iteration: fewer in the last, so that the budget is met closely."""
        settings = self.settings
        # In games with an opponent, one of two decisions is the learner's.
        step = self.ranks.world * (self.games.num_envs - self.pool.n_games / 2)
        left = math.ceil((settings.decisions - self.decisions) / step)
        return min(self.collector.n_steps, left) if left > 0 else self.collector.n_steps

    def update(self, samples: RolloutSamples, decisions: int, progress: float) -> dict[str, float]:
        """Some epochs of minibatch steps; `decisions` are the samples of all ranks.

        `progress` is the part of the budget that is spent, from 0 to 1.
        """
        settings, network = self.settings, self.network
        lr = _between(settings.learning_rate, settings.learning_rate_end, progress)
        ent_coef = _between(settings.ent_coef, settings.ent_coef_end, progress)
        schedules = {"learning_rate": lr, "ent_coef": ent_coef}
        for group in self.optimizer.param_groups:
            group["lr"] = lr * group["times"]
        count = len(samples.actions)
        # Advantages are divided by their standard deviation, which one alone does not have.
        most = int(self.ranks.reduced([count // 2], "MIN")[0])
        n_minibatches = min(max(1, round(decisions / settings.batch_size)), most)
        if not n_minibatches:
            names = [*self.loss_metrics, "grad_norm", "explained_variance"]
            return {**dict.fromkeys(names, 0.0), **schedules}
        ref_log_probs = self._ref_log_probs(samples)
        steps: list[tuple[float, Tensor]] = []
        for _ in range(settings.n_epochs):
            order = self.side.order(self.random, count)
            minibatches = torch.tensor_split(order, n_minibatches)
            moments = self._moments(
                [samples.advantages.index_select(0, rows) for rows in minibatches]
            )
            for rows, stats in zip(minibatches, moments, strict=True):
                reference = None if ref_log_probs is None else ref_log_probs[rows]
                loss, metrics = self._loss(samples.minibatch(rows), stats, ent_coef, reference)
                self.optimizer.zero_grad(set_to_none=True)
                # Weighted by its share, the sum over ranks is the loss of the whole minibatch.
                (loss if self.ranks.alone else stats.share * loss).backward()
                self.ranks.add_gradients(network.parameters())
                if progress < settings.critic_warmup:
                    # Only the critic learns: a policy from `init` would be spoilt by a new critic.
                    for part in (network.hidden, network.policy):
                        part.zero_grad(set_to_none=True)
                grad_norm = nn.utils.clip_grad_norm_(network.parameters(), settings.max_grad_norm)
                self.optimizer.step()
                self._update_average()
                steps.append((stats.share, torch.cat([metrics, grad_norm.reshape(1)])))
        return {**self._mean_metrics(steps, samples.returns), **schedules}

    def _loss(
        self, batch: RolloutSamples, stats: Moments, ent_coef: float, ref_log_probs: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Clipped policy loss, value loss and entropy bonus of a minibatch, and its metrics."""
        settings = self.settings
        with self.side.autocast():
            logits, values = self.network(*self.side.floats(batch.observations, batch.hidden))
        log_probs = masked_log_softmax(logits, batch.action_masks)
        new_log_probs = log_probs.gather(1, batch.actions[:, None]).squeeze(1)
        log_ratio = new_log_probs - batch.old_log_probs
        ratio = log_ratio.exp()
        advantages = (batch.advantages - stats.mean) / (stats.std + 1e-8)
        clipped = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
        policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
        value_loss = functional.mse_loss(values, batch.returns)
        probs = log_probs.exp()
        entropy = -(probs * log_probs.clamp(min=-50)).sum(1).mean()
        loss = policy_loss + settings.vf_coef * value_loss - ent_coef * entropy
        if ref_log_probs is not None:
            kl = (probs * (log_probs - ref_log_probs).clamp(-50, 50)).sum(1).mean()
            loss = loss + settings.kl_coef * kl
        with torch.no_grad():
            clip_fraction = ((ratio - 1).abs() > settings.clip_range).float().mean()
            # The estimator k3 of http://joschu.net/blog/kl-approx.html: never negative.
            approx_kl = (ratio - 1 - log_ratio).mean()
            metrics = torch.stack([policy_loss, value_loss, entropy, approx_kl, clip_fraction])
        return loss, metrics

    def _ref_log_probs(self, samples: RolloutSamples) -> Tensor | None:
        """The policy that the loss holds to, if any: that of the averaged weights."""
        return self.log_probs(self.average, samples) if self.settings.kl_coef else None

    @torch.no_grad()
    def log_probs(self, network: Network, samples: RolloutSamples) -> Tensor:
        """Log probabilities of all actions by a network."""
        parts = []
        for rows in torch.arange(len(samples.actions), device=self.side.device).split(
            _REFERENCE_ROWS
        ):
            with self.side.autocast():
                logits = network.logits(samples.observations[rows].float())
            parts.append(masked_log_softmax(logits, samples.action_masks[rows]))
        return torch.cat(parts)

    @torch.no_grad()
    def _update_average(self) -> None:
        """Move the averaged weights, the player, a little towards the network's."""
        rate = 1 - self.settings.ema_decay
        for average, param in zip(
            self.average.parameters(), self.network.parameters(), strict=True
        ):
            average.lerp_(param, rate)

    def _moments(self, parts: Sequence[Tensor]) -> list[Moments]:
        """Mean and standard deviation of each tensor over all ranks."""
        if self.ranks.alone:
            return [Moments(part.mean(), part.std(), 1.0) for part in parts]
        local = [[part.new_tensor(len(part)), part.sum(), part.square().sum()] for part in parts]
        sums = torch.tensor(local, dtype=torch.float64)
        totals = torch.tensor(self.ranks.reduced(sums.flatten().tolist())).view_as(sums)
        moments = []
        for part, (count, total, squares) in zip(parts, totals.tolist(), strict=True):
            mean = total / count
            std = math.sqrt(max(0.0, squares - count * mean * mean) / max(1.0, count - 1))
            moments.append(Moments(part.new_tensor(mean), part.new_tensor(std), len(part) / count))
        return moments

    def _mean_metrics(
        self, steps: Sequence[tuple[float, Tensor]], returns: Tensor
    ) -> dict[str, float]:
        """Metrics of an iteration, from the share of this rank and the metrics of each step."""
        # Fetched together: each by itself would wait for the device.
        fetched = torch.stack([metrics for _, metrics in steps]).double().cpu().numpy()
        sums = np.zeros(len(self.loss_metrics))
        for (share, _), metrics in zip(steps, fetched, strict=True):
            sums += share * metrics[:-1]
        grad_norms = float(fetched[:, -1].sum())
        means = np.array([*self.ranks.reduced(sums), grad_norms]) / len(steps)
        metrics = dict(zip((*self.loss_metrics, "grad_norm"), means.tolist(), strict=True))
        (stats,) = self._moments([returns])
        variance = float(stats.std) ** 2
        metrics["explained_variance"] = (
            1 - metrics["value_loss"] / variance if variance > 0 else 0.0
        )
        return metrics

    def _check_finite(self, metrics: Mapping[str, float]) -> None:
        """Stop at NaN, before it comes into a state or a checkpoint."""
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise Diverged(f"{name} became {value} after {self.decisions:,} decisions")
        for name, param in self.network.named_parameters():
            if not bool(param.isfinite().all()):
                raise Diverged(f"weights of {name} became none after {self.decisions:,} decisions")

    def _grow_pool(self, before: int) -> None:
        """Let the averaged weights join the pool every `pool_every` decisions."""
        settings, pool = self.settings, self.pool
        due = self.decisions // settings.pool_every != before // settings.pool_every
        if due and settings.pool_fraction and settings.pool_size:
            removed = pool.add(self.average, self.random)
            if removed is not None:
                del pool.snapshots[self.ranks.of_first(removed)]

    # -- the player, and what a resumed training needs

    def player(self) -> dict[str, Array]:
        """The averaged weights of policy and critic."""
        return weights_of(self.average)

    def begin_with(self, weights: Mapping[str, Array]) -> None:
        """Begin with the weights of a checkpoint, which fit; a critic that it lacks stays new."""
        for network in (self.network, self.average):
            begin_with(network, weights)

    def network_card(self) -> NetworkCard:
        """What the card of a checkpoint says of the network."""
        settings = self.settings
        return NetworkCard(
            kind="mlp",
            inputs=input_names(self.collector.inputs),
            rule_features=input_names(self.collector.features, RULE_LAYOUT),
            hidden_sizes=settings.hidden_sizes,
            card_ranks=settings.card_ranks,
            critic=settings.critic,
        )

    def state(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Everything that the rest of the training depends on: arrays, and plain values."""
        network = of_tensors("network.", self.network.state_dict())
        local = self.games.state(), dict(self.random.bit_generator.state), digest_of(network)
        games, random, digests = zip(*self.ranks.of_all(local), strict=True)
        if len(set(digests)) > 1:
            raise Diverged(f"the ranks' weights became different by {self.decisions:,} decisions")
        arrays = network | of_tensors("average.", self.average.state_dict())
        arrays |= self.pool.state() | of_optimizer("optimizer.", self.optimizer)
        for rank, part in enumerate(games):
            arrays |= {f"{_games_of(rank)}{name}": array for name, array in part.items()}
        size = len(self.pool.snapshots)
        plain = State(self.decisions, self.hands, size, random[0], list(random[1:]))
        return arrays, msgspec.to_builtins(plain)

    def restore(self, arrays: dict[str, Array], plain: dict[str, Any]) -> None:
        """Go on from what `state` gave.

        Where there were more or fewer ranks before, the games begin anew.
        """
        state = convert(plain, State, "trainer")
        restore_module(self.network, arrays, "network.")
        restore_module(self.average, arrays, "average.")
        self.pool.restore(arrays, state.pool)
        restore_optimizer(self.optimizer, arrays, "optimizer.")
        random = [state.random, *state.others]
        if len(random) == self.ranks.world:
            self.games.restore(part_of(arrays, _games_of(self.ranks.rank)))
            self.random.bit_generator.state = random[self.ranks.rank]
        else:
            self._begin_games(state.decisions)
        self.decisions, self.hands = state.decisions, state.hands


def _games_of(rank: int) -> str:
    """How the names of the arrays of a rank's games begin."""
    return f"rank.{rank}.games." if rank else "games."


def _between(start: float, end: float, progress: float) -> float:
    return start + (end - start) * min(1.0, progress)


def masked_log_softmax(logits: Tensor, action_masks: Tensor) -> Tensor:
    """Log probabilities of all actions; illegal ones have a probability of zero."""
    return torch.log_softmax(logits.masked_fill(action_masks == 0, _NOT_LEGAL), dim=1)
