"""Executors finish all tasks though workers die, and leave no worker behind."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest
from executor_tasks import Odd, named, odd, torch_threads
from processes import children_of, wait_for_end

from german_whist.common.executors import Executor, InProcessExecutor, WorkersLost, count_cores

BUSY = """
import time
from german_whist.common.executors import Executor
from executor_tasks import named
with Executor(named, "sleep", 2) as executor:
    futures = [executor.submit(1000), executor.submit(1000)]
    print("begun", flush=True)
    futures[0].result()
"""


def test_executor_runs_all_tasks_in_any_number_of_workers() -> None:
    for workers in (1, 3):
        tasks = iter(range(1, 7))
        with Executor(named, "factorial", workers) as executor:
            results = dict(executor.results(lambda: next(tasks, None)))  # noqa: B023
        assert results == {n: math.factorial(n) for n in range(1, 7)}
    assert not children_of(os.getpid())


def test_torch_has_one_thread_in_this_process_as_in_a_worker() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for executor in (Executor(named, "torch_threads"), InProcessExecutor(torch_threads)):
            tasks = iter([1])
            with executor:
                assert [*executor.results(lambda: next(tasks, None))] == [(1, 1)]  # noqa: B023
            assert torch.get_num_threads() == 3
        failing = InProcessExecutor(odd)
        with pytest.raises(Odd):
            next(failing.results(lambda: 1))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_errors_and_lines_of_tasks_come_back() -> None:
    lines: list[tuple[Any, str]] = []
    with Executor(named, "any", on_line=lambda *line: lines.append(line)) as executor:
        with pytest.raises(ValueError, match="not defined for negative"):
            executor.submit(("factorial", -1)).result()
        with pytest.raises(AttributeError):  # this is no task that could be sent
            executor.submit(lambda: 3).result()
        assert executor.submit(("factorial", 3)).result() == 6
        with pytest.raises(RuntimeError, match="Odd: 1 and 2"):
            executor.submit(("odd", 0)).result()
        task = ("print", "one\ntwo")
        executor.submit(task).result()
    assert lines == [(task, "one"), (task, "two")]
    with Executor(named, "nobody") as executor, pytest.raises(KeyError):
        executor.submit(1).result()


@pytest.mark.parametrize("task", [("print", "a line"), ("elsewhere", 0)])
def test_unreadable_result_shifts_no_other_results(task: tuple[str, Any]) -> None:
    def closed(_: Any, line: str) -> None:
        raise OSError(f"no stream for {line}")

    with Executor(named, "any", on_line=closed) as executor:
        failed = executor.submit(task)
        others = [executor.submit(("factorial", n)) for n in range(4)]
        with pytest.raises((OSError, ValueError), match=r"no stream for a line|read elsewhere"):
            failed.result()
        assert [other.result(20) for other in others] == [1, 1, 2, 6]


def test_worker_that_cannot_start_loses_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    popen, started = subprocess.Popen, list[Any]()

    def first_fails(*arguments: Any, **options: Any) -> Any:
        started.append(arguments)
        if len(started) == 1:
            raise OSError("Resource temporarily unavailable")
        return popen(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", first_fails)
    deaths: list[str] = []
    with Executor(named, "factorial", on_death=lambda _, cause: deaths.append(cause)) as executor:
        futures = [executor.submit(n) for n in range(3)]
        assert [future.result(20) for future in futures] == [1, 1, 2]
    assert "Resource temporarily unavailable" in deaths[0]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux has an affinity")
def test_count_cores_follows_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5})
    assert count_cores("local") == 3


def test_task_of_a_dead_worker_is_retried_and_others_go_on(tmp_path: Path) -> None:
    deaths: list[Any] = []
    task = "die_once", str(tmp_path / "mark")
    with Executor(named, "any", 2, on_death=lambda *death: deaths.append(death)) as executor:
        long = executor.submit(("sleep", 2))
        assert executor.submit(task).result() == "done"
        assert long.result() is None
    assert deaths == [(task, "exit status 7")]
    assert executor.n_replaced == 1


def test_task_that_kills_three_workers_fails() -> None:
    with Executor(named, "exit", 2) as executor:
        with pytest.raises(WorkersLost, match=r"3 workers in a row died \(exit status 9\) of 9"):
            executor.submit(9).result()
        with pytest.raises(WorkersLost):  # and others are tried all the same
            executor.submit(9).result()


def test_close_ends_running_and_pending_tasks() -> None:
    with Executor(named, "sleep") as executor:
        busy, waiting = executor.submit(1000), executor.submit(1000)
        children_of(os.getpid(), wait=20)
    for future in (busy, waiting):
        with pytest.raises(CancelledError):
            future.result()
    assert not children_of(os.getpid())
    with pytest.raises(RuntimeError):
        executor.submit(1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent_process(tmp_path: Path, number: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(BUSY, encoding="utf-8")
    tests = Path(__file__).resolve().parents[1]
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{tests}:{tests / 'common'}"},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"begun\n"
        workers = children_of(process.pid, wait=20)
        time.sleep(1)  # they are busy
        os.killpg(process.pid, number)  # as Ctrl-C in a terminal
        assert process.wait(20) == -number
        output = process.stderr.read().decode()
    assert (
        output.count("Traceback") == output.count("KeyboardInterrupt") == (number == signal.SIGINT)
    )
    assert all(wait_for_end(worker, 10) for worker in workers)
