"""A sweep tries settings, goes on where it was, and leaves a preset."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from msgspec.structs import replace

from german_whist.agents.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from german_whist.cli import main
from german_whist.evaluation.formats import percent_with_interval
from german_whist.training.callbacks.base import Callback
from german_whist.training.callbacks.evaluation import EVALUATION_SEED, evaluate_checkpoint
from german_whist.training.checkpoint import EvaluationResult, RunState, load_state, save_state
from german_whist.training.experiments.optuna_study import Pruning, mean_win_rate
from german_whist.training.experiments.search_space import Between, Sweep, load_sweep
from german_whist.training.experiments.sweep import JOURNAL, run_sweep
from german_whist.training.runs.presets import load_settings
from german_whist.training.settings import Settings

pytest.importorskip("torch")
optuna = pytest.importorskip("optuna")


SMALL = {
    "n_envs": 16, "decisions": 640, "batch_size": 64, "threads": 1, "eval_every": 256,
    "eval_hands": 20, "final_eval_hands": 40, "hidden_sizes": [8],
}  # fmt: skip
SPACE = {
    "learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
    "n_epochs": {"low": 1, "high": 3},
    "hidden_sizes": [[8], [8, 8]],
}
GOOD = {
    "preset": "tiny", "settings": SMALL, "space": SPACE, "against": ["random"], "trials": 3,
    "finalists": 2, "hands": 40,
}  # fmt: skip


def written(folder: Path, **changes: object) -> Path:
    path = folder / "space.yaml"
    path.write_text(yaml.safe_dump({**GOOD, **changes}), encoding="utf-8")
    return path


def test_a_sweep_goes_on_to_as_many_trials_as_are_wanted_and_leaves_a_preset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = written(tmp_path), tmp_path / "sweep"
    command = ["sweep", str(path), "--folder", str(folder)]
    assert main([*command, "--trials", "1"]) == 0
    assert main([*command]) == 0
    study = study_of(folder)
    assert len(study.trials) == 3
    assert {each.name for each in (folder / "trials").iterdir()} == {"0", "1", "2"}
    told = capsys.readouterr().out
    assert told.count("best: ") == 2
    best = load_settings(folder / "best.yaml")
    chosen = int(told.split("best: trial ")[-1].split(",")[0])
    params = study.trials[chosen].params
    wanted = {**params, "hidden_sizes": yaml.safe_load(params["hidden_sizes"])}
    assert {name: best.as_mapping()[name] for name in wanted} == wanted
    assert wanted.keys() == SPACE.keys()
    assert isinstance(wanted["n_epochs"], int)
    assert best.about.startswith("the best of 3 trials, ")
    assert " % on fresh deals" in best.about
    assert told.count(" on fresh deals: ") == 1 + 2
    assert all(
        f"trial {each.number} won {100 * each.value:.1f} ± " in told for each in study.trials
    )
    # Once there are enough of them, nothing more is tried.
    assert main([*command]) == 0
    assert len(list((folder / "trials").iterdir())) == 3
    capsys.readouterr()


def study_of(folder: Path) -> Any:
    """The study in a sweep's folder, as Optuna reads it."""
    journal = optuna.storages.journal
    storage = journal.JournalStorage(journal.JournalFileBackend(str(folder / JOURNAL)))
    return optuna.create_study(
        study_name=folder.name, storage=storage, direction="maximize", load_if_exists=True
    )


def kept(folder: Path, values: Sequence[float]) -> None:
    """A sweep whose trials are done: the first has a poor network, the others the same good one."""
    study = study_of(folder)
    good = read_checkpoint("champion-1")
    weights = {**good.weights, "policy.weight": -good.weights["policy.weight"]}
    for number, value in enumerate(values):
        trial = study.ask({"n_epochs": optuna.distributions.IntDistribution(1, 3)})
        trial.set_user_attr("half_width", 0.3)
        study.tell(trial, value)
        path = folder / "trials" / str(number) / "checkpoints" / "640"
        path.parent.mkdir(parents=True)
        write_checkpoint(path, good.weights if number else weights, good.card)


