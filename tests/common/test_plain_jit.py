"""Where functions cannot be linked, `numba.jit` compiles them; users' functions always."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import functions_left
import numba
import numpy as np
import pytest
from functions_left import dispatchers_of_the_package

from german_whist.common.jit import compiler as compiled
from german_whist.common.jit.compiler import COMPILED
from german_whist.common.typing import Array

if not COMPILED:
    pytest.skip("the compiler is off", allow_module_level=True)

TESTS = Path(__file__).resolve().parents[1]


def python(script: str, cache: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GERMAN_WHIST_CACHE": str(cache), **variables}
    environment.pop("NUMBA_CACHE_DIR", None)
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )


# A small function of the package, and how it is compiled.
SMALL = """\
import numpy
from german_whist.engine.play import suit_of
print(suit_of(numpy.int64(14)), type(suit_of).__name__ == "_PlainDispatcher")
"""
# What another version of numba may lack, or do otherwise.
NO_IMPORT = "import numba.core.codegen as at; del at.JITCodeLibrary\n"
FAULTS = {
    "attribute": "import numba.core.compiler as at; del at.PassManager.add_pass_after\n",
    "argument": "import numba.core.codegen as at\ndef wrong(): pass\n"
    "at.JITCodeLibrary.get_defined_functions = wrong\n",
    "attributes of LLVM": "from llvmlite.binding import ValueRef\n"
    "ValueRef.add_function_attribute = lambda self, name: None\n",
}


needs_linking = pytest.mark.skipif(
    compiled._linking_dispatcher() is None, reason="functions are not linked here"
)


@needs_linking
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=name, marks=() if "LLVM" in name else pytest.mark.thorough)
        for name, fault in FAULTS.items()
    ],
)
def test_other_numba_falls_back_with_a_message(fault: str, tmp_path: Path) -> None:
    check_told(python(fault + SMALL, tmp_path))


def check_told(done: subprocess.CompletedProcess[str]) -> None:
    assert done.stdout == "1 True\n", done.stderr
    assert done.stderr.startswith("german-whist: numba 0.")
    assert done.stderr.count("\n") == 1
    assert "a first use takes about twice as long;" in done.stderr


@needs_linking
def test_fallback_is_reported_and_numba_checked_once(tmp_path: Path) -> None:
    check_told(python(NO_IMPORT + SMALL, tmp_path))
    done = python(NO_IMPORT + SMALL, tmp_path)
    assert (done.stdout, done.stderr) == ("1 True\n", "")
    done = python(SMALL, tmp_path)
    assert (done.stdout, done.stderr) == ("1 False\n", "")
    assert len([*(tmp_path / "compiled").glob("engine-*/play.suit_of-*.code")]) == 2
    (mark,) = (tmp_path / "compiled").glob("linking-*.works")
    os.utime(mark, (1, 1))
    done = python(SMALL, tmp_path)
    assert (done.stdout, done.stderr) == ("1 False\n", "")
    assert mark.stat().st_mtime == 1


# Options of numba that no promise covers.
FEWER_OPTIONS = """\
import numba.core.cpu as at
for name in ("_nrt", "no_cfunc_wrapper", "no_cpython_wrapper"):
    (holder,) = (each for each in at.CPUTargetOptions.__mro__ if name in vars(each))
    delattr(holder, name)
"""


def test_numba_without_private_options_gives_the_same_results(tmp_path: Path) -> None:
    done = python(FEWER_OPTIONS + SMALL, tmp_path, GERMAN_WHIST_PLAIN_JIT="1")
    assert (done.stdout, done.stderr) == ("1 True\n", "")


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Compile a function as one of the package without the linker and without a cache."""
    monkeypatch.setattr(compiled, "_linking_dispatcher", lambda: None)
    monkeypatch.setattr(compiled, "_keep", lambda *_, **__: None)
    monkeypatch.setattr(compiled, "_subpackage_of", lambda _: "engine")
    return compiled.jit


def code_of(dispatcher: Any) -> str:
    (code,) = dispatcher.inspect_llvm().values()
    return code


def test_function_that_compiled_code_calls_has_no_wrapper(plain: Callable[[Any], Any]) -> None:
    @plain
    def doubled(x: int) -> int:
        return 2 * x

    @plain
    def caller(x: int) -> int:
        return doubled(x) + 1

    assert caller(4) == 9
    assert doubled.overloads == {}
    assert "@PyArg_UnpackTuple" not in code_of(doubled._internal)
    assert "@PyArg_UnpackTuple" in code_of(caller)
    assert "cfunc" not in code_of(caller)
    assert doubled(4) == 8


def test_only_a_marked_function_counts_references(plain: Callable[[Any], Any]) -> None:
    def first(rows: Array, index: int) -> float:
        row = rows[index]
        return row[0]

    rows = np.arange(6.0).reshape(3, 2)
    unmarked = plain(first)
    assert unmarked(rows, 1) == 2
    assert "@NRT_" not in code_of(unmarked)
    marked = plain(compiled.allocates(first))
    assert marked(rows, 1) == 2
    assert "@NRT_" in code_of(marked)


