"""Expert iteration as a trainer: its rounds, what is saved of them, and a benchmark's row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("torch")

from german_whist.agents.checkpoints import FOLDER, list_checkpoints, read_checkpoint
from german_whist.agents.registry import load_agent
from german_whist.common.settings import SettingsError, build_settings
from german_whist.expert_iteration.pipeline import run_expert_iteration
from german_whist.expert_iteration.recipe import Recipe
from german_whist.training.algorithms.registry import make_trainer
from german_whist.training.api import train
from german_whist.training.experiments.benchmark import load_benchmark, measure_job
from german_whist.training.experiments.benchmark_results import load_results
from german_whist.training.presets import settings_from
from german_whist.training.run_state import write_policy

CONFIGS = Path(__file__).resolve().parents[1] / "configs" / "benchmark"
FIRST = {"trainer": "ppo", "n_envs": 16, "batch_size": 16, "hidden_sizes": [4], "decisions": 200}
NETWORKS = {"value_hidden_sizes": [8], "belief_hidden_sizes": [8], "determinizations": 2}
ROW: dict[str, Any] = {
    "trainer": "expert-iteration",
    "policy": FIRST,
    "recipe": {**NETWORKS, "hands": 64, "target_hands": [32, 24]},
}
# A hand of the deck has four cards for the stock: after 208 decisions of the first training the
# rounds come to 592 and 688.
SETTINGS = {**ROW, "rules": "2x4-h2", "decisions": 650, "threads": 1, "device": "cpu"}


def played(trainer: Any) -> list[tuple[int, int]]:
    """Decisions and hands after every iteration to the end of the budget."""
    counts = []
    while trainer.decisions < trainer.settings.decisions:
        trainer.iterate()
        counts.append((trainer.decisions, trainer.hands))
    return counts


@pytest.fixture(scope="module")
def whole() -> Any:
    trainer = make_trainer(settings_from(SETTINGS))
    trainer.counts = played(trainer)
    return trainer


def test_rounds_follow_the_first_training_until_the_budget(whole: Any) -> None:
    first = whole.first.decisions
    assert first >= 200
    decisions, hands = zip(*whole.counts[-2:], strict=True)
    assert decisions == (first + 4 * (64 + 32), first + 4 * (64 + 32 + 24))
    assert hands[1] - hands[0] == 24
    assert whole.counts[-3][0] == first
    assert whole.round == 2


@pytest.mark.parametrize("stop", [1, -2, -1])
def test_resumed_training_comes_to_the_same_policy(stop: int, whole: Any) -> None:
    """In the first training, before the first round, and between the rounds."""
    trainer, later = (make_trainer(settings_from(SETTINGS)) for _ in range(2))
    for _ in whole.counts[:stop]:
        trainer.iterate()
    arrays, plain = trainer.state()
    later.restore(arrays, json.loads(json.dumps(plain)))
    for name, weights in trainer.policy_weights().items():
        np.testing.assert_array_equal(later.policy_weights()[name], weights)
    assert played(later) == whole.counts[stop:]
    for name, weights in whole.policy_weights().items():
        np.testing.assert_array_equal(later.policy_weights()[name], weights)


def test_saved_state_that_does_not_fit_is_refused(whole: Any) -> None:
    arrays, plain = whole.state()
    trainer = make_trainer(settings_from(SETTINGS))
    with pytest.raises(ValueError, match=r"it has \.\./policy, .* in place of policy, value"):
        trainer.restore({"../policy": arrays["policy"], **arrays}, plain)
    with pytest.raises(ValueError, match="'rounds' is not known here"):
        trainer.restore(arrays, {**plain, "rounds": 2})


def test_rounds_are_those_of_the_command(tmp_path: Path, whole: Any) -> None:
    """With the same policy, hands and seed it comes to the same weights."""
    first = make_trainer(whole.settings.first)
    while first.decisions < 200:
        first.iterate()
    card = first.network_card()
    path = write_policy(
        tmp_path / "first", first.policy_weights(), whole.settings.first, card, decisions=1, hands=1
    )
    recipe = build_settings(
        Recipe, {**ROW["recipe"], "rules": "2x4-h2", "policy": str(path)}, "", "a setting"
    )
    run_expert_iteration(tmp_path / "rounds", recipe, lambda _: None)
    found = read_checkpoint(tmp_path / "rounds" / "policy").weights
    for name, weights in whole.policy_weights().items():
        np.testing.assert_array_equal(found[name], weights)


def test_run_writes_and_evaluates_the_policy_of_each_round(tmp_path: Path, whole: Any) -> None:
    trained = train(
        SETTINGS,
        folder=tmp_path / "run",
        quiet=True,
        eval_opponents=["random"],
        eval_hands=2,
        final_eval_hands=2,
        eval_mode="sync",
    )
    checkpoints = list_checkpoints(tmp_path / "run" / FOLDER)
    assert [int(path.stem) for path in checkpoints] == [count for count, _ in whole.counts[-3:]]
    assert {result.decisions for result in trained.evaluations} == {
        count for count, _ in whole.counts[-3:]
    }
    card = read_checkpoint(trained.checkpoint).card
    assert card.settings["trainer"] == "expert-iteration"
    assert card.network.critic is None
    assert load_agent(str(trained.checkpoint), "2x4-h2").name == str(trained.checkpoint)


def test_first_training_has_what_the_run_has() -> None:
    settings = settings_from({**SETTINGS, "seed": 7, "reward": "margin", "decisions": 1000})
    assert (settings.first.seed, settings.first.reward) == (7, "margin")
    assert (settings.first.rules, settings.first.device) == ("2x4-h2", "cpu")
    assert settings.first.decisions == 200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": {**FIRST, "seed": 3}}, "policy: seed is that of the run: leave it out"),
        ({"policy": {**FIRST, "n_env": 3}}, "policy: 'n_env' is not a setting of the ppo trainer"),
        ({"recipe": {"rules": "classic"}}, "recipe: rules is that of the run: leave it out"),
        ({"recipe": {"hand": 3}}, "recipe: 'hand' is not a setting of a recipe; did you mean"),
        ({"decisions": 200}, "policy: decisions is 200, and the run, rounds included, has 200"),
        ({"policies": 3}, "'policies' is not a setting of the expert-iteration trainer"),
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        settings_from({**SETTINGS, **changes})
    assert message in str(refused.value)


def test_row_of_a_benchmark_has_the_first_policy_and_each_round(tmp_path: Path) -> None:
    path = tmp_path / "rounds.yaml"
    described = {
        "algorithms": {"rounds": {**ROW, "decisions": 650}},
        "rules": ["2x4-h2"],
        "seeds": 3,
        "eval_points": 1,
    }
    path.write_text(yaml.safe_dump(described), encoding="utf-8")
    (job, *_) = load_benchmark(path).jobs(tmp_path / "found")
    measure_job(job)
    result = job.folder / "result.json"
    first, *later = json.loads(result.read_text())["points"]
    assert [point["decisions"] - first["decisions"] for point in later] == [4 * 96, 4 * 120]
    assert 0 < first["seconds"] < later[0]["seconds"] < later[1]["seconds"]
    before = json.loads(result.read_text())
    result.unlink()
    measure_job(job)
    again = json.loads(result.read_text())
    assert {**again, "reference": []} == {**before, "reference": []}
    assert before["given"]["critic"] == "hidden cards"


@pytest.mark.parametrize("path", [*CONFIGS.glob("*.yaml")], ids=lambda path: path.stem)
def test_published_rows_are_those_of_the_benchmarks(path: Path) -> None:
    published = load_results(CONFIGS.parents[1] / "docs" / "published.jsonl")
    jobs = {(job.rules, job.seed): job for job in load_benchmark(path).jobs(Path())}
    here = [result for result in published if (result.rules, result.seed) in jobs]
    assert len(here) == len(jobs)
    for result in here:
        job = jobs[result.rules, result.seed]
        origin = {**job.origin, "machine": result.machine, "given": job.given}
        assert origin == {name: getattr(result, name) for name in origin}
        assert result.points[-1].decisions == pytest.approx(result.budget, rel=0.01)
