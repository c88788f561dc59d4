"""A small transformer over the events of a hand, to learn with and to play by; needs torch.

Its tokens are the flat observation and each event, in the suits in which the flat observation
shows them; what comes out is what the first of them has found in the others. Its weights are
named as checkpoints name them.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..engine.compiled import jit
from ..engine.history import HISTORY_COLUMNS, history_rows, write_history
from ..engine.layout import LONGEST_OBSERVATION, real_action
from ..engine.play import row
from ..engine.rules import Rules
from .base import Array
from .card import COLUMN_STARTS, EVENT_VECTORS, WIDER
from .checkpoint import Checkpoint
from .closing import gather
from .observing import observe_all

EPSILON = 1e-5


def most_events(rules: Rules, foreplay: bool) -> int:
    """The most events that a player has seen at a decision, of the foreplay or of a whole hand.

    The points of a match are no events here: the flat observation tells them.
    """
    return history_rows(rules) - 2 - (2 * rules.hand if foreplay else 0)


@jit
def write_events(rules: np.ndarray, views: np.ndarray, orders: np.ndarray, out: np.ndarray) -> None:
    """The events of each view, its suits in the given order."""
    for index in range(len(views)):
        write_history(row(rules, 0), row(views, index), orders[index], False, out[index])


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


# -- to play by


class HistoryPolicy:
    """The policy of a checkpoint that reads events."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        card, network = checkpoint.card, checkpoint.card.network
        size = network.attention
        assert size is not None
        weights = {
            name: torch.from_numpy(each.astype(np.float32))
            for name, each in checkpoint.weights.items()
        }
        self._events = Events(
            len(network.inputs), size.layers, size.heads, size.width, torch.Generator()
        )
        self._events.load_state_dict(
            {name: weights[f"history.{name}"] for name in self._events.state_dict()}
        )
        self._layers = [
            (weights[f"{name}.weight"], weights[f"{name}.bias"])
            for name in (*(f"hidden.{k}" for k in range(len(network.layers))), "policy")
        ]
        self._inputs, self._actions = np.array(network.inputs), card.actions
        self._trumps_first = card.layout == "trump-first"
        self._closed = network.ranks == "closed"
        self._rows = max(map(history_rows, checkpoint.rules))

    def logits(self, rules: Array, views: Array) -> Array:
        """`(n, actions)`: of the real actions in each view, minus infinity where not legal."""
        count = len(views)
        seen = np.zeros((count, LONGEST_OBSERVATION), np.int8)
        legal, masks = np.zeros((2, count, self._actions), np.int8)
        orders = np.zeros((count, 4), np.uint8)
        observe_all(rules, views, self._trumps_first, seen, legal, orders)
        x = np.zeros((count, len(self._inputs)), np.int8)
        shown = np.zeros((count, self._actions), np.int64)
        gather(seen, legal, self._inputs, self._closed, x, masks, shown)
        events = np.zeros((count, self._rows, HISTORY_COLUMNS), np.int8)
        write_events(rules, views, orders, events)
        found = np.full((count, self._actions), -np.inf, np.float32)
        _place_logits(self._placed(x, events) if count else found, masks, shown, orders, found)
        return found

    @torch.no_grad()
    def _placed(self, x: Array, events: Array) -> Array:
        """Logits as the network places them."""
        seen = torch.from_numpy(x).float()
        h = torch.cat([seen, self._events(seen, torch.from_numpy(events))], 1)
        for k, (weight, bias) in enumerate(self._layers):
            h = functional.linear(h if k == 0 else functional.relu(h), weight, bias)
        return h.numpy()


@jit
def _place_logits(
    placed: np.ndarray, masks: np.ndarray, shown: np.ndarray, orders: np.ndarray, out: np.ndarray
) -> None:
    for index in range(len(placed)):
        for place in range(masks.shape[1]):
            if masks[index, place]:
                action = real_action(shown[index, place], orders[index])
                out[index, action] = placed[index, place]
