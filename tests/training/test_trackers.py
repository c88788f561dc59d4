"""MLflow and Weights & Biases are told of runs by callbacks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from small_runs import quiet

from german_whist.training.runs.presets import load_settings
from german_whist.training.runs.start import resume, start

SMALL = ["games=64", "layers=8", "threads=1", "decisions=1024", "measuring=here"]
MEASURED = ["measure_hands=20", "final_hands=40", "measure_every=512", "minibatch=128"]


@pytest.mark.filterwarnings("ignore")  # what MLflow's own packages warn each other of
def test_mlflow_keeps_curves_and_settings_and_goes_on_with_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    folder = tmp_path / "run"
    words = [*SMALL, *MEASURED, "callbacks=mlflow"]
    run = start(folder, load_settings("tiny", words))
    run.go(quiet())
    client = mlflow.MlflowClient(store)
    place = client.get_experiment_by_name("german-whist").experiment_id
    (kept,) = client.search_runs([place])
    assert kept.info.status == "FINISHED"
    assert kept.data.params["trainer"] == "ppo"
    points = client.get_metric_history(kept.info.run_id, "train/entropy")
    assert [each.step for each in points] == [row["decisions"] for row in run.rows]
    rates = client.get_metric_history(kept.info.run_id, "eval/random")
    assert [each.value for each in rates] == pytest.approx(
        [each.win_rate for each in run.measured if each.opponent == "random"]
    )
    resume(folder, words=["decisions=2048"]).go(quiet())
    (kept,) = client.search_runs([place])
    assert kept.data.metrics["train/entropy"] is not None
    points = client.get_metric_history(kept.info.run_id, "train/entropy")
    assert points[-1].step == 2048


class FakeWandb:
    """What the callback asks of Weights & Biases, without the service."""

    def __init__(self) -> None:
        self.begun: list[dict[str, Any]] = []
        self.told: list[dict[str, float]] = []
        self.finished = 0

    def init(self, **words: Any) -> Any:
        self.begun.append(words)

        def finish() -> None:
            self.finished += 1

        return SimpleNamespace(log=self.told.append, finish=finish)


def test_wandb_is_told_of_every_figure_and_goes_on_with_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    folder = tmp_path / "run"
    run = start(folder, load_settings("tiny", [*SMALL, *MEASURED, "callbacks=wandb"]))
    run.go(quiet())
    assert fake.begun[0]["config"] == run.settings.as_mapping()
    entropies = [each["train/entropy"] for each in fake.told if "train/entropy" in each]
    assert entropies == pytest.approx([row["entropy"] for row in run.rows], rel=1e-4)
    rates = {each["decisions"]: each["eval/random"] for each in fake.told if "eval/random" in each}
    assert rates == {each.decisions: each.win_rate for each in run.measured
                     if each.opponent == "random"}  # fmt: skip
    resume(folder, words=["decisions=1536"]).go(quiet())
    assert fake.begun[0]["id"] == fake.begun[1]["id"]
    assert fake.finished == 2


class Refused(Exception):
    """What a service says that one is not logged in to."""


def refuse(*_args: object, **_words: object) -> Any:
    raise Refused("log in first")


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_service_that_refuses_a_run_is_heard(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = SimpleNamespace(
        init=refuse, MlflowClient=lambda _place: SimpleNamespace(get_experiment_by_name=refuse)
    )
    monkeypatch.setitem(sys.modules, name, service)
    run = start(tmp_path / "run", load_settings("tiny", [*SMALL, f"callbacks={name}"]))
    with pytest.raises(Refused, match="log in first"):
        run.go(quiet())


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_what_is_not_installed_is_told_before_anything_is_made(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    wanted = load_settings("tiny", [*SMALL, f"callbacks={name}"])
    with pytest.raises(ValueError, match=f"{name} is not installed: pip install {name}"):
        start(tmp_path / "run", wanted)
    assert not (tmp_path / "run").exists()
