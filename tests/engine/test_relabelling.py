"""The suit order `trump-first` shows each situation once, whatever the suits are called."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_hidden import SEEDS, pair_of_games

from german_whist.engine.game import Game
from german_whist.engine.observation.history import histories, history_rows
from german_whist.engine.observation.spec import EXCHANGE_SPEC, OBSERVATION_SPEC, spec_of
from german_whist.engine.observation.suit_order import SUIT_ORDERS
from german_whist.engine.reference import TAKE_HIDDEN
from support import EVERY_SET, STYLES, chosen_action, dealt, engine_rules, shown


def renamed_suits(name: str, rng: random.Random) -> list[int]:
    rules = engine_rules(name)
    if rules.contract == "colour":
        names = [0, 1, 2, 3]
        if rules.suits == 4:
            names = [rng.choice((0, 3)), rng.choice((1, 2))]
            names = [names[0], names[1], 3 - names[1], 3 - names[0]]
        return names
    names = list(range(rules.suits))
    rng.shuffle(names)
    return [*names, *range(rules.suits, 4)]


def game_and_image(name: str, seed: int, rng: random.Random) -> tuple[list[int], Game, Game]:
    names = renamed_suits(name, rng)
    game = Game(engine_rules(name), seed)
    deal = [int(card) for card in game.cards_dealt]
    other = Game(game.rules)
    other.deal_cards([13 * names[card // 13] + card % 13 for card in deal], game.dealer)
    return names, game, other


def real_card(action: int, order: list[int]) -> int:
    return action if action >= TAKE_HIDDEN else 13 * order[action // 13] + action % 13


@settings(max_examples=150)
@given(name=st.sampled_from(EVERY_SET), seed=SEEDS)
def test_renaming_suits_changes_nothing_that_is_shown(name: str, seed: int) -> None:
    rng = random.Random(seed)
    names, game, other = game_and_image(name, seed, rng)
    games = pair_of_games(name, "trump-first")
    games.batch.games[0], games.batch.games[1] = game.array[0], other.array[0]
    step = games.observe()
    style = rng.choice(STYLES)
    while True:
        for array in (step.observations, step.masks, step.rewards, step.seats):
            assert array[0].tobytes() == array[1].tobytes()
        if step.ended.any():
            break
        legal = np.flatnonzero(step.masks[0]).tolist()
        hand = np.flatnonzero(step.observations[0, OBSERVATION_SPEC.slice("own_hand")]).tolist()
        action = chosen_action(style, legal, hand, bool(games.batch.games["drawn"][0]), rng)
        # Suits that look alike may stand in either order, so the same card is looked up.
        orders = games.batch.suit_orders.tolist()
        card = real_card(action, orders[0])
        image = card if card >= TAKE_HIDDEN else 13 * names[card // 13] + card % 13
        step = games.step(np.array([action, shown(image, orders[1])]))
    assert games.batch.results["tricks"][0].tolist() == games.batch.results["tricks"][1].tolist()


@settings(max_examples=80)
@given(name=st.sampled_from(EVERY_SET), seed=SEEDS)
def test_renaming_suits_changes_no_history(name: str, seed: int) -> None:
    rng = random.Random(seed)
    names, game, other = game_and_image(name, seed, rng)
    rules, rows = game.rules.array(), history_rows(game.rules)
    while True:
        for seat in (0, 1):
            told = []
            for view in (game.view(seat), other.view(seat)):
                history, (order,) = histories(rules, view.array, rows, True)
                legal = sorted(shown(action, order.tolist()) for action in view.legal())
                told.append((history.tobytes(), legal))
            assert told[0] == told[1]
        if game.over:
            break
        action = rng.choice(game.legal())
        game.play(action)
        other.play(action if action >= TAKE_HIDDEN else 13 * names[action // 13] + action % 13)


def test_alike_suits_are_told_apart_by_the_card_led() -> None:
    # The follower never held a red card and has seen one queen of each red suit;
    # only the suit of the one just led sets them apart.
    rules = {"suits": 3, "ranks": 3, "hand": 2, "stock": 0, "trumps": "none"}
    games = dealt(rules, 2, suit_order="trump-first")
    for index, reds in enumerate((("QD", "QH"), ("QH", "QD"))):
        game = Game(rules)
        game.deal_cards("QD QC QH KC", 1)
        for action in (reds[0], "QC", reds[1]):
            game.play(action)
        games.batch.games[index] = game.array[0]
    step = games.observe()
    assert step.observations[0].tobytes() == step.observations[1].tobytes()


def test_trumps_stand_first_and_side_suits_follow_the_own_hand() -> None:
    games = dealt("classic", 200, 6, suit_order="trump-first")
    hands = games.observe().observations[:, OBSERVATION_SPEC.slice("own_hand")].reshape(-1, 4, 13)
    strength = hands.astype(int) @ (1 << np.arange(13))
    assert (strength[:, 1] >= strength[:, 2]).all()
    assert (strength[:, 2] >= strength[:, 3]).all()
    trumps = games.observe().observations[:, OBSERVATION_SPEC.slice("trumps")]
    assert (trumps == [1, 0, 0, 0, 0]).all()


@pytest.mark.parametrize("suit_order", SUIT_ORDERS)
def test_names_of_groups_cover_the_vector_once(suit_order: str) -> None:
    for table in (OBSERVATION_SPEC, EXCHANGE_SPEC):
        places = np.zeros(table.size, int)
        for group in table.groups:
            places[table.slice(group.name)] += 1
        assert (places == 1).all()
    with pytest.raises(KeyError, match=r"own_hands.*own_hand"):
        OBSERVATION_SPEC.slice("own_hands")
    # What is shown of an exchange stands behind all that others show.
    assert EXCHANGE_SPEC.groups[: len(OBSERVATION_SPEC.groups)] == OBSERVATION_SPEC.groups
    for name in EVERY_SET:
        games = dealt(engine_rules(name), 2, suit_order=suit_order)
        observations = games.observe().observations
        assert observations.shape == (2, spec_of(games.rules).size)
        assert set(np.unique(observations).tolist()) <= {0, 1}
