"""Trainers of other packages: tracebacks of their faults, and NaN, which is never saved."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from german_whist.cli import main
from german_whist.common.plugins import foreign_traceback
from german_whist.evaluation.results import _each
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


ITERATE = "def iterate(self):"
LATER = """def iterate(self):
    super().iterate()
    if self.decisions > 50: FAULT
    return {'paid': 1}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (LATER.replace("FAULT", "1 / 0"), "ZeroDivisionError: division by zero"),
        (LATER.replace("FAULT", "raise ValueError('bad')"), "ValueError: bad"),
        ("def state(self): return {}, {'a': self.decisions and {}[1]}", "KeyError: 1"),
    ],
)
def test_fault_of_a_trainer_shows_its_traceback_and_state(
    folder: Path, capsys: pytest.CaptureFixture[str], body: str, message: str
) -> None:
    assert train(folder, body, "save_every=50") == 1
    seen = capsys.readouterr()
    log = (folder / "runs" / "own-1" / "log.txt").read_text(encoding="utf-8")
    for text in (seen.out + seen.err, log):
        frames = [line for line in text.splitlines() if line.lstrip().startswith("File ")]
        assert 'own.py", line ' in frames[0]  # nothing of what called it
        assert f"{message} (own.py:" in text
        assert "; the run is saved after " in text
        assert "train --resume runs/own-1" in text
    assert "fault of the program" not in seen.out + seen.err
    saved = load_state(folder / "runs" / "own-1" / "state.safetensors")[1].trainer
    assert saved in ({"decisions": 50, "hands": 2}, {"a": 0})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def __init__(self, settings):\n    raise KeyError('x')", "KeyError: 'x'"),
        ("import abc\n@abc.abstractmethod\ndef begin(self): ...", "TypeError: Can't instantiate"),
    ],
)
def test_fault_at_the_start_shows_its_traceback_and_no_run(
    folder: Path, capsys: pytest.CaptureFixture[str], body: str, message: str
) -> None:
    assert train(folder, body) in (1, 2)
    seen = capsys.readouterr()
    assert "Traceback" in seen.err
    assert message in seen.err
    assert not (folder / "runs").exists()


def test_numpy_numbers_of_a_trainer_are_counts(folder: Path) -> None:
    body = f"""{ITERATE}
    self.decisions += np.int64(50)
    self.hands = self.hands + np.int32(2)
    return {{"paid": np.float32(0.25)}}
"""
    assert train(folder, body) == 0
    assert main(["train", "--resume", "runs/own-1", "decisions=150", "--trust", "own:Own"]) == 0
    _, state = load_state(folder / "runs" / "own-1" / "state.safetensors")
    assert state.trainer == {"decisions": 150, "hands": 6}


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
            "policy.weight became NaN or infinite after 50 decisions; the run is saved after 0 dec",
        ),
    ],
)
def test_nan_of_a_trainer_ends_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str], body: str, message: str
) -> None:
    assert train(folder, body, "save_every=50") == 3
    assert message in capsys.readouterr().out
    arrays, _ = load_state(folder / "runs" / "own-1" / "state.safetensors")
    assert all(np.isfinite(array).all() for array in arrays.values())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "train own.py",
            "'own.py' is no preset: a trainer of your own is named by its module and "
            "its class, as in trainer=own:MyTrainer",
        ),
        (
            "train tiny trainer=mccfr",
            "tiny.yaml is for the trainer ppo, and its settings do not fit "
            "trainer=mccfr: leave out tiny",
        ),
        (
            "train --resume runs/mytiny",
            "runs/mytiny: there is no such folder to go on in; did you mean 'mytiny-1'?",
        ),
        ("train --resume nowhere/mytiny", "there is no such folder to go on in\n"),
        ("train --resume runs/mytiny-1 seeds=1,2", "leave out seeds=1,2"),
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


