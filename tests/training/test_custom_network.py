"""Custom networks: training, resuming, checkpoints, play, exact measures and ONNX."""

from __future__ import annotations

import shutil
import sys
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from german_whist import Game, load_agent, load_rules, resume, train  # noqa: E402
from german_whist.agents.base import CannotPlay  # noqa: E402
from german_whist.agents.checkpoints import CheckpointError, read_checkpoint  # noqa: E402
from german_whist.agents.networks import network_checks  # noqa: E402
from german_whist.agents.networks.custom_network import CustomNetwork, ModulePolicy  # noqa: E402
from german_whist.cli import main  # noqa: E402
from german_whist.common import plugins  # noqa: E402
from german_whist.common.executors.cluster import write_files  # noqa: E402
from german_whist.common.provenance import code_sha256  # noqa: E402
from german_whist.common.settings import SettingsError  # noqa: E402
from german_whist.common.signals import RunStopped  # noqa: E402
from german_whist.common.trust import UntrustedCode, restricted_to  # noqa: E402
from german_whist.evaluation.exploitability.exact import (  # noqa: E402
    exploitability_on_full_tree,
    measure_exploitability,
)
from german_whist.evaluation.packing import pack  # noqa: E402
from german_whist.training.experiments import jobs  # noqa: E402
from german_whist.training.export.export import export_folder, export_onnx  # noqa: E402
from german_whist.training.folder import STATE, trust_words  # noqa: E402
from german_whist.training.presets import settings_from  # noqa: E402
from german_whist.training.run_state import load_state  # noqa: E402

pytestmark = pytest.mark.usefixtures("few_checked_hands")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CLASSES = {
    "vector": (EXAMPLES / "transformer_network.py", "Transformer", {"width": 8, "heads": 2}),
    "history": (EXAMPLES / "gru_network.py", "GRUNetwork", {"width": 8}),
}
SMALL: dict[str, Any] = {
    "rules": "2x4-h2",
    "reward": "points",
    "n_envs": 16,
    "batch_size": 32,
    "threads": 1,
    "eval_opponents": [],
    "eval_hands": 2,
    "final_eval_hands": 2,
    "save_every": 100,
    "eval_every": 1_000_000,
    "eval_mode": "sync",
}


def settings_of(trainer: str, observation: str, tmp_path: Path, **changes: Any) -> dict[str, Any]:
    file, name, options = CLASSES[observation]
    source = tmp_path / file.name
    if not source.exists():
        shutil.copy(file, source)
    critic = {} if trainer == "nfsp" else {"critic": "separate"}
    return {
        **SMALL,
        **critic,
        "trainer": trainer,
        "network": f"{source}:{name}",
        "network_options": options,
        **changes,
    }


@pytest.mark.parametrize("observation", CLASSES)
@pytest.mark.parametrize("trainer", ["ppo", "mmd", "nfsp"])
def test_run_of_an_custom_network_resumes_to_the_bit(
    trainer: str, observation: str, tmp_path: Path
) -> None:
    settings = settings_of(trainer, observation, tmp_path)
    once = train(settings, folder=tmp_path / "once", quiet=True, decisions=400)
    train(settings, folder=tmp_path / "twice", quiet=True, decisions=400, max_minutes=1e-9)
    twice = resume(tmp_path / "twice", quiet=True, max_minutes=0)
    assert twice.decisions == once.decisions
    (first, _), (second, _) = (load_state(tmp_path / name / STATE) for name in ("once", "twice"))
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    weights, again = (read_checkpoint(each.checkpoint).weights for each in (once, twice))
    assert all(np.array_equal(weights[name], again[name]) for name in weights)


@cache
def views_of(rules: str, count: int) -> Any:
    views, seed, rng = [], 0, np.random.default_rng(1)
    while len(views) < count:
        game, seed = Game(rules, seed=seed), seed + 1
        while game.stock and len(views) < count:
            views.append(game.view().array)
            game.play(rng.choice(np.array(game.legal(), object)))
    return np.concatenate(views)


@pytest.mark.parametrize("observation", CLASSES)
@pytest.mark.parametrize("critic", ["separate", "oracle"])
def test_custom_network_plays_as_it_was_trained_and_as_its_graph(
    critic: str, observation: str, tmp_path: Path
) -> None:
    """The probabilities of the agent, of the torch module, and of the ONNX graph are the same."""
    pytest.importorskip("onnxruntime")
    from german_whist import load_policy

    settings = settings_of("ppo", observation, tmp_path, rules="2x5-h3", critic=critic)
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=300)
    views = views_of("2x5-h3", 1000)
    agent = load_agent(run.checkpoint)
    probs = agent.probabilities(views)
    assert np.allclose(probs.sum(1), 1)
    policy = load_policy(run.checkpoint)
    seen = policy.observe(views)
    with torch.no_grad():
        logits, _ = policy.module(*map(torch.from_numpy, (seen.observations, seen.masks)))
    shown = logits.softmax(1).numpy()
    real = np.stack([seen.real(np.full(len(views), action)) for action in range(52)], axis=1)
    expected = np.zeros_like(probs)
    np.put_along_axis(expected, real, shown, axis=1)
    assert np.abs(probs - expected).max() < 1e-6
    export_onnx(run.checkpoint, tmp_path / "graph.onnx")
    graph = load_agent(f"onnx:{tmp_path}/graph.onnx,sample", "2x5-h3")
    assert np.abs(graph.probabilities(views) - probs).max() < 1e-5
    if critic == "separate":
        assert np.isfinite(agent.value(views)).all()
    else:
        with pytest.raises(ValueError, match="reads hidden cards"):
            agent.value(views)


