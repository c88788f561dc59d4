"""The two-seat vector serves self-play trainers: arrays that torch wraps, and honest rewards."""

from __future__ import annotations

import numpy as np
import torch
from walks import picks

from german_whist.envs import SelfPlayEnv


def test_torch_wraps_every_array_without_copying() -> None:
    for array in SelfPlayEnv(4).reset(seed=1):
        assert np.shares_memory(torch.from_numpy(array).numpy(), array)


def test_rewards_of_a_trick_go_to_both_seats() -> None:
    env = SelfPlayEnv(5, "all-tricks", reward="tricks")
    now = env.reset(seed=2)
    rng = np.random.default_rng(0)
    total = np.zeros((5, 2))
    for step in range(1, 53):
        now = env.step(picks(now.masks, rng))
        total += now.rewards
        assert (np.abs(now.rewards).sum(axis=1) == (2 if step % 2 == 0 else 0)).all()
    assert now.ended.all()
    assert (total.sum(axis=1) == 0).all()
