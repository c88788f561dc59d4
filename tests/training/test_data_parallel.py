"""Several ranks train as one process does, also after one was killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import rank_checks
from small_runs import arrays_of, same

from german_whist.agents.checkpoints import list_checkpoints
from german_whist.cli import main
from german_whist.training.algorithms.data_parallel import DataParallel
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.registry import make_trainer
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.distributed import Ranks, current_ranks
from german_whist.training.presets import load_settings
from german_whist.training.run import resume

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

SMALL = [
    "n_envs=64",
    "hidden_sizes=16,16",
    "batch_size=256",
    "seed=3",
    "decisions=6000",
    "threads=1",
    "eval_every=100000",
    "save_every=2000",
    "final_eval_hands=40",
    "eval_opponents=random",
    "critic=oracle",
    "device=cpu",
    "eval_mode=sync",
]

PATIENCE = 500
"""Seconds: the first run may compile, and cores may be busy."""


def as_rank(folder: Path, rank: int, attempt: int, port: int) -> None:
    """Be a rank as torchrun starts it."""
    os.environ |= {
        "RANK": str(rank),
        "WORLD_SIZE": "2",
        "TORCHELASTIC_RUN_ID": "one",
        "TORCHELASTIC_RESTART_COUNT": str(attempt),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
    }
    current_ranks.cache_clear()
    with (
        (folder / "output.txt").open("a") as output,
        redirect_stdout(output),
        redirect_stderr(output),
    ):
        rank_checks.main(folder, SMALL)


def fork_ranks(folder: Path) -> list[int | None]:
    """Start two ranks, and both anew when one has died, without loading everything again."""
    codes: list[int | None] = [1]
    for attempt in range(2):
        with socket.create_server(("localhost", 0)) as server:
            port = server.getsockname()[1]
        processes = [
            get_context("fork").Process(target=as_rank, args=(folder, rank, attempt, port))
            for rank in range(2)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(PATIENCE)
            process.kill()
        codes = [process.exitcode for process in processes]
        assert (codes[1] == -signal.SIGKILL) is (attempt == 0)
    return codes


def torchrun(folder: Path) -> list[int | None]:
    words = ["--nproc-per-node=2", "--max-restarts=1", "--standalone", "--", rank_checks.__file__]
    command = [sys.executable, "-m", "torch.distributed.run", *words, str(folder), *SMALL]
    with open(folder / "output.txt", "w", encoding="utf-8") as output:
        done = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False
        )
    return [done.returncode]


@pytest.fixture(
    scope="module", params=[fork_ranks, pytest.param(torchrun, marks=pytest.mark.thorough)]
)
def ranked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two ranks did, one of which was killed in the second of their runs."""
    folder = tmp_path_factory.mktemp("ranks")
    codes = request.param(folder)
    assert not any(codes), (folder / "output.txt").read_text()
    return folder


@pytest.fixture
def found(ranked: Path) -> list[dict[str, Any]]:
    return [json.loads((ranked / f"rank-{rank}.json").read_text()) for rank in range(2)]


def test_two_ranks_learn_the_mean_of_their_gradients(found: list[dict[str, Any]]) -> None:
    assert found[0]["digest"] == found[1]["digest"]
    for each in found:
        assert each["moved"] > 1e-4
        assert each["apart"] < 2e-6


def test_two_ranks_leave_one_run(ranked: Path, found: list[dict[str, Any]]) -> None:
    whole = ranked / "whole"
    # One shows, and the others follow in silence.
    assert [each["status"] for each in found] == [0, 0]
    assert "against" in found[0]["shown"]
    assert not found[1]["shown"]
    arrays = arrays_of(whole)
    games = [name for name in arrays if "games." in name]
    assert {name.rpartition("games.")[0] for name in games} == {"", "rank.1."}
    assert not np.array_equal(arrays["games.records"], arrays["rank.1.games.records"])
    settings = load_settings("tiny", SMALL)
    last = list_checkpoints(whole / "checkpoints")[-1]
    assert settings.decisions <= int(last.stem) < settings.decisions + 64 * 8


def test_killed_rank_restarts_to_the_same_weights(ranked: Path) -> None:
    output = (ranked / "output.txt").read_text()
    assert f"and goes on with german-whist train --resume {ranked / 'killed'}" in output
    assert same(arrays_of(ranked / "killed"), arrays_of(ranked / "whole"))


def test_one_process_resumes_a_run_of_two(ranked: Path, tmp_path: Path) -> None:
    whole = ranked / "whole"
    folder = tmp_path / "on"
    shutil.copytree(whole, folder)
    run = resume(folder, ["decisions=7000"])
    before = arrays_of(whole)
    assert isinstance(run.trainer, DataParallel)
    trainer = run.trainer.local
    assert np.array_equal(
        trainer.policy_weights()["policy.weight"], before["ema_network.policy.weight"]
    )
    # Its games begin anew, with deals that nobody has played.
    begun = trainer.games.state()["records"]
    assert not np.array_equal(begun, PPO(trainer.settings).games.state()["records"])
    decisions = run.trainer.decisions
    run.trainer.iterate()
    assert run.trainer.decisions > decisions > 6000
    run.close()


def test_indivisible_settings_of_ranks_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="n_envs is 100, which 3 processes cannot share evenly"):
        make_trainer(PPOSettings(n_envs=100), Ranks(0, 3))
    with pytest.raises(ValueError, match="trainer: sb3 trains in one process"):
        make_trainer(load_settings("sb3", []), Ranks(0, 2))
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "x",
        "MASTER_PORT": "1",
    }.items():
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
