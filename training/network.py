"""The networks that learn: layers of rectifiers from a flat observation to actions and a value.

The policy's layers are named as checkpoints name them, so that the player
without torch reads them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional


class Layers(nn.Module):
    """Hidden layers, each with a rectifier."""

    def __init__(self, inputs: int, widths: Sequence[int], chance: torch.Generator) -> None:
        super().__init__()
        sizes = [inputs, *widths]
        self.layers = nn.ModuleList(nn.Linear(n, m) for n, m in pairwise(sizes))
        for layer in self.layers:
            _orthogonal(layer, math.sqrt(2), chance)

    def forward(self, x: Tensor) -> Tensor:
        """The last layer's output."""
        for layer in self.layers:
            x = functional.relu(layer(x))
        return x


class Network(nn.Module):
    """A policy and a critic; the critic shares the policy's layers, or has its own."""

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        actions: int,
        critic: int,
        chance: torch.Generator,
    ) -> None:
        """`critic` is how many places a critic with layers of its own sees; 0 to share."""
        super().__init__()
        self.hidden = Layers(inputs, widths, chance)
        self.policy = nn.Linear(widths[-1], actions)
        self.critic = Layers(critic, widths, chance) if critic else None
        self.value = nn.Linear(widths[-1], 1)
        _orthogonal(self.policy, 0.01, chance)
        _orthogonal(self.value, 1.0, chance)

    def forward(self, x: Tensor, critic_x: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Logits of all actions, and what the player to move is thought to be paid."""
        h = self.hidden(x)
        seen = h if self.critic is None else self.critic(x if critic_x is None else critic_x)
        return self.policy(h).float(), self.value(seen).float().squeeze(-1)

    def logits(self, x: Tensor) -> Tensor:
        """Of all actions."""
        return self.policy(self.hidden(x)).float()


def _orthogonal(layer: Any, gain: float, chance: torch.Generator) -> None:
    nn.init.orthogonal_(layer.weight, gain, generator=chance)
    nn.init.zeros_(layer.bias)


def player_weights(network: Network) -> dict[str, np.ndarray[Any, Any]]:
    """The policy's weights under the names of a checkpoint."""
    found: dict[str, np.ndarray[Any, Any]] = {}
    named = [(f"hidden.{k}", layer) for k, layer in enumerate(network.hidden.layers)]
    for name, layer in [*named, ("policy", network.policy)]:
        for part, tensor in layer.named_parameters():
            found[f"{name}.{part}"] = tensor.detach().float().cpu().numpy().copy()
    return found
