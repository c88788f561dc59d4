"""What tests of trainings share: processes that load and measure only what a test needs."""

from __future__ import annotations

import pytest


@pytest.fixture
def light_workers(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers find no TensorBoard, for which torch writes: a table needs neither.

    They time a short reference loop, as this process does (`short_reference_loop`).
    """
    folder = tmp_path_factory.mktemp("hook")
    code = """
import sys
from german_whist.common import reference_loop

sys.modules["tensorboard"] = None
reference_loop._ROUNDS = 40
"""
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))