def test_traceback_begins_in_own_code_beside_the_package() -> None:
    """As in a checkout, whose folder holds the package and this file."""

    def fail(value: float) -> float:
        raise ArithmeticError(value)

    with pytest.raises(ArithmeticError) as raised:
        _each(fail, [1.0])
    assert raised.tb.tb_next is not None
    error = raised.value.with_traceback(raised.tb.tb_next)  # what called the package is not shown
    frames = [line for line in foreign_traceback(error).splitlines() if "File " in line]
    assert len(frames) == 1
    assert f'{__file__}", line ' in frames[0]
    assert frames[0].endswith("in fail")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "def iterate(self): self.decisions += 50",
            "Own.iterate() returned a NoneType: return a dict of numbers",
        ),
        (
            "def iterate(self): return {'loss': 'small'}",
            "Own.iterate() returned 'small' as 'loss': a metric is a number",
        ),
        (
            "def policy_weights(self): return super().policy_weights() | {'more': np.zeros(3)}",
            "more is in what Own.policy_weights() returns, and its network_card() has no such",
        ),
        (
            "def iterate(self): return super().iterate() | {'decisions': 50}",
            "Own.iterate() returned a metric called 'decisions', which is a column of the run",
        ),
        (
            "def iterate(self): self.decisions -= 50; return {}",
            "Own.iterate() lowered decisions from 0 to -50: they are those of the whole training",
        ),
        (
            "def iterate(self): self.decisions += 0.5; return {}",
            "Own.iterate() made decisions 0.5: count in whole numbers",
        ),
        (
            "def policy_weights(self): return {n: a.tolist() for n, a in "
            "super().policy_weights().items()}",
            "Own.policy_weights() returned a list as ",
        ),
        (
            "def iterate(self): self.decisions += 50; self.hands -= 1; return {}",
            "Own.iterate() lowered hands from 0 to -1: they are those of the whole training",
        ),
        (
            "def iterate(self): self.decisions = None; return {}",
            "Own.iterate() made decisions None: count in whole numbers",
        ),
        (
            "def policy_weights(self): return {n: a.astype(int) for n, a in "
            "super().policy_weights().items()}",
            "as int64: return float32, or other fractions of up to 64 bits",
        ),
        (
            "def policy_weights(self): return []",
            "Own.policy_weights() returned a list: return a dict of arrays",
        ),
        (
            "def network_card(self): return {}",
            "Own.network_card() returned a dict: return a NetworkCard",
        ),
        (
            "def network_card(self): import msgspec; return msgspec.structs.replace("
            "super().network_card(), card_ranks='odd')",
            "Own.network_card() returned a card that cannot be read again: Invalid enum value",
        ),
        (
            "state, state_attributes = Trainer.state, ('absent',)",
            "Own has no attribute 'absent', which its state_attributes name",
        ),
    ],
)
def test_what_a_trainer_may_not_return_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], body: str, message: str
) -> None:
    assert train(folder, body, "--run", str(folder / "run"))
    told = capsys.readouterr()
    assert message in told.out + told.err
    assert not list(folder.rglob("*.safetensors")) or "iterate" in body


@pytest.mark.parametrize("number", ["np.array(0.5)", "np.float32(0.5)", "torch.tensor(0.5)"])
def test_metrics_may_be_numbers_of_numpy_and_torch(folder: Path, number: str) -> None:
    pytest.importorskip("torch")
    body = (
        f"def iterate(self):\n    import torch\n    super().iterate()\n    return {{'x': {number}}}"
    )
    assert train(folder, body, "--run", str(folder / "run")) == 0
    rows = (folder / "run" / "progress.csv").read_text(encoding="utf-8").splitlines()
    assert "0.5" in rows[-1].split(",")


def test_error_within_a_property_of_the_state_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = (
        "state, state_attributes = Trainer.state, ('kept',)\nkept = property(lambda own: own.other)"
    )
    assert train(folder, body, "--run", str(folder / "run"))
    told = capsys.readouterr()
    assert "'Own' object has no attribute 'other'" in told.out + told.err


MODULE = """
def policy_weights(self):
    return {"scores": np.zeros(52, np.float32)}
def network_card(self):
    inputs = ('led[0]',)
    return NetworkCard(kind="module", inputs=inputs, hidden_sizes=(), module="own_net:Net")
"""
NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs=0):
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(n_actions))
    def forward(self, observations, hidden_cards=None):
        return self.scores.expand(len(observations), -1), None
"""


@pytest.fixture
def module(folder: Path) -> Iterator[Path]:
    """The file of a torch module that the card of a trainer names."""
    pytest.importorskip("torch")
    path = folder / "own_net.py"
    path.write_text(NET, encoding="utf-8")
    yield path
    sys.modules.pop("own_net", None)


def test_module_beside_its_trainer_needs_no_word_of_trust_while_it_trains(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    run, body = folder / "run", MODULE.replace("own_net:Net", "own:Net").splitlines()
    source = NET + BASE + "".join(f"    {line}\n" for line in body)
    (folder / "own.py").write_text(source, encoding="utf-8")
    assert main(["train", *SMALL, "--run", str(run)]) == 0
    sys.modules.pop("own")
    assert main(["train", "--resume", str(run), "decisions=200", "--trust", "own:Own"]) == 0
    # A file names the class where the checkpoint plays.
    assert main(["evaluate", str(run), "--against", "random", "--hands", "2"])
    assert "add --trust own:Net" in capsys.readouterr().err


def test_module_elsewhere_is_refused_before_the_run_unless_it_is_trusted(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = module.parent / "run"
    assert train(module.parent, MODULE, "--run", str(run)) == 2
    assert "add --trust own_net:Net" in capsys.readouterr().err
    assert not run.exists()
    assert "own_net" not in sys.modules
    assert train(module.parent, MODULE, "--run", str(run), "--trust", "own_net:Net") == 0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("scores", "marks", "what Own.policy_weights() returns does not fit its card: "),
        ("n_actions, n_hidden", "*, n_hidden", "own_net:Net cannot be made with 1 inputs"),
        ("class Net(", "class Nets(", "own_net has no 'Net'"),
    ],
)
def test_module_that_a_checkpoint_could_not_be_played_with_is_refused_before_the_run(
    module: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, message: str
) -> None:
    module.write_text(NET.replace(before, after), encoding="utf-8")
    run = module.parent / "run"
    words = ["--run", str(run), "--trust", "own_net:Net"]
    assert train(module.parent, MODULE, *words) == 2
    assert message in capsys.readouterr().err
    assert not run.exists()
