# pyright: reportReturnType=false
"""Random streams of the engine, identical on every platform and NumPy version.

SplitMix64 (Steele, Lea and Flood, 2014), started at a hash of seed and number, so that deal 7 of
seed 3 does not depend on earlier deals. A stream is a one-element `uint64` array that the functions
advance.

The hash for deals is invertible. Streams that agents receive start at `siphash` under a 128-bit
key, which is one-way: they reveal neither the key nor the number of the deal.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from ..common.jit.compiler import COMPILED, jit
from ..common.typing import Array
from .bitset import ONE

SipKey = Array
"""A 128-bit key: an array of two `uint64`."""

KEY_BYTES = 16

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)

# SipHash: initial state, the length of two words in the last block, and the finalization constant.
_SIP_A = np.uint64(0x736F6D6570736575)
_SIP_B = np.uint64(0x646F72616E646F6D)
_SIP_C = np.uint64(0x6C7967656E657261)
_SIP_D = np.uint64(0x7465646279746573)
_SIP_LENGTH = np.uint64(16 << 56)
_SIP_END = np.uint64(0xFF)


if COMPILED:

    @jit
    def _add(a: np.uint64, b: np.uint64) -> np.uint64:
        return a + b

    @jit
    def mul64(a: np.uint64, b: np.uint64) -> np.uint64:
        return a * b

else:
    # NumPy scalars would warn about the intended overflow.

    def _add(a: np.uint64, b: np.uint64) -> np.uint64:
        return np.uint64((int(a) + int(b)) & 0xFFFFFFFFFFFFFFFF)

    def mul64(a: np.uint64, b: np.uint64) -> np.uint64:
        return np.uint64((int(a) * int(b)) & 0xFFFFFFFFFFFFFFFF)


@jit
def mix64(x: np.uint64) -> np.uint64:
    """Finalizer of SplitMix64: mixes the bits of a number."""
    x = mul64(x ^ (x >> np.uint64(30)), _MIX_A)
    x = mul64(x ^ (x >> np.uint64(27)), _MIX_B)
    return x ^ (x >> np.uint64(31))


@jit
def hash_with(key: np.uint64, word: np.uint64) -> np.uint64:
    """Hash of a key and one more word, as of an information set and the next event."""
    return mix64(mix64(_add(key, _STEP)) ^ mul64(_add(word, ONE), _MIX_B))


@jit
def stream_state(seed: np.uint64, number: np.uint64) -> np.uint64:
    """Start of stream `number` of a seed; the state of a stream is the seed of further ones."""
    return hash_with(seed, number)


@jit
def random_below(stream: np.ndarray, n: int) -> int:
    """Uniform integer from 0 to n - 1, without bias (Lemire, 2019)."""
    size = np.uint64(n)
    while True:
        stream[0] = _add(stream[0], _STEP)
        product = (mix64(stream[0]) >> _32) * size
        low = product & _LOW_HALF
        if low >= size or low >= (np.uint64(0x100000000) - size) % size:
            return np.int64(product >> _32)


@jit
def random_fraction(stream: np.ndarray) -> float:
    """Uniform float in [0, 1)."""
    stream[0] = _add(stream[0], _STEP)
    return np.float64(mix64(stream[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


# -- one-way streams


@jit
def _rotate_left(x: np.uint64, bits: np.uint64) -> np.uint64:
    return (x << bits) | (x >> (np.uint64(64) - bits))


@jit
def _sip_round(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a = _add(a, b)
    b = _rotate_left(b, np.uint64(13)) ^ a
    a = _rotate_left(a, _32)
    c = _add(c, d)
    d = _rotate_left(d, np.uint64(16)) ^ c
    a = _add(a, d)
    d = _rotate_left(d, np.uint64(21)) ^ a
    c = _add(c, b)
    b = _rotate_left(b, np.uint64(17)) ^ c
    c = _rotate_left(c, _32)
    return a, b, c, d


@jit
def siphash(key: np.ndarray, first: np.uint64, second: np.uint64) -> np.uint64:
    """SipHash-2-4 (Aumasson and Bernstein, 2012) of two words under a `SipKey`.

    Its values reveal neither the key nor further values.
    """
    a, b = key[0] ^ _SIP_A, key[1] ^ _SIP_B
    c, d = key[0] ^ _SIP_C, key[1] ^ _SIP_D
    for block in range(3):
        word = first if block == 0 else second if block == 1 else _SIP_LENGTH
        d ^= word
        for _ in range(2):
            a, b, c, d = _sip_round(a, b, c, d)
        a ^= word
    c ^= _SIP_END
    for _ in range(4):
        a, b, c, d = _sip_round(a, b, c, d)
    return a ^ b ^ c ^ d


def key_of_bytes(secret: bytes) -> SipKey:
    if len(secret) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes, and {len(secret)} were given")
    return np.frombuffer(secret, "<u8").astype(np.uint64)


def secret_of_seed(seed: int, purpose: str) -> bytes:
    """Key bytes derived from a seed by BLAKE2, one key for each purpose.

    They are as secret as the seed: a small seed can be guessed.
    """
    seed_bytes = int(seed).to_bytes(8, "little")
    return hashlib.blake2b(seed_bytes, digest_size=KEY_BYTES, person=purpose.encode()).digest()


def fresh_secret() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


@jit
def sample_index(weights: np.ndarray, left: float) -> int:
    """The index at which the running sum of weights exceeds `left`, a random part of their sum."""
    chosen = -1
    for index in range(len(weights)):
        # The last index that has a weight is taken where rounding leaves something over.
        if weights[index] != 0.0:
            chosen = index
            left -= weights[index]
            if left < 0:
                break
    return chosen
