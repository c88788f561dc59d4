"""Flat search takes a compiled prior and a compiled leaf: its own networks', or anybody's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents.base import agent_key, decision_streams
from german_whist.agents.flat_mc import FlatMcAgent
from german_whist.agents.guided import Guide, Leaf, Prior
from german_whist.agents.registry import make_agent
from german_whist.agents.shipped import CLASSIC_WEIGHTS, WORTH
from german_whist.engine.compiled import jit
from german_whist.engine.state import VIEW
from german_whist.training.arena import evaluate

RULES = {"name": "small", "suits": 3, "ranks": 8, "hand": 6}


@jit
def wants_one_card(rules: Any, view: Any, data: Any, logs: np.ndarray) -> None:
    """All but certain of the card that stands in its data, or of none where that is below 0."""
    logs[:] = 0.0 if data[0] < 0 else -50.0
    logs[max(0, data[0])] = 0.0


@jit
def pays_the_leader(rules: Any, game: Any, data: Any) -> float:
    """Whoever is on lead is paid what stands in the data."""
    return data[0]


def views_of(count: int, rules: Any = RULES) -> Any:
    return np.concatenate(
        [np.array(Game(rules, seed=7, number=k).view().record, VIEW).reshape(-1)
         for k in range(count)]
    )  # fmt: skip


def acted(agent: Any, views: Any) -> Any:
    rng = decision_streams(agent_key(3), np.arange(len(views)).astype(np.uint64), views)
    return agent.act(views, rng)


def test_a_prior_says_what_is_tried() -> None:
    views = views_of(6)
    for view in views:
        cards = [card for card in range(52) if int(view["hand"]) >> card & 1]
        for card in (cards[0], cards[-1]):
            prior = Prior(wants_one_card, np.array([card]))
            leaf = Leaf(pays_the_leader, np.array([-1.0]))
            agent = FlatMcAgent(RULES, 8, prior=prior, leaf=leaf)
            assert acted(agent, view.reshape(1)).tolist() == [card]


def test_a_leaf_says_what_is_worth_having() -> None:
    """Who is paid for the lead plays high to keep it; who pays for it plays low."""
    prior = Prior(wants_one_card, np.array([-1]))
    keeping, leaving = (
        FlatMcAgent(RULES, 16, prior=prior, leaf=Leaf(pays_the_leader, np.array([paid])))
        for paid in (1.0, -1.0)
    )
    views = views_of(40)
    high, low = (np.mean(acted(agent, views) % 13) for agent in (keeping, leaving))
    assert high > low + 2


def test_without_a_guide_it_is_the_plain_search() -> None:
    """The same worlds, cards, replies and playouts come to the same totals."""
    guided, plain = FlatMcAgent(RULES, 64), FlatMcAgent(RULES, 64)
    guided._guide = Guide(None, None)
    for number in range(5):
        view = Game(RULES, seed=9, number=number).view()
        one, other = guided.estimates(view), plain.estimates(view)
        assert one is not None
        assert other is not None
        assert np.array_equal(one.batches, other.batches)


def test_networks_guide_by_their_paths_and_play_well() -> None:
    agent = make_agent(f"flat-mc:16,prior={CLASSIC_WEIGHTS},leaf={WORTH}")
    found = evaluate(agent, "threshold", hands=60, seed=1)
    assert found.pairings[0].forfeits == ()
    assert found.pairings[0].margin.value > 0
    assert f"prior={CLASSIC_WEIGHTS}" in agent.name


@pytest.mark.parametrize(
    ("text", "rules", "told"),
    [
        ("flat-mc:8,prior=nothing", "classic", "there is no checkpoint"),
        (f"flat-mc:8,leaf={WORTH}", "draft", "draft"),
        (f"flat-mc:8,prior={CLASSIC_WEIGHTS}", "draft", "and not draft"),
        (f"flat-mc:8,playout=counting,leaf={WORTH}", "classic", "has no effect where a prior"),
        ("flat-mc:8,priors=x", "classic", "prior=PATH and leaf=PATH"),
    ],
)
def test_what_can_not_guide_is_refused(text: str, rules: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        make_agent(text, rules)
