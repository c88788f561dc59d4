"""Training works at all: on a deck so small that every way of playing it is walked.

Of the thorough tests: `make thorough`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

pytest.importorskip("torch")


from german_whist.agents.network import NetworkAgent
from german_whist.agents.registry import make_agent
from german_whist.training.players import player_of
from german_whist.training.ppo import PPO
from german_whist.training.ppo_settings import PPOSettings
from german_whist.training.presets import load_settings
from german_whist.training.whole_views import Tree, best_response, strategy, value

pytestmark = pytest.mark.thorough


@cache
def tree() -> Tree:
    return Tree.of(load_settings("tiny").options.rules, dealer=1)


def trained(*words: str) -> PPO:
    settings = load_settings("tiny", [*words, "threads=1"])
    assert isinstance(settings, PPOSettings)
    trainer = PPO(settings)
    while trainer.decisions < settings.decisions:
        trainer.iterate()
    return trainer


def as_agent(trainer: PPO, *words: str) -> NetworkAgent:
    return player_of(trainer.settings, trainer.player(), trainer.network_card(), *words)


def test_against_random_it_comes_close_to_the_best_response() -> None:
    words = (
        *("pool_games=1", "opponents=random", "pool_size=0", "decisions=200000", "minibatch=256"),
        *("learning_rate=2e-3", "entropy=0.02", "entropy_end=0"),
    )
    agent = as_agent(trained(*words), "endgame=network")
    plays = strategy(agent, tree())
    other = strategy(make_agent("random", tree().rules), tree())
    best = best_response(tree(), 0, other), best_response(tree(), 1, other)
    found = value(tree(), plays, other), -value(tree(), other, plays)
    # A pay of ±1 is twice a win rate's distance from a half.
    assert np.mean(best) / 2 - np.mean(found) / 2 < 0.02
    assert np.mean(best) / 2 > 0.1


def test_self_play_comes_to_a_small_exploitability() -> None:
    agent = as_agent(trained("decisions=600000"), "sample", "endgame=network")
    plays = strategy(agent, tree())
    found = (best_response(tree(), 0, plays) + best_response(tree(), 1, plays)) / 2
    assert 0 <= found < 0.05
