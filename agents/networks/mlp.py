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
from hashlib import sha256
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ...common.jit.compiler import jit
from ...common.typing import Array


class MLPWeights(NamedTuple):
    """MLP weights: layer widths, and for each layer one row per input, then the biases."""

    sizes: np.ndarray
    weights: np.ndarray
    first_layer: np.ndarray
    """The first layer as integers."""
    scales: np.ndarray
    """Scale of each column of `first_layer`."""


_MAX_SUM = 2.0**30


def pack_mlp(sizes: np.ndarray, weights: np.ndarray) -> MLPWeights:
    weights = weights.astype(np.float32)
    first_layer = weights[: (sizes[0] + 1) * sizes[1]].astype(np.float64).reshape(-1, sizes[1])
    # Integers, because their sums are exact in any order: added and subtracted in whatever sequence
    # rows come in, a first layer has the same value as one that is computed anew, and an agent
    # plays the same card on its own and in a batch. Floats would drift by rounding.
    scales = (np.maximum(np.abs(first_layer).sum(axis=0), 1e-20) / _MAX_SUM).astype(np.float32)
    units = np.round(first_layer / scales).astype(np.int32).ravel()
    return MLPWeights(sizes, _shared(weights), _shared(units), scales)


_in_use: WeakValueDictionary[bytes, Array] = WeakValueDictionary()


def _shared(weights: Array) -> Array:
    """Equal weights that are in use already, if any: each network is in memory once."""
    return _in_use.setdefault(sha256(weights.data).digest() + weights.dtype.char.encode(), weights)


def mlp_weights(layers: Sequence[tuple[Array, Array]]) -> MLPWeights:
    """MLP weights from `(outputs, inputs)` matrices and biases."""
    sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
    numbers = [array.astype(np.float32).T.ravel() for layer in layers for array in layer]
    return pack_mlp(np.array(sizes, np.int64), np.concatenate(numbers))


NO_MLP = pack_mlp(np.array([1, 1]), np.zeros(2))
"""Placeholder where no network is used."""


class ForwardBuffers(NamedTuple):
    """Buffers of a forward pass between inputs and output."""

    accumulator: np.ndarray
    """The first layer of the last row, as integers before the ReLU."""
    was_active: np.ndarray
    """For each input, whether it was active in the last row."""
    added: np.ndarray
    """Inputs that became active since the last row, and that became inactive."""
    removed: np.ndarray
    values: np.ndarray
    """`(2, 2, widest)`: input and output of a layer, for two rows."""
    active: np.ndarray


class MLPBatch(NamedTuple):
    """Buffers of a batch of rows."""

    active_inputs: np.ndarray
    """`(rows, max_active)`: indices of the inputs that are one."""
    n_active: np.ndarray
    buffers: ForwardBuffers
    out: np.ndarray


def new_forward_buffers(sizes: np.ndarray) -> ForwardBuffers:
    inputs, widest = int(sizes[0]), int(sizes[1:].max())
    return ForwardBuffers(
        accumulator=np.zeros(sizes[1], np.int32),
        was_active=np.zeros(inputs, np.uint8),
        added=np.zeros(inputs, np.int64),
        removed=np.zeros(inputs, np.int64),
        values=np.zeros((2, 2, widest), np.float32),
        active=np.zeros(widest, np.int64),
    )


def new_mlp_batch(net: MLPWeights, rows: int, max_active: int) -> MLPBatch:
    return MLPBatch(
        np.zeros((rows, max_active), np.int64),
        np.zeros(rows, np.int64),
        new_forward_buffers(net.sizes),
        np.zeros((rows, net.sizes[-1]), np.float32),
    )


# Several rows of weights at a time, in order: each value is then read and written less often, and
# comes out the same to the last bit.


@jit
def _add_rows(sums: np.ndarray, first: np.ndarray, active: np.ndarray, subtract: bool) -> None:
    m, count, pos = len(sums), len(active), 0
    while pos + 4 <= count:
        i, j, k, n = m * active[pos], m * active[pos + 1], m * active[pos + 2], m * active[pos + 3]
        a, b, c, d = first[i : i + m], first[j : j + m], first[k : k + m], first[n : n + m]
        for unit in range(m):
            total = (a[unit] + b[unit]) + (c[unit] + d[unit])
            sums[unit] += -total if subtract else total
        pos += 4
    while pos < count:
        i = m * active[pos]
        a = first[i : i + m]
        for unit in range(m):
            sums[unit] += -a[unit] if subtract else a[unit]
        pos += 1


@jit
def _add_scaled_rows(y: np.ndarray, weights: np.ndarray, active: np.ndarray, x: np.ndarray) -> None:
    m, count, pos = len(y), len(active), 0
    while pos + 4 <= count:
        i, j, k, n = m * active[pos], m * active[pos + 1], m * active[pos + 2], m * active[pos + 3]
        a, b, c, d = weights[i : i + m], weights[j : j + m], weights[k : k + m], weights[n : n + m]
        p, q, r, s = x[active[pos]], x[active[pos + 1]], x[active[pos + 2]], x[active[pos + 3]]
        for unit in range(m):
            y[unit] = (((y[unit] + p * a[unit]) + q * b[unit]) + r * c[unit]) + s * d[unit]
        pos += 4
    while pos < count:
        i, p = m * active[pos], x[active[pos]]
        a = weights[i : i + m]
        for unit in range(m):
            y[unit] += p * a[unit]
        pos += 1


