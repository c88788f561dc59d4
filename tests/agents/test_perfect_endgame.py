"""Endgames of agents: tables of any size, with equal actions."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents import perfect_endgame
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.common.typing import Array
from german_whist.engine.dtypes import VIEW
from german_whist.engine.endgame import tablebase_in_memory
from german_whist.engine.rules import load_rules
from german_whist.solvers.game_tree import GameTree

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


def test_actions_of_another_length_or_type_are_refused() -> None:
    # The compiled code would write beyond them.
    player, views = EndgamePlayer(Game("classic").rules), np.zeros(3, VIEW)
    for wrong in (np.zeros(2, np.int64), np.zeros(3), [0, 0, 0]):
        with pytest.raises(ValueError, match="give an array of integers, one for each of 3 views"):
            player.improve(views, wrong)  # type: ignore[arg-type]


def test_what_is_no_card_is_no_preference_in_a_race() -> None:
    rules = load_rules({"name": "race", "suits": 1, "ranks": 6, "hand": 2, "race": 2})
    views = np.concatenate([level.views for level in GameTree.of(rules, dealer=1).levels])
    views = views[views["stock_left"] == 0]
    wanted, found = np.full((2, len(views)), -1)
    found[:] = 10**12
    player = EndgamePlayer(rules)
    player.improve(views, wanted)
    player.improve(views, found)
    np.testing.assert_array_equal(found, wanted)


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
