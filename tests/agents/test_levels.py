"""The levels for people are in order."""

from __future__ import annotations

import numpy as np
from test_base import play_all

from german_whist import Game
from german_whist.agents import Player, make_agent


def test_medium_beats_easy() -> None:
    medium, easy = make_agent("medium"), make_agent("easy")
    n = 200
    _, first = play_all((medium, easy), "classic", n, seed=8)
    _, second = play_all((easy, medium), "classic", n, seed=8)
    assert ((first > 0).mean() + (second < 0).mean()) / 2 > 0.6


def test_a_short_memory_guesses_the_forgotten_cards_anew() -> None:
    easy = Player(make_agent("easy"), seed=4)
    game = Game("classic", seed=1)
    while not game.view(game.turn or 0).endgame:
        game.play(easy.choose(game.view(game.turn or 0)))
    view = game.view(game.turn or 0).record.copy()
    rng = np.array([7], np.uint64)
    action = easy.agent.act(view, rng)
    view["led_cards"][0, :8], view["followed_cards"][0, :8] = 0, 0
    np.testing.assert_array_equal(easy.agent.act(view, rng), action)
