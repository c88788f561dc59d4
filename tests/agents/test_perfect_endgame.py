"""Endgames of agents: small tables until they are worth their time, with equal actions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.common.jit.compiler import machine_code_folder
from german_whist.common.typing import Array
from german_whist.engine.endgame import tablebase

FEW, ALL = 4, 7


@pytest.fixture
def small_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Default tables of seven cards, which begin with four, in an empty folder."""
    monkeypatch.setenv("GERMAN_WHIST_CACHE", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(machine_code_folder().parent))
    monkeypatch.setattr(tablebase, "_loaded", {})
    monkeypatch.setattr(tablebase, "FIRST_CARDS", FEW)
    monkeypatch.setattr(tablebase, "DEFAULT_CARDS", ALL)
    tablebase.growing_tablebase.cache_clear()
    yield
    tablebase.growing_tablebase.cache_clear()


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
def test_small_tables_give_the_actions_of_complete_ones(rules: str, small_tables: None) -> None:
    views = open_endings(rules)
    player = EndgamePlayer(Game(rules).rules)
    (growing,) = player._tablebases
    played = []
    for cards in (FEW, ALL):
        assert growing.tablebase.cards == cards
        played.append(np.full(len(views), -1))
        player.improve(views, played[-1])
        tablebase.load_tablebase()  # of which the next count takes notice
        growing.count(0)
    assert (played[0] >= 0).all()
    assert played[0].tolist() == played[1].tolist()


@pytest.mark.parametrize("rules", ["classic", "race-9"])
def test_endings_above_the_tables_count_as_searches(
    rules: str, small_tables: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = open_endings(rules)
    player = EndgamePlayer(Game(rules).rules)
    (growing,) = player._tablebases
    counted: list[int] = []
    monkeypatch.setattr(growing, "count", counted.append)
    player.improve(views, np.full(len(views), -1))
    cards = [int(hand).bit_count() for hand in views["hand"]]
    assert counted == [sum(n > FEW for n in cards)]
