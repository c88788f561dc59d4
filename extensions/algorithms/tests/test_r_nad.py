"""R-NaD: V-trace and NeuRD against plain formulas, and its dynamics on matrix games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from german_whist.algorithms.r_nad import (  # noqa: E402
    RNaDSettings,
    Trajectories,
    neurd_loss,
    regularization_alpha,
    v_trace,
)
from german_whist.training.algorithms.registry import make_trainer  # noqa: E402

ETA = 0.3
# A rock-paper-scissors whose first win counts double: its equilibrium is (1, 2, 1) / 4 for both.
BIASED = np.array([[0.0, -1.0, 2.0], [1.0, 0.0, -1.0], [-2.0, 1.0, 0.0]])
EQUILIBRIUM = np.array([0.25, 0.5, 0.25])


def trajectories(
    seats: Any, actions: Any, log_probs: Any, rewards: Any, dones: Any
) -> Trajectories:
    shape = np.shape(seats)
    empty = torch.zeros((*shape, 0))
    return Trajectories(
        observations=empty,
        hidden_cards=empty,
        action_masks=empty,
        seats=torch.tensor(seats),
        actions=torch.tensor(actions),
        log_probs=torch.tensor(log_probs),
        rewards=torch.tensor(rewards),
        dones=torch.tensor(dones),
    )


# -- V-trace


def plain_v_trace(
    steps: Trajectories,
    game: int,
    values: Any,
    next_values: Any,
    probs: Any,
    log_ratios: Any,
    vtrace_lambda: float,
) -> tuple[Any, Any]:
    """By the paper's definition, forwards: for each decision, until its seat decides again."""
    seats, actions, dones = (
        each[:, game].numpy() for each in (steps.seats, steps.actions, steps.dones)
    )
    rewards, mu = steps.rewards[:, game].numpy(), np.exp(steps.log_probs[:, game].numpy())
    n_steps = len(seats)
    targets, q_values = np.zeros(n_steps), np.zeros(probs.shape)
    for seat in range(2):
        own = [step for step in range(n_steps) if seats[step] == seat]
        for step in reversed(own):
            later, ended = step + 1, bool(dones[step])
            paid = regularized = rewards[step, seat]
            ratio = probs[step, actions[step]] / mu[step]
            regularized -= ETA * (probs[step] * log_ratios[step]).sum()
            between = 1.0
            while not ended and later < n_steps and seats[later] != seat:
                bonus = ETA * (probs[later] * log_ratios[later]).sum()
                paid += between * bonus
                regularized += rewards[later, seat] + bonus
                between *= probs[later, actions[later]] / mu[later]
                paid += between * rewards[later, seat]
                ended, later = bool(dones[later]), later + 1
            if ended:
                value = target = 0.0
            elif later == n_steps:
                value = target = next_values[seat]
            else:
                value, target = values[later], targets[later]
            rho = ratio * between
            targets[step] = values[step] + rho * (regularized + value - values[step])
            targets[step] += vtrace_lambda * min(1.0, rho) * (target - value)
            q_values[step] = values[step] - ETA * log_ratios[step]
            correction = paid + between * target - values[step]
            q_values[step, actions[step]] += correction / mu[step]
    return targets, q_values


@pytest.mark.parametrize("vtrace_lambda", [1.0, 0.4])
def test_v_trace_equals_its_definition(vtrace_lambda: float) -> None:
    rng = np.random.default_rng(3)
    n_steps, n_games, n_actions = 9, 40, 4
    shape = n_steps, n_games
    steps = trajectories(
        rng.integers(2, size=shape),
        actions := rng.integers(n_actions, size=shape),
        rng.uniform(-2, -0.3, shape),
        rng.normal(size=(*shape, 2)),
        rng.random(shape) < 0.2,
    )
    legal = rng.random((*shape, n_actions)) < 0.7
    np.put_along_axis(legal, actions[..., None], True, -1)
    probs = rng.dirichlet(np.ones(n_actions), shape) * legal
    probs /= probs.sum(-1, keepdims=True)
    log_ratios = np.where(legal, rng.normal(size=(*shape, n_actions)), 0)
    values = rng.normal(size=shape)
    next_values = rng.normal(size=(n_games, 2))
    targets, q_values = v_trace(
        steps,
        torch.tensor(values),
        torch.tensor(next_values),
        torch.tensor(probs).log(),
        torch.tensor(log_ratios),
        eta=ETA,
        vtrace_lambda=vtrace_lambda,
    )
    assert actions.shape == shape
    for game in range(n_games):
        wanted = plain_v_trace(
            steps,
            game,
            values[:, game],
            next_values[game],
            probs[:, game],
            log_ratios[:, game],
            vtrace_lambda,
        )
        np.testing.assert_allclose(targets[:, game].numpy(), wanted[0], atol=1e-9)
        np.testing.assert_allclose(q_values[:, game].numpy(), wanted[1], atol=1e-9)


# -- the dynamics, on a matrix game


def regularized_fixed_point(payoffs: Any, reg: Any) -> tuple[Any, Any]:
    """Both policies of the game with rewards - η log(π/π_reg) + η log(π'/π'_reg).

    Each is proportional to π_reg exp(values / η): found by slow steps, in which they contract.
    """
    one, other = (np.array(each) for each in reg)
    for _ in range(20_000):
        first = reg[0] * np.exp(payoffs @ other / ETA)
        second = reg[1] * np.exp(-payoffs.T @ one / ETA)
        one = 0.99 * one + 0.01 * first / first.sum()
        other = 0.99 * other + 0.01 * second / second.sum()
    return one, other


