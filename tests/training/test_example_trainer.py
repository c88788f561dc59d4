"""The guide's example of a trainer: found by name, checked, resumed, evaluated, played."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from small_runs import arrays_of, same

from german_whist.agents.checkpoints import list_checkpoints, read_checkpoint
from german_whist.cli import main
from german_whist.common.settings import SettingsError
from german_whist.training.algorithms.registry import TRAINERS, make_trainer, trainer_kind
from german_whist.training.experiments.benchmark_results import load_results
from german_whist.training.presets import command_of, load_settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "algorithms.md"
TRAINER = "trainer=reinforce:Reinforce"
SMALL = [
    TRAINER,
    "n_envs=64",
    "decisions=5000",
    "eval_every=3000",
    "save_every=1000",
    "eval_hands=20",
    "final_eval_hands=40",
    "eval_opponents=random-exact",
    "eval_mode=sync",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the page's example in it, and nothing of it left behind."""
    text = PAGE.read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    assert len(code.splitlines()) < 150
    (tmp_path / "reinforce.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("reinforce", None)


def test_example_trains_plays_and_resumes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *SMALL]) == 0
    output = capsys.readouterr().out
    assert "against random-exact" in output
    run = folder / "runs" / "reinforce-1"
    assert yaml.safe_load((run / "settings.yaml").read_text())["trainer"] == "reinforce:Reinforce"
    assert "entropy,return" in (run / "progress.csv").read_text(encoding="utf-8")
    card = read_checkpoint(run).card
    assert card.network.hidden_sizes == ()
    assert card.commands[0].startswith("german-whist train trainer=reinforce:Reinforce ")
    words = ["--against", "random-exact", "--hands", "40"]
    assert main(["evaluate", str(run), *words]) == 0
    assert main(["train", *SMALL, "decisions=2500", "--run", "on"]) == 0
    sys.modules.pop("reinforce")
    trust = ["--trust", "reinforce:Reinforce"]
    assert main(["train", "--resume", "on", "decisions=5000", *trust]) == 0
    assert same(arrays_of(run), arrays_of(folder / "on"))
    assert len(list_checkpoints(folder / "on" / "checkpoints")) == 2


@pytest.mark.usefixtures("light_workers")
def test_benchmark_shows_an_outside_trainer_beside_published(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = {"preset": "exact", "rules": ["2x4-h2"], "seeds": 3, "decisions": 9000}
    (folder / "tiny.yaml").write_text(yaml.safe_dump(fields), encoding="utf-8")
    assert main(["benchmark", "reinforce:Reinforce"]) == 2
    assert "`german-whist benchmark exact reinforce:Reinforce`" in capsys.readouterr().err
    assert main(["benchmark", "exact", "reinforce.py"]) == 2
    assert "`german-whist benchmark exact reinforce.py:Class`" in capsys.readouterr().err
    words = ["benchmark", "tiny.yaml", "reinforce:Reinforce"]
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "3 of 3: Reinforce on 2x4-h2, seed 3" in output
    page = folder / "runs" / "benchmark-tiny-Reinforce" / "benchmark.md"
    assert str(page.relative_to(folder)) in output
    rows = [line.split(" | ")[0] for line in page.read_text().splitlines() if " [" in line]
    assert {"| `Reinforce`", "| `nfsp-tuned`", "| `mccfr`"} <= {*rows}
    assert "(1 seed)" in page.read_text()
    text = page.read_text(encoding="utf-8")
    assert re.search(
        r"- `Reinforce` had [\d,]+ decisions on `2x4-h2`, where published networks", text
    )
    assert (
        "- `Reinforce` does not say what its critic sees (in the property `given` of its settings)."
    ) in text
    assert "- `Reinforce` does not say what its policy reads (" in text
    chart = page.with_name("benchmark-2x4-h2-exploitability-time.svg").read_text()
    assert "Reinforce" in chart
    assert "cfr+" in chart
    ours = load_results(page.with_name("results.jsonl"))
    assert [(run.algorithm, run.seed) for run in ours] == [("Reinforce", n) for n in (1, 2, 3)]
    # Shown again beside others, with nothing trained.
    assert main(["benchmark", str(page.with_name("results.jsonl"))]) == 0


def change_source(folder: Path, right: str, wrong: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    assert right in code
    (folder / "reinforce.py").write_text(code.replace(right, wrong), encoding="utf-8")
    sys.modules.pop("reinforce", None)


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ('"policy.bias": self.bias', '"bias": self.bias', "policy.bias is missing in what "),
        (
            '"policy.weight": self.weight',
            '"policy.weight": self.weight.T',
            "Reinforce.policy_weights() returns, and its network_card() needs (52, ",
        ),
    ],
)
def test_weights_that_do_not_fit_their_card_are_named(
    right: str, wrong: str, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_source(folder, right, wrong)
    assert main(["train", *SMALL]) != 0
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("given", ["critic='none', ema=False", "critics='none'"])
def test_benchmark_refuses_what_is_given_in_other_words_before_training(
    given: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = '    trainer: str = "reinforce:Reinforce"\n'
    own = (
        "\n    @property\n    def given(self):\n"
        "        from german_whist.training.given import Given\n\n"
        f"        return Given({given})\n\n"
    )
    change_source(folder, head, head + own)
    fields = {"preset": "exact", "rules": ["2x4-h2"], "decisions": 9000}
    (folder / "tiny.yaml").write_text(yaml.safe_dump(fields), encoding="utf-8")
    assert main(["benchmark", "tiny.yaml", "reinforce:Reinforce"]) == 2
    assert "the property `given` of ReinforceSettings does not" in capsys.readouterr().err
    assert not (folder / "runs").exists()


def test_two_benchmarks_of_one_folder_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "tiny.yaml").write_text("preset: exact\n", encoding="utf-8")
    assert main(["benchmark", "one/tiny.yaml", "two/tiny.yaml"]) == 2
    told = "two of the benchmarks would be written to runs/benchmark-tiny: give one of the files"
    assert told in capsys.readouterr().err


@pytest.mark.thorough
def test_example_learns(folder: Path) -> None:
    words = ["n_envs=512", "decisions=600_000", "learning_rate=2", "save_every=1e6"]
    tiny = ["rules={suits: 2, ranks: 4, hand: 2}", "horizon=hand", "eval_opponents=random"]
    measure = ["eval_every=1e6", "final_eval_hands=4000"]
    assert main(["train", TRAINER, *words, *tiny, *measure, "--run", "run"]) == 0
    measured = read_checkpoint(folder / "run").card.evaluations[-1]
    # With its own endgame; the best response to random wins 60.7 %.
    assert measured.win_rate - measured.margin_of_error > 0.53


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("hands", -1, "hands is -1"),
        ("decisions", None, "decisions is None"),
        ("bias", np.full(52, np.nan), r"bias has to be \(52,\) finite numbers"),
        ("baseline", np.zeros(1), "baseline has to be"),
    ],
)
def test_example_refuses_a_wrong_state(name: str, value: Any, message: str) -> None:
    settings = load_settings(None, SMALL)
    arrays, plain = make_trainer(settings).state()
    (arrays if name in arrays else plain)[name] = value
    with pytest.raises(ValueError, match=message):
        make_trainer(settings).restore(arrays, plain)


