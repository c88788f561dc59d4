"""Endgames of agents: tables of any size, with equal actions."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents import perfect_endgame
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.common.typing import Array
from german_whist.engine.endgame import tablebase_in_memory

FEW, ALL = 4, 7


def open_endings(rules: str) -> Array:
    """Views of some random hands from the fourteenth trick on."""
    views, random = [], np.random.default_rng(1)
    for seed in range(8):
        game = Game(rules, seed=seed)
        while not game.over:
            if game.view().endgame:
                views.append(game.view().array)
            game.play(int(random.choice(game.legal())))
    return np.concatenate(views)


@pytest.mark.parametrize("rules", ["classic", "race-9"])
def test_small_tables_give_the_actions_of_complete_ones(
    rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = open_endings(rules)
    player = EndgamePlayer(Game(rules).rules)
    played = []
    for cards in (FEW, ALL):
        tablebase = tablebase_in_memory(cards)
        monkeypatch.setattr(
            perfect_endgame, "available_tablebase", lambda _, found=tablebase: found
        )
        played.append(np.full(len(views), -1))
        player.improve(views, played[-1])
    assert (played[0] >= 0).all()
    assert played[0].tolist() == played[1].tolist()
