"""Promises of every agent: legal play, reproducible in any company."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agent_views import selfplay_views, streams_of
from test_base import play_all

from german_whist import Game, named_rules
from german_whist.agents import Player, agent_key, decision_streams, make_agent
from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS
from support import ODD, dealt

RULES = [*named_rules(), *ODD.values()]
RULE_PLAYERS = ["random", "random-exact", "threshold", "upcard-value", "counting", "easy", "medium"]
SEARCHES = ["flat-mc:3", "flat-mc:3,voids", "flat-mc:3,playout=counting"]
THINKERS = ["thinker:20", "thinker:20,belief=voids"]
NETWORKS = ["champion-1", "champion-1:sample"]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_every_player_plays_every_rule_set_legally(rules: Any) -> None:
    for name in [*RULE_PLAYERS, *SEARCHES[1:]]:
        agent = make_agent(name, rules)
        play_all((agent, agent), rules, 4 if name in RULE_PLAYERS else 1, seed=3)


@pytest.mark.parametrize("name", RULE_PLAYERS + SEARCHES + THINKERS + NETWORKS)
def test_a_decision_depends_on_neither_the_batch_nor_its_order(name: str) -> None:
    agent = make_agent(name)
    games = dealt("classic", 12, seed=2)
    for step in range(52):
        views = games.views()
        rng = decision_streams(agent_key(2), games.batch.games["number"], views)
        together = agent.act(views, rng)
        if step % 9 == 0:
            backwards = agent.act(views[::-1].copy(), rng[::-1].copy())[::-1]
            single = [agent.act(views[i : i + 1], rng[i : i + 1])[0] for i in range(12)]
            np.testing.assert_array_equal(together, backwards)
            np.testing.assert_array_equal(together, single)
        games.step(together)


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
        make_agent(name)


@pytest.mark.parametrize(
    "name", [*RULE_PLAYERS, "flat-mc:4", "champion-1", f"network:{FIRST_WEIGHTS},sample", "nash"]
)
def test_no_agent_changes_the_arrays_of_its_caller(name: str) -> None:
    rules = "2x4-h2" if name == "nash" else "classic"
    agent = make_agent(name, rules)
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
    agent: Any = make_agent(name, rules)
    views = np.repeat(Game(rules, seed=0).view().array, 20_000)
    drawn = np.bincount(agent.act(views, streams_of(views)), minlength=52) / len(views)
    probs = agent.probabilities(views[:1])[0]
    np.testing.assert_allclose(drawn, probs, atol=0.02)
    assert 0 < probs.max() < 0.95


def test_a_search_by_the_clock_returns_action_values() -> None:
    views, _, _ = selfplay_views(count=16, steps=3)
    rng, timed, counted = streams_of(views), make_agent("flat-mc:20ms"), make_agent("flat-mc:64")
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


def test_medium_beats_easy() -> None:
    medium, easy = make_agent("medium"), make_agent("easy")
    n = 200
    _, first = play_all((medium, easy), "classic", n, seed=8)
    _, second = play_all((easy, medium), "classic", n, seed=8)
    assert ((first > 0).mean() + (second < 0).mean()) / 2 > 0.6


def test_a_short_memory_guesses_the_forgotten_cards_anew() -> None:
    easy, game = Player(make_agent("easy"), seed=4), Game("classic", seed=1)
    while not game.view().endgame:
        game.play(easy.choose(game.view()))
    view = game.view().array.copy()
    rng = np.array([7], np.uint64)
    action = easy.agent.act(view, rng)
    view["led_cards"][0, :8], view["followed_cards"][0, :8] = 0, 0
    np.testing.assert_array_equal(easy.agent.act(view, rng), action)
