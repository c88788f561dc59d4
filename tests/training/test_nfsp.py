"""Neural fictitious self-play beside a second implementation, written from the paper's formulas.

Heinrich and Silver 2016, algorithm 1. Games are recorded at the environment; what has to be
remembered of them, and what is learnt from it, is computed here with NumPy alone.
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

from german_whist.agents.networks.relative_ranks import gather_rows
from german_whist.engine.batch.cpu_backend import CpuBackend
from german_whist.training.algorithms.nfsp import NFSP
from german_whist.training.algorithms.settings import NFSPSettings
from german_whist.training.rollout.networks import weights_of
from german_whist.training.rollout.replay_buffer import Memory

TINY = {"name": "tiny", "suits": 2, "ranks": 5, "hand": 3, "counts": "all"}
N_ENVS = 40
LAYERS = ("hidden.0", "policy")
NEVER = 10**9


def settings(**changes: Any) -> NFSPSettings:
    values: dict[str, Any] = {
        "rules": TINY, "horizon": "hand", "reward": "margin", "n_envs": N_ENVS,
        "hidden_sizes": (9,),
        "replay_size": 100_000, "reservoir_size": 100_000, "train_every": 16,
        "target_update_every": 7,
        "batch_size": 32, "learning_rate": 0.02, "decisions": 10_000, "seed": 3,
        "anticipatory": 0.4, "epsilon": 0.5,
    }  # fmt: skip
    return NFSPSettings(**{**values, **changes})


class Recorder:
    """The decisions of every game in order, as the network sees them, and what was paid after."""

    def __init__(self, trainer: NFSP, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trainer = trainer
        self.episodes: list[list[dict[str, Any]]] = []
        self.open: list[list[dict[str, Any]] | None] = []
        self.seeds: list[int] = []
        reset, step = trainer.games.reset, trainer.games.step

        def recorded_reset(seed: int) -> Any:
            self.now = reset(seed)
            self.seeds.append(seed)
            self.open = [[] for _ in range(N_ENVS)]
            return self.now

        def recorded_step(actions: Array) -> Any:
            before, self.now = self.now, None
            seen, legal, shown = self._as_seen(before)
            self.now = step(actions)
            for game, episode in enumerate(self.open):
                if episode is None:
                    continue
                place = int(np.flatnonzero(shown[game] == actions[game])[0])
                row = {"seat": int(before.seats[game]), "seen": seen[game], "legal": legal[game]}
                episode.append(row | {"action": place, "paid": self.now.rewards[game].copy()})
                if self.now.ended[game]:
                    self.episodes.append(episode)
                    self.open[game] = None
            return self.now

        monkeypatch.setattr(trainer.games, "reset", recorded_reset)
        monkeypatch.setattr(trainer.games, "step", recorded_step)

    def _as_seen(self, now: Any) -> tuple[Array, Array, Array]:
        inputs, actions = self.trainer.inputs, self.trainer.actions
        seen = np.zeros((N_ENVS, len(inputs)), np.int8)
        legal = np.zeros((N_ENVS, actions), np.int8)
        shown = np.zeros((N_ENVS, actions), np.int64)
        copies = now.observations.copy(), now.masks.copy()
        CpuBackend().rows(N_ENVS, gather_rows, *copies, inputs, True, seen, legal, shown)
        return seen, legal, shown

    def trajectories(self) -> list[list[dict[str, Any]]]:
        """The decisions of each seat of each episode, with what followed; two for each episode."""
        found = []
        for episode in self.episodes:
            for seat in range(2):
                steps = [k for k, row in enumerate(episode) if row["seat"] == seat]
                trajectory = []
                for step, following in zip(steps, [*steps[1:], None], strict=True):
                    after = episode[step:following]
                    reward = sum(row["paid"][seat] for row in after)
                    later = None if following is None else episode[following]
                    trajectory.append({**episode[step], "reward": reward, "later": later})
                found.append(trajectory)
        return found


def prefer(trainer: NFSP, network: str, logits: Array) -> None:
    """Let a network say the same everywhere."""
    with torch.no_grad():
        layer = getattr(trainer, network).policy
        layer.weight.zero_()
        layer.bias.copy_(torch.from_numpy(logits))


def ascending(trainer: NFSP) -> Array:
    return np.linspace(0, 5000, trainer.actions).astype(np.float32)


# -- learning


def test_both_networks_learn_what_the_formulas_say(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = NFSP(settings())
    drawn: dict[str, list[Array]] = {"steps_seen": [], "played": []}
    for name, rows in drawn.items():
        memory = getattr(trainer, name)

        def recorded(
            count: int, rng: Any, draw: Any = memory.drawn, rows: list[Array] = rows
        ) -> Array:
            rows.append(draw(count, rng).copy())
            return rows[-1]

        monkeypatch.setattr(memory, "drawn", recorded)
    values, average = (float64_copy(weights_of(each)) for each in (trainer.values, trainer.average))
    target = dict(values)
    adams = PlainAdam(values, eps=1e-8), PlainAdam(average, eps=1e-8)
    updates, targets_differed = 0, False
    for _ in range(6):
        for rows in drawn.values():
            rows.clear()
        metrics = trainer.iterate()
        losses = []
        for steps, played in zip(drawn["steps_seen"], drawn["played"], strict=True):
            assert len(steps) == len(played) == 32
            losses.append((q_learning(values, target, adams[0], steps),
                           imitation(average, adams[1], played)))  # fmt: skip
            updates += 1
            if updates % 7 == 0:
                target = dict(values)
            targets_differed |= not np.allclose(target["policy.bias"], values["policy.bias"])
        value_loss, policy_loss = np.mean(losses, axis=0)
        assert metrics["value_loss"] == pytest.approx(value_loss, rel=1e-3)
        assert metrics["policy_loss"] == pytest.approx(policy_loss, rel=1e-3)
        for network, wanted in ((trainer.values, values), (trainer.average, average),
                                (trainer.target, target)):  # fmt: skip
            for name, weight in weights_of(network).items():
                if not name.startswith("value."):
                    assert weight == pytest.approx(wanted[name], rel=1e-3, abs=2e-4), name
    # One update of both networks in every sixteen decisions.
    assert updates == trainer.decisions // 16 > 21
    assert targets_differed
    # The player is the average policy.
    for name, weight in trainer.player().items():
        assert weight == pytest.approx(average[name], rel=1e-3, abs=2e-4)


def q_learning(weights: Weights, target: Weights, adam: PlainAdam, rows: Array) -> float:
    """A step towards reward + max over legal actions of the target's values; undiscounted."""
    activations = forward(weights, LAYERS, rows["seen"].astype(float))
    numbers = np.arange(len(rows))
    later = forward(target, LAYERS, rows["next"].astype(float))[-1]
    best = np.where(rows["next_legal"] > 0, later, -np.inf).max(axis=1)
    targets = rows["paid"] + np.where(rows["over"] > 0, 0, best)
    td_errors = activations[-1][numbers, rows["action"]] - targets
    d_output = np.zeros_like(activations[-1])
    d_output[numbers, rows["action"]] = 2 * td_errors / len(rows)
    gradients: Weights = {}
    add_gradients(gradients, weights, LAYERS, activations, d_output)
    adam.step(weights, gradients, 0.02)
    return float((td_errors**2).mean())


