"""Magnetic mirror descent: PPO whose steps are held by two divergences instead of a clip.

Sokota, D'Orazio, Kolter, Loizou, Lanctot, Mitliagkas, Brown and Kroer 2023, "A unified approach
to reinforcement learning, quantal response equilibria, and two-player zero-sum games",
arXiv:2206.05825. Each iteration moves the policy p to the maximum of

    E[advantage] - temperature * KL(p, magnet) - (1 / stride) * KL(p, policy before)

by gradient steps. The magnet is uniform play, so the first divergence is the entropy's bonus,
whose weight is the temperature; in self-play the last policy then goes to a quantal response
equilibrium, and with the temperature falling towards an equilibrium. Where PPO measures
advantages by their spread, here they are what is paid, divided by `reward_scale`: temperature and
stride are in units of that quotient.
Playing, critics and averages are those of PPO.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ..rollout.rollout_buffer import RolloutSamples
from .ppo import PPO, Moments, masked_log_softmax
from .settings import MMDSettings


class MMD(PPO):
    """A training under way."""

    settings_kind = MMDSettings
    settings: MMDSettings
    loss_metrics = ("policy_loss", "value_loss", "entropy", "approx_kl")

    def _ref_log_probs(self, samples: RolloutSamples) -> Tensor:
        """The policy before the iteration."""
        return self.log_probs(self.network, samples)

    def _loss(
        self, batch: RolloutSamples, stats: Moments, ent_coef: float, ref_log_probs: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The three terms above and the value loss of a minibatch, and its metrics."""
        assert ref_log_probs is not None
        settings = self.settings
        with self.side.autocast():
            logits, values = self.network(*self.side.floats(batch.observations, batch.hidden))
        log_probs = masked_log_softmax(logits, batch.action_masks)
        new_log_probs = log_probs.gather(1, batch.actions[:, None]).squeeze(1)
        ratio = (new_log_probs - batch.old_log_probs).exp()
        policy_loss = -(ratio * batch.advantages).mean()
        value_loss = functional.mse_loss(values, batch.returns)
        probs = log_probs.exp()
        entropy = -(probs * log_probs.clamp(min=-50)).sum(1).mean()
        kl = (probs * (log_probs - ref_log_probs).clamp(-50, 50)).sum(1).mean()
        loss = policy_loss - ent_coef * entropy + kl / settings.step_size
        loss = loss + settings.vf_coef * value_loss
        with torch.no_grad():
            metrics = torch.stack([policy_loss, value_loss, entropy, kl])
        return loss, metrics
