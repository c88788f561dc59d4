"""Loggers: TensorBoard reads the curves of runs, MLflow and Weights & Biases are sent them."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

pytest.importorskip("tensorboard")
pytest.importorskip("torch")

from small_runs import interrupted_when, quiet
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from german_whist.common.signals import RunStopped
from german_whist.training.callbacks.console import ConsoleLog
from german_whist.training.callbacks.loggers import TensorBoard
from german_whist.training.presets import load_settings
from german_whist.training.run import resume, start
from german_whist.training.settings import Settings

SMALL = [
    "hidden_sizes=16",
    "threads=1",
    "eval_every=1500",
    "save_every=1000",
    "eval_hands=40",
    "final_eval_hands=40",
    "eval_mode=sync",
]
OURS = [*SMALL, "n_envs=64", "batch_size=128", "decisions=4000"]
SB3 = [
    *SMALL,
    "n_envs=16",
    "n_steps=16",
    "batch_size=128",
    "decisions=1500",
    "rules={suits: 2, ranks: 4, hand: 2}",
    "horizon=hand",
]


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    read = EventAccumulator(str(folder / "tensorboard")).Reload()
    scalars = {tag: read.Scalars(tag) for tag in read.Tags()["scalars"]}
    return {tag: [(point.step, point.value) for point in curve] for tag, curve in scalars.items()}


def ours() -> Settings:
    return load_settings("tiny", OURS)


def test_our_trainer_writes_its_curves(tmp_path: Path) -> None:
    run = start(tmp_path / "run", ours())
    run.go(quiet())
    scalars = curves(tmp_path / "run")
    *whole, cut = run.rows  # the last iteration is cut short, and in no curve
    assert "entropy" not in cut
    steps = [row["decisions"] for row in whole]
    for name in ("entropy", "value_loss", "explained_variance", "decisions_per_second"):
        values = [pytest.approx(row[name], rel=1e-4) for row in whole]
        assert scalars[f"train/{name}"] == [*zip(steps, values, strict=True)]
    assert all(name.startswith(("train/", "eval/")) for name in scalars)
    read = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    text = read.Tensors("settings/text_summary")[-1].tensor_proto.string_val[0].decode()
    assert yaml.safe_load(text) == run.settings.as_mapping()
    # A curve for each opponent, and its earlier checkpoints are others each.
    assert sum(each.opponent.startswith("itself@") for each in run.evaluations) > 1
    for opponent in {each.opponent for each in run.evaluations}:
        results = [each for each in run.evaluations if each.opponent == opponent]
        points = [(each.decisions, pytest.approx(each.win_rate)) for each in results]
        assert scalars[f"eval/win_rate/{opponent}"] == points


def test_sb3_writes_its_own_curves_beside_them(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    start(tmp_path / "run", load_settings("sb3", SB3)).go(quiet())
    scalars = curves(tmp_path / "run")
    steps = [256, 512, 768, 1024, 1280]
    for name in ("train/loss", "train/value_loss"):
        assert [step for step, _ in scalars[name]] == steps, name
    # Means over the last hundred episodes: the end of the last, cut iteration is in them.
    for name in ("rollout/ep_rew_mean", "rollout/ep_len_mean"):
        assert [step for step, _ in scalars[name]] == [*steps, 1504], name
    assert "train/explained_variance" in scalars
    assert "eval/win_rate/threshold" in scalars


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let seconds go by: files are read in the order of their names, which hold them."""
    passed, now = [0], time.time

    def wait() -> None:
        passed[0] += 2

    monkeypatch.setattr(time, "time", lambda: now() + passed[0])
    return wait


def test_a_resumed_run_goes_on_with_its_curves(tmp_path: Path, later: Callable[[], None]) -> None:
    start(tmp_path / "whole", ours()).go(quiet())
    folder = tmp_path / "run"
    run = start(folder, ours())
    with pytest.raises(RunStopped):
        run.go(interrupted_when(lambda run: len(run.rows) == 3))
    later()
    # As if the run had been killed after its state was saved.
    board = TensorBoard()
    board.on_start(run)
    board.write({"train/entropy": 99.0}, run.trainer.decisions + 64)
    board.on_end(run)
    later()
    resume(folder).go(quiet())
    whole, scalars = curves(tmp_path / "whole"), curves(folder)
    assert whole.keys() == scalars.keys()
    for name in scalars.keys() - {"train/decisions_per_second"}:
        assert scalars[name] == whole[name], name
    assert len(list((folder / "tensorboard").iterdir())) == 3


