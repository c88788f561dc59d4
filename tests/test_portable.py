"""The package without what Windows lacks, as `tests/portable` takes it away."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from german_whist import evaluate
from german_whist.common import files
from german_whist.common.files import CannotWrite, atomic_write
from german_whist.common.signals import is_alive
from support import KEY

HOOK = Path(__file__).parent / "portable"
TINY = ["tiny", "n_envs=64", "batch_size=64", "hidden_sizes=[8]", "eval_hands=20"]
EVERY_MODULE = """
import importlib, pkgutil
import german_whist
for module in pkgutil.walk_packages(german_whist.__path__, "german_whist."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def portable(folder: Path, *words: str, typed: str = "") -> str:
    """The output of Python without what Windows lacks; it renames over no file that is open."""
    refusals = folder / "refusals.txt"
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", *words],
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        check=False,
        input=typed,
        env={**os.environ, "PYTHONPATH": str(HOOK), "REFUSALS": str(refusals)},
    )
    assert done.returncode == 0, done.stderr
    assert not refusals.exists(), refusals.read_text("utf-8")
    return done.stdout


def command(folder: Path, *words: str, typed: str = "") -> str:
    return portable(folder, "-m", "german_whist", *words, typed=typed)


@pytest.mark.thorough
def test_every_module_is_imported(tmp_path) -> None:
    portable(tmp_path, "-c", EVERY_MODULE)


@pytest.mark.thorough
def test_two_workers_evaluate(tmp_path) -> None:
    words = "threshold --against random --hands 64 --workers 2 --json found.json"
    command(tmp_path, "evaluate", *words.split(), "--key", KEY)
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))["pairings"][0]
    alone = evaluate("threshold", "random", hands=64, key=KEY, workers=1).pairings[0]
    assert (found["hands"], found["win_rate"]["value"]) == (64, alone.win_rate.value)


@pytest.mark.thorough
def test_a_training_is_measured_beside_it_and_goes_on(tmp_path) -> None:
    command(tmp_path, "train", *TINY, "decisions=2000", "eval_every=1000", "--run", "run")
    told = command(tmp_path, "train", "--resume", "run", "decisions=3000")
    assert "random" in told
    assert len(list((tmp_path / "run" / "checkpoints").glob("*.safetensors"))) > 1


@pytest.mark.thorough
def test_a_benchmark_trains_seeds_side_by_side(tmp_path) -> None:
    text = "{rules: [2x4-h2], seeds: 3, decisions: 200, eval_points: 1, algorithms: {mccfr: {}}}"
    (tmp_path / "seeds.yaml").write_text(text, encoding="utf-8")
    told = command(tmp_path, "benchmark", "seeds.yaml", "--folder", "here", "--workers", "2")
    assert "3 of 3" in told
    assert (tmp_path / "here" / "benchmark.md").exists()


# -- files


def test_an_open_file_is_waited_for(tmp_path, monkeypatch) -> None:
    path, replace, left = tmp_path / "card.json", os.replace, [3]

    def in_use(*paths: Path) -> None:
        if left[0]:
            left[0] -= 1
            error = PermissionError(errno.EACCES, "used by another process")
            error.winerror = 32  # type: ignore[attr-defined]
            raise error
        replace(*paths)

    monkeypatch.setattr(os, "replace", in_use)
    with atomic_write(path, "w") as file:
        file.write("one\ntwo\n")
    assert path.read_bytes() == b"one\ntwo\n"
    monkeypatch.setattr(files, "_RENAME_TIMEOUT", 0.01)
    left[0] = 10**6
    with (
        pytest.raises(CannotWrite, match=r"card.json cannot be written .*close what reads it"),
        atomic_write(path, "w") as file,
    ):
        file.write("three\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert list(tmp_path.iterdir()) == [path]


def test_whether_a_process_is_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert is_alive(process.pid)
        assert process.stdin is not None
        process.stdin.close()
    time.sleep(0.01)
    assert not is_alive(process.pid)
    assert is_alive(os.getpid())
