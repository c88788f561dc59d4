"""Card sets as 64-bit numbers: bit `card` is set when the card is in the set.

Everything stays `uint64`, shift counts included: numba widens mixed signed and
unsigned arithmetic to floating point. Counting and finding bits are one machine
instruction each, writing them out is a few; plain Python twins serve when the compiler is off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import COMPILED, jit

ONE = np.uint64(1)
SUIT_BITS = np.uint64(0x1FFF)
NO_CARDS = np.uint64(0)

if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def popcount(typing_context: Any, cards: Any) -> Any:
        """How many cards a set holds."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def lowest(typing_context: Any, cards: Any) -> Any:
        """The lowest card id in a set that is not empty."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), generate

    @intrinsic
    def highest(typing_context: Any, cards: Any) -> Any:
        """The highest card id in a set that is not empty."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
            return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

        return types.int64(types.uint64), generate

    @intrinsic(prefer_literal=True)
    def write_bits(typing_context: Any, out: Any, at: Any, bits: Any, size: Any) -> Any:
        """Write the lowest `size` bits, a constant, as ones and zeros into int8 `out` from `at`."""
        assert (out.layout, out.dtype) == ("C", types.int8)
        places = range(size.literal_value)
        many, byte = len(places), ir.IntType(8)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            # Each place gets the byte that its bit is in, and looks whether the bit is set there:
            # a few vector instructions. A loop over the places becomes many times as many.
            rows, start, number, _ = arguments
            data = context.make_array(signature.args[0])(context, builder, rows).data
            source = builder.bitcast(number, ir.VectorType(byte, 8))
            which = ir.Constant(ir.VectorType(ir.IntType(32), many), [each // 8 for each in places])
            found = builder.shuffle_vector(source, ir.Constant(source.type, ir.Undefined), which)
            found = builder.and_(found, ir.Constant(found.type, [1 << each % 8 for each in places]))
            found = builder.icmp_unsigned("!=", found, ir.Constant(found.type, [0] * many))
            found = builder.zext(found, ir.VectorType(byte, many))
            target = builder.bitcast(builder.gep(data, [start]), found.type.as_pointer())
            builder.store(found, target, align=1)
            return context.get_dummy_value()

        return types.void(out, types.int64, types.uint64, size), generate

else:

    def popcount(cards: np.uint64) -> int:
        """How many cards a set holds."""
        return int(cards).bit_count()

    def lowest(cards: np.uint64) -> int:
        """The lowest card id in a set that is not empty."""
        return (int(cards) & -int(cards)).bit_length() - 1

    def highest(cards: np.uint64) -> int:
        """The highest card id in a set that is not empty."""
        return int(cards).bit_length() - 1

    def write_bits(out: np.ndarray[Any, Any], at: int, bits: np.uint64, size: int) -> None:
        """Write the lowest `size` bits as ones and zeros into `out` from `at`."""
        for index in range(size):
            out[at + index] = int(bits) >> index & 1


@jit
def bit(card: int) -> np.uint64:
    """The set that holds one card."""
    return ONE << np.uint64(card)


@jit
def suit_set(suit: int) -> np.uint64:
    """All thirteen cards of a suit."""
    return SUIT_BITS << np.uint64(13 * suit)


@jit
def suit_part(cards: np.uint64, suit: int) -> np.uint64:
    """The cards of a suit that a set holds, as thirteen bits by rank."""
    return (cards >> np.uint64(13 * suit)) & SUIT_BITS


@jit
def nth_lowest(cards: np.uint64, n: int) -> int:
    """The card with exactly `n` lower ones in the set."""
    for _ in range(n):
        cards &= cards - ONE
    return lowest(cards)
