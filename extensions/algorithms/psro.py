"""Policy-space response oracles (PSRO), with PPO as the oracle.

Lanctot, Zambaldi, Gruslys and others 2017, "A unified game-theoretic approach to multiagent
reinforcement learning", arXiv:1711.00832. A population of policies grows: the meta-strategy is an
equilibrium of the matrix game in which each player picks a policy of the population for a whole
hand, and the next policy is a best response to it, trained by PPO of this package. The deal
alternates, so the game is symmetric, and one population serves both seats. Its first policy is an
untrained network.

The checkpoint is the mixture of the population by the meta-strategy, of which one policy is drawn
before each hand. It is exact: a table whose cells hold how often the mixture comes to a decision
by its own play and plays a card there, summed over the population. Read it from top to bottom,
beginning at `PSRO.iterate`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
import torch

from german_whist.agents.checkpoints.schema import Count, NetworkCard
from german_whist.common.schema import convert
from german_whist.common.settings import (
    NonNegative,
    Positive,
    PositiveInt,
    SettingsError,
    doc,
)
from german_whist.common.typing import Array, JsonObject
from german_whist.engine.batch.results import StepResult
from german_whist.solvers.policy_queries import PolicyQueries
from german_whist.solvers.view_cells import path_tables
from german_whist.training.algorithms.base import Arrays, Trainer, TrainerState, torch_device
from german_whist.training.algorithms.mccfr import SMALL_ENOUGH, tree_of_table, why_no_table
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.self_play_collector import SelfPlayCollector
from german_whist.training.algorithms.settings import (
    BatchSize,
    CriticSees,
    GAELambda,
    HiddenSizes,
    MaxGradNorm,
    NEpochs,
    PPOSettings,
    RanksSeen,
)
from german_whist.training.given import Given
from german_whist.training.rollout.kernels import ActionSampling, sample_actions
from german_whist.training.rollout.networks import weights_of
from german_whist.training.rollout.tensor_state import module_arrays, restore_module, with_prefix
from german_whist.training.run_state import agent_from_weights
from german_whist.training.settings import Settings

_ORACLE = (
    *("rules", "reward", "horizon", "suit_order", "seed", "precision", "threads"),
    *("hidden_sizes", "card_ranks", "critic", "reward_scale", "n_envs", "n_epochs", "batch_size"),
    *("learning_rate", "learning_rate_end", "gae_lambda", "clip_range", "max_grad_norm"),
    *("ent_coef", "ent_coef_end", "ema_decay"),
)
"""Settings that PPO gets as they are."""
_NO_WEIGHT = 1e-9


class PSROSettings(Settings, frozen=True, kw_only=True):
    """Policy-space response oracles: a population that grows by best responses of PPO."""

    fixed: ClassVar[tuple[str, ...]] = (
        *(name for name in Settings.fixed if name != "n_steps"),
        # Without payoffs of all policies, as `uniform` has them, none can be solved.
        *("card_ranks", "critic", "reward_scale", "meta_solver"),
    )

    trainer: str = "psro"
    rules: Annotated[Any, doc("Rule set with a small deck: name, YAML file, run or mapping.")] = (
        "2x4-h2"
    )
    # Population.
    oracle_decisions: Annotated[
        PositiveInt,
        doc("Number of decisions, of both seats together, in the training of a best response."),
    ] = 200_000
    payoff_hands: Annotated[
        PositiveInt,
        doc(
            "Number of hands that two policies play to estimate an entry of the payoff "
            "matrix. They play each deal twice, with the seats exchanged. The number is "
            "rounded up to whole batches of games."
        ),
    ] = 4096
    meta_solver: Annotated[
        Literal["nash", "uniform"],
        doc(
            "How the policies of the population are weighted. `nash` weights them by an "
            "equilibrium of the payoff matrix. `uniform` gives all policies the same "
            "weight, as in fictitious play, and needs no payoffs."
        ),
    ] = "nash"
    # The oracle.
    hidden_sizes: HiddenSizes = (
        128,
        128,
    )
    card_ranks: RanksSeen = "relative"
    critic: CriticSees = "separate"
    reward_scale: Annotated[
        float,
        doc(
            "Rewards are divided by this number before learning, so `ent_coef` "
            "applies to the divided rewards. 0: use 0.4 times the largest "
            "possible reward of an episode, and at least 1.",
            ge=0,
            le=1e6,
        ),
    ] = 0.0
    n_envs: Annotated[int, doc("Number of games played side by side.", ge=2, le=10**12 - 1)] = 1024
    n_epochs: NEpochs = 4
    batch_size: BatchSize = 256
    learning_rate: Annotated[
        NonNegative, doc("Learning rate of Adam at the start of each best response.")
    ] = 3e-3
    learning_rate_end: Annotated[
        NonNegative,
        doc(
            "Learning rate at the end of each best response. The rate changes "
            "linearly from `learning_rate`."
        ),
    ] = 0.0
    gae_lambda: GAELambda = 0.6
    clip_range: Annotated[Positive, doc("Clipping range ε of the probability ratio in PPO.")] = 0.2
    max_grad_norm: MaxGradNorm = 0.5
    ent_coef: Annotated[
        NonNegative, doc("Weight of the entropy bonus at the start of each best response.")
    ] = 0.01
    ent_coef_end: Annotated[
        NonNegative,
        doc(
            "Weight of the entropy bonus at the end of each best response. The "
            "weight changes linearly from `ent_coef`."
        ),
    ] = 0.0
    ema_decay: Annotated[
        float,
        doc(
            "Decay of the exponential moving average (EMA) of the weights at "
            "each gradient step. The policy with the averaged weights joins the population. "
            "0: no average.",
            ge=0,
            lt=1,
        ),
    ] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        rules = self.options.rules
        why = why_no_table(rules)
        if why is None and rules.trumps != "upcard":
            why = "have no trumps that would tell the suits apart"
        if why is not None:
            raise SettingsError(
                f"rules: psro keeps its mixture as a table, and the rules {rules.name} {why}: "
                f"{SMALL_ENOUGH}"
            )
        for name, needed in (("horizon", "foreplay"), ("suit_order", "trump-first"), ("init", "")):
            if (given := getattr(self, name)) != needed:
                raise SettingsError(
                    f"{name} is {given!r}: psro keeps its mixture as a table of decisions for the "
                    "stock, by the order of trumps first, and begins with nothing; leave it out"
                )
        if self.device == "cuda":
            raise SettingsError("device is 'cuda': psro plays its games on the CPU; leave it out")
        _ = self.response

    @cached_property
    def response(self) -> PPOSettings:
        """Settings of the training of a best response."""
        values = {name: getattr(self, name) for name in _ORACLE}
        return PPOSettings(**values, device="cpu", decisions=self.oracle_decisions)

    @property
    def given(self) -> Given:
        return self.response.given

    @property
    def notes(self) -> tuple[str, ...]:
        if self.oracle_decisions <= self.decisions:
            return ()
        return (
            f"oracle_decisions is {self.oracle_decisions:,}, and decisions is {self.decisions:,}: "
            "no best response is complete at the end, and all checkpoints hold an untrained policy",
        )


class ResponseCollector(SelfPlayCollector):
    """Hands of the learner in one seat against a policy of the population in the other."""

    population: Sequence[Any] = ()
    meta_strategy: Array = np.zeros(0)

    def play_against(self, population: Sequence[Any], meta_strategy: Array) -> None:
        self.population, self.meta_strategy = population, meta_strategy

    @torch.no_grad()
    def collect(self, network: Any, n_steps: int, rng: np.random.Generator) -> tuple[int, int]:
        """Fill the buffer with a whole hand of each game, and estimate advantages."""
        result = self.play_hands(network, n_steps, rng, int(rng.integers(2)))
        self._estimate_advantages(network, n_steps, result)
        return self.n_envs, n_steps * self.n_envs

    @torch.no_grad()
    def play_hands(
        self, network: Any, n_steps: int, rng: np.random.Generator, first_seat: int
    ) -> StepResult:
        """Play a hand in each game, the learner in alternate seats from the first game on."""
        buffer, backend, n_envs = self.buffer, self.backend, self.n_envs
        self.learner_seats = (np.arange(n_envs) + first_seat) % 2
        # Drawn once for each hand.
        drawn = rng.choice(len(self.population), n_envs, p=self.meta_strategy)
        result = self.games.observe()
        for step in range(n_steps):
            self.add_observations(step, result)
            logits, buffer.values[step] = self.evaluate(network, step)
            opponents = np.flatnonzero(buffer.seats[step] != self.learner_seats)
            observations = torch.from_numpy(buffer.observations[step])
            for number in np.unique(drawn[opponents]).tolist():
                rows = opponents[drawn[opponents] == number]
                with backend.autocast():
                    inputs = backend.cast(observations[torch.from_numpy(rows)])
                    answer, _ = self.population[number](*inputs)
                logits[rows] = answer.numpy()
            sampling = ActionSampling(
                logits,
                buffer.action_masks[step],
                backend.uniforms(rng, n_envs),
                buffer.actions[step],
                buffer.log_probs[step],
            )
            backend.batch_backend.run_rows(n_envs, sample_actions, sampling)
            result = self.games.step(buffer.env_actions[buffer.env_indices, buffer.actions[step]])
            buffer.rewards[step], buffer.dones[step] = result.rewards, result.ended
        assert buffer.dones[n_steps - 1].all(), "a hand is longer than others"
        return result

    def mean_return(self, n_steps: int) -> float:
        """The learner's mean return in the last hands, divided by the scale of rewards."""
        returns = self.buffer.rewards[:n_steps].sum(axis=0)
        return float(returns[np.arange(self.n_envs), self.learner_seats].mean())