class MatrixGame:
    """R-NaD with a logit for each action of two players, who do not see each other's choice."""

    def __init__(self, payoffs: Any, seed: int = 0) -> None:
        self.payoffs, self.rng = payoffs, np.random.default_rng(seed)
        self.logits = torch.zeros((2, 3), dtype=torch.float64, requires_grad=True)
        self.values = np.zeros(2)
        self.reg = np.full((2, 3), 1 / 3)

    def policies(self) -> Any:
        return torch.softmax(self.logits, 1).detach().numpy()

    def train(self, steps: int, learning_rate: float, n_games: int = 512) -> None:
        for _ in range(steps):
            probs = self.policies()
            log_probs = torch.log_softmax(self.logits, 1)
            actions = np.array([self.rng.choice(3, n_games, p=each) for each in probs])
            paid = self.payoffs[actions[0], actions[1]]
            rewards = np.zeros((2, n_games, 2))
            rewards[1] = np.stack([paid, -paid], 1)
            drawn = np.log(probs)[np.arange(2)[:, None], actions]
            seats = np.arange(2)[:, None].repeat(n_games, 1)
            steps_of_games = trajectories(seats, actions, drawn, rewards, seats == 1)
            every = log_probs[:, None].expand(2, n_games, 3)
            ratios = every.detach() - torch.tensor(np.log(self.reg))[:, None]
            values = torch.tensor(self.values)[:, None].expand(2, n_games)
            targets, q_values = v_trace(
                steps_of_games,
                values,
                torch.zeros((n_games, 2), dtype=torch.float64),
                every.detach(),
                ratios,
                eta=ETA,
                vtrace_lambda=1.0,
            )
            self.values += 0.1 * (targets.mean(1).numpy() - self.values)
            masks = torch.ones((2, n_games, 3), dtype=torch.bool)
            logits = self.logits[:, None].expand(2, n_games, 3)
            loss = neurd_loss(logits, every, q_values, masks, beta=10.0, clip=1e4)
            (gradient,) = torch.autograd.grad(loss, self.logits)
            with torch.no_grad():
                self.logits -= learning_rate * gradient


@pytest.mark.parametrize("reg", [[[1 / 3] * 3] * 2, [[0.6, 0.2, 0.2], [0.1, 0.3, 0.6]]])
def test_dynamics_reach_the_fixed_point_of_the_regularized_game(reg: Any) -> None:
    game = MatrixGame(BIASED)
    game.reg = np.array(reg)
    for learning_rate in (0.3, 0.05):
        game.train(600, learning_rate)
    wanted = regularized_fixed_point(BIASED, game.reg)
    np.testing.assert_allclose(game.policies(), wanted, atol=0.03)
    assert np.abs(wanted[0] - EQUILIBRIUM).max() > 0.05  # another point than the equilibrium


def test_fixed_points_approach_the_equilibrium() -> None:
    game = MatrixGame(BIASED)
    for _ in range(6):
        game.train(300, 0.3)
        game.reg = game.policies()
    np.testing.assert_allclose(game.policies(), [EQUILIBRIUM] * 2, atol=0.05)


def test_neurd_stops_at_its_threshold() -> None:
    logits = torch.tensor([[3.0, 0.0, -3.0, 9.0]], requires_grad=True)
    masks = torch.tensor([[True, True, True, False]])
    log_probs = torch.log_softmax(logits.masked_fill(~masks, -1e9), 1).detach()

    def gradient(q_values: list[float]) -> Any:
        loss = neurd_loss(logits, log_probs, torch.tensor([q_values]), masks, beta=2.0, clip=100.0)
        return torch.autograd.grad(loss, logits)[0][0].numpy()

    # The first may not grow and the third not fall; the centered logits sum to zero.
    assert np.allclose(gradient([1.0, 0.0, -9.0, 0.0])[3], 0)
    beyond = gradient([1.0, 1.0, -500.0, 0.0])
    assert beyond[0] == pytest.approx(beyond[2])  # neither moves but by the mean
    back = gradient([-5.0, 1.0, 5.0, 0.0])
    assert back[0] > 0.1  # the loss lets the first fall
    assert back[2] < -0.1  # and the third grow


def test_regularization_fades_in_the_first_half() -> None:
    weights = [regularization_alpha(updates, 8) for updates in range(10)]
    assert weights == [0, 0.25, 0.5, 0.75, 1, 1, 1, 1, 0, 0.25]


# -- the trainer


def test_regularization_policies_follow_the_target_network() -> None:
    settings = RNaDSettings(
        rules="2x4-h2",
        hidden_sizes=(16,),
        n_envs=64,
        batch_size=1000,  # one step of the optimizer in an iteration
        delta_m=3,
        decisions=10**6,
        threads=1,
        device="cpu",
    )
    trainer: Any = make_trainer(settings)
    names = ("reg_network", "previous_reg_network", "target_network")

    def weights() -> list[Any]:
        return [getattr(trainer, name).policy.weight.clone() for name in names]

    before = weights()
    for iteration in range(1, 10):
        trainer.iterate()
        now = weights()
        if iteration % 3:
            assert torch.equal(now[0], before[0])
            assert torch.equal(now[1], before[1])
            assert not torch.equal(now[0], now[2])
        else:
            assert torch.equal(now[0], now[2])
            assert torch.equal(now[1], before[0])
        before = now
