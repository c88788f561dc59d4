"""Agents that play other actions than their probabilities say are refused, honest ones are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from math import log, prod
from typing import Any

import numpy as np
import pytest

from german_whist.agents.base import Agent, Array
from german_whist.agents.registry import load_agent
from german_whist.engine.dtypes import FOLLOW, LEAD, VIEW
from german_whist.engine.rules import load_rules
from german_whist.engine.view import action_masks, first_hand
from german_whist.evaluation.exploitability import probability_check
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.evaluation.exploitability.probability_check import (
    FALSE_ALARM,
    check_probabilities,
)

DECK = "2x5-h3"
BASES = ("nash", "random-exact")
"""A policy with many cards that it never plays, and one without."""
SMALL: dict[str, Any] = {"name": "small", "suits": 2, "ranks": 3, "hand": 2, "stock": 2}
"""Rules that are evaluated deal by deal, where endings are not perfect."""

Where = Callable[[Array, Array], Array]
"""From views and random streams to the decisions in which an agent lies."""


def first_lead(views: Array, _: Array) -> Array:
    return (views["trick"] == 0) & (views["phase"] == LEAD)


def first_reply(views: Array, _: Array) -> Array:
    return (views["trick"] == 0) & (views["phase"] == FOLLOW)


def second_trick(views: Array, _: Array) -> Array:
    return views["trick"] == 1


def one_seat(views: Array, _: Array) -> Array:
    return views["seat"] == 0


def hashes(words: Array) -> Array:
    """Numbers from 0 to 1, as if drawn: the same for the same row of words."""
    factors = np.random.default_rng(1).integers(0, 1 << 63, words.shape[1], np.uint64) | 1
    keys = (words * factors).sum(axis=1, dtype=np.uint64)
    for factor in (0x94D049BB133111EB, 0xBF58476D1CE4E5B9):
        keys = (keys ^ (keys >> np.uint64(31))) * np.uint64(factor)
    return (keys >> np.uint64(11)) * 2.0**-53


def quarter_of_information_sets(views: Array, _: Array) -> Array:
    words = np.ascontiguousarray(views).view(np.uint64).reshape(len(views), VIEW.itemsize // 8)
    return hashes(words) < 0.25


@lru_cache(maxsize=1)
def first_hands(views: bytes) -> Array:
    """Kept for the next draw, which is in the same decisions."""
    return np.array([first_hand(view) for view in np.frombuffer(views, VIEW)], np.uint64)


def part_of_hands(views: Array, fraction: float) -> Array:
    return hashes(first_hands(views.tobytes())[:, None]) < fraction


def quarter_of_hands(views: Array, _: Array) -> Array:
    return part_of_hands(views, 0.25)


def tenth_of_hands(views: Array, _: Array) -> Array:
    return part_of_hands(views, 0.1)


def tenth_of_first_leads(views: Array, rng: Array) -> Array:
    return first_lead(views, rng) & (hashes(rng[:, None] ^ np.uint64(1)) < 0.1)


LIARS = [
    first_lead,
    first_reply,
    second_trick,
    one_seat,
    quarter_of_information_sets,
    quarter_of_hands,
    tenth_of_hands,
    tenth_of_first_leads,
]


class Lying(Agent):
    """States the probabilities of another agent, and in some decisions plays its least likely card.

    In all others it draws with these probabilities. Endings it plays as the other agent does.
    """

    name = "lying"
    reads_draws = False

    def __init__(self, rules: Any, base: str, where: Where) -> None:
        super().__init__(rules)
        self.base, self.where = load_agent(base, rules), where
        # Many draws in turn are in the same decisions.
        self._stated = lru_cache(maxsize=1)(self._stated_in)

    @property
    def perfect_endgame(self) -> bool:
        return self.base.perfect_endgame

    def _stated_in(self, views: bytes) -> tuple[Array, Array]:
        """Sums of the probabilities up to each action, and the least likely actions."""
        array = np.frombuffer(views, VIEW).copy()
        legal = action_masks(self.rules_array, array, self.rules.actions)
        probs = self.probabilities(array)
        return np.cumsum(probs, axis=1), np.where(legal, probs, 2).argmin(axis=1)

    def act(self, views: Array, rng: Array) -> Array:
        sums, least_likely = self._stated(views.tobytes())
        actions = (sums <= (hashes(rng[:, None]) * sums[:, -1])[:, None]).sum(axis=1)
        stock = views["stock_left"] > 0
        if not stock.all():
            actions = np.where(stock, actions, self.base.act(views, rng))
        return np.where(self.where(views, rng) & stock, least_likely, actions)

    def probabilities(self, views: Array) -> Array:
        return self.base.probabilities(views)


def is_refused(agent: Agent) -> bool:
    try:
        check_probabilities(agent, agent.rules, endings=False)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("where", LIARS)
@pytest.mark.parametrize("base", BASES)
def test_liars_are_refused(base: str, where: Where) -> None:
    assert is_refused(Lying(DECK, base, where))


@pytest.mark.thorough
@pytest.mark.parametrize("where", LIARS)
@pytest.mark.parametrize("base", BASES)
def test_liars_are_refused_in_99_of_100_runs(
    base: str, where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An eighth of the draws is enough for all of them but one, which lies least."""
    if where is not tenth_of_first_leads:
        monkeypatch.setattr(probability_check, "HANDS", probability_check.HANDS // 4)
        monkeypatch.setattr(probability_check, "DRAWS", probability_check.DRAWS // 2)
    agent = Lying(DECK, base, where)
    assert sum(is_refused(agent) for _ in range(100)) >= 99


@pytest.mark.parametrize("rules", [DECK, SMALL, "2x4-h2"])
def test_honest_agents_are_accepted(rules: Any) -> None:
    loaded = load_rules(rules)
    for base in ("random-exact", *(["nash"] if isinstance(rules, str) else [])):
        for endings in (False, True):
            check_probabilities(load_agent(base, loaded), loaded, endings=endings)


def test_exploitability_refuses_liars_on_both_trees() -> None:
    for rules in ("2x4-h2", SMALL):
        with pytest.raises(ValueError, match=r"^lying (states|plays)"):
            measure_exploitability(Lying(load_rules(rules), "random-exact", first_lead), rules)


class Stating(Agent):
    """Draws uniformly from its legal actions, or with `weight` plays the lowest of them."""

    name = "stating"

    def __init__(self, weight: float, *, states_lowest: bool = False) -> None:
        super().__init__(SMALL)
        self.weight, self.states_lowest = weight, states_lowest

    def act(self, views: Array, rng: Array) -> Array:
        legal = action_masks(self.rules_array, views, self.rules.actions)
        uniform = (legal * np.random.default_rng(rng).random(legal.shape)).argmax(axis=1)
        lowest = np.random.default_rng(~rng).random(len(views)) < self.weight
        return np.where(lowest, legal.argmax(axis=1), uniform)

    def probabilities(self, views: Array) -> Array:
        legal = action_masks(self.rules_array, views, self.rules.actions)
        if self.states_lowest:
            return np.eye(self.rules.actions)[legal.argmax(axis=1)]
        return legal / legal.sum(axis=1, keepdims=True)


def test_small_differences_everywhere_are_found() -> None:
    with pytest.raises(ValueError, match=r"^stating states prob.* in 1,000,000,000 times; let `pr"):
        check_probabilities(Stating(0.2), load_rules(SMALL), endings=True)
    with pytest.raises(ValueError, match=r"^stating plays action .* 0, in .* decisions; let `prob"):
        check_probabilities(Stating(0.99, states_lowest=True), load_rules(SMALL), endings=True)


class InEndings(Stating):
    """Plays as it says for the stock, and the lowest card after it."""

    probabilities = Stating.probabilities

    def act(self, views: Array, rng: Array) -> Array:
        legal = action_masks(self.rules_array, views, self.rules.actions)
        return np.where(views["stock_left"] == 0, legal.argmax(axis=1), super().act(views, rng))


def test_endings_count_where_they_are_asked_for() -> None:
    agent, rules = InEndings(0.0), load_rules(SMALL)
    check_probabilities(agent, rules, endings=False)
    with pytest.raises(ValueError, match=r"^stating states"):
        check_probabilities(agent, rules, endings=True)


class Scripted(Agent):
    """Plays a fixed sequence of actions, one a call."""

    def __init__(self, probs: list[float], sequence: tuple[int, ...]) -> None:
        super().__init__(SMALL)
        self.probs, self.sequence = probs, iter(sequence)

    def legal(self, views: Array) -> Array:
        (legal,) = action_masks(self.rules_array, views, self.rules.actions)
        return np.flatnonzero(legal)

    def act(self, views: Array, rng: Array) -> Array:
        return self.legal(views)[[next(self.sequence)]]

    def probabilities(self, views: Array) -> Array:
        probs = np.zeros((1, self.rules.actions))
        probs[0, self.legal(views)] = self.probs
        return probs


def first_decision() -> Array:
    agent = Stating(0.0)
    views = next(iter(probability_check._decisions(agent, agent.rules, False)))
    return views[:1]


@pytest.mark.parametrize("probs", [[0.5, 0.5], [0.02, 0.98]])
def test_bets_against_true_probabilities_are_fair(
    probs: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of the final capital over all sequences of actions is the initial one."""
    monkeypatch.setattr(probability_check, "DRAWS", 5)
    view, mean_stake, mean_capital = first_decision(), 0.0, 0.0
    for sequence in product(range(2), repeat=5):
        gains = probability_check._log_gains(Scripted(probs, sequence), view)
        likelihood = prod(probs[action] for action in sequence)
        mean_stake += likelihood * np.exp(gains[0])
        mean_capital += likelihood * np.exp(probability_check._log_capital(gains))
    assert mean_stake == pytest.approx(1) == mean_capital


def test_capitals_of_decisions_multiply() -> None:
    gains = np.array([3.0, -1.0, 0.5])
    wanted = np.mean(
        [prod(1 - stake + stake * np.exp(gains)) for stake in probability_check._STAKES]
    )
    assert probability_check._log_capital(gains) == pytest.approx(log(wanted))


def test_false_alarms_are_rarer_than_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a rate that can be counted: of 100 truthful runs at most 10 in the mean are refused."""
    assert FALSE_ALARM == 1e-9
    monkeypatch.setattr(probability_check, "FALSE_ALARM", 0.1)
    monkeypatch.setattr(probability_check, "HANDS", 16)
    monkeypatch.setattr(probability_check, "DRAWS", 32)
    agent = Stating(0.0)
    alarms = 0
    for _ in range(100):
        try:
            check_probabilities(agent, agent.rules, endings=True)
        except ValueError:
            alarms += 1
    assert alarms <= 10 + 3 * 10**0.5


def test_every_depth_and_both_seats_are_sampled() -> None:
    agent = Stating(0.0)
    sampled = list(probability_check._decisions(agent, agent.rules, True))
    assert len(sampled) == agent.rules.max_decisions
    first, second = sampled[:2]
    for views, phase in ((first, LEAD), (second, FOLLOW)):
        assert (views["phase"] == phase).all()
        assert set(views["seat"].tolist()) == {0, 1}
    assert len(first) == pytest.approx(0.75 * probability_check.HANDS, abs=1)
    assert not len(sampled[-1])  # the last card of a hand is no choice


def test_opponents_at_random_lead_where_the_agent_never_does() -> None:
    """It plays its lowest card, and answers other leads with what it states it would not."""

    class AgainstHighLeads(Stating):
        probabilities = Stating.probabilities

        def act(self, views: Array, rng: Array) -> Array:
            legal = action_masks(self.rules_array, views, self.rules.actions)
            highest = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
            lies = (views["phase"] == FOLLOW) & (views["led"] % 13 == 12)
            return np.where(lies, highest, legal.argmax(axis=1))

    with pytest.raises(ValueError, match=r"^stating plays action"):
        check_probabilities(
            AgainstHighLeads(0.0, states_lowest=True), load_rules(SMALL), endings=False
        )
