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
    """By what the network reads: how often it is sampled, regrets and mask.

    The network reads the same in some views, and learns the mean of their regrets.
    """
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
    """By a seat's policy."""
    uniform = [np.ones((tree.deals, 2))]
    """By random play, as that of the updated seat."""
    edges = []
    for depth, below in enumerate(tree.levels[1:]):
        level = tree.levels[depth]
        movers, info_states = level.players[below.parents], level.info_states[below.parents]
        edges.append(strategy[depth][info_states, below.actions])
        after = reach[-1][below.parents].copy()
        after[np.arange(len(after)), movers] *= edges[-1]
        reach.append(after)
        after = uniform[-1][below.parents].copy()
        n_legal = np.bincount(below.parents, minlength=len(level.players))[below.parents]
        after[np.arange(len(after)), movers] /= n_legal
        uniform.append(after)
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
        # All histories of an information set have the same own decisions.
        own_reach = np.zeros(size)
        own_reach[level.info_states[histories]] = uniform[depth][
            histories, level.players[histories]
        ]
        sampled = weight * own_reach
        for k in np.flatnonzero(sampled > 0):
            mask = rows.network_masks[k] != 0
            own = np.where(mask, regrets[k][np.where(mask, cards[k], 0)], 0)
            name = rows.network_inputs[k].tobytes()
            before, total_regrets, _ = found.get(name, (0.0, 0.0, mask))
            found[name] = before + sampled[k], total_regrets + sampled[k] * own, mask
    return {name: (total, sums / total, mask) for name, (total, sums, mask) in found.items()}


def compared(trainer: Any, rows: Any) -> tuple[Any, Any, Any]:
    """Mean regrets of the rows, exact ones, and numbers of rows, for each legal card."""
    exact = exact_regrets(trainer)
    keys = rows["observation"].view(f"V{rows['observation'].shape[1]}").ravel()
    names, indices, counts = np.unique(keys, return_inverse=True, return_counts=True)
    found: list[tuple[Any, ...]] = []
    for number, name in enumerate(names):
        if counts[number] < 50:
            continue
        _, regrets, mask = exact[name.tobytes()]
        own = rows["regret"][indices == number][:, mask]
        found.append((own.mean(0), regrets[mask], np.full(mask.sum(), len(own))))
    estimate, truth, weight = map(np.concatenate, zip(*found, strict=True))
    assert len(truth) > 200
    return estimate, truth, weight


def test_regrets_are_near_those_of_the_whole_tree(trainer: Any) -> None:
    estimate, truth, weight = compared(trainer, trainer.regrets.rows[: len(trainer.regrets)])
    spread = np.sqrt(np.average(truth**2, weights=weight))
    error = np.sqrt(np.average((estimate - truth) ** 2, weights=weight))
    assert spread > 0.1
    # The value network has errors of its own, after so little training.
    assert error < 0.5 * spread
    assert abs(np.average(estimate - truth, weights=weight)) < 0.02


def test_regrets_by_exact_values_equal_those_of_the_whole_tree(trainer: Any) -> None:
    """With a table of the same targets in place of the value network, but for the sampling."""
    rng, transitions, added = np.random.default_rng(3), list[Any](), list[Any]()
    patch = pytest.MonkeyPatch()
    patch.setattr(trainer.values, "add", transitions.append)
    patch.setattr(trainer.regrets, "add", lambda records, _: added.append(records))
    decisions = [each for seed in range(1000, 1150) for each in trainer._play(seed, rng)]
    table = Table(np.concatenate(transitions))
    patch.setattr(trainer, "_q_values", table.q_values)
    trainer._add_regrets(decisions, rng)
    patch.undo()
    rows = np.concatenate(added)
    known = np.concatenate([table.knows(each) for each in decisions])
    assert known.mean() > 0.95
    estimate, truth, weight = compared(trainer, rows[known])
    spread = np.sqrt(np.average(truth**2, weights=weight))
    error = np.sqrt(np.average((estimate - truth) ** 2, weights=weight))
    assert error < 0.1 * spread
    assert abs(np.average(estimate - truth, weights=weight)) < 0.002


class Table:
    """Values of histories by repeated targets of expected SARSA, from all sampled transitions."""

    def __init__(self, rows: Any) -> None:
        names = self._names(rows["observation"], rows["hidden"])
        self.names, indices = np.unique(names, return_inverse=True)
        self.q = np.zeros((len(self.names), rows["next_policy"].shape[1]))
        self.taken = np.zeros(self.q.shape, np.bool_)
        self.taken[indices, rows["action"]] = True
        followed = rows["sign"] != 0
        after = self._names(rows["next_observation"], rows["next_hidden"])[followed]
        nexts = np.searchsorted(self.names, after)
        assert (self.names[nexts] == after).all()
        # The deals end after so many decisions, and the values of the last come first.
        for _ in range(FOREPLAY):
            target = rows["reward"].astype(np.float64)
            value = (rows["next_policy"][followed] * self.q[nexts]).sum(1)
            target[followed] += rows["sign"][followed] * value
            self.q[indices, rows["action"]] = target
        # The network sees all that the rest of the hand depends on.
        assert np.allclose(self.q[indices, rows["action"]], target)

    @staticmethod
    def _names(observations: Any, hidden: Any) -> Any:
        history = np.ascontiguousarray(np.concatenate([observations, hidden], axis=1))
        return history.view(f"S{history.shape[1]}").ravel()

    def _places(self, observations: Any, hidden: Any) -> tuple[Any, Any]:
        names = self._names(observations, hidden)
        places = np.minimum(np.searchsorted(self.names, names), len(self.names) - 1)
        return places, self.names[places] == names

    def q_values(self, observations: Any, hidden: Any) -> Any:
        places, _ = self._places(observations, hidden)
        return torch.from_numpy(self.q[places])

    def knows(self, decision: dict[str, Any]) -> Any:
        """Whether each legal card was played there."""
        places, found = self._places(decision["observation"], decision["hidden"])
        return found & (self.taken[places] >= (decision["mask"] != 0)).all(1)


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