@jit
def _add_scaled_rows_pair(
    y: np.ndarray,
    z: np.ndarray,
    weights: np.ndarray,
    active: np.ndarray,
    y_inputs: np.ndarray,
    z_inputs: np.ndarray,
) -> None:
    m, count, pos = len(y), len(active), 0
    while pos + 3 <= count:
        i, j, k = active[pos], active[pos + 1], active[pos + 2]
        a, b = weights[m * i : m * i + m], weights[m * j : m * j + m]
        c = weights[m * k : m * k + m]
        p, q, r = y_inputs[i], y_inputs[j], y_inputs[k]
        s, t, u = z_inputs[i], z_inputs[j], z_inputs[k]
        for unit in range(m):
            y[unit] = ((y[unit] + p * a[unit]) + q * b[unit]) + r * c[unit]
            z[unit] = ((z[unit] + s * a[unit]) + t * b[unit]) + u * c[unit]
        pos += 3
    while pos < count:
        i = active[pos]
        a, p, s = weights[m * i : m * i + m], y_inputs[i], z_inputs[i]
        for unit in range(m):
            y[unit] += p * a[unit]
            z[unit] += s * a[unit]
        pos += 1


@jit
def _refresh_accumulator(
    net: MLPWeights, buffers: ForwardBuffers, active_inputs: np.ndarray
) -> None:
    n, m = net.sizes[0], net.sizes[1]
    for unit in range(m):
        buffers.accumulator[unit] = net.first_layer[n * m + unit]
    _add_rows(buffers.accumulator, net.first_layer, active_inputs, False)


@jit
def _update_accumulator(
    net: MLPWeights, buffers: ForwardBuffers, previous_inputs: np.ndarray, active_inputs: np.ndarray
) -> None:
    """Compute the first layer from that of the previous row, if that is less work."""
    n_added, n_removed = 0, 0
    for index in previous_inputs:
        buffers.was_active[index] = 1
    for index in active_inputs:
        if buffers.was_active[index]:
            buffers.was_active[index] = 0
        else:
            buffers.added[n_added] = index
            n_added += 1
    for index in previous_inputs:
        if buffers.was_active[index]:
            buffers.removed[n_removed] = index
            n_removed += 1
            buffers.was_active[index] = 0
    if n_added + n_removed >= len(active_inputs):
        _refresh_accumulator(net, buffers, active_inputs)
        return
    _add_rows(buffers.accumulator, net.first_layer, buffers.added[:n_added], False)
    _add_rows(buffers.accumulator, net.first_layer, buffers.removed[:n_removed], True)


@jit
def _relu(values: np.ndarray) -> None:
    for index in range(len(values)):
        values[index] = max(values[index], np.float32(0))


@jit
def _dequantize(net: MLPWeights, accumulator: np.ndarray, values: np.ndarray) -> None:
    for unit in range(len(accumulator)):
        values[unit] = np.float32(accumulator[unit]) * net.scales[unit]


@jit
def _forward_hidden_layers(
    net: MLPWeights, buffers: ForwardBuffers, n_rows: int, out: np.ndarray, second_out: np.ndarray
) -> None:
    """Compute the later layers, for one row or two at once."""
    sizes = net.sizes
    last, offset = len(sizes) - 2, (sizes[0] + 1) * sizes[1]
    for layer in range(1, last + 1):
        n, m = sizes[layer], sizes[layer + 1]
        bias = offset + n * m
        weights = net.weights[offset:bias]
        v, w = buffers.values[(layer - 1) & 1, 0, :n], buffers.values[(layer - 1) & 1, 1, :n]
        y, z = buffers.values[layer & 1, 0, :m], buffers.values[layer & 1, 1, :m]
        if layer == last:
            y, z = out, second_out
        for unit in range(m):
            y[unit] = net.weights[bias + unit]
        count = 0
        if n_rows == 1:
            _relu(v)
            for unit in range(n):
                buffers.active[count] = unit
                count += v[unit] > 0
            _add_scaled_rows(y, weights, buffers.active[:count], v)
        else:
            _relu(v)
            _relu(w)
            for unit in range(m):
                z[unit] = y[unit]
            for unit in range(n):
                buffers.active[count] = unit
                count += (v[unit] > 0) | (w[unit] > 0)
            _add_scaled_rows_pair(
                y=y,
                z=z,
                weights=weights,
                active=buffers.active[:count],
                y_inputs=v,
                z_inputs=w,
            )
        offset = bias + m


@jit
def forward(
    net: MLPWeights, active_inputs: np.ndarray, buffers: ForwardBuffers, out: np.ndarray
) -> None:
    """Write the output for the active inputs to `out`."""
    _refresh_accumulator(net, buffers, active_inputs)
    if len(net.sizes) == 2:
        _dequantize(net, buffers.accumulator, out)
        return
    _dequantize(net, buffers.accumulator, buffers.values[0, 0])
    _forward_hidden_layers(net, buffers, 1, out, out)


@jit
def forward_rows(net: MLPWeights, rows: MLPBatch, count: int) -> None:
    """Write the outputs of the first `count` rows to `rows.out`."""
    buffers, previous_inputs = rows.buffers, rows.active_inputs[0, :0]
    for index in range(count):
        active_inputs = rows.active_inputs[index, : rows.n_active[index]]
        if index == 0:
            _refresh_accumulator(net, buffers, active_inputs)
        else:
            _update_accumulator(net, buffers, previous_inputs, active_inputs)
        previous_inputs = active_inputs
        if len(net.sizes) == 2:
            _dequantize(net, buffers.accumulator, rows.out[index])
            continue
        _dequantize(net, buffers.accumulator, buffers.values[0, index & 1])
        if index & 1:
            _forward_hidden_layers(net, buffers, 2, rows.out[index - 1], rows.out[index])
        elif index + 1 == count:
            _forward_hidden_layers(net, buffers, 1, rows.out[index], rows.out[index])
