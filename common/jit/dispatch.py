# pyright: reportAttributeAccessIssue=false, reportIncompatibleMethodOverride=false, reportReturnType=false
"""Linking of compiled functions: one pass of optimization and code generation per entry point.

Numba generates machine code, two wrappers and an optimized module for every function, also for
those that only compiled functions call, and optimizes each again within each of its callers. Here
a function that compiled code calls is an `_InternalDispatcher`: it stops at LLVM IR, optimized
function by function. The functions that Python calls link that IR, and optimize and compile it
together, once. A function that both Python and compiled code call has both dispatchers.

All this is for functions of this package, and uses internals of numba: `check` tests them. What
only makes compilation faster is in `pipeline.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite.binding import Linkage
from numba.core import types
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature

from ..typing import Array
from .pipeline import Compiler, with_less_work

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef
    from numba.core.compiler import CompileResult, StateDict
    from numba.core.typing.templates import Template

    from .pipeline import Signatures


class _BitcodeLibrary(JITCodeLibrary):
    """The IR of one function: without machine code, and without what the function calls.

    Whoever links it links `with_called` too. Numba would copy what a function calls into it, and
    with it into each of its callers.
    """

    @property
    def with_called(self) -> list[CodeLibrary]:
        return [self, *dict.fromkeys(self._linking_libraries)]

    def _optimize_functions(self, ll_module: ModuleRef) -> None:
        ll_module.data_layout = self._codegen._data_layout
        # Numba makes new passes for each function, also for those that are only declared.
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        # Several entry points may link it; numba would copy the module to mark it so.
        for function in self.get_defined_functions():
            if function.linkage == Linkage.external:
                function.linkage = Linkage.linkonce_odr
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=False)
class _StopAtBitcode(LoweringPass):
    """Stop the lowering that follows before machine code."""

    _name = "as_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: StateDict) -> bool:
        state.library = _BitcodeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        return True


class _InternalCompiler(Compiler):
    extra_passes = (_StopAtBitcode,)


def _without_literal(argument: types.Type) -> types.Type:
    literals = (types.IntegerLiteral, types.BooleanLiteral)
    if isinstance(argument, types.Tuple):
        return types.BaseTuple.from_types([_without_literal(part) for part in argument])
    return types.unliteral(argument) if isinstance(argument, literals) else argument


class _Dispatcher(CPUDispatcher):
    def compile(self, sig: Signatures) -> object:
        """As of numba, without its timers: those would hear of each call of LLVM."""
        with global_compiler_lock:
            args, return_type = normalize_signature(sig)
            result = self.overloads.get(tuple(args))
            if result is not None:
                return result.entry_point
            result = self._cache.load_overload(sig, self.targetctx)
            if result is None:
                self._cache_misses[sig] += 1
                with self._compiling_counter:
                    result = self._compiler.compile(args, return_type)
                self.add_overload(result)
                self._cache.save_overload(sig, result)
            else:
                self._cache_hits[sig] += 1
                self.targetctx.insert_user_function(
                    result.entry_point, result.fndesc, [result.library]
                )
                self.add_overload(result)
            return result.entry_point


class _InternalDispatcher(_Dispatcher):
    """Dispatcher of a function for calls from compiled code."""

    is_noinline = False

    def get_call_template(
        self, args: Sequence[types.Type], kws: Mapping[str, types.Type]
    ) -> Template:
        # Constant arguments do not make a specialization of their own.
        plain = [_without_literal(arg) for arg in args]
        named = {name: _without_literal(arg) for name, arg in kws.items()}
        return super().get_call_template(plain, named)

    def add_overload(self, cres: CompileResult) -> None:
        if self.is_noinline:
            function = cres.library.get_function(cres.fndesc.mangled_name)
            function.add_function_attribute("noinline")
            # Some versions of llvmlite set it on the return value, which LLVM then rejects.
            if b"noinline" not in b" ".join(function.attributes):
                raise NotImplementedError("llvmlite cannot keep a function from being inlined")
        # Any unique key will do for callers to look it up: Python never calls it.
        overload = cres._replace(entry_point=cres.fndesc)
        self.targetctx.insert_user_function(
            overload.entry_point, overload.fndesc, cres.library.with_called
        )
        self.overloads[tuple(overload.signature.args)] = overload


class Compiled(_Dispatcher):
    """Dispatcher for calls from Python; compiled code gets its `_InternalDispatcher`."""

    def __init__(
        self,
        py_func: Callable[..., object],
        locals: dict[str, types.Type] | None = None,
        targetoptions: dict[str, Any] | None = None,
        pipeline_class: type[CompilerBase] = Compiler,
        noinline: bool = False,
    ) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self._noinline = noinline

    def compile(self, sig: Signatures) -> object:
        with global_compiler_lock:
            return with_less_work(super().compile, self.targetctx, sig)

    @cached_property
    def _internal(self) -> _InternalDispatcher:
        internal = _InternalDispatcher(self.py_func, None, self.targetoptions, _InternalCompiler)
        internal.is_noinline = self._noinline
        return internal

    @property
    def _numba_type_(self) -> types.Type:
        return self._internal._type


def check(options: dict[str, Any]) -> None:
    """Link a few small functions; raises an error if this version of numba cannot.

    They use what the package uses: records of an array changed in place, and several values
    returned from a `noinline` function.
    """
    record = np.dtype([("hand", "u8", (2,)), ("turn", "u1")])

    def take_turn(game: np.record, hand: Array) -> tuple[int, int, Array]:
        game.turn = 1 - game.turn
        hand[game.turn] += 1
        return game.turn, hand[0], hand

    def first(games: Array, index: int) -> np.record:
        return games[index]

    take_turn, first = (
        Compiled(function, None, {**options, **extra}, noinline=noinline)
        for function, extra, noinline in (
            (take_turn, {}, True),
            (first, {"forceinline": True}, False),
        )
    )

    def entry_point(games: Array, count: int) -> int:
        total = 0
        for index in range(count):
            turn, cards, hand = take_turn(first(games, index), first(games, 0).hand)
            total += turn + cards + len(hand)
        return total

    games = np.zeros(3, record)
    if Compiled(entry_point, None, options)(games, 3) != 9 or games["turn"].tolist() != [1, 1, 1]:
        raise ValueError("linked functions give wrong results")
