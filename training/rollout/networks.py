"""The networks that learn: layers of rectifiers from what is seen to actions and a value.

The policy's layers are named as checkpoints name them, so that the player without torch reads
them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
        critic: int | None,
        chance: torch.Generator,
    ) -> None:
        """`critic` is how many hidden places a critic of its own sees; None to share layers."""
        super().__init__()
        self.hidden = Layers(inputs, widths, chance)
        self.policy = nn.Linear(widths[-1], actions)
        self.critic = None if critic is None else Layers(inputs + critic, widths, chance)
        self.value = nn.Linear(widths[-1], 1)
        _orthogonal(self.policy, 0.01, chance)
        _orthogonal(self.value, 1.0, chance)

    def forward(self, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of all actions, and what the player to move is thought to be paid.

        `hidden` is what the critic sees beyond the policy, no columns of it if nothing.
        """
        h = self.hidden(x)
        if self.critic is None:
            judged = h
        else:
            judged = self.critic(torch.cat([x, hidden], 1) if hidden.shape[1] else x)
        return self.policy(h).float(), self.value(judged).float().squeeze(-1)

    def logits(self, x: Tensor) -> Tensor:
        """Of all actions."""
        return self.policy(self.hidden(x)).float()


def _orthogonal(layer: Any, gain: float, chance: torch.Generator) -> None:
    nn.init.orthogonal_(layer.weight, gain, generator=chance)
    nn.init.zeros_(layer.bias)


def _named(network: Network) -> Iterator[tuple[str, nn.Module]]:
    """The parts of a network under the names of a checkpoint."""
    for k, layer in enumerate(network.hidden.layers):
        yield f"hidden.{k}", layer
    yield "policy", network.policy
    if network.critic is not None:
        for k, layer in enumerate(network.critic.layers):
            yield f"critic.{k}", layer
    yield "value", network.value


def _parameters(network: Network) -> Iterator[tuple[str, nn.Parameter]]:
    for name, layer in _named(network):
        for part, parameter in layer.named_parameters():
            yield f"{name}.{part}", parameter


def weights_of(network: Network) -> dict[str, np.ndarray[Any, Any]]:
    """The weights of the policy and of its critic under the names of a checkpoint."""
    return {name: each.detach().float().cpu().numpy().copy() for name, each in _parameters(network)}


@torch.no_grad()
def begin_with(network: Network, weights: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Take the weights of a checkpoint; what it does not hold stays as it is."""
    for name, each in _parameters(network):
        if name in weights:
            each.copy_(torch.from_numpy(weights[name]))