@pytest.mark.parametrize("observation", CLASSES)
def test_exploitability_of_an_custom_network_is_exact(observation: str, tmp_path: Path) -> None:
    """On the public tree, of one suit's upcards for the vector, and deal by deal: the same."""
    deck = {"name": "2x3-h2", "suits": 2, "ranks": 3, "hand": 2}
    settings = settings_of("ppo", observation, tmp_path, rules=deck)
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=300)
    rules = load_rules(deck)
    agent = load_agent(f"{run.checkpoint},sample", rules)
    fast, full = measure_exploitability(agent, rules), exploitability_on_full_tree(agent, rules)
    assert fast.exploitability == pytest.approx(full.exploitability, abs=1e-7)
    assert fast.exploitability > 0.001


def test_code_of_a_checkpoint_needs_a_word_of_trust(tmp_path: Path, capsys: Any) -> None:
    settings = settings_of("ppo", "vector", tmp_path)
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    name, words = settings["network"], ["exploitability", str(run.folder)]
    for command in (words, ["evaluate", str(run.folder), "--against", "random", "--hands", "2"]):
        assert main(command) == 2
        assert f"add --trust {name}" in capsys.readouterr().err
        assert main([*command, "--trust", name]) == 0
        capsys.readouterr()


def test_changed_source_is_told_and_misfitting_weights_are_refused(tmp_path: Path) -> None:
    settings = settings_of("ppo", "vector", tmp_path)
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    source = Path(settings["network"].rpartition(":")[0])

    def told() -> str:
        # A process loads a file once.
        plugins._loaded_file.cache_clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                load_agent(str(run.checkpoint))
            except (ValueError, OSError) as error:
                return str(error)
        return "\n".join(str(each.message) for each in caught)

    assert "has changed" not in told()
    text = source.read_text("utf-8")
    source.write_text(text + "\n# a remark\n", "utf-8")
    assert "Transformer has changed since the training: it plays as the source is now" in told()
    source.write_text(text.replace("2 * width", "3 * width"), "utf-8")
    assert "its weights do not fit" in told()
    source.unlink()
    assert "there is no such file" in told()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"critic": "shared"}, "critic is 'shared', and the class"),
        ({"hidden_sizes": [8]}, r"hidden_sizes is \[8\], which is for the MLP"),
        ({"rules": ["2x4-h2", "2x5-h2"]}, "learns one rule set, and rules lists 2"),
        ({"network": ""}, "network_options are those of a custom network"),
        ({"network_options": {True: 8}}, "its names have to be texts: write on, yes and numbers"),
        ({"network_options": {"width:8": None}}, "'width:8' is a name without a value in YAML"),
    ],
)
def test_settings_beside_an_custom_network_are_checked(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=message):
        settings_from({**settings_of("ppo", "vector", tmp_path), **changes})


