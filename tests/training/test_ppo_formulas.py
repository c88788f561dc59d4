"""One iteration of PPO and MMD, number by number beside second ones written from the formulas.

What was played is taken from the trainer's buffers; what is learned from it is computed here with
NumPy alone: advantages of each seat, their normalization, the clipped loss with entropy, KL penalty
and critic (for MMD the two divergences), its gradient by hand, clipping of the gradient, Adam, the
EMA, and the schedules.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from plain_learning import (
    Array,
    PlainAdam,
    Weights,
    add_gradients,
    float64_copy,
    forward,
    masked_log_softmax,
    seat_by_seat,
)

from german_whist.training.algorithms.mmd import MMD
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import MMDSettings, PPOSettings
from german_whist.training.rollout.networks import weights_of

Rows = dict[str, Array]

TINY = {"name": "tiny", "suits": 2, "ranks": 4, "hand": 2, "counts": "all"}
# All four tricks may be won, and rewards are learned from in units of four tenths of the most.
UNIT = 0.4 * 4
SETTINGS: dict[str, Any] = {
    "rules": TINY,
    "horizon": "hand",
    "reward": "margin",
    "n_envs": 12,
    "hidden_sizes": (7, 5),
    "batch_size": 24,
    "n_epochs": 2,
    "decisions": 1000,
    "learning_rate": 0.05,
    "learning_rate_end": 0.01,
    "ent_coef": 0.3,
    "ent_coef_end": 0.1,
    "clip_range": 0.05,
    "gamma": 0.9,
    "gae_lambda": 0.7,
    "vf_coef": 0.8,
    "max_grad_norm": 0.1,
    "ema_decay": 0.9,
    "kl_coef": 0.5,
    "seed": 5,
}


def settings(**changes: Any) -> PPOSettings:
    return PPOSettings(**{**SETTINGS, **changes})


def mmd_settings(**changes: Any) -> MMDSettings:
    held = {name: SETTINGS[name] for name in SETTINGS if name not in ("clip_range", "kl_coef")}
    return MMDSettings(**{**held, "step_size": 5.0, "ent_coef": 0.05, "n_epochs": 4, **changes})


# -- the second trainer


class PlainPPO:
    """The same learning in NumPy, in float64."""

    def __init__(self, trainer: PPO) -> None:
        self.settings = trainer.settings
        self.weights = float64_copy(weights_of(trainer.network))
        self.average = float64_copy(weights_of(trainer.ema_network))
        self.adam = PlainAdam(self.weights, eps=1e-5)
        hidden = [f"hidden.{k}" for k in range(len(self.settings.hidden_sizes))]
        critic = [name.replace("hidden", "critic") for name in hidden]
        self.has_critic = "critic.0.weight" in self.weights
        self.policy_layers = [*hidden, "policy"]
        self.value_layers = [*(critic if self.has_critic else hidden), "value"]

    def log_probs(self, weights: Weights, rows: Rows) -> Array:
        """Logarithms of the probabilities of legal actions, minus infinity elsewhere."""
        logits = forward(weights, self.policy_layers, rows["x"])[-1]
        return masked_log_softmax(logits, rows["masks"])

    def reference(self, rows: Rows) -> Array | None:
        """Log-probabilities of the policy that the loss holds this one near."""
        return self.log_probs(self.average, rows) if self.settings.kl_coef else None

    @property
    def hidden_size(self) -> int:
        """How much of what the player cannot see the critic reads."""
        if not self.has_critic:
            return 0
        return self.weights["critic.0.weight"].shape[1] - self.weights["hidden.0.weight"].shape[1]

    def values(self, rows: Rows) -> list[Array]:
        """The critic's activations, its values last."""
        x = np.hstack([rows["x"], rows["hidden"]]) if self.has_critic else rows["x"]
        return forward(self.weights, self.value_layers, x)

    def policy_terms(
        self, log_probs: Array, rows: Rows, ent_coef: float, ref_log_probs: Array | None
    ) -> tuple[dict[str, float], Array]:
        """Metrics, and the gradient of the policy's part of the loss by each row's logits."""
        settings, probs = self.settings, np.exp(log_probs)
        numbers = np.arange(len(probs))
        ratio = np.exp(log_probs[numbers, rows["actions"]] - rows["logs"])
        advantages = rows["advantages"]
        advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)
        clipped = np.clip(ratio, 1 - settings.clip_range, 1 + settings.clip_range)
        unclipped = ratio * advantages <= clipped * advantages
        finite = np.where(rows["masks"] > 0, log_probs, 0)
        entropies = -(probs * finite).sum(axis=1)
        metrics = {
            "policy_loss": -np.minimum(ratio * advantages, clipped * advantages).mean(),
            "entropy": entropies.mean(),
            "clip_fraction": (np.abs(ratio - 1) > settings.clip_range).mean(),
            "approx_kl": (ratio - 1 - np.log(ratio)).mean(),
        }
        # Gradients with respect to the logits: of log p_a it is e_a - p.
        d_logits = -(ratio * advantages * unclipped)[:, None] * (one_hot(rows, probs) - probs)
        d_logits += ent_coef * probs * (finite + entropies[:, None])
        if ref_log_probs is not None:
            d_logits += settings.kl_coef * d_kl(log_probs, ref_log_probs)
        return metrics, d_logits

    def update(
        self, rows: Rows, lr: float, ent_coef: float, ref_log_probs: Array | None
    ) -> dict[str, float]:
        """One step on one minibatch; returns its metrics."""
        settings, n = self.settings, len(rows["actions"])
        policy = forward(self.weights, self.policy_layers, rows["x"])
        critic = self.values(rows)
        log_probs = masked_log_softmax(policy[-1], rows["masks"])
        metrics, d_logits = self.policy_terms(log_probs, rows, ent_coef, ref_log_probs)
        errors = critic[-1][:, 0] - rows["returns"]
        metrics["value_loss"] = (errors**2).mean()
        d_values = settings.vf_coef * 2 * errors[:, None]
        gradients: Weights = {}
        add_gradients(gradients, self.weights, self.policy_layers, policy, d_logits / n)
        add_gradients(gradients, self.weights, self.value_layers, critic, d_values / n)
        norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
        metrics["grad_norm"] = norm
        scale = min(1.0, settings.max_grad_norm / (norm + 1e-6))
        scaled = {name: scale * gradient for name, gradient in gradients.items()}
        self.adam.step(self.weights, scaled, lr)
        for name, weight in self.average.items():
            weight *= settings.ema_decay
            weight += (1 - settings.ema_decay) * self.weights[name]
        return {name: float(value) for name, value in metrics.items()}


