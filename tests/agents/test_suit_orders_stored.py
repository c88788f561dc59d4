"""Policy files store the suit order that they read; without it, the name has to."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_views import act_on, selfplay_views

from german_whist import Game, evaluate, network_inputs
from german_whist.agents.base import CannotPlay
from german_whist.agents.registry import as_agent, load_agent
from german_whist.envs import GermanWhistEnv, GermanWhistVecEnv
from german_whist.envs.spaces import observation_box

sb3 = pytest.importorskip("sb3_contrib")


def saved(path: Path, env: Any) -> str:
    policy = "MultiInputPolicy" if hasattr(env.observation_space, "spaces") else "MlpPolicy"
    sb3.MaskablePPO(policy, env, n_steps=8, batch_size=8, seed=1, device="cpu").save(path)
    return f"sb3:{path},trusted"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    env = GermanWhistVecEnv(2, "classic", suit_order="trump-first", horizon="foreplay")
    return saved(tmp_path_factory.mktemp("models") / "model.zip", env)


def suit_order(name: str) -> str:
    return load_agent(name).suit_order  # type: ignore[attr-defined]


def test_a_model_of_sb3_plays_as_its_file_would_on_a_word_alone(model: str) -> None:
    assert suit_order(model) == suit_order(f"{model},suit_order=trump-first") == "trump-first"
    path = model.removeprefix("sb3:").removesuffix(",trusted")
    views, step, _ = selfplay_views(suit_order="trump-first")
    shown = sb3.MaskablePPO.load(path, device="cpu").predict(
        step.observations, action_masks=step.masks, deterministic=True
    )[0]
    expected = network_inputs(views, suit_order="trump-first").real(shown)
    assert np.array_equal(act_on(load_agent(model), views), expected)


@pytest.mark.parametrize(
    ("change", "rules", "why"),
    [
        (lambda name: name, "draft", "plays classic, and not draft"),
        (lambda name: f"{name},endgame=network", "classic", "never saw an ending"),
        (
            lambda name: f"{name},suit_order=raw",
            "classic",
            "suit_order is .raw., .* file .*trump-first",
        ),
        (lambda name: f"{name},algorithms=PPO", "classic", "'algorithms=PPO' is no option"),
        (lambda name: f"{name},algorithm=PPPO", "classic", "'PPPO' is no algorithm"),
        (
            lambda name: name.removesuffix(",trusted"),
            "classic",
            r"holds pickles, which can run any code .*,trusted",
        ),
    ],
)
def test_what_a_model_can_not_play_is_told(model: str, change: Any, rules: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as error:
        load_agent(change(model), rules)
    assert isinstance(error.value, CannotPlay) == (rules == "draft" or "never" in why)


@pytest.mark.parametrize("masked", [False, True])
def test_a_single_environment_stores_its_suit_order_too(tmp_path: Path, masked: bool) -> None:
    env = GermanWhistEnv("classic", suit_order="trump-first", mask_in_observation=masked)
    name = saved(tmp_path / "model.zip", env)
    assert suit_order(name) == "trump-first"
    agent = load_agent(name)
    assert agent.endgame_switch == "endgame=exact"
    assert not evaluate(agent, "random", hands=4).pairings[0].forfeits


def test_a_model_that_stores_no_suit_order_needs_a_word(tmp_path: Path) -> None:
    env = GermanWhistVecEnv(2, "classic")
    del env.observation_space.trained_on  # type: ignore[attr-defined]
    name = saved(tmp_path / "model.zip", env)
    with pytest.raises(ValueError, match=r"name the suit order .*,trusted,suit_order=raw or "):
        load_agent(name)
    assert suit_order(f"{name},suit_order=raw") == "raw"


def test_a_model_of_other_observations_is_refused(tmp_path: Path) -> None:
    env = GermanWhistVecEnv(2, "classic", observation="history")
    model = sb3.MaskablePPO("MlpPolicy", env, n_steps=2, batch_size=4, device="cpu")
    model.learn(4).save(tmp_path / "model")
    with pytest.raises(CannotPlay, match="reads observations of the shape"):
        load_agent(f"sb3:{tmp_path}/model.zip,trusted")


def test_a_recurrent_model_is_refused(tmp_path: Path) -> None:
    env = GermanWhistVecEnv(2, "classic", illegal="lose")
    model = sb3.RecurrentPPO("MlpLstmPolicy", env, n_steps=2, batch_size=4, device="cpu")
    model.save(tmp_path / "model")
    with pytest.raises(CannotPlay, match=r"no logits or Q values .*lstm_states"):
        load_agent(f"sb3:{tmp_path}/model.zip,trusted,algorithm=RecurrentPPO")


def test_a_model_of_q_values_is_greedy_and_weights_are_finite(tmp_path: Path) -> None:
    from stable_baselines3 import DQN

    model = DQN("MlpPolicy", GermanWhistEnv(illegal="lose", suit_order="raw"), seed=1, device="cpu")
    model.save(tmp_path / "model")
    name = f"sb3:{tmp_path}/model.zip,trusted"
    views, *_ = selfplay_views(suit_order="raw")
    greedy = [
        act_on(agent, views) for agent in (as_agent(model), load_agent(f"{name},algorithm=DQN"))
    ]
    assert np.array_equal(*greedy)
    with pytest.raises(CannotPlay, match="has Q values and no probabilities"):
        load_agent(f"{name},algorithm=DQN,sample")
    with pytest.raises(ValueError, match=r"cannot be loaded as MaskablePPO.*,algorithm=PPO$"):
        load_agent(name)
    next(model.policy.parameters()).data.fill_(np.nan)
    with pytest.raises(CannotPlay, match=r"the model of DQN has weights in .* not finite"):
        as_agent(model)


def test_model_behind_number_changing_wrapper_is_refused(tmp_path: Path) -> None:
    from stable_baselines3.common.vec_env import VecNormalize

    env = GermanWhistVecEnv(2, "classic")
    for name, shown in (("plain", env), ("normalized", VecNormalize(env))):
        model = sb3.MaskablePPO("MlpPolicy", shown, n_steps=2, batch_size=4, device="cpu")
        model.learn(4).save(tmp_path / name)
    assert load_agent(f"sb3:{tmp_path}/plain.zip,trusted")
    with pytest.raises(CannotPlay, match="a wrapper changed, as VecNormalize does"):
        load_agent(f"sb3:{tmp_path}/normalized.zip,trusted")


def test_what_a_space_carries_holds_no_code(model: str) -> None:
    metadata = observation_box(GermanWhistEnv("draft").options).trained_on
    assert json.loads(json.dumps(metadata)) == metadata
    with zipfile.ZipFile(model.removeprefix("sb3:").removesuffix(",trusted")) as file:
        data = json.loads(file.read("data"))
    assert "trained_on" in data["observation_space"]


def with_metadata(graph: Path, path: Path, **changes: str | None) -> Path:
    """The graph with changed metadata; None deletes a key."""
    import onnx

    model = onnx.load(str(graph))
    metadata = {prop.key: prop.value for prop in model.metadata_props}
    del model.metadata_props[:]
    changed = {name: value for name, value in {**metadata, **changes}.items() if value is not None}
    onnx.helper.set_model_props(model, changed)
    onnx.save(model, str(path))
    return path


def test_a_graph_without_metadata_needs_a_word(graph: Path, tmp_path: Path) -> None:
    bare = with_metadata(graph, tmp_path / "bare.onnx", suit_order=None)
    with pytest.raises(ValueError, match="name the suit order of the environment"):
        load_agent(f"onnx:{bare}")
    assert (
        suit_order(f"onnx:{bare},suit_order=trump-first")
        == suit_order(f"onnx:{graph}")
        == "trump-first"
    )
    with pytest.raises(ValueError, match="its file says that it was trained in 'trump-first'"):
        load_agent(f"onnx:{graph},suit_order=raw")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observation_version": "99"}, "reads observation version 99"),
        ({"observation_version": "new"}, "observation_version is 'new'"),
        ({"suit_order": "trumps"}, "suit_order is 'trumps'"),
        ({"rule_sets": "{"}, "not valid JSON"),
        (
            {"rule_sets": '[{"name": "classic", "contract": "low"}]'},
            r"plays classic .contract low., and not classic .contract high",
        ),
    ],
)
def test_metadata_are_checked(graph: Path, tmp_path: Path, changes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_agent(f"onnx:{with_metadata(graph, tmp_path / 'spoilt.onnx', **changes)}")


def test_sb3_agent_gives_torch_one_thread_in_scripts(model: str, monkeypatch: Any) -> None:
    import torch
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

    agent, threads = load_agent(model), set[int]()
    distribution = MaskableActorCriticPolicy.get_distribution

    def watched(policy: Any, *args: Any, **kwargs: Any) -> Any:
        threads.add(torch.get_num_threads())
        return distribution(policy, *args, **kwargs)

    monkeypatch.setattr(MaskableActorCriticPolicy, "get_distribution", watched)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        agent.probabilities(Game("classic", 1).view())
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert threads == {1}
