"""The examples in docstrings of the core run, and print what stands below them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from docstring_examples import modules_with_examples, run_examples

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "docs" / "scripts"


def modules() -> Iterator[str]:
    for path in sorted(ROOT.glob("*/__init__.py")):
        name = path.parent.name
        yield from modules_with_examples(
            path.parent, name if name == "benchmarks" else f"german_whist.{name}"
        )
    for path in sorted((ROOT / "src" / "german_whist").iterdir()):
        if not path.is_symlink() and path.is_dir():
            yield from modules_with_examples(path, f"german_whist.{path.name}")
    yield from modules_with_examples(SCRIPTS)


@pytest.mark.usefixtures("few_checked_hands")
@pytest.mark.parametrize("module", [*modules()])
def test_examples_of_docstrings_run(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ".training." in module:
        pytest.importorskip("torch")
    monkeypatch.syspath_prepend(SCRIPTS)
    monkeypatch.chdir(tmp_path)
    run_examples(module)
