"""Run by `test_device_training` in numba's CUDA simulator: training there learns what it does here.

`NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1 python tests/training/device_training_checks.py` prints,
for each kind of training, or for those that are named, how far the weights of the two came apart,
and how far they moved. Without the two variables they train on a GPU.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from german_whist.engine.rules import Rules
from german_whist.training.algorithms.mmd import MMD
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import MMDSettings, PPOSettings
from german_whist.training.rollout.backends import (
    CpuTrainingBackend,
    CudaTrainingBackend,
    TrainingBackend,
)
from german_whist.training.rollout.kernels import draw_uniforms

TINY = Rules(name="tiny", suits=3, ranks=6, hand=3)
SMALL: dict[str, Any] = {
    "n_envs": 4,
    "hidden_sizes": (8,),
    "batch_size": 8,
    "seed": 3,
    "decisions": 10_000,
    "learning_rate": 0.01,
}
KINDS: dict[str, dict[str, Any]] = {
    "oracle": {"rules": TINY, "n_steps": 5},
    "whole hands": {
        "rules": TINY,
        "horizon": "hand",
        "critic": "separate",
        "card_ranks": "absolute",
    },
    "shared critic": {
        "rules": TINY,
        "n_steps": 4,
        "critic": "shared",
    },
    "several rules": {
        "rules": ("small-last", "humbug"),
        "horizon": "hand",
        "n_steps": 4,
        "n_epochs": 2,
        "kl_coef": 0.1,
    },
    # Minibatches of 7 and 6; the critic alone at first; the last iteration has 3 steps.
    "ragged": {
        "rules": TINY,
        "n_steps": 5,
        "batch_size": 7,
        "n_epochs": 4,
        "critic_warmup": 0.3,
        "decisions": 52,
        "kl_coef": 0.1,
    },
    "mmd": {
        "trainer": "mmd",
        "rules": TINY,
        "n_steps": 5,
        "batch_size": 7,
        "n_epochs": 4,
        "critic_warmup": 0.3,
        "decisions": 52,
    },
}


def uniforms_as_there(self: CpuTrainingBackend, random: np.random.Generator, count: int) -> Any:
    drawn = np.zeros(count, np.float32)
    self.batch_backend.run_rows(count, draw_uniforms, np.uint64(random.integers(2**63)), drawn)
    return drawn


def same_order(self: TrainingBackend, random: np.random.Generator, count: int) -> Tensor:
    rng = torch.Generator().manual_seed(int(random.integers(2**63)))
    return torch.randperm(count, generator=rng).to(self.device)


def apart(one: dict[str, Any], other: dict[str, Any]) -> float:
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)


def compare(wanted: dict[str, Any]) -> tuple[float, float]:
    """Two iterations on both sides, and a third of one that goes on from what the other kept."""
    is_mmd = wanted.get("trainer") == "mmd"
    algorithm, settings_kind = (MMD, MMDSettings) if is_mmd else (PPO, PPOSettings)
    settings = settings_kind(**{**SMALL, **wanted})
    here = algorithm(settings)
    there, resumed = (algorithm(settings, device="cuda") for _ in range(2))
    begun = here.policy_weights()
    for _ in range(2):
        ours, theirs = here.iterate(), there.iterate()
        played = "seats", "dones", "rewards", "action_masks", "actions", "observations"
        for name in (*played, "hidden_cards"):
            mine, found = (getattr(each.collector.buffer, name) for each in (here, there))
            assert np.array_equal(mine, found.cpu().numpy()), name
        for name in ("values", "advantages", "log_probs"):
            mine, found = (getattr(each.collector.buffer, name) for each in (here, there))
            assert mine == pytest.approx(found.cpu().numpy(), abs=2e-5), name
        assert (ours.keys(), here.decisions, here.hands) == (
            theirs.keys(),
            there.decisions,
            there.hands,
        )
        for name in ours.keys() - {"decisions_per_second"}:
            assert ours[name] == pytest.approx(theirs[name], abs=1e-4), name
    arrays, plain = there.state()
    assert np.array_equal(arrays["games.records"], here.games.state()["records"])
    resumed.restore(arrays, plain)
    for each in (here, there, resumed):
        each.iterate()
    assert apart(there.policy_weights(), resumed.policy_weights()) == 0
    return apart(here.policy_weights(), there.policy_weights()), apart(begun, here.policy_weights())


def main(kinds: list[str]) -> None:
    """All of these kinds."""
    torch.set_num_threads(1)
    # The same random numbers on both sides.
    CpuTrainingBackend.uniforms = uniforms_as_there  # type: ignore[method-assign]
    CpuTrainingBackend.permutation = CudaTrainingBackend.permutation = same_order  # type: ignore[method-assign]
    print(json.dumps({name: compare(KINDS[name]) for name in kinds}))


if __name__ == "__main__":
    main(sys.argv[1:] or [*KINDS])
