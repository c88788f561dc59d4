"""The two-seat vector serves self-play trainers: arrays that torch wraps, and honest rewards."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from walks import picks

from german_whist.engine.game import IllegalAction
from german_whist.envs import SelfPlayEnv


def test_torch_wraps_every_array_without_copying() -> None:
    now = SelfPlayEnv(4).reset(seed=1)
    for array in now:
        assert np.shares_memory(torch.from_numpy(array).numpy(), array)
    assert now.observations.dtype == now.masks.dtype == np.int8
    assert now.rewards.dtype == np.float32
    assert now.rewards.shape == (4, 2)


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


def test_arrays_kept_from_one_step_stay_as_they_were() -> None:
    env = SelfPlayEnv(5, "small-last")
    now = env.reset(seed=3)
    kept = []
    for _ in range(40):
        kept += [(array, array.copy()) for array in now]
        now = env.step(now.masks.argmax(axis=1))
    assert all((array == copy).all() for array, copy in kept)
    reused = SelfPlayEnv(5, "small-last", copy=False)
    first = reused.reset(seed=3)
    second = reused.step(first.masks.argmax(axis=1))
    assert np.shares_memory(first.observations, second.observations)


def test_views_are_those_of_the_seats_to_move() -> None:
    env = SelfPlayEnv(6)
    now = env.reset(seed=4)
    views = env.views()
    assert views["to_move"].all()
    np.testing.assert_array_equal(views["seat"], now.seats)
    assert env.view(2, int(now.seats[2])).record.tobytes() == views[2:3].tobytes()


def test_bad_actions_get_a_sentence() -> None:
    env = SelfPlayEnv(3)
    with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
        env.step(np.zeros(3, int))
    now = env.reset(seed=1)
    with pytest.raises(IllegalAction, match="one for each of 3 games"):
        env.step(np.zeros(4, int))
    env.step(now.masks.argmax(axis=1))


@pytest.mark.parametrize("observation", ["vector", "history"])
def test_a_match_deals_on_until_it_is_won(observation: str) -> None:
    env = SelfPlayEnv(8, "small-last", horizon="match", match=6, observation=observation)
    now = env.reset(seed=1)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(300):
        now = env.step(picks(now.masks, rng))
        ends += int(now.ended.sum())
    assert 3 <= ends < 8 * 300 // 28
