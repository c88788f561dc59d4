"""Compiled MLP inference with an incremental first layer.

The output of a row does not depend on the rows of its batch. The first layer adds up the weights of
the inputs that are one, since inputs are ones and zeros, few of them ones; it does so in int32
units, so that a row may start from the sums of the row before and add what is different (the
accumulator of NNUE: Nasu, "Efficiently Updatable Neural-Network-based Evaluation Functions for
Computer Shogi", 2018). The later layers are float32, added up in a fixed order, for two rows at a
time: reading the weights takes longer than the arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import jit
from ...common.typing import Array


class Layers(NamedTuple):
    """A network's numbers: widths, and for each layer a row for each input, then the biases."""

    sizes: np.ndarray
    weights: np.ndarray
    first: np.ndarray
    """Those of the first layer in whole units."""
    units: np.ndarray
    """How much a unit is in each of its columns."""


_MOST_UNITS = 2.0**30
"""No sum of a first layer's numbers comes to more."""


def new_layers(sizes: np.ndarray, weights: np.ndarray) -> Layers:
    """A network of these numbers, kept as float32."""
    weights = weights.astype(np.float32)
    first = weights[: (sizes[0] + 1) * sizes[1]].astype(np.float64).reshape(-1, sizes[1])
    # Integers, because their sums are exact in any order: added and subtracted in whatever sequence
    # rows come in, a first layer has the same value as one that is computed anew, and an agent
    # plays the same card on its own and in a batch. Floats would drift by rounding.
    units = (np.maximum(np.abs(first).sum(axis=0), 1e-20) / _MOST_UNITS).astype(np.float32)
    return Layers(sizes, weights, np.round(first / units).astype(np.int32).ravel(), units)


def layers_of(layers: Sequence[tuple[Array, Array]]) -> Layers:
    """A network of these weights, `(outputs, inputs)` each, and biases."""
    sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
    numbers = [each.astype(np.float32).T.ravel() for layer in layers for each in layer]
    return new_layers(np.array(sizes, np.int64), np.concatenate(numbers))


NO_LAYERS = new_layers(np.array([1, 1]), np.zeros(2))
"""Stands where no network is asked."""


class Hidden(NamedTuple):
    """Room for what is between the places and the last layer."""

    sums: np.ndarray
    """The first layer of the last row, in units, before it is rectified."""
    marks: np.ndarray
    """For each input, whether it was set in the last row."""
    come: np.ndarray
    """Which inputs are set and were not, and which were and are not."""
    gone: np.ndarray
    values: np.ndarray
    """`(2, 2, widest)`: of one layer and the next, of one row and another."""
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
    inputs, widest = sizes[0], sizes[1:].max()
    return Hidden(
        np.zeros(sizes[1], np.int32),
        np.zeros(inputs, np.uint8),
        np.zeros(inputs, np.int64),
        np.zeros(inputs, np.int64),
        np.zeros((2, 2, widest), np.float32),
        np.zeros(widest, np.int64),
    )


def new_rows(net: Layers, rows: int, most_places: int) -> Rows:
    """Room for a network."""
    return Rows(
        np.zeros((rows, most_places), np.int64),
        np.zeros(rows, np.int64),
        new_hidden(net.sizes),
        np.zeros((rows, net.sizes[-1]), np.float32),
    )


# Several rows of weights at a time, in order: each value is then read and written less often, and
# comes out the same to the last bit.


@jit
def _add(sums: np.ndarray, first: np.ndarray, places: np.ndarray, away: bool) -> None:
    """Add the rows of some places, or take them away."""
    m, count, at = len(sums), len(places), 0
    while at + 4 <= count:
        i, j, k, n = m * places[at], m * places[at + 1], m * places[at + 2], m * places[at + 3]
        a, b, c, d = first[i : i + m], first[j : j + m], first[k : k + m], first[n : n + m]
        for each in range(m):
            more = (a[each] + b[each]) + (c[each] + d[each])
            sums[each] += -more if away else more
        at += 4
    while at < count:
        i = m * places[at]
        a = first[i : i + m]
        for each in range(m):
            sums[each] += -a[each] if away else a[each]
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
def _add_times_both(
    y: np.ndarray, z: np.ndarray, weights: np.ndarray, places: np.ndarray, of_y: np.ndarray,
    of_z: np.ndarray,
) -> None:  # fmt: skip
    """The same for two rows."""
    m, count, at = len(y), len(places), 0
    while at + 3 <= count:
        i, j, k = places[at], places[at + 1], places[at + 2]
        a, b = weights[m * i : m * i + m], weights[m * j : m * j + m]
        c = weights[m * k : m * k + m]
        p, q, r = of_y[i], of_y[j], of_y[k]
        s, t, u = of_z[i], of_z[j], of_z[k]
        for each in range(m):
            y[each] = ((y[each] + p * a[each]) + q * b[each]) + r * c[each]
            z[each] = ((z[each] + s * a[each]) + t * b[each]) + u * c[each]
        at += 3
    while at < count:
        i = places[at]
        a, p, s = weights[m * i : m * i + m], of_y[i], of_z[i]
        for each in range(m):
            y[each] += p * a[each]
            z[each] += s * a[each]
        at += 1


