"""Endings from Python: single positions, views, arrays, and what is refused in words."""

import random

import numpy as np
import pytest
from plain_endgame import PlainEnding, random_ending

from german_whist.engine import endgame
from german_whist.engine.cards import card, card_set
from german_whist.engine.endgame import solver
from german_whist.engine.game import Game
from german_whist.engine.rules import Rules
from support import played_out


@pytest.fixture(autouse=True)
def small_tables(monkeypatch):
    made = {}

    def load_tablebase(trumps=True, low=False):
        if (trumps, low) not in made:
            made[trumps, low] = endgame.tablebase_in_memory(6, trumps, low)
        return made[trumps, low]

    monkeypatch.setattr(solver, "load_tablebase", load_tablebase)
    return load_tablebase


def test_values_and_moves_from_python():
    hands = [card_set("AS KS 2H"), card_set("QS JS 3H")]
    assert endgame.value(hands, None, 0) == 2
    assert endgame.value(hands, None, 1) == 1
    moves = endgame.moves(hands, None, 0)
    assert moves == {card("2H"): 2, card("KS"): 2, card("AS"): 2}
    hands[0] = card_set("AS KS")
    assert endgame.moves(hands, None, 0, led=card("2H")) == {card("3H"): 1}
    assert endgame.best_card(hands, None, 0, led=card("2H")) == card("3H")
    low = endgame.moves([card_set("2C AC"), card_set("3C 4C")], 0, 0, low=True)
    assert low == {card("2C"): 1, card("AC"): 1}


@pytest.mark.parametrize(
    ("hand", "trump", "best"), [("2S AC", 3, "AC"), ("2S AC", None, "2S"), ("5D 5C", None, "5C")]
)
def test_the_lowest_of_equal_cards_is_chosen_trumps_last(hand, trump, best):
    assert str(endgame.best_card([card_set(hand), card_set("3H 4H")], trump, 0)) == best


@pytest.mark.parametrize(
    ("hands", "trump", "leader", "led", "words"),
    [
        ([1, 3], None, 0, None, "2C is in two places"),
        ([1, 6], None, 0, None, "has 1 cards and the other 2"),
        ([0, 0], None, 0, None, "from 1 to 13"),
        ([(1 << 14) - 1, ((1 << 14) - 1) << 14], None, 0, None, "from 1 to 13"),
        ([1, 2], 5, 0, None, "trump is 5"),
        ([1, 2], None, 2, None, "leader is 2"),
        ([1, 1 << 60], None, 0, None, "bits 0 to 51"),
        ([1, 2, 4], None, 0, None, "3 hands"),
        ([1, 2], None, 0, 4, "its cards and the card led"),
        ([1, 2], None, 0, 0, "2C is in two places"),
        (["AS", "KS"], "X", 0, None, "trump is 'X': it is a suit .* one of the letters C D H S"),
        (["AS", "KS"], 1.0, 0, None, "trump is 1.0"),
        (["AS", "KS"], True, 0, None, "trump is True"),
        (["AS", "XS"], None, 0, None, "'XS' is not a card"),
        (["AS AS", "KS QS"], None, 0, None, "AS comes twice"),
        ("AS KS", None, 0, None, "hands is 'AS KS': give two hands"),
        ([1.5, 2], None, 0, None, "1.5 is no hand"),
    ],
)
def test_what_is_no_ending_is_refused_in_words(hands, trump, leader, led, words):
    with pytest.raises(ValueError, match=words):
        endgame.moves(hands, trump, leader, led)


def test_hands_and_trumps_are_taken_as_texts_too():
    sets = [card_set("2S AC"), card_set("3H KC")]
    for trump, number in (("S", 3), ("s", 3), ("C", 0), (None, None), (4, None)):
        expected = endgame.moves(sets, number, 0)
        assert endgame.moves(["2S AC", "3H KC"], trump, 0) == expected
        assert endgame.moves([["2S", "AC"], [card("3H"), card("KC")]], trump, 0) == expected
    assert endgame.moves(["2S", "3H KC"], "S", 0, led="AC") == {card("KC"): 0}


def to_endgame(rules, seed, chance):
    game = Game(rules, seed=seed)
    while not game.over and game.view(0).stock_left:
        game.play(chance.choice(game.legal()))
    return game


