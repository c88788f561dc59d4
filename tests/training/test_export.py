"""A checkpoint as ONNX plays as it does here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("torch")

from onnx.reference import ReferenceEvaluator

from german_whist.agents.checkpoint import read_checkpoint
from german_whist.agents.network import NetworkAgent
from german_whist.cli import main
from german_whist.engine.games import Games
from german_whist.engine.layout import real_action
from german_whist.training.checkpoint import write_player
from german_whist.training.ppo import PPO
from german_whist.training.settings import PPOSettings


@pytest.mark.parametrize("ranks", ["closed", "real"])
@pytest.mark.parametrize("rules", ["classic", "draft"])
def test_the_graph_plays_as_the_player_does(
    rules: str, ranks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = PPOSettings(rules=rules, layers=(16, 16), games=4, ranks=ranks)
    trainer = PPO(settings)
    chance = np.random.default_rng(1)
    weights = {name: chance.normal(size=each.shape).astype(np.float32)
               for name, each in trainer.player().items()}  # fmt: skip
    path = write_player(tmp_path / "1", weights, settings, trainer.network_card())
    assert main(["export", str(path)]) == 0
    assert "of torch's" in capsys.readouterr().out
    graph = ReferenceEvaluator(str(path.with_suffix(".onnx")))
    games = Games(rules, 50, seed=2, layout="trump-first")
    step = games.look()
    agent = NetworkAgent(rules, path)
    for _ in range(20):
        fed = {"observation": step.observations, "action_mask": step.masks}
        logits, action = graph.run(None, fed)
        assert (logits[step.masks == 0] == -1e9).all()
        played = agent.act(games.views(), np.zeros(50, np.uint64))
        shown = [
            real_action(int(each), order) for each, order in zip(action, games._orders, strict=True)
        ]
        assert played.tolist() == shown
        step = games.step(action)


def test_half_precision_plays_as_the_whole_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = PPOSettings(layers=(16, 16), games=4)
    trainer = PPO(settings)
    path = write_player(
        tmp_path / "1", trainer.player(), settings, trainer.network_card(), decisions=7
    )
    half = tmp_path / "half.safetensors"
    assert main(["export", str(path), "-o", str(half)]) == 0
    assert f"{half.stat().st_size:,} bytes" in capsys.readouterr().out
    assert half.stat().st_size < 0.6 * path.stat().st_size
    assert read_checkpoint(half).card.decisions == 7
    views = Games("classic", 200, seed=2).views()
    rng = np.zeros(200, np.uint64)
    whole, halved = (NetworkAgent("classic", each).act(views, rng) for each in (path, half))
    assert (whole == halved).mean() > 0.98


def test_a_checkpoint_is_not_written_over_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = PPOSettings(layers=(8,), games=4)
    trainer = PPO(settings)
    path = write_player(tmp_path / "1", trainer.player(), settings, trainer.network_card())
    before = path.read_bytes()
    assert main(["export", str(path), "-o", str(path)]) != 0
    assert "is the checkpoint itself" in capsys.readouterr().err
    assert main(["export", str(path), "-o", str(tmp_path / "player.pt")]) != 0
    assert ".pt" in capsys.readouterr().err
    assert path.read_bytes() == before
