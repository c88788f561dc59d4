"""What a small transformer makes of all that a player has seen: the compiled pass, without torch.

The tokens are the flat observation and the events of the hand, in the suits and
the order in which the flat observation shows them. Every view is computed by
itself in a fixed order, so that what is played does not depend on how many come
at once. `training/attention.py` is the same to learn with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..engine.compiled import jit
from ..engine.history import HISTORY_COLUMNS, history_rows, write_history
from ..engine.play import Record, row
from ..engine.rules import Rules
from ..engine.state import MOST_TRICKS
from .base import Array
from .card import NetworkCard

# Where each column of an event has its vectors: 8 kinds, 3 for who, 54 cards, the tricks.
COLUMN_STARTS = (0, 8, 11, 65)
EVENT_VECTORS = 65 + MOST_TRICKS
EPSILON = 1e-5
# The layers between two attentions are so many times as wide.
WIDER = 2

_STARTS = np.array(COLUMN_STARTS, np.int64)


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


# -- the pass


@jit
def _linear(
    x: np.ndarray, rows: int, weights: np.ndarray, at: int, n: int, m: int, y: np.ndarray
) -> int:
    """A layer for each row: `n` rows of weights, then the biases; returns where the next begins."""
    bias = at + n * m
    for i in range(rows):
        for k in range(m):
            y[i, k] = weights[bias + k]
        for j in range(n):
            value = x[i, j]
            start = at + j * m
            for k in range(m):
                y[i, k] += value * weights[start + k]
    return bias + m


@jit
def _normed(
    x: np.ndarray, rows: int, weights: np.ndarray, at: int, width: int, y: np.ndarray
) -> int:
    """Each row with mean 0 and variance 1, then scaled and moved."""
    for i in range(rows):
        mean = 0.0
        for k in range(width):
            mean += x[i, k]
        mean /= width
        spread = 0.0
        for k in range(width):
            spread += (x[i, k] - mean) ** 2
        scale = 1 / np.sqrt(spread / width + EPSILON)
        for k in range(width):
            y[i, k] = np.float32((x[i, k] - mean) * scale) * weights[at + k]
            y[i, k] += weights[at + width + k]
    return at + 2 * width


@jit
def _attend(
    queries: np.ndarray, rows: int, keys: np.ndarray, values: np.ndarray, count: int,
    heads: int, width: int, shares: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """What each row finds in all `count` rows; keys stand in columns."""
    size = width // heads
    scale = np.float32(1 / np.sqrt(size))
    for i in range(rows):
        for head in range(heads):
            first = head * size
            for t in range(count):
                shares[t] = 0
            for c in range(first, first + size):
                value = queries[i, c] * scale
                for t in range(count):
                    shares[t] += value * keys[c, t]
            top = shares[0]
            for t in range(1, count):
                top = max(top, shares[t])
            total = np.float32(0)
            for t in range(count):
                shares[t] = np.exp(shares[t] - top)
                total += shares[t]
            for c in range(first, first + size):
                out[i, c] = 0
            for t in range(count):
                share = shares[t] / total
                for c in range(first, first + size):
                    out[i, c] += share * values[t, width + c]


@jit
def read_events(
    shape: np.ndarray, weights: np.ndarray, inputs: int, places: np.ndarray,
    events: np.ndarray, count: int, out: np.ndarray,
) -> None:  # fmt: skip
    """What the transformer makes, in `out`, of an observation whose `places` are one, and events.

    `shape` holds its layers, heads and width; `weights` are in the order of `attention_parts`.
    """
    layers, heads, width = shape[0], shape[1], shape[2]
    tokens = count + 1
    x = np.empty((tokens, width), np.float32)
    seen = np.empty((tokens, width), np.float32)
    queries = np.empty((tokens, width), np.float32)
    pairs = np.empty((tokens, 2 * width), np.float32)
    keys = np.empty((width, tokens), np.float32)
    wide = np.empty((tokens, WIDER * width), np.float32)
    shares = np.empty(tokens, np.float32)
    at = inputs * width
    for k in range(width):
        x[0, k] = weights[at + k]
    for place in places:
        for k in range(width):
            x[0, k] += weights[place * width + k]
    at += width
    for t in range(count):
        for k in range(width):
            x[t + 1, k] = 0
        for column in range(HISTORY_COLUMNS):
            start = at + (_STARTS[column] + np.int64(events[t, column])) * width
            for k in range(width):
                x[t + 1, k] += weights[start + k]
    at += EVENT_VECTORS * width
    for layer in range(layers):
        # Of the last layer only the first row is used.
        rows = 1 if layer == layers - 1 else tokens
        at = _normed(x, tokens, weights, at, width, seen)
        at = _linear(seen, rows, weights, at, width, width, queries)
        at = _linear(seen, tokens, weights, at, width, 2 * width, pairs)
        for t in range(tokens):
            for k in range(width):
                keys[k, t] = pairs[t, k]
        _attend(queries, rows, keys, pairs, tokens, heads, width, shares, seen)
        at = _linear(seen, rows, weights, at, width, width, queries)
        for t in range(rows):
            for k in range(width):
                x[t, k] += queries[t, k]
        at = _normed(x, rows, weights, at, width, seen)
        at = _linear(seen, rows, weights, at, width, WIDER * width, wide)
        for t in range(rows):
            for k in range(WIDER * width):
                wide[t, k] = max(wide[t, k], np.float32(0))
        at = _linear(wide, rows, weights, at, WIDER * width, width, queries)
        for t in range(rows):
            for k in range(width):
                x[t, k] += queries[t, k]
    _normed(x, 1, weights, at, width, seen)
    out[:] = seen[0]


@jit
def read_view(
    rules: Record, view: Record, order: np.ndarray, shape: np.ndarray, weights: np.ndarray,
    inputs: int, places: np.ndarray, events: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """The same of a view, whose suits are in this order; nothing without layers."""
    if shape[0] > 0:
        count = write_history(rules, view, order, False, events)
        read_events(shape, weights, inputs, places, events, count, out)


# -- its weights


def attention_parts(inputs: int, layers: int, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The names and shapes of the weights, in the order in which the pass reads them."""
    yield "state.weight", (width, inputs)
    yield "state.bias", (width,)
    yield "events", (EVENT_VECTORS, width)
    for layer in range(layers):
        for name, n, m in (
            ("before", 0, width),
            ("queries", width, width),
            ("pairs", width, 2 * width),
            ("out", width, width),
            ("between", 0, width),
            ("wide", width, WIDER * width),
            ("narrow", WIDER * width, width),
        ):
            yield f"blocks.{layer}.{name}.weight", (m, n) if n else (m,)
            yield f"blocks.{layer}.{name}.bias", (m,)
    yield "last.weight", (width,)
    yield "last.bias", (width,)


class Reading:
    """The transformer of a checkpoint as compiled code reads it; of no layers if there is none."""

    def __init__(self, network: NetworkCard, weights: Mapping[str, Array]) -> None:
        size = network.attention
        if size is None:
            self.width = 0
            self.shape = np.zeros(3, np.int64)
            self.weights = np.zeros(0, np.float32)
            return
        self.width = size.width
        self.shape = np.array([size.layers, size.heads, size.width], np.int64)
        found = []
        for part, _ in attention_parts(len(network.inputs), size.layers, size.width):
            array = weights[f"history.{part}"].astype(np.float32)
            # Of layers, a row for each input; the vectors of events stand as they are.
            found.append(array.T.ravel() if part.endswith("weight") else array.ravel())
        self.weights = np.concatenate(found)
