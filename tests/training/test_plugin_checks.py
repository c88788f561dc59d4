"""Faults of another package's trainer are reported by its name, its method and the place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from german_whist.cli import main
from german_whist.training.run_state import load_state

BASE = """
import numpy as np
from german_whist.agents.checkpoints.schema import NetworkCard
from german_whist.training.settings import Settings
from german_whist.training.algorithms.base import Trainer

class Made(Settings, frozen=True, kw_only=True):
    trainer: str = "own:Own"

class Quiet(Trainer):
    settings_kind = Made
    def iterate(self):
        self.decisions += 50
        self.hands += 2
        return {"paid": 0.25}
    def policy_weights(self):
        return {"policy.weight": np.zeros((52, 1)), "policy.bias": np.zeros(52)}
    def network_card(self):
        return NetworkCard(kind="mlp", inputs=('led[0]',), hidden_sizes=())
    def state(self):
        return self.policy_weights(), {"decisions": self.decisions, "hands": self.hands}
    def restore(self, arrays, plain):
        self.decisions, self.hands = plain["decisions"], plain["hands"]

class Own(Quiet):
"""
SMALL = ["trainer=own:Own", "decisions=100", "eval_opponents=", "final_eval_hands=2"]
SMALL += ["rules=small-last"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("own", None)


def train(folder: Path, body: str, *words: str) -> int:
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "own.py").write_text(BASE + indented, encoding="utf-8")
    return main(["train", *SMALL, *words])


MAKE = "def __init__(self, settings):\n"
CARD = "def network_card(self): return"
ITERATE = "def iterate(self):"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{ITERATE}\n    1 / 0", "own:Own raised ZeroDivisionError: division by zero (own.py:27)"),
        (f"{ITERATE} return [0.5]", "iterate of the trainer own:Own returned a list: it has to be"),
        (f"{ITERATE} pass", "iterate of the trainer own:Own returned None: it has to be a"),
        (f"{ITERATE} return {{'paid': 'x'}}", "iterate of the trainer own:Own returned a dict: it"),
        (f"{ITERATE} return {{'paid': 0.5}}", "own:Own left self.decisions at 0 for 1000 times:"),
        (f"{MAKE}    raise KeyError('x')", "raised KeyError: 'x' (own.py:27) in __init__"),
        (f"{MAKE}    pass", "it has to be one that calls super().__init__(settings)"),
        (f"{CARD} dict(kind='mlp')", "network_card of the trainer own:Own returned a dict: it"),
        (
            f"{CARD} NetworkCard(kind='mlp', inputs=('led[0:2]',), hidden_sizes=(8,))",
            "policy_weights of the trainer own:Own returned a dict: "
            "it has to be NumPy arrays of floats with "
            "the names and shapes of network_card: {'hidden.0.weight': (8, 2)",
        ),
        (
            "def policy_weights(self): return {'policy.weight': [1.0]}",
            "policy_weights of the trainer own:Own returned a dict: it has to be NumPy arrays of "
            "floats",
        ),
        ("def state(self): return {}", "state of the trainer own:Own returned a dict: it has to"),
        (
            "def state(self): return {}, {'self': self}",
            "state of the trainer own:Own returned a tuple: "
            "it has to be NumPy arrays by name, and a",
        ),
        (
            f"{ITERATE}\n    self.decisions = -8\n    return {{'paid': 1}}",
            "self.decisions of the trainer own:Own is -8: "
            "it has to be a whole number of at least 0",
        ),
        (
            f"{ITERATE}\n    self.decisions = 'many'\n    return {{'paid': 1}}",
            "self.decisions of the trainer own:Own is 'many': it has to be a whole number",
        ),
        (
            f"{ITERATE}\n    super().iterate()\n    self.hands = None\n    return {{'paid': 1}}",
            "self.hands of the trainer own:Own is None: it has to be a whole number",
        ),
        (
            f"{MAKE}    super().__init__(settings)\n    self.hands = 0.5",
            "self.hands of the trainer own:Own is 0.5: it has to be a whole number",
        ),
        (
            "def state(self): return {}, {'self': self if self.decisions else 0}\n"
            f"{ITERATE} return super().iterate()",
            "state of the trainer own:Own returned a tuple: "
            "it has to be NumPy arrays by name, and a",
        ),
        ("import abc\n@abc.abstractmethod\ndef begin(self): ...", "raised TypeError: "),
    ],
)
def test_fault_of_a_trainer_names_method_and_remedy(
    folder: Path, capsys: pytest.CaptureFixture[str], body: str, message: str
) -> None:
    assert train(folder, body) in (1, 2)
    seen = capsys.readouterr()
    assert message in seen.out + seen.err
    assert "fault of the program" not in seen.err
    assert "iterate" in body or not (folder / "runs").exists()


def test_numpy_numbers_of_a_trainer_are_counts(folder: Path) -> None:
    body = f"""{ITERATE}
    self.decisions += np.int64(50)
    self.hands = self.hands + np.int32(2)
    return {{"paid": np.float32(0.25)}}
def state(self):
    return super().state()[0], {{"decisions": np.int64(self.decisions), "hands": self.hands}}
"""
    assert train(folder, body) == 0
    assert main(["train", "--resume", "runs/own-1", "decisions=150", "--trust", "own:Own"]) == 0
    _, state = load_state(folder / "runs" / "own-1" / "state.safetensors")
    assert state.trainer == {"decisions": 150, "hands": 6}


def test_debug_shows_the_traceback_of_a_trainer(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(folder, f"{ITERATE}\n    1 / 0", "--debug") == 1
    assert 'own.py", line 27, in iterate' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{ITERATE}\n    raise ArithmeticError('lost')", "lost; the run is saved after 0 dec"),
        (
            f"{ITERATE}\n    super().iterate()\n    return {{'paid': np.nan}}",
            "paid became nan after 50 decisions; the run is saved after 0 decisions, and goes on",
        ),
        (
            "def policy_weights(self): return {name: each + self.decisions * np.inf "
            "for name, each in super().policy_weights().items()} "
            "if self.decisions else super().policy_weights()",
            "policy.weight became NaN or infinite after 100 decisions; the run is saved after 100 ",
        ),
    ],
)
def test_nan_of_a_trainer_ends_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str], body: str, message: str
) -> None:
    assert train(folder, body) == 3
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "train own.py",
            "'own.py' is no preset: a trainer of your own is named by its module and "
            "its class, as in trainer=own:MyTrainer",
        ),
        (
            "train tiny trainer=cfr",
            "tiny.yaml is for the trainer ppo, and its settings do not fit "
            "trainer=cfr: leave out tiny",
        ),
        (
            "train --resume runs/mytiny",
            "runs/mytiny: there is no such folder to go on in; did you mean 'mytiny-1'?",
        ),
        ("train --resume nowhere/mytiny", "there is no such folder to go on in\n"),
        ("train --resume runs/mytiny-1 seeds=1,2", "leave out seeds=1,2"),
        ("expert-iteration quick --workers -2", "--workers is -2: it has to be from 1 to 4096, or"),
    ],
)
def test_misplaced_words_name_the_right_ones(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    run = folder / "runs" / "mytiny-1"
    run.mkdir(parents=True)
    (run / "settings.yaml").write_text("trainer: ppo\n", encoding="utf-8")
    assert main(command.split()) == 2
    assert message in capsys.readouterr().err
    assert [*(folder / "runs").iterdir()] == [run]
