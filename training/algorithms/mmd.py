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

from ..rollout.rollout_buffer import Decisions
from .ppo import PPO, Scale, masked_logs
from .settings import MMDSettings


class MMD(PPO):
    """A training under way."""

    settings_kind = MMDSettings
    settings: MMDSettings
    told = ("policy_loss", "value_loss", "entropy", "divergence")

    def _held_by(self, batch: Decisions) -> Tensor:
        """What the policy plays before it is moved."""
        return self.logs_of(self.network, batch)

    def _loss(
        self, batch: Decisions, scale: Scale, entropy_weight: float, held: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        assert held is not None
        settings = self.settings
        with self._mixed():
            logits, values = self.network(*self._as_numbers(batch.x, batch.hidden))
        logs = masked_logs(logits, batch.masks)
        change = logs.gather(1, batch.actions[:, None]).squeeze(1) - batch.logs
        ratio = change.exp()
        policy_loss = -(ratio * batch.advantages).mean()
        value_loss = functional.mse_loss(values, batch.returns)
        shares = logs.exp()
        entropy = -(shares * logs.clamp(min=-50)).sum(1).mean()
        moved = (shares * (logs - held).clamp(-50, 50)).sum(1).mean()
        loss = policy_loss - entropy_weight * entropy + moved / settings.stride
        loss = loss + settings.value_weight * value_loss
        with torch.no_grad():
            told = torch.stack([policy_loss, value_loss, entropy, moved])
        return loss, told
