"""The critic of a checkpoint, read without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from german_whist.agents.checkpoints import read_checkpoint
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.rollout.critic import critic_values
from german_whist.training.run_state import write_policy


@pytest.mark.parametrize(
    ("critic", "rules"), [("oracle", "classic"), ("separate", "draft"), ("shared", "humbug")]
)
def test_critic_values_are_those_of_the_trained_network(
    critic: str, rules: str, tmp_path: Path
) -> None:
    settings = PPOSettings(
        rules=[rules, "race-7"],
        horizon="auto",
        reward="points",
        critic=critic,
        n_envs=4,
        hidden_sizes=(16, 8),
    )
    trainer, rng = PPO(settings), np.random.default_rng(5)
    weights, network = trainer.policy_weights(), trainer.network_card()
    checkpoint = read_checkpoint(write_policy(tmp_path / "1", weights, settings, network))
    scales = trainer.collector.reward_scales[:, 0]
    now = trainer.games.observe()
    for _ in range(12):
        trainer.collector.add_observations(0, now)
        _, values = trainer.collector.evaluate(trainer.ema_network, 0)
        games = np.concatenate([batch.games for batch, _ in trainer.games.parts])
        for index, value in enumerate(values * scales):
            option = trainer.settings.all_options[0 if index < 2 else 1]
            view, game = trainer.games.view(index, now.seats[index]).array, games[index : index + 1]
            found = critic_values(checkpoint, option.rules, view, game)
            assert found == pytest.approx(value, abs=1e-4)
        now = trainer.games.step((now.masks * rng.random(now.masks.shape)).argmax(axis=1))
