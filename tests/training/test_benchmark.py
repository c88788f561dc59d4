"""Benchmarks of algorithms: jobs are trained once and resumed, and their page compares them."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml
from processes import children_of, wait_for_end
from small_runs import interrupted_when

from german_whist import Game
from german_whist.agents.checkpoints import (
    FOLDER,
    list_checkpoints,
    read_checkpoint,
    write_checkpoint,
)
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.registry import load_agent
from german_whist.cli import main
from german_whist.common import plugins
from german_whist.common.provenance import processor
from german_whist.common.settings import SettingsError
from german_whist.common.signals import RunStopped
from german_whist.engine.rules import load_rules
from german_whist.evaluation import Estimate, evaluate
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.evaluation.reports.charts import PALETTE
from german_whist.training.algorithms.registry import trainer_kind
from german_whist.training.experiments import benchmark as benchmarking
from german_whist.training.experiments import benchmark_report
from german_whist.training.experiments.benchmark import (
    RUN,
    BenchmarkJob,
    HalvedBudgets,
    load_benchmark,
    measure_job,
    sampled_exploitability,
)
from german_whist.training.experiments.benchmark_report import (
    draw_charts,
    over_seeds,
    page,
    values_of,
)
from german_whist.training.experiments.benchmark_results import (
    Point,
    Result,
    is_solvable,
    load_results,
    published_results,
    unite,
)
from german_whist.training.experiments.benchmark_statistics import (
    draw_intervals,
    draw_pairs,
    estimate_text,
    interquartile_table,
    pairs_table,
)
from german_whist.training.folder import STATE, FolderLock
from german_whist.training.given import Given
from german_whist.training.presets import settings_from

pytestmark = pytest.mark.usefixtures("few_checked_hands")


@pytest.fixture(scope="module", autouse=True)
def random_play_measured_once() -> Iterator[None]:
    """Every page states the exploitability of random play, which takes a while on each deck."""
    measured = cache(lambda rules: measure_exploitability(load_agent("random-exact", rules), rules))

    def measure(agent: Any, rules: str) -> Any:
        assert agent.name == "random-exact"
        return measured(rules)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark_report, "measure_exploitability", measure)
        yield


# Of all trainers this one starts soonest: it needs no torch.
TINY = {
    "rules": ["2x4-h2"],
    "seeds": 3,
    "decisions": 512,
    "eval_points": 2,
    "algorithms": {"slow": {"trainer": "mccfr", "iteration": 64}},
}


def written(path: Path, **changes: object) -> str:
    path.write_text(yaml.safe_dump({**TINY, **changes}, sort_keys=False), encoding="utf-8")
    return str(path)


def points_in(folder: Path) -> list[dict[str, Any]]:
    """The measurements of a run without their times."""
    points = json.loads((folder / "result.json").read_text())["points"]
    return [{name: point[name] for name in ("decisions", "values")} for point in points]


def test_values_of_a_seed_are_one_observation() -> None:
    from scipy import stats

    figures = [np.array([1.0, 2.0, 6.0]), np.array([3.0, 6.0, 2.0])]
    estimate, seeds = over_seeds(figures), [2.0, 4.0, 4.0]
    low, high = stats.t.interval(0.95, 2, np.mean(seeds), stats.sem(seeds))
    assert [estimate.low, estimate.value, estimate.high] == pytest.approx(
        [low, 10 / 3, high], rel=1e-4
    )
    # Two games in which no seed differs from the others are sure, however far apart they are.
    apart = over_seeds([np.full(5, 1.0), np.full(5, 3.0)])
    assert (apart.low, apart.value, apart.high) == (2.0, 2.0, 2.0)


@pytest.mark.usefixtures("light_workers")
def test_benchmark_trains_what_is_missing_and_writes_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_results, rows = benchmarking._write_results, list[int]()

    def counted(jobs: Any, folder: Path) -> None:
        write_results(jobs, folder)
        rows.append(len(load_results(folder / "results.jsonl")))

    monkeypatch.setattr(benchmarking, "_write_results", counted)
    words = ["benchmark", written(tmp_path / "tiny.yaml"), "--folder", str(tmp_path / "found")]
    first = tmp_path / "found" / "2x4-h2" / "slow" / "seed-1"
    (first / RUN).mkdir(parents=True)  # killed before it saved anything
    (first / RUN / "settings.yaml").write_text("trainer: mccfr\n", encoding="utf-8")
    assert main(words) == 0
    assert rows == [1, 2, 3, 3]  # a page can be made while others run
    output = capsys.readouterr().out
    assert "3 of 3: slow on 2x4-h2, seed 3" in output
    assert "| `slow` | 0." in output
    runs = [first.with_name(f"seed-{seed}") for seed in (1, 2, 3)]
    points = [points_in(run) for run in runs]
    # Each ends with a whole hand, by the same deals.
    assert [[point["decisions"] // 256 for point in curve] for curve in points] == [[1, 2]] * 3
    assert len({curve[-1]["values"]["exploitability"] for curve in points}) == 3
    path = runs[1] / "result.json"
    path.unlink()
    monkeypatch.setattr(benchmarking, "run_jobs", run_in_this_process)
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "1 of 1: slow on 2x4-h2, seed 2" in output
    assert points_in(runs[1]) == points[1]
    # The page of results alone is the same. A job that is trained again takes other seconds.
    whole = (tmp_path / "found" / "results.jsonl").read_bytes()
    shown = ["benchmark", str(tmp_path / "found" / "results.jsonl"), "--folder", str(tmp_path)]
    assert main(shown) == 0
    assert (tmp_path / "found" / "results.jsonl").read_bytes() == whole
    pages = [(folder / "benchmark.md").read_text() for folder in (tmp_path, tmp_path / "found")]
    assert pages[0].partition("Made by")[0] == pages[1].partition("Made by")[0]
    (tmp_path / "found" / "benchmark.yaml").write_bytes(b"")
    assert main(words) == 2
    assert "benchmark.yaml: expected lines of 'name: value', found nothing; name another" in (
        capsys.readouterr().err
    )
    (tmp_path / "found" / "benchmark.yaml").unlink()
    assert main(words) == 0
    capsys.readouterr()
    other = written(tmp_path / "other.yaml", decisions=1024)
    assert main([words[0], other, *words[2:]]) == 2
    assert "was begun with decisions 512, and now it is 1024: name" in capsys.readouterr().err


# -- what a folder belongs to


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark's folder, of whose three seeds two are done and one is not begun."""
    folder = tmp_path_factory.mktemp("benchmark")
    benchmark = load_benchmark(written(folder / "tiny.yaml"))
    jobs = benchmark.jobs(folder / "found")
    for job in jobs[:2]:
        measure_job(job)
    return folder


def run_in_this_process(jobs: list[BenchmarkJob], *_: Any, **__: Any) -> Any:
    for job in jobs:
        measure_job(job)
        yield job, 0


def edit(path: Path, *steps: str | int, value: object) -> None:
    """Change a value in a JSON or YAML file."""
    content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    inner = content
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    path.write_text(json.dumps(content), encoding="utf-8")


FOREIGN = [
    ("result.json", ["budget"], 1024, "budget is 1024, and here it is 512"),
    (
        "result.json",
        ["settings", "hidden_sizes"],
        [999],
        r"settings: hidden_sizes is \[999\], and here it is not given",
    ),
    ("result.json", ["settings"], {}, "settings: trainer is not given, and here it is mccfr"),
    ("result.json", ["machine"], "another", "machine is another, and here it is "),
    ("result.json", ["evaluation"], "wins", "evaluation is wins, and here it is exploitability"),
    ("result.json", ["seed"], 1, "is the result of slow on 2x4-h2, seed 1 in place of slow on"),
    ("result.json", ["points"], [], "points is an empty list: it has to be a list of one or more"),
    ("result.json", ["points", 0, "values"], {"x": 1}, r"points: has values of \['exploitability'"),
    ("job.json", ["machine"], "another", "machine is another, and here it is "),
    ("job.json", ["settings", "iteration"], 32, "settings: iteration is 32, and here it is 64"),
    ("job.json", ["rules", "hand"], 3, "rules: hand is 3, and here it is 2"),
    ("job.json", ["eval_points"], 3, "eval_points is 3, and here it is 2"),
    ("run/settings.yaml", ["iteration"], 32, "was begun with iteration 32, and now it is 64"),
]


# One for each file that may be foreign.
TRAINED_AGAIN = [each[:3] for each in (FOREIGN[0], FOREIGN[8], FOREIGN[12])]


