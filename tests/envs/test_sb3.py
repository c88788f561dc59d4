"""The VecEnv is what Stable-Baselines3 expects, and MaskablePPO trains on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import is_masking_supported
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize
from walks import picks

from german_whist.engine.game import IllegalAction
from german_whist.envs import GermanWhistEnv
from german_whist.envs.sb3 import GermanWhistVecEnv


def model_of(env: GermanWhistVecEnv, **options: Any) -> MaskablePPO:
    kind = "MultiInputPolicy" if hasattr(env.observation_space, "spaces") else "MlpPolicy"
    return MaskablePPO(
        kind,
        env,
        n_steps=20,
        batch_size=40,
        n_epochs=1,
        seed=3,
        device="cpu",
        policy_kwargs={"net_arch": [8]},
        **options,
    )


@pytest.mark.parametrize("in_observation", [False, True])
def test_maskable_ppo_trains_and_evaluates(in_observation: bool) -> None:
    env = GermanWhistVecEnv(8, "small-last", mask_in_observation=in_observation)
    assert is_masking_supported(env)
    assert env.has_attr("action_masks")
    assert not env.has_attr("nonsense")
    model = model_of(env).learn(320)
    assert len(model.ep_info_buffer) > 0
    assert all(info["l"] == 14 for info in model.ep_info_buffer)
    mean, deviation = evaluate_policy(model, env, n_eval_episodes=20)
    assert -5 <= mean <= 5
    assert deviation >= 0
    single = GermanWhistEnv("small-last", mask_in_observation=in_observation)
    evaluate_policy(model, Monitor(single), n_eval_episodes=2)


def test_infos_hold_monitor_statistics_and_last_observation() -> None:
    env = GermanWhistVecEnv(5, "all-tricks", reward="tricks")
    env.seed(4)
    env.reset()
    rng, total = np.random.default_rng(0), np.zeros(5)
    for step in range(1, 53):
        masks = np.array(env.env_method("action_masks"))
        assert masks.dtype == np.bool_
        seen, rewards, ended, infos = env.step(picks(masks, rng))
        assert rewards.dtype == np.float32
        total += rewards
        for index, info in enumerate(infos):
            assert ended[index] == (step % 26 == 0)
            if not ended[index]:
                assert info == {}
                continue
            assert info["episode"]["r"] == total[index]
            assert info["episode"]["l"] == 26
            assert info["episode"]["t"] >= 0
            assert info["TimeLimit.truncated"] is False
            assert not np.array_equal(info["terminal_observation"], seen[index])
            total[index] = 0


def test_restored_vec_env_has_the_restored_reset_infos() -> None:
    original, restored = (GermanWhistVecEnv(3, "small-last", with_state=True) for _ in range(2))
    for env, seed in ((original, 1), (restored, 2)):
        env.seed(seed)
        env.reset()
    masks = np.array(original.env_method("action_masks"))
    infos = original.step(masks.argmax(axis=1))[3]
    restored.restore(original.state())
    for info, expected in zip(restored.reset_infos, infos, strict=True):
        np.testing.assert_array_equal(info["state"], expected["state"])


@pytest.mark.parametrize("fails", [False, True])
def test_monitor_statistics_begin_anew_with_a_reset(fails: bool) -> None:
    env = GermanWhistVecEnv(4, "all-tricks", reward="tricks")
    env.seed(4)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(17):
        _, rewards, *_ = env.step(picks(np.array(env.env_method("action_masks")), rng))
    assert env.state()["returns"].any()
    if fails:
        with pytest.raises(IllegalAction):
            env.step(np.full(4, 99))
    env.reset()
    total, infos = np.zeros(4), []
    for _ in range(26):
        _, rewards, _, infos = env.step(picks(np.array(env.env_method("action_masks")), rng))
        total += rewards
    for info, reward in zip(infos, total, strict=True):
        mine, others = info["result"]["tricks"]
        assert info["episode"]["r"] == mine - others == reward
        assert info["episode"]["l"] == 26


@pytest.mark.filterwarnings("ignore:The environment is already wrapped with a `Monitor`")
def test_wrappers_of_stable_baselines3_go_over_it() -> None:
    env = VecMonitor(GermanWhistVecEnv(3, "small-last"))
    env.reset()
    ended, infos = np.zeros(3, np.bool_), []
    for _ in range(14):
        masks = np.array(env.env_method("action_masks"))
        _, _, ended, infos = env.step(masks.argmax(axis=1))
    assert ended.all()
    assert infos[0]["episode"]["l"] == 14
    assert len(env.env_method("action_masks", indices=[0, 2])) == 2


def test_vec_env_attributes_and_methods_per_environment() -> None:
    env = GermanWhistVecEnv(3, "small-last")
    env.reset()
    assert env.reset_infos == [{}, {}, {}]
    assert env.get_attr("rules") == [env.rules] * 3
    assert env.get_attr("rules", [0, 2]) == [env.rules] * 2
    assert env.get_attr("spec", 1) == [None]
    with pytest.raises(AttributeError, match="have no 'nonsense'; there are render_mode, rules"):
        env.get_attr("nonsense")
    masks = env.env_method("action_masks")
    assert len(masks) == 3
    np.testing.assert_array_equal(masks, env.action_masks())
    np.testing.assert_array_equal(env.env_method("action_masks", indices=[2])[0], masks[2])
    with pytest.raises(AttributeError, match="no method 'shuffle'"):
        env.env_method("shuffle")
    assert env.env_is_wrapped(Monitor) == [True] * 3
    assert env.env_is_wrapped(VecNormalize, indices=[1]) == [False]  # type: ignore[arg-type]
    env.set_attr("opponent", "threshold")
    assert env.opponent.name == "threshold"
    env.set_attr("opponent", "random", indices=range(3))
    assert env.opponent.name == "random"
    for name, where in (("opponent", [0]), ("rules", None)):
        with pytest.raises(AttributeError, match=f"'{name}' cannot be set: only the opponent"):
            env.set_attr(name, "random", indices=where)
    assert env.env_method("render") == [None] * 3
    assert list(env.get_images()) == [None] * 3


def test_sb3_env_renders_the_games_it_asks_for(monkeypatch: Any) -> None:
    env = GermanWhistVecEnv(3, "small-last", render_mode="ansi")
    env.reset()
    pictures = env.env_method("render")
    assert len({*pictures}) == 3
    assert env.env_method("render", indices=[2]) == pictures[2:]
    assert list(env.get_images()) == pictures
    env = GermanWhistVecEnv(3, "small-last", render_mode="human")
    env.reset()
    shown: list[Any] = []
    monkeypatch.setattr(
        "german_whist.envs.render.window.Window.show", lambda _, scene: shown.append(scene)
    )
    env.env_method("render", indices=[1, 2])
    assert len(shown) == 1
    env.close()
