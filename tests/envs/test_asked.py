"""What environments answer to those who ask: names, attributes, methods, pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecNormalize

import german_whist.envs
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv, SelfPlayEnv, german_whist_v0
from german_whist.envs.sb3 import GermanWhistVecEnv


def test_stable_baselines3_is_answered_for_each_environment() -> None:
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


def test_envs_package_lists_its_names() -> None:
    for make in (SelfPlayEnv, GermanWhistVectorEnv, GermanWhistVecEnv):
        env = make(2, "quick")
        assert env.rules.name == env.options.rules.name == "quick"
    assert GermanWhistEnv("quick").rules.name == "quick"
    for name in german_whist.envs.__all__:
        assert getattr(german_whist.envs, name) is not None
    assert german_whist.envs.german_whist_v0 is german_whist_v0
    with pytest.raises(AttributeError, match="nonsense"):
        _ = german_whist.envs.nonsense  # type: ignore[attr-defined]
