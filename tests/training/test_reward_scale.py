"""Every trainer that learns from rewards divides them by `reward_scale`, which is a setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from small_runs import quiet

from german_whist.common.settings import SettingsError, parse_overrides
from german_whist.training.algorithms.registry import make_trainer
from german_whist.training.presets import load_settings, settings_from
from german_whist.training.run import resume, start
from german_whist.training.warm_start import load_warm_start

SMALL = ["rules=2x4-h2", "n_envs=8", "hidden_sizes=8", "threads=1", "reward=margin"]


def trainer_of(name: str, *words: str) -> Any:
    if name in ("ppo", "mmd"):
        return make_trainer(load_settings("tiny", [f"trainer={name}", *SMALL, *words]))
    return make_trainer(settings_from({"trainer": name, **parse_overrides([*SMALL, *words])}))


@pytest.mark.parametrize("name", ["ppo", "mmd"])
def test_default_reward_scale_follows_the_largest_reward(name: str) -> None:
    settings = load_settings("quick", [f"trainer={name}", "rules=classic", "reward=margin"])
    worst = settings.options.max_loss
    assert worst > 2.5
    usual = trainer_of(name, "rules=classic")
    assert np.allclose(np.asarray(usual.collector.reward_scales), 0.4 * worst)
    assert np.allclose(np.asarray(trainer_of(name, "reward=win").collector.reward_scales), 1.0)
    assert np.allclose(np.asarray(trainer_of(name, "reward_scale=3").collector.reward_scales), 3.0)


def test_nfsp_stores_scaled_rewards() -> None:
    one, other = trainer_of("nfsp"), trainer_of("nfsp", "reward_scale=4")
    for trainer in (one, other):
        trainer.iterate()
    paid, less = (
        np.asarray(each.replay_buffer.rows["reward"][: len(each.replay_buffer)])
        for each in (one, other)
    )
    assert np.abs(paid).sum() > 0
    assert np.array_equal(paid, 4 * less)


def test_sb3_scales_rewards_and_reports_unscaled_ones() -> None:
    pytest.importorskip("sb3_contrib")
    one, other = (trainer_of("sb3", *words).games for words in ((), ("reward_scale=4",)))
    seen = []
    for games in (one, other):
        games.seed(3)
        games.reset()
        for _ in range(4):
            games.step_async(games.action_masks().argmax(1))
            _, rewards, _, infos = games.step_wait()
            seen.append((rewards, [each.get("episode", {}).get("r") for each in infos]))
    for (rewards, returns), (less, again) in zip(seen[:4], seen[4:], strict=True):
        assert np.array_equal(rewards, 4 * less)
        assert returns == again
    assert any(np.abs(rewards).sum() for rewards, _ in seen[:4])


def test_reward_scale_is_fixed_and_drops_other_critics(tmp_path: Path) -> None:
    words = [
        *SMALL,
        "decisions=200",
        "eval_every=200",
        "final_eval_hands=2",
        "eval_hands=2",
        "eval_opponents=random",
        "batch_size=8",
        "eval_mode=sync",
        "critic=shared",
    ]
    folder = tmp_path / "run"
    start(folder, load_settings("tiny", words)).go(quiet())
    with pytest.raises(SettingsError, match="reward_scale"):
        resume(folder, words=["reward_scale=9", "decisions=400"])
    for changed, kept in (([], True), (["reward_scale=9"], False)):
        settings = load_settings("tiny", [*words, f"init={folder}", *changed])
        _, _, note = load_warm_start(settings, make_trainer(settings).network_card())
        assert ("reward_scale was 0" not in note) == kept
