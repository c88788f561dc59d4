"""Nothing that a player cannot know has any part in what that player is shown.

Worlds that differ only in cards a player has not seen have to give the same
view, observation, mask and history, bit for bit; and a view forgets nothing.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from german_whist.engine.dtypes import MAX_TRICKS, VIEW
from german_whist.engine.game import Game, IllegalAction
from german_whist.engine.observation.history import histories, history_rows
from german_whist.engine.observation.suit_order import SUIT_ORDERS
from german_whist.engine.reference import ReferenceGame, ReferenceRules
from german_whist.engine.rules import Rules
from german_whist.engine.view import View, blank_tricks
from german_whist.envs import SelfPlayEnv
from support import (
    EVERY_SET,
    STYLES,
    chosen_action,
    dealt,
    engine_rules,
    expected_view,
    plain_twin,
    view_bytes,
)

SETS = st.sampled_from(EVERY_SET)
SEEDS = st.integers(0, 2**32)
SEATS = st.sampled_from((0, 1))


def position(name: str, seed: int) -> tuple[Game, ReferenceGame]:
    rng = random.Random(seed)
    game = Game(engine_rules(name), seed)
    plain = plain_twin(game)
    styles = [rng.choice(STYLES) for _ in range(2)]
    for _ in range(rng.randrange(2 * game.rules.tricks + 1)):
        if game.over:
            break
        turn = game.turn or 0
        hand = plain.hands[turn]
        action = chosen_action(styles[turn], game.legal(), hand, not game.stock, rng)
        game.play(action)
        plain.play(action)
    return game, plain


def test_blank_tricks_are_those_of_a_view_before_the_first_trick() -> None:
    blank = np.zeros(1, VIEW)
    blank_tricks(blank)
    dealt_view = Game("classic", seed=1).view(0).array
    names = [name for name in VIEW.names or () if VIEW[name].shape == (MAX_TRICKS,)]
    assert names
    for name in names:
        assert blank[name].tolist() == dealt_view[name].tolist(), name


def exchanged(game: Game, seat: int, exchange: dict[int, int]) -> Game:
    determinization = game.clone()
    record = determinization.array[0]
    for place, card in enumerate(game.cards_dealt):
        record["deal"][place] = exchange.get(int(card), int(card))
    for holder in range(2):
        cards = [exchange.get(int(card), int(card)) for card in game.hands[holder]]
        record["hand"][holder] = sum(1 << card for card in cards)
    assert record["hand"][seat] == game.array[0]["hand"][seat]
    return determinization


@cache
def pair_of_games(name: str, suit_order: str) -> SelfPlayEnv:
    return dealt(engine_rules(name), 2, suit_order=suit_order)


def shown_to_mover(
    determinizations: tuple[Game, Game], suit_order: str
) -> tuple[tuple[bytes, bytes], ...]:
    games = pair_of_games(determinizations[0].rules.name, suit_order)
    for index, determinization in enumerate(determinizations):
        games.batch.games[index] = determinization.array[0]
    step = games.observe()
    return tuple((step.observations[i].tobytes(), step.masks[i].tobytes()) for i in range(2))


def history_bytes(view: View, relabel: bool) -> bytes:
    rules = view.rules
    rows, orders = histories(rules.array(), view.array, history_rows(rules), relabel)
    return rows.tobytes() + orders.tobytes()


def check_same_to(seat: int, game: Game, determinization: Game) -> None:
    view, other_view = game.view(seat), determinization.view(seat)
    assert view.array.tobytes() == other_view.array.tobytes()
    assert view == other_view
    assert hash(view) == hash(other_view)
    assert repr(view) == repr(other_view)
    assert view.legal() == other_view.legal()
    for relabel in (False, True):
        assert history_bytes(view, relabel) == history_bytes(other_view, relabel)
    if game.turn == seat:
        for suit_order in SUIT_ORDERS:
            one, other = shown_to_mover((game, determinization), suit_order)
            assert one == other


@settings(max_examples=250)
@given(name=SETS, seed=SEEDS, seat=SEATS, mixing=SEEDS)
def test_unseen_cards_change_nothing_shown(name: str, seed: int, seat: int, mixing: int) -> None:
    game, plain = position(name, seed)
    unseen = plain.view(seat)["unseen"]
    shuffled = random.Random(mixing).sample(unseen, len(unseen))
    check_same_to(seat, game, exchanged(game, seat, dict(zip(unseen, shuffled, strict=True))))


@settings(max_examples=150)
@given(name=SETS, seed=SEEDS, seat=SEATS, mixing=SEEDS)
def test_deals_that_look_alike_look_the_same(name: str, seed: int, seat: int, mixing: int) -> None:
    game, plain = position(name, seed)
    # Two cards only: more would seldom leave every play a legal one.
    unseen = plain.view(seat)["unseen"]
    assume(len(unseen) > 1)
    one, other = random.Random(mixing).sample(unseen, 2)
    exchange = {one: other, other: one}
    determinization = Game(game.rules)
    determinization.deal_cards(
        [exchange.get(int(card), int(card)) for card in game.cards_dealt], game.dealer
    )
    # What is known of a deal by its number is no part of a view.
    determinization.array["number"] = game.array["number"]
    for action in game.actions:
        try:
            determinization.play(action)
        except IllegalAction:
            assume(False)
    check_same_to(seat, game, determinization)


@settings(max_examples=80)
@given(name=SETS, seed=SEEDS, seat=SEATS)
def test_views_are_worth_keeping(name: str, seed: int, seat: int) -> None:
    game, _ = position(name, seed)
    assume(not game.over)
    view, again = game.view(seat), game.view(seat)
    assert view is not again
    assert {view: "kept"}[again] == "kept"
    data = view.array.tobytes()
    assert not np.shares_memory(view.array, game.array)
    assert not np.shares_memory(view.array, again.array)
    assert view != game.view(1 - seat)
    game.play(game.legal()[-1])
    assert view.array.tobytes() == data
    assert view == again
    assert view != game.view(seat)
    game.undo()
    assert view == game.view(seat)


def test_views_of_other_rules_differ_and_are_immutable() -> None:
    view, margin = Game("classic", 1).view(0), Game("margin", 1).view(0)
    assert view.array.tobytes() == margin.array.tobytes()
    assert view != margin
    assert view != "classic"
    with pytest.raises(ValueError, match="read-only"):
        view.array["hand"] = 0
    with pytest.raises(ValueError, match="read-only"):
        view.array[0]["led_cards"][0] = 3
    for name, value in (("rules", Rules(name="other")), ("array", view.array.copy())):
        with pytest.raises((AttributeError, TypeError)):
            setattr(view, name, value)


# -- perfect recall

_TINY: dict[str, dict[str, Any]] = {
    "two by two": {"suits": 2, "ranks": 2, "hand": 1, "stock": 2},
    "one hidden": {"suits": 2, "ranks": 3, "hand": 1, "stock": 4, "trumps": "none"},
    "blind": {"suits": 1, "ranks": 6, "hand": 1, "stock": 4, "trumps": "none", "faced": "never"},
    "aside": {"suits": 2, "ranks": 3, "hand": 1, "stock": 2},
    "a draft": {"suits": 3, "ranks": 2, "hand": 1, "stock": 4, "choice": True},
    "two up": {"suits": 3, "ranks": 2, "hand": 1, "stock": 4, "face_up": 2},
    "two to choose": {"suits": 3, "ranks": 2, "hand": 1, "stock": 4, "face_up": 2, "choice": True},
    "an exchange": {"suits": 2, "ranks": 3, "hand": 1, "exchange": True},
    "an exchange of two": {"suits": 2, "ranks": 4, "hand": 2, "exchange": True},
    "two each": {"suits": 1, "ranks": 6, "hand": 2, "stock": 2},
}


@pytest.mark.parametrize("name", _TINY)
def test_views_are_equal_exactly_when_the_same_was_seen(name: str) -> None:
    rng = random.Random(name)
    rules = Rules(name=name, **_TINY[name])
    plain_rules = ReferenceRules(name, **{"stock": 0} | _TINY[name])
    by_view: dict[bytes, Any] = {}
    by_notes: dict[Any, bytes] = {}
    met_again = 0
    for number in range(250):
        game = Game(rules, 4, number)
        plain = ReferenceGame(plain_rules, [int(card) for card in game.cards_dealt], game.dealer)
        while True:
            for seat in (0, 1):
                plain_view = plain.view(seat)
                notes = (seat, tuple(plain_view["events"]))
                data = game.view(seat).array.tobytes()
                met_again += data in by_view
                if notes not in by_notes:
                    assert data == view_bytes(expected_view(plain_view))
                assert by_view.setdefault(data, notes) == notes
                assert by_notes.setdefault(notes, data) == data
            if game.over:
                break
            action = rng.choice(game.legal())
            game.play(action)
            plain.play(action)
    assert met_again > 160
