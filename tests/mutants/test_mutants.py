"""The mutation runner tells a fault from a change that changes nothing, and survives mutants.

Of the thorough tests: `make thorough`.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from measured import Measured
from mutations import Mutant, mutants_of, mutated_code
from tried import Trial, Verdict, report, sample
from workshop import ANEW, COMPILED, INTERPRETED, Workshop

pytestmark = pytest.mark.thorough
SUMS = '''
"""A room."""
LIMIT = 3


def total(numbers: list[int]) -> int:
    """The sum of what is below the limit."""
    found = 0
    for number in numbers:
        if number < LIMIT:
            found += number
    return found


def countdown(number: int) -> int:
    while number > 0:
        number -= 1
    return number


def larger(first: int, second: int) -> int:
    return first if first > second else second


def made(number: int) -> list[int]:
    first = number + 1
    second = number * 3
    return [first, second]


def alone(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number + 1} is too low")
    return number
'''
TESTS = """
import pytest

from german_whist.engine.sums import countdown, larger, made, total


@pytest.fixture(scope="module")
def pair():
    return made(2)


def test_the_first_of_a_pair_is_one_more(pair):
    assert pair[0] == 3


def test_the_second_of_a_pair_is_three_times_as_much(pair):
    assert pair[1] == 6


def test_what_is_below_the_limit_is_added():
    assert total([1, 2, 5, 2]) == 5


def test_the_limit_is_left_out():
    assert total([3]) == 0


def test_everything_is_counted_down():
    assert countdown(3) == 0


def test_the_larger_one_is_found():
    assert larger(1, 2) == larger(2, 1) == larger(2, 2) == 2
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of one room, laid out as this one is."""
    root = tmp_path_factory.mktemp("project")
    files = {
        "src/german_whist/__init__.py": "",
        "engine/__init__.py": "",
        "engine/sums.py": SUMS,
        "tests/engine/test_sums.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


LARGER = "return first if first > second else second"
TRIED = {
    ("found += number", "found -= number"): ("killed", "is_added"),
    ("if number < LIMIT:", "if number <= LIMIT:"): ("killed", "is_left_out"),
    ("LIMIT = 3", "LIMIT = 2"): ("killed", "is_added"),
    ("number -= 1", "pass"): ("timed out", "is_counted_down"),
    (LARGER, LARGER.replace(">", ">=")): ("survived", ""),
    ("first = number + 1", "first = number - 1"): ("killed", "one_more"),
    ("second = number * 3", "second = number + 3"): ("killed", "three_times_as_much"),
    ("if number < 0:", "if number <= 0:"): ("not run", ""),
}


def test_faults_are_noticed_and_what_changes_nothing_survives(project: Path) -> None:
    soon = {COMPILED: 0.5, INTERPRETED: 0.5, ANEW: 0.5}
    workshop = Workshop(project, project / "build", ("engine",))
    try:
        trial = Trial(workshop, {"engine": ("engine/*.py",)}, ("tests/engine",), soon)
        found = {
            (mutant.before, mutant.after): trial.try_out(mutant)
            for mutant in trial.mutants["engine"]
            if (mutant.before, mutant.after) in TRIED
        }
    finally:
        workshop.close()
    assert found.keys() == TRIED.keys()
    for change, (status, test) in TRIED.items():
        assert (found[change].status, found[change].by.endswith(test)) == (status, True), change
    for place in (project, workshop.tree):  # the sources stay as they are
        assert (place / "engine" / "sums.py").read_text(encoding="utf-8") == SUMS


def test_half_a_measurement_is_not_kept(project: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(project, root, ignore=shutil.ignore_patterns("build"))
    (root / "tests" / "engine" / "test_dies.py").write_text(
        "import os\n\ndef test_one(): pass\n\ndef test_two(): os._exit(9)\n", encoding="utf-8"
    )
    files = ["tests/engine/test_dies.py", "tests/engine/test_sums.py"]
    workshop = Workshop(root, root / "build", ("engine",))
    try:
        Measured(workshop, COMPILED, files)
    finally:
        workshop.close()
    kept = [each.name for each in (root / "build" / "measured").rglob("*.gz")]
    assert kept == ["tests.engine.test_sums.py.json.gz"]


def test_what_is_only_said_is_no_mutant(project: Path) -> None:
    assert not any("too low" in mutant.before for mutant in mutants_of(project, "engine/sums.py"))


def test_every_mutant_differs_from_the_source_and_from_every_other(project: Path) -> None:
    mutants = mutants_of(project, "engine/sums.py")
    codes = [mutated_code(project, mutant) for mutant in mutants]
    whole = compile(ast.parse(SUMS), str(project / "engine/sums.py"), "exec")
    assert len({whole, *codes}) == 1 + len(mutants)
    assert len({mutant.key for mutant in mutants}) == len(mutants)


def some(room: str, count: int) -> list[Mutant]:
    return [
        Mutant(f"{room}/a.py", "f", 1, f"x = {n}", f"x = {n + 1}", 0, False, None, n)
        for n in range(count)
    ]


def test_a_sample_takes_its_share_of_each_room_and_hardly_notices_edits() -> None:
    mutants = {"engine": some("engine", 600), "envs": some("envs", 300), "agents": some("a", 9)}
    first = sample(mutants, 1, 30)
    assert [sum(room == each for room, _ in first) for each in mutants] == [20, 10, 0]
    assert sample(mutants, 1, 30) == first != sample(mutants, 2, 30)
    mutants["engine"] = mutants["engine"][1:]
    assert len({*first} - {*sample(mutants, 1, 30)}) <= 1
    assert len(sample(mutants, 1, 5000)) == 908


def test_the_table_counts_what_changes_behaviour(capsys: pytest.CaptureFixture[str]) -> None:
    mutants = some("engine", 6)
    how = ("killed", "timed out", "survived", "not run", "survived")
    verdicts = {each.key: Verdict(status) for each, status in zip(mutants[:5], how, strict=True)}
    same = mutants[2]
    known = {(same.file, same.scope, same.before, same.after): "it is the same"}
    told = report([("engine", each) for each in mutants], verdicts, known)
    assert told.splitlines()[-2].split() == ["engine", "6", "1", "1", "1", "2", "1", "50.0%"]
    assert "x = 3" in told
    assert "no test runs it" in told
    assert "x = 2\n" not in told
