"""A plugin of pytest: once the tests have run, it names the functions that were never compiled.

It runs `german-whist compile`, too. Functions that are inlined by their code are compiled within
their callers, those of GPUs elsewhere, and those of extensions by their tests.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import german_whist
from german_whist.cli import main
from german_whist.commands.compile import PARTS
from german_whist.common.jit.compiler import PACKAGES

FILE = "FUNCTIONS_LEFT"
"""Variable with the path of the file to write."""
_OF_GPUS = "german_whist.engine.batch.cuda_kernels"


def dispatchers_of_the_package() -> Iterator[Any]:
    for found in pkgutil.walk_packages(german_whist.__path__, "german_whist."):
        if not found.name.endswith("__main__"):
            for value in vars(import_module(found.name)).values():
                if getattr(value, "__module__", None) == found.name and hasattr(value, "py_func"):
                    yield value


def _is_compiled(dispatcher: Any) -> bool:
    internal = vars(dispatcher).get("_internal")
    return bool(dispatcher.overloads or (internal and internal.overloads))


def pytest_sessionfinish() -> None:
    for part in PARTS:
        assert main(["compile", part]) == 0
    left = sorted(
        f"{each.__module__}.{each.__qualname__}"
        for each in dispatchers_of_the_package()
        if not _is_compiled(each)
        and each.__module__ != _OF_GPUS
        and each.__module__.split(".")[1] in PACKAGES
        and each.targetoptions.get("inline") != "always"
    )
    Path(os.environ[FILE]).write_text("\n".join(left), encoding="utf-8")
