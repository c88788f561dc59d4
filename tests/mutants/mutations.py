"""Every small change that could be made to a source file, one at a time: its mutants.

A mutant is one changed node of the syntax tree: a comparison, an operator, a
constant, a condition, a result, a keyword argument or a whole statement. What
is only said (annotations, error texts, decorators) and what only compiles ahead
of time stays as it is.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import Any

MODULE = "<module>"

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_COMPILING = {"jit", "inlined", "pasted", "intrinsic"}
_AHEAD_OF_TIME = ("_compile", "compile_all", "warm_up")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPE = (*_FUNCTION, ast.ClassDef)
_UNTOUCHED = (ast.Raise, ast.Import, ast.ImportFrom, ast.Assert)
_UNTOUCHED_FIELDS = {"decorator_list", "annotation", "returns", "type_params", "format_spec"}
_NUMBERS = {"int", "float", "np.uint64", "np.int64"}


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, and what the line says before and after it."""

    file: str
    scope: str
    line: int
    before: str
    after: str
    nth: int  # of the changes in this scope that read the same
    compiled: bool  # machine code may depend on it: it is tried with the compiler off
    lines: tuple[int, int] | None  # of its statement, from the scope's first; None: all of them
    number: int = field(compare=False)  # its place among the mutants of the file as it is now

    @property
    def key(self) -> str:
        """A name that stays when the lines around it change."""
        text = "\n".join((self.file, self.scope, self.before, self.after, str(self.nth)))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class _Where:
    """What surrounds a node."""

    scope: str = MODULE
    first: int = 1  # the first line of the scope
    function: Any = None
    statement: Any = None
    compiled: bool = True  # what runs at import may end as a constant in machine code
    signature: bool = False


@dataclass
class _Place:
    """A node, or a list of nodes, and what could stand there instead."""

    parent: ast.AST
    name: str
    index: int | None
    new: Any
    where: _Where

    def swap(self) -> None:
        """Put the new node in and keep the old one: once more brings it back."""
        if self.index is None:
            old = getattr(self.parent, self.name)
            setattr(self.parent, self.name, self.new)
        else:
            nodes = getattr(self.parent, self.name)
            old, nodes[self.index] = nodes[self.index], self.new
        self.new = old


def mutants_of(root: Path, file: str) -> list[Mutant]:
    """Every mutant of a source file."""
    tree = ast.parse((root / file).read_text(encoding="utf-8"))
    found: list[Mutant] = []
    same: Counter[tuple[str, str, str]] = Counter()
    for number, place in enumerate(list(_places(tree, _Where()))):
        where, statement = place.where, place.where.statement
        before = _said(statement)
        place.swap()
        after = "pass" if isinstance(place.new, ast.stmt) else _said(statement)
        place.swap()
        said = (where.scope, before, after)
        last = statement.body[0].lineno - 1 if hasattr(statement, "body") else statement.end_lineno
        lines = (statement.lineno - where.first, max(last, statement.lineno) - where.first)
        found.append(
            Mutant(
                *(file, where.scope, statement.lineno, before, after, same[said], where.compiled),
                lines=None if where.signature else lines,
                number=number,
            )
        )
        same[said] += 1
    return found


def mutated_code(root: Path, mutant: Mutant) -> CodeType:
    """The compiled module with one change in it, every line where it was."""
    path = root / mutant.file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    place = list(_places(tree, _Where()))[mutant.number]
    place.swap()
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