def test_a_run_that_was_killed_before_its_first_save_has_no_point_twice(
    tmp_path: Path, later: Callable[[], None]
) -> None:
    run = start(tmp_path / "run", ours())
    board = TensorBoard()
    board.on_start(run)
    for decisions in (64, 128, 10_000):
        board.write({"train/entropy": 99.0}, decisions)
    board.on_end(run)
    run.close()
    later()
    run = resume(tmp_path / "run")
    run.go(quiet())
    points = curves(tmp_path / "run")["train/entropy"]
    assert [step for step, _ in points] == [row["decisions"] for row in run.rows[:-1]]
    assert all(value < 99 for _, value in points)


@pytest.mark.parametrize("preset", ["tiny", "sb3"])
def test_without_tensorboard_a_run_says_so_once_and_works(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    words = OURS if preset == "tiny" else SB3
    log = io.StringIO()
    start(tmp_path / "run", load_settings(preset, words)).go(ConsoleLog(log))
    assert log.getvalue().count("needs tensorboard, which is not installed") == 1
    assert not (tmp_path / "run" / "tensorboard").exists()
    assert (tmp_path / "run" / "progress.csv").exists()


# -- MLflow and Weights & Biases

TRACKED = ["n_envs=64", "hidden_sizes=8", "threads=1", "decisions=1024", "eval_mode=sync"]
MEASURED = ["eval_hands=20", "final_eval_hands=40", "eval_every=512", "batch_size=128"]


@pytest.mark.filterwarnings("ignore")  # what MLflow's own packages warn each other of
def test_mlflow_keeps_curves_and_settings_and_goes_on_with_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    folder = tmp_path / "run"
    words = [*TRACKED, *MEASURED, "callbacks=mlflow"]
    run = start(folder, load_settings("tiny", words))
    run.go(quiet())
    client = mlflow.MlflowClient(store)
    place = client.get_experiment_by_name("german-whist").experiment_id
    (stored,) = client.search_runs([place])
    assert stored.info.status == "FINISHED"
    assert stored.data.params["trainer"] == "ppo"
    points = client.get_metric_history(stored.info.run_id, "train/entropy")
    assert [each.step for each in points] == [row["decisions"] for row in run.rows]
    rates = client.get_metric_history(stored.info.run_id, "eval/win_rate/random")
    measured = [each.win_rate for each in run.evaluations if each.opponent == "random"]
    assert [each.value for each in rates] == pytest.approx(measured)
    resume(folder, words=["decisions=2048"]).go(quiet())
    (stored,) = client.search_runs([place])
    assert stored.data.metrics["train/entropy"] is not None
    points = client.get_metric_history(stored.info.run_id, "train/entropy")
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
    run = start(folder, load_settings("tiny", [*TRACKED, *MEASURED, "callbacks=wandb"]))
    run.go(quiet())
    assert fake.begun[0]["config"] == run.settings.as_mapping()
    entropies = [each["train/entropy"] for each in fake.told if "train/entropy" in each]
    assert entropies == pytest.approx([row["entropy"] for row in run.rows], rel=1e-4)
    name = "eval/win_rate/random"
    rates = [(each["decisions"], each[name]) for each in fake.told if name in each]
    measured = [each for each in run.evaluations if each.opponent == "random"]
    assert rates == [(each.decisions, each.win_rate) for each in measured]
    resume(folder, words=["decisions=1536"]).go(quiet())
    assert fake.begun[0]["id"] == fake.begun[1]["id"]
    assert fake.finished == 2


class Refused(Exception):
    """What a service says that one is not logged in to."""


def refuse(*_args: object, **_words: object) -> Any:
    raise Refused("log in first")


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_service_that_refuses_a_run_is_heard_and_one_that_is_missing_told_of_at_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_settings("tiny", [*TRACKED, f"callbacks={name}"])
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=f"{name} is not installed: pip install {name}"):
        start(tmp_path / "run", config)
    assert not (tmp_path / "run").exists()
    service = SimpleNamespace(
        init=refuse, MlflowClient=lambda _place: SimpleNamespace(get_experiment_by_name=refuse)
    )
    monkeypatch.setitem(sys.modules, name, service)
    with pytest.raises(Refused, match="log in first"):
        start(tmp_path / "run", config).go(quiet())
