"""`ismcts`: its tree against a plain one, its endings against the solver, its options."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents import Player, load_agent
from german_whist.agents.base import ViewBatch
from german_whist.agents.search import base
from german_whist.agents.search.ismcts import IsmctsAgent
from german_whist.engine.rng import random_below
from german_whist.engine.sampling.determinizations import _sample_all
from german_whist.evaluation import evaluate


def plain_visits(agent: IsmctsAgent, game: Game, stream: np.ndarray[Any, Any]) -> Counter[int]:
    """How often a tree of dictionaries tries each action of the player to move.

    A node is the tuple of what the player saw since the root.
    """
    seat, view, search = game.turn, game.view(), agent._new_search()
    assert seat is not None
    tree: dict[tuple[Any, ...], dict[int, list[float]]] = {}
    for _ in range(agent.budget.samples):
        trial, node, path, in_tree = Game(game.rules), (), [], True
        given = search.rules, view.array.copy()
        _sample_all(given, search.voids, search.plans, stream, trial.array)
        trial._refresh()
        while not trial.over:
            actions, held = [int(action) for action in trial.legal()], set(trial.hands[seat])
            action = actions[0]
            if len(actions) > 1 and in_tree:
                action, in_tree = select(tree.setdefault(node, {}), actions, stream)
                path.append((tree[node][action], trial.turn == seat))
            elif len(actions) > 1:
                action = actions[random_below(stream, len(actions))]
            trial.play(action)
            node = (*node, action, frozenset(set(trial.hands[seat]) - held), tuple(trial.upcards))
        for edge, own in path:
            edge[0] += 1
            result = (trial.payoffs[seat] / game.rules.max_payoff + 1) / 2
            edge[2] += result if own else 1 - result
    return Counter({action: int(edge[0]) for action, edge in tree[()].items()})


def select(
    edges: dict[int, list[float]], actions: list[int], stream: np.ndarray[Any, Any]
) -> tuple[int, bool]:
    """The action to try, and whether it has been tried before."""
    bounds, untried = {}, []
    for action in actions:
        if action in edges:
            visits, available, total = edges[action]
            edges[action][1] = available = available + 1
            bounds[action] = total / visits + 0.7 * math.sqrt(math.log(available) / visits)
        else:
            untried.append(action)
            if random_below(stream, len(untried)) == 0:
                chosen = action
    if not untried:
        return max(bounds, key=lambda action: bounds[action]), True
    edges[chosen] = [0, 1, 0.0]
    return chosen, False


def visits(agent: IsmctsAgent, game: Game, stream: np.ndarray[Any, Any]) -> Counter[int]:
    tablebase = next(each for each in agent._tablebases if each.low == game.low)
    search = agent._new_search()._replace(tablebase=tablebase)
    batch = ViewBatch(game.view().array.copy(), stream, np.zeros(1, np.int64))
    agent.kernel(search, batch, agent.budget.samples, False)
    assert search.visits.sum() == agent.budget.samples
    assert (
        batch.actions[0] == search.visits.argmax()
        or search.visits.tolist().count(search.visits.max()) > 1
    )
    return Counter({action: int(search.visits[action]) for action in game.legal()})


@pytest.mark.parametrize("rules", ["2x4-h2", "2x5-h3", "small-last", "draft", "colour", "humbug"])
def test_tree_tries_actions_as_often_as_a_plain_one(rules: str) -> None:
    agent = IsmctsAgent(rules, 60, "endgame=search", "voids")
    chance = np.random.default_rng(5)
    for number in range(4):
        game = Game(rules, seed=8, number=number)
        for _ in range(int(chance.integers(10))):
            game.play(int(chance.choice(game.legal())))
        if game.over or len(game.legal()) < 2:
            continue
        streams = np.array([[number], [number]], np.uint64)
        assert visits(agent, game, streams[0]) == plain_visits(agent, game, streams[1])


def test_searched_endings_come_to_those_of_the_solver() -> None:
    searching = Player(load_agent("ismcts:3000,endgame=search", "margin"))
    exact = Player(load_agent("random-exact", "margin"))
    chance = np.random.default_rng(2)
    for number in range(12):
        game = Game("margin", seed=4, number=number)
        while len(game.hands[0]) + len(game.hands[1]) > 6 or game.stock:
            game.play(int(chance.choice(game.legal())))
        other = game.clone()
        game.play(searching.choose(game.view()))
        for trial in (game, other):
            while not trial.over:
                trial.play(exact.choose(trial.view()))
        assert game.payoffs == other.payoffs


def test_open_endings_are_perfect_by_default() -> None:
    assert load_agent("ismcts:10").perfect_endgame
    assert not load_agent("ismcts:10,endgame=search").perfect_endgame
    assert load_agent("ismcts:10,endgame=search").endgame == "own policy"


def test_more_iterations_win_more() -> None:
    pairing = evaluate("ismcts:200", ["ismcts:2"], rules="quick", hands=60, seed=1).pairings[0]
    assert pairing.win_rate.low > 0.5


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ismcts:0", "ismcts takes how much to search"),
        ("ismcts:10,playout=counting", "'playout=counting' is no option of ismcts: there are"),
        ("ismcts:10,exploration=much", "exploration is 'much': it is the constant of UCB"),
        ("ismcts:10,exploration=-1", "exploration is '-1': it is the constant of UCB"),
    ],
)
def test_bad_options_are_refused(name: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        load_agent(name)


def test_estimates_are_refused() -> None:
    agent = load_agent("ismcts:10")
    assert isinstance(agent, IsmctsAgent)
    with pytest.raises(ValueError, match="no estimates of all alike"):
        agent.estimates(Game().view())


@pytest.mark.parametrize(("word", "chunks"), [("endgame=search", 4), ("endgame=exact", 1)])
def test_search_by_time_uses_it_where_endings_are_searched(
    word: str, chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = Game("small-last", seed=3)
    while not game.view().open or len(game.legal()) < 2:
        game.play(game.legal()[0])
    agent = IsmctsAgent("small-last", "200ms", word)
    query = ViewBatch(game.view().array.copy(), np.ones(1, np.uint64), np.zeros(1, np.int64))
    clock = iter(np.arange(0, 9, 0.05))
    monkeypatch.setattr(base.time, "perf_counter", lambda: float(next(clock)))
    assert agent._search_one(agent._new_search(), query) == chunks * agent.chunk
