"""The engine's own random numbers: the same on every platform and NumPy version, for good.

SplitMix64 over a starting point that is hashed from a seed and a number, so
that deal 7 of seed 3 needs none of the deals before it. A stream is a
one-element `uint64` array that the functions move on.
"""

from __future__ import annotations

import numpy as np

from .bits import ONE
from .compiled import COMPILED, jit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


if COMPILED:

    @jit
    def _plus(a: np.uint64, b: np.uint64) -> np.uint64:
        return a + b

    @jit
    def _times(a: np.uint64, b: np.uint64) -> np.uint64:
        return a * b

else:
    # NumPy's numbers warn when they wrap around, which is what is wanted here.

    def _plus(a: np.uint64, b: np.uint64) -> np.uint64:
        return np.uint64((int(a) + int(b)) & 0xFFFFFFFFFFFFFFFF)

    def _times(a: np.uint64, b: np.uint64) -> np.uint64:
        return np.uint64((int(a) * int(b)) & 0xFFFFFFFFFFFFFFFF)


@jit
def mixed(x: np.uint64) -> np.uint64:
    """A number's bits, thoroughly mixed (SplitMix64's finisher)."""
    x = _times(x ^ (x >> np.uint64(30)), _MIX_A)
    x = _times(x ^ (x >> np.uint64(27)), _MIX_B)
    return x ^ (x >> np.uint64(31))


@jit
def keyed(seed: np.uint64, number: np.uint64) -> np.uint64:
    """The start of stream `number` of a seed; keys can be chained to add parts."""
    return mixed(mixed(_plus(seed, _STEP)) ^ _times(_plus(number, ONE), _MIX_B))


@jit
def below(stream: np.ndarray, n: int) -> int:
    """A whole number from 0 to n - 1, every one exactly equally likely."""
    size = np.uint64(n)
    while True:
        stream[0] = _plus(stream[0], _STEP)
        product = (mixed(stream[0]) >> _32) * size
        low = product & _LOW_HALF
        if low >= size or low >= (np.uint64(0x100000000) - size) % size:
            return np.int64(product >> _32)


@jit
def fraction(stream: np.ndarray) -> float:
    """A number from 0 up to, not including, 1."""
    stream[0] = _plus(stream[0], _STEP)
    return np.float64(mixed(stream[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
