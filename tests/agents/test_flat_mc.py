"""`flat-mc`: ties, playouts and options."""

from __future__ import annotations

import time
from statistics import stdev

import numpy as np
import pytest

from german_whist import Game, card
from german_whist.agents import Player, load_agent
from german_whist.agents.search.base import Estimates
from german_whist.agents.search.flat_mc import FlatMcAgent, cheapest_best
from german_whist.agents.search.playouts import play_out
from german_whist.engine.play import row


def test_of_equal_cards_the_cheaper_is_played() -> None:
    game = Game("classic", seed=3)
    view = game.view(game.turn or 0)
    totals = np.zeros(53, np.int64)
    chosen = cheapest_best(row(game.rules.array(), 0), row(view.array.copy(), 0), totals)
    assert card(chosen) == min(view.hand, key=lambda each: (each.suit == view.trump, each.rank))


def test_margins_of_error_are_students_over_the_batches() -> None:
    """Of 32 batches: 2.04 is the 97.5 % quantile with 31 degrees of freedom."""
    batches = np.random.default_rng(1).normal(size=(32, 3))
    estimates = Estimates((4, 7, 9), batches, 320)
    pairs = zip(estimates.actions, batches.T, strict=True)
    of_batches = {action: list(column) for action, column in pairs}
    assert estimates.margins_of_error == pytest.approx(
        [2.04 * stdev(column) / 32**0.5 for column in of_batches.values()]
    )
    costs, margins = estimates.costs(best=7)
    losses = [np.subtract(of_batches[7], column) for column in of_batches.values()]
    assert costs == pytest.approx([loss.mean() for loss in losses])
    assert margins == pytest.approx([2.04 * stdev(loss) / 32**0.5 for loss in losses])


def test_a_time_a_move_is_spent() -> None:
    player, game = Player(load_agent("flat-mc:100ms")), Game("classic", seed=3)
    view = game.view(game.turn or 0)
    player.choose(view)  # which may load what is compiled
    start = time.perf_counter()
    player.choose(view)
    assert time.perf_counter() - start >= 0.1


@pytest.mark.parametrize("player", ["threshold", "counting"])
@pytest.mark.parametrize("rules", ["classic", "draft"])
def test_named_playout_policy_plays_determinizations_out(rules: str, player: str) -> None:
    agent = Player(load_agent(player, rules))
    search = FlatMcAgent(rules, 8, f"playout={player}")._new_search()
    for number in range(10):
        game = Game(rules, seed=number)
        trial = game.array.copy()
        seat = number % 2
        payoff = play_out(search, row(trial, 0), seat)
        while not game.over:
            game.play(agent.choose(game.view(game.turn or 0)))
        assert payoff == game.payoffs[seat]


def test_who_plays_on_is_an_option_that_is_checked_and_named() -> None:
    assert load_agent("flat-mc:8,playout=counting,voids").name == "flat-mc:8,playout=counting,voids"
    assert FlatMcAgent("classic", 8, "voids", "playout=counting").name == (
        "flat-mc:8,voids,playout=counting"
    )
