"""Numbers of hands are even, and no setting takes a number that nothing could come of."""

from __future__ import annotations

import pytest

from german_whist import evaluate
from german_whist.cli import main
from german_whist.common.typed_settings import SettingsError
from german_whist.evaluation.config import ladder_from
from german_whist.training.experiments.benchmark import Benchmark
from german_whist.training.runs.presets import load_settings
from german_whist.training.settings import Settings


@pytest.mark.parametrize(
    ("hands", "near"), [(1, "give 2"), (101, "give 100 or 102"), (7, "give 6 or 8")]
)
def test_an_odd_number_of_hands_is_refused(
    hands: int, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=f"hands is {hands}: .* even number; {near}"):
        evaluate("random", "random-exact", hands=hands)
    assert main(["ladder", "random", "random-exact", "--hands", str(hands)]) == 2
    assert near in capsys.readouterr().err


@pytest.mark.parametrize("word", ["measure_hands=101", "final_hands=1"])
def test_measurements_of_a_training_take_an_even_number(word: str) -> None:
    with pytest.raises(SettingsError, match=f"{word.replace('=', ' is ')}: .* an even number of"):
        load_settings("quick", [word])


def test_ladders_and_benchmarks_take_an_even_number() -> None:
    with pytest.raises(SettingsError, match="hands is 11: it has to be an even number"):
        ladder_from({"players": ["random", "threshold"], "hands": 11}, "mine.yaml")
    with pytest.raises(SettingsError, match="hands is 11: it has to be an even number"):
        Benchmark(algorithms={"ppo": {}}, sizes=("2x4-h2",), hands=11)


INTEGERS = ["decisions", "games", "steps", "seed", "minibatch", "measure_every", "save_every",
            "measure_hands", "final_hands", "patience", "threads", "pool_size"]  # fmt: skip


@pytest.mark.parametrize("preset", ["quick", "sb3"])
@pytest.mark.parametrize("name", [*INTEGERS, "minutes", "reward_scale"])
def test_no_training_takes_a_number_that_nothing_could_come_of(preset: str, name: str) -> None:
    with pytest.raises(SettingsError, match=rf"{name} is 1e?\+?[0-9]*.* at most"):
        load_settings(preset, [f"{name}=1e30"])


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("value", ["2.5", "nan", "true"])
def test_no_integer_setting_takes_another_number(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load_settings("quick", [f"{name}={value}"])


def test_whole_numbers_written_as_floats_are_taken() -> None:
    settings: Settings = load_settings("quick", ["decisions=4e6"])
    assert settings.decisions == 4_000_000
    assert isinstance(settings.decisions, int)
