"""A GRU over the history of a hand, as the network of `ppo`, `mmd` or `nfsp`.

    german-whist train quick network=examples/gru_network.py:GRUNetwork critic=separate

A row of the history is an event: (kind, who, card, trick), as in `observation="history"`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

KINDS, PLAYERS, CARDS, TRICKS = 8, 3, 128, 128


class GRUNetwork(nn.Module):
    """Embeddings of events, a GRU over them, and two heads on its last state."""

    observation = "history"

    def __init__(
        self, n_inputs: int, n_actions: int, n_hidden_inputs: int, width: int = 64
    ) -> None:
        super().__init__()
        self.event = nn.Embedding(KINDS * PLAYERS * CARDS, width)
        self.trick = nn.Embedding(TRICKS, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        # The sum of the embeddings is a short way from early events to the heads.
        self.joined = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.ReLU())
        self.policy = nn.Linear(2 * width, n_actions)
        self.value = nn.Linear(2 * width + n_hidden_inputs, 1)

    def forward(
        self, observations: Tensor, hidden_cards: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        kind, who, card, trick = observations.unbind(-1)
        happened = (kind > 0).unsqueeze(-1)
        x = self.event((kind * PLAYERS + who) * CARDS + card) + self.trick(trick)
        x = x * happened
        last = happened.sum(1, keepdim=True) - 1
        state = self.gru(x)[0].gather(1, last.expand(-1, 1, x.shape[-1])).squeeze(1)
        features = self.joined(torch.cat([state, x.sum(1)], dim=1))
        logits = self.policy(features)
        if hidden_cards is None:
            return logits, None
        return logits, self.value(torch.cat([features, hidden_cards], dim=1))