@pytest.mark.parametrize("rules", ["classic", "small-last", "quick", "no-trump", "colour", "draft"])
def test_views_are_solved_from_the_fourteenth_trick_on(rules):
    chance = random.Random(rules)
    for seed in range(6):
        game = to_endgame(rules, seed, chance)
        while not game.over:
            if len(game.hands[game.turn]) <= 5:
                check_against_plain(game)
            mover = game.view(game.turn)
            moves = endgame.moves_of(mover)
            assert sorted(moves) == sorted(game.legal())
            best = (min if game.low else max)(moves.values())
            assert endgame.value_of(mover) == best
            other = endgame.value_of(game.view(1 - game.turn))
            assert best + other == len(game.hands[game.turn])
            assert moves[endgame.best_card_of(mover)] == best
            game.play(chance.choice(game.legal()))


def check_against_plain(game):
    plain = PlainEnding(game.trump, game.low)
    hand, other_hand = (tuple(map(int, game.hands[seat])) for seat in (game.turn, 1 - game.turn))
    if game.led is None:
        expected = plain.leads(hand, other_hand)
    else:
        replies = plain.replies(int(game.led), other_hand, hand)
        expected = {card: len(hand) - tricks for card, tricks in replies.items()}
    assert endgame.moves_of(game.view(game.turn)) == expected


def test_positions_that_are_not_open_are_refused():
    game = Game("classic", seed=1)
    for act in (endgame.value_of, endgame.moves_of, endgame.best_card_of):
        with pytest.raises(endgame.NotOpenError, match="26 cards are left in the stock"):
            act(game.view(0))
    game = to_endgame(Rules(name="aside", hand=6, stock=12), 0, random.Random(0))
    with pytest.raises(endgame.NotOpenError, match="28 cards are set aside"):
        endgame.moves_of(game.view(game.turn))
    game = to_endgame("classic", 1, random.Random(0))
    with pytest.raises(ValueError, match="the other player is to move"):
        endgame.moves_of(game.view(1 - game.turn))
    played_out(game)
    with pytest.raises(endgame.NotOpenError, match="the hand is over"):
        endgame.value_of(game.view(0))


def test_races_are_refused_and_solved_by_a_function_of_their_own():
    solved = 0
    for seed in range(40):
        game = to_endgame("race-9", seed, random.Random(seed))
        while not game.over:
            view = game.view(game.turn)
            with pytest.raises(endgame.NotOpenError, match="is a race to 9 tricks"):
                endgame.value_of(view)
            moves = endgame.race_moves_of(view)
            assert sorted(moves) == sorted(game.legal())
            mover, best = game.turn, max(moves.values())
            assert best != 0
            game.play(max(moves, key=lambda action: moves[action]))
            solved += 1
            if not game.over:
                after = max(endgame.race_moves_of(game.view(game.turn)).values())
                assert after == (best if game.turn == mover else -best)
            else:
                assert (game.counting_tricks[mover] == 9) == (best == 1)
    assert solved > 20
    game = to_endgame("classic", 1, random.Random(0))
    with pytest.raises(endgame.NotOpenError, match="is no race"):
        endgame.race_moves_of(game.view(game.turn))
    assert endgame.race_moves([0b01, 0b10], None, 1, [1, 1]) == {card(1): 1}


def random_rows(source, count, most):
    hands = np.zeros((count, 2), np.uint64)
    for row in hands:
        row[:] = list(map(card_set, random_ending(source, most)))
    trumps = np.array([source.randrange(5) for _ in range(count)])
    leaders = np.array([source.randrange(2) for _ in range(count)])
    return hands, trumps, leaders


@pytest.mark.parametrize(("low", "threads"), [(False, 3), (True, 1)])
def test_arrays_give_what_single_positions_give(low, threads):
    hands, trumps, leaders = random_rows(random.Random(3), 100, 9)
    values = endgame.values(hands, trumps, leaders, low, threads)
    assert (values.shape, values.dtype) == ((100,), np.int8)
    for k in range(100):
        trump = None if trumps[k] == 4 else int(trumps[k])
        position = [int(hand) for hand in hands[k]], trump, int(leaders[k])
        assert values[k] == endgame.value(*position, low=low)


def test_arrays_that_hold_no_endings_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        endgame.values(np.zeros(3, np.uint64), 0, 0)
    hands = np.array([[1, 2], [1, 1]], np.uint64)
    with pytest.raises(ValueError, match="position 1 is no ending"):
        endgame.values(hands, 0, 0)
    assert endgame.values(np.zeros((0, 2), np.uint64), 0, 0).shape == (0,)
