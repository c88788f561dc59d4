"""Processor seconds and steps of a trainer: of its threads and children, and of nobody else.

What is added up, and when, is tested on a clock that stands still but for the work of a test, to
the second. What the system's clocks count is tested by trainers that work for a given time of a
processor, so that the figures do not depend on the speed of the machine, nor on what else runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import processes
import pytest
from small_runs import quiet

from german_whist.agents.checkpoints.schema import NetworkCard
from german_whist.common import processor_time
from german_whist.common.executors import Executor
from german_whist.common.processor_time import WorkClock, processor_seconds
from german_whist.engine.checks import IllegalAction
from german_whist.envs import SelfPlayEnv, step_count
from german_whist.solvers.cfr_plus import CFRPlusSolver
from german_whist.training import run as running
from german_whist.training import trainer_clock
from german_whist.training.algorithms.base import Trainer
from german_whist.training.callbacks.base import Callback, TrainingRun
from german_whist.training.callbacks.evaluation import CheckpointEvaluation
from german_whist.training.experiments import benchmark as benchmarking
from german_whist.training.experiments.benchmark import Benchmark, measure_job
from german_whist.training.experiments.benchmark_results import Result
from german_whist.training.presets import settings_from
from german_whist.training.run import Run, resume, start
from german_whist.training.settings import Settings

PART = 0.15
"""Processor seconds of an iteration's work."""
ITERATIONS = 3
WHOLE = PART * ITERATIONS
SLACK = 0.3
"""Of the clocks of running children, and of what the package does within a trainer's calls.

Work that counts twice, or not at all, is further off.
"""
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")


def is_about(seconds: float, expected: float) -> bool:
    return expected - SLACK / 5 < seconds < expected + SLACK


def work(seconds: float = PART) -> None:
    processes.work(seconds)


class StillTime:
    """Clocks of the process and of its first thread, which go on by `work` alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.process = self.thread = 0.0
        monkeypatch.setattr(processor_time, "processor_seconds", lambda: self.process)
        clocks = SimpleNamespace(thread_time=lambda: self.thread)
        monkeypatch.setattr(processor_time, "time", clocks)
        # The trainers below work on these clocks, too.
        monkeypatch.setattr(sys.modules[__name__], "work", self.work)

    def work(self, seconds: float = 1.0) -> None:
        self.process += seconds
        self.thread += seconds

    def work_beside(self, seconds: float) -> None:
        """Another thread works, or a child."""
        self.process += seconds


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> StillTime:
    return StillTime(monkeypatch)


class OwnSettings(Settings, frozen=True, kw_only=True):
    pass


class Outside(Trainer):
    """A trainer of another package, which learns nothing."""

    settings_kind = OwnSettings

    def iterate(self) -> dict[str, float]:
        self.learn()
        self.decisions += 100
        return {"paid": 0.5}

    def learn(self) -> None: ...

    def policy_weights(self) -> dict[str, Any]:
        return {"policy.weight": np.zeros((52, 1)), "policy.bias": np.zeros(52)}

    def network_card(self) -> NetworkCard:
        return NetworkCard(kind="mlp", inputs=("led[0]",), hidden_sizes=())

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {"decisions": self.decisions}

    def restore(self, arrays: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
        self.decisions = plain["decisions"]


class Working(Outside):
    def learn(self) -> None:
        work()


class Sleeping(Outside):
    def learn(self) -> None:
        time.sleep(2 * WHOLE / ITERATIONS)


class Threaded(Outside):
    def learn(self) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


class Forking(Outside):
    """Forks a child, and waits for it."""

    def learn(self) -> None:
        child = os.fork()
        if not child:
            work()
            os._exit(0)
        os.waitpid(child, 0)


class Grandparent(Outside):
    """Starts a program that starts another; both work, and are waited for."""

    def learn(self) -> None:
        code = (
            "import subprocess, sys, time\n"
            "def work():\n"
            "    while time.process_time() < float(sys.argv[1]): pass\n"
            "if len(sys.argv) == 2:\n"
            "    subprocess.run([sys.executable, *sys.orig_argv[1:], 'child'])\n"
            "work()\n"
        )
        subprocess.run([sys.executable, "-c", code, str(PART / 2)], check=True)


class Background(Outside):
    """A thread learns while the package is busy between two calls."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.asked, self.done = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.asked.acquire()
            work()
            self.done.release()

    def learn(self) -> None:
        self.asked.release()


def _serve(asked: Any, done: Any, stopped: Any) -> None:
    while asked.acquire() and not stopped.is_set():
        work()
        done.release()


def _serve_by_a_child(*signals: Any) -> None:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    else:
        _serve(*signals)
        os._exit(0)


