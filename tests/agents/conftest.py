"""Files of trained agents that several modules only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`champion-1` as a graph of ONNX."""
    for name in ("torch", "onnx", "onnxruntime"):
        pytest.importorskip(name)
    from german_whist.training.export.export import export_onnx

    path = tmp_path_factory.mktemp("graphs") / "player.onnx"
    export_onnx(FIRST_WEIGHTS, path)
    return path
