"""The game on a GPU, without one: its kernels in a simulator, and compiled to PTX."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from german_whist import named_rules
from german_whist.engine.batch.batch import Batch
from german_whist.engine.batch.config import options_from
from german_whist.engine.batch.cuda_backend import NoDevice

HERE = Path(__file__).resolve().parent
CUDA = HERE.parent.parent / ".venv-cuda" / "bin" / "python"


def told_by(python: str, script: str, *words: str, **variables: str) -> dict[str, int]:
    run = subprocess.run(
        [python, str(HERE / script), *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    "rules",
    [(), pytest.param((*named_rules(),), marks=pytest.mark.thorough)],
    ids=["small decks", "every"],
)
def test_kernels_play_and_show_what_a_batch_does_by_rule_sets(rules: tuple[str, ...]) -> None:
    simulator = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    counts = told_by(sys.executable, "device_checks.py", *rules, **simulator)
    assert set(rules) < set(counts)
    assert min(counts.values()) > 10


@pytest.mark.thorough
def test_kernels_compile_for_gpus_that_are_not_here() -> None:
    if not CUDA.exists():
        pytest.skip("numba-cuda is not here: `make cuda` puts it into .venv-cuda (170 MB)")
    sizes = told_by(str(CUDA), "ptx_checks.py")
    assert {kernel.split()[1] for kernel in sizes} == {"sm_80", "sm_90"}
    assert min(sizes.values()) > 50


def test_where_there_is_no_gpu_that_is_told() -> None:
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(NoDevice, match="there is no GPU that numba can use here"):
        Batch(options_from("classic"), 4, device="cuda")


def test_what_a_device_has_no_use_for_is_refused() -> None:
    with pytest.raises(ValueError, match="threads is 2, and on a GPU each game has its own"):
        Batch(options_from("classic"), 4, 2, "cuda")
    with pytest.raises(ValueError, match="device is 'gpu': it has to be one of cpu, cuda"):
        Batch(options_from("classic"), 4, device="gpu")
