"""Runs come to the same weights however they are interrupted, and lose nothing saved."""

from __future__ import annotations

import errno
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from small_runs import arrays_of, interrupted_when, quiet, same

import german_whist
from german_whist.agents.checkpoints import (
    find_checkpoint,
    list_checkpoints,
    read_checkpoint,
    read_fields,
)
from german_whist.cli import main
from german_whist.common import provenance
from german_whist.common.files import CannotWrite
from german_whist.common.settings import SettingsError
from german_whist.common.signals import UNSTABLE, RunStopped
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.callbacks.base import Callback, TrainingRun
from german_whist.training.callbacks.console import FileLog
from german_whist.training.folder import begun
from german_whist.training.presets import load_settings
from german_whist.training.rollout.networks import ActorCritic
from german_whist.training.run import resume, start
from german_whist.training.run_state import load_state
from german_whist.training.settings import Settings

SMALL = [
    "n_envs=64",
    "hidden_sizes=16,16",
    "batch_size=128",
    "threads=1",
    "decisions=4000",
    "seed=3",
    "eval_every=1500",
    "save_every=1000",
    "eval_hands=40",
    "final_eval_hands=80",
    "eval_mode=sync",
    "critic=oracle",
    "kl_coef=0.01",
]


def settings(*words: str) -> Settings:
    return load_settings("tiny", [*SMALL, *words])


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    start(folder, settings()).go(quiet())
    return folder