def test_the_best_of_noisy_figures_is_found_by_fresh_deals_and_ties_are_told(
    tmp_path: Path,
) -> None:
    folder, said = tmp_path / "sweep", list[str]()
    folder.mkdir()
    kept(folder, [0.9, 0.8, 0.7, 0.6])
    sweep = load_sweep(written(tmp_path, trials=4, finalists=3, hands=60))
    found = run_sweep(sweep, folder, say=said.append)
    assert [each.number for each in found.finalists] == [1, 2, 0]
    best, same, poor = found.finalists
    assert poor.value < 0.5 < best.value == same.value
    assert found.ties == [2]
    again = evaluate_again(folder, 60, 2)
    assert (found.confirmed.value, found.confirmed.half_width) == pytest.approx(
        (again.win_rate, again.half_width)
    )
    preset = load_settings(folder / "best.yaml")
    assert preset.as_mapping()["n_epochs"] == found.study.trials[1].params["n_epochs"]
    figure = percent_with_interval(found.confirmed)
    assert preset.about == f"the best of 4 trials, {figure} on fresh deals, not told from trial 2"
    assert said == [f"trial {each.number} on fresh deals: {each}" for each in (poor, best, same)]
    # The deals are not those on which trials were measured, nor others each time.
    trained = evaluate_checkpoint(folder / "trials/1/checkpoints/640.safetensors", ["random"], 60)
    assert trained.results[0].margin != evaluate_again(folder, 60).margin
    assert best.value == evaluate_again(folder, 60).win_rate


def evaluate_again(folder: Path, hands: int, deals: int = 1) -> EvaluationResult:
    """Trial 1 on the deals of finalists, or on those after them."""
    path = folder / "trials/1/checkpoints/640.safetensors"
    return evaluate_checkpoint(path, ["random"], hands, seed=EVALUATION_SEED + deals).results[0]


def test_finalists_that_were_trained_elsewhere_are_told(tmp_path: Path) -> None:
    folder, said = tmp_path / "sweep", list[str]()
    folder.mkdir()
    kept(folder, [0.9, 0.8])
    sweep = load_sweep(written(tmp_path, trials=2))
    (folder / "trials" / "0").rename(tmp_path / "0")
    assert run_sweep(sweep, folder, say=said.append).best.number == 1
    assert said[0] == "trial 0 was trained elsewhere: it is not measured again"
    (folder / "trials" / "1").rename(tmp_path / "1")
    with pytest.raises(ValueError, match="none of the 2 best trials was trained in "):
        run_sweep(sweep, folder, say=said.append)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_the_interval_of_a_mean_win_rate_holds_however_opponents_correlate(
    correlation: float,
) -> None:
    """All opponents are met on the same deals."""
    generator, covered = np.random.default_rng(3), 0
    for _ in range(1000):
        shared, own = generator.normal(size=(1, 400)), generator.normal(size=(3, 400))
        luck = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
        matches = [
            EvaluationResult(opponent=name, win_rate=float(0.5 + 0.1 * each.mean()), margin=0.0,
                             half_width=0.1 * 1.966 * each.std(ddof=1) / 20, decisions=1, hands=800)
            for name, each in zip("abc", luck, strict=True)
        ]  # fmt: skip
        told = mean_win_rate(matches, ["a", "b", "c"])
        covered += told.low <= 0.5 <= told.high
    assert covered >= 940


def test_a_trial_that_promises_nothing_is_ended_early(tmp_path: Path) -> None:
    class Never(optuna.pruners.BasePruner):
        def prune(self, study: object, trial: object) -> bool:
            return True

    optuna.pruners.NeverPruner = Never
    try:
        sweep = load_sweep(written(tmp_path, pruner="Never"))
        said: list[str] = []
        with pytest.raises(ValueError, match="none of its 3 trials was trained to its end"):
            run_sweep(sweep, tmp_path / "sweep", say=said.append)
    finally:
        del optuna.pruners.NeverPruner
    assert sum("was ended early" in each for each in said) == 3
    assert not (tmp_path / "sweep" / "best.yaml").exists()


