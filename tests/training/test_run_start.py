"""A run that is killed at any call of its start begins anew or resumes, to the same weights."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sb3_contrib")

from small_runs import arrays_of, quiet, same

from german_whist.common.jit import compiler
from german_whist.common.jit.compiler import COMPILED, put_off
from german_whist.training import run
from german_whist.training.algorithms.registry import make_trainer
from german_whist.training.api import train_or_resume
from german_whist.training.callbacks.base import Callback, TrainingRun
from german_whist.training.folder import begun
from german_whist.training.presets import settings_from
from german_whist.training.run import resume, start
from german_whist.training.settings import Settings

SMALL: dict[str, Any] = {
    "rules": {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2},
    "decisions": 400,
    "eval_every": 10_000,
    "save_every": 100,
    "eval_opponents": (),
    "final_eval_hands": 2,
    "eval_mode": "sync",
    "threads": 1,
}
NETWORKS = {"n_envs": 16, "hidden_sizes": (8,), "batch_size": 64, "horizon": "hand"}
TRAINERS = {
    "ppo": {
        **NETWORKS,
        "rules": [SMALL["rules"], {**SMALL["rules"], "name": "all", "counts": "all"}],
    },
    "mmd": NETWORKS,
    "nfsp": NETWORKS,
    "mccfr": {"iteration": 128},
    "sb3": {**NETWORKS, "n_steps": 8, "opponents": ("random", "threshold")},
    "sb3 alone": {**NETWORKS, "trainer": "sb3", "n_steps": 8, "pool_every": 100, "opponents": ()},
}


def settings(trainer: str) -> Settings:
    return settings_from({"trainer": trainer, **SMALL, **TRAINERS[trainer]})


@contextmanager
def copied_at_each_call(folder: Path, copies: Path) -> Iterator[None]:
    """Copy a folder before each call of the operating system, where other files are in it.

    A copy is what a process leaves that is killed there.
    """
    seen: set[frozenset[str]] = set()

    def copy(frame: object, event: str, called: Any) -> None:
        if event != "c_call" or called.__module__ not in ("posix", "nt", "_io"):
            return
        # Incomplete files have random names.
        names = frozenset(
            name.partition("-")[0] for _, _, names in os.walk(folder) for name in names
        )
        if names not in seen and folder.exists():
            seen.add(names)
            shutil.copytree(folder, copies / str(len(seen)))

    sys.setprofile(copy)
    try:
        yield
    finally:
        sys.setprofile(None)


class AtFirstSave(Callback):
    """Ends the copying when an iteration is saved."""

    def on_save(self, run: TrainingRun) -> None:
        if run.rows:
            sys.setprofile(None)


@pytest.mark.parametrize(
    "trainer",
    [
        name if name in ("ppo", "mccfr") else pytest.param(name, marks=pytest.mark.thorough)
        for name in TRAINERS
    ],
)
def test_killed_run_resumes_from_every_call(trainer: str, tmp_path: Path) -> None:
    whole, copies = tmp_path / "whole", tmp_path / "copies"
    with copied_at_each_call(whole, copies):
        start(whole, settings(trainer)).go(quiet(), AtFirstSave())
    killed = [*copies.iterdir()]
    saved = [(folder / "state.safetensors").exists() for folder in killed]
    assert sum(saved) > 2 < len(saved) - sum(saved), len(saved)
    for folder in killed:
        trained = train_or_resume(settings(trainer), folder, quiet=True)
        assert len(trained.rows) > 1
        assert same(arrays_of(whole), arrays_of(folder)), [*folder.iterdir()]


def test_files_beside_a_run_without_state_stay(tmp_path: Path) -> None:
    partial = ".settings.yaml.77-0a1b2c3d", ".state.safetensors.77-0a1b2c3d"
    for name in ("my-settings.yaml", "settings.yaml.bak"):
        (tmp_path / name).touch()
    assert not begun(tmp_path)
    for name in ("settings.yaml", *partial):
        (tmp_path / name).touch()
    assert not begun(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left - {"lock"} == {"my-settings.yaml", "settings.yaml.bak"}


def test_lost_state_without_checkpoint_names_a_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start(folder, settings("mccfr")).close()
    (folder / "state.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"no checkpoint either, so begin another run$"):
        resume(folder)


@pytest.mark.skipif(not COMPILED, reason="the compiler is off")
@pytest.mark.parametrize("trainer", ["ppo", "mmd", "nfsp"])
def test_games_are_compiled_while_the_trainer_is_imported(
    trainer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[set[str]] = []

    @contextmanager
    def compiled_in_background(make: Any) -> Iterator[None]:
        with put_off() as parts:
            make()
        noted.append({part.name for part in parts})
        with put_off():
            yield

    def trainer_kind(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(compiler, "_warm", set())
    monkeypatch.setattr(run, "compiled_in_background", compiled_in_background)
    monkeypatch.setattr(run, "trainer_kind", trainer_kind)
    with pytest.raises(ImportError, match=trainer):
        start(tmp_path / "run", settings(trainer))
    with put_off() as parts:
        make_trainer(settings(trainer))
    assert noted == [{"self-play (vector)"}]
    assert noted[0] <= {part.name for part in parts}
