"""Networks of rectifiers in compiled code.

Every row is added up by itself in a fixed order, so its result does not depend on the rows that
are asked about with it. The first layer adds up the weights of the places that are set, since
what networks read is ones and zeros, few of them ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine.compiled import jit


class Layers(NamedTuple):
    """A network's numbers: widths, and for each layer a row for each input, then the biases."""

    sizes: np.ndarray
    weights: np.ndarray


NO_LAYERS = Layers(np.array([1, 1]), np.zeros(2, np.float32))
"""Stands where no network is asked."""


class Hidden(NamedTuple):
    """Room for what is between the first layer and the last."""

    values: np.ndarray
    """`(2, widest)`"""
    active: np.ndarray
    """Which of them are above zero."""


class Rows(NamedTuple):
    """Room for so many rows on their way through a network."""

    places: np.ndarray
    """`(rows, most places)`: which inputs are one."""
    counts: np.ndarray
    """How many of them in each row."""
    hidden: Hidden
    out: np.ndarray
    """`(rows, outputs)`"""


@jit
def new_hidden(sizes: np.ndarray) -> Hidden:
    """Room for a network of these widths."""
    widest = sizes[1:].max()
    return Hidden(np.zeros((2, widest), np.float32), np.zeros(widest, np.int64))


def new_rows(net: Layers, rows: int, most_places: int) -> Rows:
    """Room for a network."""
    return Rows(
        np.zeros((rows, most_places), np.int64),
        np.zeros(rows, np.int64),
        new_hidden(net.sizes),
        np.zeros((rows, net.sizes[-1]), np.float32),
    )


# Four rows of weights at a time, in order: each value is then read and written a fourth as often,
# and comes out the same to the last bit.


@jit
def _add(y: np.ndarray, weights: np.ndarray, places: np.ndarray) -> None:
    """Add the rows of some places."""
    m, count, at = len(y), len(places), 0
    while at + 4 <= count:
        i, j, k, n = m * places[at], m * places[at + 1], m * places[at + 2], m * places[at + 3]
        a, b, c, d = weights[i : i + m], weights[j : j + m], weights[k : k + m], weights[n : n + m]
        for each in range(m):
            y[each] = (((y[each] + a[each]) + b[each]) + c[each]) + d[each]
        at += 4
    while at < count:
        i = m * places[at]
        a = weights[i : i + m]
        for each in range(m):
            y[each] += a[each]
        at += 1


@jit
def _add_times(y: np.ndarray, weights: np.ndarray, places: np.ndarray, x: np.ndarray) -> None:
    """Add the rows of some places, each times its value in `x`."""
    m, count, at = len(y), len(places), 0
    while at + 4 <= count:
        i, j, k, n = m * places[at], m * places[at + 1], m * places[at + 2], m * places[at + 3]
        a, b, c, d = weights[i : i + m], weights[j : j + m], weights[k : k + m], weights[n : n + m]
        p, q, r, s = x[places[at]], x[places[at + 1]], x[places[at + 2]], x[places[at + 3]]
        for each in range(m):
            y[each] = (((y[each] + p * a[each]) + q * b[each]) + r * c[each]) + s * d[each]
        at += 4
    while at < count:
        i, p = m * places[at], x[places[at]]
        a = weights[i : i + m]
        for each in range(m):
            y[each] += p * a[each]
        at += 1


@jit
def forward(
    sizes: np.ndarray, weights: np.ndarray, places: np.ndarray, hidden: Hidden, out: np.ndarray
) -> None:
    """The last layer's values, in `out`, for inputs of which `places` are one."""
    at = 0
    last = len(sizes) - 2
    for layer in range(last + 1):
        n, m = sizes[layer], sizes[layer + 1]
        bias = at + n * m
        y = out if layer == last else hidden.values[layer & 1, :m]
        for each in range(m):
            y[each] = weights[bias + each]
        if layer == 0:
            _add(y, weights, places)
        else:
            x, count = hidden.values[(layer - 1) & 1], 0
            for each in range(n):
                hidden.active[count] = each
                if x[each] > 0:
                    count += 1
            _add_times(y, weights[at:bias], hidden.active[:count], x)
        at = bias + m


@jit
def pass_rows(net: Layers, rows: Rows, count: int) -> None:
    """The last layer's values of the first `count` rows, in `rows.out`."""
    for index in range(count):
        places = rows.places[index, : rows.counts[index]]
        forward(net.sizes, net.weights, places, rows.hidden, rows.out[index])