def imitation(weights: Weights, adam: PlainAdam, rows: Array) -> float:
    """A step down the negative log-likelihood of what best responses played."""
    activations = forward(weights, LAYERS, rows["seen"].astype(float))
    log_probs = masked_log_softmax(activations[-1], rows["legal"])
    d_output = np.exp(log_probs)
    d_output[np.arange(len(rows)), rows["action"]] -= 1
    gradients: Weights = {}
    add_gradients(gradients, weights, LAYERS, activations, d_output / len(rows))
    adam.step(weights, gradients, 0.02)
    return -float(log_probs[np.arange(len(rows)), rows["action"]].mean())


# -- what is remembered


@pytest.mark.parametrize("horizon", ["hand", "match"])
def test_the_replay_buffer_holds_what_each_seat_saw_did_and_was_paid_until_its_next_decision(
    horizon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a match there are rewards along the way."""
    trainer = NFSP(settings(train_every=NEVER, horizon=horizon))
    recorder = Recorder(trainer, monkeypatch)
    iterations = 3 if horizon == "hand" else 1
    for _ in range(iterations):
        trainer.iterate()
    rows = [row for trajectory in recorder.trajectories() for row in trajectory]
    assert any(row["later"] and row["reward"] for row in rows) is (horizon == "match")
    wanted: Counter[tuple[Any, ...]] = Counter()
    rewards = set()
    for row in rows:
        over, later = row["later"] is None, row["later"]
        # What is said of the decision after the last does not count.
        after = () if over else (later["seen"].tobytes(), later["legal"].tobytes())
        rewards.add(float(row["reward"]))
        wanted[(row["seen"].tobytes(), row["action"], float(row["reward"]), over, after)] += 1
    remembered = Counter(
        (row["seen"].tobytes(), int(row["action"]), float(row["paid"]), bool(row["over"]),
         () if row["over"] else (row["next"].tobytes(), row["next_legal"].tobytes()))
        for row in trainer.steps_seen.rows[: len(trainer.steps_seen)]
    )  # fmt: skip
    assert remembered == wanted
    assert wanted.total() == trainer.decisions
    assert trainer.hands == len(recorder.episodes) == iterations * N_ENVS
    assert min(rewards) < 0 < max(rewards)
    assert len(set(recorder.seeds)) == iterations


def test_each_seat_of_each_hand_is_all_best_response_or_all_average_which_are_not_imitated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The best response likes high places, the average low ones, so each shows who played."""
    trainer = NFSP(settings(epsilon=0.0, train_every=NEVER, anticipatory=0.3))
    prefer(trainer, "values", ascending(trainer))
    prefer(trainer, "average", -ascending(trainer))
    recorder = Recorder(trainer, monkeypatch)
    for _ in range(8):
        trainer.iterate()
    certain: Counter[tuple[Any, ...]] = Counter()
    forced: Counter[tuple[Any, ...]] = Counter()
    responds: list[bool | None] = []
    for trajectory in recorder.trajectories():
        choices = [row for row in trajectory if row["legal"].sum() > 1]
        high = {bool(row["action"] == np.flatnonzero(row["legal"])[-1]) for row in choices}
        low = {bool(row["action"] == np.flatnonzero(row["legal"])[0]) for row in choices}
        if not choices:
            forced.update(map(as_imitated, trajectory))
            responds.append(None)
            continue
        assert high | low == {False, True}
        assert len(high) == 1, "a seat changed its policy within a hand"
        responds += high
        if True in high:
            certain.update(map(as_imitated, trajectory))
    reservoir = trainer.played.rows[: len(trainer.played)]
    imitated = Counter(map(as_imitated, reservoir))
    # All decisions of best responses are there, and nothing else but where nothing could be seen.
    assert certain <= imitated <= certain + forced
    told = [each for each in responds if each is not None]
    assert np.mean(told) == pytest.approx(0.3, abs=4 * np.sqrt(0.3 * 0.7 / len(told)))
    # Each seat's is drawn by itself.
    pairs = [each for each in zip(responds[::2], responds[1::2], strict=True) if None not in each]
    both = np.mean([all(pair) for pair in pairs])
    assert both == pytest.approx(0.09, abs=4 * np.sqrt(0.09 * 0.91 / len(pairs)))
    assert len(pairs) > 200


def as_imitated(row: Any) -> tuple[Any, ...]:
    return row["seen"].tobytes(), int(row["action"]), row["legal"].tobytes()


# -- exploration, and who plays how


@pytest.mark.parametrize("done", [0.0, 0.75, 3.0])
def test_the_exploration_of_best_responses_falls_to_nothing_along_the_budget(
    done: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With epsilon anything legal is played, so with n legal actions (1 - 1/n) epsilon shows."""
    trainer = NFSP(settings(epsilon=0.8, train_every=NEVER, anticipatory=1.0))
    prefer(trainer, "values", ascending(trainer))
    trainer.decisions = int(done * 10_000)
    recorder = Recorder(trainer, monkeypatch)
    before = trainer.decisions
    for _ in range(8):
        trainer.decisions = before
        trainer.iterate()
        before += 1  # another seed, and as good as the same time
    epsilon = 0.8 * max(0.0, 1 - done)
    found, wanted, variance, several = 0, 0.0, 0.0, 0
    for row in (row for episode in recorder.episodes for row in episode):
        count = int(row["legal"].sum())
        share = epsilon * (1 - 1 / count)
        found += int(row["action"] != np.flatnonzero(row["legal"])[-1])
        wanted += share
        variance += share * (1 - share)
        several += count > 2
    assert abs(found - wanted) <= 4 * np.sqrt(variance)
    assert several > 30
    assert (found == 0) is (done >= 1)


def test_the_average_policy_is_drawn_from_by_its_probabilities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer = NFSP(settings(train_every=NEVER, anticipatory=1e-12))
    logits = np.random.default_rng(1).normal(size=trainer.actions).astype(np.float32)
    prefer(trainer, "average", logits)
    recorder = Recorder(trainer, monkeypatch)
    for _ in range(8):
        trainer.iterate()
    rows = [row for episode in recorder.episodes for row in episode]
    legal = np.array([row["legal"] for row in rows])
    probs = np.exp(masked_log_softmax(np.tile(logits.astype(float), (len(rows), 1)), legal))
    played = np.bincount([row["action"] for row in rows], minlength=trainer.actions)
    spread = np.sqrt((probs * (1 - probs)).sum(axis=0))
    assert (np.abs(played - probs.sum(axis=0)) <= 4.5 * spread + 1e-9).all()
    assert (spread > 3).sum() > 3
    assert not len(trainer.played)


# -- memories


def test_each_row_ever_seen_is_as_likely_kept_in_a_small_reservoir() -> None:
    """Vitter 1985, algorithm R, one row at a time and in lots: of four rows each with a half."""
    rng = np.random.default_rng(5)
    for lots in ([4], [1, 1, 1, 1], [3, 1], [1, 3]):
        kept = np.zeros(4)
        for _ in range(3000):
            memory = Memory([("number", "i4")], 2, reservoir=True)
            numbers = np.zeros(4, memory.kind)
            numbers["number"] = np.arange(4)
            for lot in np.split(numbers, np.cumsum(lots)[:-1]):
                memory.add(lot, rng)
            kept[memory.rows["number"]] += 1
        assert kept / 3000 == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("reservoir", [False, True])
def test_minibatches_are_drawn_evenly_from_all_that_is_remembered(reservoir: bool) -> None:
    rng = np.random.default_rng(6)
    memory = Memory([("number", "i4")], 50, reservoir=reservoir)
    rows = np.zeros(20, memory.kind)
    rows["number"] = np.arange(20)
    memory.add(rows, rng)
    counts = np.zeros(20)
    for _ in range(400):
        counts += np.bincount(memory.drawn(50, rng)["number"], minlength=20)
    assert counts == pytest.approx(1000, rel=0.15)


def test_a_replay_buffer_that_is_full_holds_the_last_rows() -> None:
    memory = Memory([("number", "i4")], 50, reservoir=False)
    for start in range(0, 1000, 37):
        rows = np.zeros(min(37, 1000 - start), memory.kind)
        rows["number"] = np.arange(start, start + len(rows))
        memory.add(rows)
    assert set(memory.rows["number"]) == set(range(950, 1000))