class ResponseOracle(PPO):
    """PPO that plays one seat of each hand, and learns from its own decisions alone."""

    def __init__(self, settings: PPOSettings) -> None:
        super().__init__(settings)
        self.collector = ResponseCollector(settings, settings.n_envs, self.backend)
        self.games = self.collector.games
        self.reset_games(settings.seed)

    def iterate(self) -> dict[str, float]:
        before, n_steps = self.decisions, self.collector.n_steps
        hands, decisions = self.collector.collect(self.network, n_steps, self.rng)
        own = self.collector.buffer.seats[:n_steps] == self.collector.learner_seats
        samples = self.collector.buffer.samples(n_steps)
        samples = samples.minibatch(torch.from_numpy(np.flatnonzero(own)))
        metrics = self.update(samples, before / self.settings.decisions)
        self.hands += hands
        self.decisions += decisions
        self._check_finite(metrics)
        return {**metrics, "return": self.collector.mean_return(n_steps)}


class PSROState(TrainerState):
    """Plain values of a saved state."""

    members: Count
    oracle: JsonObject


class PSRO(Trainer):
    """The population, its payoff matrix and meta-strategy, and the training of its next policy."""

    settings_kind = PSROSettings
    settings: PSROSettings

    def __init__(self, settings: PSROSettings) -> None:
        super().__init__(settings)
        self.tree = tree_of_table(settings.options.rules, "psro")
        self.oracle = ResponseOracle(settings.response)
        self.population: list[Any] = [_frozen(self.oracle.ema_network)]
        self.payoffs: Array = np.zeros((1, 1))
        """Mean return of each policy of the population against each, both seats alike; of the
        first alone if nothing is solved."""
        self.meta_strategy: Array = np.ones(1)
        self._cells: Array | None = None
        """The mixture as a table, if it was asked for since a policy joined."""
        self._begin_response()

    @classmethod
    def from_settings(cls, settings: PSROSettings) -> PSRO:
        torch_device(settings)
        return cls(settings)

    # -- one iteration

    def iterate(self) -> dict[str, float]:
        """Train the oracle for an iteration; a policy that is complete joins the population."""
        hands, decisions = self.oracle.hands, self.oracle.decisions
        metrics = self.oracle.iterate()
        self.hands += self.oracle.hands - hands
        self.decisions += self.oracle.decisions - decisions
        if self.oracle.decisions >= self.settings.oracle_decisions:
            self._add_member()
        return {**metrics, "population": float(len(self.population))}

    def _add_member(self) -> None:
        """Add the best response to the population, and solve the larger matrix game."""
        member = _frozen(self.oracle.ema_network)
        n_members = len(self.population) + 1
        if self.settings.meta_solver == "nash":
            row = [self._play(member, other) for other in self.population]
            payoffs = np.zeros((n_members, n_members))
            payoffs[:-1, :-1] = self.payoffs
            payoffs[-1, :-1], payoffs[:-1, -1] = row, np.negative(row)
            self.payoffs, self.meta_strategy = payoffs, matrix_equilibrium(payoffs)
        else:
            self.meta_strategy = np.full(n_members, 1 / n_members)
        self.population.append(member)
        self._cells = None
        # The next best response begins as this one.
        self.oracle = ResponseOracle(self.settings.response)
        self.oracle.load_weights(weights_of(member))
        self._begin_response()

    def _begin_response(self) -> None:
        # So that runs with neighboring seeds share no deals.
        seeds = np.random.SeedSequence([self.settings.seed, len(self.population)])
        self.oracle.reset_games(int(seeds.generate_state(1)[0]))
        self.oracle.collector.play_against(self.population, self.meta_strategy)

    def _play(self, network: Any, opponent: Any) -> float:
        """Mean return of a network against another one, each deal with both in either seat."""
        collector, rng, returns = self.oracle.collector, self.oracle.rng, list[float]()
        n_steps, n_envs = collector.n_steps, collector.n_envs
        collector.play_against([opponent], np.ones(1))
        for _ in range(-(-self.settings.payoff_hands // (2 * n_envs))):
            deals = int(rng.integers(2**32))
            for first_seat in range(2):
                self.oracle.games.reset(deals)
                collector.play_hands(network, n_steps, rng, first_seat)
                self.hands += n_envs
                self.decisions += n_steps * n_envs
                returns.append(collector.mean_return(n_steps))
        return float(np.mean(returns))

    # -- checkpoints

    def policy_weights(self) -> Arrays:
        """The mixture as a table."""
        if self._cells is None:
            cells = np.zeros(self.tree.size, np.float32)
            for member, weight in zip(self.population, self.meta_strategy, strict=True):
                if weight > _NO_WEIGHT:
                    cells += np.float32(weight) * self._strategy(member)
            self._cells = cells
        return {"cells": self._cells}

    def _strategy(self, member: Any) -> Array:
        """Of each cell, how often a policy comes there by its own play and plays the card."""
        agent = self.agent(member)
        cells = np.zeros(self.tree.size, np.float32)
        rules = self.settings.options.rules
        queries = PolicyQueries(rules, path_tables(self.tree), agent.probabilities, orders=False)
        # Suits have no names but trumps: the first stands for all.
        queries.strategy(0, cells, lambda: None)
        return cells

    def agent(self, member: Any) -> Any:
        """A policy of the population as an agent."""
        card = self.oracle.network_card()
        return agent_from_weights(self.oracle.settings, weights_of(member), card, "sample")

    def network_card(self) -> NetworkCard:
        return NetworkCard(kind="table", inputs=(), hidden_sizes=(), cells=self.tree.size)

    # -- state

    def state(self) -> tuple[Arrays, JsonObject]:
        arrays, oracle = self.oracle.state()
        arrays = {f"oracle.{name}": array for name, array in arrays.items()}
        for number, member in enumerate(self.population):
            arrays |= module_arrays(f"member.{number}.", member.state_dict())
        arrays |= {"payoffs": self.payoffs, "meta_strategy": self.meta_strategy}
        plain = PSROState(self.decisions, self.hands, len(self.population), oracle)
        return arrays, msgspec.to_builtins(plain)

    def restore(self, arrays: Arrays, plain: JsonObject) -> None:
        state = convert(plain, PSROState, "trainer")
        self.decisions, self.hands = state.decisions, state.hands
        self.population = [copy.deepcopy(self.population[0]) for _ in range(state.members)]
        for number, member in enumerate(self.population):
            restore_module(member, arrays, f"member.{number}.")
        self.payoffs, self.meta_strategy = arrays["payoffs"], arrays["meta_strategy"]
        self._cells = None
        self.oracle.collector.play_against(self.population, self.meta_strategy)
        self.oracle.restore(with_prefix(arrays, "oracle."), state.oracle)


def _frozen(network: Any) -> Any:
    return copy.deepcopy(network).requires_grad_(False)


def matrix_equilibrium(payoffs: Array) -> Array:
    """An equilibrium strategy of the column player, who pays, in a zero-sum matrix game.

    It is also one of the row player if the game is symmetric. By the simplex method (Dantzig 1951)
    on the linear program of the game: with all payoffs above 0, the strategy is the solution of
    "most of sum(y), where payoffs @ y <= 1 and y >= 0", divided by its sum.
    """
    n_rows, n_columns = payoffs.shape
    tableau = np.zeros((n_rows + 1, n_columns + n_rows + 1))
    tableau[:-1, :n_columns] = payoffs - payoffs.min() + 1
    tableau[:-1, n_columns:-1] = np.eye(n_rows)
    tableau[:-1, -1] = 1
    tableau[-1, :n_columns] = -1
    basis = np.arange(n_columns, n_columns + n_rows)
    while (candidates := np.flatnonzero(tableau[-1, :-1] < -1e-10)).size:
        # Bland's rule: the first candidate enters, and of ties the first leaves, so it ends.
        column = candidates[0]
        usable = tableau[:-1, column] > 1e-10
        ratios = np.full(n_rows, np.inf)
        ratios[usable] = tableau[:-1, -1][usable] / tableau[:-1, column][usable]
        ties = np.flatnonzero(ratios <= ratios.min() + 1e-12)
        leaving = ties[basis[ties].argmin()]
        tableau[leaving] /= tableau[leaving, column]
        others = np.arange(n_rows + 1) != leaving
        tableau[others] -= np.outer(tableau[others, column], tableau[leaving])
        basis[leaving] = column
    solution = np.zeros(n_columns + n_rows)
    solution[basis] = tableau[:-1, -1]
    strategy = np.maximum(solution[:n_columns], 0)
    return strategy / strategy.sum()
