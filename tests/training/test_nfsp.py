"""NFSP beside a second implementation, written from the paper's formulas.

Heinrich and Silver 2016, algorithm 1. Games are recorded at the environment; the transitions of
both buffers, and the updates from them, are computed here with NumPy alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from plain_learning import (
    Array,
    PlainAdam,
    Weights,
    add_gradients,
    float64_copy,
    forward,
    masked_log_softmax,
)

from german_whist.agents.networks.relative_ranks import InputRows, gather_rows
from german_whist.engine.batch.cpu_backend import CpuBackend
from german_whist.training.algorithms.nfsp import NFSP
from german_whist.training.algorithms.settings import NFSPSettings
from german_whist.training.rollout.networks import weights_of
from german_whist.training.rollout.replay_buffer import ReplayBuffer, ReservoirBuffer

TINY = {"name": "tiny", "suits": 2, "ranks": 5, "hand": 3, "counts": "all"}
N_ENVS = 40
Q_LAYERS, POLICY_LAYERS = ("hidden.0", "q_values"), ("hidden.0", "policy")
NEVER = 10**9


def settings(**changes: Any) -> NFSPSettings:
    values: dict[str, Any] = {
        "rules": TINY,
        "horizon": "hand",
        "reward": "margin",
        "n_envs": N_ENVS,
        "seed": 3,
        "hidden_sizes": (9,),
        "replay_size": 100_000,
        "reservoir_size": 100_000,
        "train_every": 16,
        "target_update_every": 7,
        "batch_size": 32,
        "learning_rate": 0.02,
        "decisions": 10_000,
        "anticipatory": 0.4,
        "epsilon": 0.5,
    }
    return NFSPSettings(**{**values, **changes})


class Recorder:
    """The decisions of every game in order, with the network's inputs and the rewards."""

    def __init__(self, trainer: NFSP, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trainer = trainer
        self.episodes: list[list[dict[str, Any]]] = []
        self.open: list[list[dict[str, Any]] | None] = []
        self.seeds: list[int] = []
        reset, step = trainer.games.reset, trainer.games.step

        def recorded_reset(seed: int) -> Any:
            self.result = reset(seed)
            self.seeds.append(seed)
            self.open = [[] for _ in range(N_ENVS)]
            return self.result

        def recorded_step(env_actions: Array) -> Any:
            before, self.result = self.result, None
            observations, masks, network_to_env = self._network_inputs(before)
            self.result = step(env_actions)
            for game, episode in enumerate(self.open):
                if episode is None:
                    continue
                action = int(np.flatnonzero(network_to_env[game] == env_actions[game])[0])
                episode.append(
                    {
                        "seat": int(before.seats[game]),
                        "observation": observations[game],
                        "action_mask": masks[game],
                        "action": action,
                        "rewards": self.result.rewards[game].copy(),
                    }
                )
                if self.result.ended[game]:
                    self.episodes.append(episode)
                    self.open[game] = None
            return self.result

        monkeypatch.setattr(trainer.games, "reset", recorded_reset)
        monkeypatch.setattr(trainer.games, "step", recorded_step)

    def _network_inputs(self, result: Any) -> tuple[Array, Array, Array]:
        inputs, n_actions = self.trainer.inputs, self.trainer.n_actions
        observations = np.zeros((N_ENVS, len(inputs)), np.int8)
        masks = np.zeros((N_ENVS, n_actions), np.int8)
        network_to_env = np.zeros((N_ENVS, n_actions), np.int64)
        copies = result.observations.copy(), result.masks.copy()
        rows = InputRows(*copies, inputs, True, observations, masks, network_to_env)
        CpuBackend().run_rows(N_ENVS, gather_rows, rows)
        return observations, masks, network_to_env

    def trajectories(self) -> list[list[dict[str, Any]]]:
        """The decisions of each seat of each episode, with reward and next decision."""
        trajectories = []
        for episode in self.episodes:
            for seat in range(2):
                steps = [k for k, row in enumerate(episode) if row["seat"] == seat]
                trajectory = []
                for step, following in zip(steps, [*steps[1:], None], strict=True):
                    reward = sum(row["rewards"][seat] for row in episode[step:following])
                    next_row = None if following is None else episode[following]
                    trajectory.append({**episode[step], "reward": reward, "next": next_row})
                trajectories.append(trajectory)
        return trajectories


def set_logits(trainer: NFSP, network: str, logits: Array) -> None:
    """Let a network give the same logits for all observations."""
    with torch.no_grad():
        module = getattr(trainer, network)
        layer = module.q_values if network == "q_network" else module.policy
        layer.weight.zero_()
        layer.bias.copy_(torch.from_numpy(logits))


def ascending(trainer: NFSP) -> Array:
    return np.linspace(0, 5000, trainer.n_actions).astype(np.float32)


# -- learning


@pytest.mark.parametrize(
    "changes", [{}, {"averaging": 1.5, "anneal_learning_rate": True}], ids=["paper", "weighted"]
)
def test_both_networks_learn_by_the_formulas(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = NFSP(settings(**changes))
    minibatches: dict[str, list[Array]] = {"replay_buffer": [], "reservoir_buffer": []}
    for name, rows in minibatches.items():
        buffer = getattr(trainer, name)

        def recorded(
            count: int, rng: Any, sample: Any = buffer.sample, rows: list[Array] = rows
        ) -> Array:
            rows.append(sample(count, rng).copy())
            return rows[-1]

        monkeypatch.setattr(buffer, "sample", recorded)
    q_network = float64_copy(weights_of(trainer.q_network))
    average_policy = float64_copy(weights_of(trainer.average_policy))
    target = dict(q_network)
    adams = PlainAdam(q_network, eps=1e-8), PlainAdam(average_policy, eps=1e-8)
    updates, targets_differed = 0, False
    for _ in range(6):
        for rows in minibatches.values():
            rows.clear()
        rate = 0.02 * (1 - trainer.decisions / 10_000) if changes else 0.02
        metrics = trainer.iterate()
        losses = []
        for transitions, decisions in zip(*minibatches.values(), strict=True):
            assert len(transitions) == len(decisions) == 32
            losses.append(
                (
                    q_learning(q_network, target, adams[0], transitions, rate),
                    imitation(average_policy, adams[1], decisions, rate),
                )
            )
            updates += 1
            if updates % 7 == 0:
                target = dict(q_network)
            targets_differed |= not np.allclose(target["q_values.bias"], q_network["q_values.bias"])
        value_loss, policy_loss = np.mean(losses, axis=0)
        assert metrics["value_loss"] == pytest.approx(value_loss, rel=1e-3)
        assert metrics["policy_loss"] == pytest.approx(policy_loss, rel=1e-3)
        for network, expected in (
            (trainer.q_network, q_network),
            (trainer.average_policy, average_policy),
            (trainer.target_q_network, target),
        ):
            for name, weight in weights_of(network).items():
                if not name.startswith("value."):
                    assert weight == pytest.approx(expected[name], rel=1e-3, abs=2e-4), name
    if changes:
        weights = trainer.reservoir_buffer.rows["weight"][: len(trainer.reservoir_buffer)]
        assert np.unique(weights) == pytest.approx(np.arange(1, 7) ** 1.5)
        assert (np.diff(weights) >= 0).all()
    # One update of both networks in every sixteen decisions.
    assert updates == trainer.decisions // 16 > 21
    assert targets_differed
    # The player is the average policy.
    for name, weight in trainer.policy_weights().items():
        assert weight == pytest.approx(average_policy[name], rel=1e-3, abs=2e-4)


def q_learning(
    weights: Weights, target: Weights, adam: PlainAdam, rows: Array, rate: float
) -> float:
    """A step towards reward + max over legal actions of the target's values; undiscounted."""
    activations = forward(weights, Q_LAYERS, rows["observation"].astype(float))
    numbers = np.arange(len(rows))
    next_q_values = forward(target, Q_LAYERS, rows["next_observation"].astype(float))[-1]
    best = np.where(rows["next_action_mask"] > 0, next_q_values, -np.inf).max(axis=1)
    targets = rows["reward"] + np.where(rows["done"] > 0, 0, best)
    td_errors = activations[-1][numbers, rows["action"]] - targets
    d_output = np.zeros_like(activations[-1])
    d_output[numbers, rows["action"]] = 2 * td_errors / len(rows)
    gradients: Weights = {}
    add_gradients(gradients, weights, Q_LAYERS, activations, d_output)
    adam.step(weights, gradients, rate)
    return float((td_errors**2).mean())


def imitation(weights: Weights, adam: PlainAdam, rows: Array, rate: float) -> float:
    """A step down the weighted negative log-likelihood of what best responses played."""
    activations = forward(weights, POLICY_LAYERS, rows["observation"].astype(float))
    log_probs = masked_log_softmax(activations[-1], rows["action_mask"])
    d_output = np.exp(log_probs)
    d_output[np.arange(len(rows)), rows["action"]] -= 1
    share = np.ones(len(rows))
    if "weight" in (rows.dtype.names or ()):
        share = rows["weight"].astype(float)
    share /= share.sum()
    gradients: Weights = {}
    add_gradients(gradients, weights, POLICY_LAYERS, activations, d_output * share[:, None])
    adam.step(weights, gradients, rate)
    return -float(log_probs[np.arange(len(rows)), rows["action"]] @ share)


# -- buffers


@pytest.mark.parametrize("horizon", ["hand", "match"])
def test_replay_buffer_holds_transitions_of_each_seat(
    horizon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a match there are rewards before the end of an episode."""
    trainer = NFSP(settings(train_every=NEVER, horizon=horizon))
    recorder = Recorder(trainer, monkeypatch)
    iterations = 3 if horizon == "hand" else 1
    for _ in range(iterations):
        trainer.iterate()
    rows = [row for trajectory in recorder.trajectories() for row in trajectory]
    assert any(row["next"] and row["reward"] for row in rows) is (horizon == "match")
    expected = Counter(
        transition(row, *((row["next"][name] for name in SEEN) if row["next"] else ()))
        for row in rows
    )
    transitions = Counter(
        transition(row, *(() if row["done"] else (row[f"next_{name}"] for name in SEEN)))
        for row in trainer.replay_buffer.rows[: len(trainer.replay_buffer)]
    )
    assert transitions == expected
    assert expected.total() == trainer.decisions
    rewards = {float(row["reward"]) for row in rows}
    assert trainer.hands == len(recorder.episodes) == iterations * N_ENVS
    assert min(rewards) < 0 < max(rewards)
    assert len(set(recorder.seeds)) == iterations


SEEN = ("observation", "action_mask")


def transition(row: Any, *following: Array) -> tuple[Any, ...]:
    """Of a final transition the next decision does not matter."""
    seen = [each.tobytes() for each in (row["observation"], *following)]
    return (int(row["action"]), float(row["reward"]), *seen)


def test_reservoir_holds_only_best_response_episodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The best response prefers high actions, the average policy low ones."""
    trainer = NFSP(settings(epsilon=0.0, train_every=NEVER, anticipatory=0.3))
    set_logits(trainer, "q_network", ascending(trainer))
    set_logits(trainer, "average_policy", -ascending(trainer))
    recorder = Recorder(trainer, monkeypatch)
    for _ in range(8):
        trainer.iterate()
    certain: Counter[tuple[Any, ...]] = Counter()
    forced: Counter[tuple[Any, ...]] = Counter()
    responds: list[bool | None] = []
    for trajectory in recorder.trajectories():
        choices = [row for row in trajectory if row["action_mask"].sum() > 1]
        high = {bool(row["action"] == np.flatnonzero(row["action_mask"])[-1]) for row in choices}
        low = {bool(row["action"] == np.flatnonzero(row["action_mask"])[0]) for row in choices}
        if not choices:
            forced.update(map(as_imitated, trajectory))
            responds.append(None)
            continue
        assert high | low == {False, True}
        assert len(high) == 1, "a seat changed its policy within a hand"
        responds += high
        if True in high:
            certain.update(map(as_imitated, trajectory))
    imitated = Counter(
        map(as_imitated, trainer.reservoir_buffer.rows[: len(trainer.reservoir_buffer)])
    )
    # All decisions of best responses, and of others only those without a choice.
    assert certain <= imitated <= certain + forced
    identified = [response for response in responds if response is not None]
    tolerance = 4 * np.sqrt(0.3 * 0.7 / len(identified))
    assert np.mean(identified) == pytest.approx(0.3, abs=tolerance)
    # Policies are drawn for each seat independently.
    pairs = [pair for pair in zip(responds[::2], responds[1::2], strict=True) if None not in pair]
    both = np.mean([all(pair) for pair in pairs])
    assert both == pytest.approx(0.09, abs=4 * np.sqrt(0.09 * 0.91 / len(pairs)))
    assert len(pairs) > 200


def as_imitated(row: Any) -> tuple[Any, ...]:
    return row["observation"].tobytes(), int(row["action"]), row["action_mask"].tobytes()


# -- exploration


@pytest.mark.parametrize("progress", [0.0, 0.75, 3.0])
def test_epsilon_falls_linearly_to_0_along_the_budget(
    progress: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With n legal actions, another than the best is played with probability (1 - 1/n) ε."""
    trainer = NFSP(settings(epsilon=0.8, train_every=NEVER, anticipatory=1.0))
    set_logits(trainer, "q_network", ascending(trainer))
    trainer.decisions = int(progress * 10_000)
    recorder = Recorder(trainer, monkeypatch)
    before = trainer.decisions
    for _ in range(8):
        trainer.decisions = before
        trainer.iterate()
        before += 1  # another seed, and almost the same epsilon
    epsilon = 0.8 * max(0.0, 1 - progress)
    explored, expected, variance, choices = 0, 0.0, 0.0, 0
    for row in (row for episode in recorder.episodes for row in episode):
        count = int(row["action_mask"].sum())
        probability = epsilon * (1 - 1 / count)
        explored += int(row["action"] != np.flatnonzero(row["action_mask"])[-1])
        expected += probability
        variance += probability * (1 - probability)
        choices += count > 2
    assert abs(explored - expected) <= 4 * np.sqrt(variance)
    assert choices > 30
    assert (explored == 0) is (progress >= 1)


def test_average_policy_is_sampled_by_its_probabilities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = NFSP(settings(train_every=NEVER, anticipatory=1e-12))
    logits = np.random.default_rng(1).normal(size=trainer.n_actions).astype(np.float32)
    set_logits(trainer, "average_policy", logits)
    recorder = Recorder(trainer, monkeypatch)
    for _ in range(8):
        trainer.iterate()
    rows = [row for episode in recorder.episodes for row in episode]
    masks = np.array([row["action_mask"] for row in rows])
    probs = np.exp(masked_log_softmax(np.tile(logits.astype(float), (len(rows), 1)), masks))
    played = np.bincount([row["action"] for row in rows], minlength=trainer.n_actions)
    spread = np.sqrt((probs * (1 - probs)).sum(axis=0))
    assert (np.abs(played - probs.sum(axis=0)) <= 4.5 * spread + 1e-9).all()
    assert (spread > 3).sum() > 3
    assert not len(trainer.reservoir_buffer)


# -- sampling


def numbered(buffer: ReplayBuffer | ReservoirBuffer, numbers: range) -> Array:
    rows = np.zeros(len(numbers), buffer.dtype)
    rows["number"] = numbers
    return rows


def test_reservoir_rows_are_equally_likely() -> None:
    """Vitter 1985, algorithm R, one row at a time and in batches: of four rows each with 1/2."""
    rng = np.random.default_rng(5)
    for batches in ([4], [1, 1, 1, 1], [3, 1], [1, 3]):
        counts = np.zeros(4)
        for _ in range(3000):
            buffer = ReservoirBuffer([("number", "i4")], 2)
            for rows in np.split(numbered(buffer, range(4)), np.cumsum(batches)[:-1]):
                buffer.add(rows, rng)
            counts[buffer.rows["number"]] += 1
        assert counts / 3000 == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("kind", [ReplayBuffer, ReservoirBuffer])
def test_minibatches_are_sampled_uniformly(kind: Any) -> None:
    rng = np.random.default_rng(6)
    buffer = kind([("number", "i4")], 50)
    buffer.add(numbered(buffer, range(20)), *([rng] if kind is ReservoirBuffer else []))
    counts = np.zeros(20)
    for _ in range(400):
        counts += np.bincount(buffer.sample(50, rng)["number"], minlength=20)
    assert counts == pytest.approx(1000, rel=0.15)


def test_full_replay_buffer_holds_the_last_rows() -> None:
    buffer = ReplayBuffer([("number", "i4")], 50)
    for start in range(0, 1000, 37):
        buffer.add(numbered(buffer, range(start, min(start + 37, 1000))))
    assert set(buffer.rows["number"]) == set(range(950, 1000))


def test_nfsp_calls_an_action_against_its_mask_divergence() -> None:
    trainer = NFSP(settings(anticipatory=1.0, epsilon=0.0))
    with torch.no_grad():
        trainer.q_network.q_values.bias.copy_(-1e12 * torch.arange(float(trainer.n_actions)))
    with pytest.raises(ArithmeticError, match="so large that an illegal action was chosen"):
        trainer.iterate()
