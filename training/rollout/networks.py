"""Actor-critic networks of torch: MLPs with ReLU.

Layers have the names that checkpoints give them, which the standard agent reads without torch.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...agents.checkpoints.input_names import input_names
from ...agents.checkpoints.schema import CardRanks, Critic, NetworkCard
from ...agents.networks.custom_network import CustomNetwork, observation_of, source_digest
from ...common.plugins import error_text
from ...common.typing import Array, Arrays

Network = TypeVar("Network", bound=nn.Module)

# Numbers of bfloat16 in 16 bytes, of which rows have to be multiples.
_ALIGNED = 8


class AlignedLinear(nn.Linear):
    """Linear layer, with rows padded by zeros on a GPU, which multiplies others far more slowly."""

    def forward(self, input: Tensor) -> Tensor:
        padding = (0, -self.in_features % _ALIGNED)
        if not input.is_cuda or not padding[1]:
            return super().forward(input)
        weight = functional.pad(self.weight, padding)
        return functional.linear(functional.pad(input, padding), weight, self.bias)


class MLP(nn.Module):
    """Linear layers with a ReLU between them; `final_relu` adds one after the last."""

    def __init__(self, sizes: Sequence[int], *, final_relu: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(AlignedLinear(n, m) for n, m in pairwise(sizes))
        self._n_relus = len(self.layers) - (not final_relu)

    def forward(self, x: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            x = functional.relu(layer(x)) if number < self._n_relus else layer(x)
        return x


def policy_layer_names(n_hidden: int) -> list[str]:
    """Names of a policy's layers in a checkpoint, in order."""
    return [*(f"hidden.{k}" for k in range(n_hidden)), "policy"]


@torch.no_grad()
def load_layers(mlp: MLP, weights: Mapping[str, Array], names: Sequence[str]) -> MLP:
    """Copy weights into an MLP, whose layers have these names in a checkpoint."""
    for name, layer in zip(names, mlp.layers, strict=True):
        for key, param in layer.named_parameters():
            param.copy_(torch.from_numpy(weights[f"{name}.{key}"].astype(np.float32)))
    return mlp


class ActorCritic(nn.Module):
    """Policy and critic; the critic shares the policy's hidden layers, or has its own."""

    def __init__(
        self,
        n_inputs: int,
        n_actions: int,
        n_hidden_inputs: int = 0,
        *,
        hidden_sizes: Sequence[int],
        shared_critic: bool = False,
        generator: torch.Generator,
    ) -> None:
        """`n_hidden_inputs`: hidden cards that a critic of its own sees beside the inputs."""
        super().__init__()
        self.hidden = _hidden_layers([n_inputs, *hidden_sizes], generator)
        self.policy = nn.Linear(hidden_sizes[-1], n_actions)
        self.critic: MLP | None = None
        if not shared_critic:
            sizes = [n_inputs + n_hidden_inputs, *hidden_sizes]
            self.critic = _hidden_layers(sizes, generator)
        self.value = nn.Linear(hidden_sizes[-1], 1)
        _init_layer(self.policy, 0.01, generator)
        _init_layer(self.value, 1.0, generator)

    def forward(
        self, x: Tensor, hidden_cards: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Logits of all actions, and the value for the player to move.

        `hidden_cards` has no columns for a critic without privileged inputs. Without it there are
        the logits alone.
        """
        features = value_features = self.hidden(x)
        logits = self.policy(features).float()
        if hidden_cards is None:
            return logits, None
        if self.critic is not None:
            inputs = torch.cat([x, hidden_cards], 1) if hidden_cards.shape[1] else x
            value_features = self.critic(inputs)
        return logits, self.value(value_features).float().squeeze(-1)

    def critic_parameters(self) -> list[nn.Parameter]:
        """Parameters of the critic alone."""
        layers = [] if self.critic is None else [*self.critic.parameters()]
        return [*layers, *self.value.parameters()]


class QNetwork(nn.Module):
    """Q-values of all actions."""

    def __init__(
        self,
        n_inputs: int,
        n_actions: int,
        *,
        hidden_sizes: Sequence[int],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.hidden = _hidden_layers([n_inputs, *hidden_sizes], generator)
        self.q_values = nn.Linear(hidden_sizes[-1], n_actions)
        _init_layer(self.q_values, 0.01, generator)

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        return self.q_values(self.hidden(x)), None


def card_of_module(
    settings: Any, inputs: Array, card_ranks: CardRanks, critic: Critic | None = None
) -> NetworkCard:
    """Card of a custom network, which settings name; a history has no named inputs."""
    observation: Any = observation_of(settings.network)
    of_vector = observation == "vector"
    return NetworkCard(
        kind="module",
        inputs=input_names(inputs) if of_vector else (),
        hidden_sizes=(),
        card_ranks=card_ranks if of_vector else "absolute",
        critic=critic,
        module=settings.network,
        options=dict(settings.network_options),
        source_sha256=source_digest(settings.network),
        observation=observation,
    )


def _hidden_layers(sizes: Sequence[int], generator: torch.Generator) -> MLP:
    mlp = MLP(sizes, final_relu=True)
    for layer in mlp.layers:
        _init_layer(layer, math.sqrt(2), generator)
    return mlp


def _init_layer(layer: Any, gain: float, generator: torch.Generator) -> None:
    nn.init.orthogonal_(layer.weight, gain, generator=generator)
    nn.init.zeros_(layer.bias)


def _parameters(network: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Parameters under the names of a checkpoint, which leaves out `layers`."""
    for name, param in network.named_parameters():
        yield name.replace(".layers", ""), param


def weights_of(network: nn.Module) -> Arrays:
    """Weights of a network under the names of a checkpoint."""
    if isinstance(network, CustomNetwork):
        return network.weights()
    return {
        name: param.detach().float().cpu().numpy().copy() for name, param in _parameters(network)
    }


def frozen_copy(network: Network) -> Network:
    """Copy of a network without gradients, such as its average, or a target that follows it."""
    try:
        with torch.no_grad():  # else the copies of scripted modules are results, and no parameters
            copied = copy.deepcopy(network)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        if not isinstance(network, CustomNetwork):
            raise
        raise ValueError(
            f"{network.name} cannot be copied, and the training needs a second one: "
            f"{error_text(error)}; take nn.utils.parametrizations.weight_norm for "
            "nn.utils.weight_norm, and keep locks, files and generators out of its attributes"
        ) from error
    return copied.requires_grad_(False)


@torch.no_grad()
def move_towards(average: nn.Module, network: nn.Module, weight: float) -> None:
    """Move an exponential moving average of weights towards a network, and copy its buffers."""
    for target, param in zip(average.parameters(), network.parameters(), strict=True):
        if param.is_floating_point():
            target.lerp_(param, weight)
        else:  # whole numbers, which no gradient changes
            target.copy_(param)
    for target, buffer in zip(average.buffers(), network.buffers(), strict=True):
        target.copy_(buffer)


@torch.no_grad()
def load_weights(network: ActorCritic | CustomNetwork, weights: Mapping[str, Array]) -> None:
    """Copy the weights of a checkpoint; a critic that it does not have stays as it is."""
    if isinstance(network, CustomNetwork):
        network.load_weights({**network.critic_weights(), **weights})
        return
    for name, param in _parameters(network):
        if name in weights:
            param.copy_(torch.from_numpy(weights[name]))
