"""The networks that learn: layers of rectifiers from what is seen to actions and a value.

What is seen is a flat observation, and what a transformer makes of the events of
the hand where there is one. The policy's layers are named as checkpoints name
them, so that the player without torch reads them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..agents.attention import Events


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


class Attention(NamedTuple):
    """The size of a transformer."""

    layers: int
    heads: int
    width: int


class Network(nn.Module):
    """A policy and a critic; the critic shares the policy's layers, or has its own.

    Where events are read, both see what was made of them.
    """

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        actions: int,
        critic: int | None,
        chance: torch.Generator,
        attention: Attention | None = None,
    ) -> None:
        """`critic` is how many hidden places a critic of its own sees; None to share layers."""
        super().__init__()
        seen = inputs + (attention.width if attention is not None else 0)
        self.hidden = Layers(seen, widths, chance)
        self.policy = nn.Linear(widths[-1], actions)
        self.critic = None if critic is None else Layers(seen + critic, widths, chance)
        self.value = nn.Linear(widths[-1], 1)
        _orthogonal(self.policy, 0.01, chance)
        _orthogonal(self.value, 1.0, chance)
        self.history = None if attention is None else Events(inputs, *attention, chance)

    def forward(self, x: Tensor, events: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of all actions, and what the player to move is thought to be paid.

        `hidden` is what the critic sees beyond the policy, no columns of it if nothing.
        """
        seen = self._seen(x, events)
        h = self.hidden(seen)
        if self.critic is None:
            judged = h
        else:
            judged = self.critic(torch.cat([seen, hidden], 1) if hidden.shape[1] else seen)
        return self.policy(h).float(), self.value(judged).float().squeeze(-1)

    def logits(self, x: Tensor, events: Tensor) -> Tensor:
        """Of all actions."""
        return self.policy(self.hidden(self._seen(x, events))).float()

    def _seen(self, x: Tensor, events: Tensor) -> Tensor:
        if self.history is None:
            return x
        return torch.cat([x, self.history(x, events).to(x.dtype)], 1)


def _orthogonal(layer: Any, gain: float, chance: torch.Generator) -> None:
    nn.init.orthogonal_(layer.weight, gain, generator=chance)
    nn.init.zeros_(layer.bias)


def _named(network: Network) -> Iterator[tuple[str, nn.Module]]:
    """The parts of a network under the names of a checkpoint."""
    for k, layer in enumerate(network.hidden.layers):
        yield f"hidden.{k}", layer
    if network.history is not None:
        yield "history", network.history
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
