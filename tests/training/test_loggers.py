"""TensorBoard has the curves of runs, and pages show how other services get them."""

from __future__ import annotations

import errno
import io
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock, call

import pytest
import yaml

pytest.importorskip("tensorboard")
pytest.importorskip("torch")

from small_runs import interrupted_when, quiet
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from torch.utils.tensorboard import SummaryWriter  # pyright: ignore

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


def test_tensorboard_has_the_curves_of_ppo(tmp_path: Path) -> None:
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
    tags = read.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    written = plugin_data_pb2.HParamsPluginData.FromString(tags).session_start_info.hparams
    assert written["trainer"].string_value == run.settings.trainer
    assert written["seed"].number_value == run.settings.seed
    # A curve for each opponent, and its earlier checkpoints are others each.
    assert sum(each.opponent.startswith("itself@") for each in run.evaluations) > 1
    for opponent in {each.opponent for each in run.evaluations}:
        results = [each for each in run.evaluations if each.opponent == opponent]
        points = [(each.decisions, pytest.approx(each.win_rate)) for each in results]
        assert scalars[f"eval/win_rate/{opponent}"] == points


def test_tensorboard_has_own_curves_of_sb3(tmp_path: Path) -> None:
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


def test_tensorboard_curves_continue_on_resume(tmp_path: Path, later: Callable[[], None]) -> None:
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


def test_full_disk_at_tensorboard_is_told_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = tmp_path / "run"
    monkeypatch.setattr(SummaryWriter, "add_scalar", full)
    with pytest.raises(RunStopped) as stopped:
        start(folder, ours()).go(quiet())
    reason = f"{folder / 'tensorboard'} cannot be written (No space left on device)"
    assert reason in str(stopped.value)
    monkeypatch.undo()
    resume(folder).go(quiet())


@pytest.mark.parametrize("preset", ["tiny", "sb3"])
def test_run_works_without_tensorboard(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    words = OURS if preset == "tiny" else SB3
    log = io.StringIO()
    start(tmp_path / "run", load_settings(preset, words)).go(ConsoleLog(log))
    assert log.getvalue().count("needs tensorboard, which is not installed") == 1
    assert not (tmp_path / "run" / "tensorboard").exists()
    assert (tmp_path / "run" / "progress.csv").exists()


# -- pages of other services

SMALL_RUN = (
    "n_envs=64, decisions=1024, eval_hands=20, final_eval_hands=40, eval_every=512, "
    "eval_mode='sync'"
)


@pytest.mark.parametrize("service", ["mlflow", "wandb"])
def test_page_of_a_service_logs_a_run(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program of a page, with a stand-in for the service that records what it is called with.

    `make interop` runs it with the service's own package.
    """
    fake = MagicMock()
    monkeypatch.setitem(sys.modules, service, fake)
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "interop" / f"{service}.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    code = "\n".join(blocks).replace("decisions=20_000", SMALL_RUN)
    exec(code.replace("from __future__ import annotations", ""), {"__name__": "page"})
    scalars = curves(tmp_path / "runs" / "tiny-1")
    if service == "wandb":  # which copies TensorBoard's log
        assert fake.mock_calls[0].kwargs["sync_tensorboard"]
        assert fake.mock_calls[-1] == call.finish()
        return
    logged = [(one.kwargs["step"], one.args[0]["entropy"]) for one in fake.log_metrics.mock_calls]
    assert [(step, pytest.approx(value)) for step, value in scalars["train/entropy"]] == logged
    assert fake.log_params.mock_calls[0].args[0]["n_envs"] == 64
    rates = [one.args[1] for one in fake.log_metric.mock_calls]
    assert rates == [pytest.approx(value) for _, value in scalars["eval/win_rate/random"]]
    assert fake.end_run.mock_calls