def test_example_settings_are_shown_and_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", TRAINER, "--show"]) == 0
    output = capsys.readouterr().out
    assert "# Learning rate of SGD." in output
    assert "# Training algorithm: the name" in output
    assert yaml.safe_load(output)["learning_rate"] == 0.5
    for word, wrong in (
        ("learnin_rate=1", "'learnin_rate' is not a setting of the reinforce:Reinforce trainer"),
        ("learning_rate=-1", "learning_rate is -1.0: it has to be a number of more than 0"),
        ("n_envs=1", "n_envs is 1: it has to be a whole number of at least 2"),
    ):
        assert main(["train", TRAINER, word]) == 2
        assert wrong in capsys.readouterr().err


def test_command_of_example_gives_the_same_settings() -> None:
    settings = load_settings(None, [*SMALL, "learning_rate=2e-1"])
    program, train, *words = shlex.split(command_of(settings))
    assert (program, train) == ("german-whist", "train")
    assert load_settings(None, words) == settings


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pppo", "'pppo' is not a trainer; did you mean 'ppo'"),
        ("nothing", "'nothing' is not a trainer; there are ppo, mmd, nfsp, mccfr, sb3"),
        ("nothing", "; trainers of your own are named as module:object"),
        ("reinforce:Reinforc", "reinforce has no 'Reinforc'; did you mean 'Reinforce'"),
        ("no_such:Thing", "module no_such cannot be imported"),
        ("json:loads", "json:loads is no trainer: it has to be a subclass of"),
    ],
)
def test_unknown_trainer_is_refused(name: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_settings(None, [f"trainer={name}"])
    assert message in str(error.value)


def test_trainers_are_found_by_name() -> None:
    assert {"ppo", "sb3"} <= TRAINERS.entries().keys()
    pytest.importorskip("torch")
    assert trainer_kind("ppo").__name__ == "PPO"
    with pytest.raises(ValueError, match="the trainer name 'ppo' is taken"):
        TRAINERS.add("ppo", "json:loads")


def test_settings_are_shown_without_torch_and_tables_need_none() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from german_whist.cli import main\n"
        "assert main(['train', 'quick', '--show']) == 0\n"
        "assert main(['train', 'quick']) == 2\n"
        "mccfr = ['trainer=mccfr', 'decisions=100', 'eval_opponents=[]', 'final_eval_hands=2']\n"
        "assert main(['train', *mccfr]) == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("training needs torch, which is not installed: pip install") == 1
