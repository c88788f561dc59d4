"""The benchmark of equilibrium search: the page shows its results, and its words are read."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def equilibrium(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if not (ROOT / "benchmarks").exists():
        pytest.skip("the benchmarks are not installed beside the tests")
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    return importlib.import_module("benchmarks.equilibrium")


def test_equilibrium_page_shows_the_results(equilibrium: ModuleType) -> None:
    results = equilibrium.read(equilibrium.OUT)
    assert {*results} == {*equilibrium.MEASUREMENTS}
    page = (ROOT / "docs" / "results" / "exploitability.md").read_text(encoding="utf-8")
    assert equilibrium.report(results.values()) in page
    for result in results.values():
        if not result["hands"]:
            stated = f"`{result['agent']}` {result[equilibrium.EXPLOITABILITY]:.4f}"
            assert f"{stated} on `{result['rules']}`" in page
