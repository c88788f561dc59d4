"""A trained transformer plays by torch, from what was seen, and refuses what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import written

pytest.importorskip("torch")

from german_whist import named_rules
from german_whist.agents.base import CannotPlay, agent_key, decision_streams
from german_whist.agents.card import EVENT_VECTORS, AttentionSize, NetworkCard
from german_whist.agents.checkpoint import CheckpointError, weight_shapes
from german_whist.agents.network import NetworkAgent
from german_whist.agents.player import Player
from german_whist.engine.game import Game
from german_whist.engine.history import HISTORY_VERSION, histories, history_rows, write_history
from german_whist.engine.layout import LAYOUT_VERSION, OBSERVATION_SIZE, shown_action
from german_whist.engine.play import row
from german_whist.engine.rules import load_rules
from german_whist.envs import SelfPlayEnv
from support import dealt

INPUTS = [*range(0, 430, 3), 431]
LAYERS = [24]
SIZE = {"layers": 2, "heads": 2, "width": 12, "history_version": HISTORY_VERSION}


def card(**changes: Any) -> dict[str, Any]:
    network = {"kind": "attention", "inputs": INPUTS, "layers": LAYERS, "attention": SIZE}
    return {
        "network": {**network, **changes},
        "actions": 52,
        "layout": "trump-first",
        "layout_version": LAYOUT_VERSION,
        "observation_size": OBSERVATION_SIZE,
        "rules": [load_rules("classic").as_mapping()],
        "horizon": "hand",
    }


def weights(seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    chance = np.random.default_rng(seed)
    size = AttentionSize(**SIZE)
    network = NetworkCard("attention", tuple(INPUTS), tuple(LAYERS), attention=size)
    return {name: (0.5 * chance.normal(size=shape)).astype(np.float32)
            for name, shape in weight_shapes(network, 52)}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "player", weights(), card())


def situations(count: int, steps: int) -> tuple[SelfPlayEnv, Any]:
    games = dealt("classic", count, seed=5, layout="trump-first")
    step = games.look()
    for _ in range(steps):
        step = games.step(step.masks.argmax(axis=1))
    return games, step


# -- the pass


def normed(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * w[f"{name}.weight"] + w[f"{name}.bias"]


def layer(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def plain_logits(observation: np.ndarray, events: np.ndarray) -> np.ndarray:
    """What the network makes of an observation and its events, in 64 bits and every row of it."""
    w = {name: array.astype(np.float64) for name, array in weights().items()}
    flat = observation[INPUTS].astype(np.float64)
    tokens = [layer(flat, w, "history.state")]
    for kind, who, named, trick in events:
        places = [kind, 8 + who, 11 + named, 65 + trick]
        tokens.append(w["history.events"][places].sum(axis=0))
    x = np.array(tokens)
    for k in range(2):
        block = f"history.blocks.{k}"
        seen = normed(x, w, f"{block}.before")
        queries = layer(seen, w, f"{block}.queries")
        keys, values = np.split(layer(seen, w, f"{block}.pairs"), 2, axis=1)
        found = []
        for head in (slice(0, 6), slice(6, 12)):
            scores = queries[:, head] @ keys[:, head].T / np.sqrt(6)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            found.append(shares / shares.sum(axis=1, keepdims=True) @ values[:, head])
        x = x + layer(np.concatenate(found, axis=1), w, f"{block}.out")
        wide = np.maximum(layer(normed(x, w, f"{block}.between"), w, f"{block}.wide"), 0)
        x = x + layer(wide, w, f"{block}.narrow")
    seen = np.concatenate([flat, normed(x[0], w, "history.last")])
    return layer(np.maximum(layer(seen, w, "hidden.0"), 0), w, "policy")


@pytest.mark.parametrize("steps", [0, 9, 40])
def test_it_plays_what_plain_numpy_computes(steps: int, path: Path) -> None:
    games, step = situations(30, steps)
    views = games.views()
    agent = NetworkAgent("classic", path, "sample", "endgame=network")
    shares = agent.probabilities(views)
    events = np.zeros((history_rows(games.rules), 4), np.int8)
    for index in range(len(views)):
        order = games.batch.orders[index]
        count = write_history(row(games.rules.record(), 0), row(views, index), order, False, events)
        logits = plain_logits(step.observations[index], events[:count])
        legal = step.masks[index] == 1
        wanted = np.exp(logits[legal] - logits[legal].max())
        real = np.flatnonzero(shares[index])
        mine = {shown_action(int(each), order): shares[index, each] for each in real}
        assert [mine[int(each)] for each in np.flatnonzero(legal)] == pytest.approx(
            wanted / wanted.sum(), abs=1e-4
        )


@pytest.mark.parametrize("words", [[], ["sample"]])
def test_it_plays_the_likeliest_or_draws_by_its_streams(words: list[str], path: Path) -> None:
    views = situations(100, 12)[0].views()
    rng = decision_streams(agent_key(1), np.arange(len(views)), views)
    agent = NetworkAgent("classic", path, *words)
    shares = agent.likelihoods(views)
    played = agent.act(views, rng.copy())
    assert played.tolist() == agent.act(views, rng.copy()).tolist()
    others = agent.act(views, rng + np.uint64(1))
    assert (played.tolist() == others.tolist()) == (not words)
    assert (played.tolist() == shares.argmax(axis=1).tolist()) == (not words)
    assert len(agent.act(views[:0], rng[:0])) == 0


def test_what_it_plays_depends_on_what_was_seen(path: Path) -> None:
    views = situations(200, 14)[0].views()
    agent = NetworkAgent("classic", path, "sample")
    assert agent.reads_tricks
    changed = views.copy()
    changed["led_cards"][:, :5] = views["led_cards"][:, 4::-1]
    assert (agent.likelihoods(views) != agent.likelihoods(changed)).any(axis=1).all()


def test_it_plays_whole_hands(path: Path) -> None:
    player = Player(NetworkAgent("classic", path, "sample", "endgame=network"))
    game = Game("classic", seed=3)
    while not game.over:
        game.play(player.choose(game.view(game.turn)))


def test_it_needs_torch_and_says_so(path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from german_whist import load_agent\n"
        "load_agent(sys.argv[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        f"{path}: its network reads the events of a hand, which torch alone plays, and that is not "
        "installed: pip install 'german-whist[train]'"
    )


# -- room for the events


@pytest.mark.parametrize("name", named_rules())
def test_there_is_room_for_all_events(name: str) -> None:
    from german_whist.agents.attention import most_events

    rules = load_rules(name)
    env = SelfPlayEnv(40, rules)
    chance = np.random.default_rng(2)
    now = env.reset(seed=1)
    most, of_foreplay = 0, 0
    for _ in range(90):
        views = env.views()
        rows, _ = histories(rules.record(), views, history_rows(rules), True)
        counts = (rows[:, :, 0] > 0).sum(axis=1)
        assert rows[:, :, 2].max() < 54
        assert rows[:, :, 3].max() < EVENT_VECTORS - 65
        most = max(most, int(counts.max()))
        in_foreplay = views["stock_left"] > 0
        if in_foreplay.any():
            of_foreplay = max(of_foreplay, int(counts[in_foreplay].max()))
        now = env.step((now.masks * chance.random(now.masks.shape)).argmax(axis=1))
    assert most <= most_events(rules, False)
    assert of_foreplay <= most_events(rules, True)


# -- what is refused


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ({**SIZE, "history_version": 9}, "histories of version 9, and this version writes"),
        ({**SIZE, "heads": 5}, "a width of 12 does not divide among 5 heads"),
        ({**SIZE, "layers": 0}, r"network\.attention\.layers is 0: it has to be a whole number"),
        ({"layers": 2}, "network.attention: has no 'heads'"),
        (None, "attention has to be told of one of the kind 'attention'"),
        ({**SIZE, "width": 8}, r"history\.state\.weight is \(12, 145\), and its card says \(8, 1"),
        ({**SIZE, "layers": 3}, r"history\.blocks\.2\.before\.weight is missing"),
    ],
)
def test_what_does_not_fit_is_refused(size: Any, told: str, tmp_path: Path) -> None:
    path = written(tmp_path / "player", weights(), card(attention=size))
    with pytest.raises((CheckpointError, CannotPlay), match=told):
        NetworkAgent("classic", path)


def test_networks_of_earlier_histories_are_read_as_their_rows_are_the_same() -> None:
    for version in range(1, HISTORY_VERSION + 1):
        assert AttentionSize(2, 2, 12, version).history_version == version
    with pytest.raises(ValueError, match="histories of version 9, and this version writes"):
        AttentionSize(2, 2, 12, 9)
