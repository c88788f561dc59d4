"""The tables of `make bench` judge ratios alone; published results stay those of one algorithm."""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from benchmarks.measure import Row, machine, table
from benchmarks.publish import (
    ITERATIONS,
    MOST_ROWS,
    OTHERS,
    PICTURES,
    RANKED,
    ROOT,
    main,
    progress_of,
    publish,
    read_iterations,
    thinned,
    write_iterations,
)
from benchmarks.resumed import checked, interruptible, keep_options
from german_whist.common.signals import UNSTABLE, RunStopped
from german_whist.engine.rules import load_rules
from german_whist.training.experiments.benchmark_results import RESULTS, Point, Result, load_results


def test_speed_of_one_machine_takes_no_target() -> None:
    with pytest.raises(ValueError, match=r"raw_env has a target of 100000 steps/s: a slower"):
        Row("raw_env", 90_000, "steps/s", 100_000)


def test_table_marks_a_ratio_that_misses_its_target() -> None:
    rows = [
        Row("raw_env", 1.0, "steps/s"),
        Row("beside connect_four", 2.0, "times", 3),
        Row("two threads", 1.9, "times", 1.7),
        Row("the environment's part", 4.0, "%", 10, at_most=True),
    ]
    marks = [line.split("|")[5].strip() for line in table(rows).splitlines()[2:]]
    assert marks == ["", "**missed**", "yes", "yes"]


def test_machine_of_a_measurement_has_a_date() -> None:
    described = machine()
    assert str(described["date"]).startswith("20")
    assert described["processor"]


def result(seed: int, rate: float, value: float, algorithm: str = "ppo") -> Result:
    return Result(
        rules="2x4-h2",
        algorithm=algorithm,
        seed=seed,
        budget=1_000,
        settings={"trainer": algorithm, "learning_rate": rate},
        evaluation="exploitability",
        machine="a processor",
        points=[Point(1_000, 2.0, {"exploitability": value})],
    )


def write_benchmark(folder: Path, results: list[Result], progress: str) -> Path:
    """A benchmark's folder, whose runs all wrote the same at each iteration."""
    for each in results:
        run = folder / each.rules / each.algorithm / f"seed-{each.seed}" / "run"
        run.mkdir(parents=True)
        (run / "progress.csv").write_text(progress, encoding="utf-8")
    lines = b"".join(msgspec.json.encode(each) + b"\n" for each in results)
    (folder / RESULTS).write_bytes(lines)
    return folder


def test_published_run_is_replaced_with_what_it_wrote(tmp_path: Path) -> None:
    target, other = tmp_path / "published.jsonl", tmp_path / "others.jsonl"
    iterations = tmp_path / "iterations.csv.xz"
    mmd = result(1, 0.1, 0.5, "mmd")
    old = [result(1, 0.1, 0.4), mmd, result(2, 0.1, 0.3)]
    first = write_benchmark(
        tmp_path / "first", old, "decisions,decisions_per_second,loss,note\n123456,9,0.70004,a\n"
    )
    assert publish([first], target, other, iterations) == load_results(target) == old
    again = result(2, 0.1, 0.2)
    second = write_benchmark(tmp_path / "second", [again], "decisions,known\n20,5\n30,6\n")
    assert publish([second], target, other, iterations) == [again]
    assert load_results(target) == [old[0], mmd, again]
    rows = {(row["algorithm"], row["seed"]): row for row in read_iterations(iterations)}
    run = {"rules": "2x4-h2", "algorithm": "ppo"}
    stored = {"decisions": "123456", "loss": "0.7", "note": "a"}
    assert rows["ppo", "1"] == run | {"seed": "1"} | stored
    assert rows["ppo", "2"] == run | {"seed": "2", "decisions": "30", "known": "6"}
    # The last of two folders with one run counts, and its rows are there once.
    assert publish([first, second], target, other, iterations) == []
    assert load_results(target) == [old[0], mmd, again]
    assert len([*read_iterations(iterations)]) == 2 + 2
    with pytest.raises(ValueError, match=r"ppo on 2x4-h2, seed 2 is in published\.jsonl: bring it"):
        publish([second], other, target, iterations)


def test_long_runs_are_published_at_equal_distances() -> None:
    rows = [{"decisions": str(number)} for number in range(1, 2 * MOST_ROWS + 2)]
    assert thinned(rows[:MOST_ROWS]) == rows[:MOST_ROWS]
    kept = [int(row["decisions"]) for row in thinned(rows)]
    assert len(kept) <= MOST_ROWS
    assert kept == [*range(2, 2 * MOST_ROWS + 2, 3)]
    assert kept[-1] == len(rows)


def test_seeds_of_former_settings_leave_the_published_results(tmp_path: Path) -> None:
    target, other = tmp_path / "published.jsonl", tmp_path / "others.jsonl"
    iterations = tmp_path / "iterations.csv.xz"
    mmd = result(1, 0.1, 0.5, "mmd")
    old = [result(1, 0.1, 0.4), result(2, 0.1, 0.3), mmd]
    publish([write_benchmark(tmp_path / "old", old, "decisions\n10\n")], target, other, iterations)
    changed = result(1, 0.2, 0.2)
    folder = write_benchmark(tmp_path / "new", [changed], "decisions\n20\n")
    assert publish([folder], target, other, iterations) == [changed]
    assert load_results(target) == [changed, mmd]
    left = [(row["algorithm"], row["decisions"]) for row in read_iterations(iterations)]
    assert left == [("mmd", "10"), ("ppo", "20")]
    # A run whose folder is gone keeps its rows, and another code is another algorithm.
    shutil.rmtree(folder / "2x4-h2")
    assert publish([folder], target, other, iterations) == []
    assert [row["algorithm"] for row in read_iterations(iterations)] == ["mmd", "ppo"]
    coded = msgspec.structs.replace(changed, seed=2, code="abc")
    last = write_benchmark(tmp_path / "last", [coded], "decisions\n30\n")
    publish([last], target, other, iterations)
    assert load_results(target) == [mmd, coded]


