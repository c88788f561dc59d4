# pyright: strict, reportUnsupportedDunderAll=false, reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false
"""German Whist for reinforcement learning: engine, environments, agents, training, a table.

Importing the package registers its environments with Gymnasium and PettingZoo. Public names
are loaded at first use, so neither numba nor torch is imported before it is needed; they are
listed in `__init__.pyi`.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

from .registration import register_environments

__version__ = "0.1.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
_MODULE_BY_NAME = {
    name.name: statement.module
    for statement in _STUB.body
    if isinstance(statement, ast.ImportFrom)
    for name in statement.names
}

__all__ = ["__version__", *sorted(_MODULE_BY_NAME)]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULE_BY_NAME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


register_environments()
