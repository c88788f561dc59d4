# pyright: strict
"""Public names of a package, loaded at first use: the stub beside its `__init__.py` lists them."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Getter = Callable[[str], Any]


class _Source(NamedTuple):
    """Where a name is: an object in a module, or, without an object, the module itself."""

    module: str
    name: str | None


def attach_stub(package: str, file: str) -> tuple[Getter, Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package: the names that its stub imports.

    So the package loads neither numba nor torch before somebody asks for what needs it, and each
    name is written once, where type checkers read it.
    """
    sources = _sources_in(Path(file).with_suffix(".pyi"))

    def load(name: str) -> Any:
        if name not in sources:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        source = sources[name]
        value: Any = importlib.import_module(source.module, package)
        if source.name is not None:
            value = getattr(value, source.name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(sources)
    return load, lambda: names, names


def _sources_in(stub: Path) -> dict[str, _Source]:
    sources: dict[str, _Source] = {}
    for statement in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            dots = "." * statement.level
            for name in statement.names:
                if statement.module is None:
                    sources[name.name] = _Source(dots + name.name, None)
                else:
                    sources[name.name] = _Source(dots + statement.module, name.name)
    return sources
