"""Exploitability compares what agents claim with what they play."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deceivers import Honest, Ordering, Pretending, Worst

from german_whist.agents.base import Agent, Array
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.engine.view import action_masks
from german_whist.evaluation.exploitability import claims
from german_whist.evaluation.exploitability.claims import ProbabilityCheck
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.solvers.game_tree import GameTree

DECK = "2x4-h2"
SMALL: dict[str, Any] = {"name": "small", "suits": 2, "ranks": 3, "hand": 2, "stock": 2}
"""Rules of so few deals that the full tree is walked at once."""


def test_probabilities_of_another_agent_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^pretending plays action \d+ where it states the prob"):
        measure_exploitability(Pretending(DECK), DECK)
    with pytest.raises(ValueError, match=r"^stating plays action .* 0, in .* sampled views; let "):
        measure_exploitability(Stating(0.5, SMALL, states_lowest=True), SMALL)


def test_false_claim_of_perfect_endings_plays_them_out() -> None:
    result, honest = (measure_exploitability(kind(SMALL), SMALL) for kind in (Worst, Honest))
    assert result.exploitability == honest.exploitability
    assert "worst says that it plays endings perfectly, and does not: it gave" in result.note
    assert not honest.note
    with pytest.raises(ValueError, match=r"worst says that it .* Here they cannot be: the rules"):
        measure_exploitability(Worst("2x5-h3"), "2x5-h3")


def test_order_of_draws_that_is_read_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^ordering says that it does not .* set reads_draws = T"):
        measure_exploitability(Ordering("2x5-h2"), "2x5-h2")


def test_command_tells_refuted_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = tmp_path / "small.yaml"
    small.write_text(json.dumps(SMALL), encoding="utf-8")
    assert main(["exploitability", "deceivers:Pretending", "--rules", DECK]) == 2
    assert "where it states the probability 0, in" in capsys.readouterr().err
    assert main(["exploitability", "deceivers:Worst", "--rules", str(small)]) == 0
    told = capsys.readouterr().out
    assert "exploitability (NashConv / 2)            +0.16667 a hand" in told
    assert "Note: deceivers:Worst says that it plays endings perfectly, and does not" in told


class Stating(Agent):
    """Draws uniformly from its legal actions, or with `weight` plays the lowest of them."""

    name = "stating"

    def __init__(self, weight: float, rules: Any = SMALL, *, states_lowest: bool = False) -> None:
        super().__init__(rules)
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


@pytest.fixture(scope="module")
def views() -> Array:
    """Views of the second trick, in which several cards are legal."""
    return GameTree.of(load_rules(SMALL), dealer=1).levels[2].views


def checked(agent: Agent, views: Array) -> None:
    check = ProbabilityCheck(agent)
    for part in np.array_split(views, 3):
        check.add(part, agent.probabilities(part))  # type: ignore[attr-defined]
    check.finish()


def test_probability_check_finds_what_differs_a_little(views: Array) -> None:
    for _ in range(8):
        checked(Stating(0), views)
    with pytest.raises(ValueError, match=r"are others, more than chance gives once in 1,000,000,0"):
        checked(Stating(0.2), views)
    with pytest.raises(ValueError, match="stating plays action"):
        checked(Stating(0.99, states_lowest=True), views)


def test_probability_check_keeps_its_rate_of_false_alarms(
    views: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound holds at a rate that can be counted: at most 1 in 10, and seldom so many."""
    monkeypatch.setattr(claims, "FALSE_ALARM", 0.1)
    alarms = 0
    for _ in range(50):
        try:
            checked(Stating(0), views[:40])
        except ValueError:
            alarms += 1
    assert alarms <= 5 + 3 * 4.5**0.5