def test_unmarked_function_may_not_allocate(plain: Callable[[Any], Any]) -> None:
    def total(n: int) -> int:
        return np.arange(n).sum()

    with pytest.raises(numba.TypingError, match="arange"):
        plain(total)(4)
    assert plain(compiled.allocates(total))(4) == 6


def functions_of_the_package() -> Iterator[Any]:
    for each in dispatchers_of_the_package():
        yield each.py_func


NUMPY_MAKERS = {
    *("arange", "argsort", "array", "concatenate", "copy", "cumsum", "empty", "full", "nonzero"),
    *("ones", "sort", "unique", "where", "zeros", "empty_like", "full_like", "zeros_like"),
}
METHODS = {"append", "astype", "copy", "flatten", "nonzero"}
DISPLAYS = (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp, ast.Yield)


def allocations_of(function: Any) -> Iterator[str]:
    """What a function makes, as far as its source tells; numba finds the rest."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, DISPLAYS):
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_numpy = ast.unparse(node.func.value) == "np"
            if node.func.attr in (NUMPY_MAKERS if of_numpy else METHODS):
                yield ast.unparse(node)


def test_every_function_that_allocates_is_marked() -> None:
    pytest.importorskip("torch")
    allocating = {
        each.__qualname__: found
        for each in functions_of_the_package()
        if (found := [*allocations_of(each)]) and not hasattr(each, compiled._MARK)
    }
    assert allocating == {}


def test_who_gets_what_a_function_allocated_counts_references() -> None:
    pytest.importorskip("torch")
    functions = set(functions_of_the_package())
    assert len(functions) > 400
    numbers = {"None", "int", "float", "bool", "np.uint64", "np.int64", "np.float32"}
    makers = {
        each
        for each in functions
        if hasattr(each, compiled._MARK) and each.__annotations__["return"] not in numbers
    }
    assert "_leader_values" in {each.__name__ for each in makers}
    for function in functions:
        called = {getattr(each, "py_func", None) for each in compiled._values_named_in(function)}
        # Without references the array of a maker would never be freed.
        assert hasattr(function, compiled._MARK) or not called & makers, function.__qualname__


# With `german-whist compile`, which the plugin runs, they compile nearly all functions.
FILES = (
    "test_frozen.py",
    "solvers/test_game_tree.py",
    "solvers/test_cfr_plus.py",
    "engine/test_golden.py",
    "engine/test_batch.py",
    "engine/test_checks.py",
    "engine/test_state.py",
    "engine/test_endgame_oracles.py",
    "envs/test_opponent_pool.py",
    "evaluation/test_losses.py",
    "common/test_reference_loop.py",
    "training/test_ppo.py",
)
LEFT_OUT = {
    # Of the measurement of speed.
    "engine.random_play._random_hands",
    "engine.random_play.play_out_randomly",
    # For trainings on GPUs.
    "training.rollout.kernels.draw_uniforms",
    # Loops around what the other tests compile: values and beliefs of agents, and forfeits.
    "agents.networks.belief._write_view_odds",
    "agents.networks.policy.write_network_values",
    "agents.networks.value._apply_to_all",
    "agents.search.base.write_action_values",
    "evaluation.kernels.forfeit",
}


@pytest.mark.thorough
def test_plain_numba_compiles_every_function_and_plays_the_same(tmp_path: Path) -> None:
    """What is frozen is the same, too. Only few functions, which are named, are not compiled."""
    pytest.importorskip("torch")
    left, files = tmp_path / "left", [str(TESTS / file) for file in FILES]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", functions_left.__name__, *files],
        env={
            **os.environ,
            "GERMAN_WHIST_PLAIN_JIT": "1",
            "GERMAN_WHIST_CACHE": str(tmp_path),
            "PYTHONPATH": str(Path(functions_left.__file__).parent),
            functions_left.FILE: str(left),
        },
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names = left.read_text(encoding="utf-8").split()
    assert {name.removeprefix("german_whist.") for name in names} == LEFT_OUT


# -- functions from outside the package

USERS = """\
import numpy
from german_whist.common.jit.compiler import jit, forceinline

@jit
def values(numbers):
    for each in numbers:
        yield each

@forceinline
def parts(n):
    yield numpy.arange(n), 1
    yield numpy.arange(n), 2

@jit
def last(n):
    kept = numpy.zeros(0, numpy.int64)
    for each, factor in parts(n):
        kept = each * factor
    return kept

count = 1_000_000
handed_over = values(numpy.arange(count))
in_its_place = [numpy.full(count, -1) for _ in range(3)]
print(sum(each != place for place, each in enumerate(handed_over)), last(count)[-1])
"""


@pytest.mark.thorough
def test_user_generator_reads_no_freed_memory(tmp_path: Path) -> None:
    done = python(USERS, tmp_path)
    assert (done.returncode, done.stdout) == (0, "0 1999998\n"), done.stderr
