"""Several processes train as one does: the same steps, the same weights, whoever is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from german_whist.agents.checkpoints.checkpoint import list_checkpoints
from german_whist.cli import main
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.registry import make_trainer
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.checkpoint import load_state
from german_whist.training.distributed import Ranks
from german_whist.training.runs.presets import load_settings
from german_whist.training.runs.start import resume

HERE = Path(__file__).resolve().parent
SMALL = [
    *("n_envs=64", "hidden_sizes=16,16", "batch_size=256", "seed=3", "decisions=6000",
        "threads=1"),
    *("eval_every=100000", "save_every=2000", "final_eval_hands=40", "eval_opponents=random"),
    *("pool_fraction=0.25", "pool_every=3000", "pool_size=2", "critic=oracle", "device=cpu"),
    "eval_mode=sync",
]  # fmt: skip

PATIENCE = 500
"""Seconds: the first run may compile, and cores may be busy."""


def state(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    return load_state(folder / "state.safetensors")[0]


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two ranks of torchrun did, one of which was killed in the second of their runs.

    Starting a process costs more than what it does here, so these do everything.
    """
    folder = tmp_path_factory.mktemp("ranks")
    words = ["--nproc-per-node=2", "--max-restarts=1", "--standalone", "--"]
    with open(folder / "told.txt", "w", encoding="utf-8") as told:
        running = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *words, str(HERE / "rank_checks.py"),
             str(folder), *SMALL],
            stdout=told, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        # Kill the second rank when there is a state to go on from.
        kept = folder / "killed" / "state.safetensors"
        while running.poll() is None and not (kept.exists() and decisions_in(kept)):
            time.sleep(0.02)
        os.kill(rank_under(running.pid, 1), signal.SIGKILL)
        code = running.wait(PATIENCE)
    finally:
        running.kill()
        running.wait()
    assert code == 0, (folder / "told.txt").read_text()
    return folder


@pytest.fixture
def found(ranked: Path) -> list[dict[str, Any]]:
    return [json.loads((ranked / f"rank-{rank}.json").read_text()) for rank in range(2)]


def test_a_global_batch_teaches_two_ranks_what_it_teaches_one_process(
    found: list[dict[str, Any]],
) -> None:
    first, second = found
    assert first["learnt"][1] + second["learnt"][1] == first["learnt"][0]
    assert first["learnt"][1] != second["learnt"][1]
    assert first["digest"] == second["digest"]
    assert first["deals"] != second["deals"]
    for each in found:
        assert each["moved"] > 1e-4
        assert each["apart"] < 2e-6
        assert each["ours"] == pytest.approx(each["one"], rel=1e-3, abs=1e-5)


def test_two_ranks_leave_one_run(ranked: Path, found: list[dict[str, Any]]) -> None:
    whole = ranked / "whole"
    # One shows, and the others follow in silence.
    assert [each["status"] for each in found] == [0, 0]
    assert "against" in found[0]["shown"]
    assert not found[1]["shown"]
    arrays = state(whole)
    games = [name for name in arrays if "games." in name]
    assert {name.rpartition("games.")[0] for name in games} == {"", "rank.1."}
    assert not np.array_equal(arrays["games.records"], arrays["rank.1.games.records"])
    settings = load_settings("tiny", SMALL)
    last = list_checkpoints(whole / "checkpoints")[-1]
    assert settings.decisions <= int(last.stem) < settings.decisions + 64 * 8


def test_a_killed_rank_is_started_again_by_torchrun_to_the_same_weights(ranked: Path) -> None:
    told = (ranked / "told.txt").read_text()
    assert f"go on from it with german-whist train --resume {ranked / 'killed'}" in told
    assert same(state(ranked / "killed"), state(ranked / "whole"))


def decisions_in(path: Path) -> int:
    return load_state(path)[1].trainer["decisions"]


def rank_under(parent: int, rank: int) -> int:
    """The process that torchrun started as this rank."""
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and int((each / "stat").read_text().split()[3]) == parent:
                told = (each / "environ").read_bytes().split(b"\0")
                if f"RANK={rank}".encode() in told:
                    return int(each.name)
        except (OSError, IndexError):
            continue
    raise AssertionError("there is no such rank")


def same(one: dict[str, np.ndarray[Any, Any]], other: dict[str, np.ndarray[Any, Any]]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


def test_one_process_goes_on_where_two_stopped(ranked: Path, tmp_path: Path) -> None:
    whole = ranked / "whole"
    folder = tmp_path / "on"
    shutil.copytree(whole, folder)
    run = resume(folder, ["decisions=7000"])
    before = state(whole)
    trainer = run.trainer
    assert isinstance(trainer, PPO)
    assert np.array_equal(trainer.player()["policy.weight"], before["ema_network.policy.weight"])
    # Its games begin anew, with deals that nobody has played.
    begun = trainer.games.state()["records"]
    assert not np.array_equal(begun, PPO(trainer.settings).games.state()["records"])
    decisions = trainer.decisions
    trainer.iterate()
    assert trainer.decisions > decisions
    run.close()


def test_what_ranks_can_not_share_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="n_envs is 100, which 3 processes cannot share evenly"):
        PPO(PPOSettings(n_envs=100), ranks=Ranks(0, 3))
    with pytest.raises(ValueError, match="trainer: sb3 trains in one process"):
        make_trainer(load_settings("sb3", []), Ranks(0, 2))
    for name, value in {
        "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "x", "MASTER_PORT": "1"
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert main(["train", "tiny", "seeds=1,2"]) == 2
    assert "torchrun started 2" in capsys.readouterr().err


def test_ranks_play_games_of_their_own_seeds() -> None:
    places = [(rank, world) for world in (2, 3) for rank in range(world)]
    begun = {Ranks(*place).seed(7) for place in places}
    assert 7 in begun
    assert len(begun) == 3
    # After a change of ranks nobody plays again what was played before.
    since = (10**12, 10**12 + 1)
    later = {Ranks(*place).seed(7, when) for place in places for when in since}
    assert len(later | begun) == len(begun) + len(since) * len(places)
