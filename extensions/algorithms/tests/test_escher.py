"""ESCHER: its regrets against exact ones, by a sum over the whole tree of the smallest deck."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from german_whist import load_agent, load_rules  # noqa: E402
from german_whist.agents.networks.network_inputs import network_inputs  # noqa: E402
from german_whist.agents.networks.relative_ranks import InputRows, gather_rows  # noqa: E402
from german_whist.algorithms.escher import ESCHERSettings  # noqa: E402
from german_whist.engine.batch.cpu_backend import CpuBackend  # noqa: E402
from german_whist.evaluation.exploitability.action_probabilities import strategy_of  # noqa: E402
from german_whist.solvers.game_tree import GameTree  # noqa: E402
from german_whist.training.algorithms.registry import make_trainer  # noqa: E402

DECK = "2x4-h2"
FOREPLAY = 4
"""Decisions for the stock of `DECK`, one on each of the first levels of the tree."""


@pytest.fixture(scope="module")
def trainer() -> Any:
    """Regrets of a policy that does not change: those of the untrained regret network."""
    settings = ESCHERSettings(
        rules=DECK,
        decisions=10**7,
        threads=1,
        device="cpu",
        hidden_sizes=(128, 128),
        n_envs=2048,
        learning_rate=3e-3,
        value_learning_rate=3e-3,
    )
    trainer: Any = make_trainer(settings)
    rng = np.random.default_rng(1)
    for iteration in range(50):
        trainer.iterations += 1
        for group in trainer.optimizers["value_network"].param_groups:
            group["lr"] = 3e-3 * (1 - iteration / 50)
        decisions = trainer._play(iteration, rng)
        for _ in range(50):
            trainer._train_values(rng)
        if iteration >= 30:
            trainer._add_regrets(decisions, rng)
    return trainer


def seen(trainer: Any, views: Any) -> tuple[InputRows, Any]:
    """What the networks read in these views, and the real card of each action of theirs."""
    rules = load_rules(DECK)
    given = network_inputs(views, rules, suit_order="trump-first")
    shape = len(views), given.masks.shape[1]
    rows = InputRows(
        observations=given.observations,
        masks=given.masks,
        inputs=trainer.inputs,
        relative_ranks=True,
        network_inputs=np.zeros((len(views), len(trainer.inputs)), np.int8),
        network_masks=np.zeros(shape, np.int8),
        env_actions=np.zeros(shape, np.int64),
    )
    CpuBackend().run_rows(len(views), gather_rows, rows)
    suits = np.clip(rows.env_actions // 13, 0, 3)
    cards = np.take_along_axis(given.orders.astype(np.int64), suits, 1) * 13
    return rows, cards + rows.env_actions % 13


def exact_regrets(trainer: Any) -> dict[bytes, tuple[float, Any, Any]]:
    """By what the network reads: reach of chance and of the other seat, regrets and mask."""
    tree = GameTree.of(load_rules(DECK), dealer=1)
    strategy = strategy_of(load_agent("random-exact", DECK), tree)  # perfect endings
    read = [seen(trainer, level.views) for level in tree.levels[:FOREPLAY]]
    for depth, (rows, cards) in enumerate(read):
        policy = trainer.policy(rows.network_inputs, rows.network_masks)
        index, action = np.nonzero(rows.network_masks)
        strategy[depth][:] = 0
        strategy[depth][index, cards[index, action]] = policy[index, action]
    values = [level.returns for level in tree.levels]
    reach = [np.ones((tree.deals, 2))]
    edges = []
    for depth, below in enumerate(tree.levels[1:]):
        level = tree.levels[depth]
        movers, info_states = level.players[below.parents], level.info_states[below.parents]
        edges.append(strategy[depth][info_states, below.actions])
        after = reach[-1][below.parents].copy()
        after[np.arange(len(after)), movers] *= edges[-1]
        reach.append(after)
    for depth in range(len(tree.levels) - 2, -1, -1):
        below, level = tree.levels[depth + 1], tree.levels[depth]
        expected = np.bincount(below.parents, edges[depth] * values[depth + 1], len(level.players))
        values[depth] = np.where(level.players < 0, level.returns, expected)
    found: dict[bytes, tuple[float, Any, Any]] = {}
    for depth, (rows, cards) in enumerate(read):
        below, level = tree.levels[depth + 1], tree.levels[depth]
        movers, info_states = level.players[below.parents], level.info_states[below.parents]
        others = reach[depth][below.parents, 1 - movers]
        own_value = np.where(movers == 0, 1, -1) * values[depth + 1]
        size = len(level.views)
        total = np.bincount(info_states * 52 + below.actions, others * own_value, size * 52)
        histories = np.flatnonzero(level.players >= 0)
        weight = np.bincount(
            level.info_states[histories],
            reach[depth][histories, 1 - level.players[histories]],
            size,
        )
        q_values = total.reshape(size, 52) / np.maximum(weight, 1e-12)[:, None]
        regrets = q_values - (strategy[depth] * q_values).sum(1, keepdims=True)
        for k in np.flatnonzero(weight > 0):
            mask = rows.network_masks[k] != 0
            own = np.where(mask, regrets[k][np.where(mask, cards[k], 0)], 0)
            found[rows.network_inputs[k].tobytes()] = (weight[k] / tree.deals, own, mask)
    return found


def test_regrets_equal_those_of_the_whole_tree(trainer: Any) -> None:
    exact = exact_regrets(trainer)
    rows = trainer.regrets.rows[: len(trainer.regrets)]
    keys = rows["observation"].view(f"V{rows['observation'].shape[1]}").ravel()
    names, indices, counts = np.unique(keys, return_inverse=True, return_counts=True)
    estimates, truths, weights = [], [], []
    for number, name in enumerate(names):
        if counts[number] < 50:
            continue
        _, regrets, mask = exact[name.tobytes()]
        estimates.append(rows["regret"][indices == number].mean(0)[mask])
        truths.append(regrets[mask])
        weights.append(np.full(mask.sum(), counts[number]))
    estimate, truth, weight = map(np.concatenate, (estimates, truths, weights))
    assert len(truth) > 200
    spread = np.sqrt(np.average(truth**2, weights=weight))
    error = np.sqrt(np.average((estimate - truth) ** 2, weights=weight))
    assert spread > 0.1
    # The value network has errors of its own, after so little training.
    assert error < 0.5 * spread
    assert abs(np.average(estimate - truth, weights=weight)) < 0.02


def test_updated_seat_plays_at_random_and_the_other_its_policy(trainer: Any) -> None:
    """The averages hold decisions of the other seat, and regrets those of the updated one."""
    rng = np.random.default_rng(2)
    decisions = trainer._play(99, rng)
    played = {name: np.concatenate([each[name] for each in decisions]) for name in decisions[0]}
    assert (played["mask"][np.arange(len(played["action"])), played["action"]] == 1).all()
    two = played["mask"].sum(1) == 2
    likelier = played["policy"].argmax(1) == played["action"]
    assert 0.4 < likelier[two].mean() < 0.6  # as good as its policy by chance alone
    assert len(played["seat"]) == 2048 * FOREPLAY / 2
    assert abs(played["seat"].mean() - 0.5) < 0.01
    newest = trainer.policies.rows[: trainer.policies.n_added][-2048 * 2 :]
    policy = trainer.policy(newest["observation"], newest["mask"])
    np.testing.assert_allclose(policy, newest["policy"], atol=1e-6)


def test_policy_matches_positive_regrets(trainer: Any) -> None:
    class Fixed(torch.nn.Module):
        def forward(self, observations: Any) -> Any:
            return torch.tensor([[1.0, -2.0, 3.0, 9.0], [-3.0, -1.0, -2.0, 5.0]]), None

    before, trainer.regret_network = trainer.regret_network, Fixed()
    try:
        masks = np.array([[1, 1, 1, 0], [1, 1, 1, 0]], np.int8)
        policy = trainer.policy(np.zeros((2, 3), np.int8), masks)
    finally:
        trainer.regret_network = before
    np.testing.assert_allclose(policy, [[0.25, 0, 0.75, 0], [0, 1, 0, 0]])
