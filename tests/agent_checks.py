"""What every agent keeps to: it plays by its view alone, in any company."""

from __future__ import annotations

from functools import cache

import numpy as np

from german_whist import Game
from german_whist.agents import Agent, agent_key, decision_streams, load_agent
from support import dealt, with_other_hidden_cards


@cache
def views_and_twins(rules: str) -> tuple[np.ndarray, np.ndarray]:
    """What is seen in two hands, and seen as well where the hidden cards are others."""
    chance = np.random.default_rng(1)
    seen, twins = [], []
    for number in range(2):
        game = Game(rules, seed=8, number=number)
        while not game.over:
            seat = game.turn or 0
            seen.append(game.view(seat).array)
            twins.append(with_other_hidden_cards(game, seat, chance).view(seat).array)
            game.play(int(chance.choice(game.legal())))
    return np.concatenate(seen), np.concatenate(twins)


def plays_alike(agent: Agent, views: np.ndarray, twins: np.ndarray) -> None:
    rng = decision_streams(agent_key(5), np.arange(len(views)), views)
    assert agent.act(views, rng.copy()).tolist() == agent.act(twins, rng.copy()).tolist()


def decides_alike_in_any_company(name: str) -> None:
    agent = load_agent(name)
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
