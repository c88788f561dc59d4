"""Worlds that are tried as rows: those of the engine, played on as a searcher does."""

from __future__ import annotations

import random

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents.many_worlds import pays_in_worlds
from german_whist.agents.player import Player
from german_whist.engine.endgame import value
from german_whist.engine.state import LEAD
from german_whist.engine.streams import keyed
from german_whist.engine.worlds import METHODS, worlds


def paid(game: Game, seat: int) -> int:
    """What a hand of small-last comes to for a seat: the rule of thumb, then the exact ending."""
    thumb = Player("threshold", game.rules)
    while game.record["drawn"] < game.rules.stock_cards or game.record["phase"] != LEAD:
        game.play(thumb.choose(game.view(game.turn or 0)))
    (record,) = game.record
    leader = int(record["turn"])
    tricks = value([int(each) for each in record["hand"]], int(record["trump"]), leader)
    mine = tricks if leader == seat else game.rules.hand - tricks
    # It pays the tricks above three, and five for all seven.
    most = max(mine, 7 - mine)
    amount = 5 if most == 7 else most - 3
    return amount if most == mine else -amount


@pytest.mark.parametrize("method", METHODS)
def test_what_actions_pay_is_what_each_comes_to_in_the_same_worlds(method: str) -> None:
    game = Game("small-last", seed=5)
    chance = random.Random(2)
    for _ in range(6):
        game.play(chance.choice(game.legal()))
    seat = game.turn or 0
    view = game.view(seat)
    found = pays_in_worlds(view, 6, 9, method)
    for index in range(6):
        start = int(keyed(np.uint64(9), np.uint64(index)))
        for place, action in enumerate(view.legal()):
            tried = Game.of_record(game.rules, worlds(view, 1, start, method))
            tried.play(action)
            assert paid(tried, seat) == found[index, place], (index, place)
    assert np.ptp(found)


def test_endings_that_no_table_holds_are_told_of() -> None:
    with pytest.raises(ValueError, match="cards, and 13 are needed"):
        pays_in_worlds(Game("classic").view(0), 2)
    with pytest.raises(ValueError, match="humbug have no open ending"):
        pays_in_worlds(Game("humbug").view(0), 2)
