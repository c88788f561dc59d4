"""Costs of actions: exact in endings, regrets on solved decks, else estimates."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents.base import CannotPlay
from german_whist.agents.costs import CostModel, exact_payoffs
from german_whist.agents.player import Player
from german_whist.agents.tabular.nash import NashAgent
from german_whist.engine.endgame import moves_of
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv
from support import with_other_hidden_cards


def open_view(rules: str, seed: int = 1) -> Any:
    game = Game(rules, seed)
    while not game.view().open:
        game.play(game.legal()[0])
    return game.view()


def test_costs_of_an_ending_are_exact() -> None:
    view = open_view("margin")
    tricks, found = moves_of(view), CostModel("margin").of(view)
    assert found is not None
    assert found.source == "exact"
    most = max(tricks.values())
    assert found.costs == {int(card): 2.0 * (most - count) for card, count in tricks.items()}
    race = open_view("race-9")
    assert set((exact_payoffs(race) or {}).values()) <= {-1, 0, 1}
    assert exact_payoffs(Game("classic", 1).view()) is None


def test_costs_of_the_foreplay_are_estimated_or_unknown() -> None:
    view = Game("classic", 1).view()
    assert CostModel("classic").of(view) is None
    found = CostModel("classic", search="flat-mc:64").of(view)
    assert found is not None
    assert found.source == "estimated"
    assert min(found.costs.values()) == 0
    assert set(found.costs) == set(found.margins_of_error) == set(view.legal())
    for name in ("threshold", "flat-mc:5ms", "ismcts:10", True):
        with pytest.raises(ValueError, match=f"^{name!r} is not a search that tries every card"):
            CostModel("classic", search=name)  # type: ignore[arg-type]
    with pytest.raises(CannotPlay, match="a view is of the rules quick, and classic are played"):
        CostModel("classic").of(Game("quick").view())


def test_equilibrium_plays_only_what_costs_nothing() -> None:
    model, nash = CostModel("2x4-h2"), NashAgent("2x4-h2")
    checked = 0
    for seed in range(12):
        game, player = Game("2x4-h2", seed), Player(nash, seed=seed)
        while not game.over:
            view = game.view()
            found = model.of(view)
            assert found is not None
            probs = nash.probabilities(view)
            for action, cost in found.costs.items():
                # The stored strategy is rounded to bytes, and solved to a small exploitability.
                assert probs[action] < 0.05 or cost < 0.03, (seed, view)
            checked += found.source == "equilibrium"
            other = with_other_hidden_cards(game, view.seat, np.random.default_rng(seed))
            assert model.of(other.view()) == found
            game.play(player.choose(view))
    assert checked > 20


def expected_payoff(game: Game, nash: NashAgent, seat: int) -> float:
    """By playing every action out, with its probability."""
    if game.over:
        return game.payoffs[seat]
    total, probs = 0.0, nash.probabilities(game.view())
    for action in game.legal():
        if probs[action] > 0:
            after = game.clone()
            after.play(action)
            total += probs[action] * expected_payoff(after, nash, seat)
    return total


@pytest.mark.parametrize("plies", [0, 1])
def test_regrets_are_those_of_every_deal_played_out(plies: int) -> None:
    model, nash, game = CostModel("2x4-h2"), NashAgent("2x4-h2"), Game("2x4-h2", 3)
    for _ in range(plies):
        game.play(int(nash.probabilities(game.view()).argmax()))
    view, sums, total = game.view(), dict.fromkeys(game.legal(), 0.0), 0.0
    hidden = [
        card for card in game.cards_dealt if card in view.unseen or card in view.played_by_opponent
    ]
    for order in permutations(hidden):
        deal = iter(order)
        other = Game("2x4-h2")
        other.deal_cards([next(deal) if c in hidden else c for c in game.cards_dealt], game.dealer)
        if any(card not in other.hands[1 - view.seat] for card in view.played_by_opponent):
            continue
        weight = 1.0
        for action in game.actions:
            weight *= nash.probabilities(other.view())[action]
            other.play(action)
        if other.view(view.seat) != view:
            continue
        total += weight
        for action in sums:
            after = other.clone()
            after.play(action)
            sums[action] += weight * expected_payoff(after, nash, view.seat)
    best = max(sums.values())
    found = model.of(view)
    assert found is not None
    for action, cost in found.costs.items():
        assert cost == pytest.approx((best - sums[action]) / total)


def test_info_holds_the_cost_of_each_action() -> None:
    env = GermanWhistEnv("2x4-h2", costs="exact", suit_order="trump-first", seat=0)
    model = CostModel("2x4-h2")
    for seed in range(4):
        info = env.reset(seed=seed)[1]
        assert "cost" not in info
        ended = False
        while not ended:
            view = env.view()
            costs = model.of(view)
            assert costs is not None
            _, _, ended, _, info = env.step(int(info["action_mask"].argmax()))
            assert info["cost"] in costs.costs.values()
            assert info["cost_source"] == costs.source
    env = GermanWhistEnv("small-last", costs="exact", observation="text")
    info = env.reset(seed=1)[1]
    info = env.step(int(info["action_mask"].argmax()))[4]
    assert np.isnan(info["cost"])
    assert info["cost_source"] == "unknown"
    with pytest.raises(TypeError, match="single environments alone have it"):
        GermanWhistVectorEnv(2, costs="exact")
