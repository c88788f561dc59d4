"""Trained agents determine the rules, and agents can be renamed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from checkpoints import champion_at

from german_whist import compare
from german_whist.agents.base import Agent, CannotPlay
from german_whist.agents.checkpoints.bundled import rules_of_champion
from german_whist.agents.heuristic.random import RandomAgent
from german_whist.agents.registry import (
    as_agent,
    common_rules,
    load_agent,
    parse_agent_name,
    rules_of_agent,
)
from german_whist.engine.rules import Rules, load_rules


@pytest.fixture
def margin(tmp_path: Path) -> str:
    return champion_at(tmp_path / "margin", load_rules("margin"))


def test_players_that_play_anything_play_the_classic_game() -> None:
    assert common_rules([]) == common_rules(["random", "upcard-value"]) == load_rules("classic")
    assert rules_of_agent("random") is None
    assert rules_of_agent("some.module:object") is None


def test_a_trained_player_plays_what_its_card_says(margin: str) -> None:
    for name in (margin, f"network:{margin},sample", f"mine={margin}", f"{margin},sample"):
        assert rules_of_agent(name) == (load_rules("margin"),)
        assert common_rules(["random", name]) == load_rules("margin")
    assert rules_of_agent("champion:sample") == rules_of_champion()
    assert rules_of_agent("champion-1") == (load_rules("classic"),)
    assert common_rules([load_agent("random", "quick"), "threshold"]) == load_rules("quick")


def test_the_classic_game_comes_first_whatever_its_name(margin: str, tmp_path: Path) -> None:
    two_rules = champion_at(tmp_path / "both", load_rules("margin"), load_rules("classic"))
    for players in ([two_rules], [two_rules, "champion"]):
        assert common_rules(players) == load_rules("classic")
    same = champion_at(tmp_path / "same", Rules(name="mine", pay="margin"))
    assert common_rules([two_rules, margin]) == common_rules([margin, same]) == load_rules("margin")


def test_players_of_different_rules_are_told_apart(margin: str) -> None:
    with pytest.raises(CannotPlay) as error:
        common_rules([f"mine={margin}", "random", "champion-1", "champion-1"])
    assert str(error.value) == (
        "there are no rules that all of these play: mine plays margin; champion-1 plays classic"
    )


def test_a_name_before_a_player_is_what_it_is_called(margin: str, monkeypatch: Any) -> None:
    assert parse_agent_name(f"mine={margin}") == ("mine", margin)
    assert parse_agent_name("upcard-value") == ("upcard-value", "upcard-value")
    assert parse_agent_name(f"{margin},endgame=exact")[0] == f"{margin},endgame=exact"
    assert load_agent("Größe 13 ♠=upcard-value").name == "Größe 13 ♠"
    assert load_agent(f"mine={margin}", "margin").name == "mine"
    # A file with such a name is that file.
    monkeypatch.chdir(Path(margin).parent)
    champion_at(Path("a=b"), load_rules("classic"))
    assert parse_agent_name("a=b") == ("a=b", "a=b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threshold=random", "threshold is another agent's name: choose one of your own"),
        (" a=random", "' a' is no name for an agent"),
        ("a\nb=random", r"'a\nb' is no name for an agent"),
        ("\u202e=random", "is no name for an agent"),
        ("x" * 41 + "=random", "at most 40 characters"),
        ("a=randm", "'randm' is not an agent; did you mean 'random'"),
        ("=random", "'=random' is not an agent: in NAME=AGENT the name"),
        ("a, b=random", "in NAME=AGENT the name is short and has no : , / or \\"),
    ],
)
def test_names_are_checked(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        load_agent(text)


TINY = Rules(name="tiny", suits=2, ranks=4, hand=2)


def test_a_path_of_a_run_or_checkpoint_is_taken_for_its_rules(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    checkpoint = tmp_path / "checkpoints" / "000000001500"
    champion_at(checkpoint, TINY)
    for path in (tmp_path, checkpoint, str(checkpoint.with_suffix(".safetensors"))):
        assert common_rules(["random"], path) == TINY
    champion_at(checkpoint, TINY, load_rules("classic"))
    with pytest.raises(CannotPlay, match="plays tiny, classic: name one of them"):
        common_rules(["random"], tmp_path)


def test_what_is_near_a_player_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nearby.py").write_text(
        "import numpy as np\n\nfive = 5\n\n\nclass Nap:\n    pass\n"
    )
    champion_at(tmp_path / "mine", TINY)
    (tmp_path / "model.zip").touch()
    for run in ("two", "one"):
        checkpoint = tmp_path / "runs" / run / "checkpoints" / "100"
        checkpoint.parent.mkdir(parents=True)
        champion_at(checkpoint, TINY)
    monkeypatch.chdir(tmp_path)
    for text, message in (
        ("mine:endgame=network", "after a comma, as in mine,endgame=network"),
        ("champion,sample", "parameters follow a colon, as in champion:sample"),
        ("upcard-value,9", "as in upcard-value:9"),
        ("threshold,counting", "but several: give them apart, as in threshold counting$"),
        ("runs", "but a folder of these: runs/one, runs/two$"),
        ("model.zip", "is named as sb3:model.zip,trusted"),
        ("nearby", r"there is a file nearby\.py here, .* named as nearby:Class"),
        ("nearby:np2", "nearby has no 'np2'$|did you mean 'Nap'"),
        ("nearby:nap", r"did you mean 'Nap'\?$"),
        ("nearby:five", "nearby:five is an int, which is not an agent"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            load_agent(text)
        assert "'np'" not in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        "{}",
        "{}.py",
        "{}.safetensors",
        "{}.onnx",
        "runs/{}",
        "mine={}",
        "{},sample",
        "{}:play",
        "network:{}",
        "onnx:{}",
        "sb3:{},trusted",
        "nash:{}",
        "thinker:8,value={}",
        "responder:8,against={}",
    ],
)
@pytest.mark.parametrize("length", [300, 3000])
def test_name_longer_than_files_have_is_refused(name: str, length: int) -> None:
    rules = "2x4-h2" if name.startswith("nash") else "classic"
    pytest.importorskip("onnxruntime" if name.startswith("onnx") else "json")
    with pytest.raises(ValueError, match=r"^(?!.*Errno)") as refused:
        load_agent(name.format("a" * length), rules)
    if name == "{}" and length == 3000:
        assert str(refused.value) == f"'{'a' * 59}… is no agent's name or path: it is 3,000 long"


def test_path_that_is_nearly_a_run_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "runs" / "small").mkdir(parents=True)
    near = str(tmp_path / "runs" / "smal")
    for name in (near, f"network:{near}", f"mine={near},sample"):
        with pytest.raises(ValueError, match=r"; did you mean 'small'\?"):
            load_agent(name)
    with pytest.raises(ValueError, match=r"smal: there is no such run; did you mean 'small'\?$"):
        compare([near])
    with pytest.raises(ValueError, match=r"no such file or folder$"):
        load_agent("nowhere/smal")


class Forgetful(RandomAgent):
    """It tells its class no rules, so that it plays those of classic."""

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__()


class Bare(Agent):
    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        pass


def test_class_that_plays_other_rules_than_asked_is_refused() -> None:
    with pytest.raises(CannotPlay, match="Forgetful plays classic and not 2x5-h3"):
        as_agent(Forgetful, "2x5-h3")
    with pytest.raises(CannotPlay, match=r"Bare has no rules: call super\(\).__init__\(rules"):
        as_agent(Bare)
    assert as_agent(Forgetful).rules == load_rules("classic")
