"""Run by every process of a mutation run: the project is imported from a copy, one change in it.

`MUTANTS_TREE` names the copy. `MUTANTS_CHANGED` names a source file in it and
the file of machine-independent code that is loaded instead; what is on the disk
stays as it is, so other processes and the compiler's cache notice nothing.
"""

from __future__ import annotations

import marshal
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any, cast

PACKAGE = "german_whist"
TREE = os.environ.get("MUTANTS_TREE", "")


class Rooms(MetaPathFinder):
    """Finds the package and its rooms in the copy, before an installed one."""

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The package itself, or a room of it that is a top-level folder of the copy."""
        package, _, room = fullname.partition(".")
        if package != PACKAGE or "." in room:
            return None
        folder = os.path.join(TREE, room) if room else os.path.join(TREE, "src", PACKAGE)
        start = os.path.join(folder, "__init__.py")
        if not os.path.exists(start):
            return None
        return spec_from_file_location(fullname, start, submodule_search_locations=[folder])


def put_in(changed: str) -> None:
    """Load other code for one source file: `SOURCE:CODE`, as `MUTANTS_CHANGED` has it."""
    source, code = changed.split(os.pathsep)
    whole = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if self.path == source:
            with open(code, "rb") as file:
                return cast(CodeType, marshal.load(file))
        return whole(self, fullname)

    cast(Any, SourceFileLoader).get_code = get_code


if TREE:
    sys.meta_path.insert(0, Rooms())
if os.environ.get("MUTANTS_CHANGED"):
    put_in(os.environ["MUTANTS_CHANGED"])