@pytest.mark.parametrize("file", [None, "<stdin>"])
def test_class_from_an_interpreter_is_trained(
    file: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from a notebook or `python -c`, and from standard input."""
    module = ModuleType("__main__")
    if file is not None:
        module.__file__ = file
    exec(CLASSES["vector"][0].read_text("utf-8"), vars(module))
    monkeypatch.setitem(sys.modules, "__main__", module)
    settings = settings_of("ppo", "vector", tmp_path, network="__main__:Transformer")
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    assert read_checkpoint(run.checkpoint).card.network.source_sha256 == ""
    assert code_sha256("__main__") == ""
    load_agent(run.checkpoint)


WRONG = """
import random

import torch
from torch import nn

class NoModule:
    pass

class Listens(nn.Module):
    observation = "sound"

class Takes(nn.Module):
    def __init__(self, n_inputs):
        super().__init__()

class Base(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.policy = nn.Linear(n_inputs, n_actions)

class FewLogits(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations)[:, 1:], observations[:, 0]

class NoValues(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations), None

class NeedsHidden(Base):
    def forward(self, observations, hidden_cards):
        return self.policy(observations), hidden_cards.sum(1) * self.policy.bias[0]

class Array(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations).detach().numpy(), observations[:, 0]

class Number(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations), 0.5

class Dropping(Base):
    def forward(self, observations, hidden_cards=None):
        return nn.functional.dropout(self.policy(observations), 0.3), observations[:, 0]

class Noisy(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations + 0.1 * torch.randn_like(observations)), observations[:, 0]

class Remembering(Base):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("mean", torch.zeros(sizes[0]))
    def forward(self, observations, hidden_cards=None):
        self.mean = 0.9 * self.mean + 0.1 * observations.mean(0)
        return self.policy(observations - self.mean), observations[:, 0]

class Centred(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations - observations.mean(0)), observations[:, 0]

class Normed(Base):
    def forward(self, observations, hidden_cards=None):
        rows = nn.functional.batch_norm(observations, None, None, training=True)
        return self.policy(rows), observations[:, 0]

class Masking(Base):
    def forward(self, observations, hidden_cards=None):
        logits = self.policy(observations + torch.rand_like(observations))
        return logits.masked_fill(torch.arange(logits.shape[1]) > 8, -1e9), observations[:, 0]

class Ruling(Base):
    def forward(self, observations, hidden_cards=None):
        logits = self.policy(observations)
        logits = logits + torch.randn_like(logits)
        return logits.masked_fill(torch.arange(logits.shape[1]) > 8, -1e3), observations[:, 0]

class Small(Base):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.orthogonal_(self.policy.weight, 0.01)
        nn.init.zeros_(self.policy.bias)
    def forward(self, observations, hidden_cards=None):
        return self.policy(nn.functional.dropout(observations, 0.3)), observations[:, 0]

class Pasting(Base):
    def forward(self, observations, hidden_cards=None):
        rows = torch.cat([observations, hidden_cards], 1)
        return self.policy(rows), rows[:, 0]

class Level(Base):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        nn.init.zeros_(self.policy.weight)
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations + torch.rand_like(observations)), observations[:, 0]

class Late(Base):
    def forward(self, observations, hidden_cards=None):
        if not hasattr(self, "value"):
            self.value = nn.Linear(observations.shape[1], 1)
        return self.policy(observations), self.value(observations)

class Good(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations), observations[:, 0] * self.policy.bias[0]

class Doubled(Base):
    # Its logits are a difference of two equal halves at first: zero, but for rounding.
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.hidden, self.policy = nn.Linear(sizes[0], 64), nn.Linear(64, sizes[1], bias=False)
        with torch.no_grad():
            self.hidden.weight[32:] = self.hidden.weight[:32]
            self.hidden.bias[32:] = self.hidden.bias[:32]
            self.policy.weight[:, 32:] = -self.policy.weight[:, :32]
    def forward(self, observations, hidden_cards=None):
        return self.policy(self.hidden(observations).relu()), observations[:, 0]

class Scripted(Base):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.body = torch.jit.script(nn.Sequential(nn.Linear(sizes[0], sizes[1]), nn.Tanh()))
    def forward(self, observations, hidden_cards=None):
        return self.body(observations), self.policy(observations)[:, 0]

class Privileged(Base):
    # Without a privileged critic, a layer of it has no inputs, and so no weights.
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.hidden, self.value = nn.Linear(sizes[2], 8), nn.Linear(8, 1)
    def forward(self, observations, hidden_cards=None):
        values = observations[:, :1]
        if hidden_cards is not None:
            values = values + self.value(self.hidden(hidden_cards).relu())
        return self.policy(observations), values

class Peeking(Base):
    def forward(self, observations, hidden_cards=None):
        logits = self.policy(observations)
        if hidden_cards is not None:
            logits = logits + hidden_cards.sum(1, keepdim=True) * torch.arange(52.0)
        return logits, observations[:, 0]

class Halving(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations.mul_(0.5)), observations[:, 0]

class Shuffled(Base):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__(n_inputs, n_actions, n_hidden_inputs)
        self.order = random.sample(range(n_inputs), n_inputs)
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations[:, self.order]), observations[:, 0]
"""


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("NoModule", {}, "a network is a class of torch.nn.Module"),
        ("Listens", {}, "observation is 'sound': a network reads the 'vector' or the 'history'"),
        ("Takes", {}, "cannot be made with 66 inputs, 52 actions, 0 hidden inputs"),
        ("Absent", {}, "has no 'Absent'"),
        ("FewLogits", {}, r"returned logits of shape \(16, 51\): \(16, 52\) is needed"),
        ("NoValues", {}, "returned values of shape None: one value for each of 16"),
        ("NeedsHidden", {"critic": "oracle"}, "gives no logits without hidden cards: .*sum"),
        ("Array", {}, "returned .*ndarray.* as logits: a torch tensor is needed"),
        ("Number", {}, "returned a float as values: a torch tensor is needed"),
        ("Dropping", {}, "otherwise when it is asked again: .* F.dropout with training=self.train"),
        ("Noisy", {}, "answers the same observations otherwise when it is asked again"),
        ("Remembering", {}, "answers the same observations otherwise when it is asked again"),
        ("Masking", {}, "answers the same observations otherwise when it is asked again"),
        ("Ruling", {}, "answers the same observations otherwise when it is asked again"),
        ("Small", {}, "answers the same observations otherwise when it is asked again"),
        ("Pasting", {"critic": "separate"}, "gives no logits without hidden cards: .*TypeError"),
        ("Level", {}, "answers the same observations otherwise when it is asked again"),
        ("Centred", {}, "answers an observation otherwise beside other ones"),
        ("Normed", {}, "does not answer observations in another order, or one alone: ValueError"),
        ("Late", {}, "makes value.bias, value.weight in forward, where no optimizer knows of it"),
        ("NoValues", {"critic": "oracle"}, "returned values of shape None: one value for each"),
        ("Peeking", {"critic": "oracle"}, "gives other logits when it is given hidden cards: let"),
        ("Halving", {}, "changes its observations in place: let forward work on a copy"),
        ("Shuffled", {}, "is another network when it is made again with the same weights: keep"),
        ("Good", {"critic_warmup": 0.1}, "has no method critic_parameters"),
        ("Good", {"critic_lr_scale": 2.0}, "has no method critic_parameters"),
    ],
)
def test_what_is_wrong_with_a_network_is_said(
    name: str, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "wrong.py").write_text(WRONG, "utf-8")
    network = f"{tmp_path}/wrong.py:{name}"
    settings = settings_of("ppo", "vector", tmp_path, network=network, network_options={})
    with pytest.raises((ValueError, RunStopped), match=message) as told:
        train({**settings, **changes}, folder=tmp_path / "run", quiet=True, decisions=100)
    assert (tmp_path / "run").exists() == isinstance(told.value, RunStopped)
    assert "custom_network.py:" not in str(told.value)  # no line of the package


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Initializing zero-element:UserWarning")
@pytest.mark.parametrize("name", ["Doubled", "Scripted", "Privileged"])
def test_unusual_networks_are_trained(name: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG, "utf-8")
    network = f"{tmp_path}/wrong.py:{name}"
    settings = settings_of("ppo", "vector", tmp_path, network=network, network_options={})
    run = train({**settings, "ema_decay": 0.5}, folder=tmp_path / "run", quiet=True, decisions=100)
    assert run.decisions >= 100


POOLING = """
from torch import nn

