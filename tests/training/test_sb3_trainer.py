"""MaskablePPO in the runs of this package: settings, budget, opponent pool, divergence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import torch
from small_runs import quiet
from stable_baselines3.common.callbacks import BaseCallback

from german_whist.agents.networks.policy import NetworkAgent
from german_whist.common.signals import RunStopped
from german_whist.training.algorithms.sb3 import SB3Trainer
from german_whist.training.algorithms.settings import SB3Settings
from german_whist.training.run import start
from german_whist.training.run_state import agent_from_weights

TINY = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2}
SMALL = {
    "rules": TINY,
    "horizon": "hand",
    "reward": "points",
    "hidden_sizes": (16, 16),
    "n_envs": 16,
    "n_steps": 16,
    "batch_size": 128,
    "decisions": 1500,
    "eval_every": 600,
    "save_every": 500,
    "eval_hands": 40,
    "eval_mode": "sync",
    "final_eval_hands": 40,
    "eval_opponents": ("random",),
    "threads": 1,
    "pool_every": 300,
    "pool_sampling": "pfsp",
    "pool_size": 2,
    "opponents": ("random", "random-exact"),
}


def settings(**changes: object) -> SB3Settings:
    return SB3Settings(**{**SMALL, **changes})  # type: ignore[arg-type]


def test_sb3_model_has_the_settings() -> None:
    config = settings(
        n_envs=8,
        n_steps=6,
        batch_size=12,
        n_epochs=3,
        learning_rate=3e-3,
        clip_range=0.3,
        gamma=0.9,
        gae_lambda=0.8,
        ent_coef=0.04,
        vf_coef=0.7,
        max_grad_norm=0.6,
        reward="margin",
    )
    model = SB3Trainer(config).model
    values = (
        model.n_envs,
        model.n_steps,
        model.batch_size,
        model.n_epochs,
        model.gamma,
        model.gae_lambda,
        model.clip_range(1.0),
        model.ent_coef,
        model.vf_coef,
        model.max_grad_norm,
    )
    assert values == (8, 6, 12, 3, 0.9, 0.8, 0.3, 0.04, 0.7, 0.6)
    assert model.lr_schedule(1.0) == 3e-3
    env = model.get_env()
    assert env is not None
    options = env.get_attr("options")[0]
    assert (options.reward, options.horizon, options.suit_order) == (
        "margin",
        "hand",
        "trump-first",
    )


def test_sb3_may_see_relative_ranks(tmp_path: Path) -> None:
    """The model's probabilities, card by card, are those of its checkpoint."""
    config = settings(rules="2x5-h3", card_ranks="relative", suit_order="raw", n_envs=64)
    trainer = SB3Trainer(config)
    trainer.iterate()
    env, seen = trainer.games, 0
    for _ in range(6):
        observations, masks = env._observations(), env.action_masks()
        with torch.no_grad():
            distribution = trainer.model.policy.get_distribution(
                torch.from_numpy(observations).float(), action_masks=masks
            ).distribution
        by_card = np.zeros((64, 52))
        games, actions = np.nonzero(masks)
        by_card[games, env._env_actions[games, actions]] = distribution.probs[games, actions]
        weights, card = trainer.policy_weights(), trainer.network_card()
        agent = agent_from_weights(config, weights, card, "sample", "endgame=network")
        views = env._batch.batch.views(env._batch.seats)
        np.testing.assert_allclose(agent.probabilities(views), by_card, atol=1e-5)
        seen += int((env._env_actions[games, actions] != actions).sum())
        env.step(distribution.probs.numpy().argmax(1))
    assert seen > 100
    assert config.given.observation == "relative ranks"
    trainer.write_extra_files(tmp_path / "weights")
    assert [*tmp_path.iterdir()] == []


def test_sb3_anneals_the_entropy_bonus() -> None:
    trainer = SB3Trainer(settings(anneal_ent_coef=True, ent_coef=0.5, decisions=1024))
    found = []
    for _ in range(3):
        trainer.iterate()
        found.append(trainer.model.ent_coef)
    assert found == pytest.approx([0.5, 0.375, 0.25])


