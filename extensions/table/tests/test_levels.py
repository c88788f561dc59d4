"""The levels for people: they forget, play every rule set, and play as they did."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_checks import decides_alike_in_any_company, plays_alike, views_and_twins
from test_frozen import RULES, agents_in, hands_of

from german_whist import Game, Match, named_rules
from german_whist.agents import Player, load_agent
from german_whist.common.jit import compiler
from german_whist.engine.rules import Rules
from german_whist.envs import GermanWhistEnv
from support import ODD, play_all

FROZEN = json.loads(Path(__file__).with_name("frozen.json").read_text("utf-8"))
LEVELS = ("easy", "medium", "hard")
FORGETFUL = LEVELS[:2]


@pytest.mark.parametrize("rules", [*named_rules(), *ODD.values()], ids=str)
def test_forgetful_levels_play_every_rule_set_legally(rules: Any) -> None:
    for name in FORGETFUL:
        agent = load_agent(name, rules)
        play_all((agent, agent), rules, 4, seed=3)


@pytest.mark.parametrize("rules", RULES)
def test_levels_play_as_they_did(rules: str) -> None:
    assert agents_in(rules, LEVELS, slow_names=("hard",)) == FROZEN[f"agents, {rules}"]


def test_hard_plays_matches_as_it_did() -> None:
    found = hands_of(load_agent("hard", match=Match(target=9)), "classic", 3, seed=13)
    assert found == FROZEN["agents, match"]["hard"]


def test_medium_beats_easy() -> None:
    medium, easy = load_agent("medium"), load_agent("easy")
    n = 200
    _, first = play_all((medium, easy), "classic", n, seed=8)
    _, second = play_all((easy, medium), "classic", n, seed=8)
    assert ((first > 0).mean() + (second < 0).mean()) / 2 > 0.6


def test_a_short_memory_guesses_the_forgotten_cards_anew() -> None:
    easy, game = Player(load_agent("easy"), seed=4), Game("classic", seed=1)
    while not game.view().endgame:
        game.play(easy.choose(game.view()))
    view = game.view().array.copy()
    rng = np.array([7], np.uint64)
    action = easy.agent.act(view, rng)
    view["led_cards"][0, :8], view["followed_cards"][0, :8] = 0, 0
    np.testing.assert_array_equal(easy.agent.act(view, rng), action)


@pytest.mark.parametrize("name", FORGETFUL)
def test_decision_depends_on_neither_the_batch_nor_its_order(name: str) -> None:
    decides_alike_in_any_company(name)


@pytest.mark.parametrize("rules", ["classic", "open-stock", "draft", "no-trump", "race-9"])
@pytest.mark.parametrize("name", LEVELS)
def test_levels_play_alike_whatever_is_hidden(name: str, rules: str) -> None:
    views, twins = views_and_twins(rules)
    step = 5 if name == "hard" else 1  # a search without a budget of its own
    plays_alike(load_agent(name, rules), views[::step].copy(), twins[::step].copy())


def test_hard_plays_rules_in_which_a_slam_pays_little() -> None:
    rules = Rules("dear slam", 2, 4, hand=3, stock=2, pay="over_book", book=0, slam_pay=1)
    game, player = Game(rules, seed=1), Player(load_agent("hard", rules))
    while not game.over:
        game.play(player.choose(game.view()))


def test_environment_against_a_level_is_small_to_copy() -> None:
    """It shares the endgame tablebase with its copies."""
    env = GermanWhistEnv("small-last", opponent="easy")
    env.reset(seed=1)
    assert len(pickle.dumps(env)) < 200_000


@pytest.mark.skipif(not compiler.COMPILED, reason="the compiler is off")
def test_levels_are_compiled_beforehand(whist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_warm", set())
    assert whist("compile", "agents").out.startswith("agents: ")
    assert {"easy agent", "medium agent"} <= compiler._warm
