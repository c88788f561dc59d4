# pyright: reportAttributeAccessIssue=false, reportIncompatibleMethodOverride=false, reportReturnType=false
"""Numba's pipeline with less work, for code that does the same; `dispatch.py` links it.

Each part of this file can be left out, and only compilation takes longer then.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import (
    CompilerPass,
    LoweringPass,
    PassManager,
    _pass_registry,
    register_pass,
)
from numba.core.inline_closurecall import InlineWorker
from numba.core.lowering import Lower
from numba.core.typed_passes import (
    AnnotateTypes,
    NativeLowering,
    NopythonRewrites,
)
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    IRProcessing,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    WithLifting,
)

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.compiler import StateDict
    from numba.core.typing.templates import Signature

    Signatures = Signature | tuple[types.Type, ...]
    """Types of the arguments of a function, with or without that of its result."""


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


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _Lower


class _InlineWorker(InlineWorker):
    """Inline the IR of a function as it is: it is made anew for each call.

    Numba copies it twice, block by block, and all variables of the function with each block.
    """

    def run_untyped_passes(
        self, func: Callable[..., object], enable_ssa: bool = False
    ) -> ir.FunctionIR:
        self._compiler_pipeline = _untyped_pipeline
        callee = super().run_untyped_passes(func, enable_ssa)
        for block in callee.blocks.values():
            block.__deepcopy__ = lambda _, block=block: block
        return callee


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inlining(InlineInlinables):
    def _do_work(self, *args: object) -> bool:
        args[-1].__class__ = _InlineWorker
        return super()._do_work(*args)


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


_REPLACED: dict[type[CompilerPass], type[CompilerPass]] = {
    NativeLowering: _Lowering,
    InlineInlinables: _Inlining,
}
"""Passes of numba, and those that stand for them here."""


class _Pipeline(PassManager):
    """Passes without numba's events, timers and reports, which take longer than most passes."""

    def run(self, state: StateDict) -> None:
        for one, _ in self.passes:
            instance = _pass_registry.get(one).pass_inst
            instance.analysis = self._analysis
            instance.run_pass(state)


class Compiler(CompilerBase):
    """Numba's compiler with these passes."""

    extra_passes: tuple[type[LoweringPass], ...] = ()
    """Passes of a subclass that follow the inference of types."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state).passes
        return [_pipeline(self.state, passes, self.extra_passes)]


def _untyped_pipeline(state: StateDict) -> PassManager:
    return _pipeline(state, DefaultPassBuilder.define_untyped_pipeline(state).passes)


def _pipeline(
    state: StateDict,
    numbas: list[tuple[type[CompilerPass], str]],
    extra_passes: tuple[type[LoweringPass], ...] = (),
) -> PassManager:
    pipeline = _Pipeline("nopython")
    # Branches known from types and constants are pruned three times: once is enough without
    # closures, after functions were inlined by their code.
    passes: dict[type[CompilerPass], str] = {}
    unused = _UNUSED_PASSES if state.flags.nrt else (*_UNUSED_PASSES, NopythonRewrites)
    for one, name in numbas:
        if one not in unused:
            passes.pop(one, None)
            passes[_REPLACED.get(one, one)] = name
    pipeline.passes = list(passes.items())
    for extra_pass in extra_passes:
        pipeline.add_pass_after(extra_pass, AnnotateTypes)
    pipeline.finalize()
    return pipeline


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
    """Call a function with half a megabyte of memory for the frames of what it calls.

    Python maps memory for frames by 16 KiB and unmaps it on return. Where a depth of calls is at
    such an edge, each call does both, some 35,000 times in the compilation of an environment. A
    frame that may need much memory gets twice as much, and what it calls has the other half.
    """
    return function(sig)


_call_with_room.__code__ = _call_with_room.__code__.replace(co_stacksize=1 << 15)


def with_less_work(
    compile_signature: Callable[[Signatures], object], target: BaseContext, sig: Signatures
) -> object:
    """Compile for a signature with what is here besides the passes."""
    with _gc_disabled(), _types_remembered(target):
        return _call_with_room(compile_signature, sig)
