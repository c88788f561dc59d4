"""The critic of a checkpoint, read without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoints import network_card, written

pytest.importorskip("torch")

from german_whist import Game, View, load_agent
from german_whist.agents.base import Agent
from german_whist.agents.checkpoints import read_checkpoint
from german_whist.engine.endgame import value_of
from german_whist.engine.rules import load_rules
from german_whist.solvers.public_tree import public_tree
from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.rollout.critic_values import critic_values
from german_whist.training.run_state import write_policy


@pytest.mark.parametrize(
    ("critic", "rules"), [("oracle", "classic"), ("separate", "draft"), ("shared", "humbug")]
)
def test_critic_values_are_those_of_the_trained_network(
    critic: str, rules: str, tmp_path: Path
) -> None:
    settings = PPOSettings(
        rules=[rules, "race-7"],
        horizon="auto",
        reward="points",
        critic=critic,
        n_envs=4,
        hidden_sizes=(16, 8),
    )
    trainer, rng = PPO(settings), np.random.default_rng(5)
    weights, network = trainer.policy_weights(), trainer.network_card()
    checkpoint = read_checkpoint(write_policy(tmp_path / "1", weights, settings, network))
    scales = trainer.collector.reward_scales[:, 0]
    now = trainer.games.observe()
    agents = {name: load_agent(str(checkpoint.path), name) for name in (rules, "race-7")}
    for _ in range(12):
        trainer.collector.add_observations(0, now)
        _, values = trainer.collector.evaluate(trainer.ema_network, 0)
        games = np.concatenate([batch.games for batch, _ in trainer.games.parts])
        for index, value in enumerate(values * scales):
            option = trainer.settings.all_options[0 if index < 2 else 1]
            view, game = trainer.games.view(index, now.seats[index]).array, games[index : index + 1]
            found = critic_values(checkpoint, option.rules, view, game)
            assert found == pytest.approx(value, abs=1e-4)
            if critic != "oracle":
                agent = agents[option.rules.name]
                assert agent.value(view) == pytest.approx(value, abs=1e-5)
                assert agent.value(View(option.rules, view)) == pytest.approx(value, abs=1e-5)
        now = trainer.games.step((now.masks * rng.random(now.masks.shape)).argmax(axis=1))


def agent_with(critic: str, folder: Path, **changes: Any) -> Agent:
    settings = PPOSettings(critic=critic, n_envs=4, hidden_sizes=(8,), **changes)
    trainer = PPO(settings)
    weights, network = trainer.policy_weights(), trainer.network_card()
    return load_agent(str(write_policy(folder / critic, weights, settings, network)))


@pytest.mark.parametrize(
    ("reward", "rules"),
    [("win", "classic"), ("points", "club-last"), ("margin", "all-tricks"), ("tricks", "colour")],
)
def test_values_of_open_endings_are_exact_after_training_on_the_foreplay(
    reward: str, rules: str, tmp_path: Path
) -> None:
    agent = agent_with("shared", tmp_path, rules=[rules], reward=reward)
    for seed in range(4):
        game = Game(rules, seed)
        while not game.over:
            view = game.view()
            if view.open:
                assert agent.value(view) == expected_return(reward, view, value_of(view))
            game.play(game.legal()[0])


def expected_return(reward: str, view: View, gained: int) -> float:
    left = max(len(view.hand), view.opponent_hand_size)
    own, other = view.counting_tricks[0] + gained, view.counting_tricks[1] + left - gained
    sign = -1 if view.low else 1
    if reward == "tricks":
        return sign * (2 * gained - left)
    if reward == "margin":
        return sign * (own - other)
    if reward == "win":
        return sign * ((own > other) - (own < other))
    pay = 10 if max(own, other) == 13 else max(own, other) - 6
    return pay if own > other else -pay


def test_critics_trained_on_endings_value_them_themselves(tmp_path: Path) -> None:
    agent = agent_with("separate", tmp_path, horizon="hand")
    game = Game(seed=1)
    while not game.view().open:
        game.play(game.legal()[0])
    assert agent.value(game.view()) != pytest.approx(round(agent.value(game.view())))


def test_values_are_of_the_player_to_move_and_of_any_number_of_views(tmp_path: Path) -> None:
    agent = agent_with("shared", tmp_path)
    game = Game(seed=1)
    with pytest.raises(ValueError, match=r"^seat . is not to move in this view, and the critic"):
        agent.value(game.view(1 - game.turn))
    views = [Game(seed=seed).view() for seed in range(130)]
    together = agent.value(views)
    assert together.tolist() == [agent.value(view) for view in views]
    assert len(agent.value(views[0].array[:0])) == 0
    assert np.std(together) > 0


def test_checkpoints_without_a_critic_of_views_say_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no value: its critic \(critic=oracle\) reads hidden ca"):
        agent_with("oracle", tmp_path).value(Game().view())
    size = public_tree(load_rules("2x4-h2")).size
    table = {"kind": "table", "inputs": [], "hidden_sizes": [], "cells": size}
    rules = [load_rules("2x4-h2").as_mapping()]
    card = network_card([0], [1], network=table, suit_order="raw", horizon="foreplay", rules=rules)
    path = written(tmp_path / "table", {"cells": np.ones(size, np.float32)}, card)
    with pytest.raises(ValueError, match="no value: a table holds probabilities of actions, and"):
        load_agent(str(path)).value(Game("2x4-h2").view())


@pytest.mark.parametrize("rules", ["classic", "2x5-h3"])
def test_privileged_critic_gets_what_play_shows_later(rules: str) -> None:
    """Its four sets are the opponent's hand and cards of the stock, by what becomes of them."""
    settings = PPOSettings(
        rules=rules,
        horizon="hand",
        suit_order="raw",
        card_ranks="absolute",
        critic="oracle",
        n_envs=1,
        hidden_sizes=(4,),
    )
    trainer, rng = PPO(settings), np.random.default_rng(3)
    collector, games = trainer.collector, trainer.games
    now = games.observe()
    sets: list[list[set[int]]] = []
    hands: list[set[int]] = []
    tricks: list[int] = []
    upcards: dict[int, int] = {}
    while not now.ended.any():
        collector.add_observations(0, now)
        seat = int(now.seats[0])
        own, opponent = (games.view(0, each) for each in (seat, 1 - seat))
        cards = collector.buffer.env_actions[0]
        given = collector.buffer.hidden_cards[0, 0].reshape(4, 52).astype(bool)
        sets.append([set(cards[row].tolist()) for row in given])
        assert sets[-1][0] == {int(card) for card in opponent.hand}
        tricks.append(own.trick)
        if own.upcards:
            upcards[own.trick] = int(own.upcards[0])
        # Of both hands, as each trick begins.
        if own.trick == len(hands):
            hands.append({int(card) for view in (own, opponent) for card in view.hand})
        now = games.step((now.masks * rng.random(now.masks.shape)).argmax(axis=1))
    drawn = {trick: hands[trick + 1] - hands[trick] - {card} for trick, card in upcards.items()}
    facedown = {trick: card for trick, (card,) in drawn.items()}
    assert len(upcards) == len(facedown) == load_rules(rules).foreplay_tricks
    for trick, (_, following, turned_up, unseen) in zip(tricks, sets, strict=True):
        assert following == {card for at, card in facedown.items() if at == trick}
        assert turned_up == {card for at, card in upcards.items() if at >= trick}
        assert unseen == {card for at, card in facedown.items() if at >= trick}
