"""Sweeps sample settings, resume, share a storage, and write a preset."""

from __future__ import annotations

import csv
import errno
import os
import pickle
import re
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from msgspec.structs import replace

from german_whist.agents.checkpoints import (
    find_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from german_whist.cli import main
from german_whist.common.executors import MAX_DEATHS
from german_whist.common.settings import SettingsError
from german_whist.common.signals import FIRST_SIGNAL, FULL_DISK, RunStopped, process_start
from german_whist.engine.rules import load_rules
from german_whist.evaluation.formats import percent_with_interval
from german_whist.evaluation.statistics import Estimate
from german_whist.training import run as runs
from german_whist.training.callbacks.evaluation import EVALUATION_SEED, evaluate_checkpoint
from german_whist.training.experiments import sweep as sweeping
from german_whist.training.experiments.benchmark import sampled_exploitability
from german_whist.training.experiments.search_space import (
    Range,
    base_settings,
    bounds_reached,
    distribution,
    load_sweep,
    widened,
)
from german_whist.training.experiments.sweep import (
    JOURNAL,
    PruningCallback,
    affordable_decisions,
    mean_win_rate,
    run_sweep,
)
from german_whist.training.presets import load_settings, settings_from
from german_whist.training.run_state import EvaluationResult, RunState, load_state, save_state
from german_whist.training.settings import Settings

pytest.importorskip("torch")
optuna = pytest.importorskip("optuna")

pytestmark = pytest.mark.usefixtures("few_checked_hands")

SMALL = {
    "n_envs": 16,
    "decisions": 640,
    "batch_size": 64,
    "threads": 1,
    "eval_every": 256,
    "eval_hands": 20,
    "final_eval_hands": 40,
    "hidden_sizes": [8],
}
SPACE = {
    "learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
    "n_epochs": {"low": 1, "high": 3},
    "hidden_sizes": [[8], [8, 8]],
}
SWEEP = {
    "preset": "tiny",
    "settings": SMALL,
    "space": SPACE,
    "eval_opponents": ["random"],
    "trials": 3,
    "finalists": 2,
    "final_seeds": 0,
    "widenings": 0,
    "final_eval_hands": 40,
}
# Processes that need no torch start soonest.
TABLES = {
    "preset": "",
    "space": {"averaging": {"low": 0.0, "high": 2.0}},
    "settings": {
        "trainer": "mccfr",
        "rules": "2x4-h2",
        "decisions": 640,
        "iteration": 256,
        "eval_every": 256,
        "eval_hands": 20,
        "final_eval_hands": 40,
    },
}


def written(folder: Path, **changes: object) -> Path:
    path = folder / "space.yaml"
    path.write_text(yaml.safe_dump({**SWEEP, **changes}), encoding="utf-8")
    return path


def evaluation(
    win_rate: float, margin_of_error: float = 0.1, opponent: str = "random", decisions: int = 640
) -> EvaluationResult:
    return EvaluationResult(
        opponent=opponent,
        hands=2,
        margin=0.0,
        win_rate=win_rate,
        margin_of_error=margin_of_error,
        decisions=decisions,
    )


def study_of(folder: Path) -> Any:
    journal = optuna.storages.journal
    storage = journal.JournalStorage(journal.JournalFileBackend(str(folder / JOURNAL)))
    return optuna.create_study(
        study_name=folder.name, storage=storage, direction="maximize", load_if_exists=True
    )


def write_finished_sweep(folder: Path, values: Sequence[float]) -> None:
    folder.mkdir()
    study = study_of(folder)
    good = read_checkpoint("champion-1")
    poor = {**good.weights, "policy.weight": -good.weights["policy.weight"]}
    for number, value in enumerate(values):
        trial = study.ask({"n_epochs": optuna.distributions.IntDistribution(1, 3)})
        trial.set_user_attr("half_width", 0.3)
        study.tell(trial, value)
        path = folder / "trials" / str(number) / "checkpoints" / "640"
        path.parent.mkdir(parents=True)
        write_checkpoint(path, good.weights if number else poor, good.card)


def test_sweep_resumes_to_its_trials_and_writes_a_preset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = written(tmp_path), tmp_path / "sweep"
    command = ["sweep", str(path), "--folder", str(folder)]
    assert main([*command, "--trials", "1"]) == 0
    assert main(command) == 0
    study = study_of(folder)
    assert len(study.trials) == 3
    # Sampler and pruner take the trial that wins most for the best.
    assert study.best_value == max(trial.value for trial in study.trials)
    output = capsys.readouterr().out
    assert output.count("best: ") == 2
    best = load_settings(folder / "best.yaml")
    params = study.trials[int(output.split("best: trial ")[-1].split(",")[0])].params
    expected = {**params, "hidden_sizes": yaml.safe_load(params["hidden_sizes"])}
    assert {name: best.as_mapping()[name] for name in expected} == expected
    assert expected.keys() == SPACE.keys()
    assert isinstance(expected["n_epochs"], int)
    assert best.about.startswith("the best of 3 trials, ")
    assert " % on fresh deals" in best.about
    assert output.count(" on fresh deals: ") == 1 + 2
    for trial in study.trials:
        assert f"trial {trial.number}, {100 * trial.value:.1f} ± " in output
    with open(folder / "trials.csv", newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    for row, trial in zip(rows, study.trials, strict=True):
        expected = trial.number, trial.value, "COMPLETE", *(trial.params[name] for name in SPACE)
        names = "number", "objective", "state", *SPACE
        assert [row[name] for name in names] == [*map(str, expected)]
    # Once there are enough of them, nothing more is tried.
    assert main(command) == 0
    assert {trial.name for trial in (folder / "trials").iterdir()} == {"0", "1", "2"}
    # What would resume a trial is not kept beyond its end.
    assert not [*folder.rglob("state.safetensors")]


def test_finalists_are_ranked_on_fresh_deals_with_ties(
    tmp_path: Path,
) -> None:
    folder, lines = tmp_path / "sweep", list[str]()
    write_finished_sweep(folder, [0.9, 0.8, 0.7, 0.6])
    sweep = load_sweep(written(tmp_path, trials=4, finalists=3, final_eval_hands=60))
    result = run_sweep(sweep, folder, log=lines.append)
    assert [finalist.number for finalist in result.finalists] == [1, 2, 0]
    best, same, poor = (finalist.objective for finalist in result.finalists)
    assert poor.value < 0.5 < best.value == same.value
    assert result.ties == [2]
    path = folder / "trials/1/checkpoints/640.safetensors"

    def evaluate(seed: int) -> EvaluationResult:
        return evaluate_checkpoint(path, ["random"], 60, seed=seed).results[0]

    on_search, on_finalists, on_confirmation = (evaluate(EVALUATION_SEED + k) for k in range(3))
    assert (result.confirmed.value, result.confirmed.margin_of_error) == pytest.approx(
        (on_confirmation.win_rate, on_confirmation.margin_of_error)
    )
    assert best.value == on_finalists.win_rate
    # The deals are not those on which trials were evaluated.
    assert on_search.margin != on_finalists.margin
    preset = load_settings(folder / "best.yaml")
    assert preset.as_mapping()["n_epochs"] == result.study.trials[1].params["n_epochs"]
    rate = percent_with_interval(result.confirmed)
    assert (
        preset.about
        == f"the best of 4 trials, {rate} on fresh deals, not distinguishable from trial 2"
    )
    assert lines == [
        f"trial {number} on fresh deals: {percent_with_interval(win_rate)}"
        for number, win_rate in enumerate((poor, best, same))
    ]


def test_without_opponents_the_exploitability_is_minimized(tmp_path: Path) -> None:
    settings = {**SMALL, "rules": "2x4-h2", "trainer": "nfsp", "eval_every": 640}
    space, folder, lines = {"batch_size": {"low": 8, "high": 64}}, tmp_path / "sweep", list[str]()
    options = {"eval_opponents": [], "trials": 2}
    path = written(tmp_path, preset="", settings=settings, space=space, **options)
    result = run_sweep(load_sweep(path), folder, log=lines.append)
    rules = load_rules("2x4-h2")
    exploitability = [
        sampled_exploitability(find_checkpoint(folder / "trials" / str(number)), rules)
        for number in range(2)
    ]
    assert [-trial.value for trial in result.study.trials] == exploitability
    assert result.best.number == np.argmin(exploitability)
    text = f"exploitability {min(exploitability):.4f}"
    assert load_settings(folder / "best.yaml").about == f"the best of 2 trials, {text}"
    assert lines[-2] == f"trial {result.best.number}: {text}"
    assert re.search(rf"trial {result.best.number}, {text} in \d+ s: batch_size=", "\n".join(lines))


@pytest.mark.usefixtures("light_workers")
def test_finalists_are_trained_again_with_seeds_of_their_own(tmp_path: Path) -> None:
    options = {"eval_opponents": [], "trials": 2, "final_seeds": 2, "pruner": "Nop"}
    sweep = load_sweep(written(tmp_path, **TABLES, **options))
    folder, lines = tmp_path / "sweep", list[str]()
    result = run_sweep(sweep, folder, log=lines.append)
    rules, means = load_rules("2x4-h2"), list[float]()
    for number in (0, 1):
        runs = [folder / "finalists" / str(number) / f"seed-{1_000_002 + k}" for k in (0, 1)]
        assert {run.name for run in runs[0].parent.iterdir()} == {run.name for run in runs}
        settings = [yaml.safe_load((run / "settings.yaml").read_text()) for run in runs]
        assert [each["seed"] for each in settings] == [1_000_002, 1_000_003]
        assert {each["averaging"] for each in settings} == {
            result.study.trials[number].params["averaging"]
        }
        values = [sampled_exploitability(find_checkpoint(run), rules) for run in runs]
        assert len({*values}) == 2
        means.append(float(np.mean(values)))
    best = int(np.argmin(means))
    assert result.best.number == best
    assert -result.best.objective.value == pytest.approx(means[best])
    assert f"trial {best}, mean of 2 other seeds: exploitability {means[best]:.4f} ± " in "\n".join(
        lines
    )
    about = load_settings(folder / "best.yaml").about
    assert about.startswith(f"the best of 2 trials, exploitability {means[best]:.4f} ± ")
    with open(folder / "finalists.csv", newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    assert [int(row["number"]) for row in rows] == [best, 1 - best]
    assert [-float(row["value"]) for row in rows] == pytest.approx(sorted(means))
    assert [float(row["averaging"]) for row in rows] == [
        result.study.trials[int(row["number"])].params["averaging"] for row in rows
    ]
    # What is trained is not trained again.
    states = [*folder.glob("finalists/*/*/state.safetensors")]
    before = [path.stat().st_mtime_ns for path in states]
    assert run_sweep(sweep, folder, log=lines.append).best == result.best
    assert [path.stat().st_mtime_ns for path in states] == before


def test_bounds_are_reached_by_half_of_the_best_and_moved_on() -> None:
    space = {
        "learning_rate": Range(low=1e-4, high=1e-2, log=True),
        "gae_lambda": Range(low=0.0, high=1.0),
        "ent_coef": Range(low=0.01, high=0.05),
        "clip_range": Range(low=0.1, high=0.4),
        "n_envs": [256, 512, 1024],
        "n_epochs": [4, 2, 1],
        "batch_size": [64, 128],
        "critic": ["separate", "oracle"],
    }
    best = [
        {"learning_rate": 9e-3, "gae_lambda": 0.99, "ent_coef": 0.0105, "clip_range": 0.2},
        {"learning_rate": 1e-2, "gae_lambda": 0.97, "ent_coef": 0.0515, "clip_range": 0.39},
        {"learning_rate": 1e-3, "gae_lambda": 0.5, "ent_coef": 0.01, "clip_range": 0.3},
    ]
    numbers = {"n_envs": [1024, 1024, 512], "n_epochs": [1, 1, 4], "batch_size": [64, 128, 64]}
    for k, settings in enumerate(best):
        settings |= {name: values[k] for name, values in numbers.items()}
        settings["critic"] = "oracle"
    reached = bounds_reached(space, best)
    assert reached == {
        "learning_rate": ["high"],
        "gae_lambda": ["high"],
        "ent_coef": ["low"],
        "n_envs": ["high"],
        "n_epochs": ["low"],
        "batch_size": ["low"],
    }
    wider = widened(space, settings_from({"trainer": "ppo"}), reached)
    # Half of two decades.
    assert wider["learning_rate"] == Range(low=1e-4, high=0.1, log=True)
    assert wider["gae_lambda"] == space["gae_lambda"]  # a λ is at most 1
    assert wider["ent_coef"] == Range(low=0.0, high=0.05)  # a quarter of its width
    assert wider["n_envs"] == [256, 512, 1024, 2048]
    assert wider["batch_size"] == [32, 64, 128]
    # An epoch is the least.
    assert [wider[name] for name in ("n_epochs", "clip_range", "critic")] == [
        space[name] for name in ("n_epochs", "clip_range", "critic")
    ]


@pytest.mark.parametrize(
    ("name", "choices", "tried", "wider"),
    [
        # By whole steps: the trials so far stay on the grid.
        ("gae_lambda", Range(low=0.5, high=0.9, step=0.1), [0.5, 0.6], (0.3, 0.9)),
        ("n_epochs", Range(low=4, high=10, step=2), [4, 6], (2, 10)),
        ("n_epochs", Range(low=1, high=10, step=4), [9, 5], (1, 13)),  # its last step is 9
        ("n_envs", Range(low=64, high=256, step=64), [256, 192], (64, 384)),
        ("n_envs", Range(low=64, high=256, step=64), [64, 128], (64, 256)),  # no games are none
        # An integer at least: half of the width is less.
        ("n_epochs", Range(low=1, high=2), [2], (1, 3)),
        # 0 steps are accepted, but they have no logarithm.
        ("n_steps", Range(low=1, high=4, log=True), [1, 2], (1, 4)),
    ],
)
def test_widened_range_holds_the_trials_so_far(
    name: str, choices: Range, tried: list[float], wider: tuple[float, float]
) -> None:
    base, space = settings_from({"trainer": "ppo"}), {name: choices}
    found = widened(space, base, bounds_reached(space, [{name: value} for value in tried]))[name]
    assert (found.low, found.high, found.step) == (*wider, choices.step)
    for value in tried:
        optuna.trial.create_trial(
            params={name: value}, distributions={name: distribution(base, name, found)}, value=0.0
        )


@pytest.mark.parametrize("stopped_after", [0, 2, 3, 4])
def test_space_is_widened_where_the_best_trials_end(
    stopped_after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    monkeypatch.setattr(sweeping, "_objective", best_at_the_largest)
    options = {"sampler": "Random", "widenings": 2, "widening_trials": 2, "trials": 3}
    path = written(tmp_path, space={"ent_coef": [0.25, 0.5], "n_epochs": [2]}, **options)
    folder, lines = tmp_path / "sweep", list[str]()
    if stopped_after:

        def stop(line: str) -> None:
            if line.startswith(f"trial {stopped_after} begins"):
                raise RunStopped("interrupted", 130)

        with pytest.raises(RunStopped):
            run_sweep(load_sweep(path), folder, log=stop)
    result = run_sweep(load_sweep(path), folder, log=lines.append)
    assert [trial.number for trial in result.study.trials] == [*range(7)]
    assert {trial.name for trial in (folder / "trials").iterdir()} == {*map(str, range(7))}
    assert {trial.state.name for trial in result.study.trials} == {"COMPLETE"}
    assert result.space["ent_coef"][:3] == [0.25, 0.5, 1.0]
    assert result.space["n_epochs"] == [2]
    largest = max(yaml.safe_load(trial.params["ent_coef"]) for trial in result.study.trials)
    assert result.best.settings["ent_coef"] == largest
    if not stopped_after:
        text = "\n".join(lines)
        assert (
            "ent_coef is at its high bound in half or more of the best 2 trials: 0.25, 0.5, now"
            in text
        )
        assert "the space is widened, and 2 trials follow\ntrial 3 begins" in text
        assert text.count("the space is widened") == 2
        reached = bounds_reached(result.space, [each.settings for each in result.finalists])
        assert ("and it is not widened further" in text) == ("ent_coef" in reached)
    before = [(trial.params, trial.value) for trial in result.study.trials]
    again = run_sweep(load_sweep(path), folder, log=lines.append)
    assert [(trial.params, trial.value) for trial in again.study.trials] == before


def best_at_the_largest(settings: Settings, folder: Path, _: object) -> Estimate:
    value = getattr(load_settings(folder / "settings.yaml"), "ent_coef", 0.0)
    return Estimate(value, value, value)


def test_finalists_trained_elsewhere_are_reported(tmp_path: Path) -> None:
    folder, lines = tmp_path / "sweep", list[str]()
    sweep = load_sweep(written(tmp_path, trials=2))
    with pytest.raises(ValueError, match="workers is 0: give at least 1"):
        run_sweep(sweep, folder, workers=0)
    assert not folder.exists()
    write_finished_sweep(folder, [0.9, 0.8])
    (folder / "trials" / "0").rename(tmp_path / "0")
    assert run_sweep(sweep, folder, log=lines.append).best.number == 1
    assert lines[0] == "trial 0 was trained elsewhere: it is not evaluated again"
    (folder / "trials" / "1").rename(tmp_path / "1")
    with pytest.raises(ValueError, match="none of the 2 best trials was trained in "):
        run_sweep(sweep, folder, log=lines.append)


def test_mean_win_rate_has_the_mean_of_the_intervals() -> None:
    """Which is conservative at any correlation: all opponents play the same deals."""
    matches = [evaluation(0.4, 0.1, "a"), evaluation(0.6, 0.3, "b"), evaluation(0.9, 0.9, "c")]
    mean = mean_win_rate(matches, ["a", "b"])
    assert (mean.low, mean.value, mean.high) == pytest.approx((0.3, 0.5, 0.7))
    with pytest.raises(ValueError, match="not all of a, d could be played"):
        mean_win_rate(matches, ["a", "d"])


def test_sampler_without_its_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("german_whist.training.experiments.search_space.find_spec", lambda _: None)
    path = written(tmp_path, sampler="CmaEs")
    assert main(["sweep", str(path), "--folder", str(tmp_path / "sweep")]) == 2
    error = capsys.readouterr().err
    assert "sampler is 'CmaEs', which needs the package cmaes, and it is not installed" in error


def test_trial_that_cannot_be_drawn_is_no_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    monkeypatch.setattr(sweeping, "_objective", best_at_the_largest)
    sweep, ask = load_sweep(written(tmp_path)), optuna.study.Study.ask

    def failing(*arguments: Any) -> None:
        ask(*arguments)
        raise RuntimeError("no sample")

    with monkeypatch.context() as patched:
        patched.setattr(optuna.study.Study, "ask", failing)
        with pytest.raises(RuntimeError, match="no sample"):
            run_sweep(sweep, tmp_path / "sweep", log=lambda _: None)
    result = run_sweep(sweep, tmp_path / "sweep", log=lambda _: None)
    states = [trial.state.name for trial in result.study.trials]
    assert states == ["FAIL", "COMPLETE", "COMPLETE", "COMPLETE"]


def test_pruner_compares_trials_with_other_sizes_of_iterations(tmp_path: Path) -> None:
    space = {"n_envs": [16, 24, 32]}
    options = {"pruner": "Nop", "sampler": "Random", "trials": 4}
    result = run_sweep(load_sweep(written(tmp_path, space=space, **options)), tmp_path / "sweep")
    assert len({trial.params["n_envs"] for trial in result.study.trials}) > 1
    assert {tuple(trial.intermediate_values) for trial in result.study.trials} == {(256, 512)}


def test_unpromising_trial_is_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Never(optuna.pruners.BasePruner):
        def prune(self, study: object, trial: object) -> bool:
            return True

    monkeypatch.setattr(optuna.pruners, "NopPruner", Never)
    sweep, lines = load_sweep(written(tmp_path, pruner="Nop")), list[str]()
    with pytest.raises(ValueError, match="none of its 3 trials was trained to its end"):
        run_sweep(sweep, tmp_path / "sweep", log=lines.append)
    assert sum(", ended early: " in line for line in lines) == 3
    assert {trial.state.name for trial in study_of(tmp_path / "sweep").trials} == {"PRUNED"}
    assert not (tmp_path / "sweep" / "best.yaml").exists()


@pytest.mark.parametrize("budget", [{}, {"trial_seconds": 3}])
def test_sweep_counts_a_diverged_trial_and_goes_on(budget: dict[str, Any], tmp_path: Path) -> None:
    settings = {
        "trainer": "nfsp",
        "rules": "2x4-h2",
        "decisions": 1000,
        "n_envs": 32,
        "hidden_sizes": [8],
        "threads": 1,
    }
    path = written(
        tmp_path,
        preset="",
        settings=settings,
        space={"learning_rate": [1e5, 1e6]},
        trials=2,
        **budget,
    )
    lines = list[str]()
    with pytest.raises(ValueError, match="none of its 2 trials was trained to its end"):
        run_sweep(load_sweep(path), tmp_path / "sweep", log=lines.append)
    # One that diverges while its budget is measured is not trained.
    end = " is left out: the training diverged" if budget else ", diverged: "
    assert sum(bool(re.search(end, line)) for line in lines) == 2
    assert not any("--resume" in line for line in lines)
    assert {trial.state.name for trial in study_of(tmp_path / "sweep").trials} == {"PRUNED"}


def test_sweep_leaves_out_trials_whose_settings_do_not_go_together(tmp_path: Path) -> None:
    settings = {**TABLES["settings"], "trainer": "nfsp", "n_envs": 16, "threads": 1}
    del settings["iteration"]
    path = written(
        tmp_path,
        preset="",
        settings={**settings, "hidden_sizes": [8], "batch_size": 32, "reservoir_size": 1000},
        space={"batch_size": [64], "replay_size": [48, 1000]},
        sampler="Random",
        pruner="Nop",
        trials=8,
        finalists=1,
    )
    lines = list[str]()
    result = run_sweep(load_sweep(path), tmp_path / "sweep", log=lines.append)
    states = [trial.state.name for trial in result.study.trials]
    assert set(states) == {"COMPLETE", "PRUNED"}
    refused = [line for line in lines if "is left out: " in line]
    assert all("batch_size is 64, and replay_size 48" in line for line in refused), refused
    assert len(refused) == states.count("PRUNED")


SIZED_NETWORK = """
from torch import nn

class Net(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs, width, heads=1):
        super().__init__()
        self.first = nn.Linear(n_inputs, width)
        if width % heads:
            raise ValueError("the heads do not divide the width")
        self.policy, self.value = nn.Linear(width, n_actions), nn.Linear(width, 1)
    def forward(self, observations, hidden_cards=None):
        features = self.first(observations).relu()
        return self.policy(features), self.value(features)[:, 0]
"""


def with_sized_network(folder: Path, options: list[object], **changes: Any) -> Path:
    (folder / "sized_net.py").write_text(SIZED_NETWORK, encoding="utf-8")
    settings = {
        "rules": "2x4-h2",
        "network": f"{folder}/sized_net.py:Net",
        "network_options": {"width": 4},
        "hidden_sizes": [256, 256],
    }
    return written(
        folder,
        preset="",
        settings={**SMALL, **settings},
        space={"network_options": options},
        **{"sampler": "Random", "pruner": "Nop", "trials": 6, "finalists": 1, **changes},
    )


@pytest.mark.usefixtures("light_workers")
@pytest.mark.parametrize(("workers", "changes"), [(1, {}), (1, {"trial_seconds": 1}), (2, {})])
def test_sweep_leaves_out_trials_whose_network_cannot_be_made(
    workers: int, changes: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "_TIMED_ITERATIONS", 1)
    options = [{"width": 4}, {"widht": 8}, {"width": 8, "heads": 3}]
    path = with_sized_network(tmp_path, options, **changes)
    lines = list[str]()
    result = run_sweep(load_sweep(path), tmp_path / "sweep", log=lines.append, workers=workers)
    tried = {"COMPLETE": set[str](), "PRUNED": set[str]()}
    for trial in result.study.trials:
        tried[trial.state.name].add(trial.params["network_options"])
    assert tried == {"COMPLETE": {"{width: 4}"}, "PRUNED": {"{widht: 8}", "{heads: 3, width: 8}"}}
    text = "\n".join(lines)
    refused = [line for line in lines if "Net cannot be made with" in line]
    assert len(refused) == [trial.state.name for trial in result.study.trials].count("PRUNED")
    assert "unexpected keyword argument 'widht'" in text
    assert "the heads do not divide the width" in text
    left_out = r"^trial \d+(, left out: | is left out: .*: )network_options=\{widht: 8\}$"
    assert re.search(left_out, text, re.MULTILINE)


def test_sweep_ends_where_no_network_can_be_made(tmp_path: Path) -> None:
    path = with_sized_network(tmp_path, [{"widht": 4}, {"widht": 8}], trials=3, widenings=1)
    with pytest.raises(ValueError, match=r"none of its 3 trials .* settings that go together$"):
        run_sweep(load_sweep(path), tmp_path / "sweep", log=lambda _: None)


@pytest.mark.usefixtures("light_workers")
def test_trials_side_by_side_have_the_results_of_one_by_one(tmp_path: Path) -> None:
    sweep = load_sweep(written(tmp_path, **TABLES, trials=2, sampler="Random", pruner="Nop"))
    results = []
    for workers in (1, 2):
        folder = tmp_path / str(workers) / "sweep"
        trials = run_sweep(sweep, folder, log=lambda _: None, workers=workers).study.trials
        results.append([(trial.params, trial.value, trial.intermediate_values) for trial in trials])
        assert {trial.name for trial in (folder / "trials").iterdir()} == {"0", "1"}
    assert results[0] == results[1]
    assert all(len(reports) == 2 for _, _, reports in results[0])


def no_training(settings: Settings, folder: Path, **_: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.yaml").write_text(settings.as_yaml(), encoding="utf-8")
    good = read_checkpoint("champion-1")
    path = folder / "checkpoints" / "640"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_checkpoint(path, good.weights, good.card)
    save_state(folder / "state.safetensors", {}, RunState({}, evaluations=[evaluation(0.5)]))


def test_resumed_or_shared_sweep_draws_no_trial_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = load_sweep(written(tmp_path, space={"ent_coef": {"low": 0.0, "high": 1.0}}))
    monkeypatch.setattr("german_whist.training.experiments.sweep.train_or_resume", no_training)

    def ent_coefs(folder: Path, trials: int) -> list[float]:
        result = run_sweep(replace(sweep, trials=trials), folder, log=lambda _: None)
        values = [trial.params["ent_coef"] for trial in result.study.trials]
        if find_spec("pandas"):
            assert [*result.frame().params_ent_coef] == values
        return values

    uninterrupted = ent_coefs(tmp_path / "uninterrupted", 3)
    assert len(set(uninterrupted)) == 3
    for trials in (1, 2, 3):
        resumed = ent_coefs(tmp_path / "resumed", trials)
    assert resumed == uninterrupted


def test_trials_of_other_machines_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = load_sweep(written(tmp_path, space={"ent_coef": {"low": 0.0, "high": 1.0}}, trials=4))
    monkeypatch.setattr("german_whist.training.experiments.sweep.train_or_resume", no_training)
    folder, lines = tmp_path / "sweep", list[str]()
    folder.mkdir()
    hosts = ("elsewhere", "yonder", socket.gethostname())
    for host, process in zip(hosts, (1, os.getppid(), 2**22 + 1), strict=True):
        trial = study_of(folder).ask({"ent_coef": optuna.distributions.FloatDistribution(0.0, 1.0)})
        trial.set_user_attr("process", (host, process, 1))
    trials = run_sweep(sweep, folder, log=lines.append).study.trials
    # The third is resumed, because its process is dead, and a fourth is drawn.
    states = [trial.state.name for trial in trials]
    assert states == ["RUNNING", "RUNNING", "COMPLETE", "COMPLETE"]
    running = [line for line in lines if "is trained on" in line]
    assert [line.partition(", or was")[0] for line in running] == [
        f"trial {number} is trained on {host}" for number, host in enumerate(hosts[:2])
    ]


def test_trial_that_was_ended_in_the_storage_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, folder = load_sweep(written(tmp_path, trials=1)), tmp_path / "sweep"
    reasons = list[str]()

    def train_too_late(settings: Settings, run: Path, callbacks: Any, **_: object) -> None:
        study_of(folder).tell(0, 0.75)
        stand_in: Any = SimpleNamespace(
            trainer=SimpleNamespace(decisions=256),
            settings=settings,
            folder=run,
            stop=reasons.append,
        )
        (pruning,) = callbacks
        pruning.on_start(stand_in)
        pruning.on_evaluation(stand_in, [evaluation(0.5)])
        no_training(settings, run)

    monkeypatch.setattr(sweeping, "train_or_resume", train_too_late)
    (trial,) = run_sweep(sweep, folder, log=lambda _: None).study.trials
    assert reasons == ["the trial was ended in the storage"]
    assert (trial.state.name, trial.value) == ("COMPLETE", 0.75)


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("final_seeds", [0, 1])
def test_sweeps_that_start_at_once_share_one_study(final_seeds: int, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    changes = {"trials": 4, "finalists": 2, "final_seeds": final_seeds}
    sweep = load_sweep(written(tmp_path, **TABLES, **changes))
    fork = get_context("fork")
    processes = [fork.Process(target=run_sweep, args=(sweep, folder)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    trials = study_of(folder).trials
    assert len({str(trial.params) for trial in trials}) == len(trials) >= 4
    # Both compared the best of all trials.
    best = sorted(trials, key=lambda trial: -trial.value)[:2]
    with open(folder / "finalists.csv", newline="", encoding="utf-8") as file:
        assert {int(row["number"]) for row in csv.DictReader(file)} == {t.number for t in best}


@pytest.mark.parametrize("keeps_start", [False, True])
def test_sweep_waits_for_a_trial_of_another_command(
    keeps_start: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    folder, lines = tmp_path / "sweep", list[str]()
    sweep = load_sweep(written(tmp_path, trials=2, finalists=1))
    other = study_of(_begun(sweep, folder)).ask()
    pid = os.getppid()
    # An earlier version kept no start.
    start = [process_start(pid)] if keeps_start else []
    other.set_user_attr("process", (socket.gethostname(), pid, 1, *start))

    def end(seconds: float) -> None:
        study_of(folder).tell(other.number, 0.25)

    monkeypatch.setattr(sweeping.time, "sleep", end)
    result = run_sweep(sweep, folder, log=lines.append)
    waiting = f"waiting for trials that other commands train: trial 1 (process {pid})"
    assert lines.count(waiting) == 1
    assert [trial.state.name for trial in result.study.trials] == ["COMPLETE", "COMPLETE"]


def test_trial_goes_on_where_its_process_is_another_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    monkeypatch.setattr(sweeping.time, "sleep", refuse)
    monkeypatch.setattr(sweeping, "process_start", lambda pid: f"start of {pid}")
    space = {"ent_coef": {"low": 0.0, "high": 1.0}}
    sweep = load_sweep(written(tmp_path, space=space, trials=2, finalists=1))
    folder = _begun(sweep, tmp_path / "sweep")
    (own,) = study_of(folder).trials
    assert own.user_attrs["process"][3] == f"start of {os.getpid()}"
    other = study_of(folder).ask({"ent_coef": optuna.distributions.FloatDistribution(0.0, 1.0)})
    process = socket.gethostname(), os.getppid(), 1, "an earlier start"
    other.set_user_attr("process", process)
    trials = run_sweep(sweep, folder, log=lambda _: None).study.trials
    assert [trial.state.name for trial in trials] == ["COMPLETE", "COMPLETE"]
    assert trials[1].user_attrs["process"][2] == 2


def _begun(sweep: Any, folder: Path) -> Path:
    """A sweep's folder with one trial."""
    run_sweep(replace(sweep, trials=1), folder, log=lambda _: None)
    return folder


def test_renamed_folder_keeps_its_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    sweep, lines = load_sweep(written(tmp_path, trials=2, finalists=1)), list[str]()
    renamed = _begun(sweep, tmp_path / "sweep").rename(tmp_path / "renamed")
    assert len(run_sweep(sweep, renamed, log=lines.append).study.trials) == 2
    # In a storage of its own, others may have their trials too.
    shared = replace(sweep, storage=str(renamed / JOURNAL))
    run_sweep(shared, tmp_path / "other", log=lines.append)
    assert any("has no trials of other" in line and "those of sweep, " in line for line in lines)


def test_torn_line_of_a_journal_costs_no_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    sweep = load_sweep(written(tmp_path, trials=2, finalists=1))
    journal = _begun(sweep, tmp_path / "sweep") / JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"op_code":6,"worker_id":"a')
    result = run_sweep(sweep, tmp_path / "sweep", log=lambda _: None)
    assert [trial.state.name for trial in result.study.trials] == ["COMPLETE", "COMPLETE"]
    lines = whole.splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:5], b'{"op_code":6,"wo', *lines[5:]]))
    with pytest.raises(ValueError, match=r"optuna.log is broken in line 6: delete this line"):
        run_sweep(sweep, tmp_path / "sweep", log=lambda _: None)


def test_states_of_given_up_trials_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    sweep = load_sweep(written(tmp_path, trials=2, finalists=1))
    folder = _begun(sweep, tmp_path / "sweep")
    trial = study_of(folder).ask()
    trial.set_user_attr("process", (socket.gethostname(), os.getpid(), MAX_DEATHS))
    state = folder / "trials" / "1" / "state.safetensors"
    state.parent.mkdir()
    state.write_bytes(b"")
    study_of(folder).tell(trial.number, state=optuna.trial.TrialState.FAIL)
    run_sweep(sweep, folder, log=lambda _: None)
    assert not state.exists()


def trained_decisions(run: Path) -> list[int]:
    """Decisions so far at the end of each iteration."""
    with open(run / "progress.csv", newline="", encoding="utf-8") as file:
        return [int(row["decisions"]) for row in csv.DictReader(file)]


def test_killed_trial_resumes_from_its_state(tmp_path: Path) -> None:
    folder, lines = tmp_path / "sweep", list[str]()
    sweep = load_sweep(written(tmp_path, trials=1, settings={**SMALL, "save_every": 256}))

    class Killed(BaseException):
        pass

    def kill(run: Any, *_: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PruningCallback, "on_evaluation", kill)
        with pytest.raises(Killed):
            run_sweep(sweep, folder, log=lines.append)
    (interrupted,) = study_of(folder).trials
    assert interrupted.state.name == "RUNNING"
    state = folder / "trials" / "0" / "state.safetensors"
    saved = load_state(state)[1].trainer["decisions"]
    assert saved
    result = run_sweep(sweep, folder, log=lines.append)
    (trial,) = result.study.trials
    assert (trial.number, trial.params, trial.state.name) == (0, interrupted.params, "COMPLETE")
    decisions = trained_decisions(state.parent)
    assert decisions[0] < saved < decisions[-1]
    # One that dies of it again and again is given up.
    trial = result.study.ask({"n_epochs": optuna.distributions.IntDistribution(1, 3)})
    trial.set_user_attr("process", (socket.gethostname(), os.getpid(), 3))
    given_up = "trial 1 is given up, since it was broken off 3 times"
    run_sweep(sweep, folder, log=lines.append)
    assert given_up not in lines
    run_sweep(replace(sweep, trials=2), folder, log=lines.append)
    assert given_up in lines
    states = [trial.state.name for trial in study_of(folder).trials]
    assert states == ["COMPLETE", "FAIL", "COMPLETE"]


@pytest.mark.parametrize("rates", [(0.1, 0.2), (0.9, 0.8)])
def test_trial_in_another_process_is_pruned_by_the_storage(
    rates: tuple[float, float], tmp_path: Path
) -> None:
    study = study_of(tmp_path)
    for k in range(6):
        trial = study.ask()
        trial.report(0.5 + k / 100, 100)
        study.tell(trial, 0.5)
    arguments = tmp_path.name, "Median", study.ask()._trial_id
    reasons: list[str] = []
    run: Any = SimpleNamespace(
        settings=load_settings(
            "tiny", ["decisions=1000", "eval_every=100", "eval_opponents=random"]
        ),
        trainer=SimpleNamespace(decisions=0),
        stop=reasons.append,
        folder=tmp_path,
    )
    # As it is sent there.
    pruning = pickle.loads(pickle.dumps(PruningCallback(str(tmp_path / JOURNAL), *arguments)))
    pruning.on_start(run)
    for decisions, rate in zip((100, 200), rates, strict=True):
        run.trainer.decisions = decisions
        pruning.on_evaluation(run, [evaluation(rate, decisions=decisions)])
    assert len(reasons) == (rates[0] < 0.5)
    # A machine that does not reach the storage reports it.
    with pytest.raises(ValueError, match="does not hold the sweep here: give a --storage"):
        PruningCallback(str(tmp_path / "no"), *arguments).on_start(run)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampler": "TPEE"}, "sampler is 'TPEE': it has to be one of "),
        ({"pruner": "Medan"}, "SuccessiveHalving; did you mean 'Median'?"),
        ({"space": {"ent_ceof": [0.1]}}, "'ent_ceof' is not a setting of the ppo trainer; did you"),
        (
            {"space": {"clip_range": {"low": -1, "high": 1}}},
            "space: clip_range is -1.0: it has to be a number",
        ),
        ({"space": {"critic": ["orcale"]}}, "did you mean 'oracle'"),
        ({"space": {}}, "space is {}: it has to be a mapping of one or more"),
        ({"space": {"clip_range": {"low": 1}}}, "space: clip_range: has no 'high'"),
        ({"space": {"clip_range": {"lo": 1, "high": 2}}}, "'lo' is not a part of a range"),
        ({"space": {"clip_range": 1}}, "space: clip_range is 1: give `low` and `high`, or a list"),
        ({"space": None}, "space is empty: it has to be a mapping"),
        ({"trails": 3}, "'trails' is not a part of a sweep; did you mean 'trials'"),
        ({"eval_opponents": [], "settings": {"rules": "quick"}}, "exploitability of quick is not"),
        ({"preset": "tny"}, "'tny' is not a preset; did you mean 'tiny'"),
        (
            {"settings": {**SMALL, "eval_opponents": ["counting"]}},
            "settings: eval_opponents is [counting], and a sweep evaluates its trials by its own",
        ),
    ],
)
def test_invalid_sweep_is_refused(
    changes: dict[str, object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, **changes)
    assert main(["sweep", str(path), "--folder", str(tmp_path / "sweep")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "sweep" / "trials").exists()


def test_range_reads_numbers_as_settings_do(tmp_path: Path) -> None:
    path = tmp_path / "space.yaml"
    # YAML takes a number without a point for a word.
    path.write_text("space: {learning_rate: {low: 1e-4, high: 1e-2, log: true}}")
    assert load_sweep(path).space == {"learning_rate": Range(low=1e-4, high=1e-2, log=True)}


@pytest.mark.parametrize("found", ["1e-2", 0.01])
def test_list_is_widened_by_numbers_that_yaml_takes_for_words(
    found: object, tmp_path: Path
) -> None:
    path = tmp_path / "space.yaml"
    path.write_text("space: {ent_coef: [0.001, 1e-2], critic: [oracle, separate]}")
    space, base = load_sweep(path).space, base_settings(load_sweep(path), tmp_path)
    reached = bounds_reached(space, [{"ent_coef": found, "critic": "separate"}])
    assert reached == {"ent_coef": ["high"]}
    # What Optuna has stored stays as it is.
    assert widened(space, base, reached)["ent_coef"] == [0.001, "1e-2", 0.1]


def test_trial_seconds_buy_the_decisions_of_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(sweeping, "processor_seconds", lambda: next(clock))
    settings = settings_from({"rules": "2x4-h2", "trainer": "mccfr", "iteration": 256})
    # The clock goes on by a second in each iteration, which has at least 256 decisions.
    assert 2_500 <= affordable_decisions(settings, 10) <= 2_700

    monkeypatch.setattr(sweeping, "affordable_decisions", lambda *_: 640)
    base = {**TABLES["settings"], "decisions": 1_000_000}
    path = written(tmp_path, **{**TABLES, "settings": base}, trials=1, trial_seconds=1)
    result = run_sweep(load_sweep(path), tmp_path / "sweep", log=lambda _: None)
    assert trained_decisions(tmp_path / "sweep" / "trials" / "0")[-1] >= 640
    assert load_settings(tmp_path / "sweep" / "best.yaml").decisions == 640
    assert result.best.settings["decisions"] == 640
    [row] = csv.DictReader((tmp_path / "sweep" / "trials.csv").read_text().splitlines())
    progress = (tmp_path / "sweep" / "trials" / "0" / "progress.csv").read_text().splitlines()
    *_, last = csv.DictReader(progress)
    # What comes after the last iteration counts too.
    assert 0 <= float(row["processor_seconds"]) - float(last["processor_seconds"]) < 1


def test_budget_is_of_iterations_after_the_first_which_are_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0

    class Slower:
        decisions = 0

        def iterate(self) -> None:
            nonlocal now
            self.decisions += 100
            now += 0.1 if self.decisions <= 1_000 else 1.0

        def close(self) -> None: ...

    monkeypatch.setattr(sweeping, "processor_seconds", lambda: now)
    monkeypatch.setattr(sweeping, "make_trainer", lambda _: Slower())
    # A tenth of the 100 seconds: 10 iterations in the first second, 9 in the others.
    assert affordable_decisions(settings_from({"trainer": "mccfr"}), 100) == 10_000


def test_resumed_trial_keeps_its_measured_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = load_sweep(written(tmp_path, **TABLES, trials=1, trial_seconds=1))
    monkeypatch.setattr(sweeping, "affordable_decisions", lambda *_: 512)
    folder = tmp_path / "sweep"
    folder.mkdir()
    trial = study_of(folder).ask({"averaging": optuna.distributions.FloatDistribution(0.0, 2.0)})
    trial.set_user_attr("process", (socket.gethostname(), os.getpid(), 1))
    trial.set_user_attr("decisions", 384)
    budgets = list[int]()

    def stop(settings: Settings, *_: object, **__: object) -> None:
        budgets.append(settings.decisions)
        raise RunStopped("interrupted", 130)

    monkeypatch.setattr(sweeping, "train_or_resume", stop)
    with pytest.raises(RunStopped):
        run_sweep(sweep, folder, log=lambda _: None)
    assert budgets == [384]


def test_sweep_refuses_two_budgets_of_a_trial(tmp_path: Path) -> None:
    space = {"decisions": [640, 1280]}
    with pytest.raises(ValueError, match="trial_seconds is 1 and sets the decisions of a trial"):
        load_sweep(written(tmp_path, **{**TABLES, "space": space}, trial_seconds=1))


def test_trial_resumes_that_was_interrupted_while_its_budget_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, folder = (
        load_sweep(written(tmp_path, **TABLES, trials=1, trial_seconds=1)),
        tmp_path / "sweep",
    )

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    # However often it is asked to end, the trial is not given up: that is no fault of its settings.
    monkeypatch.setattr(sweeping, "affordable_decisions", interrupt)
    for _ in range(MAX_DEATHS + 1):
        with pytest.raises(KeyboardInterrupt):
            run_sweep(sweep, folder, log=lambda _: None)
    monkeypatch.setattr(sweeping, "affordable_decisions", lambda *_: 512)
    (trial,) = run_sweep(sweep, folder, log=lambda _: None).study.trials
    assert (trial.state.name, trial.user_attrs["process"][2]) == ("COMPLETE", 1)


@pytest.mark.parametrize("saved", [0, 1])
def test_trial_goes_on_after_a_full_disk(
    saved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, folder = load_sweep(written(tmp_path, **TABLES, trials=1)), tmp_path / "sweep"

    left = saved

    def filling(path: Path, *state: Any) -> None:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        left -= 1
        save_state(path, *state)

    with monkeypatch.context() as patched:
        patched.setattr(runs, "save_state", filling)
        with pytest.raises((RunStopped, OSError), match="No space left on device"):
            run_sweep(sweep, folder, log=lambda _: None)
    (trial,) = study_of(folder).trials
    assert trial.state.name == "RUNNING"
    (trial,) = run_sweep(sweep, folder, log=lambda _: None).study.trials
    assert trial.state.name == "COMPLETE"


@pytest.mark.parametrize("saved", [0, 6])
def test_trials_of_workers_go_on_after_a_full_disk(
    saved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, folder = load_sweep(written(tmp_path, **TABLES, trials=2)), tmp_path / "sweep"
    full, hook = tmp_path / "full", tmp_path / "hook"
    hook.mkdir()
    # In the processes of the workers alone.
    (hook / "sitecustomize.py").write_text(
        f"""
import errno, os, sys

sys.modules["tensorboard"] = None
fsync, left = os.fsync, {saved}

def fsync_on_small_disk(descriptor):
    global left
    left -= 1
    if left < 0 and os.path.exists({str(full)!r}):
        raise OSError(errno.ENOSPC, "No space left on device")
    fsync(descriptor)

os.fsync = fsync_on_small_disk
""",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(hook))
    full.touch()
    lines = list[str]()
    with pytest.raises(RunStopped) as caught:
        run_sweep(sweep, folder, log=lines.append, workers=2)
    assert caught.value.status == FULL_DISK
    assert any("No space left on device" in line for line in lines)
    assert [trial.state.name for trial in study_of(folder).trials] == ["RUNNING"] * 2
    states = [(folder / "trials" / str(number) / "state.safetensors") for number in (0, 1)]
    assert [path.exists() for path in states] == [saved > 0] * 2
    full.unlink()
    trials = run_sweep(sweep, folder, log=lambda _: None, workers=2).study.trials
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * 2
    assert [trial.user_attrs["process"][2] for trial in trials] == [1, 1]


@pytest.mark.parametrize("code", [FULL_DISK, FIRST_SIGNAL + signal.SIGTERM])
def test_trial_that_fails_beside_one_that_goes_on_is_given_up(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, folder = load_sweep(written(tmp_path, **TABLES, trials=2)), tmp_path / "sweep"
    monkeypatch.setattr(
        sweeping, "run_jobs", lambda jobs, *_, **__: zip(jobs, (1, code), strict=True)
    )
    with pytest.raises(RunStopped) as caught:
        run_sweep(sweep, folder, log=lambda _: None, workers=2)
    assert caught.value.status == code
    assert ("make room" in str(caught.value)) == (code == FULL_DISK)
    failed, resumed = study_of(folder).trials
    assert (failed.state.name, resumed.state.name) == ("FAIL", "RUNNING")
    assert resumed.user_attrs["process"][2] == 0


def test_trial_that_ended_is_kept_where_the_one_before_cannot_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, folder = load_sweep(written(tmp_path, **TABLES, trials=2)), tmp_path / "sweep"
    with monkeypatch.context() as patched:
        patched.setattr(sweeping, "run_jobs", lambda jobs, *_, **__: zip(jobs, (0, 0), strict=True))
        patched.setattr(sweeping, "load_state", refuse)
        with pytest.raises(ValueError, match="no state"):
            run_sweep(sweep, folder, log=lambda _: None, workers=2)
    assert [trial.state.name for trial in study_of(folder).trials] == ["FAIL", "RUNNING"]


def refuse(*_: object) -> None:
    raise ValueError("no state")


@pytest.mark.parametrize("seconds", [-1.0, 2.0])
def test_trial_that_nobody_claimed_fails_after_a_while(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, folder = load_sweep(written(tmp_path, trials=2)), tmp_path / "sweep"
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    monkeypatch.setattr(sweeping, "_SECONDS_TO_BEGIN", seconds)
    folder.mkdir()
    study_of(folder).ask()
    lines = list[str]()
    trials = run_sweep(sweep, folder, log=lines.append).study.trials
    states = [trial.state.name for trial in trials]
    assert states == ["FAIL", "COMPLETE", "COMPLETE"]
    waiting = "waiting for trials that other commands train: trial 0 (it begins)"
    assert lines.count(waiting) == (seconds > 0)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"settings": {**SMALL, "decisions": 1280}}, "decisions 640, and now it is 1280"),
        ({"space": {"n_epochs": [1, 2]}}, "another space"),
        ({"eval_opponents": ["threshold"]}, "eval_opponents ['random'], and now"),
        ({"trial_seconds": 5}, "another trial_seconds"),
    ],
)
def test_changed_sweep_is_refused_where_it_was_begun(
    change: dict[str, object], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    sweep, folder = load_sweep(written(tmp_path, trials=1)), tmp_path / "sweep"
    run_sweep(sweep, folder, log=lambda _: None)
    changed = load_sweep(written(tmp_path, trials=2, **change))
    with pytest.raises(SettingsError, match=re.escape(f"was begun with {what}")):
        run_sweep(changed, folder, log=lambda _: None)
    # More trials, and a longer comparison of the best, are welcome.
    more = replace(sweep, trials=2, finalists=1, final_eval_hands=60)
    assert len(run_sweep(more, folder, log=lambda _: None).study.trials) == 2


def test_runs_of_a_lost_storage_are_refused_until_they_are_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    sweep = load_sweep(written(tmp_path, **TABLES, trials=2))
    run_sweep(sweep, folder, log=lambda _: None)
    (folder / JOURNAL).unlink()
    refused = r"trials.0 is the run of a trial that .* does not know: delete .*trials, or name"
    with pytest.raises(SettingsError, match=refused):
        run_sweep(sweep, folder, log=lambda _: None)
    shutil.rmtree(folder / "trials")
    trials = run_sweep(sweep, folder, log=lambda _: None).study.trials
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * 2


def test_run_of_one_lost_trial_is_the_only_one_to_delete(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    sweep = load_sweep(written(tmp_path, **TABLES, trials=2))
    run_sweep(sweep, folder, log=lambda _: None)
    stray = folder / "trials" / "2"
    shutil.copytree(folder / "trials" / "0", stray)
    more = replace(sweep, trials=3)
    with pytest.raises(SettingsError, match=re.escape(f"know: delete {stray}, or name another")):
        run_sweep(more, folder, log=lambda _: None)
    shutil.rmtree(stray)
    assert len(run_sweep(more, folder, log=lambda _: None).study.trials) == 3


def test_trial_whose_end_the_storage_lost_is_trained_anew(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    sweep = load_sweep(written(tmp_path, **TABLES, trials=2))
    whole = run_sweep(sweep, folder, log=lambda _: None).study.trials
    journal = folder / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    (end,) = [
        number
        for number, line in enumerate(lines)
        if b'"op_code": 6' in line.replace(b'":', b'": ').replace(b"  ", b" ")
        and b'"trial_id": 1' in line.replace(b'":', b'": ').replace(b"  ", b" ")
    ]
    journal.write_bytes(b"".join(lines[:end]) + lines[end][:10])
    trials = run_sweep(sweep, folder, log=lambda _: None).study.trials
    assert [trial.value for trial in trials] == [trial.value for trial in whole]


NETWORK = """
from torch import nn

class Net(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs=0):
        super().__init__()
        self.layers, self.value = nn.Linear(n_inputs, n_actions), nn.Linear(n_inputs, 1)
    def forward(self, observations, hidden_cards=None):
        return self.layers(observations), self.value(observations)[:, 0]
"""


@pytest.mark.parametrize("place", ["settings", "space"])
def test_sweep_with_a_changed_source_is_refused(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "train_or_resume", no_training)
    source = tmp_path / "swept_net.py"
    source.write_text(NETWORK, encoding="utf-8")
    name = f"{source}:Net"
    small = {**SMALL, "hidden_sizes": [256, 256]}
    network = {"settings": small, "space": {"n_epochs": [1, 2]}}
    if place == "space":
        network["space"] = {"network": ["", name]}
    else:
        network["settings"] = {**small, "network": name}
    folder = tmp_path / "sweep"
    path = written(tmp_path, trials=1, **network)
    run_sweep(load_sweep(path), folder, log=lambda _: None)
    run_sweep(load_sweep(path), folder, log=lambda _: None)
    # As in another process.
    for module in [each for each in sys.modules if each.startswith("swept_net")]:
        monkeypatch.delitem(sys.modules, module)
    source.write_text(NETWORK + "\n# A remark.\n", encoding="utf-8")
    with pytest.raises(
        SettingsError, match=r"was begun with another source of .*swept_net\.py:Net"
    ):
        run_sweep(load_sweep(path), folder, log=lambda _: None)


def test_trial_that_was_resumed_with_other_settings_is_refused_until_it_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sweep"
    sweep = load_sweep(written(tmp_path, **TABLES, trials=1))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(PruningCallback, "on_evaluation", interrupt)
        with pytest.raises(RunStopped):
            run_sweep(sweep, folder, log=lambda _: None)
    run = folder / "trials" / "0"
    text = (run / "settings.yaml").read_text(encoding="utf-8")
    assert "decisions: 640\n" in text
    changed = text.replace("decisions: 640\n", "decisions: 1280\n")
    (run / "settings.yaml").write_text(changed, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"0 was begun with decisions 1280, and now .* delete"):
        run_sweep(sweep, folder, log=lambda _: None)
    shutil.rmtree(run)
    (trial,) = run_sweep(sweep, folder, log=lambda _: None).study.trials
    assert (trial.number, trial.state.name) == (0, "COMPLETE")


def test_sweep_of_an_earlier_version_is_told_from_another_by_its_runs(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    sweep = load_sweep(written(tmp_path, **TABLES, trials=1))
    study = run_sweep(sweep, folder, log=lambda _: None).study
    study.set_user_attr("sweep", None)
    longer = {**TABLES, "settings": {**TABLES["settings"], "decisions": 1280}}
    changed = load_sweep(written(tmp_path, **longer, trials=2))
    with pytest.raises(SettingsError, match="begun with decisions 640, and now it is 1280: name"):
        run_sweep(changed, folder, log=lambda _: None)
    assert len(run_sweep(sweep, folder, log=lambda _: None).study.trials) == 1
    assert study_of(folder).user_attrs["sweep"]["settings"]["decisions"] == 640
