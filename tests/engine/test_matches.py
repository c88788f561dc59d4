"""Matches agree with the plain implementation, hand by hand, alone and in a batch."""

from __future__ import annotations

import random

import numpy as np
import pytest

from german_whist import Game, Match, Rules
from plain_whist import PlainMatch
from support import dealt

# Six tricks a hand that all count: quick to play, with ties, and with pays from 2 to 6.
QUICK = Rules(name="six tricks", suits=2, ranks=6, hand=3, counts="all", pay="margin")
KINDS = [{"target": 1}, {"target": 10}, {"target": 25}, {"target": 50}]
KINDS += [{"best_of": 1}, {"best_of": 3}, {"best_of": 5}]


def play_out(game: Game, rng: random.Random) -> None:
    while not game.over:
        game.play(rng.choice(game.legal()))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_match_of_games_goes_as_the_plain_one(kind: dict[str, int]) -> None:
    rng = random.Random(str(kind))
    drawn = 0
    for seed in range(20):
        game = Game(QUICK, seed=seed, match=Match(**kind))
        plain = PlainMatch(**kind, first_dealer=game.dealer)
        while True:
            assert game.dealer == plain.dealer
            assert not game.match_over
            play_out(game, rng)
            plain.add(game.pays)
            drawn += game.pays == (0, 0)
            assert list(game.points) == plain.totals
            assert list(game.hands_won) == plain.hands_won
            assert game.match_over == plain.over
            if plain.over:
                break
            game.deal_next()
        game.deal_next()
        assert game.points == game.hands_won == (0, 0)
    assert drawn, "no hand was drawn, so what a tie does was not tried"


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_match_in_a_batch_goes_as_the_plain_one(kind: dict[str, int]) -> None:
    generator = np.random.default_rng(5)
    games = dealt(QUICK, 16, seed=3, match=Match(**kind))
    plain = [PlainMatch(**kind, first_dealer=int(each)) for each in games.batch.records["dealer"]]
    step = games.look()
    for _ in range(600):
        step = games.step((step.masks * generator.random(step.masks.shape)).argmax(axis=1))
        for index in np.flatnonzero(games.hand_over):
            plain[index].add(step.rewards[index].tolist())
            assert step.ended[index] == plain[index].over
            dealer = int(games.batch.records["dealer"][index])
            if plain[index].over:
                plain[index] = PlainMatch(**kind, first_dealer=dealer)
            assert games.batch.records["points"][index].tolist() == plain[index].totals
            assert games.batch.records["hands_won"][index].tolist() == plain[index].hands_won
            assert dealer == plain[index].dealer
        assert not step.ended[~games.hand_over].any()


@pytest.mark.parametrize(
    ("points", "over"), [((10, 10), False), ((12, 12), False), ((12, 11), True), ((9, 3), False)]
)
def test_equal_totals_at_the_target_play_on(points: tuple[int, int], over: bool) -> None:
    game = Game(QUICK, match=Match(target=10))
    plain = PlainMatch(target=10)
    game.record["points"][0] = points
    plain.totals = list(points)
    assert game.match_over == plain.over == over


def test_without_a_match_every_hand_stands_alone() -> None:
    game = Game(QUICK, seed=1)
    play_out(game, random.Random(1))
    assert game.match_over
    assert game.points == (0, 0)
