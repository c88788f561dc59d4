"""Folder of a run: its lock, its state, and signals that lose nothing."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from small_runs import quiet

from german_whist.agents.checkpoints import list_checkpoints, read_checkpoint
from german_whist.cli import main
from german_whist.common.files import CannotWrite, partial_path
from german_whist.common.signals import RunStopped, SignalGuard
from german_whist.training import run as runs
from german_whist.training.callbacks.console import ConsoleLog
from german_whist.training.callbacks.evaluation import evaluate_checkpoint
from german_whist.training.folder import (
    LOCK,
    OWNER,
    STATE,
    FolderLock,
    lock_new_folder,
    lock_numbered_folder,
)
from german_whist.training.presets import load_settings
from german_whist.training.run import resume, start
from german_whist.training.run_state import load_state, save_state
from german_whist.training.settings import Settings

SMALL = [
    "n_envs=16",
    "hidden_sizes=8",
    "batch_size=64",
    "threads=1",
    "decisions=640",
    "seed=3",
    "eval_every=10_000",
    "save_every=10_000",
    "eval_hands=20",
    "final_eval_hands=20",
    "eval_mode=sync",
]


def settings(*words: str) -> Settings:
    return load_settings("tiny", [*SMALL, *words])


# -- folders


def test_numbered_folders_of_threads_differ(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        locks = list(pool.map(lambda _: lock_numbered_folder(tmp_path / "quick"), range(24)))
    names = {lock.folder.name for lock in locks}
    assert names == {f"quick-{number}" for number in range(1, 25)}
    for lock in locks:
        lock.release()


def test_locked_folder_is_refused_with_its_process(tmp_path: Path) -> None:
    lock = lock_new_folder(tmp_path / "run")
    message = rf"run is being trained by process {os.getpid()} on .+ since \d{{4}}-.*Ctrl-C"
    for again in (FolderLock, lock_new_folder):
        with pytest.raises(ValueError, match=message):
            again(tmp_path / "run")
    lock.release()
    assert not (tmp_path / "run" / OWNER).exists()
    lock_new_folder(tmp_path / "run").release()


def test_full_disk_at_the_lock_is_told_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **options: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")  # a write names no path

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(CannotWrite, match=r"lock\.json cannot be written \(No space left"):
            FolderLock(tmp_path)
    FolderLock(tmp_path).release()


def test_stale_owner_file_locks_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / LOCK).touch()
    (folder / OWNER).write_text("{")
    lock = FolderLock(folder)
    (folder / OWNER).write_text("{")
    with pytest.raises(ValueError, match="is being trained by another process"):
        FolderLock(folder)
    lock.release()


def test_resumed_run_deletes_what_a_killed_writer_left(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start(folder, settings()).close()
    (folder / "checkpoints").mkdir()
    left = [
        partial_path(folder / STATE),
        partial_path(folder / "checkpoints" / "000000000100.safetensors"),
    ]
    for path in left:
        path.write_text("half")
    own = folder / ".notes"
    own.touch()
    resume(folder).close()
    assert not any(path.exists() for path in left)
    assert own.exists()


def test_refused_run_changes_no_files(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="is not empty: go on with --resume"):
        start(tmp_path, settings())
    with pytest.raises(ValueError, match="eval_opponents: 'thresold' is not an agent"):
        start(tmp_path / "run", settings("eval_opponents=[thresold]"))
    for name in ("two\nlines", "a,b"):
        for lock in (lock_new_folder, lock_numbered_folder):
            with pytest.raises(ValueError, match=r"'.*(two.nlines|a,b)' cannot name a run"):
                lock(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


# -- the state


def test_missing_state_names_the_last_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start(folder, settings()).go(quiet())
    (folder / STATE).unlink()
    before = sorted(path.name for path in folder.rglob("*"))
    last = list_checkpoints(folder / "checkpoints")[-1]
    with pytest.raises(ValueError, match=f"no state.safetensors .* init={re.escape(str(last))}"):
        resume(folder)
    assert sorted(path.name for path in folder.rglob("*")) == before
    # The sentence's own words work.
    other = tmp_path / "other"
    words = [str(folder / "settings.yaml"), f"init={last}", "--run", str(other)]
    assert main(["train", *words]) == 0
    init = read_checkpoint(other).card.init
    assert init is not None
    assert init.checkpoint == str(last)


def test_state_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start(folder, settings()).close()
    data = (folder / STATE).read_bytes()
    arrays, state = load_state(folder / STATE)
    spoilt_states = (
        ({}, {"format": 9}, "its format is 9, and this version resumes"),
        ({}, {"seconds": "x"}, "seconds is 'x'"),
        ({"network.policy.bias": None}, {}, "does not fit the run's settings"),
    )
    for changed, fields, message in spoilt_states:
        kept = {name: array for name, array in arrays.items() if name not in changed}
        save_state(folder / STATE, kept, msgspec.structs.replace(state, **fields))
        with pytest.raises(ValueError, match=f"{message}.*begin another run$"):
            resume(folder)
    (folder / STATE).write_bytes(data[:-9])
    with pytest.raises(ValueError, match="is no state of a run"):
        resume(folder)
    (folder / STATE).write_bytes(data)
    with pytest.raises(ValueError, match="hidden_sizes is"):
        resume(folder, ["hidden_sizes=9"])
    resume(folder).close()  # nobody holds what could not be resumed


def test_flipped_bits_of_a_state_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start(folder, settings()).go(quiet())
    path = folder / STATE
    data = path.read_bytes()
    for place in np.random.default_rng(1).integers(len(data), size=40).tolist():
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        # The sentence's remedy works: there is a checkpoint.
        with pytest.raises(ValueError, match=f"{re.escape(str(path))}.* init={folder}$"):
            resume(folder)
    path.write_bytes(data)
    resume(folder).close()


def test_finished_run_evaluates_nothing_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start(folder, settings("eval_every=320")).go(quiet())
    before = {path.name: path.read_bytes() for path in folder.rglob("*.csv")}
    decisions = [line.split(",")[:2] for line in before["evaluations.csv"].decode().splitlines()]
    assert len({tuple(row) for row in decisions}) == len(decisions)
    output = io.StringIO()
    path = resume(folder).go(ConsoleLog(output))
    assert path == list_checkpoints(folder / "checkpoints")[-1]
    assert "this run has come to its end, after 640 decisions" in output.getvalue()
    assert f"german-whist train --resume {folder} decisions=1280" in output.getvalue()
    assert before == {path.name: path.read_bytes() for path in folder.rglob("*.csv")}
    # More decisions make it a run again, typed or written into its settings.
    file = folder / "settings.yaml"
    file.write_text(file.read_text().replace("decisions: 640", "decisions: 960"))
    run = resume(folder)
    run.go(quiet())
    assert run.trainer.decisions == 960
    run = resume(folder, ["decisions=1280"])
    run.go(quiet())
    assert run.trainer.decisions == 1280
    assert resume(folder).state.finished


# -- signals


@pytest.mark.parametrize("at", ["measuring on the way", "measuring at the end"])
def test_signal_in_evaluation_repeats_it_on_resume(
    at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("eval_every=320",)
    start(tmp_path / "whole", settings(*words)).go(quiet())
    calls: list[object] = []

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == (1 if at == "measuring on the way" else 2):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        return evaluate_checkpoint(*arguments)  # type: ignore[arg-type]

    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(runs, "evaluate_checkpoint", interrupted)
        with pytest.raises(RunStopped, match="go on with") as stopped:
            start(folder, settings(*words)).go(quiet())
    assert stopped.value.status == 128 + signal.SIGTERM
    resume(folder).go(quiet())
    for name in ("evaluations.csv", "settings.yaml"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_second_signal_raises_and_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with SignalGuard() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.received == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@pytest.mark.parametrize("lock", [lock_new_folder, lock_numbered_folder])
def test_folder_that_cannot_be_made_names_the_remedy(
    lock: Callable[[Path], FolderLock], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(OSError, match=r"cannot be written .*: name a path that you may write"):
        lock(tmp_path / "runs" / "quick")
