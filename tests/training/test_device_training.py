"""Training on a GPU, in numba's simulator, and the choice of the device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from german_whist.engine.batch.cuda_backend import NoDevice
from german_whist.training.algorithms import base as trainer
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import PPOSettings, SB3Settings

CHECKS = Path(__file__).resolve().parent / "device_training_checks.py"
KINDS = "several rules", "oracle", "whole hands", "ragged", "mmd"


@pytest.mark.thorough
def test_simulated_gpu_trains_as_the_cpu() -> None:
    run = subprocess.run(
        [sys.executable, str(CHECKS), *KINDS],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"},
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert {*found} == {*KINDS}
    for name, (apart, moved) in found.items():
        assert apart < 1e-5 < 1e-3 < moved, name


def test_auto_device_needs_games_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    auto, wanted = PPOSettings(), PPOSettings(device="cuda")
    assert trainer.torch_device(auto, games=True) == "cpu" or torch.cuda.is_available()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)

    def none() -> None:
        raise NoDevice("a GPU needs numba-cuda")

    monkeypatch.setattr(trainer, "check_device", none)
    assert trainer.torch_device(auto, games=True) == "cpu"
    # Whose games are played here anyway needs torch alone.
    assert trainer.torch_device(SB3Settings(), games=False) == "cuda"
    with pytest.raises(NoDevice, match="needs numba-cuda"):
        PPO.from_settings(wanted)
    monkeypatch.setattr(trainer, "check_device", lambda: None)
    assert trainer.torch_device(auto, games=True) == "cuda"
    assert trainer.torch_device(PPOSettings(device="cpu"), games=True) == "cpu"
