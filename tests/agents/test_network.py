"""Policy network agents: agreement with NumPy, and refusals."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import network_card, network_weights, written
from safetensors.numpy import load, save

from german_whist.agents.base import EXACT_SOLVER, OWN_POLICY, CannotPlay
from german_whist.agents.checkpoints import CheckpointError, read_checkpoint
from german_whist.agents.checkpoints.bundled import FAMILY_WEIGHTS
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.networks.relative_ranks import to_relative_ranks
from german_whist.agents.registry import load_agent
from german_whist.common.jit.compiler import jit
from german_whist.engine.observation.spec import MAX_OBSERVATION_SIZE, OBSERVATION_VERSION
from german_whist.evaluation import evaluate
from support import dealt

INPUTS = np.array([*range(0, 430, 3), 431])
LAYERS = [32, 16]


WEIGHTS = network_weights(len(INPUTS), *LAYERS, 52)


def player(folder: Path, *network: Any, **changes: Any) -> Path:
    """A checkpoint whose card has these changes, in parts of its network first."""
    card = network_card(INPUTS, LAYERS, **changes)
    if network:
        card["network"] = card["network"] | network[0]
    return written(folder / "player", WEIGHTS, card)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return player(tmp_path)


def situations(count: int = 300, steps: int = 9) -> tuple[np.ndarray, np.ndarray]:
    games = dealt("classic", count, seed=5, suit_order="trump-first")
    for _ in range(steps):
        step = games.step(games.observe().masks.argmax(axis=1))
    return games.views(), step.observations


def plain_logits(observations: np.ndarray) -> np.ndarray:
    x = observations[..., INPUTS].astype(np.float32)
    for name in ("hidden.0", "hidden.1"):
        x = np.maximum(x @ WEIGHTS[f"{name}.weight"].T + WEIGHTS[f"{name}.bias"], 0)
    return x @ WEIGHTS["policy.weight"].T + WEIGHTS["policy.bias"]


def test_it_plays_what_plain_numpy_computes(path: Path) -> None:
    views, observations = situations()
    logits = plain_logits(observations)
    agent = NetworkAgent("classic", path, "sample")
    probs = agent.probabilities(views)
    for index in range(len(views)):
        # Suits are relabeled, so compare the values and not their places.
        played = np.sort(probs[index][probs[index] > 0])
        expected = np.sort(plain_probabilities(observations[index], logits[index]))
        assert played == pytest.approx(expected, rel=1e-4)
    greedy = NetworkAgent("classic", path).act(views, np.zeros(len(views), np.uint64))
    assert (greedy == probs.argmax(axis=1)).all()


def plain_probabilities(observation: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """Probabilities of the legal actions, which are read off the observation."""
    legal = observation[:52] == 1
    led = np.flatnonzero(observation[104:156])
    if len(led):
        same = legal & (np.arange(52) // 13 == led[0] // 13)
        legal = same if same.any() else legal
    exact = np.exp(logits[legal] - logits[legal].max())
    return exact / exact.sum()


def test_with_closed_ranks_it_plays_what_plain_numpy_computes(tmp_path: Path) -> None:
    path = player(tmp_path, {"card_ranks": "relative"}, suit_order="raw")
    games = dealt("classic", 200, seed=6)
    step = games.observe()
    for _ in range(15):
        step = games.step(step.masks.argmax(axis=1))
    agent = NetworkAgent("classic", path)
    for index, action in enumerate(agent.act(games.views(), np.zeros(200, np.uint64))):
        observation, action_map = step.observations[index].copy(), np.zeros(52, np.int64)
        to_relative_ranks(observation, action_map)
        legal = np.flatnonzero(step.masks[index])
        places = [int(np.flatnonzero(action_map == action)[0]) for action in legal]
        assert action == legal[np.argmax(plain_logits(observation)[places])]


def test_a_path_names_an_agent(path: Path) -> None:
    named = (path, path.with_suffix(""))
    for text in (*map(str, named), f"network:{path}"):
        assert load_agent(text, "classic").name == text
    agent = load_agent(f"{path},sample,endgame=network", "classic")
    assert isinstance(agent, NetworkAgent)
    assert agent.sample
    assert not agent.perfect_endgame
    assert load_agent(f"{path},endgame=exact", "classic").perfect_endgame
    with pytest.raises(ValueError, match="no option of a network"):
        load_agent(f"{path},greedily", "classic")


def test_network_decides_in_less_than_a_millisecond(path: Path) -> None:
    agent = NetworkAgent("classic", path)
    views, _ = situations(1)
    rng = np.zeros(1, np.uint64)
    best = 1.0
    for _ in range(20):
        began = time.perf_counter()
        agent.act(views, rng)
        best = min(best, time.perf_counter() - began)
    assert best < 0.001


def test_torch_is_not_needed(path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from german_whist.evaluation import ladder\n"
        f"found = ladder(['champion', 'thinker:2', {str(path)!r}], hands=4, workers=1)\n"
        "print(*(pairing.hands for pairing in found.pairings))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4", "4", "4"]


@pytest.mark.parametrize(
    ("network", "changes", "rules", "message"),
    [
        (
            {},
            {"observation_version": 7},
            "classic",
            f"version 7, .* package reads version {OBSERVATION_VERSION}",
        ),
        ({}, {"actions": 53}, "classic", "actions is 53, and its rules classic have 52"),
        ({}, {}, "margin", "plays classic, and not margin"),
        (
            {"hidden_sizes": [8, 16]},
            {},
            "classic",
            r"hidden\.0\.weight is \(32, 145\), and its card says \(8, 145\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_both_values(
    network: Any, changes: Any, rules: str, message: str, tmp_path: Path
) -> None:
    path = player(tmp_path, network, **changes)
    with pytest.raises((CheckpointError, CannotPlay), match=message):
        load_agent(str(path), rules)


@pytest.mark.parametrize(
    ("horizon", "own"), [("hand", True), ("match", True), ("foreplay", False), ("auto", False)]
)
def test_networks_trained_on_endgames_play_them(horizon: str, own: bool, tmp_path: Path) -> None:
    path = player(tmp_path, horizon=horizon)
    result = evaluate(f"net={path}", "random", hands=200, seed=4)
    assert result.details[0].endgame == (OWN_POLICY if own else EXACT_SOLVER)
    lost = result.pairings[0].stages[0].thrown
    assert (lost is not None and lost > 0.2) == own


def test_a_network_of_the_foreplay_does_not_play_endings(tmp_path: Path) -> None:
    with pytest.raises(CannotPlay, match="never saw an ending"):
        load_agent(f"{player(tmp_path, horizon='foreplay')},endgame=network")


def test_spoilt_files_are_refused(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-8])
    with pytest.raises(CheckpointError, match=r"is no safetensors file .*; copy the file again"):
        read_checkpoint(path)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(CheckpointError, match="checksum"):
        read_checkpoint(path)
    path.write_bytes(save(load(data)))
    with pytest.raises(CheckpointError, match=r"no card in it, .* player\.json: use the version"):
        read_checkpoint(path)
    with pytest.raises(ValueError, match="write network:PATH"):
        load_agent("network")
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        read_checkpoint(path.with_name("other.safetensors"))


@jit
def leave_behind(value: int) -> int:
    """Fill and free memory of the size of observations."""
    total = 0
    for _ in range(3):
        blocks = [np.full(MAX_OBSERVATION_SIZE, value, np.int8) for _ in range(10)]
        total += len(blocks)
    return total


@pytest.mark.parametrize("rules", ["margin", "draft"])
def test_places_absent_from_a_rule_set_are_zero_to_network(rules: str) -> None:
    agent, views = NetworkAgent(rules, FAMILY_WEIGHTS), dealt(rules, 50, seed=1).views()
    outputs = set()
    for value in (0, 1, -1):
        leave_behind(value)
        probs = agent.network_probabilities(views).tobytes()
        leave_behind(value)
        outputs.add((probs, agent.act(views, np.zeros(50, np.uint64)).tobytes()))
    assert len(outputs) == 1
