"""Evaluations beside the training have the results of those that it waits for."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from processes import children_of

pytest.importorskip("torch")

from small_runs import interrupted_when, quiet

from german_whist.agents.checkpoints import list_checkpoints, read_card
from german_whist.common.signals import RunStopped
from german_whist.training.callbacks.base import Callback, TrainingRun
from german_whist.training.callbacks.evaluation import EvaluationQueue, evaluate_checkpoint
from german_whist.training.presets import load_settings
from german_whist.training.run import resume, start
from german_whist.training.run_state import EvaluationResult, load_state
from german_whist.training.settings import Settings

SMALL = [
    "n_envs=64",
    "hidden_sizes=8",
    "batch_size=128",
    "threads=1",
    "decisions=4000",
    "seed=3",
    "eval_every=1500",
    "save_every=1000",
    "eval_hands=40",
    "final_eval_hands=80",
]


def settings(*words: str) -> Settings:
    return load_settings("tiny", [*SMALL, *words])


class Watching(Callback):
    """Keeps how far the training was as each checkpoint was measured."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def on_evaluation(self, run: TrainingRun, results: Sequence[EvaluationResult]) -> None:
        self.seen.append((results[0].decisions, run.trainer.decisions))


@pytest.fixture(scope="module")
def waited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that waited for its measurements."""
    folder = tmp_path_factory.mktemp("runs") / "waited"
    start(folder, settings("eval_mode=sync")).go(quiet())
    return folder


def test_training_goes_on_during_an_evaluation(waited: Path, tmp_path: Path) -> None:
    watching = Watching()
    folder = tmp_path / "run"
    start(folder, settings(), callbacks=[watching]).go(quiet())
    # Starting a process takes longer than the few iterations that are left.
    assert [measured for measured, _ in watching.seen] == [1536, 3072, 4032]
    assert watching.seen[0][1] > 1536
    assert (folder / "evaluations.csv").read_bytes() == (waited / "evaluations.csv").read_bytes()
    pairs = [list_checkpoints(each / "checkpoints") for each in (folder, waited)]
    for one, other in zip(*pairs, strict=True):
        assert read_card(one).evaluations == read_card(other).evaluations != ()
    assert load_state(folder / "state.safetensors")[1].pending == []


def test_pending_evaluation_is_made_on_resume(waited: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(RunStopped):
        start(folder, settings()).go(interrupted_when(lambda run: run.trainer.decisions >= 1800))
    assert load_state(folder / "state.safetensors")[1].pending == [1536]
    resume(folder).go(quiet())
    assert (folder / "evaluations.csv").read_bytes() == (waited / "evaluations.csv").read_bytes()


def test_evaluation_of_a_dead_process_is_repeated(waited: Path) -> None:
    path = list_checkpoints(waited / "checkpoints")[-1]
    queue = EvaluationQueue(["random"], 20)
    queue.submit(path)
    queue.submit(path)
    assert queue.pending == [int(path.stem)] * 2
    (worker,) = children_of(os.getpid(), wait=20)
    os.kill(worker, signal.SIGKILL)
    assert [*queue.finished(wait=True)] == [(path, evaluate_checkpoint(path, ["random"], 20))] * 2
    assert queue.pending == []
    queue.close()
    assert not children_of(os.getpid())


def test_evaluation_leaves_out_an_opponent_that_always_fails(waited: Path) -> None:
    path = list_checkpoints(waited / "checkpoints")[-1]
    found = evaluate_checkpoint(path, ["arena_players:Broken", "random"], 20, against_earlier=False)
    assert [result.opponent for result in found.results] == ["random"]
    (message,) = found.messages
    assert message.startswith("arena_players:Broken forfeited every hand, so that nothing was")


def test_patience_waits_for_evaluations(tmp_path: Path) -> None:
    watching = Watching()
    wanted = msgspec.structs.replace(settings(), patience=5)
    start(tmp_path / "run", wanted, callbacks=[watching]).go(quiet())
    assert [measured == trained for measured, trained in watching.seen] == [True] * 3
