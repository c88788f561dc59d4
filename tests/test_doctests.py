"""The examples in docstrings run, and print what stands below them."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
FOLDERS = [path.parent.name for path in ROOT.glob("*/__init__.py")]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[:2] in (("docs", "scripts"), ("src", "german_whist")):
        return ".".join(parts[2:] if parts[0] == "docs" else parts[1:])
    name = ".".join(parts if parts[0] == "benchmarks" else ("german_whist", *parts))
    return name.removesuffix(".__init__")


def with_examples() -> list[str]:
    """The modules that have examples."""
    folders = [*FOLDERS, "src/german_whist/commands", "docs/scripts"]
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    paths += (ROOT / "src" / "german_whist").glob("*.py")
    return sorted(module_of(path) for path in paths if EXAMPLE.search(path.read_text("utf-8")))


@pytest.mark.parametrize("name", with_examples())
def test_examples_of_docstrings_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ".training." in name:
        pytest.importorskip("torch")
    monkeypatch.syspath_prepend(ROOT / "docs" / "scripts")
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.attempted
    assert not results.failed
