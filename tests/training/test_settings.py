"""Settings are read by their types, and refused with sentences."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from german_whist import evaluate
from german_whist.cli import main
from german_whist.common.settings import (
    CheckedSettings,
    SettingsError,
    format_overrides,
    keep_settings,
    list_settings,
    parse_overrides,
)
from german_whist.evaluation.config import LadderConfig, ladder_from
from german_whist.training.algorithms.registry import own_settings
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.experiments.benchmark import Benchmark
from german_whist.training.experiments.search_space import Range, Sweep
from german_whist.training.presets import (
    PRESETS,
    changed_settings,
    command_of,
    load_settings,
    settings_from,
)


@pytest.mark.parametrize("name", PRESETS.names())
def test_every_preset_loads_and_has_a_description(name: str) -> None:
    assert PRESETS.descriptions()[name]
    settings = load_settings(name)
    assert settings_from(yaml.safe_load(settings.as_yaml())) == settings


def test_words_override_the_preset() -> None:
    settings = load_settings("quick", ["ent_coef=1e-1", "hidden_sizes=512,512", "decisions=2e6"])
    assert isinstance(settings, PPOSettings)
    assert (settings.ent_coef, settings.hidden_sizes) == (0.1, (512, 512))
    assert settings.decisions == 2_000_000
    assert isinstance(settings.decisions, int)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("ent_coef=1e-5", "hidden_sizes=300,200", "seed=7", "max_minutes=2.5"),
        ("rules={name: mine, suits: 2, ranks: 4, hand: 2}", "horizon=hand", "callbacks=[]"),
        ("eval_opponents=[threshold, 'upcard-value', 'flat-mc:16,voids']",),
    ],
)
@pytest.mark.parametrize("name", PRESETS.names())
def test_command_of_settings_gives_the_same_settings(name: str, words: tuple[str, ...]) -> None:
    settings = load_settings(name, words)
    program, train, *given = shlex.split(command_of(settings))
    assert (program, train) == ("german-whist", "train")
    again = load_settings(None, given)
    assert {**again.as_mapping(), "about": ""} == {**settings.as_mapping(), "about": ""}


def test_resumed_run_cannot_change_fixed_settings() -> None:
    before = load_settings("quick", ["seed=4"])
    after = changed_settings(before, ["decisions=20_000_000", "clip_range=0.1"])
    assert (after.decisions, after.seed) == (20_000_000, 4)
    assert changed_settings(before, []) == before
    fixed = "hidden_sizes=64 rules=draft n_envs=12 critic=separate card_ranks=absolute seed=5"
    fixed += " reward=margin"
    for word in fixed.split():
        name = word.partition("=")[0]
        with pytest.raises(SettingsError, match=f"{name} is .* in this run and cannot become"):
            changed_settings(before, [word])
    for word in ("trainer=sb3", "ent_ceof=0.1", "ent_coef", "ent_coef=much"):
        with pytest.raises(SettingsError, match=r"^'?ent_coef|did you mean"):
            changed_settings(before, [word])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ent_ceof=0.1", "'ent_coef'"),
        ("lr=0.1", "'lr' is not a setting of the ppo trainer; .* for that is 'learning_rate'"),
        ("ent_coef=much", "a number"),
        ("n_envs=1.5", "a whole number"),
        ("n_envs=0", "n_envs is 0: it has to be a whole number of at least 1"),
        ("device=gpu", "auto, cpu, cuda"),
        ("critic=orcale", "'oracle'"),
        ("ema_decay=1", "ema_decay is 1.0: .* less than 1"),
        ("hidden_sizes=0", r"\[0\]: .* one or more whole numbers, each at least 1 and at most"),
        ("eval_opponents=1", r"eval_opponents is \[1\]: it has to be a list of texts$"),
        ("ent_coef=much clip_range=0", r"clip_range is 0\.0: .*; ent_coef is 'much': it has to"),
        ("ent_ceof=1 folds=2 clip_range=0", "'ent_coef'.*; 'folds' is not .*; clip_range is"),
        ("rules=clasic", "'classic'"),
        ("trainer=pppo", "trainer: 'pppo' is not a trainer; did you mean 'ppo'"),
        ("eval_hands=101", "eval_hands is 101: .* an even number of"),
        ("seed=9223372036854775808", "seed is 9223372036854775808: .* at most"),
        ("opponents=[threshold]", "'opponents' is not a setting of the ppo trainer"),
        ("learning_rate=0", "nothing is learned"),
        ("sb3 learning_rate=0", "nothing would be learned"),
        ("sb3 opponents=[] pool_size=0", "opponents is empty, and pool_size is 0"),
        ("sb3 opponents=[] pool_every=1e9", "opponents is empty: a policy joins"),
        ("sb3 n_envs=1 n_steps=1", "a single decision cannot be learned from"),
        ("n_envs=1 n_steps=1", "a single decision, and nothing is learned"),
        ("trainer=nfsp batch_size=1e8", "100,000,000, and replay_size 50,000: give a batch"),
        ("trainer=nfsp batch_size=9 reservoir_size=8", "batch_size is 9, and reservoir_size 8"),
        (
            "trainer=mccfr precision=mixed",
            "precision is 'mixed': mccfr computes a table on the CPU",
        ),
        ("trainer=mccfr device=cuda", "device is 'cuda': mccfr computes a table"),
        ("sb3 precision=mixed", "float32 alone"),
        *(
            (preset + word, message)
            for preset in ("", "sb3 ")
            for word, message in (
                ("max_grad_norm=0", "max_grad_norm is 0.0: .* more than 0"),
                ("max_grad_norm=-1", "more than 0"),
                ("clip_range=0", "clip_range is 0.0: it has to be a number of more than 0"),
                ("batch_size=1", "batch_size is 1: .* at least 2"),
                ("gamma=1.5", "gamma is 1.5: .* more than 0 and at most 1"),
                ("gae_lambda=-1", "gae_lambda is -1.0: it has to be a number of at least 0"),
                ("ent_coef=.nan", "ent_coef is nan: it has to be a finite number"),
                ("learning_rate=.inf", "a finite number"),
            )
        ),
    ],
)
def test_settings_without_effect_are_refused(words: str, message: str) -> None:
    own = words.startswith(("trainer=nfsp", "trainer=mccfr"))
    preset = "sb3" if words.startswith("sb3 ") else None if own else "quick"
    with pytest.raises(SettingsError, match=message):
        load_settings(preset, words.removeprefix("sb3 ").split())


def test_error_names_the_file_only_if_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("ent_coef: much\n")
    with pytest.raises(SettingsError, match=r"mine\.yaml: ent_coef is 'much'"):
        load_settings(path, ["seed=2"])
    path.write_text("seed: 2\n")
    with pytest.raises(SettingsError, match=r"^ent_coef is 'much'"):
        load_settings(path, ["ent_coef=much", "seed=3"])
    # Right with what was typed, and not without.
    path.write_text("patience: 2\neval_opponents: []\n")
    assert load_settings(path, ["eval_opponents=[threshold]"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume", "here", "--show"], "in the run's own folder: leave out --show"),
        (["--resume", "here", "--run", "there"], "leave out --run"),
        (["quick", "folder=here"], "folder=here: that is an option: write --run here"),
        (["--resume", "here", "folder=there"], "write --run there"),
        (["quick", "seeds="], "seeds is empty: give whole numbers, as in seeds=1,2,3"),
        (["quick", "seeds=a"], "seeds is a: give whole numbers"),
        (["quick", "seeds=1,1"], r"seeds are \[1, 1\]: give each once, as in seeds=1,2,3"),
        (["quick", "seeds=1,-2"], "seed is -2: it has to be a whole number of at least 0"),
        (["trainer=mccfr", "rules=2x4-h2", "reward_scale=2"], "'reward_scale' is not a setting"),
        (["trainer=cfr"], "'cfr' is not a trainer; did you mean 'mccfr'"),
        (["trainer=mmd", "clip_range=0.3"], "clip_range is 0.3: mmd uses step_size"),
        (["trainer=mmd", "step_size=0"], "step_size is 0.0: it has to be a number of more than 0"),
        (["trainer=nfsp", "anticipatory=0"], "no best response plays, so nothing is learned"),
        (["trainer=nfsp", "precision=mixed"], "nfsp learns in float32 alone"),
        (["trainer=nfsp", "rules=quick,classic"], "the trainer nfsp takes one rule set"),
    ],
)
def test_train_refuses_words_without_effect(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *words]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_lists_are_formatted_with_commas_if_unambiguous() -> None:
    values = {"hidden_sizes": (512, 256), "opponents": ["random", "upcard-value"]}
    assert format_overrides(values) == ["hidden_sizes=512,256", "opponents=random,upcard-value"]
    for value in ([], ["random"], ["flat-mc:16,voids", "random"], ["true", "random"]):
        assert parse_overrides(format_overrides({"opponents": value})) == {"opponents": value}


# -- files that build on presets


def test_file_builds_on_a_preset_or_another_file(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("preset: quick\nent_coef: 0.3\nseed: 5\n")
    (tmp_path / "mine.yaml").write_text("preset: base.yaml\nseed: 6\n")
    settings, quick = load_settings(tmp_path / "mine.yaml", ["n_envs=64"]), load_settings("quick")
    assert isinstance(settings, PPOSettings)
    assert (settings.ent_coef, settings.seed, settings.n_envs) == (0.3, 6, 64)
    assert settings.final_eval_opponents == quick.final_eval_opponents
    assert "preset" not in settings.as_mapping()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preset: quik", r"mine\.yaml: preset: 'quik' is not a preset; did you mean 'quick'"),
        ("preset: mine.yaml", "which builds on this file in turn"),
        ("preset: other.yaml", "which builds on this file in turn"),
        ("preset: [quick]", r"preset is \['quick'\]: it has to be a name or a path"),
    ],
)
def test_file_with_unknown_preset_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    (tmp_path / "other.yaml").write_text("preset: mine.yaml")
    with pytest.raises(SettingsError, match=message):
        load_settings(tmp_path / "mine.yaml")


# -- documented where they are declared


@pytest.mark.parametrize("kind", [*own_settings().values(), Benchmark, Sweep, Range, LadderConfig])
def test_every_setting_has_a_description(kind: type[CheckedSettings]) -> None:
    for each in list_settings(kind):
        assert each.about.endswith("."), each.name
        assert each.takes


def test_show_prints_settings_with_descriptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "quick", "--show"]) == 0
    output = capsys.readouterr().out
    assert settings_from(yaml.safe_load(output)) == load_settings("quick")
    parts = [part.splitlines() for part in output.split("\n\n")]
    comments = {
        value.partition(":")[0]: " ".join(line.removeprefix("# ") for line in comment)
        for *comment, value in parts
    }
    assert comments == {each.name: each.about for each in list_settings(PPOSettings)}
    assert main(["train", "--list"]) == 0
    assert "quick" in capsys.readouterr().out


# -- numbers


def test_odd_number_of_hands_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for hands, near in ((1, "give 2"), (101, "give 100 or 102"), (7, "give 6 or 8")):
        with pytest.raises(ValueError, match=f"hands is {hands}: .* even number; {near}"):
            evaluate("random", "random-exact", hands=hands)
        assert main(["ladder", "random", "random-exact", "--hands", str(hands)]) == 2
        assert near in capsys.readouterr().err
    with pytest.raises(SettingsError, match="hands is 11: it has to be an even number"):
        ladder_from({"agents": ["random", "threshold"], "hands": 11}, "mine.yaml")
    with pytest.raises(SettingsError, match="hands is 11: it has to be an even number"):
        Benchmark(algorithms={"ppo": {}}, rules=("2x4-h2",), eval_hands=11)


INTEGERS = [
    "decisions",
    "n_envs",
    "n_steps",
    "seed",
    "batch_size",
    "eval_every",
    "save_every",
    "eval_hands",
    "final_eval_hands",
    "patience",
    "threads",
]


@pytest.mark.parametrize("preset", ["quick", "sb3"])
@pytest.mark.parametrize("name", [*INTEGERS, "max_minutes", "reward_scale"])
def test_settings_have_upper_bounds(preset: str, name: str) -> None:
    with pytest.raises(SettingsError, match=rf"{name} is 1e?\+?[0-9]*.* at most"):
        load_settings(preset, [f"{name}=1e30"])


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("value", ["2.5", "nan", "true"])
def test_integer_settings_refuse_other_numbers(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load_settings("quick", [f"{name}={value}"])


def test_folder_with_unknown_settings_is_refused(
    tmp_path: Path,
) -> None:
    path, settings = tmp_path / "settings.yaml", PPOSettings(about="quick")
    keep_settings(path, settings, "name another")
    keep_settings(path, settings, "name another")
    whole = path.read_text()
    path.write_text(whole + "policy_temperature: 0.02\n")
    with pytest.raises(SettingsError) as caught:
        keep_settings(path, settings, "name another")
    assert str(caught.value) == (
        f"{tmp_path} was begun with policy_temperature 0.02, which is no setting here: name "
        "another folder, or use the command and the version that began it"
    )
    # What a version could not set had the effect of today's default.
    path.write_text(whole.replace("patience: 0\n", "").replace("about: quick\n", ""))
    with pytest.raises(SettingsError, match="begun with patience 0, and now it is 16: name"):
        keep_settings(path, PPOSettings(patience=16), "name another")
    keep_settings(path, settings, "name another")
    assert path.read_text() == whole
