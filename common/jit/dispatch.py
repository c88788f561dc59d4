# pyright: reportAttributeAccessIssue=false, reportIncompatibleMethodOverride=false, reportReturnType=false
"""Linking of compiled functions: one pass of optimisation and code generation per entry point.

Numba generates machine code, two wrappers and an optimised module for every function, also for
those that only compiled functions call, and optimises each again within each of its callers. Here
a function that compiled code calls is an `_InternalDispatcher`: it stops at LLVM IR, optimised
function by function. The functions that Python calls link that IR, and optimise and compile it
together, once. A function that both Python and compiled code call has both dispatchers.

All this is for functions of this package, and uses internals of numba: `check` tests them.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite.binding import Linkage
from numba.core import ir, types
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import (
    CompilerPass,
    LoweringPass,
    PassManager,
    _pass_registry,
    register_pass,
)
from numba.core.ir_utils import build_definitions
from numba.core.lowering import Lower
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.ssa import reconstruct_ssa
from numba.core.typed_passes import (
    AnnotateTypes,
    NativeLowering,
    NopythonRewrites,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    IRProcessing,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    ReconstructSSA,
    RewriteDynamicRaises,
    WithLifting,
)

from ..typing import Array

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef
    from numba.core.base import BaseContext
    from numba.core.compiler import CompileResult, StateDict
    from numba.core.typing.templates import Signature, Template

    Signatures = Signature | tuple[types.Type, ...]
    """Types of the arguments of a function, with or without that of its result."""


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


class _Lower(Lower):
    """Keep a variable that is assigned once as a value instead of in memory.

    Numba does so within a block. In memory a named tuple is copied whole, with all fields of all
    its arrays, whenever one of them is read: the thinker took three times as long to compile.
    """

    def delvar(self, name: str) -> None:
        # Numba takes a reference back and clears the memory.
        if self.context.enable_nrt:
            super().delvar(name)

    def lower_binop(self, resty: types.Type, expr: ir.Expr, op: object) -> object:
        """As of numba for operands that are not constants, with types that are known already."""
        if ir.UNDEFINED is not expr.static_lhs or ir.UNDEFINED is not expr.static_rhs:
            return super().lower_binop(resty, expr, op)
        context, builder = self.context, self.builder
        inferred = self.fndesc.calltypes[expr]
        operands = []
        for operand, wanted in zip((expr.lhs, expr.rhs), inferred.args, strict=True):
            value = self.loadvar(operand.name)
            operands.append(context.cast(builder, value, self.typeof(operand.name), wanted))
        # The operator is another than the inferred one in `x += 1` for numbers.
        signature = context.typing_context.resolve_function_type(op, inferred.args, {})
        operator = context.typing_context.resolve_value_type(op)
        result = context.get_function(operator, signature)(builder, operands)
        return context.cast(builder, result, inferred.return_type, resty)

    def _find_singly_assigned_variable(self) -> None:
        self._singly_assigned_vars, self._blk_local_varmap = set(), {}
        if self.context.enable_nrt:
            super()._find_singly_assigned_variable()
        if self.generator_info:
            return
        lifetime = self.func_ir.variable_lifetime
        used = defaultdict(set)
        for label, names in lifetime.usedefs.usemap.items():
            for name in names:
                used[name].add(label)
        assigned = defaultdict(list)
        for label, block in self.blocks.items():
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    assigned[statement.target.name].append(label)
                elif isinstance(statement, ir.Del) and self.context.enable_nrt:
                    used[statement.value].add(label)
        dominators = lifetime.cfg.dominators()
        for name, labels in assigned.items():
            # Blocks are lowered in the order of their labels.
            if (
                len(labels) == 1
                and all(labels[0] in dominators[use] and labels[0] <= use for use in used[name])
                and not self._counts_references(name)
            ):
                self._singly_assigned_vars.add(name)

    def _counts_references(self, name: str) -> bool:
        # Memory is zero once its array is deleted, so that no path deletes an array twice.
        model = self.context.data_model_manager[self.typeof(name)]
        return self.context.enable_nrt and model.contains_nrt_meminfo()


# Numba computes the lifetimes of all variables after each of the two passes below. Only lowering
# reads them, before which they are computed again; generators need them earlier.


@register_pass(mutates_CFG=True, analysis_only=False)
class _ReconstructSSA(ReconstructSSA):
    _name = "ssa"

    def run_pass(self, state: StateDict) -> bool:
        if state.func_ir.is_generator:
            return super().run_pass(state)
        state.func_ir = reconstruct_ssa(state.func_ir)
        self._patch_locals(state)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _StripPhis(PreLowerStripPhis):
    _name = "phis"

    def run_pass(self, state: StateDict) -> bool:
        if state.func_ir.is_generator:
            return super().run_pass(state)
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _Lower


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


_UNUSED_PASSES = (
    IRProcessing,
    WithLifting,
    InlineClosureLikes,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    FindLiterallyCalls,
    LiteralUnroll,
    LiteralPropagationSubPipelinePass,
)
"""Passes for closures, `with`, `raise` and literals, which no function of this package has, and one
whose result the next pass computes anew. Each may rebuild the control flow and the lifetimes of all
variables of a function. Expressions of whole arrays are rewritten only where functions allocate."""

_REPLACED_PASSES = {
    NativeLowering: _Lowering,
    PreLowerStripPhis: _StripPhis,
    ReconstructSSA: _ReconstructSSA,
}


class _Pipeline(PassManager):
    """Passes without numba's events, timers and reports, which take longer than most passes."""

    def run(self, state: StateDict) -> None:
        for one, _ in self.passes:
            instance = _pass_registry.get(one).pass_inst
            instance.analysis = self._analysis
            instance.run_pass(state)


