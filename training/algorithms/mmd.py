"""Magnetic mirror descent (MMD): PPO with two KL penalties in place of the clipped ratio.

Sokota, D'Orazio, Kolter, Loizou, Lanctot, Mitliagkas, Brown and Kroer 2023, "A unified approach
to reinforcement learning, quantal response equilibria, and two-player zero-sum games",
arXiv:2206.05825. Each iteration moves the policy π towards the maximum of

    E[advantage] - α KL(π ‖ magnet) - (1 / η) KL(π ‖ policy before the iteration)

by gradient steps. The magnet is the uniform policy, so that the first penalty is the entropy bonus
up to a constant, and the temperature α is `ent_coef`; η is `step_size`. In self-play the last
policy approaches a quantal response equilibrium, and with α falling, an equilibrium. Unlike PPO's,
advantages are not normalized: α and η are in units of rewards divided by `reward_scale`.
Collection, critic and EMA are those of PPO.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from ..rollout.rollout_buffer import RolloutSamples
from .ppo import PPO, masked_log_softmax, mean_entropy, mean_kl
from .settings import MMDSettings


class MMD(PPO):
    """PPO with the loss of MMD."""

    settings_kind = MMDSettings
    settings: MMDSettings

    def _ref_log_probs(self, samples: RolloutSamples) -> Tensor:
        """Log probabilities of the policy before the iteration."""
        return self.log_probs(self.network, samples)

    def _loss(
        self, batch: RolloutSamples, ent_coef: float, ref_log_probs: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The three terms above and the value loss of a minibatch, and its metrics."""
        assert ref_log_probs is not None
        settings = self.settings
        logits, values = self._evaluate(batch)
        log_probs = masked_log_softmax(logits, batch.action_masks)
        new_log_probs = log_probs.gather(1, batch.actions[:, None]).squeeze(1)
        ratio = (new_log_probs - batch.old_log_probs).exp()
        policy_loss = -(ratio * batch.advantages).mean()
        value_loss = functional.mse_loss(values, batch.returns)
        probs = log_probs.exp()
        entropy = mean_entropy(probs, log_probs)
        kl = mean_kl(probs, log_probs, ref_log_probs)
        loss = policy_loss - ent_coef * entropy + kl / settings.step_size
        loss = loss + settings.vf_coef * value_loss
        metrics = {
            "policy_loss": policy_loss.detach(),
            "value_loss": value_loss.detach(),
            "entropy": entropy.detach(),
            "approx_kl": kl.detach(),
        }
        return loss, metrics
