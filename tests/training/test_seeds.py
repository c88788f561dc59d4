"""Runs of several seeds share a folder, and one process at a time trains them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from german_whist.training.experiments import jobs, seeds
from german_whist.training.experiments.jobs import Job, run_jobs

SMALL = {"trainer": "mccfr", "rules": "2x4-h2", "decisions": 64, "eval_opponents": ()}


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the trainings that are begun; each ends at once, before its budget."""
    names: list[str] = []

    def run_jobs(jobs: Sequence[Job], *_: Any) -> Iterator[tuple[Job, int]]:
        names.extend(job.name for job in jobs)
        return ((job, 1) for job in jobs)

    monkeypatch.setattr(seeds, "run_jobs", run_jobs)
    return names


def test_folder_of_seeds_is_trained_by_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, entered = tmp_path / "run", list[int]()

    def run_jobs(jobs: Sequence[Job], *_: Any) -> list[tuple[Job, int]]:
        entered.append(len(jobs))
        for again in (
            lambda: seeds.train_seeds(SMALL, [1, 2], folder=folder),
            lambda: seeds.resume_seeds(folder),
        ):
            with pytest.raises(ValueError, match=r"run (is being trained by|is not empty)"):
                again()
        return [(job, 1) for job in jobs]

    monkeypatch.setattr(seeds, "run_jobs", run_jobs)
    for train in (
        lambda: seeds.train_seeds(SMALL, [1, 2], folder=folder),
        lambda: seeds.resume_seeds(folder),
    ):
        with pytest.raises(seeds.SeedsStopped, match="seed 1, seed 2 did not come to an end"):
            train()
    assert entered == [2, 2]


def test_each_run_of_a_folder_has_its_own_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, int] = {}

    def run_jobs(jobs: Sequence[Job], *_: Any) -> list[tuple[Job, int]]:
        found.update({job.folder.name: job.settings["seed"] for job in jobs})
        return [(job, 1) for job in jobs]

    monkeypatch.setattr(seeds, "run_jobs", run_jobs)
    with pytest.raises(seeds.SeedsStopped):
        seeds.train_seeds(SMALL, [5, 3, 8], folder=tmp_path / "run")
    assert found == {"seed-3": 3, "seed-5": 5, "seed-8": 8}


def test_command_killed_at_its_start_can_be_repeated(tmp_path: Path, trained: list[str]) -> None:
    folder = tmp_path / "run"
    (folder / "seed-1").mkdir(parents=True)
    with pytest.raises(seeds.SeedsStopped):
        seeds.train_seeds(SMALL, [2, 3], folder=folder)
    assert trained == ["seed 2", "seed 3"]
    (tmp_path / "other" / "seed-1" / "notes").mkdir(parents=True)
    with pytest.raises(ValueError, match="is not empty"):
        seeds.train_seeds(SMALL, [1], folder=tmp_path / "other")


class Executed:
    """An executor in which every job ends at once."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.threads: list[int] = []

    def __enter__(self) -> Executed:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, job: Job) -> Future[Any]:
        self.threads.append(job.settings["threads"])
        done: Future[Any] = Future()
        done.set_result((0, {}))
        return done


@pytest.mark.parametrize(
    ("workers", "threads"), [(None, 1), (1, 8), (2, 4), (3, 2), (9, 1)], ids=lambda each: f"{each}"
)
def test_runs_share_the_cores_with_those_beside_them(
    workers: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed = Executed()
    monkeypatch.setattr(jobs, "Executor", lambda *_, **__: executed)
    monkeypatch.setattr(jobs, "usable_threads", lambda: 8)
    listed = [Job(name=f"{k}", folder=Path(), settings={"threads": 0}) for k in range(6)]
    listed.append(Job(name="own", folder=Path(), settings={"threads": 5}))
    ended = [*run_jobs(listed, "local", print, workers=workers)]
    assert {code for _, code in ended} == {0}
    assert executed.threads == [threads] * 6 + [5]