class Server(Background):
    """The same in a child process, which nobody waits for before the end."""

    serve = staticmethod(_serve)

    def __init__(self, settings: Settings) -> None:
        Outside.__init__(self, settings)
        context = get_context("fork")
        self.asked, self.done = context.Semaphore(0), context.Semaphore(0)
        self.stopped_serving = context.Event()
        signals = self.asked, self.done, self.stopped_serving
        self.child = context.Process(target=self.serve, args=signals)
        self.child.start()

    def close(self) -> None:
        self.stopped_serving.set()
        self.asked.release()
        self.child.join()


class ServerOfServer(Server):
    """The same in a child of the child."""

    serve = staticmethod(_serve_by_a_child)


class Waiting(Callback):
    """Waits between two calls of the trainer until its background work is done."""

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        run.trainer.done.acquire()  # type: ignore[attr-defined]


class Busy(Callback):
    """Works between two calls of the trainer."""

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        work()


def begin(folder: Path, kind: type[Trainer], **changes: object) -> Run:
    values: dict[str, object] = {
        "trainer": f"{__name__}:{kind.__name__}",
        "rules": "2x4-h2",
        "decisions": 100 * ITERATIONS,
        "eval_opponents": [],
        "eval_mode": "sync",
        "final_eval_hands": 2,
    }
    return start(folder, settings_from({**values, **changes}))


def seconds_of(folder: Path, kind: type[Trainer], *callbacks: Callback) -> list[float]:
    """Processor seconds after each iteration."""
    run = begin(folder, kind)
    run.go(quiet(), *callbacks)
    return [row["processor_seconds"] for row in run.rows]


def test_work_of_a_trainer_counts_and_adds_up(still: StillTime, tmp_path: Path) -> None:
    assert seconds_of(tmp_path / "run", Working) == [1, 2, 3]


def test_seconds_of_earlier_sessions_are_kept(still: StillTime, tmp_path: Path) -> None:
    seconds_of(tmp_path / "run", Working)
    still.work(100)
    run = resume(tmp_path / "run", [f"decisions={200 * ITERATIONS}"])
    run.go(quiet())
    assert [row["processor_seconds"] for row in run.rows] == [1, 2, 3, 4, 5, 6]


def test_sleep_of_a_trainer_does_not_count(tmp_path: Path) -> None:
    assert seconds_of(tmp_path / "run", Sleeping)[-1] < SLACK


def test_work_in_a_thread_counts(tmp_path: Path) -> None:
    assert is_about(seconds_of(tmp_path / "run", Threaded)[-1], WHOLE)


@forks
def test_work_in_a_forked_child_counts(tmp_path: Path) -> None:
    assert is_about(seconds_of(tmp_path / "run", Forking)[-1], WHOLE)


