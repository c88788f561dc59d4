"""A small transformer over the cards, as the network of `ppo`, `mmd` or `nfsp`.

    german-whist train quick network=examples/transformer_network.py:Transformer critic=separate

Every input that is 1, such as a card in the own hand, is a token.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """Attention among the tokens, and a layer for each."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.queries_keys_values, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor, present: Tensor) -> Tensor:
        parts = self.queries_keys_values(self.norms[0](x)).chunk(3, dim=-1)
        queries, keys, values = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts
        )
        seen = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=present)
        x = x + self.joined(seen.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.relu(self.wide(self.norms[1](x))))


class Transformer(nn.Module):
    """Tokens of the inputs that are 1, blocks of attention, and the mean of the tokens."""

    def __init__(
        self,
        n_inputs: int,
        n_actions: int,
        n_hidden_inputs: int,
        width: int = 64,
        heads: int = 4,
        blocks: int = 2,
        tokens: int = 96,
    ) -> None:
        super().__init__()
        self.tokens = min(tokens, n_inputs)
        self.embedding = nn.Embedding(n_inputs, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.policy = nn.Linear(width, n_actions)
        self.value = nn.Sequential(
            nn.Linear(width + n_hidden_inputs, width), nn.ReLU(), nn.Linear(width, 1)
        )

    def forward(
        self, observations: Tensor, hidden_cards: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        ones, inputs = observations.topk(self.tokens, dim=1)
        present = ones.unsqueeze(-1)
        x = self.embedding(inputs)
        for block in self.blocks:
            x = block(x, (ones > 0)[:, None, None, :])
        mean = (x * present).sum(1) / present.sum(1)
        logits = self.policy(mean)
        if hidden_cards is None:
            return logits, None
        return logits, self.value(torch.cat([mean, hidden_cards], dim=1))