@jit
def _begin(net: Layers, hidden: Hidden, places: np.ndarray) -> None:
    """The first layer, of a row alone."""
    n, m = net.sizes[0], net.sizes[1]
    for each in range(m):
        hidden.sums[each] = net.first[n * m + each]
    _add(hidden.sums, net.first, places, False)


@jit
def _change(net: Layers, hidden: Hidden, before: np.ndarray, places: np.ndarray) -> None:
    """The first layer, from that of the row before."""
    come, gone = 0, 0
    for place in before:
        hidden.marks[place] = 1
    for place in places:
        if hidden.marks[place]:
            hidden.marks[place] = 0
        else:
            hidden.come[come] = place
            come += 1
    for place in before:
        if hidden.marks[place]:
            hidden.gone[gone] = place
            gone += 1
            hidden.marks[place] = 0
    if come + gone >= len(places):
        _begin(net, hidden, places)
        return
    _add(hidden.sums, net.first, hidden.come[:come], False)
    _add(hidden.sums, net.first, hidden.gone[:gone], True)


@jit
def _rectify(values: np.ndarray) -> None:
    for each in range(len(values)):
        values[each] = max(values[each], np.float32(0))


@jit
def _in_numbers(net: Layers, sums: np.ndarray, values: np.ndarray) -> None:
    for each in range(len(sums)):
        values[each] = np.float32(sums[each]) * net.units[each]


@jit
def _go_on(net: Layers, hidden: Hidden, rows: int, out: np.ndarray, other: np.ndarray) -> None:
    """The layers after the first, of one row or of two at once, from the first one's values."""
    sizes = net.sizes
    last, at = len(sizes) - 2, (sizes[0] + 1) * sizes[1]
    for layer in range(1, last + 1):
        n, m = sizes[layer], sizes[layer + 1]
        bias = at + n * m
        weights = net.weights[at:bias]
        v, w = hidden.values[(layer - 1) & 1, 0, :n], hidden.values[(layer - 1) & 1, 1, :n]
        y, z = hidden.values[layer & 1, 0, :m], hidden.values[layer & 1, 1, :m]
        if layer == last:
            y, z = out, other
        for each in range(m):
            y[each] = net.weights[bias + each]
        count = 0
        if rows == 1:
            _rectify(v)
            for each in range(n):
                hidden.active[count] = each
                count += v[each] > 0
            _add_times(y, weights, hidden.active[:count], v)
        else:
            _rectify(v)
            _rectify(w)
            for each in range(m):
                z[each] = y[each]
            for each in range(n):
                hidden.active[count] = each
                count += (v[each] > 0) | (w[each] > 0)
            _add_times_both(y, z, weights, hidden.active[:count], v, w)
        at = bias + m


@jit
def forward(net: Layers, places: np.ndarray, hidden: Hidden, out: np.ndarray) -> None:
    """The last layer's values, in `out`, for inputs of which `places` are one."""
    _begin(net, hidden, places)
    if len(net.sizes) == 2:
        _in_numbers(net, hidden.sums, out)
        return
    _in_numbers(net, hidden.sums, hidden.values[0, 0])
    _go_on(net, hidden, 1, out, out)


@jit
def pass_rows(net: Layers, rows: Rows, count: int) -> None:
    """The last layer's values of the first `count` rows, in `rows.out`."""
    hidden, before = rows.hidden, rows.places[0, :0]
    for index in range(count):
        places = rows.places[index, : rows.counts[index]]
        if index == 0:
            _begin(net, hidden, places)
        else:
            _change(net, hidden, before, places)
        before = places
        if len(net.sizes) == 2:
            _in_numbers(net, hidden.sums, rows.out[index])
            continue
        _in_numbers(net, hidden.sums, hidden.values[0, index & 1])
        if index & 1:
            _go_on(net, hidden, 2, rows.out[index - 1], rows.out[index])
        elif index + 1 == count:
            _go_on(net, hidden, 1, rows.out[index], rows.out[index])
