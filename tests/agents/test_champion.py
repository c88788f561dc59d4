"""The bundled networks: size, cards, and strength."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from german_whist.agents.base import CannotPlay
from german_whist.agents.checkpoints import (
    CheckpointError,
    find_checkpoint,
    read_checkpoint,
    read_search_network_card,
)
from german_whist.agents.checkpoints.bundled import (
    BELIEF_WEIGHTS,
    CLASSIC_WEIGHTS,
    EARLIER_CHAMPIONS,
    FAMILY_WEIGHTS,
    FIRST_WEIGHTS,
    SECOND_WEIGHTS,
    VALUE_WEIGHTS,
    champion_for,
    network_for,
    rules_of_champion,
)
from german_whist.agents.registry import load_agent
from german_whist.engine.rules import Rules, load_rules, named_rules
from german_whist.evaluation import evaluate
from german_whist.training.presets import changed_settings, load_settings
from support import KEY


def card_of_a_small_one(weights: Path) -> Any:
    checkpoint = read_checkpoint(weights)
    assert weights.stat().st_size < 4_000_000
    assert {array.dtype for array in checkpoint.weights.values()} == {np.dtype(np.float16)}
    assert checkpoint.card.evaluations
    return checkpoint.card


# Settings that earlier champions were trained with, and that are gone.
GONE = ("pool_fraction", "pool_size", "pool_every", "opponents")


def of_today(words: list[str]) -> list[str]:
    return [word for word in words if word.partition("=")[0] not in GONE]


def check_settings(card: Any, settings: Any) -> None:
    in_card = {**card.settings, "about": settings.about}
    in_card = {name: value for name, value in in_card.items() if name not in GONE}
    assert {name: settings.as_mapping()[name] for name in in_card} == in_card


@pytest.mark.parametrize("weights", [FIRST_WEIGHTS, FAMILY_WEIGHTS], ids=lambda path: path.stem)
def test_policy_is_small_and_card_has_training_commands(weights: Path) -> None:
    card = card_of_a_small_one(weights)
    first, *later = [shlex.split(command, comments=True) for command in card.commands]
    assert first[:2] == ["german-whist", "train"]
    settings = load_settings(first[2], of_today(first[3:]))
    for command in later:
        assert command[:4] == ["german-whist", "train", "--resume", "RUN"]
        settings = changed_settings(settings, of_today(command[4:]))
    check_settings(card, settings)


def test_networks_of_the_thinker_are_small_and_name_their_command() -> None:
    weights = CLASSIC_WEIGHTS, SECOND_WEIGHTS, FIRST_WEIGHTS
    champion, second, first = map(card_of_a_small_one, weights)
    assert second.init.sha256 == first.sha256 != second.sha256
    assert second.init.commands == first.commands
    assert champion.init.commands == champion.commands, "one command made all of it"
    assert (champion.machine, champion.settings["train"]) == (
        "Intel(R) Xeon(R) Processor, 2 cores",
        "champion",
    )
    search_networks = map(read_search_network_card, (VALUE_WEIGHTS, BELIEF_WEIGHTS))
    for card in (champion, second, *search_networks):
        (command,) = card.commands
        assert command.startswith("german-whist ")


def test_the_first_one_beats_the_rules_of_thumb_as_its_card_says() -> None:
    card = read_checkpoint(FIRST_WEIGHTS).card
    measurement = next(entry for entry in card.evaluations if entry.opponent == "threshold")
    pairing = evaluate("champion-1", "threshold", hands=4_000, seed=11, key=KEY).pairings[0]
    reach = pairing.win_rate.margin_of_error + measurement.margin_of_error
    assert abs(pairing.win_rate.value - measurement.win_rate) < 1.5 * reach


@pytest.mark.parametrize(
    "rules",
    [
        rules
        if rules.name in ("classic", "draft", "humbug")
        else pytest.param(rules, marks=pytest.mark.thorough)
        for rules in rules_of_champion()
    ],
    ids=lambda rules: rules.name,
)
def test_it_plays_rule_sets_better_than_the_rules_of_thumb(rules: Rules) -> None:
    pairing = evaluate("champion", "threshold", rules, hands=400, seed=12, key=KEY).pairings[0]
    assert not pairing.forfeits
    assert pairing.points.value > 0
    assert pairing.win_rate.value > 0.52


def test_networks_are_found_behind_files_of_ones_own(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_checkpoint("champion-1") == FIRST_WEIGHTS
    assert load_agent("thinker:2,last=1,policy=champion-1").name
    for name in ("champion-9", "sub/champion-1", str(tmp_path / "champion-1")):
        with pytest.raises(CheckpointError, match="there is no checkpoint"):
            find_checkpoint(name)
    with pytest.raises(CheckpointError, match="is a value network for searches"):
        read_checkpoint("value")
    # A folder of that name is a run that has no checkpoint yet.
    (tmp_path / "champion-1").mkdir()
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        find_checkpoint("champion-1")
    (tmp_path / "champion-1.safetensors").write_bytes(b"")
    assert find_checkpoint("champion-1") == Path("champion-1.safetensors")
    # Champions of the package stay what they are: published results name them.
    for name in ("champion-1", "champion-2"):
        Path(f"{name}.safetensors").write_bytes(b"")
        assert (
            load_agent(name).checkpoints[0].sha256
            == read_checkpoint(EARLIER_CHAMPIONS[name]).card.sha256
        )  # type: ignore[union-attr]
        assert network_for(load_rules("classic"), name) == EARLIER_CHAMPIONS[name]
        assert network_for(load_rules("classic"), f"./{name}") == Path(f"{name}.safetensors")


def test_champion_has_classic_network_and_family_network() -> None:
    assert champion_for(load_rules("classic")) == CLASSIC_WEIGHTS
    assert champion_for(load_rules({"name": "mine"})) == CLASSIC_WEIGHTS
    assert champion_for(load_rules("draft")) == FAMILY_WEIGHTS
    for name, path in (("classic", CLASSIC_WEIGHTS), ("draft", FAMILY_WEIGHTS)):
        assert network_for(load_rules(name), "champion") == path
    assert network_for(load_rules("draft"), "champion-1") == FIRST_WEIGHTS
    assert load_agent("thinker:2,last=1,policy=champion", "all-tricks").name
    assert rules_of_champion()[0].name == "classic"
    assert len(rules_of_champion()) > 14
    assert {*rules_of_champion()} <= {*named_rules().values()}
    message = "^champion plays classic, margin, .*, and not tiny$"
    tiny = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2}
    with pytest.raises(CannotPlay, match=message):
        load_agent("champion", tiny)
    with pytest.raises(CannotPlay, match=message):
        evaluate("champion", "random", tiny, hands=2, workers=1)


def test_agents_of_one_network_share_its_weights() -> None:
    thinker, again = (load_agent("thinker", "classic") for _ in range(2))
    champion = load_agent("champion", "classic")
    assert thinker.networks.belief.weights is again.networks.belief.weights
    for name in ("weights", "first_layer"):
        shared = getattr(champion.policy.layers, name)
        assert shared is getattr(thinker.networks.policy.layers, name)
        assert shared is not getattr(load_agent("champion", "margin").policy.layers, name)
