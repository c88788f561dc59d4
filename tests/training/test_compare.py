"""Comparison of runs: differing settings, curves with intervals, several seeds as one training."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pytest

from german_whist.cli import main
from german_whist.training.experiments import jobs
from german_whist.training.experiments.budgets import aligned
from german_whist.training.experiments.compare import (
    ComparedTraining,
    Comparison,
    Point,
    compare,
)
from german_whist.training.folder import FolderLock
from german_whist.training.presets import load_settings


def a_run(
    folder: Path, *words: str, rates: tuple[float, ...] = (0.5, 0.6), entropy: float = 1.0
) -> Path:
    folder.mkdir(parents=True)
    settings = load_settings("tiny", words)
    (folder / "settings.yaml").write_text(settings.as_yaml(), encoding="utf-8")
    lines = ["decisions,opponent,win_rate,margin_of_error,margin,hands"]
    lines += [f"{1000 * (k + 1)},random,{rate},0.02,0.1,400" for k, rate in enumerate(rates)]
    lines += ["2000,itself@1000,0.5,0.02,0,400"]
    (folder / "evaluations.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = ["decisions,hands_played,seconds,entropy,decisions_per_second"]
    rows += [f"{100 * k},{k},{k},{entropy / k},{50 * k}" for k in range(1, 21)]
    (folder / "progress.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def two(tmp_path: Path) -> Comparison:
    one = a_run(tmp_path / "one", "ent_coef=0.1", "seed=1")
    other = a_run(tmp_path / "other", "ent_coef=0.2", "hidden_sizes=8", "seed=2", rates=(0.4, 0.7))
    return compare([one, f"second={other}"])


def test_long_curves_are_thinned_with_their_ends(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "long")
    rows = ["decisions,entropy", *(f"{k},{k / 2}" for k in range(1, 1_700))]
    (folder / "progress.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    first, *others, last = compare([folder]).trainings[0].learning["entropy"]
    assert 300 < len(others) < 500
    assert (first.decisions, first.value, last.decisions, last.value) == (1, 0.5, 1_699, 849.5)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("evaluations.csv", "decisions,opponent,win_rate,margin_of_error\n1000,random,0.5"),
        ("evaluations.csv", "decisions;opponent;win_rate;margin_of_error\n1000;random;0.5;0.1\n"),
        ("evaluations.csv", "decisions,opponent,win_rate,margin_of_error\n1000,random,half,0.1\n"),
        ("progress.csv", "decisions,entropy\nmany,1.0\n"),
        ("progress.csv", b"decisions,entropy\n100,\xff\n"),
    ],
)
def test_table_that_its_run_did_not_write_is_named(
    file: str, content: str | bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = a_run(tmp_path / "run") / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["compare", str(tmp_path / "run")]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert f"{path}: is not as its run wrote it (" in error
    assert error.endswith("leave this run out, or bring back the file")


def test_comparison_lists_only_differing_settings(two: Comparison) -> None:
    assert [training.name for training in two.trainings] == ["one", "second"]
    assert two.differing == {"hidden_sizes": [[64, 64], [8]], "ent_coef": [0.1, 0.2]}
    assert re.search(r"ent_coef +0\.1 +0\.2", two.text())


def test_comparison_has_text_rows_and_json(two: Comparison) -> None:
    assert re.search(r"random +60\.0 ± 2\.0 +70\.0 ± 2\.0", two.text())
    values = json.loads(json.dumps(two.to_json()))
    assert values["trainings"][1]["rates"]["random"][-1] == {
        "decisions": 2000,
        "value": 0.7,
        "margin_of_error": 0.02,
    }
    pandas = pytest.importorskip("pandas")
    frame = two.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame[frame.training == "second"].value) == [0.4, 0.7]
    assert "itself" not in set(frame.opponent)


def test_runs_without_evaluations_are_compared_too(tmp_path: Path) -> None:
    folders = a_run(tmp_path / "short", rates=(0.5,)), a_run(tmp_path / "long")
    assert re.search(r"evaluated after +1,000 +2,000", compare(folders).text())
    a_run(tmp_path / "many" / "seed-1")
    a_run(tmp_path / "many" / "seed-2", rates=())
    comparison = compare([tmp_path / "many"])
    assert re.search(r"random +60\.0\n", comparison.text())
    assert "evaluated after    2,000 (1 of 2 seeds)" in comparison.text()
    values = json.loads(json.dumps(comparison.to_json(), allow_nan=False))
    assert values["trainings"][0]["rates"]["random"][-1]["margin_of_error"] is None
    comparison = compare([*folders, a_run(tmp_path / "never", rates=())])
    assert [sorted(training.last) for training in comparison.trainings] == [["random"]] * 2 + [[]]
    assert "never" in comparison.text()
    assert "<svg" in comparison.page()


def test_intervals_of_several_seeds_are_over_seeds(tmp_path: Path) -> None:
    for seed, rate in ((1, 0.5), (2, 0.6), (10, 0.7)):
        a_run(tmp_path / "many" / f"seed-{seed}", f"seed={seed}", rates=(0.5, rate), entropy=seed)
    training = compare([tmp_path / "many"]).trainings[0]
    assert [run.name for run in training.folders] == ["seed-1", "seed-2", "seed-10"]
    last = training.last["random"]
    assert last.value == pytest.approx(0.6)
    # Student's t for three: 4.303 standard errors.
    assert last.margin_of_error == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-3)
    assert training.rates["random"][0].margin_of_error == 0
    assert training.learning["entropy"][0].value == pytest.approx(13 / 3)
    # One that has more figures than the others is laid beside them by decisions.
    a_run(tmp_path / "many" / "seed-11", rates=(0.4, 0.5, 0.8))
    points = compare([tmp_path / "many"]).trainings[0].rates["random"]
    assert [point.decisions for point in points] == [1000, 2000]
    assert [point.value for point in points] == pytest.approx([0.475, 0.575])


def test_differences_of_single_runs_are_over_hands(two: Comparison) -> None:
    (improvement,) = two.improvements
    difference = improvement.differences["random"]
    assert difference.value == pytest.approx(0.1)
    assert difference.margin_of_error == pytest.approx(math.hypot(0.02, 0.02))
    assert improvement.probability is None
    assert re.search(r"more than one, in % +second\nrandom +\+10\.0 ± 2\.8", two.text())


def test_differences_of_several_seeds_are_over_seeds(tmp_path: Path) -> None:
    finals = {"base": (0.50, 0.52, 0.54), "better": (0.53, 0.55, 0.60)}
    for name, rates in finals.items():
        for seed, rate in enumerate(rates, 1):
            a_run(tmp_path / name / f"seed-{seed}", f"seed={seed}", rates=(0.4, rate))
    compared = compare([tmp_path / "base", tmp_path / "better"])
    (improvement,) = compared.improvements
    difference = improvement.differences["random"]
    # Welch: standard error 0.02380, and 3.12 degrees of freedom.
    assert difference.value == pytest.approx(0.04)
    assert difference.margin_of_error == pytest.approx(3.1129 * 0.02380, rel=1e-3)
    # Of nine pairs of seeds the second training wins eight.
    probability = improvement.probability
    assert probability is not None
    assert probability.value == pytest.approx(8 / 9)
    assert (probability.low, probability.high) == pytest.approx((0.2615, 0.9939), abs=1e-3)
    assert "probability of improvement" in compared.text()
    assert "0.89 (" in compared.page()
    assert compared.to_json()["improvements"][0]["training"] == "better"


def test_pairs_of_equal_seeds_count_as_half_an_improvement(tmp_path: Path) -> None:
    for name, rates in {"base": (0.5, 0.5, 0.6), "same": (0.5, 0.6)}.items():
        for seed, rate in enumerate(rates, 1):
            a_run(tmp_path / name / f"seed-{seed}", f"seed={seed}", rates=(0.4, rate))
    (improvement,) = compare([tmp_path / "base", tmp_path / "same"]).improvements
    assert improvement.probability is not None
    # Of six pairs one has a half from each of two equal ones, two are won, and so on.
    assert improvement.probability.value == pytest.approx((2 * 0.5 + 2 + 0.5) / 6)


def test_probability_of_improvement_is_a_mean_over_opponents(tmp_path: Path) -> None:
    for name, (against_random, against_other) in {"base": (0.5, 0.5), "new": (0.6, 0.5)}.items():
        for seed in (1, 2):
            run = a_run(tmp_path / name / f"seed-{seed}", rates=(0.4, against_random))
            with open(run / "evaluations.csv", "a", encoding="utf-8") as file:
                file.write(f"2000,threshold,{against_other},0.02,0.1,400\n")
    (improvement,) = compare([tmp_path / "base", tmp_path / "new"]).improvements
    assert improvement.probability is not None
    # All pairs of seeds are won against one of them, and equal against the other.
    assert improvement.probability.value == pytest.approx(0.75)


def test_seed_that_ended_early_ends_table_and_difference(tmp_path: Path) -> None:
    curves = {"base": [(0.5, 0.6)] * 3, "other": [(0.40, 0.65), (0.41, 0.62), (0.39,)]}
    for name, rates_of_seeds in curves.items():
        for seed, rates in enumerate(rates_of_seeds, 1):
            a_run(tmp_path / name / f"seed-{seed}", f"seed={seed}", rates=rates)
    compared = compare([tmp_path / "base", tmp_path / "other"])
    (improvement,) = compared.improvements
    other = compared.trainings[1]
    # The last evaluation that all three seeds have is the first one.
    assert other.last["random"].value == pytest.approx(0.40)
    assert other.finals["random"] == [0.40, 0.41, 0.39]
    assert improvement.differences["random"].value == pytest.approx(-0.20)
    text = compared.text()
    assert re.search(r"random +60\.0 ± 0\.0 +40\.0 ± 2\.5\n", text)
    assert "1,000 (3 of 3 seeds; seed-3 ended there, others after 2,000)" in text
    assert "2,000 (3 of 3 seeds)" in text
    assert re.search(r"random +-20\.0 ± ", text)


def test_opponent_met_only_after_different_budgets_is_not_compared(tmp_path: Path) -> None:
    for seed, count in ((1, 1), (2, 3), (3, 3)):
        run = a_run(
            tmp_path / "many" / f"seed-{seed}", f"seed={seed}", rates=(0.4, 0.5, 0.6)[:count]
        )
        with open(run / "evaluations.csv", "a", encoding="utf-8") as file:
            file.write(f"{count}000,threshold,0.55,0.02,0.1,400\n")
    compared = compare([tmp_path / "many"])
    (training,) = compared.trainings
    assert training.finals == {"random": [0.4] * 3, "threshold": []}
    assert [*training.last] == ["random"]
    assert training.last["random"].decisions == 1000
    assert training.rates["threshold"] == []
    assert "threshold" not in compared.text()
    assert "1,000 (3 of 3 seeds" in compared.page()


def test_seeds_without_an_evaluation_in_common_are_told(tmp_path: Path) -> None:
    for seed, shift in ((1, 0.6), (2, 1.0)):
        run = a_run(tmp_path / "many" / f"seed-{seed}", f"seed={seed}", rates=(0.5,) * seed)
        path = run / "evaluations.csv"
        lines = path.read_text(encoding="utf-8").splitlines()
        if seed == 1:
            lines[1] = f"{1000 * shift:.0f},random,0.5,0.02,0.1,400"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    compared = compare([tmp_path / "many"])
    told = "no evaluation in common (seed-1 ended after 600, seed-2 ended after 2,000)"
    assert told in compared.text()
    assert told in compared.page()
    assert "against random" not in compared.page()


def test_seeds_with_different_settings_are_no_training(tmp_path: Path) -> None:
    for seed, words in {
        1: ("ent_coef=0.1",),
        2: ("ent_coef=0.1", "decisions=900", "threads=3"),
    }.items():
        a_run(tmp_path / "many" / f"seed-{seed}", f"seed={seed}", *words)
    assert len(compare([tmp_path / "many"]).trainings[0].folders) == 2
    a_run(tmp_path / "many" / "seed-3", "seed=3", "ent_coef=0.2")
    with pytest.raises(ValueError, match=r"seed-3.settings\.yaml: ent_coef is 0\.2, and in seed-1"):
        compare([tmp_path / "many"])


def test_opponent_that_some_seed_never_met_is_not_compared(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        run = a_run(tmp_path / "many" / f"seed-{seed}", f"seed={seed}")
        if seed < 3:
            with open(run / "evaluations.csv", "a", encoding="utf-8") as file:
                file.write("2000,threshold,0.3,0.02,0,400\n")
    (training,) = compare([tmp_path / "many"]).trainings
    assert [*training.last] == ["random"]
    assert training.finals["threshold"] == [0.3, 0.3]


def test_seeds_are_laid_side_by_side_up_to_the_first_end(tmp_path: Path) -> None:
    """Also where the seed that ended first has more evaluations than the others."""
    for seed, marks in {1: (1000, 2000, 3000), 2: (250, 500, 750, 1000, 1250)}.items():
        run = a_run(tmp_path / "many" / f"seed-{seed}", f"seed={seed}")
        lines = [f"{mark},random,{mark / 10_000},0.02,0,400" for mark in marks]
        header = "decisions,opponent,win_rate,margin_of_error,margin,hands"
        (run / "evaluations.csv").write_text("\n".join([header, *lines]), encoding="utf-8")
    (training,) = compare([tmp_path / "many"]).trainings
    (point,) = training.rates["random"]
    assert (point.decisions, point.value) == (1000, pytest.approx(0.1))
    assert training.finals["random"] == [0.1, 0.1]


def test_compare_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, page = a_run(tmp_path / "one"), tmp_path / "page.html"
    assert main(["compare", str(one), f"again={one}", "--html", str(page)]) == 0
    assert "wins in % against" in capsys.readouterr().out
    assert "<svg" in page.read_text(encoding="utf-8")
    for words, message in (
        ([str(one), str(one)], "two of these are called one: give one a name, as in NAME="),
        ([str(tmp_path)], "is no run: there is no settings.yaml in it, nor in its seeds"),
        ([], "name runs, as in"),
    ):
        assert main(["compare", *words]) == 2
        assert message in capsys.readouterr().err


# -- seeds


# Of all trainers this one starts soonest: it needs no torch.
WORDS = [
    "train",
    "trainer=mccfr",
    "decisions=640",
    "iteration=256",
    "eval_hands=20",
    "final_eval_hands=40",
    "eval_opponents=[random]",
    "eval_mode=sync",
]
DEADLY = """
import os
from pathlib import Path
from german_whist.training.callbacks.base import Callback