def test_trials_side_by_side_come_to_what_they_come_to_one_by_one(tmp_path: Path) -> None:
    path = written(tmp_path, trials=2, sampler="Random", pruner="Nop")
    found = []
    for workers in (1, 2):
        folder = tmp_path / str(workers) / "sweep"
        told = run_sweep(load_sweep(path), folder, say=lambda _: None, workers=workers)
        found.append(
            [(each.params, each.value, each.intermediate_values) for each in told.study.trials]
        )
        assert {each.name for each in (folder / "trials").iterdir()} == {"0", "1"}
    assert found[0] == found[1]
    assert all(len(reports) == 2 for _, _, reports in found[0])


def no_training(settings: Settings, folder: Path, **_: object) -> None:
    """A trial's run without the training."""
    good = read_checkpoint("champion-1")
    path = folder / "checkpoints" / "640"
    path.parent.mkdir(parents=True)
    write_checkpoint(path, good.weights, good.card)
    measured = EvaluationResult(
        opponent="random", hands=2, margin=0.0, win_rate=0.5, half_width=0.1, decisions=640
    )
    save_state(folder / "state.safetensors", {}, RunState({}, measured=[measured]))


def test_no_trial_is_drawn_twice_by_a_sweep_that_goes_on_or_is_shared(tmp_path: Path) -> None:
    sweep = load_sweep(written(tmp_path, space={"ent_coef": {"low": 0.0, "high": 1.0}}))

    def drawn(folder: Path, trials: int) -> list[float]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("german_whist.training.experiments.sweep.train_or_go_on", no_training)
            found = run_sweep(replace(sweep, trials=trials), folder, say=lambda _: None)
        if find_spec("pandas"):
            assert [*found.frame().params_ent_coef] == [
                each.params["ent_coef"] for each in found.study.trials
            ]
        return [each.params["ent_coef"] for each in found.study.trials]

    whole = drawn(tmp_path / "whole", 3)
    assert len(set(whole)) == 3
    for trials in (1, 2, 3):
        parts = drawn(tmp_path / "parts", trials)
    assert parts == whole


def test_sweeps_that_start_at_once_share_one_study(tmp_path: Path) -> None:
    path, folder = written(tmp_path, trials=4, finalists=1), tmp_path / "sweep"
    code = (
        "import sys; from pathlib import Path\n"
        "from german_whist.training.experiments import search_space, sweep\n"
        "sweep.run_sweep(search_space.load_sweep(sys.argv[1]), Path(sys.argv[2]))"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), str(folder)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    told = [each.communicate()[0] for each in running]
    assert [each.returncode for each in running] == [0, 0], told
    trials = study_of(folder).trials
    assert len({str(each.params) for each in trials}) == len(trials) >= 4


def test_a_killed_trial_goes_on_from_what_it_saved(tmp_path: Path) -> None:
    folder, said = tmp_path / "sweep", list[str]()
    sweep = load_sweep(written(tmp_path, trials=1, settings={**SMALL, "save_every": 256}))

    class Killed(BaseException):
        pass

    def kill(run: Any, *_: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pruning, "on_evaluation", kill)
        with pytest.raises(Killed):
            run_sweep(sweep, folder, say=said.append)
    (broken,) = study_of(folder).trials
    assert broken.state.name == "RUNNING"
    place = folder / "trials" / "0"
    saved = load_state(place / "state.safetensors")[1].trainer["decisions"]
    assert saved
    found = run_sweep(sweep, folder, say=said.append)
    (trial,) = found.study.trials
    assert (trial.number, trial.params, trial.state.name) == (0, broken.params, "COMPLETE")
    rows = load_state(place / "state.safetensors")[1].rows
    assert rows[0]["decisions"] < saved < rows[-1]["decisions"]
    # One that dies of it again and again is given up.
    trial = found.study.ask({"n_epochs": optuna.distributions.IntDistribution(1, 3)})
    trial.set_user_attr("process", (socket.gethostname(), os.getpid(), 3))
    run_sweep(sweep, folder, say=said.append)
    assert "trial 1 is given up, since it was broken off 3 times" not in said
    run_sweep(replace(sweep, trials=2), folder, say=said.append)
    assert "trial 1 is given up, since it was broken off 3 times" in said
    assert [each.state.name for each in study_of(folder).trials] == ["COMPLETE", "FAIL", "COMPLETE"]


