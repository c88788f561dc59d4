"""Promises of every agent: legal play, reproducible in any company."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agent_checks import decides_alike_in_any_company
from agent_views import selfplay_views, streams_of

from german_whist import Game, named_rules
from german_whist.agents import load_agent
from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS
from support import ODD, play_all

RULES = [*named_rules(), *ODD.values()]
RULE_PLAYERS = ["random", "random-exact", "threshold", "upcard-value", "counting"]
SEARCHES = ["flat-mc:3", "flat-mc:3,voids", "flat-mc:3,playout=counting"]
THINKERS = ["thinker:20", "thinker:20,belief=voids"]
NETWORKS = ["champion-1", "champion-1:sample"]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_every_player_plays_every_rule_set_legally(rules: Any) -> None:
    for name in [*RULE_PLAYERS, *SEARCHES[1:]]:
        agent = load_agent(name, rules)
        play_all((agent, agent), rules, 4 if name in RULE_PLAYERS else 1, seed=3)


@pytest.mark.parametrize("name", RULE_PLAYERS + SEARCHES + THINKERS + NETWORKS)
def test_a_decision_depends_on_neither_the_batch_nor_its_order(name: str) -> None:
    decides_alike_in_any_company(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("upcard-value:much", "whole number"),
        ("upcard-value:5000", "up to 1000"),
        ("flat-mc:0", "flat-mc:64"),
        ("flat-mc:-5ms", "a time a move"),
        ("flat-mc:64,luck", "there are voids, by which"),
        ("flat-mc:64,playout=champion", "playout=threshold and playout=counting"),
        ("flat-mc:few", "flat-mc:64"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_agent(name)


@pytest.mark.parametrize(
    "name", [*RULE_PLAYERS, "flat-mc:4", "champion-1", f"network:{FIRST_WEIGHTS},sample", "nash"]
)
def test_no_agent_changes_the_arrays_of_its_caller(name: str) -> None:
    rules = "2x4-h2" if name == "nash" else "classic"
    agent = load_agent(name, rules)
    views, _, _ = selfplay_views(rules, count=16, steps=3)
    rng = streams_of(views)
    before = views.copy(), rng.copy()
    first = agent.act(views, rng)
    assert np.array_equal(rng, before[1])
    assert np.array_equal(views, before[0])
    assert np.array_equal(agent.act(views, rng), first)


@pytest.mark.parametrize(
    ("name", "rules"), [("nash", "2x4-h2"), ("champion-1:sample", "classic"), ("random", "classic")]
)
def test_cards_are_drawn_as_often_as_an_agent_says(name: str, rules: str) -> None:
    agent: Any = load_agent(name, rules)
    views = np.repeat(Game(rules, seed=0).view().array, 20_000)
    drawn = np.bincount(agent.act(views, streams_of(views)), minlength=52) / len(views)
    probs = agent.probabilities(views[:1])[0]
    np.testing.assert_allclose(drawn, probs, atol=0.02)
    assert 0 < probs.max() < 0.95


def test_a_search_by_the_clock_returns_action_values() -> None:
    views, _, _ = selfplay_views(count=16, steps=3)
    rng, timed, counted = streams_of(views), load_agent("flat-mc:20ms"), load_agent("flat-mc:64")
    actions, values = timed.act_with_values(views, rng)  # type: ignore[attr-defined]
    sampled_actions, sampled_values = counted.act_with_values(views, rng)  # type: ignore[attr-defined]
    assert np.array_equal(np.isnan(values), np.isnan(sampled_values))
    evaluated = ~np.isnan(values)
    assert evaluated.any()
    # Means of pays of -1, 0 and 1, over some determinizations each.
    assert (np.abs(values[evaluated]) <= 1).all()
    assert np.abs(values[evaluated] - sampled_values[evaluated]).mean() < 0.4
    assert ((views["hand"] >> actions.astype(np.uint64)) & np.uint64(1) == 1).all()
    assert len(sampled_actions) == len(actions)
