# pyright: reportAttributeAccessIssue=false, reportIncompatibleMethodOverride=false
"""How compiled functions call each other without being compiled one by one to the end.

Numba makes machine code, two wrappers and an optimised module of every function, also of
those that only other compiled functions call, and optimises each anew within each of its
callers. Here a function that compiled code calls is a `_Part`: it goes as far as LLVM's
instructions, tidied function by function, which the functions that Python calls link,
optimise together and turn into machine code, once. A function that Python and compiled code
call is both.

Nor do they count references to an array, unless they make one. Python holds the arrays that it
hands over for as long as the call takes, and whoever makes an array counts. Numba counts
references whenever a function gets an array, a row or a record of arrays, with atomic instructions
that threads wait for each other at: that took longer than showing a game. A generator outlives the
call that makes it, so it counts.

All this is for functions of this package, and reads internals of numba: `check` tries them out.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba.core import ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import AnnotateTypes


class _PartLibrary(JITCodeLibrary):
    """Linked with what it calls, to be linked into what calls it, and nothing more."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


# What hands on a part of an array, or an array that is there, and makes none.
_BORROWING = (
    "getitem", "static_getitem", "typed_getitem", "getattr", "getiter", "iternext",
    "pair_first", "pair_second", "exhaust_iter", "cast", "build_tuple",
)  # fmt: skip
_BORROWED = (types.Array, types.BaseTuple, types.IteratorType)


@register_pass(mutates_CFG=False, analysis_only=False)
class _Borrowing(LoweringPass):
    """Let functions that make no arrays count no references."""

    _name = "borrowing"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        if any(isinstance(each, types.Generator) for each in _types_in(state)):
            return False
        models = state.targetctx.data_model_manager
        made = [state.return_type]
        made += [each for each in state.typemap.values() if not isinstance(each, _BORROWED)]
        for each, signature in state.calltypes.items():
            made += _made_by(each, signature)
        if any(models[each].contains_nrt_meminfo() for each in made):
            return False
        state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return True


def _types_in(state: Any) -> list[types.Type]:
    return [state.return_type, *state.typemap.values()]


def _made_by(each: Any, signature: Any) -> list[types.Type]:
    """What a step of a function may make, or hand on from whoever made it."""
    if signature is None:
        return []
    if isinstance(each, ir.SetItem | ir.StaticSetItem):
        # An array that is written into another is copied first where the two overlap.
        return [signature.args[-1]]
    if isinstance(each, ir.Expr) and each.op in _BORROWING:
        plain = each.op != "getitem" or _is_plain(signature.args[1])
        return [] if plain else [signature.return_type]
    return [signature.return_type]


def _is_plain(index: types.Type) -> bool:
    """Whether an index picks a part of an array as it lies there."""
    if isinstance(index, types.BaseTuple):
        return all(map(_is_plain, index.types))
    return isinstance(index, types.Integer | types.SliceType)


@register_pass(mutates_CFG=False, analysis_only=False)
class _AsPart(LoweringPass):
    """Let the lowering that follows stop before machine code."""

    _name = "as_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        return True


class _Compiler(CompilerBase):
    _added: tuple[Any, ...] = (_Borrowing,)

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        for each in self._added:
            passes.add_pass_after(each, AnnotateTypes)
        passes.finalize()
        return [passes]


class _PartCompiler(_Compiler):
    _added = (_Borrowing, _AsPart)


def _any_number(given: types.Type) -> types.Type:
    number = isinstance(given, (types.IntegerLiteral, types.BooleanLiteral))
    return types.unliteral(given) if number else given


class _Part(CPUDispatcher):
    """A function as other compiled functions call it."""

    is_called = False
    """Whether it stays a call wherever it is called."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        # A constant among the arguments makes no version of its own.
        return super().get_call_template([_any_number(each) for each in args], kws)

    def add_overload(self, cres: Any) -> None:
        if self.is_called:
            function = cres.library.get_function(cres.fndesc.mangled_name)
            function.add_function_attribute("noinline")
            # Some versions of llvmlite give it to the returned value, which LLVM then refuses.
            if b"noinline" not in b" ".join(function.attributes):
                raise NotImplementedError("llvmlite cannot keep a function from being inlined")
        # Whatever is unique serves as the key by which callers find it: Python never calls it.
        made = cres._replace(entry_point=cres.fndesc)
        self.targetctx.insert_user_function(made.entry_point, made.fndesc, [made.library])
        self.overloads[tuple(made.signature.args)] = made


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Let Python not look for garbage, over and over, among all that a compiler keeps."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Compiled(CPUDispatcher):
    """A function as Python calls it; compiled code that names it gets its `_Part`."""

    def __init__(
        self,
        py_func: Any,
        locals: Any = None,
        targetoptions: Any = None,
        pipeline_class: Any = _Compiler,
        called: bool = False,
    ) -> None:
        options = {**(targetoptions or {}), "no_cfunc_wrapper": True}
        super().__init__(py_func, locals, options, pipeline_class)
        self._part = _Part(py_func, locals, options, _PartCompiler)
        self._part.is_called = called

    def compile(self, sig: Any) -> Any:
        """The function for these types, with the collection of garbage put off until then."""
        with _without_collecting():
            return super().compile(sig)

    @property
    def _numba_type_(self) -> types.Type:
        return self._part._type


def check(options: dict[str, Any]) -> None:
    """Link a few small functions, and raise an error where this version of numba cannot.

    They do what the functions of the package do: change records of an array in place, and return
    several values from a function that stays a call.
    """
    record = np.dtype([("hand", "u8", (2,)), ("turn", "u1")])

    def taken(game: Any, hand: Any) -> Any:
        game.turn = 1 - game.turn
        hand[game.turn] += 1
        return game.turn, hand[0], hand

    def first(games: Any, index: Any) -> Any:
        return games[index]

    taken, first = (
        Compiled(each, None, {**options, **more}, called=called)
        for each, more, called in ((taken, {}, True), (first, {"forceinline": True}, False))
    )

    def entrance(games: Any, count: Any) -> Any:
        total = 0
        for index in range(count):
            turn, held, hand = taken(first(games, index), first(games, 0).hand)
            total += turn + held + len(hand)
        return total

    games = np.zeros(3, record)
    if Compiled(entrance, None, options)(games, 3) != 9 or games["turn"].tolist() != [1, 1, 1]:
        raise ValueError("linked functions give wrong results")