class PlainMMD(PlainPPO):
    """Sokota et al. 2023, section 4: E[A] - alpha KL(policy, magnet) - KL(policy, old) / eta.

    The magnet is the uniform policy. Advantages are in units of reward: not normalized.
    """

    def reference(self, rows: Rows) -> Array:
        return self.log_probs(self.weights, rows)

    def policy_terms(
        self, log_probs: Array, rows: Rows, ent_coef: float, ref_log_probs: Array | None
    ) -> tuple[dict[str, float], Array]:
        assert ref_log_probs is not None
        probs = np.exp(log_probs)
        ratio = np.exp(log_probs[np.arange(len(probs)), rows["actions"]] - rows["logs"])
        weighted = ratio * rows["advantages"]
        uniform = np.where(probs > 0, -np.log(rows["masks"].sum(axis=1, keepdims=True)), -np.inf)
        d_logits = -weighted[:, None] * (one_hot(rows, probs) - probs)
        d_logits += ent_coef * d_kl(log_probs, uniform)
        d_logits += d_kl(log_probs, ref_log_probs) / self.settings.step_size
        finite, old = (np.where(probs > 0, each, 0) for each in (log_probs, ref_log_probs))
        metrics = {
            "policy_loss": -weighted.mean(),
            "entropy": -(probs * finite).sum(axis=1).mean(),
            "approx_kl": (probs * (finite - old)).sum(axis=1).mean(),
        }
        return metrics, d_logits


def one_hot(rows: Rows, probs: Array) -> Array:
    chosen = np.zeros_like(probs)
    chosen[np.arange(len(probs)), rows["actions"]] = 1
    return chosen


def d_kl(log_probs: Array, ref_log_probs: Array) -> Array:
    """The gradient of KL(policy, reference) by the policy's logits, row by row."""
    probs = np.exp(log_probs)
    log_ratio = np.where(probs > 0, log_probs, 0) - np.where(probs > 0, ref_log_probs, 0)
    return probs * (log_ratio - (probs * log_ratio).sum(axis=1, keepdims=True))


