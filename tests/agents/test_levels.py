"""The levels for people are in order, and the human is asked until the answer is legal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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
    """Early tricks do not matter to `easy` in the endgame, only that they are forgotten."""
    easy = Player(make_agent("easy"), seed=4)
    game = Game("classic", seed=1)
    while not game.view(game.turn or 0).endgame:
        game.play(easy.choose(game.view(game.turn or 0)))
    view = game.view(game.turn or 0).record.copy()
    rng = np.array([7], np.uint64)
    action = easy.agent.act(view, rng)
    view["led_cards"][0, :8], view["followed_cards"][0, :8] = 0, 0
    np.testing.assert_array_equal(easy.agent.act(view, rng), action)


def test_the_human_is_asked_until_the_card_may_be_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = Game("classic", seed=1)
    view = game.view(game.turn or 0)
    foreign = str(next(card for card in game.rules.deck if card not in view.hand))
    answers = iter(["no card", foreign, str(view.hand[3])])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    assert Player("human").choose(view) == view.hand[3]
    assert "your hand" in capsys.readouterr().out


def test_a_human_who_leaves_is_said_to_have_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(prompt: str) -> Any:
        raise EOFError

    monkeypatch.setattr("builtins.input", nobody)
    game = Game("classic", seed=1)
    with pytest.raises(ValueError, match="left"):
        Player("human").choose(game.view(game.turn or 0))