class Always(Callback):
    def on_save(self, run):
        os.kill(os.getpid(), 9)

class Once(Always):
    def on_save(self, run):
        try:
            Path("died").mkdir()
        except FileExistsError:
            return
        super().on_save(run)
"""


@pytest.mark.usefixtures("light_workers")
def test_one_command_trains_with_several_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # On one core one worker trains them all.
    monkeypatch.setattr(jobs, "usable_threads", lambda: 1)
    monkeypatch.chdir(tmp_path)
    Path("deadly.py").write_text(DEADLY, encoding="utf-8")
    assert main([*WORDS, "callbacks=deadly:Once", "seeds=3,4"]) == 0
    folder = tmp_path / "runs" / "mccfr-1"
    training = compare([folder]).trainings[0]
    assert [run.name for run in training.folders] == ["seed-3", "seed-4"]
    assert training.settings["seed"] == 3
    assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")
    output = capsys.readouterr().out
    assert "seed 3: " in output
    assert "seed 4: " in output
    # One of them was killed, and went on.
    assert output.count(": its process was ended by signal 9\n") == 1
    assert re.search(r"random +\d+\.\d ± ", output)
    # What was ended before it began, or saved anything, begins.
    shutil.rmtree(folder / "seed-4")
    (folder / "seed-4").mkdir()
    trust = ["--trust", "deadly:Once"]
    assert main(["train", "--resume", str(folder), "decisions=1280", *trust]) == 0
    again = compare([folder]).trainings[0]
    assert [run.name for run in again.folders] == ["seed-3", "seed-4"]
    assert again.settings["decisions"] == 1280
    assert again.last["random"].decisions >= 1280


@pytest.mark.usefixtures("light_workers")
def test_seed_whose_worker_keeps_dying_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("german_whist.common.executors.executor.MAX_DEATHS", 1)
    Path("deadly.py").write_text(DEADLY, encoding="utf-8")
    assert main([*WORDS, "callbacks=deadly:Always", "seeds=3"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        "seed 3: is given up, since 1 workers in a row died (signal 9) of the training of seed 3",
        "seed 3 did not come to an end; go on with: german-whist train --resume runs/mccfr-1 "
        "--trust deadly:Always",
    ]


@pytest.mark.usefixtures("light_workers")
def test_seeds_without_a_state_begin_unless_they_are_locked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "training.yaml").write_text("trainer: mccfr\n", encoding="utf-8")
    (tmp_path / "seed-1.json").write_text("{}", encoding="utf-8")
    words = ["train", "--resume", str(tmp_path)]
    assert main(words) == 2
    assert "has no runs to go on with, as seed-1: begin another" in capsys.readouterr().err
    (tmp_path / "seed-1").mkdir()
    lock = FolderLock(tmp_path / "seed-1")
    assert main(words) == 2
    lock.release()
    assert "seed-1 is being trained by process" in capsys.readouterr().out


@pytest.mark.parametrize("runs", [None, 3, "runs/a"])
def test_compare_refuses_what_is_no_list(runs: object) -> None:
    with pytest.raises(TypeError, match=r"runs is .*: give a list of folders"):
        compare(runs)


def test_axes_of_win_rates_end_with_all_hands() -> None:
    points = [Point(decisions, 0.9, 0.3) for decisions in (1.0, 2.0)]
    training = ComparedTraining(
        name="a",
        folders=(Path("a"),),
        settings={},
        rates={"random": points},
        learning={},
        ends={"a": 2.0},
        finals={"random": [0.9]},
    )
    (chart,) = re.findall(r"<svg.*?</svg>", Comparison([training]).page(), re.DOTALL)
    assert max(map(int, re.findall(r'class="axis">(\d+)<', chart))) == 100


def test_points_of_seeds_are_aligned_to_a_single_decision() -> None:
    short, long = (
        [Point(float(decisions), 0.5, 0.0) for decisions in listed]
        for listed in ((10, 12), (10, 11, 12, 13))
    )
    pairs = [[point.decisions for point in points] for points in aligned([short, long])]
    assert pairs == [[10, 10], [12, 12]]