@pytest.mark.usefixtures("light_workers")
@pytest.mark.parametrize(("name", "steps", "value", "message"), FOREIGN)
def test_foreign_result_is_refused_before_training_until_it_is_deleted(
    name: str,
    steps: list[str | int],
    value: object,
    message: str,
    begun: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = tmp_path / "found"
    shutil.copytree(begun / "found", found)
    words = ["benchmark", str(begun / "tiny.yaml"), "--folder", str(found)]
    second = found / "2x4-h2" / "slow" / "seed-2"
    before = points_in(second)
    edit(second / name, *steps, value=value)
    monkeypatch.setattr(benchmarking, "run_jobs", None)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert re.search(message, error)
    assert str(second) in error
    assert not second.with_name("seed-3").exists()
    # The remedy works.
    (remedy,) = re.findall("[;:] delete (it|.*) and give the same command again", error)
    path = second / name if remedy == "it" else Path(remedy)
    path.unlink() if path.is_file() else shutil.rmtree(path)
    for job in load_benchmark(str(begun / "tiny.yaml")).jobs(found):
        job.check()
    if (name, steps, value) not in TRAINED_AGAIN:
        return
    monkeypatch.setattr(benchmarking, "run_jobs", run_in_this_process)
    assert main(words) == 0
    assert points_in(second) == before


@pytest.mark.usefixtures("light_workers")
def test_results_are_of_the_machine_that_measured_them(
    begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "found"
    shutil.copytree(begun / "found", found)
    (first, *_) = load_benchmark(str(begun / "tiny.yaml")).jobs(found)
    assert first.load_result().machine == processor()
    monkeypatch.setattr(benchmarking, "processor", lambda: "another")
    monkeypatch.setattr(benchmarking, "run_jobs", None)
    assert main(["benchmark", str(begun / "tiny.yaml"), "--folder", str(found)]) == 2
    assert "and here it is another; delete " in capsys.readouterr().err


OWN_CODE = """
from german_whist.training.algorithms.mccfr import MCCFR
from german_whist.training.callbacks.base import Callback

class Mine(MCCFR):
    pass

class Watch(Callback):
    pass
"""


OPPONENT = """
import numpy as np
from german_whist.agents.base import Agent
from german_whist.engine.view import action_masks

class Own(Agent):
    def act(self, views, rng):
        return action_masks(self.rules_array, views, self.rules.actions).argmax(1)
"""


@pytest.mark.usefixtures("light_workers")
@pytest.mark.parametrize("kind", ["class", "checkpoint"])
def test_win_rates_belong_to_the_opponent_that_was_played(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_opponent", raising=False)
    good = read_checkpoint("champion-1")
    if kind == "class":
        source, opponent = Path("own_opponent.py"), "own_opponent:Own"
        source.write_text(OPPONENT, "utf-8")
    else:
        source = write_checkpoint(Path("weak"), good.weights, good.card)
        opponent = str(source)
    changes = {"rules": ["classic"], "eval_opponents": [opponent], "eval_hands": 2}
    path = written(tmp_path / "own.yaml", algorithms={"sb3": {}}, decisions=64, **changes)
    words = ["benchmark", path, "--folder", "found", "--trust", "own_opponent:Own"]
    job, *_ = load_benchmark(path).jobs(Path("found"))
    origin = job.keep()
    before = origin["code"]
    assert origin["opponents"] == {opponent: before}
    (job.folder / RUN).mkdir()
    (job.folder / RUN / STATE).touch()  # of a run that was begun
    # As in another process.
    monkeypatch.delitem(sys.modules, "own_opponent", raising=False)
    if kind == "class":
        source.write_text(OPPONENT + "\n# A remark.\n", "utf-8")
    else:
        write_checkpoint(
            Path("weak"), {name: 2 * array for name, array in good.weights.items()}, good.card
        )
    monkeypatch.setattr(benchmarking, "run_jobs", None)
    assert main(words) == 2
    assert f"job.json: code is {before}, and here it is " in capsys.readouterr().err


@pytest.mark.usefixtures("light_workers")
@pytest.mark.parametrize(
    "settings",
    [{"trainer": "own_code:Mine"}, {"trainer": "mccfr", "callbacks": ["own_code:Watch"]}],
    ids=["trainer", "callback"],
)
def test_results_belong_to_the_source_that_was_trained(
    settings: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_code", raising=False)
    source, algorithm = Path("own_code.py"), {"iteration": 64, **settings}
    source.write_text(OWN_CODE, "utf-8")

    def digest() -> str:
        return hashlib.sha256(f"{source.name} ".encode() + source.read_bytes()).hexdigest()

    before, trained = digest(), benchmarking._train

    def edited_meanwhile(job: BenchmarkJob) -> Any:
        yield from trained(job)
        source.write_text(OWN_CODE + "\n# A remark.\n", "utf-8")

    path = written(tmp_path / "own.yaml", algorithms={"own": algorithm}, decisions=64)
    words = ["benchmark", path, "--folder", "found", "--trust", "own_code:Mine"]
    words += ["--trust", "own_code:Watch"]
    (first, second, third) = load_benchmark(path).jobs(Path("found"))
    measure_job(first)
    monkeypatch.setattr(benchmarking, "_train", edited_meanwhile)
    measure_job(second)
    # A process goes on with the code that it imported.
    measure_job(third)
    results = [
        msgspec.json.decode((job.folder / "result.json").read_bytes(), type=Result)
        for job in (first, second, third)
    ]
    assert [result.code for result in results] == [before] * 3
    assert digest() != before
    # As in another process.
    monkeypatch.delitem(sys.modules, "own_code")
    importlib.import_module("own_code")
    shutil.rmtree(third.folder)
    monkeypatch.setattr(benchmarking, "run_jobs", None)
    # The second is begun and not ended.
    (second.folder / "result.json").unlink()
    kept = [first.folder / "job.json", second.folder / "job.json", first.folder / "result.json"]
    for file in kept:
        assert main(words) == 2
        told = capsys.readouterr().err
        assert re.search(f"{file}: code is {before}, and here it is {digest()}; delete ", told)
        edit(file, "code", value=digest())


@pytest.mark.usefixtures("light_workers")
def test_result_of_another_evaluation_is_measured_anew(
    begun: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = tmp_path / "found"
    shutil.copytree(begun / "found", found)
    second = found / "2x4-h2" / "slow" / "seed-2"
    before = points_in(second)
    # Of a metric that no other run has, in both files that hold values.
    for name in ("result.json", "values.json"):
        text = (second / name).read_text(encoding="utf-8")
        (second / name).write_text(text.replace('"exploitability": ', '"other": '), "utf-8")
        text = (second / name).read_text(encoding="utf-8")
        (second / name).write_text(text.replace('"exploitability":', '"other":'), "utf-8")
    monkeypatch.setattr(benchmarking, "run_jobs", run_in_this_process)
    words = ["benchmark", str(begun / "tiny.yaml"), "--folder", str(found)]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "has values of ['other'] in place of ['exploitability']; delete it and" in error
    (second / "result.json").unlink()
    assert main(words) == 0
    assert points_in(second) == before


@pytest.mark.usefixtures("light_workers")
def test_results_whose_runs_were_deleted_stay_until_they_are_made_again(
    begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "found"
    shutil.copytree(begun / "found", found)
    path = found / "results.jsonl"
    jobs = load_benchmark(str(begun / "tiny.yaml")).jobs(found)
    benchmarking._write_results(jobs, found)
    lines = path.read_bytes().splitlines()
    shutil.rmtree(jobs[0].folder)
    shutil.rmtree(jobs[1].folder)
    words = ["benchmark", str(begun / "tiny.yaml"), "--folder", str(found)]
    seen: list[list[bytes]] = []

    def one_by_one(missing: list[BenchmarkJob], *_: Any, **__: Any) -> Any:
        for job in (missing[2], missing[0], missing[1]):
            measure_job(job)
            yield job, 0
            seen.append(path.read_bytes().splitlines())

    monkeypatch.setattr(benchmarking, "run_jobs", one_by_one)
    assert main(words) == 0
    assert "2 of 3 runs were made before, and their folders are gone" in capsys.readouterr().out
    assert seen[0][:2] == lines
    assert [len(each) for each in seen] == [3, 3, 3]
    assert seen[1][1] == lines[1] != seen[2][1]  # its seconds are others
    # Results of other settings, and of other runs, are nobody's to overwrite.
    shutil.rmtree(jobs[0].folder)
    text = path.read_text(encoding="utf-8")
    for old, new, sentence in (
        ('"budget":512', '"budget":513', "slow on 2x4-h2, seed 1: budget is 513, and here it"),
        ('"algorithm":"slow"', '"algorithm":"mine"', "has mine on 2x4-h2, seed 1, which this"),
    ):
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        assert main(words) == 2
        assert sentence in capsys.readouterr().err
        assert path.read_text(encoding="utf-8") == text.replace(old, new, 1)
    path.write_text("garbage\n", encoding="utf-8")
    assert main(words) == 2
    assert "results.jsonl, line 1: is not valid JSON: " in (error := capsys.readouterr().err)
    assert error.endswith("delete it and give the same command again\n")


def test_values_belong_to_checkpoint_and_evaluation(begun: Path, tmp_path: Path) -> None:
    shutil.copytree(begun / "found", tmp_path / "found")
    (job, *_) = load_benchmark(str(begun / "tiny.yaml")).jobs(tmp_path / "found")
    points = points_in(job.folder)
    path = job.folder / "values.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    assert len(values) == len(points) == 2
    assert all(key.startswith("exploitability of 000000000") for key in values)
    # A policy of the same name, and the same policy by another evaluation.
    for replaced in (
        {f"{key[:-1]}x": {"exploitability": 9.0} for key in values},
        {key.replace("exploitability", "wins"): {"exploitability": 9.0} for key in values},
    ):
        path.write_text(json.dumps(replaced), encoding="utf-8")
        (job.folder / "result.json").unlink()
        measure_job(job)
        assert points_in(job.folder) == points


@pytest.mark.usefixtures("light_workers")
def test_run_that_is_not_of_the_job_is_refused(begun: Path, tmp_path: Path) -> None:
    shutil.copytree(begun / "found", tmp_path / "found")
    (job, *_) = load_benchmark(str(begun / "tiny.yaml")).jobs(tmp_path / "found")
    (job.folder / "job.json").unlink()
    with pytest.raises(ValueError, match=r"has no job\.json, which tells the settings and"):
        job.check()
    (job.folder / "result.json").unlink()
    with pytest.raises(ValueError, match=rf"{re.escape(str(job.folder))}: has no job\.json"):
        measure_job(job)


def test_benchmark_trains_on_the_processor_unless_asked(tmp_path: Path) -> None:
    for settings in ({}, {"device": "cuda"}, {"device": "auto"}):
        algorithms = {"ppo": {"trainer": "ppo"}}
        path = written(tmp_path / "x.yaml", algorithms=algorithms, settings=settings)
        ppo = next(job for job in load_benchmark(path).jobs(tmp_path) if job.algorithm == "ppo")
        assert ppo.settings["device"] == settings.get("device", "cpu")


def test_players_are_evaluated_on_deals_not_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    def recorded(*words: Any, **options: Any) -> Any:
        assert words[0].endswith(",sample")
        seeds.append(options["seed"])
        return evaluate(*words, **options)

    monkeypatch.setattr("german_whist.training.experiments.benchmark.evaluate", recorded)
    path = written(
        tmp_path / "own.yaml",
        rules=["small-last"],
        decisions=64,
        eval_points=1,
        eval_hands=4,
        eval_opponents=["random"],
        settings={"horizon": "auto"},
        algorithms={"ppo": {"n_envs": 2, "hidden_sizes": [4], "batch_size": 2}},
    )
    benchmark = load_benchmark(path)
    (job, *_) = benchmark.jobs(tmp_path / "found")
    measure_job(job)

    def deals(seed: int) -> set[str]:
        games = [Game("small-last", seed=seed, number=number) for number in range(40)]
        return {str(game.cards_dealt) for game in games}

    (seed,) = seeds
    assert not deals(job.seed) & deals(seed)


def test_algorithm_that_is_named_like_a_path_stays_in_the_folder(tmp_path: Path) -> None:
    rules = tmp_path / "own.yaml"
    fields = {"name": "../own", "suits": 2, "ranks": 4, "hand": 2}
    rules.write_text(yaml.safe_dump(fields), encoding="utf-8")
    path = written(
        tmp_path / "tiny.yaml", rules=[str(rules)], algorithms={"../../x": {"trainer": "mccfr"}}
    )
    (job, *_) = load_benchmark(path).jobs(tmp_path / "found")
    assert job.folder.resolve().is_relative_to(tmp_path / "found")
    assert len(job.folder.relative_to(tmp_path / "found").parts) == 3


@pytest.mark.usefixtures("light_workers")
def test_interrupted_job_comes_to_the_same_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"decisions": 4096, "eval_points": 3}
    (job, *_) = load_benchmark(written(tmp_path / "tiny.yaml", **changes)).jobs(tmp_path / "whole")
    measure_job(job)
    other = replace(job, folder=tmp_path / "parts")
    interrupt = interrupted_when(lambda run: run.trainer.decisions > 1100)

    class Interrupted(HalvedBudgets):
        def on_iteration(self, run: Any, metrics: Any) -> None:
            super().on_iteration(run, metrics)
            interrupt.on_iteration(run, metrics)

    with monkeypatch.context() as patched:
        patched.setattr(benchmarking, "HalvedBudgets", Interrupted)
        with pytest.raises(RunStopped):
            measure_job(other)
    assert not (other.folder / "result.json").exists()
    measure_job(other)
    points = points_in(job.folder)
    assert [point["decisions"] // 64 for point in points] == [16, 32, 64]
    assert points_in(other.folder) == points
    # What was evaluated before a kill is kept.
    path_of(other).unlink()
    monkeypatch.setattr(benchmarking, "sampled_exploitability", None)
    measure_job(other)
    assert points_in(other.folder) == points
    path_of(other).unlink()
    values = other.folder / "values.json"
    before = values.read_text(encoding="utf-8")
    for text, why in ((before[:-20], "is not valid JSON"), ("[]", "it has to be a mapping")):
        values.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=rf"values\.json: .*{why}.*; delete it and give"):
            measure_job(other)
    values.write_text(before, encoding="utf-8")
    foreign = other.folder / RUN / FOLDER / "000000002000.safetensors"
    shutil.copy(list_checkpoints(other.folder / RUN / FOLDER)[-1], foreign)
    with pytest.raises(ValueError, match=rf"{foreign.name}: is not of the run in this folder"):
        measure_job(other)
    foreign.unlink()
    measure_job(other)
    seconds = [point["seconds"] for point in json.loads(path_of(other).read_text())["points"]]
    assert seconds == sorted(seconds)


@pytest.mark.usefixtures("light_workers")
def test_failed_training_says_why_where_the_benchmark_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (job, *_) = load_benchmark(written(tmp_path / "tiny.yaml")).jobs(tmp_path)

    class Failing(HalvedBudgets):
        def on_iteration(self, run: Any, metrics: Any) -> None:
            raise KeyError("no such card")

    with monkeypatch.context() as patched:
        patched.setattr(benchmarking, "HalvedBudgets", Failing)
        with pytest.raises(RunStopped):
            measure_job(job)
    assert re.search(r"KeyError: 'no such card'", capsys.readouterr().out)
    interrupt = interrupted_when(lambda run: run.trainer.decisions > 100)
    monkeypatch.setattr(benchmarking, "HalvedBudgets", lambda _: interrupt)
    with pytest.raises(RunStopped):
        measure_job(job)
    assert not capsys.readouterr().out


def test_job_that_came_to_nothing_may_have_other_code_the_next_time(tmp_path: Path) -> None:
    """A class that failed at once is mended, and the same command goes on."""
    (job, *_) = load_benchmark(written(tmp_path / "tiny.yaml")).jobs(tmp_path)
    job.keep()
    edit(job.folder / "job.json", "code", value="another")
    measure_job(job)
    assert json.loads((job.folder / "job.json").read_bytes())["code"] == ""
    path_of(job).unlink()
    edit(job.folder / "job.json", "code", value="another")
    with pytest.raises(ValueError, match="code is another, and here it is ''; delete "):
        measure_job(job)


def test_run_that_cannot_be_resumed_is_to_be_trained_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job, *_) = load_benchmark(written(tmp_path / "tiny.yaml")).jobs(tmp_path)
    interrupt = interrupted_when(lambda run: run.trainer.decisions > 100)
    with monkeypatch.context() as patched:
        patched.setattr(benchmarking, "HalvedBudgets", lambda _: interrupt)
        with pytest.raises(RunStopped):
            measure_job(job)

    def restore(*_: object) -> None:
        raise ValueError("the net has another shape")

    advice = rf"; if .* anew: delete {re.escape(str(job.folder))} and give the same command again"
    with monkeypatch.context() as patched:
        patched.setattr(trainer_kind("mccfr"), "restore", restore)
        with pytest.raises(ValueError, match=rf"the net has another shape.*{advice}"):
            measure_job(job)
    (job.folder / RUN / STATE).unlink()
    with pytest.raises(ValueError, match=rf"no {STATE} to go on from.*{advice}"):
        measure_job(job)
    shutil.rmtree(job.folder / RUN / FOLDER)
    with pytest.raises(ValueError, match=rf"run is not empty.*{advice}"):
        measure_job(job)
    shutil.rmtree(job.folder)
    measure_job(job)
    assert points_in(job.folder)


def path_of(job: Any) -> Path:
    return job.folder / "result.json"


def test_cfr_plus_halves_its_budget_and_draws_nothing(tmp_path: Path) -> None:
    algorithms = {"cfr+": {"decisions": 10 * 18_984, "eval_points": 3}}
    jobs = load_benchmark(written(tmp_path / "mccfr.yaml", algorithms=algorithms)).jobs(tmp_path)
    (job,) = jobs
    measure_job(job)
    points = points_in(job.folder)
    assert [point["decisions"] / 18_984 for point in points] == [2, 5, 10]
    values = [point["values"]["exploitability"] for point in points]
    # The published values after 2 iterations, and between those after 8 and 16.
    assert values[0] == pytest.approx(0.02813, abs=1e-5)
    assert 0.0008739 > values[2] > 0.000127


def test_cfr_plus_needs_no_trainings_settings_and_no_opponents(tmp_path: Path) -> None:
    # The deck has a public tree, which is too large to measure every checkpoint by.
    rules = tmp_path / "large.yaml"
    rules.write_text("{suits: 2, ranks: 9, hand: 8}", encoding="utf-8")
    changes = {"rules": [str(rules)], "settings": {"critic": "separate"}}
    path = written(tmp_path / "solved.yaml", algorithms={"cfr+": {}, "ppo": {}}, **changes)
    jobs = load_benchmark(path).jobs(tmp_path)
    solved, trained = jobs[0], jobs[1]
    assert not is_solvable(load_rules(rules))
    assert solved.metrics == [solved.evaluation] == ["exploitability"]
    assert trained.metrics == ["wins against threshold"]
    assert solved.origin["settings"] == {"trainer": "cfr+"}
    assert trained.origin["settings"] == {"critic": "separate", "trainer": "ppo"}


@pytest.mark.parametrize("name", ["exact-large", "exact-long", "exact-depth", "exact-hand"])
def test_other_exact_benchmarks_differ_in_decks_budgets_and_seeds_alone(name: str) -> None:
    def settings_of(algorithm: dict[str, Any]) -> dict[str, Any]:
        others = {"rules", "seeds", "decisions", "eval_points", "trainer"}
        return {key: algorithm[key] for key in algorithm.keys() - others}

    # The settings for 90 seconds can harm an hour, so the hour has the best of exact-hour.
    hour = load_benchmark("exact-hour").algorithms
    long = {"ppo-hour": hour["ppo-hour-wide"], "mmd-hour": hour["mmd-separate-hour-slow"]}
    exact = load_benchmark("exact").algorithms | long
    for algorithm, settings in load_benchmark(name).algorithms.items():
        same = re.sub("-(90-seconds|10-minutes)$", "-tuned", algorithm.removesuffix("-hand"))
        assert settings.get("trainer", algorithm) == exact[same].get("trainer", same)
        assert settings_of(settings) == settings_of(exact[same]), algorithm


@pytest.mark.parametrize("name", ["exact", "exact-large", "exact-long", "exact-depth"])
def test_exact_benchmarks_give_equal_information(name: str) -> None:
    for job in load_benchmark(name).jobs(Path()):
        given = job.given
        assert given.critic in ("own view", "none"), job.name
        assert (given.precision, given.ema) == ("float32", "off"), job.name


def test_own_trainers_and_networks_can_be_measured_by_whole_hands(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(NETWORK, encoding="utf-8")
    for named in ("german_whist.training.algorithms.ppo:PPO", "mine.py:Net"):
        (own, *_) = load_benchmark("exact-hand", [named]).jobs(tmp_path)
        assert own.settings["horizon"] == "hand"


def test_ablation_has_every_combination_with_the_settings_of_two_searches() -> None:
    """The rows without a privileged critic and an average are in the main table."""
    given = ("critic", "ema_decay", "kl_coef")
    exact = load_benchmark("exact").algorithms
    tuned: set[tuple[str, str, bool]] = set()
    others: dict[str, list[dict[str, Any]]] = {"ppo": [], "mmd": []}
    other: set[tuple[str, str, bool]] = set()
    for settings in load_benchmark("exact-ablation").algorithms.values():
        own: dict[str, Any] = {**settings}
        trainer, critic, decay = (own[name] for name in ("trainer", "critic", "ema_decay"))
        searched = {name: value for name, value in own.items() if name not in given}
        if searched.items() <= exact[f"{trainer}-tuned"].items():
            tuned.add((trainer, critic, bool(decay)))
        else:
            other.add((trainer, critic, bool(decay)))
            others[trainer].append(searched)
    every = set(itertools.product(("ppo", "mmd"), ("separate", "oracle"), (False, True)))
    assert other == every
    assert tuned == every - {("ppo", "separate", False), ("mmd", "separate", False)}
    for searched in others.values():
        assert all(settings == searched[0] for settings in searched)


@pytest.mark.usefixtures("light_workers")
def test_benchmark_measures_players_that_sample(tmp_path: Path) -> None:
    """With exact endgames, though the player was trained on endgames."""
    deck = tmp_path / "deck.yaml"
    deck.write_text(yaml.safe_dump({"name": "2x3-h2", "suits": 2, "ranks": 3, "hand": 2}), "utf-8")
    path = written(
        tmp_path / "sampled.yaml",
        rules=[str(deck)],
        decisions=64,
        eval_points=1,
        algorithms={"ppo": {"n_envs": 2, "hidden_sizes": [4], "batch_size": 2, "horizon": "hand"}},
    )
    (job, *_) = load_benchmark(path).jobs(tmp_path / "found")
    measure_job(job)
    rules, points = load_rules(job.rules), points_in(job.folder)
    (checkpoint,) = list_checkpoints(job.folder / RUN / FOLDER)
    sampled, greedy = (
        measure_exploitability(
            NetworkAgent(rules, checkpoint, mode, "endgame=exact"), rules
        ).exploitability
        for mode in ("sample", "greedy")
    )
    assert points[-1]["values"]["exploitability"] == pytest.approx(sampled)
    assert abs(sampled - greedy) > 0.01
    # Or with the endings that it plays itself.
    own = sampled_exploitability(checkpoint, rules, "own")
    network = NetworkAgent(rules, checkpoint, "sample", "endgame=network")
    assert own == pytest.approx(measure_exploitability(network, rules).exploitability)
    assert abs(own - sampled) > 0.01


def test_evaluation_says_whose_endings_were_played(tmp_path: Path) -> None:
    hands = {"nfsp": {"horizon": "hand"}}
    names = [
        load_benchmark(written(tmp_path / "x.yaml", endings=endings, algorithms=hands))
        .jobs(tmp_path)[0]
        .evaluation
        for endings in ("exact", "own")
    ]
    assert names == ["exploitability", "exploitability with its own endings"]


@pytest.mark.usefixtures("light_workers")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_signal_ends_the_training_under_way_and_none_begins(
    number: signal.Signals, tmp_path: Path
) -> None:
    path = written(
        tmp_path / "long.yaml",
        decisions=1_000_000_000,
        eval_points=1,
        algorithms={"mccfr": {"iteration": 1000}},
    )
    command = [sys.executable, "-m", "german_whist", "benchmark", path]
    command += ["--folder", str(tmp_path / "found")]
    run = tmp_path / "found" / "2x4-h2" / "mccfr" / "seed-1"
    log = run / RUN / "log.txt"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 120
        while not (log.exists() and "decisions" in log.read_text()) and time.monotonic() < until:
            time.sleep(0.02)
        (worker,) = children_of(process.pid)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == (143 if number == signal.SIGTERM else -number)
        assert (b"goes on with the same command" in output) == (number == signal.SIGTERM)
    # A benchmark that is killed leaves no training behind, which would hold its folder.
    assert wait_for_end(worker, 30)
    assert "stopped after " in log.read_text(encoding="utf-8")
    FolderLock(run / RUN).release()
    assert [path.name for path in run.parent.iterdir()] == ["seed-1"]


def test_second_command_for_the_same_folder_is_refused(
    begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "found"
    shutil.copytree(begun / "found", found)
    words = ["benchmark", str(begun / "tiny.yaml"), "--folder", str(found)]
    result = found / "2x4-h2" / "slow" / "seed-1" / "result.json"
    result.unlink()
    monkeypatch.setattr(benchmarking, "run_jobs", None)
    lock = FolderLock(found, "filled")
    assert main(words) == 2
    assert f"{found} is being filled by process {os.getpid()} on " in capsys.readouterr().err
    # Before another benchmark of the same command begins.
    monkeypatch.chdir(tmp_path)
    shutil.copytree(found, tmp_path / "runs" / "benchmark-second")
    second = FolderLock(tmp_path / "runs" / "benchmark-second", "filled")
    shutil.copy(begun / "tiny.yaml", "second.yaml")
    assert main(["benchmark", str(begun / "tiny.yaml"), "second.yaml", "--folder", "first"]) == 2
    assert "benchmark-second is being filled" in capsys.readouterr().err
    assert not Path("first").exists()
    second.release()
    lock.release()
    monkeypatch.setattr(benchmarking, "run_jobs", run_in_this_process)
    assert main(words) == 0
    assert result.exists()
    assert not (found / "lock.json").exists()


def result_with(*points: Point, **fields: Any) -> Result:
    return Result(
        **{
            "rules": "2x4-h2",
            "algorithm": "x",
            "seed": 1,
            "budget": points[-1].decisions,
            "settings": {},
            "evaluation": "exploitability",
            "machine": "a processor",
            "points": [*points],
            **fields,
        }
    )


def results_of(
    rules: str,
    algorithm: str,
    *curves: list[float],
    metric: str = "exploitability",
    **fields: Any,
) -> list[Result]:
    """Results by seed, from exploitabilities after 256 decisions and a second each.

    The budget is the length of the longest curve.
    """
    fields = {"budget": 256 * max(map(len, curves)), **fields}
    return [
        result_with(
            *(
                Point(256 * number, float(number), {metric: value})
                for number, value in enumerate(curve, 1)
            ),
            rules=rules,
            algorithm=algorithm,
            seed=seed,
            **fields,
        )
        for seed, curve in enumerate(curves, 1)
    ]


def test_chart_leaves_out_seeds_without_a_budget_in_common() -> None:
    results = results_of("2x4-h2", "ppo", [0.04, 0.02], [0.06, 0.03])
    other = result_with(
        Point(700, 1.0, {"exploitability": 0.5}), Point(900, 2.0, {"exploitability": 0.4}), seed=1
    )
    others = [other, msgspec.structs.replace(results[0], algorithm="x", seed=2)]
    assert draw_charts([*results, *others]) == draw_charts(results)


def test_page_has_a_row_for_each_algorithm() -> None:
    decks = ["2x4-h2", "2x5-h3"]
    results = [
        result
        for rules in decks
        for name, value in {"nfsp": 0.02, "mmd": 0.01}.items()
        for result in results_of(rules, name, *[[0.1, value]] * 5)
    ]
    results += results_of("2x4-h2", "cfr+", [0.1, 0.001])
    charts = draw_charts(results)
    markdown = page(results, "german-whist benchmark two", "pictures", drawn=charts)
    rows = [line for line in markdown.splitlines() if line.startswith("| `")]
    assert rows[0].startswith("| `nfsp` | 0.0200 [0.0200, 0.0200] | 0.0200 [0.0200, 0.0200] | ")
    # Random play's is 0.1854 and 0.3130.
    assert rows[1].endswith("| 0.043 [0.043, 0.043] |")
    assert rows[2] == "| `cfr+` | 0.0010 (1 seed) | – | – |"
    assert rows[3].startswith("| `random-exact` | 0.1854 | 0.3130 | 1 |")
    assert "| `nfsp` | 512, 2.0 s, 5 seeds | 512, 2.0 s, 5 seeds |" in rows
    assert [*charts] == [
        f"benchmark-{rules}-exploitability{ending}.svg"
        for rules in decks
        for ending in ("", "-time")
    ]
    assert all(f"(pictures/{name})" in markdown for name in charts)
    assert all("● nfsp" in chart and "● mmd" in chart for chart in charts.values())


def test_runs_with_one_point_have_no_chart() -> None:
    once = [*results_of("2x4-h2", "a", [0.1], [0.2]), *results_of("2x4-h2", "b", [0.3])]
    assert not draw_charts(once)
    assert "![" not in page(once, "", "pictures", drawn=draw_charts(once))
    assert len(draw_charts([*once, *results_of("2x4-h2", "c", [0.3, 0.2])])) == 2


def test_results_that_are_given_twice_count_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = results_of("2x4-h2", "cfr+", [0.1, 0.001])
    results += results_of("2x4-h2", "ppo", [0.04, 0.02], [0.06, 0.03], [0.05, 0.04])
    paths = [str(tmp_path / name) for name in ("mine.jsonl", "published.jsonl")]
    for path in paths:
        Path(path).write_bytes(b"\n".join(map(msgspec.json.encode, results)))
    assert main(["benchmark", *paths, "--folder", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "| `cfr+` | 0.0010 (1 seed) |" in output
    assert "| `ppo` | 512, 2.0 s, 3 seeds |" in output


def test_names_in_a_strangers_results_have_no_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    algorithm, metric = "<script>x</script>|`\n# \x1b[2J", "x/../../../pwned\n|<b>"
    results = [
        result_with(
            *(Point(256 * n, float(n), {metric: 0.1 / n}) for n in (1, 2)),
            algorithm=algorithm,
            seed=seed,
            machine=algorithm,
            evaluation=metric,
        )
        for seed in (1, 2, 3)
    ]
    folder = tmp_path / "shown"
    path = tmp_path / "theirs.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, results)))
    assert main(["benchmark", str(path), "--folder", str(folder)]) == 0
    assert {each.name for each in tmp_path.iterdir()} == {"shown", "theirs.jsonl"}
    names = {each.name for each in folder.iterdir()}
    assert len(names) == 5
    assert all(name.startswith("benchmark") for name in names)
    markdown = (folder / "benchmark.md").read_text(encoding="utf-8")
    assert re.findall(r"<(script|b)>", re.sub(r"(`+).*?\1", "", markdown)) == []
    columns = [
        {line.replace("\\|", "").count("|") - 1 for line in part.splitlines()}
        for part in markdown.split("\n\n")
        if part.startswith("|")
    ]
    assert columns == [{2}, {7}, {2}, {2}]
    assert "\n# " not in markdown
    assert all(name in markdown for name in names if name.endswith(".svg"))
    assert "<script>" not in (folder / "benchmark-intervals.svg").read_text(encoding="utf-8")
    assert "\x1b" not in capsys.readouterr().out


def test_metrics_that_would_share_a_chart_are_refused() -> None:
    values = {"wins against a": 0.1, "wins-against-a": 0.2}
    result = result_with(Point(1, 1.0, values), Point(2, 2.0, values))
    with pytest.raises(ValueError, match="two metrics have the chart benchmark-2x4-h2-wins"):
        draw_charts([result])


NETWORK = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.policy = nn.Linear(n_inputs, n_actions)
        self.critic = nn.Linear(n_inputs + n_hidden_inputs, 1)

    def forward(self, observations, hidden_cards=None):
        logits = self.policy(observations)
        if hidden_cards is None:
            return logits, None
        return logits, self.critic(torch.cat([observations, hidden_cards], 1))


def helper():
    pass
"""


@pytest.mark.usefixtures("light_workers")
def test_outside_network_is_trained_beside_published_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(benchmarking, "run_jobs", run_in_this_process)
    Path("mine.py").write_text(NETWORK, encoding="utf-8")
    algorithms = {"other": {"trainer": "mccfr"}, "ppo": {"n_envs": 64, "hidden_sizes": [8]}}
    path = written(
        tmp_path / "own.yaml", decisions=512, eval_points=1, algorithms=algorithms, seeds=3
    )
    assert main(["benchmark", path, "mine.py:Net", "--folder", "found"]) == 0
    capsys.readouterr()
    text = Path("found/benchmark.md").read_text(encoding="utf-8")
    assert "| `Net` | own view | " not in text
    assert re.search(r"\| `Net` \| hidden cards \| relative ranks \| float32 \| on \|", text)
    assert "- `Net` had 512 decisions on `2x4-h2`, where published networks had " in text
    assert "| `ppo-tuned` | " in text
    (first, *_) = load_results(Path("found/results.jsonl"))
    assert first.settings["network"] == "mine.py:Net"
    assert len(first.reference) == 2
    assert min(first.reference) > 0
    # Another source is another network.
    Path("mine.py").write_text(NETWORK.replace("pass", "return 1"), encoding="utf-8")
    plugins._loaded_file.cache_clear()
    assert main(["benchmark", path, "mine.py:Net", "--folder", "found"]) == 2
    assert re.search("code is [0-9a-f]+, and here it is", capsys.readouterr().err)
    # What neither a trainer nor a network is, and a benchmark that trains none.
    assert main(["benchmark", path, "mine.py:helper"]) == 2
    assert "mine.py:helper is a function: give a trainer, which is a class of" in (
        capsys.readouterr().err
    )
    none = written(tmp_path / "none.yaml", algorithms={"mccfr": {}})
    assert main(["benchmark", none, "mine.py:Net"]) == 2
    assert "no algorithm of the benchmark trains one" in capsys.readouterr().err


def test_network_is_trained_by_the_algorithm_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(NETWORK, encoding="utf-8")
    net = f"{tmp_path / 'mine.py'}:Net"
    algorithms = {"ppo": {"n_envs": 64}, "mmd": {"n_envs": 32, "hidden_sizes": [8], "decisions": 9}}
    for named, trainer in (("", "ppo"), ("mmd", "mmd")):
        path = written(tmp_path / "own.yaml", algorithms=algorithms, network_algorithm=named)
        assert [*load_benchmark(path).algorithms] == ["ppo", "mmd"]
        (only,) = load_benchmark(path, [net]).algorithms.values()
        assert only == {
            "n_envs": 64 if trainer == "ppo" else 32,
            "trainer": trainer,
            "network": net,
        }
    # The sizes of the built-in networks are not those of this one.
    shared = {"algorithms": algorithms, "settings": {"hidden_sizes": [16]}}
    path = written(tmp_path / "own.yaml", **shared)
    (job, *_) = load_benchmark(path, [net]).jobs(tmp_path)
    assert (job.settings["network"], job.settings["hidden_sizes"]) == (net, [256, 256])
    path = written(tmp_path / "own.yaml", algorithms=algorithms, network_algorithm="mdm")
    assert load_benchmark(path).algorithms  # one of a preset matters where there is a network
    with pytest.raises(SettingsError, match=r"is 'mdm', which is not .*'mmd'"):
        load_benchmark(path, [net])
    tables = {**algorithms, "table": {"trainer": "mccfr"}}
    path = written(tmp_path / "own.yaml", algorithms=tables, network_algorithm="table")
    with pytest.raises(SettingsError, match=r"is 'table', which trains no network .*: ppo or mmd"):
        load_benchmark(path, [net])


def test_point_is_written_though_nothing_was_learned_as_it_was_passed(tmp_path: Path) -> None:
    state = SimpleNamespace(evaluation_due=False)
    settings = SimpleNamespace(decisions=2000)
    run: Any = SimpleNamespace(
        folder=tmp_path, settings=settings, state=state, trainer=SimpleNamespace(decisions=1008)
    )
    # Interrupted at 1,008 decisions, after an iteration of which callbacks hear nothing.
    callback = HalvedBudgets(2)
    callback.on_start(run)
    run.trainer.decisions = 1016
    callback.on_iteration(run, {})
    assert state.evaluation_due
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "000000001004.safetensors").touch()
    state.evaluation_due = False
    callback.on_start(run)
    run.trainer.decisions = 1024
    callback.on_iteration(run, {})
    assert not state.evaluation_due
    # Interrupted in the iteration that passed it: the point is written as the run begins.
    state.evaluation_due = True
    run.trainer.decisions = 1024
    (tmp_path / "checkpoints" / "000000001004.safetensors").unlink()
    callback.on_start(run)
    state.evaluation_due = False
    run.trainer.decisions = 1040
    callback.on_iteration(run, {})
    assert not state.evaluation_due


def test_outside_classes_have_settings_that_other_algorithms_do_not_take(tmp_path: Path) -> None:
    sized = NETWORK.replace("n_hidden_inputs):", "n_hidden_inputs, width=4):")
    own = "class Own(PPO):\n    pass\n"
    source = f"from german_whist.training.algorithms.ppo import PPO\n{sized}\n\n{own}"
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    net, trainer = (f"{tmp_path / 'mine.py'}:{name}" for name in ("Net", "Own"))
    preset = {"preset": "exact", "rules": ["2x4-h2"]}

    def settings_with(source: str, **fields: object) -> Any:
        path = tmp_path / "own.yaml"
        path.write_text(yaml.safe_dump({**preset, **fields}), encoding="utf-8")
        job, *_ = load_benchmark(path, [source]).jobs(tmp_path)
        return job.settings

    # The table of MCCFR in the preset learns without them.
    shared = {"learning_rate": 0.5, "n_envs": 128}
    settings = settings_with(trainer, settings=shared)
    assert (settings["learning_rate"], settings["n_envs"]) == (0.5, 128)
    options = {"network_options": {"width": 16}}
    assert settings_with(net, settings=options)["network_options"] == {"width": 16}
    # Before any of the benchmark's other algorithms is trained.
    refusal = r"network_options is \{'widht': 16\}, which .*:Net does not take: .*'widht'"
    with pytest.raises(ValueError, match=refusal):
        settings_with(net, settings={"network_options": {"widht": 16}})
    entry = {"trainer": "ppo", "n_envs": 64, **options}
    settings = settings_with(net, algorithms={"ppo-tuned": entry})
    assert (settings["network_options"], settings["n_envs"]) == ({"width": 16}, 64)
    settings = settings_with(net, settings={"horizon": "hand"}, endings="own")
    assert settings["horizon"] == "hand"
    with pytest.raises(SettingsError, match="'learning_rat' is not a setting"):
        settings_with(trainer, settings={"learning_rat": 0.5})
    # What a network learns with would replace it.
    refusal = "settings.critic is oracle, and .* settings of ppo-tuned, where it is separate"
    with pytest.raises(SettingsError, match=refusal):
        settings_with(net, settings={"critic": "oracle"})
    assert settings_with(net, settings={"critic": "separate"})["critic"] == "separate"
    # An algorithm may need the shared settings.
    needing = {"nfsp": {"replay_size": 64, "reservoir_size": 64}}
    shared = {"batch_size": 32}
    assert (
        settings_with(net, settings=shared, network_algorithm="nfsp", algorithms=needing)[
            "batch_size"
        ]
        == 32
    )


def test_code_that_is_not_trusted_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(NETWORK, encoding="utf-8")
    path = written(tmp_path / "own.yaml", algorithms={"ppo": {"network": "mine.py:Net"}})
    assert main(["benchmark", path]) == 2
    error = capsys.readouterr().err
    assert "mine.py:Net" in error
    assert "--trust" in error
    assert "the property" not in error


def test_page_says_whose_training_took_much_longer_than_the_published() -> None:
    reference = {"budget": 256, "reference": [0.5, 0.5]}
    published = results_of("2x4-h2", "ppo", [0.1], [0.2], **reference)
    for seconds, is_told in ((1.2, False), (3.0, True), (0.3, True)):
        point = Point(256, seconds, {"exploitability": 0.1})
        own = [result_with(point, rules="2x4-h2", algorithm="mine", **reference)]
        markdown = page([*own, *published], "", "", published)
        text = (
            f"- `mine` took {seconds / 0.5:.1f} times as long as the reference loop on `2x4-h2`; "
            "published networks took 2.0 to 2."
        )
        assert (text in markdown) == is_told


def test_results_say_what_they_were_given_beside_the_published() -> None:
    given = Given(
        critic="own view",
        observation="relative ranks",
        precision="float32",
        ema="off",
        decisions="both seats",
    )
    published = results_of("2x4-h2", "ppo", [0.1], [0.2], given=given, budget=1000)
    same = results_of("2x4-h2", "mine", [0.1], [0.2], given=given, budget=1000)
    assert "Unlike the published" not in page([*same, *published], "", "", published)
    other = msgspec.structs.replace(given, critic="hidden cards", precision="mixed", ema="on")
    others = results_of("2x4-h2", "mine", [0.1], [0.2], given=other, budget=10)
    others += results_of("2x5-h3", "mine", [0.1], [0.2], given=other, budget=10)
    markdown = page([*others, *published], "", "", published)
    assert (
        "- `mine` had 256 decisions on `2x4-h2`, where published networks had 1,000 to 1,000.\n"
        "- `mine` has a critic that sees hidden cards; critics of published networks see own view"
        ".\n- `mine` was trained in mixed; published networks were in float32.\n"
        "- `mine` has its average of weights on; published networks have it off.\n"
        "- `mine` was measured on `2x5-h3`, on which nothing is published.\n"
    ) in markdown
    row = "| `mine` | hidden cards | relative ranks | mixed | on | both seats | a processor |"
    assert row in markdown


def test_trainers_say_what_they_are_given() -> None:
    def given(**settings: Any) -> list[str]:
        return [*msgspec.structs.astuple(settings_from({"rules": "2x4-h2", **settings}).given)]

    assert given(trainer="ppo") == ["hidden cards", "relative ranks", "float32", "on", "both seats"]
    fair = {"critic": "separate", "ema_decay": 0, "precision": "mixed", "card_ranks": "absolute"}
    assert given(trainer="mmd", **fair) == [
        "own view",
        "absolute ranks",
        "mixed",
        "off",
        "both seats",
    ]
    assert given(trainer="nfsp")[0] == given(trainer="mccfr")[0] == "none"
    assert given(trainer="sb3") == ["own view", "absolute ranks", "float32", "off", "own seat"]


def test_multiples_are_of_the_loop_before_and_after() -> None:
    runs = results_of("2x4-h2", "mine", [0.1, 0.1], [0.1, 0.1], reference=[0.4, 0.6])
    markdown = page(runs, "", "")
    assert "| `mine` | 512, 2.0 s (5 loops), 2 seeds |" in markdown
    assert "- Loops are multiples of a reference loop" in markdown
    assert "oops" not in page(results_of("2x4-h2", "mine", [0.1]), "", "")


def test_pairs_have_welchs_intervals_and_iqms_leave_out_a_quarter() -> None:
    from scipy import stats

    first, second = [0.05, 0.06, 0.07, 0.08, 0.5], [0.02, 0.03, 0.025, 0.03, 0.035]
    results = results_of("2x4-h2", "mmd", *[[value] for value in first])
    results += results_of("2x4-h2", "ppo", *[[value] for value in second])
    results += results_of("2x4-h2", "cfr+", [0.1])
    markdown = page(results, "", "")
    found = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    difference = np.mean(first) - np.mean(second)
    row = re.search(r"\| `mmd` − `ppo` \| (\S+) \[(\S+), (\S+)\] \|", markdown)
    assert row is not None
    # Welch's degrees of freedom are rounded down, so the interval is a little wider.
    expected = [difference, found.low, found.high]
    assert [*map(float, row.groups())] == pytest.approx(expected, abs=0.01)
    assert "`cfr+` −" not in markdown
    assert markdown.count("| `cfr+` | 0.1000 |") == 1  # one run has no interval
    assert "| `mmd` | 0.0700 [" in markdown
    apart = [*results_of("2x4-h2", "a", [0.1], [0.11]), *results_of("2x4-h2", "b", [0.3], [0.31])]
    assert "| `a` − `b` | **-0.2000 [" in page(apart, "", "")


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((0.00015, 0.0000871, 0.0012), "0.00015 [0.000087, 0.0012]"),
        ((0.0006, -0.00012, 0.02), "0.00060 [-0.00012, 0.0200]"),
        ((2.8e-7, 0.0, 1e-5), "2.8e-07 [0.0000, 0.000010]"),
    ],
)
def test_small_numbers_keep_two_digits(bounds: tuple[float, float, float], text: str) -> None:
    assert estimate_text(Estimate(*bounds)) == text


def test_figure_of_intervals_is_the_same_each_time() -> None:
    results = results_of("2x4-h2", "mmd", [0.1], [0.2], [0.3])
    results += results_of("2x4-h2", "cfr+", [0.01])
    log = [("2x4-h2", "exploitability")]
    files = draw_intervals(values_of(results), log=log)
    assert [*files] == ["benchmark-intervals.svg", "benchmark-intervals.pdf"]
    assert all(
        f">{name}</text>" in files["benchmark-intervals.svg"].decode() for name in ("mmd", "cfr+")
    )
    assert files["benchmark-intervals.pdf"].startswith(b"%PDF-")
    assert files == draw_intervals(values_of(results), log=log)


def test_figure_of_pairs_has_the_pairs_of_the_table() -> None:
    results = [
        *results_of("2x4-h2", "mmd", [0.1], [0.2], [0.3]),
        *results_of("2x4-h2", "ppo", [0.7], [0.71], [0.72]),
        *results_of("2x4-h2", "nfsp", [0.11], [0.21], [0.31]),
        *results_of("2x4-h2", "cfr+", [0.01]),
    ]
    values, log = values_of(results), [("2x4-h2", "exploitability")]
    files = draw_pairs(values, log=log)
    assert [*files] == ["benchmark-pairs.svg", "benchmark-pairs.pdf"]
    assert files["benchmark-pairs.pdf"].startswith(b"%PDF-")
    figure = files["benchmark-pairs.svg"].decode()
    assert re.findall(r">(\w+ − \w+)</text>", figure) == ["mmd − ppo", "mmd − nfsp", "ppo − nfsp"]
    # A line and a dot of the pair whose interval contains 0 are gray, and those of the others blue.
    table = pairs_table(values)
    assert table.count("**") == 4
    assert "| `mmd` − `nfsp` | -0.0100 [" in table
    assert figure.count("stroke: #a0a0a0; stroke-width: 2") == 1
    assert figure.count(f"stroke: {PALETTE[1]}; stroke-width: 2") == 2
    assert not draw_pairs(values_of(results_of("2x4-h2", "cfr+", [0.01])))
    assert files == draw_pairs(values, log=log)


def test_trainer_cannot_have_the_name_of_a_published_row() -> None:
    with pytest.raises(SettingsError, match="mine:ppo: published results are called 'ppo', too"):
        load_benchmark("exact", ["mine:ppo"])


def test_curve_is_the_mean_of_all_seeds_as_far_as_all_go() -> None:
    results = [
        *results_of("2x4-h2", "ppo", [0.04, 0.02, 0.01], [0.06, 0.03, 0.01], [0.05, 0.04]),
        *results_of("2x4-h2", "mccfr", [0.1, 0.000_001]),
        *results_of("2x4-h2", "nfsp", [0.5]),
    ]
    over_decisions, over_time = draw_charts(results).values()
    assert re.findall(r"ppo at [^<]*", over_decisions) == [
        "ppo at 256: 0.05 ± 0.025",
        "ppo at 512: 0.03 ± 0.025",
    ]
    # Too low to be shown, and one point is no curve.
    assert re.findall(r"mccfr at [^<]*", over_time) == ["mccfr at 1: 0.1"]
    assert "nfsp" not in over_time


def test_seeds_with_iterations_of_several_lengths_count_alike() -> None:
    results = results_of("2x4-h2", "mine", [0.4, 0.3, 0.2, 0.1], [0.4, 0.2], [0.4, 0.3])
    for result, end in zip(results, (1024, 1000, 1100), strict=True):
        result.points[-1] = Point(end, result.points[-1].seconds, result.points[-1].values)
    markdown = page(results, "german-whist benchmark mine", "pictures")
    assert "| `mine` | 0.2000 [" in markdown
    assert "| `mine` | 1,041, 2.0 s, 3 seeds |" in markdown
    assert "of 1,024 decisions" not in markdown
    over_decisions, _ = draw_charts(results).values()
    assert re.findall(r"mine at [^ ]*", over_decisions) == ["mine at 256:", "mine at 1.04133"]


def test_seeds_that_end_before_or_after_the_budget_are_counted_and_named() -> None:
    good, bad = [0.06, 0.05, 0.04, 0.02], [0.15, 0.13]
    results = results_of("2x4-h2", "mine", good, bad, good, [0.14], good, budget=1024)
    last = results[4].points[-1]
    results[4].points[-1] = Point(10_240, last.seconds, last.values)
    results += results_of("2x4-h2", "other", good, good)
    markdown = page(results, "german-whist benchmark mine", "pictures")
    # The mean of 0.02, 0.13, 0.02, 0.14 and 0.02.
    assert "| `mine` | 0.0660 [" in markdown
    assert "5 seeds" in markdown
    assert (
        "- `mine` on `2x4-h2`: seed 2 ended after 512 of 1,024 decisions; seed 4 ended after 256 "
        "of 1,024 decisions; seed 5 used 10,240 of 1,024 decisions.\n"
    ) in markdown
    assert "`other` on `2x4-h2`:" not in markdown
    over_decisions, _ = draw_charts(results).values()
    # All five have the first point, and the curve says nothing of fewer.
    assert re.findall(r"mine at [^ ]* [^ ]*", over_decisions) == ["mine at 256: 0.094"]
    # Where no other seed ended early either, the longest hides none.
    results = results_of("2x4-h2", "mine", [0.04, 0.02], [0.04, 0.03], [0.04, 0.04], budget=512)
    results[0].points[-1] = Point(5_120, 2.0, {"exploitability": 0.02})
    markdown = page(results, "german-whist benchmark mine", "pictures")
    assert "| `mine` | 0.0300 [" in markdown
    assert "- `mine` on `2x4-h2`: seed 1 used 5,120 of 512 decisions.\n" in markdown


def test_seeds_without_a_metric_are_named() -> None:
    results = results_of("2x4-h2", "mine", [0.4], [0.3], [0.2])
    results[1] = result_with(Point(256, 1.0, {"wins": 0.5}), algorithm="mine", seed=2)
    markdown = page(results, "german-whist benchmark mine", "pictures")
    assert "- `mine` on `2x4-h2`: seed 2 without exploitability.\n" in markdown
    assert "- `mine` on `2x4-h2`: seeds 1, 3 without wins.\n" in markdown


def test_share_of_random_play_takes_the_same_seeds_on_all_decks() -> None:
    def means(results: list[Result]) -> str:
        return page(results, "", "").partition("What each learner was given")[0]

    results = results_of("2x4-h2", "mine", [0.04], [0.03], [0.02])
    results += results_of("2x5-h3", "mine", [0.08], [0.07], [0.06])
    whole = means(results)
    assert means(results[::-1]).count("`mine` |") == whole.count("`mine` |") == 1
    (share,) = re.findall(r"\| `mine` .* \| (0\.\d\d\d \[[^|]*\]) \|", whole)
    assert share in means([*results[2::-1], *results[3:]])
    assert re.search(r"\| `mine` .* \| – \|", means([*results[:2], *results[4:]]))


def test_page_says_which_decisions_are_as_the_trainer_reports_them() -> None:
    points = Point(512, 2.0, {"exploitability": 0.1}, as_reported=True)
    results = [result_with(points, algorithm="theirs", seed=seed) for seed in (1, 2, 3)]
    results += results_of("2x4-h2", "ours", [0.1, 0.1])
    markdown = page(results, "", "")
    assert "| `theirs` | 512 as reported, 2.0 s, 3 seeds |" in markdown
    assert "| `ours` | 512, 2.0 s, 1 seed |" in markdown
    assert "- Decisions of `theirs` are as reported by the trainer; all others are" in markdown
    assert "as reported" not in page(results[3:], "", "")


def test_page_says_of_which_machine_seconds_are() -> None:
    results = results_of("2x4-h2", "mine", [0.1, 0.1])
    assert "- Seconds of `mine` are of a core of a processor.\n" in page(results, "", "")
    assert "not comparable" not in page(results, "", "")
    elsewhere = results_of("2x4-h2", "mine", *[[0.1]] * 3, machine="another")
    mixed = [*results, *elsewhere[1:]]
    assert "| `mine` | 341, 1.0–2.0 s on 2 machines, 3 seeds |" in page(mixed, "", "")
    results += results_of("2x4-h2", "ppo", [0.1, 0.1], machine="another")
    markdown = page(results, "", "")
    assert "- Seconds of `ppo` are of a core of another.\n" in markdown
    assert "- Seconds of different machines are not comparable.\n" in markdown


def test_interquartile_mean_has_no_interval_where_a_deck_has_one_run() -> None:
    runs = np.array([0.1, 0.2, 0.3])
    values = {("2x4-h2", "exploitability"): {"several": runs, "one": runs}}
    table = interquartile_table(values, {"several": [runs, runs], "one": [runs, runs[:1]]})
    assert re.search(r"\| `several` \|[^|]+\| 0\.\d+ \[0\.\d+, 0\.\d+\] \|", table)
    assert re.search(r"\| `one` \|[^|]+\| 0\.\d+ \|", table)


def test_page_tells_measurements_of_a_deck_apart() -> None:
    results = [*results_of("2x4-h2", "a", [0.1]), *results_of("2x4-h2", "b", [0.2])]
    results += results_of("2x5-h3", "a", [0.3])
    assert "measured as" not in page(results, "", "")
    own = "exploitability with its own endings"
    apart = results_of("2x4-h2", "c", [0.3], [0.31], metric=own, evaluation=own)
    markdown = page([*results, *apart], "", "")
    assert "| algorithm | `2x4-h2` exploitability | `2x5-h3` exploitability |" in markdown
    assert f"| `2x4-h2` {own} |" in markdown
    assert "- `a`, `b` on `2x4-h2`: measured as exploitability.\n" in markdown
    assert f"- `c` on `2x4-h2`: measured as {own}.\n" in markdown
    assert "on `2x5-h3`: measured" not in markdown
    # Neither are they compared with random play whose endings are exact.
    exact = results_of("2x4-h2", "d", [0.1], [0.11])
    assert "`d` − `c`" not in page([*exact, *apart], "", "")
    alone = page(apart, "", "")
    assert f"- `c` on `2x4-h2`: measured as {own}.\n" in alone
    assert "random" in page(results_of("2x4-h2", "c", [0.3]), "", "")
    assert "random" not in alone


_NOT_MEASURED = {("ppo", "2x6-h3")}
"""Named as missing on the page of results."""


def test_published_results_are_whole_and_of_one_benchmark() -> None:
    published = published_results()
    assert len(unite([("published.jsonl", published)])) == len(published) > 50
    for name in ("exact", "exact-large"):
        budgets = {
            (job.algorithm, job.rules): {
                **{field: value for field, value in job.origin.items() if field != "machine"},
                "given": job.given,
            }
            for job in load_benchmark(name).jobs(Path())
        }
        for result in published:
            if origin := budgets.pop((result.algorithm, result.rules), None):
                assert origin == {field: getattr(result, field) for field in origin}
        assert {*budgets} <= _NOT_MEASURED


@pytest.mark.parametrize(
    ("name", "built_in"), [("networks.yaml", ["mlp", "mlp-own"]), ("networks-full.yaml", ["mlp"])]
)
def test_benchmarks_of_the_example_networks_have_jobs(
    name: str, built_in: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).resolve().parents[2])  # from where the networks are named
    benchmark = load_benchmark(Path("benchmarks", name))
    jobs = [job for job in benchmark.jobs(tmp_path) if job.seed == 1]
    assert [job.algorithm for job in jobs] == [*built_in, "transformer", "gru"]
    relative = ["relative ranks"] * (len(built_in) + 1)
    assert [job.given.observation for job in jobs] == [*relative, "history"]


# -- results of several files


def write_results(path: Path, results: list[Result]) -> str:
    path.write_bytes(b"\n".join(map(msgspec.json.encode, results)))
    return str(path)


@pytest.mark.parametrize(
    ("field", "value"), [("code", "4d1f"), ("settings", {"trainer": "ppo", "ema_decay": 0.9})]
)
def test_learners_of_one_name_on_two_decks_are_one_learner(
    field: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small, large = (results_of(rules, "Base", [0.04], [0.06]) for rules in ("2x4-h2", "2x5-h3"))
    common: dict[str, Any] = {"settings": {"trainer": "ppo"}, "code": "c0de"}
    one = [msgspec.structs.replace(each, **common) for each in small]
    files = [write_results(tmp_path / "a.jsonl", one)]
    for changes, status in (({}, 0), ({field: value}, 2)):
        two = [msgspec.structs.replace(each, **{**common, **changes}) for each in large]
        other = write_results(tmp_path / "b.jsonl", two)
        assert main(["benchmark", *files, other, "--folder", str(tmp_path / "page")]) == status
    error = capsys.readouterr().err
    assert "Base on 2x4-h2 and on 2x5-h3 are different learners (" in error
    assert "another name" in error
    # The code of opponents is not that of the learner.
    met = [msgspec.structs.replace(each, **common, opponents={"mine:Bot": "0f"}) for each in large]
    met = [msgspec.structs.replace(each, code="c0de0f") for each in met]
    other = write_results(tmp_path / "b.jsonl", met)
    assert main(["benchmark", *files, other, "--folder", str(tmp_path / "page")]) == 0


def test_trainer_that_the_name_tells_may_be_written_too(tmp_path: Path) -> None:
    (told, *_), (written_too, *_), (own_budget, *_), (another, *_) = (
        load_benchmark(written(tmp_path / "a.yaml", algorithms={"ppo": own})).jobs(tmp_path)
        for own in ({}, {"trainer": "ppo"}, {"decisions": TINY["decisions"]}, {"trainer": "mmd"})
    )
    assert told.origin == written_too.origin == own_budget.origin
    assert told.origin["settings"] == {"trainer": "ppo"}
    with pytest.raises(ValueError, match="settings: trainer is ppo, and here it is mmd"):
        unite([("a", [told.expected_result()]), ("b", [another.expected_result()])])


def test_settings_that_are_called_like_a_field_of_results_are_compared() -> None:
    one, two = (
        results_of("2x4-h2", "sb3", [0.1], [0.2], settings={"opponents": opponents})[number]
        for number, opponents in enumerate(([], ["champion"]))
    )
    with pytest.raises(ValueError, match=r"\(settings: opponents is "):
        unite([("a", [one]), ("b", [two])])


def test_learners_are_compared_by_the_code_of_all_decks_with_the_same_opponents() -> None:
    against: dict[str, Any] = {"metric": "wins", "evaluation": "wins", "opponents": {"mine": "ab"}}
    decks = [
        *results_of("2x4-h2", "a", [0.1]),
        *results_of("classic", "a", [0.5], code="x", **against),
        *results_of("race-7", "a", [0.5], code="y", **against),
    ]
    assert len(unite([("a", decks[:2])])) == 2
    with pytest.raises(ValueError, match="a on classic and on race-7 are different learners"):
        unite([("a", decks)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "have two results of ppo on 2x4-h2, seed 2: give the algorithm in one of them"),
        ({"budget": 1024}, r"are of different benchmarks \(budget is \d+, and here it is \d+\)"),
        (
            {"settings": {"n": [9]}},
            r"\(settings: n is (not given|\[9\]), and here it is (not given|\[9\])\)",
        ),
        ({"evaluation": "x"}, r"\(evaluation is (x|exploitability), and here it is"),
    ],
)
def test_contradictory_results_are_refused_in_any_order(
    changes: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = results_of("2x4-h2", "ppo", [0.04, 0.02], [0.06, 0.03], [0.05, 0.04])
    first = write_results(tmp_path / "a.jsonl", results)
    others = results_of("2x4-h2", "ppo", [0.04, 0.02], [0.06, 0.02], **changes)
    second = write_results(tmp_path / "b.jsonl", others[1:])
    errors: list[str] = []
    for order in ([first, second], [second, first]):
        assert main(["benchmark", *order, "--folder", str(tmp_path)]) == 2
        errors.append(capsys.readouterr().err)
    assert errors[0] == errors[1]
    assert re.search(message, errors[0])
    assert "a.jsonl and " in errors[0]
    assert not (tmp_path / "benchmark.md").exists()


def test_results_against_two_opponents_of_one_name_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    against: dict[str, Any] = {"metric": "wins against mine", "evaluation": "wins against mine"}
    files = [
        write_results(
            tmp_path / f"{name}.jsonl",
            results_of("classic", name, *[[0.5]] * 3, opponents={"mine": digest}, **against),
        )
        for name, digest in (("ppo", "ab"), ("mmd", "ab"), ("nfsp", "cd"))
    ]
    assert main(["benchmark", *files[:2], "--folder", str(tmp_path)]) == 0
    assert main(["benchmark", *files[1:], "--folder", str(tmp_path)]) == 2
    assert "the opponent mine had other code or weights in one of them" in capsys.readouterr().err


def test_results_are_of_the_rules_that_their_file_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "mine.yaml"
    game = {"suits": 2, "ranks": 4, "hand": 2, "pay": "margin"}
    ppo = results_of(str(rules), "ppo", *[[0.2]] * 3, game=game)
    mmd = results_of(str(rules), "mmd", *[[0.1]] * 3, game={**game, "pay": "win"})
    before, after = (
        write_results(tmp_path / f"{name}.jsonl", results)
        for name, results in (("a", ppo), ("b", mmd))
    )
    # The file is gone, and its results can be shown.
    assert main(["benchmark", before, "--folder", str(tmp_path)]) == 0
    random_play = measure_exploitability(load_agent("random-exact", game), game).exploitability
    assert f"| `random-exact` | {random_play:.4f} |" in (tmp_path / "benchmark.md").read_text(
        "utf-8"
    )
    capsys.readouterr()
    for order in ([before, after], [after, before]):
        assert main(["benchmark", *order, "--folder", str(tmp_path)]) == 2
        assert "mine.yaml was another rule set in one of them (game: pay is " in (
            capsys.readouterr().err
        )


@pytest.mark.usefixtures("light_workers")
def test_job_with_a_file_of_rules_keeps_them(tmp_path: Path) -> None:
    rules = tmp_path / "mine.yaml"
    rules.write_text("{suits: 2, ranks: 4, hand: 2}", encoding="utf-8")
    job, *_ = load_benchmark(written(tmp_path / "own.yaml", rules=[str(rules)])).jobs(tmp_path)
    measure_job(job)
    (result,) = load_results(job.folder / "result.json")
    assert result.game == load_rules(rules).as_mapping()
    assert result.load_rules() == load_rules(rules)
    rules.unlink()
    assert result.load_rules().ranks == 4


def test_benchmarks_that_contradict_others_are_refused_before_they_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmarking, "run_jobs", None)
    first = written(tmp_path / "a.yaml")
    longer, same = (
        written(tmp_path / f"{name}.yaml", decisions=decisions)
        for name, decisions in (("b", 1024), ("c", 512))
    )
    stored = write_results(tmp_path / "d.jsonl", results_of("2x4-h2", "slow", *[[0.1]] * 3))
    monkeypatch.chdir(tmp_path)
    for other, message in (
        (longer, "of different benchmarks (budget is 512, and here it is 1024)"),
        (same, "have two results of slow on 2x4-h2, seed 1"),
        (stored, "of different benchmarks (budget is "),
    ):
        assert main(["benchmark", first, other]) == 2
        assert message in capsys.readouterr().err
    assert not Path("runs").exists()


def test_page_of_several_files_has_one_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decks = ["2x4-h2", "2x5-h3"]
    results = [
        result
        for deck in decks
        for name in ("ppo", "mmd")
        for result in results_of(deck, name, [0.04, 0.02], [0.06, 0.03], [0.05, 0.04])
    ]
    first = write_results(tmp_path / "a.jsonl", results[:9])
    second = write_results(tmp_path / "b.jsonl", results[6:])
    pages: list[str] = []
    for order in ([first, second], [second, first]):
        assert main(["benchmark", *order, "--folder", str(tmp_path)]) == 0
        markdown = (tmp_path / "benchmark.md").read_text(encoding="utf-8")
        pages.append(markdown.partition("Made by")[0])
    assert pages[0] == pages[1]
    assert "| `mmd` | 512, 2.0 s, 3 seeds | 512, 2.0 s, 3 seeds |" in pages[0]
    capsys.readouterr()


def test_invalid_result_lines_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    for line in (b"{}", b"\xff", b"1"):
        path.write_bytes(line)
        with pytest.raises(
            ValueError, match=r"mine\.jsonl, line 1: .*; name the results\.jsonl of"
        ):
            load_results(path)


@pytest.mark.parametrize(
    ("steps", "value", "message"),
    [
        (["seed"], -1, "seed is -1: it has to be a whole number of at least 0"),
        (["budget"], 10**400, "budget is "),
        (["rules"], "2x4-h9", "'2x4-h9' is not a rule set"),
        (["points", 0, "decisions"], -5, r"points\[0\]\.decisions is -5: it has to be"),
        (["points", 1, "decisions"], 10**30, r"points\[1\]\.decisions is 10+: it has to be"),
        (["points", 1, "decisions"], 1, "points: decisions fall from 256 to 1;"),
        (["points", 0, "seconds"], -0.5, r"points\[0\]\.seconds is -0\.5: it has to be"),
        (["points", 1, "seconds"], 0.5, r"points: seconds fall from 1\.0 to 0\.5;"),
        (
            ["reference"],
            [0.0, 1.0],
            r"reference\[0\] is 0\.0: it has to be a number of more than 0",
        ),
        (["points", 0, "values", "exploitability"], 1e308, r"points\[0\]\.values: every value"),
    ],
)
def test_results_with_impossible_numbers_are_refused(
    steps: list[str | int],
    value: object,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "mine.jsonl"
    points = [Point(256 * n, float(n), {"exploitability": 0.1 / n}) for n in (1, 2)]
    path.write_bytes(msgspec.json.encode(result_with(*points)))
    edit(path, *steps, value=value)
    assert main(["benchmark", str(path), "--folder", str(tmp_path / "found")]) == 2
    error = capsys.readouterr().err
    assert re.search(
        rf"mine\.jsonl, line 1: .*{message}.*name the results\.jsonl of a benchmark", error
    )
    assert "Traceback" not in error
    assert not (tmp_path / "found").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": 2}, "seeds is 2: it has to be a whole number of at least 3"),
        ({"algorithms": {}}, "algorithms is {}: it has to be a mapping of one or more"),
        ({"rules": []}, "rules is []: it has to be a list of one or more texts"),
        ({"algorithms": {"nfps": {}}}, "'nfps' is not a trainer; did you mean 'nfsp'"),
        ({"algorithms": {"nfsp": {"gamse": 3}}}, "'gamse' is not a setting of the nfsp trainer"),
        ({"rule": []}, "'rule' is not a part of a benchmark; did you mean 'rules'?"),
        ({"rules": ["2x4-h7"]}, "2x4-h7"),
        ({"rules": ["2x4-h2", "2x4-h2"]}, "rules: '2x4-h2' is there twice: name each"),
        (
            {"algorithms": {"a b": {"trainer": "mccfr"}, "a-b": {"trainer": "mccfr"}}},
            "algorithms: 'a b' and 'a-b' would share a folder, a-b: give one of them another",
        ),
        ({"algorithms": {"mccfr": {"seeds": 2}}}, "seeds is 2: it has to be a whole number of at"),
        ({"algorithms": {"mccfr": {"rules": ["2x4-h7"]}}}, "2x4-h7"),
        (
            {"algorithms": {"cfr+": {"averaging": 1}}},
            "'averaging' is given, and cfr+ has no settings",
        ),
        (
            {"algorithms": {"ppo": {}}, "endings": "own"},
            "algorithms: ppo: endings is 'own', and with the horizon 'foreplay' a policy never",
        ),
        (
            {"eval_opponents": [], "endings": "own", "rules": ["3x4-h4"]},
            "the rules 3x4-h4 can be dealt and played in up to 1.23e+11 ways",
        ),
        (
            {"algorithms": {"mccfr": {"seed": 7}}},
            "algorithms: mccfr: seed is among the settings, but a benchmark sets it for each of",
        ),
        (
            {"settings": {"decisions": 7}},
            "its runs: write it as a field of the benchmark, or of an algorithm",
        ),
        # With opponents, too, a policy is measured by its exploitability on such a deck.
        (
            {"endings": "own", "rules": ["3x4-h4"]},
            "the rules 3x4-h4 can be dealt and played in up to 1.23e+11 ways",
        ),
        (
            {"eval_opponents": [], "rules": ["classic"]},
            "the rules classic are too large to traverse",
        ),
    ],
)
def test_invalid_benchmark_is_refused_before_training(
    changes: dict[str, object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["benchmark", written(tmp_path / "wrong.yaml", **changes)]
    assert main([*words, "--folder", str(tmp_path / "found")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "found").exists()


def test_file_without_results_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    path.touch()
    assert main(["benchmark", str(path), "--folder", str(tmp_path / "page")]) == 2
    assert f"{path} has no results, as where no run came to its end" in capsys.readouterr().err