def test_publishing_again_mends_what_an_interrupt_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, other = tmp_path / "published.jsonl", tmp_path / "others.jsonl"
    iterations = tmp_path / "iterations.csv.xz"
    old = [result(1, 0.1, 0.4), result(2, 0.1, 0.3)]
    publish([write_benchmark(tmp_path / "old", old, "decisions\n10\n")], target, other, iterations)
    changed = result(1, 0.2, 0.2)
    folder = write_benchmark(tmp_path / "new", [changed], "decisions\n20\n")

    def interrupt(path: Path, *_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("benchmarks.publish.write_file", interrupt)
        with pytest.raises(KeyboardInterrupt):
            publish([folder], target, other, iterations)
    publish([folder], target, other, iterations)
    assert load_results(target) == [changed]
    assert [row["decisions"] for row in read_iterations(iterations)] == ["20"]


def test_results_of_an_extension_are_published_in_its_folder(tmp_path: Path) -> None:
    new = [result(1, 0.1, 0.4, "another")]
    folder = write_benchmark(tmp_path / "run", new, "decisions\n10\n")
    docs = tmp_path / "docs"
    docs.mkdir()
    main([f"{folder}", "--into", f"{docs}"])
    assert load_results(docs / "published.jsonl") == new
    rows = [*read_iterations(docs / "iterations.csv.xz")]
    assert rows == [{"rules": "2x4-h2", "algorithm": "another", "seed": "1", "decisions": "10"}]
    figure = (docs / "pictures" / "benchmark-intervals.svg").read_text(encoding="utf-8")
    assert all(f">{text}</text>" in figure for text in ("another", "ppo-tuned", "2x4-h2"))
    assert "2x5-h3" not in figure
    ranked = write_benchmark(tmp_path / "ranked", [load_results(RANKED)[0]], "decisions\n10\n")
    with pytest.raises(SystemExit, match=r"is in published\.jsonl: bring it there"):
        main([f"{ranked}", "--into", f"{docs}"])


def test_what_cannot_be_published_is_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"nowhere/results\.jsonl: there is no such file; name "):
        main([f"{tmp_path}/nowhere"])


def test_rows_of_a_run_by_a_file_of_rules_are_found(tmp_path: Path) -> None:
    game = load_rules({"name": "mine", "suits": 2, "ranks": 4, "hand": 2}).as_mapping()
    run = msgspec.structs.replace(result(1, 0.1, 0.4), rules="files/of/rules.yaml", game=game)
    folder = tmp_path / "mine" / "ppo" / "seed-1" / "run"
    folder.mkdir(parents=True)
    (folder / "progress.csv").write_text("decisions\n10\n", encoding="utf-8")
    assert [row["decisions"] for row in progress_of(tmp_path, run)] == ["10"]


def test_figure_of_pairs_has_the_pairs_of_the_page_in_its_order() -> None:
    page = (ROOT / "docs" / "results" / "exploitability.md").read_text(encoding="utf-8")
    table = page.partition("<!-- table published-pairs -->")[2].partition("<!-- end")[0]
    figure = (PICTURES / "benchmark-pairs.svg").read_text(encoding="utf-8")
    pairs = re.findall(r">(\S+) − (\S+)</text>", figure)
    assert pairs == re.findall(r"^\| `(.+?)` − `(.+?)`", table, re.MULTILINE)
    assert len(pairs) == 15


def test_iterations_are_of_published_runs(tmp_path: Path) -> None:
    rows = [*read_iterations(ITERATIONS)]
    everything = [*load_results(RANKED), *load_results(OTHERS)]
    copy = tmp_path / "copy.csv.xz"
    write_iterations(copy, rows[::1000])
    assert [*read_iterations(copy)] == rows[::1000]
    runs = {(row["rules"], row["algorithm"], row["seed"]) for row in rows}
    every = {(run.rules, run.algorithm, str(run.seed)) for run in everything}
    assert runs <= every
    learned = [
        run for run in load_results(RANKED) if run.algorithm in {"ppo", "ppo-tuned", "mmd-tuned"}
    ]
    assert {(run.rules, run.algorithm, str(run.seed)) for run in learned} <= runs


def test_comparison_goes_on_with_its_own_options_alone(tmp_path: Path) -> None:
    options = argparse.Namespace(folder=tmp_path, seconds=60.0, hands=100, seeds=1)
    for seeds in (1, 5):
        options.seeds = seeds
        keep_options(tmp_path, options, "seeds")
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "results.jsonl").touch()
    with pytest.raises(SystemExit, match=r"has results of which no options\.json tells"):
        keep_options(tmp_path / "earlier", options)
    options.seconds = 600.0
    with pytest.raises(
        SystemExit, match=r"begun with --seconds 60\.0, and now it is 600\.0: name an"
    ):
        keep_options(tmp_path, options, "seeds")


@pytest.mark.parametrize("complete", [True, False])
def test_part_of_an_evaluation_is_no_result(complete: bool) -> None:
    played: Any = SimpleNamespace(complete=complete, signal=2)
    if complete:
        assert checked(played) is played
    else:
        with pytest.raises(SystemExit, match="the same command goes on"), interruptible():
            checked(played)
    with pytest.raises(SystemExit, match="the same command goes on"), interruptible():
        raise RunStopped("interrupted", 130)
    with pytest.raises(SystemExit, match="a weight became NaN"), interruptible():
        raise RunStopped("a weight became NaN", UNSTABLE)
