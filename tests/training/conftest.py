"""What tests of trainings share: processes that need no torch do not load it."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_tensorboard(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers find no TensorBoard, for which torch writes: a table needs neither."""
    folder = tmp_path_factory.mktemp("hook")
    code = "import sys; sys.modules['tensorboard'] = None"
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))
