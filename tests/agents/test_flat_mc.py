"""`flat-mc` takes the cheaper of equal cards; how strong it is, the arena's truths tell."""

from __future__ import annotations

import numpy as np

from german_whist import Game, card
from german_whist.agents import Player, make_agent


def test_of_equal_cards_the_cheaper_is_played() -> None:
    """With one world a card wins or loses, so that most decisions are among equals."""
    from german_whist.agents.flat_mc import cheapest_best
    from german_whist.engine.play import row

    game = Game("classic", seed=3)
    view = game.view(game.turn or 0)
    totals = np.zeros(53, np.int64)
    chosen = cheapest_best(row(game.rules.record(), 0), row(view.record.copy(), 0), totals)
    price = [each % 13 + (13 if each.suit == view.trump else 0) for each in view.hand]
    assert card(chosen) == view.hand[int(np.argmin(price))]


def test_a_race_and_an_ending_with_cards_set_aside_are_searched() -> None:
    for rules in ("race-9", {"suits": 4, "ranks": 7, "hand": 5, "stock": 10}):
        player = Player(make_agent("flat-mc:8", rules))
        game = Game(rules, seed=2)
        while not game.over:
            game.play(player.choose(game.view(game.turn or 0)))
