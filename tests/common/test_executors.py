"""Tasks in workers: all are done, whoever dies, and no worker outlives who started it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import children_of, wait_for_end

from german_whist.common.executors import Executor, WorkersLost

SCRIPT = """
import time
from german_whist.common.executors import Executor
from test_executors import named
executor = Executor(named, "sleep")
executor.submit(1000)
print("begun", flush=True)
time.sleep(1000)
"""


class Odd(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def odd(_: Any) -> None:
    raise Odd(1, 2)


def die_once(mark: str) -> str:
    path = Path(mark)
    if not path.exists():
        path.touch()
        os._exit(7)
    return "done"


def named(name: str) -> Callable[[Any], Any]:
    return {"factorial": math.factorial, "exit": os._exit, "die_once": die_once, "any": any_of,
            "odd": odd, "print": print, "sleep": time.sleep}[name]  # fmt: skip


def any_of(task: tuple[str, Any]) -> Any:
    function, argument = task
    return named(function)(argument)


def test_tasks_are_done_in_any_number_of_workers() -> None:
    for workers in (1, 3):
        tasks = iter(range(1, 7))
        with Executor(named, "factorial", workers) as executor:
            results = dict(executor.results(lambda: next(tasks, None)))  # noqa: B023
        assert results == {n: math.factorial(n) for n in range(1, 7)}
    assert not children_of(os.getpid())


def test_errors_and_lines_come_back_and_the_worker_goes_on() -> None:
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


def test_a_task_whose_worker_died_is_given_out_again(tmp_path: Path) -> None:
    deaths: list[Any] = []
    with Executor(named, "die_once", on_death=lambda *death: deaths.append(death)) as executor:
        mark = str(tmp_path / "mark")
        assert executor.submit(mark).result() == "done"
    assert deaths == [(mark, "exit status 7")]
    assert executor.n_replaced == 1


def test_a_task_that_ends_every_worker_is_given_up() -> None:
    with Executor(named, "exit", 2) as executor:
        with pytest.raises(WorkersLost, match=r"3 workers in a row died \(exit status 9\) of 9"):
            executor.submit(9).result()
        with pytest.raises(WorkersLost):  # and others are tried all the same
            executor.submit(9).result()


def test_what_is_under_way_ends_with_the_context() -> None:
    with Executor(named, "sleep") as executor:
        busy, waiting = executor.submit(1000), executor.submit(1000)
        children_of(os.getpid(), wait=20)
    assert busy.cancelled()
    assert waiting.cancelled()
    assert not children_of(os.getpid())


def test_a_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    tests = Path(__file__).resolve().parents[1]
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{tests}:{tests / 'common'}"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        (worker,) = children_of(process.pid, wait=20)
        time.sleep(1)  # it is busy
        process.send_signal(signal.SIGKILL)
    assert wait_for_end(worker, 10)
