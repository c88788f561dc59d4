"""Jobs end with the status of their own training, and give back whole files."""

from __future__ import annotations

import errno
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from german_whist.common.files import is_full_disk
from german_whist.common.signals import FULL_DISK
from german_whist.training.experiments import jobs
from german_whist.training.experiments.jobs import Job, run_jobs
from german_whist.training.presets import load_settings

FULL = OSError(errno.ENOSPC, "No space left on device")


def a_job(name: str, folder: Path) -> Job:
    return Job(name=name, folder=folder / name, settings=load_settings("tiny").as_mapping())


@pytest.mark.parametrize("on", ["local", "ray"])
def test_no_jobs_need_no_workers(on: str) -> None:
    assert [*run_jobs([], on, print)] == []


def test_full_disk_is_found_among_causes() -> None:
    error = ValueError("a worker could not begin")
    error.__cause__ = FULL
    assert is_full_disk(error)
    error.__cause__ = error
    assert not is_full_disk(error)
    assert not is_full_disk(OSError(errno.EACCES, "Permission denied"))
    assert not is_full_disk(None)


def test_files_that_arrived_in_part_do_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_a_part(files: dict[str, bytes], folder: Path) -> None:
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(b"a part")
        raise FULL

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jobs, "write_files", write_a_part)
    files = {"run/state.safetensors": b"whole"}
    job = Job(
        name="a", folder=Path("run"), settings=load_settings("tiny").as_mapping(), files=files
    )
    assert jobs._remote_worker(jobs.train_job)(job) == (FULL_DISK, {})


def test_machine_without_room_costs_its_own_job_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class HalfFull:
        def __init__(self, *_: object, **__: object) -> None: ...

        def __enter__(self) -> HalfFull:
            return self

        def __exit__(self, *_: object) -> None: ...

        def submit(self, job: Job) -> Future[Any]:
            future: Future[Any] = Future()
            if job.name == "a":
                error = ValueError("a worker of the cluster could not begin")
                error.__cause__ = FULL
                future.set_exception(error)
            else:
                future.set_result((0, {}))
            return future

    monkeypatch.setattr(jobs, "Executor", HalfFull)
    lines = list[str]()
    ends = run_jobs([a_job("a", tmp_path), a_job("b", tmp_path)], "local", lines.append)
    assert {job.name: code for job, code in ends} == {"a": FULL_DISK, "b": 0}
    assert lines == ["a: a worker of the cluster could not begin"]