def test_work_of_a_childs_child_counts(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows does not tell it")
    assert seconds_of(tmp_path / "run", Grandparent)[-1] >= WHOLE


def test_work_in_a_thread_between_calls_counts(tmp_path: Path) -> None:
    seconds = seconds_of(tmp_path / "run", Background, Waiting())
    assert is_about(seconds[-1], WHOLE)


@linux
@pytest.mark.parametrize("kind", [Server, ServerOfServer])
def test_work_of_a_running_child_counts(kind: type[Trainer], tmp_path: Path) -> None:
    seconds = seconds_of(tmp_path / "run", kind, Waiting())
    # It has ended at the end alone.
    for number, value in enumerate(seconds[:-1]):
        assert is_about(value, number * PART)
    assert is_about(seconds[-1], WHOLE)


def test_work_of_a_callback_does_not_count(still: StillTime, tmp_path: Path) -> None:
    assert seconds_of(tmp_path / "run", Outside, Busy()) == [0, 0, 0]
    assert still.process == ITERATIONS


def test_evaluations_do_not_count(
    still: StillTime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated: list[Path] = []

    def evaluate(path: Path, *_: object) -> CheckpointEvaluation:
        still.work(10)
        still.work_beside(100)
        env = SelfPlayEnv(10, "2x4-h2")
        env.step(env.reset(1).masks.argmax(axis=1))
        evaluated.append(path)
        return CheckpointEvaluation([], [])

    monkeypatch.setattr(running, "evaluate_checkpoint", evaluate)
    run = begin(tmp_path / "run", Working, eval_every=100)
    run.go(quiet())
    assert len(evaluated) == ITERATIONS
    assert [row["processor_seconds"] for row in run.rows] == [1, 2, 3]
    assert run.rows[-1]["env_steps"] == 0


class Everywhere(Outside):
    """Works in all calls of a trainer but `iterate`, each for its own time."""

    spent: float

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.spent = 0.0
        self.spend(1)

    def spend(self, seconds: float) -> None:
        self.spent += seconds
        work(seconds)

    def policy_weights(self) -> dict[str, Any]:
        self.spend(10)
        return super().policy_weights()

    def network_card(self) -> NetworkCard:
        self.spend(100)
        return super().network_card()

    def load_weights(self, weights: Mapping[str, Any]) -> None:
        self.spend(1_000)

    def write_extra_files(self, path: Path) -> None:
        self.spend(10_000)

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self.spend(100_000)
        return super().state()

    def close(self) -> None:
        self.spend(1_000_000)


def test_work_in_every_call_of_a_trainer_counts(still: StillTime, tmp_path: Path) -> None:
    first = begin(tmp_path / "first", Outside)
    checkpoint = first.go(quiet())
    run = begin(tmp_path / "run", Everywhere, init=str(checkpoint))
    trainer: Any = run.trainer
    assert trainer.spent > 1_000
    run.go(quiet())
    assert trainer.spent > 1_000_000
    # The state that ends the run is asked for after the last row.
    assert run.state.processor_seconds == trainer.spent
    assert run.rows[-1]["processor_seconds"] == trainer.spent - 100_110


def test_work_of_a_trainer_that_a_callback_ends_has_a_row(still: StillTime, tmp_path: Path) -> None:
    class Stopping(Working):
        def iterate(self) -> dict[str, float]:
            super().iterate()
            self.stopped = True
            return {}

    run = begin(tmp_path / "run", Working)
    run.trainer.__class__ = Stopping
    run.go(quiet())
    (row,) = run.rows
    assert (row["decisions"], row["processor_seconds"]) == (100, 1)


@pytest.mark.usefixtures("light_workers")
def test_benchmark_has_the_seconds_of_all_iterations(still: StillTime, tmp_path: Path) -> None:
    benchmark = Benchmark(
        algorithms={"mine": {"trainer": f"{__name__}:Working"}},
        rules=("2x4-h2",),
        decisions=400,
        eval_points=3,
    )
    (job, *_) = benchmark.jobs(tmp_path)
    measure_job(job)
    result = msgspec.json.decode((job.folder / "result.json").read_bytes(), type=Result)
    assert [(point.decisions, point.seconds) for point in result.points] == [
        (100, 1),
        (200, 2),
        (400, 4),
    ]


def test_benchmark_has_the_seconds_of_all_cfr_plus_iterations(
    still: StillTime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Solver(CFRPlusSolver):
        def iterate(self) -> None:
            still.work(1)
            still.work_beside(0.5)
            super().iterate()

        def measure(self) -> Any:
            still.work_beside(100)
            return super().measure()

    monkeypatch.setattr(benchmarking, "CFRPlusSolver", Solver)
    benchmark = Benchmark(
        algorithms={"cfr+": {}}, rules=("2x4-h2",), decisions=18_984 * 4, eval_points=3
    )
    (job,) = benchmark.jobs(tmp_path)
    measure_job(job)
    result = msgspec.json.decode((job.folder / "result.json").read_bytes(), type=Result)
    assert [point.seconds for point in result.points] == [1.5, 3, 6]


# -- the clock itself


@linux
@pytest.mark.parametrize("helper", [False, True])
def test_helpers_do_not_count_while_they_run_nor_ended(helper: bool) -> None:
    began = processor_seconds()
    with Executor(processes.make_work, helper=helper) as executor:
        executor.submit(PART).result()
        running = processor_seconds() - began
    ended = processor_seconds() - began
    for seconds in (running, ended):
        assert (seconds >= PART) != helper


def test_clock_counts_work_and_what_runs_beside_it(still: StillTime) -> None:
    still.work(7)
    clock = WorkClock(seconds=100)
    still.work(1)  # a pause of this thread
    assert clock.seconds == 100
    still.work_beside(2)
    assert clock.seconds == 102
    with clock.work():
        still.work(4)
        assert clock.seconds == 106
        with clock.work():  # one within the other counts once
            still.work(8)
        still.work_beside(16)
    still.work(1)
    assert clock.seconds == 130
    with clock.apart():
        still.work(1)
        still.work_beside(1)
    assert clock.seconds == 130
    with clock.work():
        still.work(32)
    assert clock.seconds == 162


def test_seconds_of_a_clock_never_fall(still: StillTime) -> None:
    clock = WorkClock()
    still.work_beside(2)
    assert clock.seconds == 2
    still.work_beside(-1)  # a child whose parent ended before it is lost
    assert clock.seconds == 2


def test_clock_goes_on_in_another_thread() -> None:
    work()
    clock = WorkClock()

    def go_on() -> None:
        with clock.work():
            work()

    thread = threading.Thread(target=go_on)
    thread.start()
    thread.join()
    assert is_about(clock.seconds, PART)


# -- steps


class Playing(Outside):
    """Steps 10 games ten times in an iteration, and counts a tenth of that."""

    def play(self) -> None:
        env = SelfPlayEnv(10, "2x4-h2")
        step = env.reset(self.decisions)
        for _ in range(10):
            step = env.step(step.masks.argmax(axis=1))

    def iterate(self) -> dict[str, float]:
        self.play()
        self.decisions += 10
        return {"paid": 0.5}


class PlayingInChild(Playing):
    def play(self) -> None:
        child = os.fork()
        if not child:
            super().play()
            os._exit(0)
        os.waitpid(child, 0)


@pytest.mark.parametrize("kind", [Playing, pytest.param(PlayingInChild, marks=forks)])
def test_steps_are_counted_where_games_are_stepped(kind: type[Trainer], tmp_path: Path) -> None:
    SelfPlayEnv(1, "2x4-h2")  # compiled here, which counts no steps
    run = begin(tmp_path / "run", kind, decisions=20)
    run.go(quiet())
    assert [row["env_steps"] for row in run.rows] == [100, 200]
    resumed = resume(tmp_path / "run", ["decisions=30"])
    resumed.go(quiet())
    assert resumed.rows[-1]["env_steps"] == 300


@pytest.mark.usefixtures("light_workers")
def test_benchmark_counts_steps_and_all_seconds_of_a_trainer(tmp_path: Path) -> None:
    class_name = f"{__name__}:PlayingInChild"
    benchmark = Benchmark(
        algorithms={"mine": {"trainer": class_name}}, rules=("2x4-h2",), decisions=20, eval_points=1
    )
    (job, *_) = benchmark.jobs(tmp_path)
    measure_job(job)
    (point,) = msgspec.json.decode((job.folder / "result.json").read_bytes(), type=Result).points
    assert point.decisions == 200
    assert not point.as_reported
    assert point.seconds > 0


class PlayingElsewhere(Playing):
    """Takes a step in an environment of this package, and counts a hundred others as well."""

    def iterate(self) -> dict[str, float]:
        env = SelfPlayEnv(1, "2x4-h2")
        env.step(env.reset(self.decisions).masks.argmax(axis=1))
        self.decisions += 100
        return {"paid": 0.5}


@pytest.mark.usefixtures("light_workers")
@pytest.mark.parametrize("kind", [Outside, PlayingElsewhere])
def test_benchmark_marks_decisions_that_a_trainer_reports(
    kind: type[Trainer], tmp_path: Path
) -> None:
    benchmark = Benchmark(
        algorithms={"mine": {"trainer": f"{__name__}:{kind.__name__}"}},
        rules=("2x4-h2",),
        decisions=200,
        eval_points=2,
    )
    (job, *_) = benchmark.jobs(tmp_path)
    measure_job(job)
    result = msgspec.json.decode((job.folder / "result.json").read_bytes(), type=Result)
    assert [point.decisions for point in result.points] == [100, 200]
    assert all(point.as_reported for point in result.points)


def test_steps_of_own_trainers_have_no_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer_clock, "_PACKAGE", __name__.partition(".")[0])
    run = begin(tmp_path / "run", Playing, decisions=20)
    run.go(quiet())
    assert "env_steps" not in run.rows[-1]


def test_every_environment_counts_its_steps() -> None:
    from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv, german_whist_v0

    before = step_count.steps()
    games = SelfPlayEnv(4, "2x4-h2")
    step = games.reset(1)
    games.step(step.masks.argmax(axis=1))
    assert step_count.steps() - before == 4
    games.step(games.observe().masks[[2]].argmax(axis=1), indices=[2])
    assert step_count.steps() - before == 5
    single = GermanWhistEnv("2x4-h2")
    single.reset(seed=1)
    single.step(int(single.action_masks().argmax()))
    assert step_count.steps() - before == 6
    vector = GermanWhistVectorEnv(3, "2x4-h2")
    _, info = vector.reset(seed=1)
    vector.step(info["action_mask"].argmax(axis=1))
    assert step_count.steps() - before == 9
    raw = german_whist_v0.raw_env("2x4-h2")
    raw.reset(seed=1)
    raw.step(int(raw.observe(raw.agent_selection)["action_mask"].argmax()))
    assert step_count.steps() - before == 10
    with pytest.raises(IllegalAction):
        raw.step(0)
    with pytest.raises(IllegalAction):
        games.step([0] * 4)
    assert step_count.steps() - before == 10