def test_sb3_counts_learner_decisions_and_meets_budget() -> None:
    config = settings(decisions=1000, n_envs=16, n_steps=16)
    trainer = SB3Trainer(config)
    rates, hands = [], 0
    while trainer.decisions < 1000:
        before, decisions = trainer.hands, trainer.decisions
        metrics = trainer.iterate()
        if trainer.decisions < 1000:
            rates.append((decisions, metrics["learning_rate"]))
        else:  # cut short
            assert metrics == {}
        assert trainer.decisions == trainer.model.num_timesteps
        hands += trainer.hands - before
    assert 1000 <= trainer.decisions < 1016
    # Four or five decisions of the learner a hand.
    assert trainer.decisions / 5 <= hands <= trainer.decisions / 4 + 16
    for decisions, rate in rates:
        assert rate == pytest.approx(5e-4 * (1 - min(1, decisions / 1000)))
    # Beyond the budget iterations are whole again.
    trainer.iterate()
    assert trainer.model.rollout_buffer.buffer_size == 16


def test_sb3_pool_keeps_snapshots_with_their_weights() -> None:
    config = settings(
        decisions=10_000,
        n_envs=16,
        n_steps=8,
        pool_every=256,
        pool_size=2,
        opponents=("random",),
        pool_sampling="uniform",
    )
    trainer = SB3Trainer(config)
    pool, played = trainer.pool, set()
    for count in range(1, 13):
        trainer.iterate()
        assert len(pool) == 1 + min(2, count // 2)
        playing = {pool.names[index] for index in trainer.games.state()["opponents"]}
        played |= playing
        earlier = {pool.names[index] for index in pool.agents} | playing
        assert earlier - {"random"} <= trainer.snapshots.keys()
        if count % 2 == 0:
            newest = f"{trainer.decisions:,} decisions"
            for name, each in trainer.policy_weights().items():
                assert np.array_equal(trainer.snapshots[newest][name], each)
            agent = pool.agents[len(pool.names) - 1].agent
            assert isinstance(agent, NetworkAgent)
            assert agent.sample
            weights = trainer.snapshots[newest]["hidden.0.weight"].T.ravel()
            assert agent.policy.layers.weights[: weights.size] == pytest.approx(weights)
    assert len(trainer.snapshots) < 6
    assert played > {"random", "256 decisions"}
    results = pool.results()
    assert sum(result["games"] for result in results.values()) > 12 * 16


def test_sb3_nan_is_divergence() -> None:
    trainer = SB3Trainer(settings())
    trainer.iterate()
    with torch.no_grad():
        trainer.model.policy.action_net.weight.fill_(float("nan"))
    with pytest.raises(ArithmeticError, match="after 256 decisions"):
        trainer.iterate()
    trainer = SB3Trainer(settings(opponents=()))
    train = trainer.model.train

    def spoilt() -> None:
        train()
        with torch.no_grad():
            trainer.model.policy.value_net.bias[0] = float("inf")

    trainer.model.train = spoilt  # type: ignore[method-assign]
    with pytest.raises(ArithmeticError, match="weights became NaN or infinite after 256 decisions"):
        trainer.iterate()
    # Without opponents it began against itself.
    assert trainer.pool.names[0] == "0 decisions"


def test_sb3_calls_an_action_against_its_mask_divergence() -> None:
    trainer = SB3Trainer(settings())
    with torch.no_grad():
        bias = trainer.model.policy.action_net.bias
        bias.copy_(-1e12 * torch.arange(float(len(bias))))
    with pytest.raises(ArithmeticError, match="so large that an illegal action was chosen"):
        trainer.iterate()


@pytest.mark.parametrize(
    ("n_envs", "n_steps", "batch_size", "decisions"),
    [(1, 2, 2, 5), (3, 3, 2, 27), (3, 3, 4, 27), (7, 1, 2, 21)],
)
def test_sb3_trains_on_the_smallest_rollouts(
    n_envs: int, n_steps: int, batch_size: int, decisions: int
) -> None:
    config = settings(
        n_envs=n_envs,
        n_steps=n_steps,
        batch_size=batch_size,
        decisions=decisions,
        reward="win",
    )
    trainer = SB3Trainer(config)
    while trainer.decisions < decisions:
        assert np.isfinite([*trainer.iterate().values()]).all()


@pytest.mark.parametrize("error", [ValueError("mine"), SystemExit(0)])
def test_fault_in_an_sb3_callback_is_named(error: BaseException, tmp_path: Path) -> None:
    class Broken(BaseCallback):
        def _on_step(self) -> bool:
            raise error

    kind = type(error).__name__
    message = rf"a callback of SB3 raised {kind}: .*\(test_sb3_trainer.py:\d+\); .* after 0 decis"
    with pytest.raises(RunStopped, match=message) as stopped:
        start(tmp_path / "run", settings(), callbacks=[Broken()]).go(quiet())
    assert stopped.value.status == 1
