"""How far functions are compiled: those that only compiled code calls stop before machine code."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from german_whist.engine.compiled import COMPILED, called, inlined, jit

if not COMPILED:
    pytest.skip("the compiler is off", allow_module_level=True)


@jit
def squared(x: int) -> int:
    return x * x


@jit
def _inner(x: int) -> int:
    total = 0
    for i in range(x):
        total += squared(i) % 7
    return total


@inlined
def _around(x: int) -> int:
    return _inner(x) + 1


@called
def _large(x: int) -> int:
    return _inner(x + 1)


@jit
def entrance(x: int) -> int:
    return _around(x) + _large(0) + _large(x)


def dispatcher(function: Any) -> Any:
    """The same without the type that the decorator leaves it."""
    return function


def attributes(function: Any) -> bytes:
    """What LLVM is told about a function that compiled code calls."""
    (made,) = dispatcher(function)._part.overloads.values()
    return b" ".join(made.library.get_function(made.fndesc.mangled_name).attributes)


def plainly(x: int) -> int:
    def inner(n: int) -> int:
        return sum(i * i % 7 for i in range(n))

    return inner(x) + 1 + inner(1) + inner(x + 1)


def test_only_what_python_calls_becomes_machine_code() -> None:
    assert entrance(9) == plainly(9)
    assert len(dispatcher(entrance).overloads) == 1
    assert not dispatcher(entrance)._part.overloads
    for function in map(dispatcher, (_inner, _around, _large)):
        assert not function.overloads
        (made,) = function._part.overloads.values()
        assert not hasattr(made.library, "_compiled_object")
        with pytest.raises(NameError):
            made.library.get_function(made.fndesc.llvm_cpython_wrapper_name)


def test_being_pasted_is_not_handed_down_to_what_is_called() -> None:
    entrance(9)
    assert b"alwaysinline" in attributes(_around)
    assert b"alwaysinline" not in attributes(_inner)
    assert b"noinline" in attributes(_large)
    assert b"noinline" not in attributes(_inner)


def test_a_constant_among_the_arguments_makes_no_version_of_its_own() -> None:
    entrance(9)
    assert [*dispatcher(_large)._part.overloads] == [(numba.int64,)]


def test_a_function_serves_python_compiled_code_and_other_peoples_compiled_code() -> None:
    @numba.njit
    def theirs(x: int) -> int:
        return squared(x) + entrance(x)

    assert squared(7) == 49
    assert theirs(9) == 81 + plainly(9)
    assert squared(np.int32(7)) == 49
