"""MaskablePPO trains in the same runs: it learns, is resumed to the same weights, and plays."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import torch

from german_whist.agents.registry import make_agent
from german_whist.training.checkpoint import load_state
from german_whist.training.display import Display
from german_whist.training.exploit import Tree, best_response, strategy, value
from german_whist.training.players import player_of
from german_whist.training.run import make_trainer, resume, start
from german_whist.training.sb3 import SB3Trainer
from german_whist.training.settings import SB3Settings, Settings, load_settings

TINY = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2}
SMALL = {
    "rules": TINY,
    "horizon": "hand",
    "reward": "points",
    "layers": (16, 16),
    "games": 16,
    "steps": 16,
    "minibatch": 128,
    "decisions": 1500,
    "measure_every": 600,
    "save_every": 500,
    "measure_hands": 40,
    "final_hands": 40,
    "yardsticks": ("random",),
    "threads": 1,
    "pool_every": 300,
    "swap_every": 200,
    "opponents": ("random", "random-exact"),
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def settings(**changes: object) -> Settings:
    return SB3Settings(**{**SMALL, **changes})  # type: ignore[arg-type]


def test_a_stopped_run_comes_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = Display(io.StringIO())
    start(tmp_path / "whole", settings(), make_trainer).go(quiet)

    class Killed(BaseException):
        pass

    iterate = SB3Trainer.iterate

    def killed(self: SB3Trainer) -> dict[str, float]:
        if self.decisions > 1000:
            raise Killed
        return iterate(self)

    with monkeypatch.context() as patch:
        patch.setattr(SB3Trainer, "iterate", killed)
        with pytest.raises(Killed):
            start(tmp_path / "run", settings(), make_trainer).go(quiet)
    run = resume(tmp_path / "run", make_trainer)
    assert 0 < run.trainer.decisions < 1500
    run.go(quiet)
    one, other = (load_state(tmp_path / name / "state.safetensors")[0] for name in ("whole", "run"))
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert np.array_equal(array, other[name]), name
    zips = list((tmp_path / "run" / "checkpoints").glob("*.zip"))
    assert zips
    agent = make_agent(str(tmp_path / "run"), TINY)
    assert agent.name == str(tmp_path / "run")


def test_against_random_it_comes_close_to_the_best_response() -> None:
    wanted = settings(
        opponents=("random",), pool_every=10**9, swap_every=100_000, decisions=120_000,
        games=64, steps=32, layers=(64, 64), minibatch=256, learning_rate=2e-3, entropy=0.01,
    )  # fmt: skip
    assert isinstance(wanted, SB3Settings)
    trainer = SB3Trainer(wanted)
    while trainer.decisions < wanted.decisions:
        trainer.iterate()
    agent = player_of(wanted, trainer.player(), trainer.network_card(), "endgame=network")
    tree = Tree.of(wanted.options.rules, dealer=1)
    plays = strategy(agent, tree)
    other = strategy(make_agent("random", TINY), tree)
    best = best_response(tree, 0, other), best_response(tree, 1, other)
    found = value(tree, plays, other), -value(tree, other, plays)
    assert np.mean(best) / 2 - np.mean(found) / 2 < 0.02


def test_the_preset_is_for_it() -> None:
    assert isinstance(load_settings("sb3"), SB3Settings)