class Pooling(nn.Module):
    observation = "history"

    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.policy = nn.Linear(4, n_actions)

    def forward(self, observations, hidden_cards=None):
        dealt = (observations[..., :1] == 2).float()
        pooled = (observations * dealt).sum(1) / dealt.sum(1)
        return self.policy(pooled), pooled[:, 0]
"""


def test_made_up_observation_may_be_one_that_a_network_cannot_answer(tmp_path: Path) -> None:
    (source := tmp_path / "pooling.py").write_text(POOLING, "utf-8")
    settings = {**SMALL, "network": f"{source}:Pooling", "decisions": 64}
    train(settings, folder=tmp_path / "run", quiet=True)


FAILING = """
import torch
from torch import nn

class Network(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.policy = nn.Linear(n_inputs, n_actions)

    def forward(self, observations, hidden_cards=None):
        return ANSWER
"""
RAISES = "{}['width']"


@pytest.mark.parametrize("trainer", ["ppo", "nfsp"])
def test_fault_of_a_network_shows_its_own_lines(
    trainer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    place = f"failing_{trainer}.py:11"
    Path(f"failing_{trainer}.py").write_text(FAILING.replace("ANSWER", RAISES), "utf-8")
    settings = {**SMALL, "trainer": trainer, "network": f"failing_{trainer}.py:Network"}
    words = [f"{name}={value}" for name, value in settings.items()]
    assert main(["train", *words, "--run", "run"]) == 1
    seen = capsys.readouterr()
    told = seen.out + seen.err
    frames = [line for line in told.splitlines() if line.lstrip().startswith("File ")]
    assert len(frames) == 1
    assert f'failing_{trainer}.py", line 11, in forward' in frames[0]
    assert f"KeyError: 'width' ({place}); the run is saved after 0 decisions" in told


def test_answer_that_a_network_may_not_give_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong_answer.py").write_text(FAILING.replace("ANSWER", "3"), "utf-8")
    settings = {**SMALL, "trainer": "nfsp", "network": "wrong_answer.py:Network"}
    words = [f"{name}={value}" for name, value in settings.items()]
    assert main(["train", *words, "--run", "run"]) == 1
    seen = capsys.readouterr()
    told = seen.out + seen.err
    assert "wrong_answer.py:Network returned an int: a pair is needed, logits and" in told
    assert "Traceback" not in told


def test_fault_of_a_network_in_an_export_is_a_sentence(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("onnx")
    (tmp_path / "wrong.py").write_text(WRONG, "utf-8")
    network = f"{tmp_path}/wrong.py:Good"
    settings = settings_of("ppo", "vector", tmp_path, network=network, network_options={})
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    module = load_agent(run.checkpoint).policy.network.module
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(module), "forward", lambda *_: {}["width"])
        words = ["export", str(run.checkpoint), "--out", str(tmp_path / "graph.onnx")]
        assert main([*words, "--trust", network]) == 2
    told = capsys.readouterr().err
    assert f"its network, {network}, raised KeyError: 'width' (test_custom_network.py:" in told
    assert "Traceback" not in told


def test_custom_network_learns_from_the_weights_of_its_like(tmp_path: Path) -> None:
    settings = settings_of("ppo", "vector", tmp_path)
    first = train(settings, folder=tmp_path / "first", quiet=True, decisions=200)
    then = train(
        settings,
        folder=tmp_path / "then",
        quiet=True,
        decisions=32,
        init=str(first.folder),
        learning_rate=1e-9,
        learning_rate_end=1e-9,
    )
    weights, near = (read_checkpoint(each.checkpoint).weights for each in (first, then))
    assert all(np.allclose(weights[name], near[name], atol=1e-6) for name in weights)
    with pytest.raises(ValueError, match="the same options are needed here"):
        train(
            {**settings, "network_options": {"width": 12, "heads": 2}},
            folder=tmp_path / "other",
            quiet=True,
            init=str(first.folder),
        )


def test_weights_of_another_shape_or_nan_are_refused(tmp_path: Path) -> None:
    import dataclasses

    settings = settings_of("ppo", "vector", tmp_path)
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    checkpoint = read_checkpoint(run.checkpoint)
    fewer = dict(list(checkpoint.weights.items())[1:])
    with pytest.raises(CheckpointError, match="its weights do not fit"):
        ModulePolicy(dataclasses.replace(checkpoint, weights=fewer))
    with pytest.raises(CannotPlay, match="plays 2x4-h2, and not 2x5-h2"):
        load_agent(run.checkpoint, "2x5-h2")


def edited(checkpoint: Path, target: Path, name: str) -> Path:
    """The checkpoint with another class on its card."""
    import msgspec

    from german_whist.agents.checkpoints import write_checkpoint

    found = read_checkpoint(checkpoint)
    network = msgspec.structs.replace(found.card.network, module=name)
    card = msgspec.structs.replace(found.card, network=network)
    return write_checkpoint(target.with_suffix(""), found.weights, card)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("network:a.safetensors", ["exploitability", "network:a.safetensors"]),
        ("flat-mc:16", ["evaluate", "a.safetensors", "--against", "flat-mc:16", "--hands", "2"]),
        ("evil.py:Net", ["exploitability", "a.safetensors", "--trust", "x/my evil.py:Net"]),
        ("evil.py:Net", ["exploitability", "a.safetensors", "--trust", "x,evil.py:Net"]),
        ("evil.py:Net", ["evaluate", "evil.py:Net=a.safetensors", "--against", "random"]),
    ],
)
def test_other_words_of_a_command_give_no_trust(
    name: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(
        settings_of("ppo", "vector", tmp_path), folder=tmp_path / "run", quiet=True, decisions=100
    )
    edited(run.checkpoint, tmp_path / "a", name)
    for file in ("network.py", "flat-mc.py", "evil.py"):
        code = f"open({str(tmp_path / 'ran')!r}, 'w').close()"
        (tmp_path / file).write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert not (tmp_path / "ran").exists()


PARTS = """
import threading
import torch
from torch import nn

class Base(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.norm = nn.BatchNorm1d(n_inputs)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.policy = nn.Linear(n_inputs, n_actions)

    def forward(self, observations, hidden_cards=None):
        logits = self.scale * self.policy(self.norm(observations))
        return logits, logits[:, 0]

class Drawn(Base):
    def __init__(self, *args):
        super().__init__(*args)
        self.register_buffer("mixed", torch.randn(args[1]), persistent=False)

    def forward(self, observations, hidden_cards=None):
        logits = self.policy(observations) + self.mixed
        return logits, logits[:, 0]

class NaN(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations) * float("nan"), observations[:, 0]

class OneLogit(Base):
    def forward(self, observations, hidden_cards=None):
        return self.policy(observations)

class Half(Base):
    def __init__(self, *args):
        super().__init__(*args)
        self.extra = nn.Parameter(torch.ones(2, dtype=torch.bfloat16))

class Nothing(nn.Module):
    def __init__(self, *args):
        super().__init__()

class Lazy(Base):
    def __init__(self, *args):
        super().__init__(*args)
        self.policy = nn.LazyLinear(args[1])

class Foreign(Base):
    def critic_parameters(self):
        return nn.Linear(2, 2).parameters()

class Counted(Base):
    def __init__(self, *args):
        super().__init__(*args)
        self.order = nn.Parameter(torch.arange(3), requires_grad=False)

class Normed(Base):
    def __init__(self, *args):
        super().__init__(*args)
        nn.utils.weight_norm(self.policy)

class Locked(Base):
    def __init__(self, *args):
        super().__init__(*args)
        self.lock = threading.Lock()

class Listing(Base):
    def __init__(self, *args):
        super().__init__(*args)
        self.critic_parameters = [self.scale]

class Silent(Base):
    def critic_parameters(self):
        list(self.policy.parameters())

class Mistaken(Base):
    def critic_parameters(self):
        return self.value.parameters()
"""


def parts_of(name: str, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "parts.py").write_text(PARTS, "utf-8")
    network = f"{tmp_path}/parts.py:{name}"
    return settings_of("ppo", "vector", tmp_path, network=network, network_options={})


def test_numbers_without_dimensions_are_resumed_and_loaded(tmp_path: Path) -> None:
    settings = parts_of("Base", tmp_path)
    once = train(settings, folder=tmp_path / "once", quiet=True, decisions=300)
    train(settings, folder=tmp_path / "twice", quiet=True, decisions=300, max_minutes=1e-9)
    twice = resume(tmp_path / "twice", quiet=True, max_minutes=0)
    weights, again = (read_checkpoint(each.checkpoint).weights for each in (once, twice))
    assert weights["scale"].shape == ()
    assert all(np.array_equal(weights[name], again[name]) for name in weights)
    load_agent(twice.checkpoint)


@pytest.mark.parametrize("trainer", ["ppo", "nfsp"])
def test_parameters_may_be_whole_numbers(trainer: str, tmp_path: Path) -> None:
    settings = {**parts_of("Counted", tmp_path), "trainer": trainer}
    if trainer == "nfsp":
        del settings["critic"]
    train(settings, folder=tmp_path / "run", quiet=True, decisions=200, max_minutes=1e-9)
    run = resume(tmp_path / "run", quiet=True, max_minutes=0)
    weights = read_checkpoint(run.checkpoint).weights
    assert weights["order"].tolist() == [0, 1, 2]
    assert weights["order"].dtype == np.int64
    load_agent(run.checkpoint)


def test_what_a_class_draws_is_drawn_alike_in_play(tmp_path: Path) -> None:
    from german_whist.training.algorithms.ppo import PPO
    from german_whist.training.algorithms.settings import PPOSettings

    settings = {**parts_of("Drawn", tmp_path), "seed": 5}
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    resolved = settings_from(settings)
    assert isinstance(resolved, PPOSettings)
    agent: Any = load_agent(run.checkpoint)
    trained: Any = PPO(resolved).network
    assert torch.equal(agent.policy.network.module.mixed, trained.module.mixed)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("OneLogit", "returned a Tensor: a pair is needed, logits and values"),
        ("Half", "has extra as torch.bfloat16: keep weights in float32"),
        ("Nothing", "has no parameters, so that there is nothing to train"),
        ("Lazy", "a checkpoint holds tensors whose shapes are known"),
        ("Foreign", "returns what is no parameter of the network"),
        ("Listing", "gives no parameters: TypeError: 'list' object is not callable .*make it a me"),
        ("Silent", "gives no parameters: TypeError: .* not NoneType .*make it a method that ret"),
        ("Mistaken", "AttributeError: 'Mistaken' object has no attribute 'value' .* a method that"),
    ],
)
def test_parts_that_no_run_could_keep_are_refused(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, RunStopped), match=message):
        train(parts_of(name, tmp_path), folder=tmp_path / "run", quiet=True, decisions=100)


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")
@pytest.mark.parametrize("trainer", ["ppo", "nfsp"])
@pytest.mark.parametrize(("name", "message"), [("Normed", "graph leaves"), ("Locked", "lock")])
def test_network_that_cannot_be_copied_is_refused(
    name: str, message: str, trainer: str, tmp_path: Path
) -> None:
    settings = {**parts_of(name, tmp_path), "trainer": trainer}
    if trainer == "nfsp":
        del settings["critic"]
    needed = f"{name} cannot be copied, and the training needs a second one: .*{message}.*; take nn"
    with pytest.raises(ValueError, match=needed):
        train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    assert not (tmp_path / "run").exists()


def test_logits_that_are_not_finite_are_refused_in_play(tmp_path: Path) -> None:
    run = train(parts_of("Base", tmp_path), folder=tmp_path / "run", quiet=True, decisions=100)
    spoilt = edited(run.checkpoint, tmp_path / "nan", f"{tmp_path}/parts.py:NaN")
    agent = load_agent(spoilt)
    with pytest.raises(ValueError, match="returned logits that are not finite"):
        agent.act(Game("2x4-h2", seed=1).view())


@pytest.mark.parametrize("options", [{"a": (1, 2)}, {"a": {1: 2}}, {"a": float("nan")}, {"a": {1}}])
def test_options_that_json_does_not_keep_are_refused(
    options: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=r"network_options is .*: a checkpoint keeps them as"):
        settings_from(settings_of("ppo", "vector", tmp_path, network_options=options))


def test_network_travels_to_a_cluster_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training, an agent and a resumed training there; each folder has only what was sent."""
    here, there, third = (tmp_path / name for name in ("here", "there", "third"))
    for folder in (here, there, third):
        folder.mkdir()
    (here / "own").mkdir()
    source = CLASSES["vector"][0].read_text(encoding="utf-8")
    (here / "own" / "net.py").write_text(f"{source}\nimport beside_net\n", encoding="utf-8")
    (here / "own" / "beside_net.py").write_text("", encoding="utf-8")
    settings = settings_of("ppo", "vector", here, decisions=300, network="own/net.py:Transformer")

    def run_away(job: jobs.Job, folder: Path) -> dict[str, bytes]:
        here.rename(tmp_path / "away")
        sys.modules.pop("beside_net", None)
        monkeypatch.chdir(folder)
        code, files = jobs._remote_worker(jobs.train_job)(job)
        (tmp_path / "away").rename(here)
        monkeypatch.chdir(here)
        assert code == 0
        return files

    monkeypatch.chdir(here)
    for folder, words in ((there, []), (third, ["decisions=600"])):
        job = jobs.Job(name="a run", folder=Path("run"), settings=settings, words=words)
        sent, unpack = jobs._pack(job)
        unpack(run_away(sent, folder))
        assert load_agent("run").name == "run"
    assert read_checkpoint("run").card.decisions >= 600
    names, files = pack(["run"], "ray")
    assert sorted(files)[:2] == ["own/beside_net.py", "own/net.py"]
    shutil.rmtree(third)
    write_files(files, third)
    here.rename(tmp_path / "away")
    sys.modules.pop("beside_net", None)
    monkeypatch.chdir(third)
    assert load_agent(names[0]).name == "run"


@pytest.mark.parametrize("place", ["{}/net.py", "../net.py"])
def test_network_that_has_another_path_elsewhere_is_not_sent(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(CLASSES["vector"][0], tmp_path / "net.py")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    network = f"{place.format(tmp_path)}:Transformer"
    settings = settings_of("ppo", "vector", tmp_path, network=network)
    with pytest.raises(ValueError, match="put its file below the current folder"):
        jobs._pack(jobs.Job(name="a run", folder=Path("run"), settings=settings))


def test_network_that_only_a_card_names_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of("ppo", "vector", tmp_path)
    monkeypatch.chdir(tmp_path)
    settings["network"] = settings["network"].replace(f"{tmp_path}/", "")
    train(settings, folder="run", quiet=True, decisions=300)
    with restricted_to(["--on", "ray"]), pytest.raises(UntrustedCode):
        pack(["run"], "ray")


def test_custom_network_plays_with_one_thread_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(settings_of("ppo", "vector", tmp_path), folder=tmp_path / "run", decisions=300)
    agent, views = load_agent(run.checkpoint), views_of("2x4-h2", 5)
    forward, threads = agent.policy.network.forward, list[int]()

    def noted(*args: Any) -> Any:
        threads.append(torch.get_num_threads())
        return forward(*args)

    monkeypatch.setattr(agent.policy.network, "forward", noted)
    torch.set_num_threads(3)
    agent.probabilities(views)
    agent.value(views[:1])
    assert torch.get_num_threads() == 3
    assert threads == [1, 1]


TWO_HEADS = """
import torch
from torch import nn

class WithoutList(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.policy = nn.Linear(n_inputs, n_actions)
        self.value = nn.Linear(n_inputs, 1)

    def forward(self, observations, hidden_cards=None):
        return self.policy(observations), self.value(observations)

class WithList(WithoutList):
    def critic_parameters(self):
        return self.value.parameters()

class Even(WithoutList):
    def forward(self, observations, hidden_cards=None):
        logits, value = super().forward(observations, hidden_cards)
        return 0 * logits, value

class Causal(WithoutList):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("mask", torch.full((2, 2), float("-inf")))

class Encoder(nn.GRU):
    def __init__(self, n_inputs):
        super().__init__(n_inputs, 8, num_layers=2, dropout=0.5)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(super().forward(x[None])[0][0])

class Dropping(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.body = Encoder(n_inputs)
        self.policy = nn.Linear(8, n_actions)

    def forward(self, observations, hidden_cards=None):
        return self.policy(self.body(observations)), None

class TwoNames(WithList):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.heads = nn.ModuleDict({"value": self.value})

class Rigid(WithoutList):
    def forward(self, observations, hidden_cards=None):
        rows = observations.reshape(len(observations), 1, -1).flatten(1)
        return super().forward(rows, hidden_cards)
"""


def of_two_heads(name: str, tmp_path: Path, **changes: Any) -> dict[str, Any]:
    (tmp_path / "heads.py").write_text(TWO_HEADS, "utf-8")
    network = f"{tmp_path}/heads.py:{name}"
    return settings_of("ppo", "vector", tmp_path, network=network, network_options={}, **changes)


@pytest.mark.parametrize("name", ["WithList", "WithoutList", "TwoNames"])
def test_critic_of_another_reward_begins_anew_where_the_class_tells_it(
    name: str, tmp_path: Path, capsys: Any
) -> None:
    settings = of_two_heads(name, tmp_path)
    first = train(settings, folder=tmp_path / "first", quiet=True, decisions=200)
    still = {"learning_rate": 1e-9, "learning_rate_end": 1e-9, "decisions": 32}
    fresh = train({**settings, **still}, folder=tmp_path / "fresh", quiet=True, reward="win")
    then = train(
        {**settings, **still}, folder=tmp_path / "then", reward="win", init=str(first.folder)
    )
    told = capsys.readouterr().out
    weights, begun, new = (
        read_checkpoint(each.checkpoint).weights for each in (first, then, fresh)
    )
    for part in ("weight", "bias"):
        assert np.allclose(begun[f"policy.{part}"], weights[f"policy.{part}"], atol=1e-6)
        other = weights if name == "WithoutList" else new
        assert np.allclose(begun[f"value.{part}"], other[f"value.{part}"], atol=1e-6)
    assert not np.allclose(new["value.weight"], weights["value.weight"], atol=1e-6)
    assert ("the critic begins anew: there it was paid 'points'" in told) == (name != "WithoutList")
    assert ("has no critic_parameters(), which" in told) == (name == "WithoutList")


def test_buffer_with_infinity_is_refused_before_the_run(tmp_path: Path, capsys: Any) -> None:
    settings = of_two_heads("Causal", tmp_path)
    words = [f"{name}={value}" for name, value in settings.items() if value not in ({}, [])]
    assert main(["train", *words, "--run", str(tmp_path / "run")]) == 2
    assert (
        "has mask with NaN or infinity, which no checkpoint holds: reg" in capsys.readouterr().err
    )
    assert not (tmp_path / "run").exists()


def test_start_from_weights_of_a_changed_source_is_refused(tmp_path: Path) -> None:
    settings = settings_of("ppo", "vector", tmp_path)
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    source = Path(settings["network"].rpartition(":")[0])
    text = source.read_text("utf-8")
    source.write_text(text.replace("2 * width", "3 * (width)"), "utf-8")
    plugins._loaded_file.cache_clear()
    again = {**settings, "init": str(run.folder)}
    with pytest.raises(SettingsError, match=r"init: .*: its weights do not fit .* as its source"):
        train(again, folder=tmp_path / "then", quiet=True, decisions=100)
    assert not (tmp_path / "then").exists()


@pytest.mark.filterwarnings("ignore:.*has changed since the training:UserWarning")
def test_changed_source_is_told_where_a_run_goes_on(tmp_path: Path, capsys: Any) -> None:
    settings = of_two_heads("WithList", tmp_path)
    folder = train(settings, folder=tmp_path / "run", quiet=True, decisions=100).folder
    resume(folder, decisions=200)
    changed = "the source of the network has changed since the run was begun"
    assert changed not in capsys.readouterr().out
    (tmp_path / "heads.py").write_text(TWO_HEADS + "\n# a remark\n", "utf-8")
    plugins._loaded_file.cache_clear()
    resume(folder, decisions=300)
    assert changed in capsys.readouterr().out
    # Where its weights do not fit any more, that is why.
    (tmp_path / "heads.py").write_text(
        TWO_HEADS.replace("n_actions)", "n_actions, False)"), "utf-8"
    )
    plugins._loaded_file.cache_clear()
    with pytest.raises(CheckpointError, match=f"does not fit the run's settings, or {changed}"):
        resume(folder, decisions=400)


def test_score_of_a_match_is_read_as_it_was_trained(tmp_path: Path) -> None:
    from german_whist import load_policy, network_inputs

    settings = of_two_heads("WithList", tmp_path, rules="classic", horizon="match")
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    view = Game("classic", seed=3).view()
    policy = load_policy(run.checkpoint)
    found: dict[int | None, Any] = {}
    for match in (None, 10, 25):
        agent: Any = load_agent(f"{run.checkpoint},sample", "classic", match=match)
        seen = network_inputs(view, "classic", suit_order="trump-first", match=match or 25)
        logits = policy.module(torch.from_numpy(seen.observations), torch.from_numpy(seen.masks))[0]
        expected = logits.softmax(1).detach().numpy()[0]
        found[match] = agent.probabilities(view.array)[0]
        assert np.sort(found[match])[-13:] == pytest.approx(np.sort(expected)[-13:], abs=1e-6)
    assert np.array_equal(found[None], found[25])
    assert not np.allclose(found[10], found[25], atol=1e-6)
    seen = network_inputs(view, "classic", suit_order="trump-first", match=25)
    assert np.array_equal(policy.observe(view).observations, seen.observations)


def test_exploitability_of_a_greedy_network_with_equal_logits_is_exact(tmp_path: Path) -> None:
    deck = {"name": "2x3-h2", "suits": 2, "ranks": 3, "hand": 2}
    settings = of_two_heads("Even", tmp_path, rules=deck)
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    rules = load_rules(deck)
    agent = load_agent(f"{run.checkpoint},greedy", rules)
    fast, full = measure_exploitability(agent, rules), exploitability_on_full_tree(agent, rules)
    assert fast.exploitability == pytest.approx(full.exploitability, abs=1e-7)


def test_graph_of_one_number_of_rows_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    run = train(of_two_heads("Rigid", tmp_path), folder=tmp_path / "run", quiet=True, decisions=100)
    with pytest.raises(ValueError, match="holds for 256 rows alone: in forward, let no shape"):
        export_onnx(run.checkpoint, tmp_path / "graph.onnx")


def test_commands_that_are_told_trust_the_class(tmp_path: Path, capsys: Any) -> None:
    settings = of_two_heads("WithList", tmp_path)
    run = train(settings, folder=tmp_path / "run", quiet=True, decisions=100)
    resume(run.folder)
    trust = f"--trust {settings['network']}"
    assert f"train --resume {run.folder} {trust} decisions=" in capsys.readouterr().out
    agents = ["bots:Bot", "me=bots:Bot:3", "flat-mc:16", str(run.folder)]
    named = settings_from({**settings, "eval_opponents": agents, "callbacks": ["mine:Told"]})
    assert trust_words(named) == [
        word
        for name in (settings["network"], "mine:Told", "bots:Bot")
        for word in ("--trust", name)
    ]
    card = export_folder(run.checkpoint, tmp_path / "export").read_text("utf-8")
    assert f"--against threshold {trust}" in card
    assert f"The network is the class `{settings['network']}`, whose source is not in this" in card


def test_recurrent_layers_keep_their_gradients_on_a_gpu(tmp_path: Path) -> None:
    """cuDNN has them in training mode alone, which without dropout computes the same."""
    file, name, _ = CLASSES["history"]
    network = CustomNetwork(
        f"{file}:{name}", {"width": 8}, n_inputs=4, n_actions=5, n_hidden_inputs=0, rows=4
    )
    layers = [part for part in network.modules() if isinstance(part, torch.nn.RNNBase)]
    assert [layer.training for layer in layers] == [True]
    assert not network.training
    # Neither its own dropout has an effect, nor that of parts within it.
    (tmp_path / "heads.py").write_text(TWO_HEADS, "utf-8")
    dropping = CustomNetwork(
        f"{tmp_path}/heads.py:Dropping", {}, n_inputs=4, n_actions=5, n_hidden_inputs=0
    )
    x = torch.ones(3, 4)
    assert torch.equal(dropping(x)[0], dropping(x)[0])


def test_parts_of_a_module_keep_their_modes_where_it_is_measured() -> None:
    from german_whist import exploitability

    class Frozen(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.Dropout(0.5))
            self.head = torch.nn.Linear(4, 52)

        def forward(self, observations: Any, masks: Any) -> Any:
            return self.head(self.body(observations))

    module = Frozen()
    module.body.eval()
    exploitability(module, "2x4-h2")
    assert (module.training, module.head.training) == (True, True)
    assert not any(part.training for part in module.body.modules())


COUNTING = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.policy, self.value = nn.Linear(n_inputs, n_actions), nn.Linear(n_inputs, 1)
        nn.init.zeros_(self.value.weight)
        self.register_buffer("asked", torch.zeros((), dtype=torch.int64))

    def forward(self, observations, hidden_cards=None):
        self.asked += 1
        return self.policy(observations), self.value(observations)
"""


def test_check_of_a_network_changes_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counting.py").write_text(COUNTING, "utf-8")
    network = f"{tmp_path}/counting.py:Net"
    settings = settings_of("ppo", "vector", tmp_path, network=network, network_options={})
    runs = []
    for name in ("checked", "unchecked"):
        run = train(settings, folder=tmp_path / name, quiet=True, decisions=100)
        runs.append(read_checkpoint(run.checkpoint).weights)
        monkeypatch.setattr(network_checks, "check_answers", lambda *_: None)
    assert all(np.array_equal(runs[0][name], runs[1][name]) for name in runs[0])
    assert runs[0]["asked"] > 0


def test_opponent_with_a_network_is_trusted_before_a_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("other", "own"):
        Path(f"{name}.py").write_text(TWO_HEADS, "utf-8")
    small = {**SMALL, "critic": "separate", "final_eval_opponents": [], "decisions": 100}
    other = {**small, "network": "other.py:WithList"}
    train(other, folder="other", quiet=True)
    own = {**small, "network": "own.py:WithList", "eval_opponents": ["other"]}
    train(own, folder="run", quiet=True, max_minutes=1e-9)
    settings, saved = Path("run/settings.yaml").read_text("utf-8"), load_state(Path("run") / STATE)
    words = ["train", "--resume", "run", "decisions=200", "max_minutes=0"]
    trust = ["--trust", "own.py:WithList", "--trust", "other.py:WithList"]
    assert main([*words, *trust[:2]]) == 2
    told = capsys.readouterr().err
    assert "eval_opponents: other/checkpoints/" in told
    assert "add --trust other.py:WithList" in told
    # Nothing was trained, and the change is not kept.
    assert Path("run/settings.yaml").read_text("utf-8") == settings
    assert load_state(Path("run") / STATE)[1] == saved[1]
    assert main([*words, *trust]) == 0
    # What is told at its end can be given, which needs no opponents.
    capsys.readouterr()
    shutil.rmtree("other/checkpoints")
    assert main(["train", "--resume", "run", *trust[:2]]) == 0
    shutil.copytree("run/checkpoints", "other/checkpoints")
    named = [settings_from({**own, "network": "", "eval_opponents": ["me=other"]})]
    named.append(settings_from({**own, "network": "", "eval_opponents": [], "init": "other"}))
    assert [trust_words(each) for each in named] == [["--trust", "own.py:WithList"]] * 2
