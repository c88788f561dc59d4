"""Thread pool: every item once, errors raised, no references held, no thread left over."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from german_whist.common.threads import ThreadPool

MUCH = 10**9
# What each thread gets of its own: here its number.
PARTS = range(5)


def count(part: int, visits: np.ndarray, start: int, stop: int) -> int:
    visits[start:stop] += 1
    return stop - start


@pytest.mark.parametrize(("threads", "size"), [(1, 5), (2, 2), (2, 7), (3, 64), (5, 4)])
def test_pool_visits_every_item_once(threads: int, size: int) -> None:
    visits = np.zeros(size, np.int64)
    pool = ThreadPool(threads)
    for times in (1, 2, 3):
        assert pool.run(size, count, PARTS, visits, cost_ns=MUCH) == size
        assert (visits == times).all()


def test_pool_runs_parts_at_once() -> None:
    meeting = threading.Barrier(3, timeout=20)

    def meet(part: int, start: int, stop: int) -> int:
        meeting.wait()
        return 1

    assert ThreadPool(3).run(3, meet, PARTS, cost_ns=MUCH) == 3


@pytest.mark.parametrize("faulty", [0, 1, 2])
def test_pool_raises_error_of_any_part_and_runs_again(faulty: int) -> None:
    pool, visits = ThreadPool(3), np.zeros(9, np.int64)

    def fail(part: int, start: int, stop: int) -> int:
        if part == faulty:
            raise ZeroDivisionError(part)
        return 100

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            pool.run(9, fail, PARTS, cost_ns=MUCH)
        assert pool.run(9, count, PARTS, visits, cost_ns=MUCH) == 9


def test_pool_raises_error_after_all_parts_end() -> None:
    pool, ended = ThreadPool(2), threading.Event()

    def fail(part: int, start: int, stop: int) -> int:
        if part == 0:
            raise ZeroDivisionError
        time.sleep(0.2)
        ended.set()
        return 0

    with pytest.raises(ZeroDivisionError):
        pool.run(2, fail, PARTS, cost_ns=MUCH)
    assert ended.is_set()


def test_pool_retries_threads_that_could_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, visits = ThreadPool(2), np.zeros(4, np.int64)

    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none)
        with pytest.raises(RuntimeError, match="can't start"):
            pool.run(4, count, PARTS, visits, cost_ns=MUCH)
    assert pool.run(4, count, PARTS, visits, cost_ns=MUCH) == 4


AT_THE_END = """
import atexit, os
def count(part, start, stop):
    return stop - start
class Last:
    def step(self, write=os.write, count=count):
        write(1, b"%d " % self.pool.run(4, count, range(2), cost_ns=10**9))
    __del__ = step
last = Last()
atexit.register(last.step)
from german_whist.common.threads import ThreadPool
last.pool = ThreadPool(2)
{first}
del last
"""


TAKEN_DOWN = """
import os
from german_whist.common.threads import ThreadPool
class Last:
    def __init__(self, pool):
        self.pool = pool
    def __del__(self, write=os.write):
        count = lambda part, start, stop: stop - start
        write(1, b"%d" % self.pool.run(4, count, range(2), cost_ns=10**9))
last = Last(ThreadPool(2))
"""


@pytest.mark.parametrize(
    ("program", "steps"),
    [
        (AT_THE_END.format(first=""), 2),
        (AT_THE_END.format(first="last.step()"), 3),
        (TAKEN_DOWN, 1),  # while modules are taken down it stays on its thread
    ],
)
def test_pool_runs_during_interpreter_shutdown(program: str, steps: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout.split(), done.stderr) == (["4"] * steps, "")


def test_pool_holds_no_references_after_a_run() -> None:
    pool = ThreadPool(2)
    for _ in range(50):
        visits = np.zeros(4, np.int64)
        reference = weakref.ref(visits)
        pool.run(4, count, PARTS, visits, cost_ns=MUCH)
        del visits
        assert reference() is None


def test_forked_child_starts_its_own_threads() -> None:
    pool, visits = ThreadPool(2), np.zeros(4, np.int64)
    pool.run(4, count, PARTS, visits, cost_ns=MUCH)
    child = os.fork()
    if child == 0:
        os._exit(0 if pool.run(4, count, PARTS, visits, cost_ns=MUCH) == 4 else 1)
    deadline = time.monotonic() + 30
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, 9)
    assert ended == (child, 0)
    assert pool.run(4, count, PARTS, visits, cost_ns=MUCH) == 4


def test_threads_end_with_their_pool() -> None:
    before = set(threading.enumerate())
    pool, visits = ThreadPool(4), np.zeros(8, np.int64)
    pool.run(8, count, PARTS, visits, cost_ns=MUCH)
    workers = set(threading.enumerate()) - before
    assert len(workers) == 3
    del pool
    gc.collect()
    for worker in workers:
        worker.join(timeout=20)
        assert not worker.is_alive()


def test_used_pool_can_be_pickled() -> None:
    pool, visits = ThreadPool(2), np.zeros(4, np.int64)
    pool.run(4, count, PARTS, visits, cost_ns=MUCH)
    again = pickle.loads(pickle.dumps(pool))
    assert again.count == 2
    assert again.run(4, count, PARTS, visits, cost_ns=MUCH) == 4