def scopes_of(root: Path, file: str) -> dict[str, tuple[int, int, str]]:
    """Every function and class of a file: its first and last line, and a hash of its text."""
    text = (root / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    found = {MODULE: (1, len(lines), hashlib.sha256(text.encode()).hexdigest()[:12])}

    def walk(node: ast.AST, around: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = around
            if isinstance(child, _SCOPE):
                inside = _named(around, child.name)
                body = "\n".join(lines[child.lineno - 1 : child.end_lineno])
                digest = hashlib.sha256(body.encode()).hexdigest()[:12]
                found[inside] = (child.lineno, child.end_lineno or child.lineno, digest)
            walk(child, inside)

    walk(ast.parse(text), MODULE)
    return found


def _named(around: str, name: str) -> str:
    return name if around == MODULE else f"{around}.{name}"


def _said(statement: ast.stmt) -> str:
    """A statement in one line; of a compound one its head."""
    lines = ast.unparse(ast.fix_missing_locations(copy.copy(statement))).splitlines()
    return next(line for line in lines if not line.startswith("@"))


# -- where, and what instead


def _places(node: ast.AST, where: _Where) -> Iterator[_Place]:
    for name, value in ast.iter_fields(node):
        if name in _UNTOUCHED_FIELDS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_untouched(child):
                continue
            around = _around(child, where)
            if around.statement is not None:
                for new in _instead(child, around):
                    yield _Place(node, name, index, new, around)
                yield from _within(child, around)
            yield from _places(child, around)


def _is_untouched(node: ast.AST) -> bool:
    """What says something, what the type checker alone reads, and what compiles ahead of time."""
    if isinstance(node, _UNTOUCHED):
        return True
    if isinstance(node, _FUNCTION):
        return node.name.startswith(_AHEAD_OF_TIME)
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test) or "__name__" in ast.unparse(node.test)
    if isinstance(node, ast.Expr):
        node = node.value
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        to_errors = called == "print" and "sys.stderr" in ast.unparse(node)
        return called.startswith(_AHEAD_OF_TIME) or called in ("cast", "TypeVar") or to_errors
    return False


def _around(child: ast.AST, where: _Where) -> _Where:
    if isinstance(child, _SCOPE):
        scope = _named(where.scope, child.name)
        compiled = isinstance(child, ast.ClassDef) or (
            (where.function is not None and where.compiled) or _meets_the_compiler(child)
        )
        function = child if isinstance(child, _FUNCTION) else None
        return _Where(scope, child.lineno, function, child, compiled)
    if isinstance(child, ast.arguments):
        return replace(where, signature=True)
    if isinstance(child, ast.stmt):
        return replace(where, statement=child, signature=False)
    return where


def _meets_the_compiler(function: ast.AST) -> bool:
    """Whether a function, or one within it, is compiled."""
    return any(isinstance(node, ast.Name) and node.id in _COMPILING for node in ast.walk(function))


def _instead(node: ast.AST, where: _Where) -> Iterator[ast.AST]:
    """What could stand in the place of a node."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
        elif isinstance(node.value, float):
            yield ast.Constant(node.value + 1.0)
    elif type(node) in _SWAPS:
        yield _SWAPS[type(node)]()
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.stmt) and where.function is not None and _may_go(node, where):
        yield ast.Pass()


def _may_go(statement: ast.stmt, where: _Where) -> bool:
    """Whether a statement can be left out without leaving a name unknown."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, (ast.AugAssign, ast.Continue, ast.Break, ast.Delete)):
        return True
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        bound = _bound(where.function)
        return all(not isinstance(each, ast.Name) or bound[each.id] > 1 for each in targets) and (
            not any(isinstance(each, (ast.Tuple, ast.List)) for each in targets)
        )
    return False


def _bound(function: Any) -> Counter[str]:
    """How often a function gives each of its names a value."""
    names: Counter[str] = Counter(
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    names.update(node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg))
    return names


def _within(node: ast.AST, where: _Where) -> Iterator[_Place]:
    """Changes of a part of a node that depend on what the node is."""
    if isinstance(node, (ast.If, ast.IfExp)):
        if ast.unparse(node.test) not in ("COMPILED", "True", "False"):
            yield _Place(node, "test", None, ast.Constant(True), where)
            yield _Place(node, "test", None, ast.Constant(False), where)
    elif isinstance(node, ast.While):
        yield _Place(node, "test", None, ast.Constant(False), where)
    elif isinstance(node, ast.Return) and node.value is not None:
        if not isinstance(node.value, ast.Constant):
            yield _Place(node, "value", None, _other_result(node.value, where.function), where)
    elif isinstance(node, ast.Slice):
        for name in ("lower", "upper"):
            bound = getattr(node, name)
            if bound is not None and not isinstance(bound, ast.Constant):
                yield _Place(node, name, None, _one_more(bound), where)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            index = min(len(node.args) - 1, 1)
            if not isinstance(node.args[index], (ast.Constant, ast.Starred)):
                yield _Place(node, "args", index, _one_more(node.args[index]), where)
        for index, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                rest = [*node.keywords[:index], *node.keywords[index + 1 :]]
                yield _Place(node, "keywords", None, rest, where)


def _one_more(value: ast.expr) -> ast.expr:
    return ast.BinOp(value, ast.Add(), ast.Constant(1))


def _other_result(value: ast.expr, function: Any) -> ast.expr:
    kind = ast.unparse(function.returns) if function is not None and function.returns else ""
    if kind == "bool":
        return ast.UnaryOp(ast.Not(), value)
    return _one_more(value) if kind in _NUMBERS else ast.Constant(None)
