"""Commands load modules and pickles only if their words name them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from german_whist.agents.registry import load_agent
from german_whist.cli import main
from german_whist.common.trust import check_trusted, restricted_to
from german_whist.evaluation.packing import pack

CODE = """
import pathlib
pathlib.Path("loaded").touch()
from german_whist.agents.heuristic.random import RandomAgent
from german_whist.training.algorithms.mccfr import MCCFR
from german_whist.training.callbacks.base import Callback
"""
SMALL = ["decisions=500", "eval_hands=2", "final_eval_hands=2", "eval_opponents=random"]
TABLE = ["train", "trainer=mccfr", "rules=2x4-h2", *SMALL]


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module that leaves a trace, and a file that may be a pickle."""
    monkeypatch.chdir(tmp_path)
    for name in ("theirs", "trainers"):  # of an earlier test
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "theirs.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "model.zip").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("word", "code", "trusted"),
    [
        ("mine:Agent", "mine:Agent", True),
        ("eval_opponents=random,mine:Agent:5", "mine:Agent", True),
        ("x=mine:Agent", "mine:Agent", True),
        ("['mine:Agent', random]", "mine:Agent", True),
        ("responder:64,against=mine:Agent", "mine:Agent", True),
        ("y=sb3:a b/model.zip,trusted", "sb3:a b/model.zip", True),
        ("mine:Agents", "mine:Agent", False),
        ("mine:Agent.other", "mine:Agent", False),
        ("not.mine:Agent", "mine:Agent", False),
        ("model.zip", "sb3:model.zip", False),
        ("sb3:other/model.zip", "sb3:model.zip", False),
        ("mine", "mine:Agent", False),
    ],
)
def test_trust_needs_the_whole_name_in_a_word(word: str, code: str, trusted: bool) -> None:
    with restricted_to(["train", word]):
        if trusted:
            check_trusted(code)
            return
        with pytest.raises(ValueError, match=f"add --trust .?{code}"):
            check_trusted(code)


def test_trust_restricts_commands_alone_and_their_processes() -> None:
    check_trusted("mine:Agent")
    call = "from german_whist.common.trust import check_trusted as c; c('mine:Agent')"
    for words, failed in (["mine:Agent"], 0), (["mine:Other"], 1):
        with restricted_to(words), restricted_to(words):
            done = subprocess.run([sys.executable, "-c", call], capture_output=True, check=False)
        assert done.returncode == failed
    assert "GERMAN_WHIST_COMMAND_WORDS" not in os.environ


@pytest.mark.parametrize("name", ["theirs:RandomAgent", "sb3:model.zip,sample,trusted"])
def test_ladder_trusts_no_players_of_its_file(
    name: str, stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, code = {"agents": ["random", f"other={name}"], "hands": 4}, name.split(",")[0]
    (stranger / "ladder.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert main(["ladder", "--config", "ladder.yaml"]) == 2
    assert f"add --trust {code}" in capsys.readouterr().err
    assert not (stranger / "loaded").exists()
    status = main(["ladder", "--config", "ladder.yaml", "--trust", code])
    assert "--trust" not in capsys.readouterr().err
    assert status == (0 if "theirs" in name else 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"eval_opponents": ["theirs:RandomAgent"]},
        {"final_eval_opponents": ["sb3:model.zip,trusted"]},
        {"callbacks": ["theirs:Callback"]},
        {"trainer": "theirs:MCCFR"},
    ],
)
@pytest.mark.parametrize(
    "place", ["preset", "run", pytest.param("seeds", marks=pytest.mark.thorough)]
)
def test_train_trusts_no_names_of_its_files(
    place: str, changes: dict[str, Any], stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    run = stranger / "run"
    if place == "preset":
        path, command = stranger / "mine.yaml", ["train", "mine.yaml"]
        words = [word.split("=") for word in TABLE[1:]]
        values = {key: yaml.safe_load(value) for key, value in words}
    else:
        seeds = ["seeds=1"] if place == "seeds" else []
        assert main([*TABLE, *seeds, "--run", str(run)]) == 0
        path = run / ("seed-1/settings.yaml" if seeds else "settings.yaml")
        command = ["train", "--resume", str(run), "decisions=1000"]
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**values, **changes}), encoding="utf-8")
    capsys.readouterr()
    assert main(command) != 0
    (name,) = (each if isinstance(each, str) else each[0] for each in changes.values())
    seen = capsys.readouterr()
    assert f"add --trust {name.split(',')[0]}" in seen.out + seen.err
    assert not (stranger / "loaded").exists()


