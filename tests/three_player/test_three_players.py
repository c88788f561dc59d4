"""Agents of the three-player game: legal, reproducible, stronger than random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from german_whist.agents.base import agent_key
from german_whist.engine.cards import card
from german_whist.three_player.agents import (
    play_hand,
    random_card,
    three_stream,
    thrifty_card,
    won_at_three,
)
from german_whist.three_player.game import DUMMY, ThreeGame


def test_thrifty_beats_random_clearly() -> None:
    won = won_at_three("thrifty", "random", hands=100)
    assert won.pay - won.interval > 2
    assert 0.1 < won.interval < 1
    lost = won_at_three("random", "thrifty", hands=50)
    assert lost.pay + lost.interval < -1.5


def test_a_player_wins_nothing_of_its_like() -> None:
    for player in ("random", "thrifty"):
        assert abs(won_at_three(player, player, hands=20).pay) < 1e-9


def test_a_measurement_is_the_same_again_and_another_with_another_seed() -> None:
    assert won_at_three("random", "random", hands=5).interval < 1e-9
    first, repeated, other = (
        won_at_three("random", "thrifty", hands=30, seed=s) for s in (4, 4, 5)
    )
    assert first == repeated != other
    assert str(first) == f"{first.pay:+.2f} ± {first.interval:.2f} a hand"


def test_few_deals_take_the_quantile_of_student() -> None:
    pays, key = np.zeros(4), agent_key(1)
    for number in range(4):
        for seat in range(3):
            game = ThreeGame()
            game.deal(1, number)
            players = [thrifty_card if place == seat else random_card for place in range(3)]
            pays[number] += play_hand(game, players, key).pays[seat] / 3
    won = won_at_three("thrifty", "random", hands=4)
    assert won.pay == pytest.approx(pays.mean())
    assert won.interval == pytest.approx(stats.t.ppf(0.975, 3) * stats.sem(pays), rel=1e-4)


@pytest.mark.parametrize("player", [["random"], 3, "randm"])
def test_who_is_no_player_is_named(player: object) -> None:
    with pytest.raises(ValueError, match="there is no player"):
        won_at_three(player, "random", 2)


@pytest.mark.parametrize("hands", [0, -1, 1, True, 2.5])
def test_too_few_hands_are_refused(hands: Any) -> None:
    with pytest.raises(ValueError, match=f"hands is {hands!r}: "):
        won_at_three("random", "random", hands)


def test_random_plays_every_legal_card_alike() -> None:
    game = ThreeGame(3)
    key = agent_key(1)
    counts = dict.fromkeys(game.legal(), 0)
    for number in range(7000):
        game.number = number
        counts[random_card(game.view(), three_stream(key, game))] += 1
    assert all(abs(count - 1000) < 120 for count in counts.values())


def test_streams_differ_from_card_to_card_and_from_seat_to_seat() -> None:
    game, key, streams = ThreeGame(3), agent_key(1), set()
    while not game.over:
        streams.add(int(three_stream(key, game)[0]))
        game.play(game.legal()[0])
    assert len(streams) == 52
    game.deal(3)
    assert three_stream(agent_key(2), game)[0] not in streams


def test_thrifty_leaves_to_the_dummy_only_what_is_not_its_own() -> None:
    compared = 0
    for number in range(200):
        game = ThreeGame(2, number)
        key = agent_key(0)
        while not game.over:
            view = game.view()
            chosen = card(thrifty_card(view, three_stream(key, game)))
            if view.turn == DUMMY and view.trick[0] and view.winner == 0:
                compared += 1
                assert chosen == min(
                    game.legal(),
                    key=lambda legal_card: (legal_card // 13 == game.trump, legal_card % 13),
                )
            game.play(chosen)
    assert compared > 50
