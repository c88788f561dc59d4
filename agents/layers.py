"""Networks of rectifiers asked many things at once, in compiled code.

Each row is added up in an order of its own, so its result does not depend on the rows beside
it; but a layer's weights are read once for a block of rows, which is what they cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine.compiled import jit

BLOCK = 8


class Layers(NamedTuple):
    """A network's numbers: widths, and for each layer a row for each input, then the biases."""

    sizes: np.ndarray
    weights: np.ndarray


class Rows(NamedTuple):
    """Room for so many rows on their way through a network."""

    places: np.ndarray
    """`(rows, most places)`: which inputs are one."""
    counts: np.ndarray
    """How many of them in each row."""
    hidden: np.ndarray
    """`(2, BLOCK, widest)`"""
    out: np.ndarray
    """`(rows, outputs)`"""


def new_rows(net: Layers, rows: int, most_places: int) -> Rows:
    """Room for a network."""
    return Rows(
        np.zeros((rows, most_places), np.int16),
        np.zeros(rows, np.int64),
        np.zeros((2, BLOCK, net.sizes[1:].max()), np.float32),
        np.zeros((rows, net.sizes[-1]), np.float32),
    )


@jit
def _add_row(y: np.ndarray, factor: np.float32, weights: np.ndarray) -> None:
    for k in range(len(y)):
        y[k] += factor * weights[k]


@jit
def _take_row(y: np.ndarray, weights: np.ndarray) -> None:
    for k in range(len(y)):
        y[k] += weights[k]


@jit
def pass_rows(net: Layers, rows: Rows, count: int) -> None:
    """The last layer's values of the first `count` rows, in `rows.out`."""
    sizes, weights = net.sizes, net.weights
    last = len(sizes) - 2
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        at = 0
        for layer in range(last + 1):
            n, m = sizes[layer], sizes[layer + 1]
            bias = weights[at + n * m : at + n * m + m]
            y = rows.out[first : first + size] if layer == last else rows.hidden[layer & 1]
            for r in range(size):
                y[r, :m] = bias
            if layer == 0:
                for r in range(size):
                    row = y[r, :m]
                    for place in rows.places[first + r, : rows.counts[first + r]]:
                        start = place * m
                        _take_row(row, weights[start : start + m])
            else:
                x = rows.hidden[(layer - 1) & 1]
                for j in range(n):
                    inner = weights[at + j * m : at + j * m + m]
                    for r in range(size):
                        value = x[r, j]
                        if value > 0:
                            _add_row(y[r, :m], value, inner)
            at += (n + 1) * m
