"""A small transformer over the events of a hand, to learn with.

Its tokens are the flat observation and each event; what comes out is what the
first of them has found in the others. Its weights are named as checkpoints name
them, and `agents/attention.py` computes the same without torch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..agents.attention import COLUMN_STARTS, EPSILON, EVENT_VECTORS, WIDER


class Block(nn.Module):
    """Attention, then two layers with a rectifier between, each on what was normed before."""

    def __init__(self, width: int, heads: int, chance: torch.Generator) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width, EPSILON)
        self.queries = _linear(width, width, chance)
        self.pairs = _linear(width, 2 * width, chance)
        """Keys and values."""
        self.out = _linear(width, width, chance, 0.5)
        self.between = nn.LayerNorm(width, EPSILON)
        self.wide = _linear(width, WIDER * width, chance)
        self.narrow = _linear(WIDER * width, width, chance, 0.5)

    def forward(self, x: Tensor, there: Tensor, rows: int) -> Tensor:
        """The first so many rows of `(n, tokens, width)`; `there` says which tokens there are."""
        seen = self.before(x)
        keys, values = self.pairs(seen).chunk(2, dim=-1)
        split = [self._split(each) for each in (self.queries(seen[:, :rows]), keys, values)]
        # On processors its way back is many times slower in bfloat16.
        with torch.autocast(x.device.type, enabled=False):
            found = functional.scaled_dot_product_attention(
                *(each.float() for each in split), attn_mask=there[:, None, None, :]
            )
        x = x[:, :rows] + self.out(found.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.relu(self.wide(self.between(x))))

    def _split(self, x: Tensor) -> Tensor:
        """With a head in each row."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Events(nn.Module):
    """What all events, and the flat observation, come to: a row of `width` for each decision."""

    def __init__(
        self, inputs: int, layers: int, heads: int, width: int, chance: torch.Generator
    ) -> None:
        super().__init__()
        self.state = _linear(inputs, width, chance)
        self.events = nn.Parameter(torch.empty(EVENT_VECTORS, width))
        nn.init.normal_(self.events, 0, 0.5, generator=chance)
        self.blocks = nn.ModuleList(Block(width, heads, chance) for _ in range(layers))
        self.last = nn.LayerNorm(width, EPSILON)
        self.starts: Tensor
        self.register_buffer("starts", torch.tensor(COLUMN_STARTS), persistent=False)

    def forward(self, x: Tensor, events: Tensor) -> Tensor:
        """`events` are int8 rows as `write_history` writes them, zeros after the last."""
        there = events[:, :, 0] > 0
        most = int(there.any(dim=0).sum())
        places = events[:, :most].int() + self.starts.int()
        vectors = functional.embedding_bag(places.flatten(0, 1), self.events, mode="sum")
        first = self.state(x).float().unsqueeze(1)
        h = torch.cat([first, vectors.unflatten(0, (len(x), most))], dim=1)
        there = functional.pad(there[:, :most], (1, 0), value=True)
        for block in self.blocks[:-1]:
            h = block(h, there, h.shape[1])
        return self.last(self.blocks[-1](h, there, 1)[:, 0])


def _linear(n: int, m: int, chance: torch.Generator, gain: float = 1.0) -> nn.Linear:
    layer = nn.Linear(n, m)
    nn.init.orthogonal_(layer.weight, gain, generator=chance)
    nn.init.zeros_(layer.bias)
    return layer
