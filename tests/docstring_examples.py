"""Examples in docstrings: the modules that have some, and running them."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
NO_MODULES = {"tests", "examples", "docs", "benchmarks"}
"""Folders in those of extensions."""


def modules_with_examples(folder: Path, package: str = "") -> Iterator[str]:
    """The modules below a folder that have examples, by the names that they are imported by."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if parts[0] not in NO_MODULES and EXAMPLE.search(path.read_text(encoding="utf-8")):
            yield ".".join(filter(None, (package, *parts))).removesuffix(".__init__")


def run_examples(module: str) -> None:
    """Run the examples of a module, and compare what they print."""
    results = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert results.attempted
    assert not results.failed
