"""Extensions import the core, and the core knows none of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = sorted(path.parent for path in ROOT.glob("extensions/*/__init__.py"))
CORE = [path.parent for path in ROOT.glob("*/__init__.py")] + [ROOT / "src", ROOT / "docs"]
each_extension = pytest.mark.parametrize("folder", EXTENSIONS, ids=lambda folder: folder.name)


def modules_of(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*.py"):
        if path.relative_to(folder).parts[0] not in ("tests", "examples", "docs"):
            yield path


@each_extension
def test_extension_imports_the_core_by_absolute_names(folder: Path) -> None:
    for path in modules_of(folder):
        depth = len(path.relative_to(folder).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level <= depth, f"{path}:{node.lineno} leaves the extension"
                own = (node.module or "").startswith(f"german_whist.{folder.name}")
                assert not own, f"{path}:{node.lineno} imports its own by an absolute name"


@each_extension
def test_core_names_no_extension(folder: Path) -> None:
    """Neither in an import that static analysis sees, nor in a text that is imported later."""
    name = re.compile(rf"german_whist\.{folder.name}\b|extensions/{folder.name}\b")
    sources = [path for core in CORE for path in core.rglob("*.py") if path.is_file()]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "extensions" / "README.md"]
    for path in [*sources, *pages, *(ROOT / "src").rglob("*.pyi")]:
        if "german_whist" not in path.parts or not path.parent.is_symlink():
            assert not name.search(path.read_text(encoding="utf-8")), path


@each_extension
def test_extension_says_on_one_screen_what_it_is_for(folder: Path) -> None:
    assert len((folder / "README.md").read_text(encoding="utf-8").splitlines()) <= 60
    assert [*(folder / "tests").glob("test_*.py")]
