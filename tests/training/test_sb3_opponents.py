"""Opponents of the sb3 trainer: they change nothing but their games, and faults name them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from german_whist.agents.checkpoints import read_checkpoint
from german_whist.cli import main
from german_whist.training.run import resume

SMALL = ["n_envs=16", "hidden_sizes=8", "batch_size=64", "threads=1", "decisions=3000", "seed=3"]
SMALL += ["eval_hands=20", "final_eval_hands=20", "eval_opponents=random", "save_every=1_000_000"]
SMALL += ["rules=quick", "pool_size=0", "n_steps=8", "final_eval_opponents="]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)


def trained(folder: Path, opponent: str, *words: str) -> int:
    words = ("sb3", *SMALL, f"opponents=faulty_opponents:{opponent}", *words)
    return main(["train", *words, "--run", str(folder)])


@pytest.mark.parametrize(
    ("opponent", "message"),
    [
        ("Late", "Late raised RuntimeError: had enough (faulty_opponents.py"),
        ("Leaver", "Leaver raised SystemExit"),
        ("Cheat", "Cheat chose"),
        ("Forgetful", "Forgetful raised KeyError"),
    ],
)
def test_faulty_opponent_is_named_and_state_is_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], opponent: str, message: str
) -> None:
    assert trained(tmp_path / "run", opponent) == 1
    captured = capsys.readouterr()
    output = captured.out + captured.err
    assert f"opponent faulty_opponents:{message}" in output
    assert f"train --resume {tmp_path / 'run'}" in output
    assert "fault of the program" not in output
    run = resume(tmp_path / "run")
    assert run.trainer.decisions > 0
    run.close()


def test_opponent_cannot_write_into_the_training(tmp_path: Path) -> None:
    weights_by_opponent = []
    for opponent in ("Lowest", "Writer"):
        assert trained(tmp_path / opponent, opponent, "decisions=600") == 0
        weights_by_opponent.append(read_checkpoint(tmp_path / opponent).weights)
    for name, weights in weights_by_opponent[0].items():
        np.testing.assert_array_equal(weights, weights_by_opponent[1][name])
