"""Imported: processes that run tests side by side compile nothing twice."""

from __future__ import annotations

from typing import Any

from german_whist.common.files import file_lock
from german_whist.common.jit.compiler import COMPILED, machine_code_folder
from german_whist.engine.play import suit_of

if COMPILED:
    _Compiled: Any = type(suit_of)
    _LOCKS = machine_code_folder().parent / "locks"
    _compile = _Compiled.compile

    def _alone(self: Any, sig: Any) -> Any:
        """Let no other process compile the same meanwhile: it then finds what this one kept."""
        function = self.py_func
        name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        with file_lock(_LOCKS / name):
            return _compile(self, sig)

    _Compiled.compile = _alone
