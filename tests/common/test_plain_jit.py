"""Where functions cannot be linked, `numba.jit` compiles them; users' functions always."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from german_whist.common.jit import compiler as compiled
from german_whist.common.jit.compiler import COMPILED

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
import numba, numpy
from german_whist.engine.play import suit_of
print(suit_of(numpy.int64(14)), type(suit_of) is type(numba.njit(lambda x: x)))
"""
# What another version of numba may lack, or do otherwise.
NO_IMPORT = "import numba.core.codegen as at; del at.JITCodeLibrary\n"
FAULTS = {
    "attribute": "import numba.core.compiler as at; del at.PassManager.add_pass_after\n",
    "argument": "import numba.core.registry as at\n"
    "def wrong(self, *_, **__): raise TypeError('takes no options')\n"
    "class CPUDispatcher(at.CPUDispatcher): __init__ = wrong\n"
    "at.CPUDispatcher = CPUDispatcher\n",
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
    assert "a first use takes about twice as long" in done.stderr


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
    done = python(SMALL, tmp_path, GERMAN_WHIST_PLAIN_JIT="1")
    assert (done.stdout, done.stderr) == ("1 True\n", "")


@pytest.mark.thorough
@pytest.mark.parametrize("files", ["test_golden.py test_checks.py", "test_batch.py"])
def test_plain_numba_passes_golden_games_and_batches(files: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(f"tests/engine/{file}" for file in files.split())],
        env={**os.environ, "GERMAN_WHIST_PLAIN_JIT": "1"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


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


def test_user_generator_reads_no_freed_memory(tmp_path: Path) -> None:
    done = python(USERS, tmp_path)
    assert (done.returncode, done.stdout) == (0, "0 1999998\n"), done.stderr
