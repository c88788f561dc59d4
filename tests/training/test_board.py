"""Runs write curves that TensorBoard reads, go on with them, and do without."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

pytest.importorskip("tensorboard")
pytest.importorskip("torch")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from german_whist.common.signals import Stopped
from german_whist.training.callbacks.base import Watched
from german_whist.training.callbacks.console import Lines
from german_whist.training.callbacks.loggers import TensorBoard
from german_whist.training.runs.presets import load_settings
from german_whist.training.runs.start import resume, start
from german_whist.training.settings import Settings

SMALL = [
    *("layers=16", "threads=1", "measure_every=1500", "save_every=1000", "measure_hands=40"),
    *("final_hands=40", "measuring=here"),
]
OURS = [*SMALL, "games=64", "minibatch=128", "decisions=4000"]
SB3 = [
    *(*SMALL, "games=16", "steps=16", "minibatch=128", "decisions=1500"),
    *("rules={suits: 2, ranks: 4, hand: 2}", "horizon=hand"),
]


def quiet() -> Lines:
    return Lines(io.StringIO())


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    read = EventAccumulator(str(folder / "tensorboard"))
    read.Reload()
    return {
        tag: [(each.step, each.value) for each in read.Scalars(tag)]
        for tag in read.Tags()["scalars"]
    }


def texts(folder: Path) -> dict[str, str]:
    read = EventAccumulator(str(folder / "tensorboard"))
    read.Reload()
    return {
        tag: read.Tensors(tag)[-1].tensor_proto.string_val[0].decode()
        for tag in read.Tags()["tensors"]
    }


def ours() -> Settings:
    return load_settings("tiny", OURS)


def test_our_trainer_writes_its_curves(tmp_path: Path) -> None:
    run = start(tmp_path / "run", ours())
    run.go(quiet())
    found = curves(tmp_path / "run")
    steps = [row["decisions"] for row in run.rows]
    for name in ("entropy", "value_loss", "explained", "speed"):
        assert [step for step, _ in found[f"train/{name}"]] == steps
        assert [value for _, value in found[f"train/{name}"]] == pytest.approx(
            [row[name] for row in run.rows], rel=1e-4
        )
    assert all(name.startswith(("train/", "eval/")) for name in found)
    assert yaml.safe_load(texts(tmp_path / "run")["settings/text_summary"]) == (
        run.settings.as_mapping()
    )
    # What was played against its own past is one curve.
    past = [each for each in run.measured if each.opponent.startswith("itself@")]
    assert len(past) > 1
    assert [step for step, _ in found["eval/itself"]] == [each.decisions for each in past]
    measured = [each for each in run.measured if each.opponent == "random"]
    assert found["eval/random"] == [
        (each.decisions, pytest.approx(each.win_rate)) for each in measured
    ]


def test_sb3_writes_its_own_curves_beside_them(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    start(tmp_path / "run", load_settings("sb3", SB3)).go(quiet())
    found = curves(tmp_path / "run")
    steps = [256, 512, 768, 1024, 1280, 1504]
    for name in ("rollout/ep_rew_mean", "rollout/ep_len_mean", "train/loss", "train/value_loss"):
        assert [step for step, _ in found[name]] == steps, name
    assert "train/explained" in found
    assert "eval/threshold" in found


def test_a_resumed_run_goes_on_with_its_curves(tmp_path: Path) -> None:
    start(tmp_path / "whole", ours()).go(quiet())
    folder = tmp_path / "run"

    class Pressing(Lines):
        def on_iteration(self, run: Watched, told: Mapping[str, float]) -> None:
            if len(run.rows) == 3:
                os.kill(os.getpid(), signal.SIGINT)

    run = start(folder, ours())
    with pytest.raises(Stopped):
        run.go(Pressing(io.StringIO()))
    # Files are read in the order of their names, which hold seconds.
    time.sleep(1.1)
    # As if the run had been killed after its state was saved.
    board = TensorBoard()
    board.on_start(run)
    board.write({"train/entropy": 99.0}, run.trainer.decisions + 64)
    board.on_end(run)
    time.sleep(1.1)
    resume(folder).go(quiet())
    whole, found = curves(tmp_path / "whole"), curves(folder)
    assert whole.keys() == found.keys()
    for name in found.keys() - {"train/speed"}:
        assert found[name] == whole[name], name
    assert len(list((folder / "tensorboard").iterdir())) == 3


def test_a_run_that_was_killed_before_its_first_save_has_no_point_twice(tmp_path: Path) -> None:
    run = start(tmp_path / "run", ours())
    board = TensorBoard()
    board.on_start(run)
    for decisions in (64, 128, 10_000):
        board.write({"train/entropy": 99.0}, decisions)
    board.on_end(run)
    run.close()
    # Files are read in the order of their names, which hold seconds.
    time.sleep(1.1)
    run = resume(tmp_path / "run")
    run.go(quiet())
    points = curves(tmp_path / "run")["train/entropy"]
    assert [step for step, _ in points] == [row["decisions"] for row in run.rows]
    assert all(value < 99 for _, value in points)


@pytest.mark.parametrize("preset", ["tiny", "sb3"])
def test_without_tensorboard_a_run_says_so_once_and_works(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    words = OURS if preset == "tiny" else SB3
    told = io.StringIO()
    start(tmp_path / "run", load_settings(preset, words)).go(Lines(told))
    assert told.getvalue().count("TensorBoard is not installed") == 1
    assert not (tmp_path / "run" / "tensorboard").exists()
    assert (tmp_path / "run" / "progress.csv").exists()
