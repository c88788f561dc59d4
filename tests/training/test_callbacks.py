"""SB3's callbacks are told of one training, end it, and survive its being taken up again."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import torch
from sb3_callbacks import READY, Counting
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common.callbacks import (
    BaseCallback,
    CheckpointCallback,
    StopTrainingOnMaxEpisodes,
)

from german_whist.agents.checkpoint import checkpoints_in
from german_whist.cli import main
from german_whist.envs import GermanWhistVecEnv
from german_whist.training.display import Display, Watched
from german_whist.training.run import Stopped, make_trainer, resume, start
from german_whist.training.sb3 import SB3Trainer
from german_whist.training.settings import SB3Settings, Settings, SettingsError

HERE = "sb3_callbacks"
TINY = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2}
SMALL = {
    "rules": TINY,
    "horizon": "hand",
    "layers": (16,),
    "games": 16,
    "steps": 16,
    "minibatch": 128,
    "decisions": 1500,
    "measure_hands": 40,
    "final_hands": 40,
    "yardsticks": ("random",),
    "opponents": ("random",),
    "threads": 1,
    "save_every": 500,
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def settings(**changes: object) -> SB3Settings:
    return SB3Settings(**{**SMALL, **changes})  # type: ignore[arg-type]


def trained(folder: Path, *callbacks: BaseCallback, **changes: object) -> tuple[SB3Trainer, str]:
    """A run of some callbacks, and what it said."""
    told = io.StringIO()
    made: list[SB3Trainer] = []

    def make(wanted: Settings) -> SB3Trainer:
        assert isinstance(wanted, SB3Settings)
        made.append(SB3Trainer(wanted, callbacks=callbacks))
        return made[0]

    start(folder, settings(**changes), make).go(Display(told))
    return made[0], told.getvalue()


def test_callbacks_begin_once_count_on_and_end_once(tmp_path: Path) -> None:
    given = Counting()
    trainer, _ = trained(tmp_path / "run", given, callbacks=(f"{HERE}:Counting",))
    named = trainer.callbacks.callbacks[0]
    assert isinstance(named, Counting)
    assert trainer.decisions == 1504
    for each in (given, named):
        assert each.events == ["start of 1500", "end"]
        assert each.n_calls == trainer.decisions // 16
        assert each.num_timesteps == trainer.decisions


def test_a_ready_object_may_be_named(tmp_path: Path) -> None:
    before = READY.n_calls
    trained(tmp_path / "run", callbacks=(f"{HERE}:READY",), decisions=256)
    assert READY.n_calls == before + 16


def test_a_callback_ends_the_run_with_a_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    trainer, told = trained(folder, callbacks=(f"{HERE}:Stopping",))
    assert trainer.decisions == 40 * 16
    assert "a callback ended the training after 640 decisions" in told
    assert checkpoints_in(folder / "checkpoints")[-1].stem == f"{640:012d}"
    stopping = trainer.callbacks.callbacks[0]
    assert isinstance(stopping, Counting)
    assert stopping.events == ["start of 1500", "end"]
    rows = (folder / "progress.csv").read_text(encoding="utf-8").splitlines()
    assert rows[-1].startswith("512,")
    # What was shown when it ended is what a resumed run goes on from.
    again = resume(folder, make_trainer).trainer
    assert isinstance(again, SB3Trainer)
    assert np.array_equal(again.model._last_obs, trainer.model._last_obs)
    assert again.callbacks.calls == [40]


def test_the_callbacks_of_sb3_do_what_they_do_there(tmp_path: Path) -> None:
    evaluating = MaskableEvalCallback(
        GermanWhistVecEnv(4, TINY, opponent="random", layout="trump-first"),
        n_eval_episodes=20, eval_freq=30, log_path=str(tmp_path), verbose=0,
        best_model_save_path=str(tmp_path / "best"),
    )  # fmt: skip
    trainer, told = trained(
        tmp_path / "run",
        CheckpointCallback(save_freq=40, save_path=str(tmp_path / "kept")),
        evaluating,
        StopTrainingOnMaxEpisodes(20),
    )
    assert "a callback ended the training" in told
    steps = trainer.callbacks.n_calls
    # Twenty episodes in each of sixteen games, of four or five decisions each.
    assert 64 <= steps <= 96
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert kept == {f"rl_model_{16 * call}_steps.zip" for call in range(40, steps + 1, 40)}
    for path in (*(tmp_path / "kept").iterdir(), tmp_path / "best" / "best_model.zip"):
        assert isinstance(MaskablePPO.load(path), MaskablePPO)
    with np.load(tmp_path / "evaluations.npz") as evaluations:
        assert evaluations["timesteps"].tolist() == [480 * k for k in range(1, steps // 30 + 1)]


def test_counts_go_on_in_a_resumed_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    class Pressing(Display):
        def progress(self, run: Watched, told: dict[str, float]) -> None:
            if run.trainer.decisions > 700:
                os.kill(os.getpid(), signal.SIGINT)

    wanted = settings(callbacks=(f"{HERE}:Counting",))
    run = start(folder, wanted, make_trainer)
    with pytest.raises(Stopped):
        run.go(Pressing(io.StringIO()))
    assert isinstance(run.trainer, SB3Trainer)
    assert run.trainer.callbacks.callbacks[0].events[-1] == "end"
    run = resume(folder, make_trainer)
    run.go(Display(io.StringIO()))
    assert isinstance(run.trainer, SB3Trainer)
    assert run.trainer.callbacks.calls == [94]


# -- what is refused


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no_such_module:Stop", "module no_such_module can not be imported"),
        (f"{HERE}:Nothing", "has no 'Nothing'"),
        (f"{HERE}:WORD", "is a str, which is no callback of SB3"),
        (f"{HERE}:wrong", "makes a str, which is no callback of SB3"),
        (f"{HERE}:needing", "can not be made without arguments"),
    ],
)
def test_what_is_no_callback_is_refused_with_a_sentence(
    name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=told):
        SB3Trainer(settings(callbacks=(name,)))
    folder = tmp_path / "run"
    assert main(["train", "sb3", f"callbacks={name}", "threads=1", "--run", str(folder)]) == 2
    assert told in capsys.readouterr().err
    assert not folder.exists()


def test_a_name_without_an_object_is_refused() -> None:
    with pytest.raises(SettingsError, match="callbacks has 'mine': name each as package"):
        replace(settings(), callbacks=("mine",))
