"""Imported: processes that run tests side by side compile nothing twice."""

from __future__ import annotations

from typing import Any

from german_whist.engine.compiled import COMPILED, machine_code_folder
from german_whist.engine.files import locked

if COMPILED:
    from german_whist.engine.dispatch import Compiled

    _LOCKS = machine_code_folder().parent / "locks"
    _compile = Compiled.compile

    def _alone(self: Any, sig: Any) -> Any:
        """Let no other process compile the same meanwhile: it then finds what this one kept."""
        function = self.py_func
        name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        with locked(_LOCKS / name):
            return _compile(self, sig)

    Compiled.compile = _alone
