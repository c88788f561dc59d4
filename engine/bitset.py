# pyright: reportRedeclaration=false, reportReturnType=false
"""Card sets as 64-bit numbers: bit `card` is set when the card is in the set.

Everything stays `uint64`, shift counts included: numba widens mixed signed and unsigned arithmetic
to floating point. Counting and finding bits take one machine instruction each; plain Python twins
serve when the compiler is off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.jit.compiler import COMPILED, jit

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing.templates import Signature

    from ..common.typing import Array

ONE = np.uint64(1)
SUIT_BITS = np.uint64(0x1FFF)
NO_CARDS = np.uint64(0)

if COMPILED:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    Intrinsic = tuple["Signature", Callable[..., ir.Value]]
    """Types of an operation's result and arguments, and a function that writes its LLVM IR."""

    def _of_set(emit: Callable[[Any, ir.Value], ir.Value]) -> Intrinsic:
        """A function from a set to an integer: an instruction or two of LLVM."""

        def generate(
            context: BaseContext,
            builder: ir.IRBuilder,
            signature: Signature,
            arguments: list[ir.Value],
        ) -> ir.Value:
            return emit(builder, arguments[0])

        return types.int64(types.uint64), generate

    _UNDEFINED_FOR_ZERO = ir.Constant(ir.IntType(1), 1)

    @intrinsic
    def popcount(typing_context: object, cards: types.Type) -> Intrinsic:
        """Number of cards in a set."""
        return _of_set(lambda builder, cards: builder.ctpop(cards))

    @intrinsic
    def lowest(typing_context: object, cards: types.Type) -> Intrinsic:
        """Lowest card id in a non-empty set."""
        return _of_set(lambda builder, cards: builder.cttz(cards, _UNDEFINED_FOR_ZERO))

    @intrinsic
    def highest(typing_context: object, cards: types.Type) -> Intrinsic:
        """Highest card id in a non-empty set."""
        last = ir.Constant(ir.IntType(64), 63)
        return _of_set(
            lambda builder, cards: builder.sub(last, builder.ctlz(cards, _UNDEFINED_FOR_ZERO))
        )

    @intrinsic(prefer_literal=True)
    def write_bits(
        typing_context: object,
        out: types.Array,
        at: types.Type,
        bits: types.Type,
        size: types.IntegerLiteral,
    ) -> Intrinsic:
        """Write the lowest `size` bits as zeros and ones into int8 `out` from index `at`."""
        assert (out.layout, out.dtype) == ("C", types.int8)
        places = range(size.literal_value)
        width, byte = len(places), ir.IntType(8)

        def generate(
            context: BaseContext,
            builder: Any,
            signature: Signature,
            arguments: list[ir.Value],
        ) -> ir.Value:
            # Gather the byte of each bit and test the bit in it: a few vector instructions, where
            # a loop over the bits would compile to many times as many.
            array, start, mask, _ = arguments
            data = context.make_array(signature.args[0])(context, builder, array).data
            bytes_ = builder.bitcast(mask, ir.VectorType(byte, 8))
            byte_indices = ir.Constant(
                ir.VectorType(ir.IntType(32), width), [place // 8 for place in places]
            )
            bits = builder.shuffle_vector(
                bytes_, ir.Constant(bytes_.type, ir.Undefined), byte_indices
            )
            bits = builder.and_(bits, ir.Constant(bits.type, [1 << place % 8 for place in places]))
            bits = builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, [0] * width))
            bits = builder.zext(bits, ir.VectorType(byte, width))
            target = builder.bitcast(builder.gep(data, [start]), bits.type.as_pointer())
            builder.store(bits, target, align=1)
            return context.get_dummy_value()

        return types.void(out, types.int64, types.uint64, size), generate

else:

    def popcount(cards: np.uint64) -> int:
        """Number of cards in a set."""
        return int(cards).bit_count()

    def lowest(cards: np.uint64) -> int:
        """Lowest card id in a non-empty set."""
        return (int(cards) & -int(cards)).bit_length() - 1

    def highest(cards: np.uint64) -> int:
        """Highest card id in a non-empty set."""
        return int(cards).bit_length() - 1

    def write_bits(out: Array, at: int, bits: np.uint64, size: int) -> None:
        """Write the lowest `size` bits as zeros and ones into int8 `out` from index `at`."""
        for index in range(size):
            out[at + index] = int(bits) >> index & 1


@jit
def bit(card: int) -> np.uint64:
    return ONE << np.uint64(card)


@jit
def suit_set(suit: int) -> np.uint64:
    return SUIT_BITS << np.uint64(13 * suit)


@jit
def suit_part(cards: np.uint64, suit: int) -> np.uint64:
    """Cards of one suit in a set, as thirteen bits by rank."""
    return (cards >> np.uint64(13 * suit)) & SUIT_BITS


@jit
def nth_lowest(cards: np.uint64, n: int) -> int:
    """The card of a set (a `uint64`) that has exactly `n` lower cards in it."""
    for _ in range(n):
        cards &= cards - ONE
    return lowest(cards)
