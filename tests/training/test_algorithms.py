"""Each algorithm comes near an equilibrium of a small deck."""

from __future__ import annotations

from pathlib import Path

import pytest

from german_whist.agents.registry import make_agent
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.evaluation.exploitability.exact import measure_exploitability

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
    trained = make_agent(f"network:{tmp_path / 'run'},sample", rules)
    at_random = measure_exploitability(make_agent("random-exact", rules), rules).exploitability
    assert measure_exploitability(trained, rules).exploitability < at_random / 2.5
