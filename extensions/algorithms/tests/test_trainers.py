"""What holds for each of these trainers: horizons, exact resuming, settings, exploitability."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("torch")

from small_runs import (
    DECIDED,
    arrays_of,
    check_training_and_restoring,
    interrupted_when,
    quiet,
    same,
)

from german_whist import exploitability
from german_whist.cli import main
from german_whist.common.settings import SettingsError
from german_whist.common.signals import RunStopped
from german_whist.engine.batch.config import HORIZONS, REWARDS
from german_whist.training.algorithms.registry import make_trainer, settings_kind
from german_whist.training.experiments.benchmark import load_benchmark, measure_job
from german_whist.training.experiments.benchmark_results import load_results
from german_whist.training.run import resume, start
from german_whist.training.run_state import agent_from_weights

FOLDER = Path(__file__).resolve().parents[1]

TRAINERS: dict[str, dict[str, Any]] = {
    "r_nad": {"hidden_sizes": [8], "n_envs": 4, "n_steps": 4, "batch_size": 8, "delta_m": 3},
    "psro": {
        "hidden_sizes": [8],
        "n_envs": 4,
        "batch_size": 4,
        "oracle_decisions": 64,
        "payoff_hands": 4,
    },
    "escher": {
        "hidden_sizes": [8],
        "n_envs": 4,
        "batch_size": 8,
        "value_steps": 2,
        "regret_steps": 2,
        "policy_steps": 2,
    },
}
COMMON: dict[str, Any] = {
    "decisions": 1_000_000,
    "eval_opponents": (),
    "final_eval_hands": 2,
    "eval_mode": "sync",
    "device": "cpu",
    "threads": 1,
}
each_trainer = pytest.mark.parametrize("trainer", TRAINERS)


def small(trainer: str, **values: Any) -> Any:
    return settings_kind(trainer)(
        **{"trainer": trainer, "rules": "2x4-h2", **COMMON, **TRAINERS[trainer], **values}
    )


COMBINATIONS = [
    each
    for each in product(TRAINERS, HORIZONS, REWARDS)
    if each[0] != "psro" or each[1] == "foreplay"
]
"""Trainers with the horizons and rewards that they take."""


@pytest.mark.parametrize(("trainer", "horizon", "reward"), COMBINATIONS)
def test_trainer_trains_with_each_horizon_and_reward(
    trainer: str, horizon: str, reward: str, tmp_path: Path
) -> None:
    settings = small(trainer, rules=DECIDED, horizon=horizon, reward=reward)
    check_training_and_restoring(settings, tmp_path / "run")


@each_trainer
def test_interrupted_run_goes_on_to_the_bit(trainer: str, tmp_path: Path) -> None:
    settings = small(trainer, decisions=400, save_every=1)
    start(tmp_path / "whole", settings).go(quiet())
    part = start(tmp_path / "part", settings)
    with pytest.raises(RunStopped):
        part.go(interrupted_when(lambda run: run.trainer.decisions >= 100))
    assert 100 <= part.trainer.decisions < 200
    resume(tmp_path / "part").go(quiet())
    assert same(arrays_of(tmp_path / "whole"), arrays_of(tmp_path / "part"))


NEAR: dict[str, dict[str, Any]] = {
    "r_nad": {
        "decisions": 150_000,
        "hidden_sizes": [32],
        "n_envs": 256,
        "batch_size": 256,
        "learning_rate": 0.005,
        "delta_m": 100,
        "reward_scale": 1,
    },
    "psro": {
        "decisions": 600_000,
        "hidden_sizes": [32],
        "n_envs": 256,
        "batch_size": 256,
        "learning_rate": 0.005,
        "oracle_decisions": 60_000,
    },
    "escher": {
        "decisions": 300_000,
        "hidden_sizes": [64],
        "n_envs": 256,
        "batch_size": 256,
        "learning_rate": 0.003,
    },
}


@pytest.mark.thorough
@each_trainer
def test_trainer_comes_near_an_equilibrium(trainer: str) -> None:
    settings = small(trainer, **NEAR[trainer])
    made = make_trainer(settings)
    while made.decisions < settings.decisions:
        made.iterate()
    agent = agent_from_weights(settings, made.policy_weights(), made.network_card(), "sample")
    at_random = exploitability("random-exact", "2x4-h2").exploitability
    assert exploitability(agent, "2x4-h2").exploitability < at_random / 2.5


# Another value, and what it needs beside; all others are those of every trainer.
EFFECTS: dict[str, dict[str, dict[str, Any]]] = {
    "r_nad": {
        "hidden_sizes": {"hidden_sizes": [9]},
        "card_ranks": {"card_ranks": "absolute"},
        "critic": {"critic": "oracle"},
        "reward_scale": {"reward_scale": 3.0},
        "n_envs": {"n_envs": 5},
        "n_steps": {"n_steps": 3},
        "eta": {"eta": 0.9},
        "delta_m": {"delta_m": 2},
        "n_epochs": {"n_epochs": 2},
        "batch_size": {"batch_size": 4},
        "learning_rate": {"learning_rate": 0.01},
        "learning_rate_end": {"learning_rate_end": 0.01},
        "beta": {"beta": 1e-6},
        "neurd_clip": {"neurd_clip": 1e-6},
        "vtrace_lambda": {"vtrace_lambda": 0.1},
        "ema_decay": {"ema_decay": 0.5},
    },
    "psro": {
        "oracle_decisions": {"oracle_decisions": 32},
        "payoff_hands": {"payoff_hands": 40},
        "meta_solver": {"meta_solver": "uniform"},
        "hidden_sizes": {"hidden_sizes": [9]},
        "card_ranks": {"card_ranks": "absolute"},
        "critic": {"critic": "oracle"},
        "reward_scale": {"reward_scale": 3.0},
        "n_envs": {"n_envs": 5},
        "n_epochs": {"n_epochs": 2},
        "batch_size": {"batch_size": 8},
        "learning_rate": {"learning_rate": 0.01},
        "learning_rate_end": {"learning_rate_end": 0.01},
        "gae_lambda": {"gae_lambda": 0.1},
        "clip_range": {"clip_range": 1e-6},
        "max_grad_norm": {"max_grad_norm": 1e-3},
        "ent_coef": {"ent_coef": 0.5},
        "ent_coef_end": {"ent_coef_end": 0.5},
        "ema_decay": {"ema_decay": 0.5},
    },
    "escher": {
        "hidden_sizes": {"hidden_sizes": [9]},
        "n_envs": {"n_envs": 5},
        "averaging": {"averaging": 0.0},
        "replay_size": {"replay_size": 10},
        "reservoir_size": {"reservoir_size": 10},
        "value_steps": {"value_steps": 3},
        "regret_steps": {"regret_steps": 3},
        "policy_steps": {"policy_steps": 3},
        "batch_size": {"batch_size": 4},
        "learning_rate": {"learning_rate": 0.02},
        "value_learning_rate": {"value_learning_rate": 0.02},
        "reward_scale": {"reward_scale": 3.0},
    },
}
OF_NETWORKS = {"network", "network_options"}


def trained(settings: Any, iterations: int) -> Any:
    trainer = make_trainer(settings)
    for _ in range(iterations):
        trainer.iterate()
    return trainer.policy_weights()


@each_trainer
def test_no_setting_is_without_effect(trainer: str) -> None:
    own = {*settings_kind(trainer).__struct_fields__}
    own -= {*settings_kind("mccfr").__base__.__struct_fields__}
    assert {*EFFECTS[trainer]} == own - OF_NETWORKS
    n_iterations = 20 if trainer == "psro" else 6
    base = {"decisions": 200}
    first = trained(small(trainer, **base), n_iterations)
    assert same(first, trained(small(trainer, **base), n_iterations))
    for name, values in EFFECTS[trainer].items():
        changed = trained(small(trainer, **{**base, **values}), n_iterations)
        assert not same(first, changed), name


REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "r_nad": [
        ({"learning_rate": 0, "learning_rate_end": 0}, "are 0: nothing is learned"),
        ({"eta": 0}, "eta is 0.0: it has to be"),
        ({"n_envs": 1}, "n_envs is 1: it has to be"),
        ({"network_options": {"a": 1}}, "network_options are those of a custom network"),
        ({"rules": ["2x4-h2", "2x5-h3"]}, "the trainer r_nad takes one rule set"),
    ],
    "psro": [
        ({"rules": "classic"}, "psro keeps its mixture as a table, and the rules classic"),
        ({"horizon": "hand"}, "horizon is 'hand': psro keeps its mixture as a table"),
        ({"suit_order": "raw"}, "suit_order is 'raw': psro keeps its mixture"),
        ({"init": "champion"}, "init is 'champion': psro keeps .* and begins with nothing"),
        ({"device": "cuda"}, "device is 'cuda': psro plays its games on the CPU"),
        ({"learning_rate": 0}, "learning_rate and learning_rate_end are 0"),
        ({"n_envs": 1}, "n_envs is 1: it has to be"),
    ],
    "escher": [
        ({"reservoir_size": 7}, "batch_size is 8, and reservoir_size 7: give a batch"),
        ({"replay_size": 7}, "batch_size is 8, and replay_size 7: give a batch"),
        ({"averaging": 100}, "averaging is 100.0: it has to be a number of at least 0 and at most"),
        ({"precision": "mixed"}, "precision is 'mixed': escher learns in float32 alone"),
        ({"init": "champion"}, "init is 'champion': escher begins without regrets"),
    ],
}


@pytest.mark.parametrize(
    ("trainer", "values", "message"),
    [(trainer, *case) for trainer, cases in REFUSED.items() for case in cases],
)
def test_bad_settings_are_refused_in_a_sentence(
    trainer: str, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        small(trainer, **values)


def test_settings_say_what_a_learner_is_given() -> None:
    for trainer, critic, ema in (
        ("r_nad", "own view", "on"),
        ("psro", "own view", "off"),
        ("escher", "hidden cards", "off"),
    ):
        given = small(trainer).given
        assert (given.critic, given.ema) == (critic, ema)
        assert (given.observation, given.precision) == ("relative ranks", "float32")
        assert given.decisions == "both seats"
    assert small("r_nad", critic="oracle", ema_decay=0).given.critic == "hidden cards"
    assert small("r_nad", ema_decay=0).given.ema == "off"
    assert small("psro", ema_decay=0.9).given.ema == "on"


def test_psro_says_where_no_best_response_is_completed() -> None:
    settings = small("psro", decisions=64, oracle_decisions=64)
    made = make_trainer(settings)
    while made.decisions < settings.decisions:
        made.iterate()
    assert len(made.population) == 2
    assert settings.notes == ()
    (note,) = small("psro", decisions=64, oracle_decisions=65).notes
    assert note.startswith("oracle_decisions is 65, and decisions is 64: no best response is")


@each_trainer
def test_trainer_is_found_by_its_name(trainer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", f"trainer={trainer}", "rules=2x4-h2", "--show"]) == 0
    assert f"trainer: {trainer}" in capsys.readouterr().out


@each_trainer
def test_benchmark_trains_and_measures_it(trainer: str, tmp_path: Path) -> None:
    benchmark = {
        "rules": ["2x4-h2"],
        "decisions": 200,
        "eval_points": 1,
        "eval_opponents": [],
        "algorithms": {trainer: TRAINERS[trainer]},
    }
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(benchmark), encoding="utf-8")
    job = load_benchmark(path).jobs(tmp_path / "found")[0]
    measure_job(job)
    (point,) = json.loads((job.folder / "result.json").read_text())["points"]
    assert 0 < point["values"]["exploitability"] < 1
    assert point["decisions"] >= 200


_NOT_MEASURED = {
    (name, "2x6-h3", seed) for name in ("r_nad-tuned-no-ema", "escher-tuned") for seed in (4, 5)
}
"""The guide says how many seeds each deck has."""


def test_published_runs_are_those_of_the_benchmark() -> None:
    published = load_results(FOLDER / "docs" / "published.jsonl")
    files = ("other-algorithms.yaml", "other-algorithms-large.yaml")
    benchmarks = [load_benchmark(FOLDER / "configs" / "benchmark" / name) for name in files]
    jobs = {
        (job.algorithm, job.rules, job.seed): job
        for benchmark in benchmarks
        for job in benchmark.jobs(Path())
    }
    runs = {(result.algorithm, result.rules, result.seed): result for result in published}
    assert set(jobs) - set(runs) == _NOT_MEASURED
    for run, result in runs.items():
        job = jobs[run]
        origin = {**job.origin, "machine": result.machine, "given": job.given}
        assert origin == {name: getattr(result, name) for name in origin}