def test_trusted_trainer_is_not_blamed_for_other_names(
    stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sb3_contrib")
    code = "from german_whist.training.algorithms.sb3 import SB3Trainer as Own\n"
    (stranger / "trainers.py").write_text(code, encoding="utf-8")
    settings = {"trainer": "trainers:Own", "opponents": ["theirs:RandomAgent"]}
    (stranger / "mine.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["train", "mine.yaml", *SMALL, "--trust", "trainers:Own"]) == 2
    told = capsys.readouterr().err
    assert "add --trust theirs:RandomAgent" in told
    assert "Traceback" not in told


def test_train_goes_on_with_names_that_are_trusted(stranger: Path) -> None:
    pytest.importorskip("torch")
    names = [
        "trainer=theirs:MCCFR",
        "eval_opponents=theirs:RandomAgent",
        "callbacks=theirs:Callback",
    ]
    assert main([*TABLE, *names, "--run", "run"]) == 0
    trust = [f"--trust=theirs:{name}" for name in ("MCCFR", "RandomAgent", "Callback")]
    assert main(["train", "--resume", "run", "decisions=1000", *trust]) == 0


SWEEP = {"preset": "", "settings": {"trainer": "nfsp"}, "space": {"batch_size": [64, 128]}}
BENCHMARK = {"algorithms": {"mine": {"trainer": "nfsp"}}, "rules": ["small-last"], "seeds": 3}


@pytest.mark.parametrize(
    ("command", "changes", "code"),
    [
        ("sweep", {"settings": {"trainer": "theirs:MCCFR"}}, "theirs:MCCFR"),
        ("sweep", {"settings": {"callbacks": ["theirs:Callback"]}}, "theirs:Callback"),
        ("sweep", {"settings": {"network": "theirs.py:N"}}, "theirs.py:N"),
        ("sweep", {"space": {"network": ["theirs.py:N"]}}, "theirs.py:N"),
        ("sweep", {"eval_opponents": ["theirs:RandomAgent"]}, "theirs:RandomAgent"),
        ("sweep", {"eval_opponents": ["sb3:model.zip,trusted"]}, "sb3:model.zip"),
        ("benchmark", {"algorithms": {"theirs:MCCFR": {}}}, "theirs:MCCFR"),
        ("benchmark", {"settings": {"callbacks": ["theirs:Callback"]}}, "theirs:Callback"),
        ("benchmark", {"algorithms": {"ppo": {"network": "theirs.py:N"}}}, "theirs.py:N"),
        ("benchmark", {"eval_opponents": ["theirs:RandomAgent"]}, "theirs:RandomAgent"),
        ("benchmark", {"eval_opponents": ["sb3:model.zip,trusted"]}, "sb3:model.zip"),
        ("train", {"trainer": "theirs:MCCFR"}, "theirs:MCCFR"),
        ("train", {"callbacks": ["theirs:Callback"]}, "theirs:Callback"),
        ("train", {"network": "theirs.py:N", "trainer": "ppo"}, "theirs.py:N"),
        ("train", {"eval_opponents": ["theirs:RandomAgent"]}, "theirs:RandomAgent"),
    ],
)
def test_experiments_refuse_code_of_their_files_before_they_write(
    command: str,
    changes: dict[str, Any],
    code: str,
    stranger: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("torch")
    pytest.importorskip("sb3_contrib")
    content = {
        "sweep": SWEEP,
        "benchmark": BENCHMARK,
        "train": {"trainer": "mccfr", "rules": "2x4-h2"},
    }[command]
    (stranger / "mine.yaml").write_text(yaml.safe_dump({**content, **changes}), encoding="utf-8")
    before = sorted(path.name for path in stranger.iterdir())
    assert main([command, "mine.yaml", *(["seeds=1,2"] if command == "train" else [])]) == 2
    assert f"add --trust {code}" in capsys.readouterr().err
    assert sorted(path.name for path in stranger.iterdir()) == before


@pytest.mark.parametrize("name", ["a=theirs:RandomAgent:3", "b=sb3:model.zip,sample,trusted"])
def test_packing_sends_no_untrusted_code_to_a_cluster(name: str, stranger: Path) -> None:
    with restricted_to(["ladder"]), pytest.raises(ValueError, match="add --trust"):
        pack([name], "ray")
    with restricted_to(["ladder", "theirs:RandomAgent", "sb3:model.zip"]):
        assert pack([name], "ray")[1]


def test_agents_made_in_python_need_no_trust(stranger: Path) -> None:
    assert load_agent("theirs:RandomAgent").name == "theirs:RandomAgent"
    assert (stranger / "loaded").exists()
