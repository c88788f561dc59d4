"""Linked functions agree with Python, and free what they allocate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import ir
from numba.core.runtime import _nrt_python as memory
from numba.core.runtime.nrt import rtsys

from german_whist.common.jit import compiler as compiled

if not compiled.COMPILED or compiled._linking_dispatcher() is None:
    pytest.skip("functions are not linked here", allow_module_level=True)

from german_whist.common.jit import pipeline  # it imports internals of numba


def _linked(noinline: bool = False, **options: Any) -> Any:
    dispatcher = compiled._linking_dispatcher()
    return partial(dispatcher, targetoptions={**compiled._OPTIONS, **options}, noinline=noinline)


jit, forceinline, noinline = _linked(), _linked(forceinline=True), _linked(noinline=True)
inline_ir = _linked(inline="always")
allocating = _linked(**compiled._ALLOCATING)


@jit
def squared(x: int) -> int:
    return x * x


@jit
def _inner(x: int) -> int:
    total = 0
    for i in range(x):
        total += squared(i) % 7
    return total


@forceinline
def _around(x: int) -> int:
    return _inner(x) + 1


@noinline
def _large(x: int) -> int:
    return _inner(x + 1)


@jit
def entrance(x: int) -> int:
    return _around(x) + _large(0) + _large(x)


def plainly(x: int) -> int:
    def inner(n: int) -> int:
        return sum(i * i % 7 for i in range(n))

    return inner(x) + 1 + inner(1) + inner(x + 1)


def test_function_is_called_by_python_and_compiled_code() -> None:
    @numba.njit
    def user_function(x: int) -> int:
        return squared(x) + entrance(x)

    assert squared(7) == 49
    assert user_function(9) == 81 + plainly(9)
    assert squared(np.int32(7)) == 49


@inline_ir
def _steps(x: int, limit: int) -> int:
    steps = 0
    while x != 1 and steps < limit:
        x = 3 * x + 1 if x % 2 else x // 2
        steps += 1
    return steps


@inline_ir
def _both_steps(x: int, y: int) -> int:
    if x == y:
        return 2 * _steps(x, 100)
    return _steps(x, 100) + _steps(y, 100)


def test_functions_are_inlined_without_copies_of_numbas(monkeypatch: pytest.MonkeyPatch) -> None:
    @jit
    def total_steps(x: int) -> int:
        return _both_steps(x, x + 1) + _both_steps(x, x) + _steps(x, 3)

    def copied(*_: object) -> None:
        raise AssertionError("numba copies a function that it inlines")

    for kind in (ir.Var, ir.Block):
        monkeypatch.setattr(kind, "__deepcopy__", copied, raising=False)
    steps = {6: 8, 7: 16}
    assert total_steps(6) == steps[6] + steps[7] + 2 * steps[6] + 3


def test_called_function_is_copied_into_no_caller() -> None:
    assert entrance(5) == plainly(5)
    for dispatcher in (_around, _large):
        (overload,) = dispatcher._internal.overloads.values()
        assert len(list(overload.library.get_defined_functions())) == 1
        linked = {library.name for library in overload.library.with_called}
        assert {dispatcher.py_func.__qualname__, "_inner", "squared"} <= linked


@allocating
def _squares(n: int) -> Iterator[int]:
    for i in range(n):
        yield squared(i)


@allocating
def sum_of_squares(n: int) -> int:
    total = 0
    for square in _squares(n):
        total += square
    return total


def test_generator_calls_other_functions() -> None:
    assert sum_of_squares(4) == 14
    assert list(_squares(4)) == [0, 1, 4, 9]


@pytest.mark.parametrize("works", [True, False])
def test_compiling_leaves_numba_as_it_was(works: bool) -> None:
    @jit
    def function(x: Any) -> Any:
        return x + 1

    target = function.targetctx
    before = [dict(vars(each)) for each in (target, target.typing_context)]
    if works:
        assert function(1) == 2
    else:
        with pytest.raises(numba.TypingError):
            function("one")
    after = [vars(each) for each in (target, target.typing_context)]
    assert [each.keys() for each in after] == [each.keys() for each in before]


@pytest.mark.skipif(sys.platform == "win32", reason="counts page faults")
def test_calls_while_compiling_map_no_memory() -> None:
    resource = pytest.importorskip("resource")
    who = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)

    def call() -> None:
        pass

    def faults_of_calls(depth: int) -> int:
        if depth:
            return faults_of_calls(depth - 1)
        before = resource.getrusage(who).ru_minflt
        for _ in range(1000):
            call()
        return resource.getrusage(who).ru_minflt - before

    room: Any = pipeline._call_with_room
    assert max(room(faults_of_calls, depth) for depth in range(500)) < 500


@jit
def _weighted(x: int, weight: int) -> int:
    return x * weight


@jit
def weighted_twice(x: int) -> int:
    return _weighted(x, 2) + _weighted(x, weight=3) + _weighted(x=x, weight=x)


@jit
def _dotted(pair: tuple[int, int], weight: int) -> int:
    return pair[0] * weight + pair[1]


@jit
def dotted_twice(x: int) -> int:
    return _dotted((x, 2), 3) + _dotted((1, x), 4) + _dotted((5, 6), 7)


def test_constant_arguments_make_no_specialization() -> None:
    assert weighted_twice(4) == 36
    assert len(_weighted._internal.overloads) == 1
    assert dotted_twice(4) == 14 + 8 + 41
    assert len(_dotted._internal.overloads) == 1


# -- counting references


@allocating
def later_part(numbers: np.ndarray, skipped: int) -> np.ndarray:
    return numbers[skipped:]


@allocating
def picked(numbers: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    selected = numbers[places]
    for index in range(len(selected)):
        out[index] = selected[index]


@allocating
def sum_of_listed(numbers: np.ndarray) -> int:
    listed = [1, 2]
    for number in numbers[:2]:
        listed.append(number)
    return sum(listed)


@allocating
def sum_of_made(n: int) -> int:
    numbers = np.arange(n)
    return later_part(numbers, 2).sum()


@contextmanager
def frees_what_it_makes() -> Iterator[None]:
    memory.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    yield
    after = rtsys.get_allocation_stats()
    memory.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


def test_returned_view_outlives_its_array() -> None:
    whole = np.arange(100_000)
    before = sys.getrefcount(whole)
    part = later_part(whole, 2)
    assert sys.getrefcount(whole) == before + 1
    del whole
    fillers = [np.full(100_000, -1) for _ in range(20)]
    assert part.tolist() == list(range(2, 100_000))
    assert len(fillers) == 20


def test_temporary_arrays_are_freed() -> None:
    numbers, out = np.arange(50_000), np.zeros(40_000, np.int64)
    places = np.arange(40_000)
    picked(numbers, places, out)
    assert out.tolist() == list(range(40_000))
    assert sum_of_listed(numbers) == 4
    references = sys.getrefcount(numbers)
    with frees_what_it_makes():
        for _ in range(5):
            picked(numbers, places, out)
            assert sum_of_made(50_000) == 50_000 * 49_999 // 2 - 1
    assert sys.getrefcount(numbers) == references


# -- variables that are assigned once


@allocating
def kept_numbers(n: int) -> int:
    first, kept = np.full(3, n), np.full(3, 1)
    if n > 3:
        kept = kept + first
        kept = np.full(3, kept[0])
    other = np.full(3, 100 * n)
    while other[0] < 1000:
        other[0] += n
    return kept[1] + other[1]


def test_array_used_on_one_path_is_freed_once() -> None:
    with frees_what_it_makes():
        for n in range(1, 9):
            assert kept_numbers(n) == 100 * n + (n + 1 if n > 3 else 1)
