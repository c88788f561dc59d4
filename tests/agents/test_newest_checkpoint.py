"""Of a run its newest checkpoint plays, whatever lies beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from german_whist import load_agent
from german_whist.agents.checkpoints import find_checkpoint
from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS
from german_whist.training.callbacks.evaluation import earlier_checkpoint

OLD, NEW = "000000001500.safetensors", "000000003000.safetensors"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    # What a run keeps beside its checkpoints is none of them.
    (folder / "state.safetensors").write_bytes(b"")
    for name in (OLD, NEW, "best.safetensors", "99.safetensors"):
        shutil.copy(FIRST_WEIGHTS, folder / "checkpoints" / name)
    return folder


def test_newest_checkpoint_of_a_run_plays(run: Path) -> None:
    assert find_checkpoint(run) == run / "checkpoints" / NEW
    assert earlier_checkpoint(run / "checkpoints" / NEW) == run / "checkpoints" / OLD


def test_damaged_newest_checkpoint_is_refused(run: Path) -> None:
    (run / "checkpoints" / NEW).write_bytes(b"")
    with pytest.raises(ValueError, match=f"{NEW}: is no safetensors file"):
        load_agent(run)
    (run / "checkpoints" / NEW).unlink()
    (run / "checkpoints" / NEW).symlink_to(run / "moved.safetensors")
    with pytest.raises(ValueError, match=f"{NEW}: cannot be read"):
        load_agent(run)
