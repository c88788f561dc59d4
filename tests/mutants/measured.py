"""What each test costs and which lines it runs, measured once per test file and kept.

Lines are kept by their place in a function, and all of a function that was edited
since counts as run: what is out of date costs time, and misses nothing known.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from mutations import MODULE, Mutant, scopes_of
from workshop import COMPILED, INTERPRETED, Workshop

# Processor seconds for a test, and for a file of them. With the compiler off many need more: they
# are cut, and what such a test finds by then counts.
CAPS = {COMPILED: 60.0, INTERPRETED: 2.0}
_BUDGETS = {COMPILED: 120.0, INTERPRETED: 40.0}
# A test that costs less is run with others of its file that run a change.
_CHEAP = 0.1


class Measured:
    """The tests of a mode: their costs, and who runs what."""

    def __init__(self, workshop: Workshop, mode: str, files: Iterable[str]) -> None:
        """Measure the test files that are new or changed."""
        self.workshop, self.mode = workshop, mode
        self.costs: dict[str, float] = {}
        self.cut: set[str] = set()
        self._notes: list[dict[str, Any]] = []
        for file in files:
            note = self._note(file)
            self._notes.append(note)
            self.costs |= note["costs"]
            self.cut.update(note["cut"])

    def _note(self, file: str) -> dict[str, Any]:
        kept = self.workshop.work / "measured" / self.mode / f"{file.replace('/', '.')}.json.gz"
        digest = hashlib.sha256((self.workshop.tree / file).read_bytes()).hexdigest()
        if kept.exists():
            note = json.loads(gzip.decompress(kept.read_bytes()))
            if note["digest"] == digest:
                return note
        print(f"measuring {file}, {self.mode}", flush=True)
        cap, budget = CAPS[self.mode], _BUDGETS[self.mode]
        told = self.workshop.run(self.mode, [file], cap=cap, budget=budget, watch=True)
        used = [name for name, how in told.outcomes.items() if how in ("passed", "too long")]
        costs = {name: told.costs[name] for name in used}
        for name, how in told.outcomes.items():
            if how == "failed":
                print(f"  {name} fails as it is, and is left out", flush=True)
        ran = {
            source: _by_scope(scopes_of(self.workshop.tree, source), lines, costs)
            for source, lines in told.lines.items()
        }
        cut = [name for name in used if told.outcomes[name] == "too long"]
        note = {"digest": digest, "costs": costs, "cut": cut, "ran": ran}
        if told.late or told.code not in (0, 1, 5):
            print(f"  {file} was not measured whole: the next run measures it again", flush=True)
            return note
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(gzip.compress(json.dumps(note).encode()))
        return note

    def covering(self, mutant: Mutant) -> set[str]:
        """The tests that run the changed statement, or what was made from it at import."""
        tree = self.workshop.tree
        digest = dict(_scopes(tree, mutant.file)).get(mutant.scope, (0, 0, ""))[2]
        found: set[str] = set()
        for note in self._notes:
            ran = note["ran"].get(mutant.file, {}).get(mutant.scope)
            if ran is not None and not _at_import(mutant):
                found |= _running(ran, mutant.lines if ran["digest"] == digest else None)
        if _at_import(mutant):
            wanted = _names(mutant)
            for note in self._notes:
                for source, scopes in note["ran"].items():
                    for scope, ran in scopes.items():
                        if wanted & _mentions(tree, source).get(scope, set()):
                            found |= _running(ran, None)
            if not found:
                found = self._of_file(mutant.file)
        # What a fixture makes for a whole file is seen in the first test that asks for it.
        files = {test.split("::")[0] for test in found}
        beside = {
            test for test, cost in self.costs.items()
            if cost < _CHEAP and test.split("::")[0] in files
        }  # fmt: skip
        return (found | beside) & self.costs.keys()

    def _of_file(self, source: str) -> set[str]:
        found: set[str] = set()
        for note in self._notes:
            for ran in note["ran"].get(source, {}).values():
                found |= _running(ran, None)
        return found


def _by_scope(
    scopes: dict[str, tuple[int, int, str]], lines: dict[str, list[int]], costs: dict[str, float]
) -> dict[str, Any]:
    """Tests by innermost scope and by line from its first."""
    owner: dict[int, str] = {}
    for scope, (first, last, _) in scopes.items():  # an inner scope comes after the outer
        owner.update(dict.fromkeys(range(first, last + 1), scope))
    found: dict[str, Any] = {}
    for test, numbers in lines.items():
        if test in costs:
            for line in numbers:
                scope = owner.get(line, MODULE)
                note = found.setdefault(scope, {"digest": scopes[scope][2], "lines": {}})
                note["lines"].setdefault(str(line - scopes[scope][0]), []).append(test)
    return found


def _running(ran: dict[str, Any], lines: tuple[int, int] | None) -> set[str]:
    found: set[str] = set()
    for offset, tests in ran["lines"].items():
        if lines is None or lines[0] <= int(offset) <= lines[1]:
            found.update(tests)
    return found


@cache
def _scopes(tree: Path, file: str) -> dict[str, tuple[int, int, str]]:
    return scopes_of(tree, file)


@cache
def _mentions(tree: Path, file: str) -> dict[str, set[str]]:
    """The names that each function of a file speaks of."""
    module = ast.parse((tree / file).read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}

    def walk(node: ast.AST, scope: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = scope
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inside = child.name if scope == MODULE else f"{scope}.{child.name}"
            names = found.setdefault(inside, set())
            for kind, name in ((ast.Name, "id"), (ast.Attribute, "attr"), (ast.keyword, "arg")):
                if isinstance(child, kind):
                    names.add(getattr(child, name))
            walk(child, inside)

    walk(module, MODULE)
    return found


def _at_import(mutant: Mutant) -> bool:
    return mutant.scope == MODULE or mutant.scope.split(".")[-1].lstrip("_")[:1].isupper()


def _names(mutant: Mutant) -> set[str]:
    """What a statement that runs at import gives a value to, and the class that it is in."""
    found = set() if mutant.scope == MODULE else {mutant.scope.split(".")[-1]}
    try:
        module = ast.parse(mutant.before)
    except SyntaxError:
        return found
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found