@pytest.mark.parametrize("rates", [(0.1, 0.2), (0.9, 0.8)])
def test_a_trial_in_another_process_is_pruned_by_what_the_storage_holds(
    rates: tuple[float, float], tmp_path: Path
) -> None:
    study = study_of(tmp_path)
    for k in range(6):
        one = study.ask()
        one.report(0.5 + k / 100, 100)
        study.tell(one, 0.5)
    told = tmp_path.name, "Median", study.ask()._trial_id
    run = Told(tmp_path / "6")
    # As it is sent there.
    pruning = pickle.loads(pickle.dumps(Pruning(str(tmp_path / JOURNAL), *told)))
    pruning.on_start(run)
    for decisions, rate in zip((100, 200), rates, strict=True):
        run.measure(pruning, decisions, rate)
    assert run.stopped == (rates[0] < 0.5)
    # A machine that does not reach the storage doc so.
    with pytest.raises(ValueError, match="does not hold the sweep here: give a --storage"):
        Pruning(str(tmp_path / "no"), *told).on_start(run)


class Told:
    """What a callback sees of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.settings = (
            folder,
            load_settings("tiny", ["decisions=1000", "eval_opponents=random"]),
        )
        self.trainer = SimpleNamespace(decisions=0, hands=0)
        self.measured: list[EvaluationResult] = []
        self.rows: list[dict[str, Any]] = []
        self.seconds, self.stopped = 0.0, False

    def measure(self, callback: Callback, decisions: int, rate: float) -> None:
        self.trainer.decisions = decisions
        self.measured.append(
            EvaluationResult(
                opponent="random",
                hands=2,
                margin=0.0,
                win_rate=rate,
                half_width=0.1,
                decisions=decisions,
            )
        )
        callback.on_evaluation(self, self.measured[-1:])

    def say(self, text: str) -> None: ...

    def stop(self, why: str) -> None:
        self.stopped = True


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sampler": "TPEE"}, "sampler is 'TPEE', which is none of Optuna's; did you mean 'TPE'"),
        (
            {"pruner": "Medan"},
            "pruner is 'Medan', which is none of Optuna's; did you mean 'Median'",
        ),
        (
            {"space": {"ent_ceof": [0.1]}},
            "'ent_ceof' is not a setting of ppo; did you mean 'ent_coef'",
        ),
        (
            {"space": {"clip_range": {"low": -1, "high": 1}}},
            "space: clip_range is -1.0: it has to be a number",
        ),
        (
            {"space": {"clip_range": {"low": 2, "high": 1}}},
            "`low <= high` must hold, but got (low=2.0, high=1.0)",
        ),
        (
            {"space": {"clip_range": {"low": 0, "high": 1, "log": True}}},
            "`low > 0` must hold for `log=True`",
        ),
        ({"space": {"critic": ["orcale"]}}, "did you mean 'oracle'"),
        ({"space": {"critic": []}}, "critic: The `choices` must contain one or more elements"),
        ({"space": {}}, "space is {}: it has to be a mapping of one or more"),
        ({"space": {"clip_range": {"low": 1}}}, "space: clip_range: has no 'high'"),
        ({"space": {"clip_range": {"lo": 1, "high": 2}}}, "'lo' is not a part of a range"),
        ({"space": {"clip_range": 1}}, "space: clip_range is 1: give `low` and `high`, or a list"),
        ({"space": None}, "space is empty: it has to be a mapping"),
        ({"trails": 3}, "'trails' is not a part of a sweep; did you mean 'trials'"),
        ({"preset": "tny"}, "'tny' is not a preset; did you mean 'tiny'"),
    ],
)
def test_what_can_not_be_swept_is_refused_with_a_sentence(
    changes: dict[str, object], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, **changes)
    assert main(["sweep", str(path), "--folder", str(tmp_path / "sweep")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "sweep" / "trials").exists()


def test_a_range_is_read_as_settings_are(tmp_path: Path) -> None:
    path = tmp_path / "space.yaml"
    # YAML takes a number without a point for a word.
    path.write_text("space: {learning_rate: {low: 1e-4, high: 1e-2, log: true}}")
    assert load_sweep(path).space == {"learning_rate": Between(low=1e-4, high=1e-2, log=True)}


def test_a_sweep_may_be_made_in_python() -> None:
    sweep = Sweep(preset="tiny", space={"ent_coef": Between(low=0.01, high=0.1)})
    assert sweep.sampler == "TPE"
