"""The default state of a trainer: its attributes come back to the bit, and misfits are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from german_whist import SelfPlayEnv
from german_whist.training import NetworkCard, Settings, Trainer, input_names, inputs_of
from german_whist.training.run_state import RunState, load_state, save_state


class Learner(Trainer):
    """A policy gradient of torch in games that go on from iteration to iteration."""

    state_attributes = ("network", "optimizer", "envs", "rng", "temperature", "visits", "updates")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        options = settings.options
        self.inputs = inputs_of(options)
        self.envs = SelfPlayEnv(8, options.rules)
        self.envs.reset(settings.seed)
        torch.manual_seed(settings.seed)
        self.network = nn.Linear(len(self.inputs), options.rules.actions)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=0.1)
        self.rng = np.random.default_rng(settings.seed)
        self.visits = np.zeros(52, np.int64)
        self.temperature, self.updates = 1.0, np.int64(0)

    def iterate(self) -> dict[str, float]:
        step = self.envs.observe()
        masks = torch.from_numpy(step.masks)
        logits = self.network(torch.from_numpy(step.observations[:, self.inputs]).float())
        log_probs = (logits / self.temperature).masked_fill(masks == 0, -1e9).log_softmax(1)
        draws = self.rng.random((8, 1))
        actions = (log_probs.exp().detach().numpy().cumsum(1) > draws).argmax(1)
        actions = np.where(step.masks[np.arange(8), actions] > 0, actions, step.masks.argmax(1))
        rewards = self.envs.step(actions).rewards[np.arange(8), step.seats]
        loss = -(torch.from_numpy(rewards + 0.1) * log_probs[np.arange(8), actions]).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        np.add.at(self.visits, actions, 1)
        self.temperature *= 0.9
        self.updates += 1
        self.decisions += 8
        return {"loss": loss.item()}

    def policy_weights(self) -> dict[str, Any]:
        return {f"policy.{name}": p.detach().numpy() for name, p in self.network.named_parameters()}

    def network_card(self) -> NetworkCard:
        return NetworkCard(kind="mlp", inputs=input_names(self.inputs), hidden_sizes=())


SETTINGS = Settings(trainer="test:Learner", rules="small-last")


def learner(iterations: int) -> tuple[Learner, list[dict[str, float]]]:
    trainer = Learner(SETTINGS)
    return trainer, [trainer.iterate() for _ in range(iterations)]


def saved() -> tuple[dict[str, Any], dict[str, Any]]:
    arrays, plain = learner(9)[0].state()
    return {name: array.copy() for name, array in arrays.items()}, plain


def test_default_state_resumes_a_trainer_to_the_bit() -> None:
    whole, metrics = learner(20)
    resumed = learner(0)[0]
    resumed.restore(*saved())
    assert [resumed.iterate() for _ in range(11)] == metrics[9:]
    assert resumed.decisions == whole.decisions == 160
    assert (resumed.temperature, resumed.updates) == (whole.temperature, whole.updates)
    np.testing.assert_array_equal(resumed.visits, whole.visits)
    for name, array in whole.policy_weights().items():
        np.testing.assert_array_equal(resumed.policy_weights()[name], array)


class Holder(Learner):
    """Has an attribute beside, which a resumed run needs."""

    state_attributes = ("thing",)

    def __init__(self, thing: Any) -> None:
        super().__init__(SETTINGS)
        self.thing = thing


def restored_from_file(first: Any, changed: Any, folder: Path) -> Any:
    """What becomes of an attribute that changed before the state was saved."""
    holder = Holder(changed)
    arrays, plain = holder.state()
    save_state(folder / "state", arrays, RunState(trainer=plain))
    loaded, state = load_state(folder / "state")
    resumed = Holder(first)
    resumed.restore(loaded, state.trainer)
    return resumed.thing


@pytest.mark.parametrize(
    "value",
    [float("inf"), float("-inf"), np.float32(0.1), np.bool_(True), np.float64("nan"), 2**80],
)
def test_numbers_keep_their_type_and_value(value: Any, tmp_path: Path) -> None:
    found = restored_from_file(type(value)(0), value, tmp_path)
    assert type(found) is type(value)
    assert found == value or (np.isnan(found) and np.isnan(value))


@pytest.mark.parametrize(
    "array", [np.array(3.0), np.arange(3, dtype=">i4"), np.arange(8.0)[::2]], ids=str
)
def test_arrays_of_any_layout_come_back(array: Any, tmp_path: Path) -> None:
    found = restored_from_file(np.zeros_like(array), array, tmp_path)
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_every_generator_of_numpy_goes_on(kind: Any, tmp_path: Path) -> None:
    rng = np.random.Generator(kind(5))
    rng.random(7)
    found = restored_from_file(np.random.Generator(kind(1)), rng, tmp_path)
    assert found.random() == rng.random()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3, complex), r"cannot be saved .*complex128.*: its arrays are of NumPy"),
        (np.array([None]), "the state of the trainer cannot be saved"),
        (np.array([1, -np.inf]), "thing holds NaN or infinity, and no run goes on from that"),
    ],
)
def test_what_no_state_can_hold_is_refused(value: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        restored_from_file(value, value, tmp_path)


def test_arrays_that_numpy_did_not_make_are_refused_by_name(tmp_path: Path) -> None:
    arrays: Any = {"weight": torch.zeros(3)}
    with pytest.raises(TypeError, match=r"\(weight is a Tensor\): its arrays are of NumPy"):
        save_state(tmp_path / "state", arrays, RunState(trainer={}))


def test_plain_values_that_json_lacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"cannot be saved .*: its arrays .* NaN and infinity"):
        save_state(tmp_path / "state", {}, RunState(trainer={"best": float("nan")}))


@pytest.mark.parametrize("name", Learner.state_attributes)
def test_each_attribute_of_the_default_state_matters(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So each of them is saved, and none is restored by chance."""
    state, whole = saved(), learner(9)[0]
    others = tuple(each for each in Learner.state_attributes if each != name)
    monkeypatch.setattr(Learner, "state_attributes", others)
    resumed = learner(0)[0]
    resumed.restore(*state)
    followed = [[trainer.iterate() for _ in range(3)] for trainer in (whole, resumed)]
    if name == "visits":
        assert not np.array_equal(resumed.visits, whole.visits)
    elif name == "updates":
        assert resumed.updates != whole.updates
    else:
        assert followed[0] != followed[1]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("visits", np.zeros(51), r"visits has to be \(52,\) finite numbers"),
        ("visits", np.full(52, np.nan), r"visits has to be \(52,\) finite numbers"),
        ("visits", None, r"visits has to be \(52,\) finite numbers"),
        ("temperature", "hot", "temperature is 'hot': it has to be a number"),
        ("temperature", None, "temperature is None: it has to be a number"),
        ("decisions", -1, "decisions is -1"),
        ("hands", None, "hands is None"),
        ("envs.records", np.zeros(3, np.uint8), "games of uint8, and 8"),
    ],
)
def test_default_state_that_does_not_fit_is_refused(name: str, value: Any, message: str) -> None:
    arrays, plain = saved()
    kept = arrays if name in arrays else plain
    if value is None:
        del kept[name]
    else:
        kept[name] = value
    with pytest.raises(ValueError, match=message):
        learner(0)[0].restore(arrays, plain)


def test_default_state_without_attributes_or_of_others_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = learner(0)[0]
    monkeypatch.setattr(Learner, "state_attributes", ())
    with pytest.raises(NotImplementedError, match="Learner names no state_attributes: name those"):
        trainer.state()
    monkeypatch.setattr(Learner, "state_attributes", ("seen",))
    monkeypatch.setattr(trainer, "seen", [], raising=False)
    with pytest.raises(TypeError, match="names 'seen', a list: it takes numbers, arrays and"):
        trainer.state()
