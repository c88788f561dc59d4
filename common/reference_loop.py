"""A fixed piece of work: its processor time tells how fast a core is, and at that moment.

Seconds of two machines do not compare, nor do those of one machine when its other cores are busy.
Multiples of this loop come closer: it draws random numbers with integers, as games do, and
multiplies small matrices, as networks do.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np

from .jit.compiler import jit

_SIZE, _ROUNDS, _REPEATS = 64, 4_000, 3
_CACHE_LINE = 64
"""Bytes."""
_SEED = 88_172_645_463_325_252


@jit
def reference_work(
    left: np.ndarray, right: np.ndarray, out: np.ndarray, seed: np.uint64, rounds: int
) -> float:
    """Fill two matrices with random numbers (xorshift) and multiply them, so many times."""
    size, state, total = len(left), np.uint64(seed), 0.0
    for _ in range(rounds):
        for i in range(size):
            for j in range(size):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                left[i, j] = np.float32(np.int64(state & np.uint64(1023)) - 512)
                right[i, j] = np.float32(np.int64((state >> np.uint64(10)) & np.uint64(1023)) - 512)
                out[i, j] = np.float32(0)
        for i in range(size):
            for k in range(size):
                factor = left[i, k]
                for j in range(size):
                    out[i, j] += factor * right[k, j]
        total += np.float64(out[size - 1, size - 1])
    return total


def reference_seconds() -> float:
    """Processor seconds of the loop in this thread: the median of some repetitions."""
    left, right, out = (_new_matrix() for _ in range(3))
    seed = np.uint64(_SEED)
    reference_work(left, right, out, seed, 1)  # compiled before it is timed
    times: list[float] = []
    for _ in range(_REPEATS):
        began = time.thread_time()
        reference_work(left, right, out, seed, _ROUNDS)
        times.append(time.thread_time() - began)
    return round(median(times), 5)


def _new_matrix() -> np.ndarray:
    """A matrix of zeros that begins at a cache line.

    Elsewhere each row of a product is written across two lines, and the loop takes twice as long.
    """
    size = _SIZE * _SIZE * np.dtype(np.float32).itemsize
    memory = np.zeros(size + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + size].view(np.float32).reshape(_SIZE, _SIZE)
