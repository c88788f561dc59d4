"""Executors on a Ray cluster: files that are sent, deaths of nodes, refused backends."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from checkpoints import champion_at

from german_whist.agents.registry import load_agent
from german_whist.cli import main
from german_whist.common.executors.cluster import RayWorker, write_files
from german_whist.common.executors.worker import WorkerDied
from german_whist.evaluation.packing import pack

HERE = Path(__file__).resolve().parent
RAY = HERE.parent.parent / ".venv-ray" / "bin" / "python"


# Ray takes a node that answers late for a dead one, as it does beside other tests.
@pytest.mark.alone
@pytest.mark.thorough
def test_cluster_with_a_killed_node_gives_local_results(tmp_path: Path) -> None:
    if not RAY.exists():
        pytest.skip("Ray is not here: `make ray` puts it into .venv-ray (70 MB)")
    run = subprocess.run(
        [str(RAY), str(HERE / "ray_checks.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=1000,  # some 100 s, but longer on a busy machine
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    assert report["complete"]
    assert report["there"] == report["here"]
    # It was killed in the middle, with a task in its hands.
    hands = sum(item["hands"] for item in report["here"]["pairings"])
    assert 0 < report["killed"][0] < hands
    assert any("died; the deals were played again" in item for item in report["notes"])
    # Whoever kills every worker ends the run, with a sentence.
    assert not report["ended"]
    assert "3 workers in a row died" in report["dying"][0]
    # Trainings of several seeds come back with the weights that they come to here.
    assert any(item.startswith("seed 1: ") and "Mine" in item for item in report["lines"])
    remote, local = report["weights"]
    assert remote == local != report["other"]
    # They go on there too, and settings name what they named here.
    remote, local = report["on"]
    assert remote == local != report["weights"][0]
    assert report["named"][0] == report["named"][1]
    assert report["named"][0].endswith("/champion-family")
    # Trials side by side are chosen, ended and won as they are here.
    assert report["swept"][0] == report["swept"][1]
    # An address that a dead cluster left is refused at once.
    address, seconds, sentence = report["stale"]
    assert seconds < 20
    assert f"no Ray cluster answers at {address}" in sentence


def test_pack_sends_files_and_code_of_a_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    for folder in (home / "runs" / "one" / "checkpoints", tmp_path / "other", away):
        folder.mkdir(parents=True)
    for name, place in (("7", home / "runs" / "one" / "checkpoints"), ("far", tmp_path / "other")):
        champion_at(place / name)
    (home / "runs" / "one" / "settings.yaml").write_text("trainer: ppo\n", encoding="utf-8")
    (home / "runs" / "one" / "state.safetensors").write_bytes(b"0" * 10_000)
    package = home / "things_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "own.py").write_text(
        "from german_whist.agents.heuristic.random import RandomAgent\n\n"
        "class Own(RandomAgent): pass\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(home)
    far = tmp_path / "other" / "far.safetensors"
    players = ["new=runs/one", f"network:{far}", "things_of_mine.own:Own", "flat-mc:16"]
    # What the package has by name is there as well.
    players += ["champion-1", "thinker:2,last=1,policy=champion-1", 7]
    called, luggage = pack(players, "ray")
    assert called[0] == players[0]
    assert called[1] == "network:elsewhere/0/far.safetensors"
    assert called[2:] == players[2:]
    # Of a run its last checkpoint goes along, and nothing else of it.
    assert sorted(luggage) == [
        "elsewhere/0/far.safetensors",
        "runs/one/checkpoints/7.safetensors",
        "things_of_mine/__init__.py",
        "things_of_mine/own.py",
    ]
    shutil.rmtree(home)
    shutil.rmtree(tmp_path / "other")
    monkeypatch.chdir(away)
    write_files(luggage, away)
    monkeypatch.syspath_prepend(str(away))
    for player in called[:-1]:
        assert load_agent(player).name


def test_unknown_backend_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    evaluate, run = "evaluate random --against threshold --hands 16 --on", tmp_path / "run"
    for words, message in (
        (f"{evaluate} moon", "on is 'moon': it has to be local, ray, or ray://HOST:PORT"),
        ("train tiny --on ray", "--on ray is for the runs of several seeds"),
        (f"train --resume {tmp_path} --on ray", "--on ray is for the runs of several seeds"),
        (f"train tiny seeds=1,2 --on moon --run {run}", "on is 'moon'"),
        *([] if find_spec("ray") else [(f"{evaluate} ray", "--on ray needs ray")]),
    ):
        assert main(words.split()) == 2
        assert message in capsys.readouterr().err
    assert not run.exists()


class FakeRay:
    """Ray's part that `RayWorker` uses; a task returns its outcome at once."""

    exceptions = SimpleNamespace(RayTaskError=KeyError, RayError=OSError)

    def __init__(self) -> None:
        self.cancelled: list[object] = []

    def get(self, _: object) -> tuple[bytes, list[str]]:
        return pickle.dumps((5, None)), []

    def cancel(self, running: object, *, force: bool) -> None:
        assert force
        self.cancelled.append(running)


def test_ended_task_of_ray_is_not_cancelled() -> None:
    ray = FakeRay()
    worker = RayWorker(ray, lambda task: task)
    assert worker.call("task", print) == 5
    worker.end()
    assert ray.cancelled == []


def test_running_task_of_ray_is_cancelled() -> None:
    ray = FakeRay()
    worker = RayWorker(ray, lambda task: task)

    def get(_: object) -> tuple[bytes, list[str]]:
        worker.end()
        raise OSError("The task was cancelled")

    ray.get = get
    with pytest.raises(WorkerDied, match="cancelled"):
        worker.call("task", print)
    assert len(ray.cancelled) == 1
