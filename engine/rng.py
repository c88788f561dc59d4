"""The engine's own random numbers: the same on every platform and NumPy version, for good.

SplitMix64 over a starting point that is hashed from a seed and a number, so
that deal 7 of seed 3 needs none of the deals before it. A stream is a
one-element `uint64` array that the functions move on.

Deals start their streams by a hash that can be run backwards. Streams that are
handed out start by `siphash`, under a key of 128 bits, which cannot: they tell
neither the key nor the number that they belong to.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np

from ..common.jit.bitset import ONE
from ..common.jit.compiler import COMPILED, jit

Key = np.ndarray[Any, Any]
"""A secret of 128 bits: an array of two `uint64`."""

KEY_BYTES = 16

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)

# SipHash: its four starting words, the length of two words as it is written into the last
# block, and the mark that ends a message.
_SIP_A = np.uint64(0x736F6D6570736575)
_SIP_B = np.uint64(0x646F72616E646F6D)
_SIP_C = np.uint64(0x6C7967656E657261)
_SIP_D = np.uint64(0x7465646279746573)
_SIP_LENGTH = np.uint64(16 << 56)
_SIP_END = np.uint64(0xFF)


if COMPILED:

    @jit
    def _plus(a: np.uint64, b: np.uint64) -> np.uint64:
        return a + b

    @jit
    def product(a: np.uint64, b: np.uint64) -> np.uint64:
        """The product's low 64 bits."""
        return a * b

else:
    # NumPy's numbers warn when they wrap around, which is what is wanted here.

    def _plus(a: np.uint64, b: np.uint64) -> np.uint64:
        return np.uint64((int(a) + int(b)) & 0xFFFFFFFFFFFFFFFF)

    def product(a: np.uint64, b: np.uint64) -> np.uint64:
        """The product's low 64 bits."""
        return np.uint64((int(a) * int(b)) & 0xFFFFFFFFFFFFFFFF)


@jit
def mixed(x: np.uint64) -> np.uint64:
    """A number's bits, thoroughly mixed (SplitMix64's finisher)."""
    x = product(x ^ (x >> np.uint64(30)), _MIX_A)
    x = product(x ^ (x >> np.uint64(27)), _MIX_B)
    return x ^ (x >> np.uint64(31))


@jit
def keyed(seed: np.uint64, number: np.uint64) -> np.uint64:
    """The start of stream `number` of a seed; keys can be chained to add parts."""
    return mixed(mixed(_plus(seed, _STEP)) ^ product(_plus(number, ONE), _MIX_B))


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


# -- one way


@jit
def _rotated(x: np.uint64, bits: np.uint64) -> np.uint64:
    return (x << bits) | (x >> (np.uint64(64) - bits))


@jit
def _sip_round(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    a = _plus(a, b)
    b = _rotated(b, np.uint64(13)) ^ a
    a = _rotated(a, _32)
    c = _plus(c, d)
    d = _rotated(d, np.uint64(16)) ^ c
    a = _plus(a, d)
    d = _rotated(d, np.uint64(21)) ^ a
    c = _plus(c, b)
    b = _rotated(b, np.uint64(17)) ^ c
    c = _rotated(c, _32)
    return a, b, c, d


@jit
def siphash(key: np.ndarray, first: np.uint64, second: np.uint64) -> np.uint64:
    """SipHash-2-4 (Aumasson and Bernstein, 2012) of two words, under a `Key`.

    Whoever sees any number of its values learns neither the key nor a further value.
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


def key_of_bytes(secret: bytes) -> Key:
    """The key that 16 bytes hold."""
    if len(secret) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes, and {len(secret)} were given")
    return np.frombuffer(secret, "<u8").astype(np.uint64)


def secret_of_seed(seed: int, purpose: str) -> bytes:
    """The bytes of a key that follows from a seed, one for each purpose, by BLAKE2.

    It is as secret as the seed: one that is small can be found by trying.
    """
    told = int(seed).to_bytes(8, "little")
    return hashlib.blake2b(told, digest_size=KEY_BYTES, person=purpose.encode()).digest()


def fresh_secret() -> bytes:
    """The bytes of a key that nobody knows."""
    return secrets.token_bytes(KEY_BYTES)
