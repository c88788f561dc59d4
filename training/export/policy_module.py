"""Policy of a checkpoint as one module of torch, from whole observations and masks."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from ...agents.checkpoints import Checkpoint
from ...agents.networks.custom_network import load_network
from ...agents.networks.relative_ranks import SETS_IN_PLAY
from ...engine.cards import N_CARDS
from ...engine.observation.spec import EXCHANGE_SPEC, spec_of
from ..rollout.networks import MLP, load_layers, policy_layer_names

_ILLEGAL_LOGIT = -1e9


class PolicyModule(nn.Module):
    """Selection of inputs, relative ranks if the network has them, and the network."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        network = checkpoint.card.network
        self._inputs: list[int] | None = None
        """Places of the vector that the network reads; None: it reads a history."""
        if network.observation == "vector":
            # Inputs beyond these rules' observation are 0 in all their games.
            size = spec_of(checkpoint.rules[0]).size
            self._inputs = network.places[network.places < size].tolist()
        self._relative_ranks = network.card_ranks == "relative"
        own = network.kind == "module"
        self.network: nn.Module = load_network(checkpoint) if own else _mlp_of(checkpoint)
        self.eval()  # the exporter puts a module back into the mode that it was in

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Masked logits of all actions, and the most likely legal action."""
        x, moves = observation.float(), None
        if self._relative_ranks:
            x, moves = _to_relative_ranks(x)
        x = self.network(x if self._inputs is None else x[:, self._inputs])
        if isinstance(x, tuple):
            x = x[0]  # of a custom network, which has values too
        if moves is not None:
            cards = (moves @ x[:, :N_CARDS].reshape(-1, 4, 13, 1)).flatten(1)
            x = torch.cat([cards, x[:, N_CARDS:]], 1)
        logits = torch.where(action_mask.bool(), x, _ILLEGAL_LOGIT)
        return logits, logits.argmax(1)


def _mlp_of(checkpoint: Checkpoint) -> MLP:
    """The layers of a policy, for the inputs that these rules' observation has."""
    network, weights = checkpoint.card.network, checkpoint.weights
    names = policy_layer_names(len(network.hidden_sizes))
    biases = [len(weights[f"{name}.bias"]) for name in names]
    mlp = MLP([weights[f"{names[0]}.weight"].shape[1], *biases])
    load_layers(mlp, weights, names)
    first = cast("nn.Linear", mlp.layers[0])
    observed = np.flatnonzero(network.places < spec_of(checkpoint.rules[0]).size)
    first.weight = nn.Parameter(first.weight[:, observed])
    return mlp


def _to_relative_ranks(x: Tensor) -> tuple[Tensor, Tensor]:
    """`to_relative_ranks` in torch, and `moves[suit, rank, relative_rank]`: 1 for cards in play.

    The relative rank of a card is the highest rank less the number of higher cards in play.
    """
    groups = [group for group in EXCHANGE_SPEC.groups if group.start < x.shape[1]]
    parts = dict(
        zip(
            (group.name for group in groups),
            x.split([group.size for group in groups], 1),
            strict=True,
        )
    )
    in_suits = {name: parts[name].reshape(-1, 4, 13) for name in SETS_IN_PLAY}
    in_play = torch.stack([*in_suits.values()]).amax(0)
    above = in_play @ torch.ones(13, 13).tril(-1)
    moves = (above.unsqueeze(3) == torch.arange(12, -1, -1)).float() * in_play.unsqueeze(3)
    parts |= {name: (cards.unsqueeze(2) @ moves).flatten(1) for name, cards in in_suits.items()}
    return torch.cat([*parts.values()], 1), moves