class _Compiler(CompilerBase):
    _extra_passes: tuple[type[LoweringPass], ...] = ()

    def define_pipelines(self) -> list[PassManager]:
        pipeline = _Pipeline("nopython")
        # Branches known from types and constants are pruned three times: once is enough without
        # closures, after functions were inlined by their code.
        passes: dict[type[CompilerPass], str] = {}
        unused = _UNUSED_PASSES if self.state.flags.nrt else (*_UNUSED_PASSES, NopythonRewrites)
        for one, name in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if one not in unused:
                passes.pop(one, None)
                passes[_REPLACED_PASSES.get(one, one)] = name
        pipeline.passes = list(passes.items())
        for extra_pass in self._extra_passes:
            pipeline.add_pass_after(extra_pass, AnnotateTypes)
        pipeline.finalize()
        return [pipeline]


class _InternalCompiler(_Compiler):
    _extra_passes = (_StopAtBitcode,)


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


@contextmanager
def _gc_disabled() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _types_remembered(target: BaseContext) -> Iterator[None]:
    """Infer the types of each kind of call once, and import numba's implementations once.

    Numba infers the types of a call up to four times in each function, and imports all
    implementations again for every function and every one that it looks up in vain.
    """
    typing = target.typing_context
    if "refresh" in vars(target):
        yield
        return
    # In numba's order: of several types that fit it takes the first.
    typing.refresh()
    target.refresh()
    resolve = typing.resolve_function_type
    known: dict[tuple[object, tuple[types.Type, ...]], Signature | None] = {}

    def resolve_once(
        function: object, args: tuple[types.Type, ...], kws: Mapping[str, types.Type]
    ) -> Signature | None:
        # Numba's own operations, such as "static_getitem", have values among their arguments.
        if kws or isinstance(function, str):
            return resolve(function, args, kws)
        signature = known.get((function, args))
        if signature is None:
            signature = known[function, args] = resolve(function, args, kws)
        return signature

    def install_registered() -> None:
        for registry in list(target._registries):
            target.install_registry(registry)

    typing.resolve_function_type, target.refresh = resolve_once, install_registered
    try:
        yield
    finally:
        del typing.resolve_function_type, target.refresh


def _call_with_room(function: Callable[[Signatures], object], sig: Signatures) -> object:
    """Call a function with half a megabyte of room for the frames of what it calls.

    Python maps memory for frames by 16 KiB, and unmaps it on return: a call at the edge does both
    each time, some 90,000 times in a compilation. A frame that may need much gets twice as much.
    """
    return function(sig)


_call_with_room.__code__ = _call_with_room.__code__.replace(co_stacksize=1 << 15)


class Compiled(_Dispatcher):
    """Dispatcher for calls from Python; compiled code gets its `_InternalDispatcher`."""

    def __init__(
        self,
        py_func: Callable[..., object],
        locals: dict[str, types.Type] | None = None,
        targetoptions: dict[str, Any] | None = None,
        pipeline_class: type[CompilerBase] = _Compiler,
        noinline: bool = False,
    ) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self._noinline = noinline

    def compile(self, sig: Signatures) -> object:
        with global_compiler_lock, _gc_disabled(), _types_remembered(self.targetctx):
            return _call_with_room(super().compile, sig)

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