def test_run_writes_all_its_files(baseline: Path) -> None:
    assert {path.name for path in baseline.iterdir()} >= {
        "settings.yaml",
        "state.safetensors",
        "progress.csv",
        "evaluations.csv",
        "report.html",
        "checkpoints",
    }
    last = list_checkpoints(baseline / "checkpoints")[-1]
    card = read_fields(last)
    assert card["decisions"] >= 4000
    assert card["observation_version"] == 1
    assert {match["opponent"] for match in card["evaluations"]} == {"random", "itself@1,536"}
    lines = (baseline / "progress.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("decisions,hands_played,seconds")
    assert "<svg" in (baseline / "report.html").read_text(encoding="utf-8")


DEADLY = """
import os
from pathlib import Path
from german_whist.training.callbacks.base import Callback

class Once(Callback):
    def on_iteration(self, run, metrics):
        if run.trainer.decisions > 2500 and not Path("died").exists():
            Path("died").touch()
            os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_killed_process_resumes_to_the_same_weights(
    baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly_once.py").write_text(DEADLY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    words = ["train", "tiny", *SMALL, "callbacks=deadly_once:Once", "--run", "run"]
    killed = get_context("fork").Process(target=main, args=(words,))
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    folder = tmp_path / "run"
    assert 0 < load_state(folder / "state.safetensors")[1].trainer["decisions"] < 2500
    assert main(["train", "--resume", "run", "--trust", "deadly_once:Once"]) == 0
    assert same(arrays_of(baseline), arrays_of(folder))
    assert (baseline / "evaluations.csv").read_bytes() == (folder / "evaluations.csv").read_bytes()


def test_ctrl_c_saves_and_resumes_to_the_same_weights(baseline: Path, tmp_path: Path) -> None:
    """Its time adds up over its sittings."""
    folder = tmp_path / "run"
    run = start(folder, settings())
    run.state.seconds = 7_200.0
    with pytest.raises(RunStopped, match=f"--resume {folder}") as stopped:
        run.go(interrupted_when(lambda run: len(run.rows) == 3))
    assert stopped.value.status == 130
    # It plays at once; the run that goes on has the checkpoints of one that was not stopped.
    assert find_checkpoint(folder).stem == f"{run.trainer.decisions:012d}"
    assert read_checkpoint(folder).card.decisions == run.trainer.decisions
    run = resume(folder)
    assert len(run.rows) == 3
    run.go(quiet())
    assert same(arrays_of(baseline), arrays_of(folder))
    for name in ("checkpoints", "."):
        files = [{path.name for path in (run / name).iterdir()} for run in (baseline, folder)]
        assert files[0] == files[1]
    assert (baseline / "evaluations.csv").read_bytes() == (folder / "evaluations.csv").read_bytes()
    assert 120 <= read_checkpoint(list_checkpoints(folder / "checkpoints")[-1]).card.minutes < 122
    assert load_state(folder / "state.safetensors")[1].seconds > 7_200


def test_run_stopped_before_its_first_checkpoint_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    with pytest.raises(RunStopped):
        start(Path(folder), settings()).go(interrupted_when(lambda run: len(run.rows) == 1))
    assert main(["evaluate", folder, "--against", "random", "--hands", "4"]) == 0


def test_nan_ends_the_run_and_saved_state_resumes(baseline: Path, tmp_path: Path) -> None:
    class Spoiling(Callback):
        def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
            if run.trainer.decisions > 2400:
                with torch.no_grad():
                    run.trainer.network.policy.weight[0, 0] = float("nan")

    folder = tmp_path / "run"
    with pytest.raises(ValueError, match=r"no settings\.yaml"):
        resume(tmp_path)
    message = r"became n.* saved after 2,.* --resume .* last good checkpoint is .*\.safetensors"
    with pytest.raises(RunStopped, match=message):
        start(folder, settings()).go(quiet(), Spoiling())
    for path in list_checkpoints(folder / "checkpoints"):
        read_checkpoint(path)
    # What was saved goes on to where it would have come to.
    resume(folder).go(quiet())
    assert same(arrays_of(baseline), arrays_of(folder))


def test_infinite_weights_are_not_saved(tmp_path: Path) -> None:
    one_step = "n_epochs=1", "batch_size=512", "kl_coef=0"
    run = start(tmp_path / "run", settings("save_every=1", *one_step))
    assert isinstance(run.trainer, PPO)
    network, step = run.trainer.network, run.trainer.optimizer.step
    assert isinstance(network, ActorCritic)
    weight = network.value.weight

    def spoilt() -> None:
        step()
        if run.trainer.decisions > 2000:
            with torch.no_grad():
                weight[0, 0] = float("inf")

    run.trainer.optimizer.step = spoilt
    with pytest.raises(RunStopped, match=r"weights of value\.weight became NaN"):
        run.go(quiet())
    assert all(np.isfinite(array).all() for array in arrays_of(tmp_path / "run").values())


def test_overflowing_weights_end_the_run(tmp_path: Path) -> None:
    run = start(tmp_path / "run", settings("kl_coef=0"))
    assert isinstance(run.trainer, PPO)
    with torch.no_grad():
        for parameter in run.trainer.ema_network.parameters():
            parameter.fill_(1e20)
    with pytest.raises(RunStopped, match=r"the training diverged: after .* decisions") as stopped:
        run.go(quiet())
    assert stopped.value.status == UNSTABLE
    assert not list_checkpoints(tmp_path / "run" / "checkpoints")


@pytest.mark.parametrize(
    ("package", "known"),
    [("", True), (".venv/lib/python3.12/site-packages/german_whist", False), ("vendored", False)],
)
def test_revision_is_that_of_the_packages_own_checkout(
    package: str, known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / package / "common" / "provenance.py"
    module.parent.mkdir(parents=True)
    module.touch()
    identity = ["-c", "user.name=me", "-c", "user.email=me@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(provenance, "__file__", str(module))
    assert (provenance.revision() is not None) == known


def test_batch_larger_than_an_iteration_is_reported(tmp_path: Path) -> None:
    assert not settings().notes
    run = start(tmp_path / "run", settings("batch_size=100_000_000"))
    run.close()
    assert "batch_size is 100,000,000, and an iteration has 512 decisions" in run.note


def test_full_disk_loses_no_earlier_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    run = start(folder, settings())
    fsync, written = os.fsync, list[int]()

    def full(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) > 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr("german_whist.common.files.os.fsync", full)
    with pytest.raises(RunStopped, match=r"No space left .* last good checkpoint is"):
        run.go(quiet())
    checkpoints = list_checkpoints(folder / "checkpoints")
    assert checkpoints
    for path in checkpoints:
        read_checkpoint(path)
    assert not list(folder.rglob(".*"))


@pytest.mark.parametrize("lines", [0, 3])
def test_full_disk_at_the_log_is_told_with_its_path_and_costs_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lines: int
) -> None:
    class FullFile(io.StringIO):
        def write(self, text: str, /) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    class FilledLog(FileLog):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self._left = lines

        def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
            self.write("an iteration")

        def write(self, text: str) -> None:
            if not self._left:
                self.close()
                self._out = FullFile()
            self._left -= 1
            super().write(text)

    folder = tmp_path / "run"
    monkeypatch.setattr("german_whist.training.api.FileLog", FilledLog)
    assert main(["train", "tiny", *SMALL, "--run", str(folder)])
    said = capsys.readouterr()
    reason = f"{folder / 'log.txt'} cannot be written (No space left on device)"
    assert reason in said.out + said.err
    assert len((folder / "log.txt").read_text(encoding="utf-8").splitlines()) == lines
    monkeypatch.undo()
    assert main(["train", "--resume", str(folder)]) == 0
    start(tmp_path / "whole", load_settings("tiny", SMALL)).go(quiet())
    assert same(arrays_of(folder), arrays_of(tmp_path / "whole"))


class Stumbling(Callback):
    """Raises in its first iteration, after whatever else has happened there."""

    def __init__(self, happens: Callable[[Path], None]) -> None:
        self.happens = happens

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        self.happens(run.folder)
        raise ZeroDivisionError("its own fault")


def test_reason_of_a_stop_is_told_where_no_report_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise CannotWrite(errno.ENOSPC, "No space left on device", "report.html")

    def fill(_: Path) -> None:
        monkeypatch.setattr("german_whist.training.callbacks.report_files.write_file", full)

    with pytest.raises(RunStopped, match="Stumbling raised ZeroDivisionError: its own fault"):
        start(tmp_path / "run", settings(), callbacks=[Stumbling(fill)]).go(quiet())


# TensorBoard's own thread may miss the folder before the run does.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nothing_is_promised_of_a_run_whose_folder_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(RunStopped, match=r"its own fault.*; .*/run has been removed, and"):
        german_whist.train(
            settings(), folder=folder, callbacks=[Stumbling(shutil.rmtree)], quiet=True
        )


def test_run_is_free_again_where_its_log_cannot_be_opened(tmp_path: Path) -> None:
    run = german_whist.train(settings("decisions=600"), folder=tmp_path / "run", quiet=True)
    (log := run.folder / "log.txt").unlink()
    log.mkdir()
    with pytest.raises(CannotWrite, match=r"log\.txt cannot be written") as held:
        german_whist.resume(run.folder, quiet=True, decisions=1200)
    log.rmdir()
    assert german_whist.resume(run.folder, quiet=True, decisions=1200).decisions >= 1200
    assert held.value.filename == str(log)


def test_resume_with_changed_settings_is_on_the_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    words = [*SMALL, "decisions=1000"]
    assert main(["train", "tiny", *words, "--run", str(folder)]) == 0
    output = capsys.readouterr().out
    assert "against random" in output
    assert str(folder / "report.html") in output
    assert main(["train", "--resume", str(folder), "decisions=2000", "ent_coef=0.02"]) == 0
    path = list_checkpoints(folder / "checkpoints")[-1]
    card = read_checkpoint(path).card
    assert card.decisions >= 2000
    assert (card.settings["decisions"], card.settings["ent_coef"]) == (2000, 0.02)
    first, second = card.commands
    assert first == shlex.join(["german-whist", "train", "tiny", *words])
    assert second.startswith("german-whist train --resume RUN decisions=2000 ent_coef=0.02  # aft")
    run = resume(folder)
    assert run.state.commands == list(card.commands)
    run.close()
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert main(["train", "--resume", str(folder), "hidden_sizes=9"]) != 0
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def finished(baseline: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(baseline, tmp_path / "finished"))


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("decisions=1900", r"decisions is 1,900, and .* played 4,\d+ already: give more .*=8"),
        ("decisions=1900 final_eval_hands=90", "decisions is 1,900, and"),
        ("max_minutes=1e-6", "max_minutes is 1e-06, and .* has taken .*: .*_minutes=[1-9], or 0"),
        ("ent_coef=0.2 clip_range=0.3", r"clip_range, ent_coef: .*its 4,\d+ dec.* in decisions=8"),
    ],
)
def test_resume_refuses_changes_without_effect(words: str, message: str, finished: Path) -> None:
    before = files_of(finished)
    with pytest.raises(SettingsError, match=message):
        resume(finished, words.split())
    assert files_of(finished) == before


def test_finished_run_repeats_its_final_evaluation(finished: Path) -> None:
    before = arrays_of(finished)
    resume(finished, ["final_eval_hands=120", "final_eval_opponents=threshold"]).go(quiet())
    card = read_checkpoint(list_checkpoints(finished / "checkpoints")[-1]).card
    played = {(evaluation.opponent, evaluation.hands) for evaluation in card.evaluations}
    assert played >= {("random", 120), ("threshold", 120)}
    assert same(before, arrays_of(finished))


@pytest.mark.parametrize("left", ["settings.yaml", ".settings.yaml.7-0a1b2c3d"])
def test_begun_removes_files_of_a_run_without_state(tmp_path: Path, left: str) -> None:
    run = tmp_path / "run"
    assert not begun(run)
    run.mkdir()
    (run / left).touch()
    assert not begun(run)
    assert not (run / left).exists()
