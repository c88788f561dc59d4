"""Agents in scripts: one `View` or several in place of arrays of records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_views import selfplay_views, streams_of

from german_whist import Game, View, load_agent, load_policy, network_inputs
from german_whist.agents import Agent, CannotPlay, Player
from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS
from german_whist.engine.endgame import value_of

NETWORK = f"network:{FIRST_WEIGHTS}"


def views_of(rules: str, count: int = 12) -> tuple[list[View], Any]:
    arrays, _, _ = selfplay_views(rules, count=count, steps=3)
    rules_of_views = Game(rules).rules
    return [View(rules_of_views, arrays[k : k + 1]) for k in range(count)], arrays


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("threshold", "classic"),
        ("champion", "draft"),
        (f"{NETWORK},sample", "classic"),
        ("nash", "2x4-h2"),
        ("random", "classic"),
        ("flat-mc:2", "classic"),
    ],
)
def test_acts_on_views_as_on_arrays(name: str, rules: str) -> None:
    agent = load_agent(name, rules)
    views, arrays = views_of(rules)
    streams = streams_of(arrays)
    expected = agent.act(arrays, streams).tolist()
    assert agent.act(views, streams) == expected
    assert [agent.act(v, streams[k : k + 1]) for k, v in enumerate(views)] == expected
    assert all(action in view.legal() for action, view in zip(agent.act(views), views, strict=True))
    assert agent.act([]) == []


@pytest.mark.parametrize("name", [NETWORK, f"{NETWORK},sample", "nash", "random"])
def test_probabilities_of_views_are_those_of_arrays(name: str) -> None:
    agent = load_agent(name)
    views, arrays = views_of(agent.rules.name)
    matrix = agent.probabilities(arrays)
    np.testing.assert_array_equal(agent.probabilities(views), matrix)
    np.testing.assert_array_equal(agent.probabilities(views[3]), matrix[3])
    assert matrix.sum(axis=1) == pytest.approx(np.ones(len(views)))
    assert agent.greedy == (name == NETWORK)
    if agent.greedy:
        assert agent.act(views) == matrix.argmax(axis=1).tolist()
        assert ((matrix > 0.01) & (matrix < 0.99)).any()


def test_seed_or_generator_repeats_draws() -> None:
    views, _ = views_of("classic", 64)
    agent = load_agent("random")
    assert agent.act(views, 1) == agent.act(views, np.random.default_rng(1)) != agent.act(views, 2)
    view = Game(seed=1).view()
    assert len({agent.act(view) for _ in range(40)}) > 1


def test_value_is_exact_in_endings_and_falls_with_worse_hands() -> None:
    agent = load_agent("champion")
    game = Game(seed=4)
    while game.view().stock_left:
        game.play(agent.act(game.view(), 0))
    for _ in range(24):
        view = game.view()
        left = value_of(view)
        margin = 2 * (view.counting_tricks[0] + left) - 13
        assert agent.value(view) == pytest.approx(np.sign(margin))
        game.play(agent.act(view, 0))
    early = [Game(seed=seed).view() for seed in range(30)]
    values = agent.value(early)
    assert values[7] == agent.value(early[7])
    assert (np.abs(values) < 1).all()
    trumps = [sum(card // 13 == view.trump for card in view.hand) for view in early]
    assert np.corrcoef(trumps, values)[0, 1] > 0.3


class Memory(Agent):
    keeps_state = True

    def act(self, views: Any, rng: Any, **games: Any) -> Any:
        assert games["indices"].tolist() == list(range(len(views)))
        return np.full(len(views), 99)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda agent, view: agent.value(view), ValueError, "^threshold has no value network"),
        (
            lambda _, view: load_agent("champion-1").value(view),
            ValueError,
            "champion-1 has no value: there is no critic in its checkpoint: train ppo or mmd with",
        ),
        (lambda agent, view: agent.probabilities(view), ValueError, "^threshold states no prob"),
        (lambda agent, _: agent.act("AS"), TypeError, "'AS' is no view: give a View"),
        (lambda agent, _: agent.act(Game("draft").view()), CannotPlay, "rules='draft'"),
        (lambda agent, _: agent.act(Game().view(0)), ValueError, "seat 0 is not to move"),
        (lambda agent, view: Memory().act(view), ValueError, r"agent chose 99, .* are"),
        (lambda agent, view: load_policy("nothing"), ValueError, "nothing: there is no checkpoint"),
        (
            lambda *_: load_agent("champion", "draft").value(Game("draft").view()),
            ValueError,
            "champion has no value network for draft",
        ),
    ],
)
def test_scripts_get_a_sentence(call: Any, kind: type[Exception], message: str) -> None:
    game = Game()
    with pytest.raises(kind, match=message):
        call(load_agent("threshold"), game.view())


def test_a_player_answers_as_its_agent() -> None:
    view = Game(seed=2).view()
    assert Player("threshold").choose(view) == load_agent("threshold").act(view)


@pytest.mark.parametrize("source", [FIRST_WEIGHTS, "champion-1"])
def test_load_policy_computes_what_the_agent_plays(source: str | Path) -> None:
    torch = pytest.importorskip("torch")
    policy = load_policy(source)
    views, arrays = views_of("classic")
    seen = policy.observe(views)
    np.testing.assert_array_equal(seen.observations, policy.observe(arrays).observations)
    tensors = map(torch.from_numpy, (seen.observations, seen.masks))
    logits, actions = policy.module(*tensors)
    assert seen.real(actions).tolist() == load_agent("champion-1").act(views)
    assert logits.requires_grad
    assert policy.observe(views[0]).masks.tolist() == seen.masks[:1].tolist()
    assert network_inputs(views, suit_order=policy.suit_order).masks.tolist() == seen.masks.tolist()