def rows_of(
    trainer: PPO, paid: list[Array], beyond: tuple[Array, Array] | None
) -> dict[str, Array]:
    """What was played as rows, its advantages computed here from what the games paid."""
    kept, wanted = trainer.collector.buffer, trainer.settings
    steps, games = len(paid), wanted.n_envs
    rewards = np.array(paid, np.float64) / UNIT
    gained = np.zeros((steps, games))
    for game in range(games):
        after = np.zeros(2)
        if beyond is not None:
            seat, value = int(beyond[0][game]), float(beyond[1][game])
            after[seat], after[1 - seat] = value, -value
        gained[:, game] = seat_by_seat(
            kept.seats[:steps, game],
            rewards[:, game],
            kept.dones[:steps, game],
            kept.values[:steps, game].astype(np.float64),
            after,
            wanted.gamma,
            wanted.gae_lambda,
        )
    flat = {
        "x": kept.observations,
        "hidden": kept.hidden_cards,
        "masks": kept.action_masks,
        "actions": kept.actions,
        "logs": kept.log_probs,
    }
    rows = {
        name: each[:steps].reshape(steps * games, *each.shape[2:]) for name, each in flat.items()
    }
    rows["x"], rows["hidden"] = rows["x"].astype(float), rows["hidden"].astype(float)
    rows["advantages"] = gained.ravel()
    rows["values"] = kept.values[:steps].ravel()
    rows["returns"] = rows["advantages"] + rows["values"]
    return rows


def check_recorded(plain: PlainPPO, rows: Rows) -> None:
    """What was recorded of each decision is what the network said before the iteration."""
    log_probs = plain.log_probs(plain.weights, rows)[np.arange(len(rows["x"])), rows["actions"]]
    assert rows["logs"] == pytest.approx(log_probs, rel=1e-3, abs=2e-3)
    assert rows["values"] == pytest.approx(plain.values(rows)[-1][:, 0], rel=1e-3, abs=2e-3)


def iterate_both(
    trainer: PPO, plain: PlainPPO, monkeypatch: pytest.MonkeyPatch
) -> dict[str, float]:
    """One iteration of both; the plain one learns in the same order from what was played."""
    orders: list[Array] = []
    beyond: list[tuple[Array, Array]] = []
    rng, evaluate = trainer.rng, trainer.collector.evaluate
    done = trainer.decisions / trainer.settings.decisions
    paid: list[Array] = []
    step_games = trainer.games.step

    class Recorded:
        bit_generator = rng.bit_generator

        def __getattr__(self, name: str) -> Any:
            return getattr(rng, name)

        def permutation(self, count: int) -> Array:
            orders.append(rng.permutation(count))
            return orders[-1]

    def step(actions: Array) -> Any:
        now = step_games(actions)
        paid.append(now.rewards.copy())
        return now

    def answer(network: Any, step: int) -> tuple[Array, Array]:
        answered = evaluate(network, step)
        if step < 0:
            beyond.append((trainer.games.observe().seats.copy(), answered[1]))
        return answered

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "rng", Recorded())
        patch.setattr(trainer.collector, "evaluate", answer)
        patch.setattr(trainer.games, "step", step)
        metrics = trainer.iterate()
    settings = trainer.settings
    assert len(beyond) == (not trainer.collector.buffer.dones[len(paid) - 1].all())
    rows = rows_of(trainer, paid, beyond[0] if beyond else None)
    assert trainer.collector.buffer.hidden_cards.shape[-1] == plain.hidden_size
    lr = settings.learning_rate + done * (settings.learning_rate_end - settings.learning_rate)
    ent_coef = settings.ent_coef + done * (settings.ent_coef_end - settings.ent_coef)
    reference = plain.reference(rows)
    check_recorded(plain, rows)
    count = len(rows["actions"])
    updates: list[dict[str, float]] = []
    assert len(orders) == settings.n_epochs
    for order in orders:
        assert sorted(order) == list(range(count))
        for places in np.array_split(order, max(1, round(count / settings.batch_size))):
            minibatch = {name: column[places] for name, column in rows.items()}
            ref_log_probs = None if reference is None else reference[places]
            updates.append(plain.update(minibatch, lr, ent_coef, ref_log_probs))
    wanted = {name: float(np.mean([each[name] for each in updates])) for name in updates[0]}
    wanted |= {"learning_rate": lr, "ent_coef": ent_coef}
    wanted["explained_variance"] = 1 - wanted["value_loss"] / rows["returns"].var(ddof=1)
    for name, value in wanted.items():
        assert metrics[name] == pytest.approx(value, rel=2e-3, abs=2e-4), name
    return metrics


