"""Runs of several seeds have one folder, and one process at a time trains them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from german_whist.training.experiments import seeds
from german_whist.training.experiments.separate_runs import Training

SMALL = {"trainer": "cfr", "rules": "2x4-h2", "decisions": 64, "eval_opponents": ()}


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the trainings that are begun; each ends at once, before its budget."""
    names: list[str] = []

    def train_runs(trainings: Sequence[Training], *_: Any) -> list[int]:
        names.extend(training.name for training in trainings)
        return [1 for _ in trainings]

    monkeypatch.setattr(seeds, "train_runs", train_runs)
    return names


def test_folder_of_seeds_is_trained_by_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, entered = tmp_path / "run", list[int]()

    def train_runs(trainings: Sequence[Training], *_: Any) -> list[int]:
        entered.append(len(trainings))
        for again in (
            lambda: seeds.train_seeds(SMALL, [1, 2], folder=folder),
            lambda: seeds.train_seeds_on(folder),
        ):
            with pytest.raises(ValueError, match=r"run (is being trained by|is not empty)"):
                again()
        return [1, 1]

    monkeypatch.setattr(seeds, "train_runs", train_runs)
    for train in (
        lambda: seeds.train_seeds(SMALL, [1, 2], folder=folder),
        lambda: seeds.train_seeds_on(folder),
    ):
        with pytest.raises(seeds.SeedsStopped, match="seed 1, seed 2 did not come to an end"):
            train()
    assert entered == [2, 2]


def test_command_killed_while_it_makes_folders_can_be_repeated(
    tmp_path: Path, trained: list[str]
) -> None:
    folder = tmp_path / "run"
    (folder / "seed-1").mkdir(parents=True)
    with pytest.raises(seeds.SeedsStopped):
        seeds.train_seeds(SMALL, [2, 3], folder=folder)
    assert trained == ["seed 2", "seed 3"]
    (tmp_path / "other" / "seed-1" / "notes").mkdir(parents=True)
    with pytest.raises(ValueError, match="is not empty"):
        seeds.train_seeds(SMALL, [1], folder=tmp_path / "other")
