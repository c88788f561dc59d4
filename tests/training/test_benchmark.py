"""Algorithms side by side: each is trained once, goes on where it was, and is told fairly."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from processes import children_of, wait_for_end
from scipy import stats

from german_whist import Game
from german_whist.agents.checkpoints.checkpoint import FOLDER, list_checkpoints
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.evaluation import evaluate
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.training.experiments.benchmark import (
    _train,
    draw_charts,
    load_benchmark,
    over_seeds,
    page,
)
from german_whist.training.folder import RunLock

# Of all trainers this one starts soonest: it needs no torch.
TINY = {
    "rules": ["2x4-h2"],
    "seeds": 3,
    "decisions": 512,
    "eval_points": 2,
    "algorithms": {"slow": {"trainer": "cfr", "iteration": 64}},
}


def written(path: Path, **changes: object) -> str:
    path.write_text(yaml.safe_dump({**TINY, **changes}, sort_keys=False), encoding="utf-8")
    return str(path)


def test_a_seeds_figures_of_all_games_are_one_observation() -> None:
    figures = [np.array([1.0, 2.0, 6.0]), np.array([3.0, 6.0, 2.0])]
    estimate, seeds = over_seeds(figures), [2.0, 4.0, 4.0]
    low, high = stats.t.interval(0.95, 2, np.mean(seeds), stats.sem(seeds))
    assert [estimate.low, estimate.value, estimate.high] == pytest.approx(
        [low, 10 / 3, high], rel=1e-4
    )
    # Two games in which no seed differs from the others are sure, however far apart they are.
    apart = over_seeds([np.full(5, 1.0), np.full(5, 3.0)])
    assert (apart.low, apart.value, apart.high) == (2.0, 2.0, 2.0)


@pytest.mark.usefixtures("no_tensorboard")
def test_it_trains_what_is_missing_and_tells_a_row_for_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["benchmark", written(tmp_path / "tiny.yaml"), "--folder", str(tmp_path / "found")]
    killed = tmp_path / "found" / "2x4-h2" / "slow" / "seed-1"  # before it saved anything
    killed.mkdir(parents=True)
    (killed / "settings.yaml").write_text("trainer: cfr\n", encoding="utf-8")
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "3 of 3: slow on 2x4-h2, seed 3" in output
    assert "| `slow` | 0." in output
    results = [killed.with_name(f"seed-{seed}") / "result.json" for seed in (1, 2, 3)]
    curves = [json.loads(path.read_text())["exploitability"] for path in results]
    # Each ends with a whole hand, by the same deals.
    assert [[decisions // 256 for decisions, _ in curve] for curve in curves] == [[1, 2]] * 3
    assert len({curve[-1][1] for curve in curves}) == 3
    results[1].unlink()
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "1 of 1: slow on 2x4-h2, seed 2" in output
    assert json.loads(results[1].read_text())["exploitability"] == curves[1]
    for text, why in (
        ("[", "is not valid JSON"),
        ("[]", "it has to be a mapping"),
        ('{"exploitability": []}', "has values of []"),
    ):
        results[1].write_text(text, encoding="utf-8")
        assert main(words) == 2
        error = capsys.readouterr().err
        assert re.search(rf"result.json: .*{re.escape(why)}.*; delete it and give", error)
    other = written(tmp_path / "other.yaml", decisions=1024)
    assert main([words[0], other, *words[2:]]) == 2
    assert "was begun with decisions 512, and now it is 1024: name" in capsys.readouterr().err


def test_players_are_evaluated_on_deals_that_no_training_of_theirs_has_played(
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
    run = benchmark.runs()[0]
    _train(benchmark, run, tmp_path / "found")

    def deals(seed: int) -> set[str]:
        games = [Game("small-last", seed=seed, number=number) for number in range(40)]
        return {str(game.cards_dealt) for game in games}

    (seed,) = seeds
    assert not deals(run.seed) & deals(seed)


@pytest.mark.usefixtures("no_tensorboard")
def test_benchmark_measures_players_that_sample(tmp_path: Path) -> None:
    path = written(
        tmp_path / "sampled.yaml",
        decisions=64,
        eval_points=1,
        algorithms={"ppo": {"n_envs": 2, "hidden_sizes": [4], "batch_size": 2}},
    )
    benchmark, found = load_benchmark(path), tmp_path / "found"
    run = benchmark.runs()[0]
    _train(benchmark, run, found)
    folder, rules = run.folder(found), load_rules(run.rules)
    curve = json.loads((folder / "result.json").read_text())["exploitability"]
    (checkpoint,) = list_checkpoints(folder / FOLDER)
    sampled, greedy = (
        measure_exploitability(NetworkAgent(rules, checkpoint, mode), rules).exploitability
        for mode in ("sample", "greedy")
    )
    assert curve[-1][1] == pytest.approx(sampled)
    assert abs(sampled - greedy) > 0.01


@pytest.mark.usefixtures("no_tensorboard")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_whoever_ends_it_ends_the_training_under_way_and_none_begins(
    number: signal.Signals, tmp_path: Path
) -> None:
    path = written(
        tmp_path / "long.yaml",
        decisions=1_000_000_000,
        eval_points=1,
        algorithms={"cfr": {"iteration": 1000}},
    )
    command = [sys.executable, "-m", "german_whist", "benchmark", path]
    command += ["--folder", str(tmp_path / "found")]
    run = tmp_path / "found" / "2x4-h2" / "cfr" / "seed-1"
    log = run / "log.txt"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 120
        while not (log.exists() and "decisions" in log.read_text()) and time.monotonic() < until:
            time.sleep(0.02)
        (worker,) = children_of(process.pid)
        process.send_signal(number)
        assert process.wait(60) == (143 if number == signal.SIGTERM else -number)
    # A benchmark that is killed leaves no training behind, which would hold its folder.
    assert wait_for_end(worker, 30)
    assert "stopped after " in log.read_text(encoding="utf-8")
    RunLock(run).release()
    assert [path.name for path in run.parent.iterdir()] == ["seed-1"]


def test_a_page_lays_algorithms_side_by_side(tmp_path: Path) -> None:
    values = {"nfsp": 0.02, "mmd": 0.01}
    changes = {"rules": ["2x4-h2", "2x5-h3"], "algorithms": {name: {} for name in values}}
    benchmark = load_benchmark(written(tmp_path / "two.yaml", **changes))
    results = {
        (rules, "exploitability"): {
            name: [[(256, 0.1), (512, value)]] * benchmark.seeds for name, value in values.items()
        }
        for rules in benchmark.rules
    }
    markdown = page(benchmark, results, "german-whist benchmark two", "pictures")
    rows = [line for line in markdown.splitlines() if line.startswith("| `")]
    assert rows[0].startswith("| `nfsp` | 0.0200 [0.0200, 0.0200] | 0.0200 [0.0200, 0.0200] | ")
    # Random play's is 0.1854 and 0.3130.
    assert rows[1].endswith("| 0.043 [0.043, 0.043] |")
    assert rows[2].startswith("| `random-exact` | 0.1854 | 0.3130 | 1 |")
    charts = draw_charts(benchmark, results)
    assert [*charts] == [f"benchmark-{rules}-exploitability.svg" for rules in benchmark.rules]
    assert all(f"(pictures/{name})" in markdown for name in charts)
    assert all("● nfsp" in chart and "● mmd" in chart for chart in charts.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": 2}, "seeds is 2: it has to be a whole number of at least 3"),
        ({"algorithms": {}}, "algorithms is {}: it has to be a mapping of one or more"),
        ({"rules": []}, "rules is []: it has to be a list of one or more texts"),
        ({"algorithms": {"nfps": {}}}, "'nfps' is not a trainer; did you mean 'nfsp'?"),
        ({"algorithms": {"nfsp": {"gamse": 3}}}, "'gamse' is not a setting of the nfsp trainer"),
        ({"rule": []}, "'rule' is not a part of a benchmark; did you mean 'rules'?"),
        ({"rules": ["2x4-h7"]}, "2x4-h7"),
        ({"rules": ["2x4-h2", "2x4-h2"]}, "rules: '2x4-h2' is there twice: name each"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_trained(
    changes: dict[str, object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["benchmark", written(tmp_path / "wrong.yaml", **changes)]
    assert main([*words, "--folder", str(tmp_path / "found")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "found").exists()