def same(found: Weights, wanted: Weights) -> None:
    assert found.keys() == wanted.keys()
    for name, each in found.items():
        assert each == pytest.approx(wanted[name], rel=1e-3, abs=2e-4), name


def iterated(
    trainer: PPO, plain: PlainPPO, monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, float]]:
    """The metrics of three iterations of both, which come to the same weights."""
    metrics = []
    for _ in range(3):
        metrics.append(iterate_both(trainer, plain, monkeypatch))
        same(weights_of(trainer.network), plain.weights)
        same(weights_of(trainer.ema_network), plain.average)
    # What is handed out is the average, which is not the network.
    same(trainer.policy_weights(), plain.average)
    apart = [
        np.abs(each - plain.weights[name]).max() for name, each in trainer.policy_weights().items()
    ]
    assert max(apart) > 0.01
    return metrics


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (PPO, {"critic": "separate"}),
        (PPO, {"critic": "shared", "kl_coef": 0.0}),
        (PPO, {"n_steps": 5}),
        (MMD, {"critic": "separate", "gamma": 1.0, "seed": 8}),
        (MMD, {"n_steps": 5, "horizon": "match", "reward_scale": UNIT, "ent_coef": 0.0}),
        (MMD, {"step_size": 2.0}),
    ],
)
def test_iteration_equals_numpy_formulas(
    kind: type[PPO], changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = MMD(mmd_settings(**changes)) if kind is MMD else PPO(settings(**changes))
    plain = (PlainMMD if kind is MMD else PlainPPO)(trainer)
    metrics = iterated(trainer, plain, monkeypatch)
    if kind is PPO:  # ratios and gradients were so large that clipping them shows
        assert max(each["clip_fraction"] for each in metrics) > 0.02
        assert max(each["grad_norm"] for each in metrics) > trainer.settings.max_grad_norm
    else:  # steps so long that a divergence's direction and higher powers of a ratio show
        assert max(each["approx_kl"] for each in metrics) > 0.02


def test_games_that_go_on_beside_ended_ones_are_bootstrapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hands of a race differ in length, so that a rollout ends within some of them."""
    race = {**TINY, "name": "short race", "race": 2}
    trainer = PPO(settings(rules=race, n_steps=6, reward_scale=UNIT))
    iterated(trainer, PlainPPO(trainer), monkeypatch)
    ended = trainer.collector.buffer.dones[-1]
    assert ended.any()
    assert not ended.all()


# -- each part by what it does


def moved(before: Weights, trainer: PPO) -> dict[bool, float]:
    """How far the furthest weight of the policy went, and of its critic."""
    found = {False: 0.0, True: 0.0}
    for name, each in weights_of(trainer.network).items():
        of_critic = name.startswith(("critic", "value"))
        found[of_critic] = max(found[of_critic], float(np.abs(each - before[name]).max()))
    return found


def test_critic_warmup_leaves_the_policy() -> None:
    trainer = PPO(settings(decisions=480, critic_warmup=0.5))
    while trainer.decisions < 480:
        first, before = trainer.decisions < 240, weights_of(trainer.network)
        trainer.iterate()
        went = moved(before, trainer)
        assert went[True] > 0
        assert (went[False] == 0) is first


def test_critic_lr_scale_sets_the_critic_step() -> None:
    """Adam's first step has the length of the rate."""
    for times in (1.0, 0.25):
        trainer = PPO(settings(n_epochs=1, batch_size=240, clip_range=0.2, critic_lr_scale=times))
        before = weights_of(trainer.network)
        trainer.iterate()
        assert moved(before, trainer) == pytest.approx({False: 0.05, True: 0.05 * times}, rel=0.02)


# -- budgets


@pytest.mark.parametrize("budget", [100, 1000])
def test_budget_is_met_within_one_decision_a_game(budget: int) -> None:
    trainer = PPO(settings(decisions=budget))
    while trainer.decisions < budget:
        trainer.iterate()
    assert budget <= trainer.decisions < budget + trainer.settings.n_envs


def test_single_decision_makes_no_update() -> None:
    trainer = PPO(settings(n_envs=1, n_steps=2, batch_size=2, decisions=3))
    assert trainer.iterate()["grad_norm"] > 0
    before = weights_of(trainer.network)
    trainer.iterate()
    same(weights_of(trainer.network), before)
    assert trainer.decisions == 3
