"""Each algorithm trains with each horizon and reward, and comes near an equilibrium."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from small_runs import DECIDED, check_training_and_restoring

from german_whist.agents.registry import load_agent
from german_whist.cli import main
from german_whist.engine.batch.config import HORIZONS, REWARDS
from german_whist.engine.rules import load_rules
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.training.algorithms.registry import (
    own_settings,
    settings_kind,
)

pytestmark = pytest.mark.usefixtures("few_checked_hands")

SMALL = [
    "rules=2x4-h2",
    "threads=1",
    "eval_opponents=[]",
    "final_eval_opponents=[]",
    "eval_mode=sync",
    "eval_every=10_000_000",
    "device=cpu",
    "final_eval_hands=20",
]
OWN = {
    "mmd": ["hidden_sizes=[32]", "n_envs=256", "batch_size=256", "learning_rate=0.003"],
    "nfsp": ["hidden_sizes=[32]", "n_envs=128", "train_every=32", "anticipatory=0.2"],
    "ppo": ["hidden_sizes=[32]", "n_envs=256", "batch_size=256", "learning_rate=0.002"],
}


def train(trainer: str, *words: str) -> None:
    assert main(["train", f"trainer={trainer}", *SMALL, *OWN[trainer], *words]) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("trainer", ["mmd", "nfsp", "ppo"])
def test_trainer_comes_near_an_equilibrium(trainer: str, tmp_path: Path) -> None:
    decisions = 400_000 if trainer == "ppo" else 80_000
    train(trainer, f"decisions={decisions}", "--run", str(tmp_path / "run"))
    rules = load_rules("2x4-h2")
    trained = load_agent(f"network:{tmp_path / 'run'},sample", rules)
    at_random = measure_exploitability(load_agent("random-exact", rules), rules).exploitability
    assert measure_exploitability(trained, rules).exploitability < at_random / 2.5


THREE_ITERATIONS = {
    "ppo": {"hidden_sizes": [8], "n_envs": 4, "n_steps": 4, "batch_size": 8},
    "mmd": {"hidden_sizes": [8], "n_envs": 4, "n_steps": 4, "batch_size": 8},
    "nfsp": {
        "hidden_sizes": [8],
        "n_envs": 2,
        "batch_size": 4,
        "train_every": 16,
        "averaging": 1,
        "anneal_learning_rate": True,
    },
    "mccfr": {"iteration": 16},
    "sb3": {
        "hidden_sizes": [8],
        "n_envs": 4,
        "n_steps": 4,
        "batch_size": 8,
        "opponents": ["random"],
        "pool_every": 16,
        "card_ranks": "relative",
        "anneal_ent_coef": True,
    },
}


def combinations() -> Iterator[Any]:
    """Trainers with the horizons and rewards that they take.

    On each change every trainer meets every horizon and every reward, but not all pairs.
    """
    for trainer, (h, horizon), (r, reward) in product(
        own_settings(), enumerate(HORIZONS), enumerate(REWARDS)
    ):
        if trainer == "mccfr" and horizon != "foreplay":
            continue
        every_time = trainer == "mccfr" or h == r % len(HORIZONS)
        yield pytest.param(
            trainer, horizon, reward, marks=() if every_time else pytest.mark.thorough
        )


@pytest.mark.parametrize(("trainer", "horizon", "reward"), [*combinations()])
def test_trainer_trains_with_each_horizon_and_reward(
    trainer: str, horizon: str, reward: str, tmp_path: Path
) -> None:
    if trainer == "sb3":
        pytest.importorskip("sb3_contrib")
    settings = settings_kind(trainer)(
        trainer=trainer,
        rules=DECIDED,
        horizon=horizon,
        reward=reward,
        decisions=1_000_000,
        eval_opponents=(),
        final_eval_hands=2,
        eval_mode="sync",
        device="cpu",
        threads=1,
        **THREE_ITERATIONS[trainer],
    )
    check_training_and_restoring(settings, tmp_path / "run")
