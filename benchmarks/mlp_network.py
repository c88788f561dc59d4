"""The built-in network of `ppo` as a class of your own, to measure what such a class costs.

It has the layers of the built-in network with `critic=separate` and two hidden layers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def mlp(n_inputs: int, n_outputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_inputs, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, n_outputs),
    )


class MLP(nn.Module):
    """A policy and a critic that share nothing."""

    def __init__(
        self, n_inputs: int, n_actions: int, n_hidden_inputs: int, width: int = 128
    ) -> None:
        super().__init__()
        self.policy = mlp(n_inputs, n_actions, width)
        self.critic = mlp(n_inputs + n_hidden_inputs, 1, width)

    def forward(
        self, observations: Tensor, hidden_cards: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        logits = self.policy(observations)
        if hidden_cards is None:
            return logits, None
        return logits, self.critic(torch.cat([observations, hidden_cards], dim=1))
