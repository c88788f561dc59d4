"""Callbacks: those of SB3 see one training, and those of runs get every event in order."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from sb3_callbacks import Counting
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from small_runs import arrays_of, quiet, same
from stable_baselines3.common.callbacks import (
    BaseCallback,
    CheckpointCallback,
    StopTrainingOnMaxEpisodes,
)

from german_whist.agents.checkpoints import list_checkpoints
from german_whist.cli import main
from german_whist.common.settings import SettingsError
from german_whist.common.signals import RunStopped
from german_whist.envs import GermanWhistVecEnv
from german_whist.training.algorithms.sb3 import SB3Trainer
from german_whist.training.algorithms.settings import SB3Settings
from german_whist.training.callbacks.base import Callback, EarlyStopping, TrainingRun
from german_whist.training.callbacks.console import ConsoleLog
from german_whist.training.presets import load_settings
from german_whist.training.run import resume, start
from german_whist.training.run_state import EvaluationResult
from german_whist.training.settings import Settings

HERE = "sb3_callbacks"
TINY = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2}
SMALL = {
    "rules": TINY,
    "horizon": "hand",
    "hidden_sizes": (16,),
    "n_envs": 16,
    "n_steps": 16,
    "batch_size": 128,
    "decisions": 1500,
    "eval_hands": 40,
    "eval_mode": "sync",
    "final_eval_hands": 40,
    "eval_opponents": ("random",),
    "opponents": ("random",),
    "threads": 1,
    "save_every": 500,
}


def settings(**changes: object) -> SB3Settings:
    return SB3Settings(**{**SMALL, **changes})  # type: ignore[arg-type]


def trained(folder: Path, *callbacks: BaseCallback, **changes: object) -> tuple[SB3Trainer, str]:
    """A run of some callbacks, and its output."""
    log = io.StringIO()
    run = start(folder, settings(**changes), callbacks=callbacks)
    run.go(ConsoleLog(log))
    assert isinstance(run.trainer, SB3Trainer)
    return run.trainer, log.getvalue()


def test_sb3_callbacks_see_one_training(tmp_path: Path) -> None:
    given = Counting()
    trainer, _ = trained(tmp_path / "run", given, callbacks=(f"{HERE}:Counting",))
    named = trainer.callbacks.callbacks[0]
    assert isinstance(named, Counting)
    assert trainer.decisions == 1504
    for each in (given, named):
        assert each.events == ["start of 1500", "end"]
        assert each.n_calls == trainer.decisions // 16
        assert each.num_timesteps == trainer.decisions


def test_sb3_callback_ends_the_run_with_a_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    trainer, output = trained(folder, callbacks=(f"{HERE}:Stopping",))
    assert trainer.decisions == 40 * 16
    assert "a callback ended the training after 640 decisions" in output
    assert list_checkpoints(folder / "checkpoints")[-1].stem == f"{640:012d}"
    assert (folder / "checkpoints" / f"{640:012d}.zip").exists()
    stopping = trainer.callbacks.callbacks[0]
    assert isinstance(stopping, Counting)
    assert stopping.events == ["start of 1500", "end"]
    rows = (folder / "progress.csv").read_text(encoding="utf-8").splitlines()
    assert [row.partition(",")[0] for row in rows[-2:]] == ["512", "640"]
    # What was shown when it ended is what a resumed run goes on from.
    again = resume(folder).trainer
    assert isinstance(again, SB3Trainer)
    assert np.array_equal(again.model._last_obs, trainer.model._last_obs)
    assert again.callbacks.calls == [40]


def test_callbacks_of_sb3_work_as_in_sb3(tmp_path: Path) -> None:
    evaluating = MaskableEvalCallback(
        GermanWhistVecEnv(4, TINY, opponent="random", suit_order="trump-first"),
        n_eval_episodes=20,
        eval_freq=30,
        log_path=str(tmp_path),
        verbose=0,
        best_model_save_path=str(tmp_path / "best"),
    )
    trainer, output = trained(
        tmp_path / "run",
        CheckpointCallback(save_freq=40, save_path=str(tmp_path / "kept")),
        evaluating,
        StopTrainingOnMaxEpisodes(20),
    )
    assert "a callback ended the training" in output
    steps = trainer.callbacks.n_calls
    # Twenty episodes in each of sixteen games, of four or five decisions each.
    assert 64 <= steps <= 96
    saved = {path.name for path in (tmp_path / "kept").iterdir()}
    assert saved == {f"rl_model_{16 * call}_steps.zip" for call in range(40, steps + 1, 40)}
    for path in (*(tmp_path / "kept").iterdir(), tmp_path / "best" / "best_model.zip"):
        assert isinstance(MaskablePPO.load(path), MaskablePPO)
    with np.load(tmp_path / "evaluations.npz") as evaluations:
        assert evaluations["timesteps"].tolist() == [480 * k for k in range(1, steps // 30 + 1)]


# -- what is refused


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:Stop", "module no_such_module cannot be imported"),
        (f"{HERE}:Nothing", "has no 'Nothing'"),
        (f"{HERE}:WORD", "WORD is a str, which is no callback of a run, nor one that the trainer"),
        (f"{HERE}:made", "made is a function, which is no callback of a run"),
        ("os:abort", "os:abort is a builtin_function_or_method, which is no callback"),
        ("mlflow", "callbacks: 'mlflow' is not a callback; "),
        (f"{HERE}:Needing", "cannot be made without arguments"),
    ],
)
def test_unknown_callback_is_refused(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    with pytest.raises(ValueError, match=re.escape(message)):
        start(folder, settings(callbacks=(name,)))
    assert main(["train", "sb3", f"callbacks={name}", "threads=1", "--run", str(folder)]) == 2
    assert message in capsys.readouterr().err
    assert not folder.exists()
    with pytest.raises(ValueError, match="nor one that the trainer ppo takes"):
        start(folder, load_settings("tiny", [f"callbacks={HERE}:READY", "threads=1"]))
    assert not folder.exists()


# -- callbacks of every trainer


class EventLog(Callback):
    """Keeps the events that it gets, in order."""

    stop_after = 10**9

    def __init__(self) -> None:
        self.events: list[str] = []

    def on_start(self, run: TrainingRun) -> None:
        self.events.append(f"start at {run.trainer.decisions}")

    def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
        assert run.rows[-1]["decisions"] == run.trainer.decisions
        assert run.rows[-1]["entropy"] == pytest.approx(metrics["entropy"], rel=1e-5)
        self.events.append("iteration")
        if run.trainer.decisions >= self.stop_after:
            run.stop("enough")

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        assert {result.decisions for result in results} == {run.trainer.decisions}
        self.events.append("measured")

    def on_checkpoint(self, run: TrainingRun, path: Path) -> None:
        assert path.exists()
        self.events.append("checkpoint")

    def on_end(self, run: TrainingRun) -> None:
        self.events.append("end")


def small_settings(trainer: str, *words: str) -> Settings:
    small = "n_envs=16 decisions=1500 threads=1 eval_hands=20 final_eval_hands=20 eval_every=1000"
    small += " batch_size=128 hidden_sizes=16 eval_mode=sync horizon=hand n_steps=16"
    rules = "rules={name: tiny, suits: 2, ranks: 4, hand: 2}"
    return load_settings({"ppo": "tiny"}.get(trainer, trainer), [*small.split(), rules, *words])


@pytest.mark.parametrize("trainer", ["ppo", "sb3"])
def test_callback_gets_all_events_and_stops_the_run(trainer: str, tmp_path: Path) -> None:
    events, log = EventLog(), io.StringIO()
    events.stop_after = 1280
    path = start(tmp_path / "run", small_settings(trainer), callbacks=[events]).go(ConsoleLog(log))
    assert int(path.stem) == 1280
    assert events.events == [
        "start at 0",
        *["iteration"] * 4,
        "checkpoint",
        "measured",
        "iteration",
        "checkpoint",
        "measured",
        "end",
    ]
    assert "ended after 1,280 decisions: enough" in log.getvalue()


@pytest.mark.parametrize("trainer", ["ppo", "sb3", "mccfr"])
def test_cut_iteration_is_in_no_curve(trainer: str, tmp_path: Path) -> None:
    class Watching(Callback):
        def __init__(self) -> None:
            self.metrics: list[Mapping[str, float]] = []

        def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
            self.metrics.append(metrics)

    small = [
        "trainer=mccfr",
        "rules=2x4-h2",
        "iteration=600",
        "decisions=1500",
        "final_eval_hands=2",
    ]
    config = load_settings(None, small) if trainer == "mccfr" else small_settings(trainer)
    watching = Watching()
    run = start(tmp_path / "run", config, callbacks=[watching])
    run.go(quiet())
    *whole, cut = run.rows
    assert cut.keys() == {"decisions", "hands_played", "seconds", "processor_seconds"}
    assert cut["decisions"] == run.trainer.decisions >= 1500
    assert len(watching.metrics) == len(whole) > 1
    for row in whole:
        assert row.keys() >= {"entropy", "decisions_per_second"}
    # No chart has a point of it.
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    entropy = re.search(r'aria-label="entropy over decisions".*?</svg>', page, re.S)
    assert entropy is not None
    assert entropy.group().count("<circle") == len(whole)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = start(tmp_path_factory.mktemp("whole") / "run", small_settings("ppo"))
    run.go(quiet())
    return run.folder


@pytest.mark.parametrize("event", ["on_start", "on_iteration", "on_evaluation", "on_end"])
def test_raising_callback_ends_the_run_and_loses_nothing(
    event: str, whole: Path, tmp_path: Path
) -> None:
    def raising(*_: object) -> None:
        raise KeyError("no such thing")

    raising.__name__ = event
    failing = type("EventLog", (EventLog,), {event: raising})
    run = start(tmp_path / "run", small_settings("ppo"), callbacks=[failing()])
    where = rf"\(test_callbacks.py:\d+\) in {event}; .*--resume"
    output = f"the callback EventLog raised KeyError: 'no such thing' {where}"
    with pytest.raises(RunStopped, match=output) as stopped:
        run.go(quiet())
    assert f"the run is saved after {run.trainer.decisions:,} decisions" in str(stopped.value)
    resume(tmp_path / "run").go(quiet())
    assert same(arrays_of(whole), arrays_of(tmp_path / "run"))


def test_callback_that_fails_at_the_end_does_not_hide_a_signal(tmp_path: Path) -> None:
    class Failing(Callback):
        def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

        def on_end(self, run: TrainingRun) -> None:
            raise KeyError("no such thing")

    run = start(tmp_path / "run", small_settings("ppo"), callbacks=[Failing()])
    with pytest.raises(RunStopped, match=r"stopped after .* decisions; go on with") as stopped:
        run.go(ConsoleLog(log := io.StringIO()))
    assert "the callback Failing raised KeyError: 'no such thing'" in log.getvalue()
    assert stopped.value.status == 128 + signal.SIGTERM


def test_sys_exit_in_a_callback_is_reported(tmp_path: Path) -> None:
    class Leaving(Callback):
        def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
            sys.exit()

    message = r"Leaving raised SystemExit .*; run.stop\(reason\) ends a run; .* saved after 256 dec"
    with pytest.raises(RunStopped, match=message) as stopped:
        start(tmp_path / "run", small_settings("ppo"), callbacks=[Leaving()]).go(quiet())
    assert stopped.value.status == 1
    assert resume(tmp_path / "run").trainer.decisions == 256


def found(rate: float, decisions: int, opponent: str = "random") -> EvaluationResult:
    return EvaluationResult(
        decisions=decisions,
        opponent=opponent,
        win_rate=rate,
        margin_of_error=0.01,
        margin=0.0,
        hands=100,
    )


def test_early_stopping_counts_evaluations_without_gain() -> None:
    stopped: list[str] = []
    run: Any = SimpleNamespace(
        settings=SimpleNamespace(eval_opponents=("random", "threshold")),
        evaluations=[],
        stop=stopped.append,
    )
    stopping = EarlyStopping(2)
    for place, rate in enumerate((0.5, 0.6, 0.55, 0.61, 0.6, 0.61)):
        run.evaluations += [found(rate, place), found(0.9 - place / 10, place, "threshold")]
        stopping.on_evaluation(run, run.evaluations[-2:])
        assert bool(stopped) == (place == 5), place
    assert stopped == ["the best win rate against random, 61.0 %, is 2 evaluations ago"]


def test_signal_in_the_last_evaluation_does_not_undo_an_early_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Callback):
        def on_iteration(self, run: TrainingRun, metrics: Mapping[str, float]) -> None:
            run.stop("it is enough")

    def interrupted(self: Any) -> Path:
        raise KeyboardInterrupt

    run = start(tmp_path / "run", small_settings("ppo"), callbacks=[Stop()])
    with monkeypatch.context() as patch:
        patch.setattr(type(run), "_evaluate_at_end", interrupted)
        with pytest.raises(RunStopped, match="go on with"):
            run.go(quiet())
    ended = run.trainer.decisions
    assert ended < run.settings.decisions
    again = resume(tmp_path / "run")
    again.go(quiet())
    assert again.trainer.decisions == ended
    assert again.state.finished
    assert again.evaluations


def test_patience_is_a_setting_of_every_run(tmp_path: Path) -> None:
    config = small_settings(
        "ppo", "patience=1", "eval_every=256", "decisions=1e5", "learning_rate=1e-9"
    )
    run, log = start(tmp_path / "run", config), io.StringIO()
    run.go(ConsoleLog(log))
    assert run.trainer.decisions < 20_000
    assert "is 1 evaluations ago" in log.getvalue()
    # A run that ended before its budget stays ended, until what ended it is changed.
    ended = run.trainer.decisions
    for changes in ({}, {"final_eval_hands": 60}):
        again = resume(tmp_path / "run", **changes)
        again.go(ConsoleLog(log := io.StringIO()))
        assert again.trainer.decisions == ended
        assert again.state.finished
    again = resume(tmp_path / "run")
    again.go(ConsoleLog(log := io.StringIO()))
    assert "this run has come to its end: ended after" in log.getvalue()
    assert log.getvalue().rstrip().endswith(f"--resume {tmp_path / 'run'} patience=0")
    again = resume(tmp_path / "run", patience=0, decisions=2 * ended)
    again.go(quiet())
    assert again.trainer.decisions >= 2 * ended
    with pytest.raises(SettingsError, match="patience compares results"):
        small_settings("ppo", "patience=1", "eval_opponents=[]")
