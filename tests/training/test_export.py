"""A checkpoint as ONNX plays as it does here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("onnx")
pytest.importorskip("torch")

from onnx.reference import ReferenceEvaluator

from german_whist import Game, load_agent
from german_whist.agents.checkpoints import read_card
from german_whist.agents.checkpoints.bundled import CLASSIC_WEIGHTS, FAMILY_WEIGHTS
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.cli import main
from german_whist.engine.observation.suit_order import real_action
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.run_state import write_policy
from support import dealt


def small_checkpoint(folder: Path, **changes: Any) -> Path:
    settings = PPOSettings(hidden_sizes=(16, 16), n_envs=4)
    trainer = PPO(settings)
    weights = {**trainer.policy_weights(), **changes}
    return write_policy(folder / "1", weights, settings, trainer.network_card(), decisions=7)


@pytest.mark.parametrize(
    ("rules", "ranks"), [("classic", "relative"), ("draft", "absolute"), ("humbug", "relative")]
)
def test_onnx_graph_plays_as_the_checkpoint(
    rules: str, ranks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = PPOSettings(
        rules=rules, horizon="auto", hidden_sizes=(16, 16), n_envs=4, card_ranks=ranks
    )
    trainer = PPO(settings)
    rng = np.random.default_rng(1)
    weights = {
        name: rng.normal(size=each.shape).astype(np.float32)
        for name, each in trainer.policy_weights().items()
    }
    path = write_policy(tmp_path / "1", weights, settings, trainer.network_card())
    assert main(["export", str(path)]) == 0
    output = capsys.readouterr().out
    assert "of torch's" in output
    assert "replaces" not in output
    assert main(["export", str(path)]) == 0
    assert "replaces the file that was there" in capsys.readouterr().out
    graph = ReferenceEvaluator(str(path.with_suffix(".onnx")))
    games = dealt(rules, 50, seed=2, suit_order="trump-first")
    step = games.observe()
    agent = NetworkAgent(rules, path)
    for _ in range(20):
        fed = {"observation": step.observations, "action_mask": step.masks}
        logits, action = graph.run(None, fed)
        assert (logits[step.masks == 0] == -1e9).all()
        played = agent.act(games.views(), np.zeros(50, np.uint64))
        shown = [
            real_action(int(each), order)
            for each, order in zip(action, games.batch.suit_orders, strict=True)
        ]
        assert played.tolist() == shown
        step = games.step(action)


def test_onnx_metadata_names_rules_and_warns_of_endings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    for horizon in ("foreplay", "hand"):
        settings = PPOSettings(hidden_sizes=(8,), n_envs=4, horizon=horizon, reward="margin")
        trainer = PPO(settings)
        path = write_policy(
            tmp_path / horizon, trainer.policy_weights(), settings, trainer.network_card()
        )
        assert main(["export", str(path)]) == 0
        printed = capsys.readouterr().out
        session = onnxruntime.InferenceSession(str(path.with_suffix(".onnx")))
        metadata = session.get_modelmeta().custom_metadata_map
        expected = {
            "rules": "classic",
            "suit_order": "trump-first",
            "observation_version": "1",
            "horizon": horizon,
            "reward": "margin",
        }
        assert expected.items() <= metadata.items()
        for kind, ends in (("input", session.get_inputs()), ("output", session.get_outputs())):
            for each in ends:
                about = metadata[f"{kind} {each.name}"]
                numbers = {
                    "tensor(int8)": "int8",
                    "tensor(float)": "float32",
                    "tensor(int64)": "int64",
                }[each.type]
                size = ", ".join(["batch", *map(str, each.shape[1:])])
                assert about.startswith(f"{numbers} [{size}]")
        for name, about in metadata.items():
            assert about in printed, name
        warns = horizon == "foreplay"
        assert ("warning" in metadata) == ("has never seen an endgame" in printed) == warns


def test_export_page_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The champion's network wins of the foreplay what it wins as a player, some 69 % of hands."""
    pytest.importorskip("onnxruntime")
    page = (Path(__file__).parents[2] / "docs" / "guide" / "use_agent.md").read_text(
        encoding="utf-8"
    )
    (example,) = re.findall(r"```python\n([^`]*onnxruntime.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(compile(example, "docs/guide/use_agent.md", "exec"), found)
    assert found["rewards"].all()
    assert 0.64 < (found["rewards"] > 0).mean() < 0.73


@pytest.mark.parametrize("name", ["champion", "champion-1"])
def test_bundled_graph_is_written_to_current_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["export", name]) == 0
        assert {each.name for each in tmp_path.glob("*.onnx")} == {f"{name}.onnx"}
        # The same where files of that name, one's own, lie beside it.
        copy = CLASSIC_WEIGHTS.with_name(f"{name}.safetensors")
        (tmp_path / copy.name).write_bytes(copy.read_bytes())
    assert not [*CLASSIC_WEIGHTS.parent.glob("*.onnx")]


def test_network_of_several_rule_sets_is_exported_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime")
    assert main(["export", str(FAMILY_WEIGHTS), "-o", str(tmp_path / "x.onnx")]) == 2
    assert ", and a graph gets no rules" in capsys.readouterr().err
    for name in ("colour", "humbug"):
        path = tmp_path / f"{name}.onnx"
        assert main(["export", "champion", "--rules", name, "-o", str(path)]) == 0
        views, rng = dealt(name, 200, seed=1).views(), np.zeros(200, np.uint64)
        graph, network = load_agent(f"onnx:{path}", name), NetworkAgent(name, FAMILY_WEIGHTS)
        assert np.mean(graph.act(views, rng) == network.act(views, rng)) > 0.98


def test_export_refuses_other_files_than_graphs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small_checkpoint(tmp_path)
    before = path.read_bytes()
    for name in (path.name, "player.pt"):
        assert main(["export", str(path), "-o", str(tmp_path / name)]) == 2
        assert f"{Path(name).suffix!r} is not .onnx" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_export_of_a_folder_writes_policy_and_model_card(tmp_path: Path, whist: Any) -> None:
    hub = tmp_path / "my-agent"
    assert "README.md" in whist("export", "champion-1", "-o", f"{hub}/").out
    text = (hub / "README.md").read_text(encoding="utf-8")
    _, header, body = text.split("---\n", 2)
    fields, card = yaml.safe_load(header), read_card(hub / "policy.safetensors")
    assert fields["library_name"] == "german-whist"
    assert "classic" in fields["tags"]
    metrics = fields["model-index"][0]["results"][0]["metrics"]
    assert len(metrics) == len(card.evaluations) > 0
    assert card.sha256 in body
    assert all(command in body for command in card.commands)
    assert body.count("```") == 8
    one, other = load_agent("champion-1"), load_agent(hub)
    view = Game(seed=4).view()
    assert one.probabilities(view) == pytest.approx(other.probabilities(view))
    words = "export", "champion-1", "--rules", "classic", "-o", f"{tmp_path}/other/"
    assert "it chooses the rules of a graph" in whist(*words, status=2).err
    told = whist("export", "champion-1", "-o", f"{hub}/", status=2).err
    assert "README.md is there already: delete it, or name another folder" in told
