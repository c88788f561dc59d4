"""Settings of trainings are read by their types, and refused with sentences."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from german_whist.cli import main
from german_whist.training.settings import (
    PPOSettings,
    SettingsError,
    changed_settings,
    command_of,
    load_settings,
    presets,
    settings_from,
)


@pytest.mark.parametrize("name", presets())
def test_every_preset_loads_and_says_what_it_is_for(name: str) -> None:
    assert presets()[name]
    settings = load_settings(name)
    assert settings_from(yaml.safe_load(settings.as_yaml())) == settings


def test_words_go_over_the_preset() -> None:
    settings = load_settings("quick", ["entropy=1e-1", "layers=512,512", "decisions=2e6"])
    assert isinstance(settings, PPOSettings)
    assert (settings.entropy, settings.layers, settings.decisions) == (0.1, (512, 512), 2_000_000)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("entropy=1e-5", "layers=300,200", "seed=7", "minutes=2.5"),
        ("rules={name: mine, suits: 2, ranks: 4, hand: 2}", "horizon=hand", "opponents=[]"),
        ("yardsticks=[threshold, 'value:13', 'flat-mc:16,voids']",),
    ],
)
@pytest.mark.parametrize("name", presets())
def test_the_command_of_settings_gives_the_same_settings(name: str, words: tuple[str, ...]) -> None:
    settings = load_settings(name, words)
    program, train, preset, *given = shlex.split(command_of(settings))
    assert (program, train) == ("german-whist", "train")
    again = load_settings(preset, given)
    assert {**again.as_mapping(), "about": ""} == {**settings.as_mapping(), "about": ""}
    if not words:
        assert (preset, given) == (name, [])


def test_settings_of_a_run_under_way_may_change_except_what_shapes_it() -> None:
    before = load_settings("quick", ["seed=4"])
    after = changed_settings(before, ["decisions=20_000_000", "pool_games=0.1"])
    assert (after.decisions, after.seed) == (20_000_000, 4)
    assert changed_settings(before, []) == before
    for word in ("layers=64", "rules=draft", "games=12", "critic=own", "ranks=real", "seed=5"):
        name = word.partition("=")[0]
        with pytest.raises(SettingsError, match=f"{name} is .* in this run and can not become"):
            changed_settings(before, [word])
    for word in ("trainer=sb3", "entrpy=0.1", "entropy"):
        with pytest.raises(SettingsError):
            changed_settings(before, [word])


def test_a_file_of_ones_own_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("decisions: 5000\nrules: {suits: 2, ranks: 6, hand: 3}\nhorizon: hand\n")
    settings = load_settings(path)
    assert settings.decisions == 5000
    assert settings.options.rules.ranks == 6


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("entrpy=0.1", "'entropy'"),
        ("entropy", "key=value"),
        ("entropy=much", "a number"),
        ("games=1.5", "a whole number"),
        ("games=0", "at least 1"),
        ("device=gpu", "auto, cpu, cuda"),
        ("critic=orcale", "'oracle'"),
        ("network=atention", "'attention'"),
        (
            "network=attention attention_heads=5",
            "attention_width is 64: it has to divide among 5 heads",
        ),
        ("average=1", "has to be below 1"),
        ("layers=0", "width"),
        ("rules=clasic", "'classic'"),
        ("reward=points,win", "a word"),
        ("trainer=pppo", "ppo, sb3"),
        ("horizon=foreplay rules=race-7", "race"),
    ],
)
def test_what_does_not_fit_is_refused(word: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        load_settings("quick", word.split(" "))


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="'quick'"):
        load_settings("quik")


def test_the_command_lists_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--list"]) == 0
    assert all(name in capsys.readouterr().out for name in ["quick"])
    assert main(["train", "quick", "entropy=0.2", "--show"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["entropy"] == 0.2
    assert main(["train", "quick", "entrop=0.2", "--show"]) == 2
    assert "'entropy'" in capsys.readouterr().err
