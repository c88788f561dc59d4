"""The engine against the plain implementation, move by move, over every rule set.

At every move: phase, seat to move, legal actions and the whole view of whoever is to move; of the
other seat at every second. What `View` and `Game` say to people: on a share of the hands.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from dataclasses import fields
from typing import Any

import pytest

from german_whist.engine.game import Game
from german_whist.engine.reference import (
    KEEP_HAND,
    RULE_SETS,
    TAKE_BLIND,
    TAKE_HIDDEN,
    ReferenceGame,
    ReferenceMatch,
    ReferenceRules,
)
from german_whist.engine.rules import Match, named_rules
from german_whist.engine.view import View
from support import (
    EVERY_SET,
    ODD,
    STYLES,
    chosen_action,
    differences,
    engine_rules,
    expected_view,
    plain_rules,
    plain_twin,
    view_bytes,
)

SHARE_READ_BY_PEOPLE = 24


def score_of(match: ReferenceMatch | None, hands: int) -> dict[str, Any]:
    if match is None:
        return {}
    return {"points": match.totals, "hands": hands, "hands_won": match.hands_won}


def check_view(view: View, expected: dict[str, Any]) -> None:
    actual = view.array.tobytes()
    assert actual == view_bytes(expected), differences(actual, expected)


def check_properties(view: View, plain: Any, legal: list[int], took_second: list[int]) -> None:
    me = plain["seat"]
    assert (view.seat, view.phase, view.to_move) == (me, plain["phase"], plain["turn"] == me)
    assert view.legal() == (legal if view.to_move else [])
    assert view.hand == plain["hand"]
    assert view.opponent_known == plain["opponent_known"]
    assert view.unseen == plain["unseen"]
    assert view.upcards == plain["upcards"]
    assert (view.led, view.trump, view.low) == (plain["led"], plain["trump"], plain["low"])
    assert view.i_deal == (plain["dealer"] == me)
    assert (view.trick, view.stock_left) == (plain["trick_number"], plain["stock_left"])
    assert view.endgame == (plain["stock_left"] == 0)
    assert view.opponent_hand_size == plain["opponent_hand_size"]
    assert view.counting_tricks == plain["counting"]
    assert view.void_draws == plain["opponent_void"]
    assert (view.turned, view.exchanged) == (plain["turned"], plain["exchanged"])
    assert view.laid_away == plain["laid_away"]
    if plain["leader"] is not None:
        assert view.i_lead == (plain["leader"] == me)
    played = {True: set(), False: set()}
    for trick in plain["tricks"]:
        played[trick["leader"] == me].add(trick["lead"])
        if trick["follow"] is not None:
            played[trick["leader"] != me].add(trick["follow"])
    assert set(view.played_by_me) == played[True]
    assert set(view.played_by_opponent) == played[False]
    tricks = list(view.tricks())
    assert len(tricks) == len(plain["tricks"])
    for index, (trick, expected) in enumerate(zip(tricks, plain["tricks"], strict=True)):
        assert trick.took_second == took_second[index]
        assert trick.i_led == (expected["leader"] == me)
        assert (trick.led, trick.followed) == (expected["lead"], expected["follow"])
        draws = expected["own_draw"], expected["opponent_draw"]
        assert (trick.my_draw, trick.opponent_draw) == draws
        assert trick.opponent_drew_unseen == (expected["opponent_took"] == "hidden")


def check_game(game: Game, plain: ReferenceGame) -> None:
    assert game.hands == tuple(sorted(hand) for hand in plain.hands)
    assert game.stock == plain.stock
    assert game.upcards == plain.upcards
    assert (game.led, game.trump, game.low) == (plain.led, plain.trump, plain.low)
    assert game.counting_tricks == tuple(plain.counting)
    assert game.trick == plain.view(0)["trick_number"]
    assert (game.turned, game.exchanged) == (plain.turned, plain.view(0)["exchanged"])


def play_out(
    game: Game,
    plain: ReferenceGame,
    rng: random.Random,
    in_words: bool,
    match: ReferenceMatch | None = None,
    hands: int = 0,
) -> Counter[str]:
    styles = (rng.choice(STYLES), rng.choice(STYLES))
    happened: Counter[str] = Counter()
    score = score_of(match, hands)
    while True:
        if plain.phase == "over" and match is not None:
            after = copy.deepcopy(match)
            after.add(plain.payoffs())
            score = score_of(after, hands + 1)
        legal = plain.legal()
        assert (game.phase, game.turn) == (plain.phase, plain.turn)
        assert game.legal() == legal
        whole = in_words or plain.turn is None or rng.random() < 0.5
        for seat in (0, 1) if whole else (plain.turn,):
            view, plain_view = game.view(seat), plain.view(seat)
            expected = expected_view(plain_view, **score)
            check_view(view, expected)
            if in_words:
                check_properties(view, plain_view, legal, expected["took_second"])
        if in_words:
            check_game(game, plain)
        if plain.phase == "over":
            break
        hand = plain.hands[plain.turn]
        action = chosen_action(styles[plain.turn], legal, hand, not plain.stock, rng)
        happened[plain.phase] += 1
        happened["failed to follow"] += (
            plain.phase == "follow" and action // 13 != plain.led // 13  # type: ignore[operator]
        )
        happened["kept"] += action == KEEP_HAND
        happened["took a blind hand"] += action == TAKE_BLIND
        happened["took hidden"] += action == TAKE_HIDDEN
        happened["took shown"] += plain.phase == "choose" and action != TAKE_HIDDEN
        happened["took lower"] += plain.phase == "choose" and action != plain.stock[0]
        game.play(action)
        plain.play(action)
    assert game.over
    assert game.payoffs == tuple(plain.payoffs())
    happened["tie"] += plain.counting[0] == plain.counting[1]
    happened["slam"] += max(plain.counting) == plain.rules.counting_tricks
    happened["seat 0 won"] += plain.payoffs()[0] > 0
    happened["seat 1 won"] += plain.payoffs()[1] > 0
    happened["ended early"] += bool(plain.hands[0])
    happened["fewer tricks won"] += plain.payoffs()[0] * (plain.counting[0] - plain.counting[1]) < 0
    return happened


@pytest.mark.parametrize("hands", [30, pytest.param(300, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", EVERY_SET)
def test_engine_plays_as_the_plain_implementation(name: str, hands: int) -> None:
    rng = random.Random(f"agreement {name}")
    seed = rng.randrange(2**64)
    game = Game(engine_rules(name), seed)
    happened: Counter[str] = Counter()
    for number in range(hands):
        game.deal(seed, number)
        in_words = number % SHARE_READ_BY_PEOPLE == 0
        happened += play_out(game, plain_twin(game), rng, in_words)
    # A comparison proves nothing about cases that never occurred.
    rules = plain_rules(name)
    assert happened["seat 0 won"]
    assert happened["seat 1 won"]
    assert rules.suits == 1 or happened["failed to follow"]
    if rules.counting_tricks % 2 == 0 and rules.ranks > 1 and rules.race is None:
        assert happened["tie"]
    assert rules.race is None or rules.counts == "last" or happened["ended early"]
    if rules.choice:
        assert happened["choose"]
        assert happened["took lower"]
        assert happened["took shown"]
        assert bool(happened["took hidden"]) == (rules.face_up == 1)
    assert bool(happened["kept"]) == bool(happened["took a blind hand"]) == rules.exchange
    if rules.contract != "high":
        assert happened["fewer tricks won"]
    if rules.slam_pay is not None:
        assert happened["slam"]


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("classic", Match(target=5)),
        ("classic", Match(best_of=1)),
        ("small-all", Match(target=10)),
        ("club-last", Match(best_of=3)),
        ("all-tricks", Match(best_of=5)),
        ("colour", Match(target=25)),
        ("race-9", Match(best_of=3)),
        ("two by six", Match(target=10)),
        ("low", Match(best_of=5)),
    ],
)
def test_matches_add_up_as_in_the_plain_implementation(name: str, match: Match) -> None:
    rng = random.Random(f"match {name} {match}")
    rules = engine_rules(name)
    game = Game(rules, 11, match=match)
    number = 0
    for _ in range(6):
        plain_match = ReferenceMatch(match.target, match.best_of, game.dealer)
        assert game.dealer == Game(rules, 11, number).dealer
        hands = 0
        while plain_match.winner is None:
            # The cards of a hand do not depend on the match; in it, the deal alternates.
            assert game.cards_dealt == Game(rules, 11, number).cards_dealt
            assert game.dealer == plain_match.dealer
            plain = plain_twin(game)
            play_out(game, plain, rng, in_words=False, match=plain_match, hands=hands)
            plain_match.add(plain.payoffs())
            hands += 1
            number += 1
            assert game.points == tuple(plain_match.totals)
            assert game.hands_won == tuple(plain_match.hands_won)
            assert game.match_over == (plain_match.winner is not None)
            game.deal_next()
            assert not game.match_over


@pytest.mark.parametrize(
    ("points", "over"), [((10, 10), False), ((12, 12), False), ((12, 11), True), ((9, 3), False)]
)
def test_equal_totals_at_the_target_play_on(points: tuple[int, int], over: bool) -> None:
    game = Game("all-margin", match=Match(target=10))
    plain = ReferenceMatch(target=10)
    game.array["points"][0] = points
    plain.totals = list(points)
    assert game.match_over == (plain.winner is not None) == over


def test_yaml_files_hold_the_named_sets_of_the_rules() -> None:
    assert named_rules().keys() == RULE_SETS.keys()
    for name, plain in RULE_SETS.items():
        rules = named_rules()[name]
        for field in fields(ReferenceRules):
            assert getattr(rules, field.name) == getattr(plain, field.name), (name, field.name)
        assert rules.deck == tuple(plain.deck)
        assert rules.counting_tricks == plain.counting_tricks
        assert rules.actions == {"draft": 53, "humbug": 55}.get(name, 52)
    assert set(ODD).isdisjoint(RULE_SETS)
