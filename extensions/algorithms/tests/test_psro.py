"""PSRO: the meta-solver against a linear program, and the checkpoint against the mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

torch = pytest.importorskip("torch")

from german_whist import exploitability  # noqa: E402
from german_whist.algorithms.psro import PSROSettings, matrix_equilibrium  # noqa: E402
from german_whist.evaluation import evaluate  # noqa: E402
from german_whist.training.algorithms.registry import make_trainer  # noqa: E402
from german_whist.training.run_state import agent_from_weights  # noqa: E402


def program_value(payoffs: Any) -> float:
    """What the column player has to pay at most, by SciPy's linear program."""
    n_rows, n_columns = payoffs.shape
    found = linprog(
        [0.0] * n_columns + [1.0],
        A_ub=np.hstack([payoffs, -np.ones((n_rows, 1))]),
        b_ub=np.zeros(n_rows),
        A_eq=[[1.0] * n_columns + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * n_columns + [(None, None)],
    )
    return float(found.fun)


def test_mixture_is_computed_anew_when_a_policy_joins() -> None:
    settings = PSROSettings(
        rules="2x4-h2", n_envs=16, hidden_sizes=(4,), device="cpu", meta_solver="uniform"
    )
    trainer: Any = make_trainer(settings)
    before = trainer.policy_weights()["cells"].copy()
    assert (trainer.policy_weights()["cells"] == before).all()
    torch.nn.init.normal_(trainer.oracle.ema_network.policy.weight)
    trainer._add_member()
    assert (trainer.policy_weights()["cells"] != before).any()


def test_runs_with_neighboring_seeds_share_no_deals() -> None:
    def deals(seed: int, members: int) -> bytes:
        trainer: Any = make_trainer(
            PSROSettings(rules="2x4-h2", seed=seed, n_envs=16, hidden_sizes=(4,), device="cpu")
        )
        trainer.population = [trainer.population[0]] * members
        trainer._begin_response()
        return trainer.oracle.games.batch.games["deal"].tobytes()

    found = [deals(seed, members) for seed in (1, 2, 3) for members in (1, 2, 3)]
    assert len({*found}) == len(found)


def test_meta_solver_solves_the_linear_program() -> None:
    rng = np.random.default_rng(5)
    for trial in range(60):
        size = int(rng.integers(1, 30))
        payoffs = rng.normal(size=(size, int(rng.integers(1, 30))))
        if trial % 3 == 1:
            payoffs = payoffs.round()  # many ties
        if trial % 3 == 2:
            square = rng.normal(size=(size, size))
            payoffs = square - square.T  # symmetric, as PSRO's
        strategy = matrix_equilibrium(payoffs)
        assert (strategy >= 0).all()
        assert strategy.sum() == pytest.approx(1)
        assert (payoffs @ strategy).max() == pytest.approx(program_value(payoffs), abs=1e-7)


def test_meta_solver_knows_rock_paper_scissors() -> None:
    biased = np.array([[0, -1, 2], [1, 0, -1], [-2, 1, 0]])
    np.testing.assert_allclose(matrix_equilibrium(biased), [0.25, 0.5, 0.25], atol=1e-12)
    with_a_bad_one = np.pad(biased, (0, 1))
    with_a_bad_one[3, :3], with_a_bad_one[:3, 3] = -5, 5
    np.testing.assert_allclose(matrix_equilibrium(with_a_bad_one), [0.25, 0.5, 0.25, 0], atol=1e-12)


@pytest.fixture(scope="module")
def trainer() -> Any:
    settings = PSROSettings(
        decisions=10**7,
        threads=1,
        hidden_sizes=(32,),
        n_envs=256,
        batch_size=256,
        learning_rate=0.005,
        oracle_decisions=20_000,
        payoff_hands=4096,
    )
    trainer = make_trainer(settings)
    while len(trainer.population) < 5:  # type: ignore[attr-defined]
        trainer.iterate()
    return trainer


def test_checkpoint_is_the_mixture(trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a table, and as the list of its policies of which one is drawn before each hand."""
    monkeypatch.setattr(trainer, "meta_strategy", np.array([0.3, 0, 0.25, 0.05, 0.4]))
    agents = [trainer.agent(member) for member in trainer.population]
    mixture = exploitability(agents, "2x4-h2", weights=trainer.meta_strategy.tolist())
    settings, card = trainer.settings, trainer.network_card()
    table = agent_from_weights(settings, trainer.policy_weights(), card, "sample")
    found = exploitability(table, "2x4-h2")
    assert found.against_dealer == pytest.approx(mixture.against_dealer, abs=1e-5)
    assert found.against_leader == pytest.approx(mixture.against_leader, abs=1e-5)
    alone = [exploitability(agent, "2x4-h2").exploitability for agent in agents]
    assert found.exploitability < np.dot(trainer.meta_strategy, alone)  # drawing hides the policy


def test_payoffs_are_those_of_the_arena(trainer: Any) -> None:
    payoffs = trainer.payoffs
    np.testing.assert_array_equal(payoffs, -payoffs.T)
    for one, other in ((0, 4), (2, 3)):
        agents = [trainer.agent(trainer.population[number]) for number in (one, other)]
        points = evaluate(agents[0], agents[1], rules="2x4-h2", hands=20_000, seed=3)
        estimate = points.pairings[0].points
        half = (estimate.high - estimate.low) / 2 + 1.96 / np.sqrt(4096)
        assert payoffs[one, other] == pytest.approx(estimate.value, abs=1.5 * half)


def test_payoffs_are_of_deals_with_both_in_either_seat(trainer: Any) -> None:
    """Whoever always plays the same card of the same cards gains nothing against itself."""

    class First(torch.nn.Module):
        def forward(self, observations: Any, hidden_cards: Any = None) -> Any:
            logits = -1e3 * torch.arange(trainer.settings.options.rules.actions)
            values = None if hidden_cards is None else torch.zeros(len(observations))
            return logits.float().repeat(len(observations), 1), values

    assert trainer._play(First(), First()) == 0
    collector = trainer.oracle.collector
    collector.play_hands(First(), collector.n_steps, trainer.oracle.rng, 0)
    assert collector.mean_return(collector.n_steps) != 0  # one seat of other deals alone
    trainer._begin_response()


def test_best_response_plays_against_drawn_policies(trainer: Any) -> None:
    """The seat that does not learn plays a policy of the population, for a whole hand."""
    collector, oracle = trainer.oracle.collector, trainer.oracle
    asked: list[int] = []

    class Counting(torch.nn.Module):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        def forward(self, observations: Any) -> Any:
            asked.extend([self.number] * len(observations))
            return trainer.population[self.number](observations)

    collector.play_against([Counting(0), Counting(1)], np.array([0.25, 0.75]))
    hands, decisions = collector.collect(oracle.network, collector.n_steps, oracle.rng)
    trainer._begin_response()
    assert (hands, decisions) == (256, 256 * 4)
    own = collector.buffer.seats == collector.learner_seats
    assert own.sum() == decisions / 2 == len(asked)
    assert len(asked) * 0.6 < asked.count(1) < len(asked) * 0.9
    assert asked.count(0) % 2 == 0  # both decisions of a hand


def test_uniform_meta_strategy_is_fictitious_play() -> None:
    settings = PSROSettings(
        meta_solver="uniform",
        decisions=10**6,
        threads=1,
        hidden_sizes=(8,),
        n_envs=8,
        batch_size=32,
        oracle_decisions=32,
        payoff_hands=8,
    )
    trainer: Any = make_trainer(settings)
    for _ in range(3):
        trainer.iterate()
    np.testing.assert_allclose(trainer.meta_strategy, [0.25] * 4)
    # No payoffs are played. So a run cannot go on with those of its policies.
    assert trainer.decisions == 3 * 32
    assert "meta_solver" in PSROSettings.fixed
