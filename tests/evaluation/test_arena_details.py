"""Every report says who plays each player's endings, and names the checkpoints that were played."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import network_card, network_weights, rewrite_card, written

from german_whist import PolicyAgent, evaluate, ladder
from german_whist.agents import agent_names
from german_whist.agents.base import EXACT_SOLVER, OWN_POLICY, Agent
from german_whist.agents.checkpoints import read_card
from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS
from german_whist.agents.external.policies import CallableAgent
from german_whist.agents.registry import load_agent
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.evaluation.reports.html import as_html
from german_whist.evaluation.reports.text import as_csv, as_markdown, as_text


def lowest(observations: Any, masks: Any) -> Any:
    return -np.arange(52) - np.zeros(masks.shape)


def first(views: Any, rng: Any) -> Any:
    return load_agent("random").act(views, rng)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder with a checkpoint that was trained on whole hands."""
    folder = tmp_path_factory.mktemp("runs") / "mine-1"
    (folder / "checkpoints").mkdir(parents=True)
    card = network_card(np.arange(432), [], suit_order="raw", decisions=3_000_000)
    written(folder / "checkpoints" / "000003000000", network_weights(432, 52), card)
    return folder


def test_evaluation_tells_training_on_its_deals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(FIRST_WEIGHTS, "own.safetensors")
    rewrite_card(Path("own.safetensors"), lambda card: card | {"settings": {"seed": 36}})
    notes = {
        seed: [
            note
            for note in evaluate("random", "mine=own.safetensors", hands=2, seed=seed).notes
            if "was trained" in note
        ]
        for seed in (36, 37)
    }
    assert len(notes[36]) == 1
    assert notes[36][0].startswith("mine was trained with seed 36, that of the deals played here: ")
    assert not notes[37]


@pytest.mark.parametrize("kind", ["evaluate", "ladder"])
def test_every_report_names_the_checkpoint_and_who_plays_endings(run: Path, kind: str) -> None:
    players = [f"new={run},endgame=exact", f"own=network:{run}"]
    if kind == "ladder":
        result = ladder([*players, "random"], hands=20)
    else:
        result = evaluate(players[0], [players[1], "random"], hands=20)
    file = run / "checkpoints" / "000003000000.safetensors"
    digest = read_card(file).sha256
    page = as_html(result, load_rules("classic"))
    for text in (as_text(result), as_markdown(result), page, result.text(), as_csv(result)):
        assert "3,000,000 decisions" in text or '"decisions": 3000000' in text
        for word in (str(file), EXACT_SOLVER, "endgame=network", OWN_POLICY, "endgame=exact"):
            assert word in text
    details = {each["name"]: each for each in json.loads(result.text())["details"]}
    assert details["new"]["checkpoints"] == [
        {"file": str(file), "sha256": digest, "run": str(run), "decisions": 3_000_000}
    ]
    assert (details["new"]["endgame"], details["own"]["endgame"]) == (EXACT_SOLVER, OWN_POLICY)
    assert details["random"] == {
        "name": "random",
        "endgame": OWN_POLICY,
        "endgame_switch": "",
        "checkpoints": [],
    }


def test_one_switch_gives_endings_to_solver_or_policy(run: Path) -> None:
    """Of everything that has it."""
    words = "endgame=exact", "endgame=network"
    switched: dict[str, list[Agent]] = {
        "PolicyAgent": [PolicyAgent("classic", lowest, exact=each) for each in (True, False)],
        "function": [load_agent(f"{__name__}:first:{word}") for word in words],
        "callable": [CallableAgent(first, "classic", word) for word in words],
        "checkpoint": [load_agent(f"{run},{word}") for word in words],
    }
    for name, (exact, own) in switched.items():
        assert (exact.endgame, own.endgame) == (EXACT_SOLVER, OWN_POLICY), name
        assert exact.perfect_endgame, name
        assert not own.perfect_endgame, name
        told = ("exact=True", "exact=False") if name == "PolicyAgent" else words
        assert (own.endgame_switch, exact.endgame_switch) == told, name
        found = evaluate(exact, own, hands=60, seed=1)
        assert found.pairings[0].stages[0].thrown == 0, name
        assert (found.pairings[0].stages[1].thrown or 0) > 0.2, name
    with pytest.raises(ValueError, match="'sample' is no option of a function"):
        load_agent(f"{__name__}:first:sample")
    # Rules whose endings nobody solves have no switch.
    agent = PolicyAgent({"name": "aside", "stock": 24}, lowest)
    assert (agent.endgame, agent.endgame_switch) == (OWN_POLICY, "")


def test_files_of_other_libraries_have_the_same_switch(tmp_path: Path) -> None:
    contrib = pytest.importorskip("sb3_contrib")
    pytest.importorskip("onnxruntime")
    from german_whist.envs import GermanWhistVecEnv
    from german_whist.training.export.export import export_onnx

    model, graph = tmp_path / "model.zip", tmp_path / "player.onnx"
    games = GermanWhistVecEnv(2, "classic")
    contrib.MaskablePPO("MlpPolicy", games, n_steps=8, batch_size=8, device="cpu").save(model)
    export_onnx(FIRST_WEIGHTS, graph)
    own = load_agent(f"sb3:{model},trusted")  # these environments play whole hands by default
    exact = load_agent(f"sb3:{model},trusted,endgame=exact")
    assert (exact.endgame, exact.endgame_switch) == (EXACT_SOLVER, "endgame=network")
    assert (own.endgame, own.endgame_switch) == (OWN_POLICY, "endgame=exact")
    # What was trained on the foreplay alone plays no endings, so there is no switch.
    foreplay = load_agent(f"onnx:{graph}")
    assert (foreplay.endgame, foreplay.endgame_switch) == (EXACT_SOLVER, "")
    for agent, path in ((exact, model), (foreplay, graph)):
        (file,) = agent.checkpoints
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert (file.file, file.sha256) == (str(path), digest)


def test_searches_name_the_networks_that_they_ask(run: Path, tmp_path: Path) -> None:
    names = [each.file for each in load_agent("thinker:4").checkpoints]
    assert names == ["champion.safetensors", "value.safetensors", "belief.safetensors"]
    moved = tmp_path / "moved"
    shutil.copytree(run, moved)
    for folder in (run, moved):
        assert load_agent(f"responder:4,against={folder}").checkpoints[0].run == str(folder)


# Before other tests register theirs; others than the core's come without a description.
BUILT_IN = {name: entry for name, entry in agent_names().items() if entry.about}


def test_the_list_of_players_says_who_plays_endings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents"]) == 0
    told = capsys.readouterr().out
    assert "ahead=TRICKS" in told[told.index("thinker:64") :].split("\n")[0]
    for name, entry in BUILT_IN.items():
        assert entry.about in told
        if not entry.needs_more and name != "human":
            agent = load_agent(name, "2x4-h2" if name == "nash" else "classic")
            assert entry.note == agent.endgame, name
            assert f"endgame: {agent.endgame}" in told
        elif entry.usage.endswith("endgame=exact]"):
            assert entry.note.startswith("own policy if it was trained on endgames, else exact")
