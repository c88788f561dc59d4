"""Exact payoffs of endings, and perfect play of them, against minimax over the plain rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import fields
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from german_whist import Game, Rules, RulesError, View
from german_whist.agents.costs import exact_payoffs
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.agents.registry import load_agent
from german_whist.agents.search.leaf_values import (
    ending_value,
    ending_value_for_seat,
    has_exact_value,
)
from german_whist.engine.endgame import load_tablebase, new_scratch
from german_whist.engine.endgame.game_values import inexact_reason
from german_whist.engine.enumerate_deals import all_deals
from german_whist.engine.play import more_tricks_pay, row
from german_whist.engine.reference import ReferenceGame, ReferenceRules, lead_wins, legal_cards

Hands = tuple[tuple[int, ...], tuple[int, ...]]
Counting = tuple[int, int]
Values = Callable[[Game], dict[int, int]]


def plain_values(game: Game) -> Values:
    """Minimax over the plain rules in the endings of a hand: every card, to the end, no pruning."""
    rules = game.rules
    names = [field.name for field in fields(ReferenceRules)]
    plain = ReferenceRules(**{name: getattr(rules, name) for name in names})
    deal = game.array["deal"][0, : len(plain.deck)].tolist()
    reference = ReferenceGame(plain, deal, int(game.array["dealer"][0]))

    def without(hands: Hands, seat: int, card: int) -> Hands:
        left = tuple(other for other in hands[seat] if other != card)
        return (left, hands[1]) if seat == 0 else (hands[0], left)

    @cache
    def value(hands: Hands, turn: int, led: int | None, counting: Counting) -> int:
        """Seat 0's payoff."""
        raced = plain.race is not None and max(counting) >= plain.race
        if raced or not hands[turn]:
            reference.counting = [*counting]
            return reference.payoffs()[0]
        payoffs = children(hands, turn, led, counting).values()
        return max(payoffs) if turn == 0 else min(payoffs)

    def children(hands: Hands, turn: int, led: int | None, counting: Counting) -> dict[int, int]:
        found = {}
        for card in legal_cards(hands[turn], led):
            left = without(hands, turn, card)
            if led is None:
                found[card] = value(left, 1 - turn, card, counting)
                continue
            winner = 1 - turn if lead_wins(led, card, reference.trump) else turn
            taken = (counting[0] + (winner == 0), counting[1] + (winner == 1))
            found[card] = value(left, winner, None, taken)
        return found

    def payoffs(game: Game) -> dict[int, int]:
        """What each legal card pays the player to move."""
        record, sign = game.array[0], 1 if game.turn == 0 else -1
        first, second = (
            tuple(card for card in plain.deck if int(hand) >> card & 1) for hand in record["hand"]
        )
        view = game.view()
        own, other = view.counting_tricks
        counting = (own, other) if game.turn == 0 else (other, own)
        led = None if view.led is None else int(view.led)
        found = children((first, second), game.turn, led, counting)
        return {card: sign * paid for card, paid in found.items()}

    return payoffs


def check_ending(game: Game, player: EndgamePlayer, values: Values) -> int:
    """Compare what the package says of an open ending; 1 if it says anything."""
    view, plain = game.view(), values(game)
    best = max(plain.values())
    action = np.full(1, -1)
    player.improve(np.array(view.array), action)
    exact = exact_payoffs(view)
    assert (exact is not None) == player.perfect == (action[0] >= 0)
    rules, record = row(game.rules.array(), 0), row(game.array, 0)
    if view.led is None and has_exact_value(rules, record):
        tablebase = load_tablebase(game.rules.trumps == "upcard", view.low)
        assert ending_value(rules, tablebase, new_scratch(8), record) == best
        if game.rules.race is None:
            for seat, sign in ((game.turn, 1), (1 - game.turn, -1)):
                found = ending_value_for_seat(rules, tablebase, new_scratch(8), record, seat)
                assert found == sign * best
    if exact is None:
        return 0
    assert exact == plain
    assert plain[int(action[0])] == best
    # A preferred card stays in a race if it is as good, and no other does.
    if game.rules.race is not None:
        for card, paid in plain.items():
            kept = np.array([card])
            player.improve(np.array(view.array), kept)
            assert (kept[0] == card) == (paid == best)
    return 1


def endings_of(game: Game) -> Iterator[Game]:
    """A game at the beginning of each ending that plays for the stock lead to."""
    if game.over:
        return
    if game.view().open:
        yield game
        return
    for action in game.legal():
        after = deepcopy(game)
        after.play(action)
        yield from endings_of(after)


SMALL: dict[str, Any] = {"name": "small", "suits": 2, "ranks": 4, "hand": 3, "stock": 2}
PAYS: list[dict[str, Any]] = [
    {"pay": "margin"},
    {"pay": "over_book", "book": 1},
    *(
        {"race": race, "counts": counts, **pay}
        for race, counts, pay in product(
            (2, 3),
            ("last", "all"),
            (
                {"pay": "win"},
                {"pay": "margin"},
                {"pay": "over_book", "book": 1},
                {"pay": "over_book", "book": 0},
            ),
        )
    ),
    {"race": 3, "pay": "over_book", "book": 3, "slam_pay": 7},
    {"race": 4, "counts": "all", "pay": "margin"},
    {"pay": "over_book", "book": 0, "slam_pay": 2},
    {"pay": "over_book", "book": 0, "slam_pay": 1},
    {"pay": "over_book", "book": 0, "counts": "all", "slam_pay": 2},
    {"pay": "over_book", "book": 0, "counts": "all", "slam_pay": 2, "contract": "low"},
]


@pytest.mark.parametrize("pays", PAYS, ids=str)
def test_every_ending_of_a_small_deck_pays_what_minimax_finds(pays: dict[str, Any]) -> None:
    """All endings of every 37th deal: another test has random ones of other decks."""
    rules = Rules(**SMALL | pays)
    player, checked = EndgamePlayer(rules), 0
    assert more_tricks_pay(row(rules.array(), 0)) == rules.more_tricks_pay
    for deal in all_deals(rules)[::37]:
        dealt = Game(rules)
        dealt.deal_cards(deal.tolist(), 1)
        values = plain_values(dealt)
        for game in endings_of(dealt):
            while not game.over:
                checked += check_ending(game, player, values)
                game.play(random.Random(checked).choice(game.legal()))
    assert (checked > 400) == player.perfect
    assert (checked == 0) != player.perfect


def random_rules(source: random.Random) -> Rules:
    """Rules with open endings, of any pay that can be played."""
    while True:
        hand, stock = source.randint(1, 5), source.choice((0, 2, 4))
        suits = source.randint(1, 4)
        values: dict[str, Any] = {
            "name": "random",
            "hand": hand,
            "stock": stock,
            "suits": suits,
            "ranks": (2 * hand + stock) // suits,
            "trumps": source.choice(("upcard", "none")),
            "contract": source.choice(("high", "high", "low", "colour")),
            "counts": source.choice(("last", "all")),
            "pay": source.choice(("win", "margin", "over_book", "over_book")),
            "race": source.choice((None, None, source.randint(1, hand + stock // 2))),
        }
        if values["pay"] == "over_book":
            values["book"] = source.choice((None, source.randint(0, hand)))
            values["slam_pay"] = source.choice((None, source.randint(1, hand + 2)))
        try:
            rules = Rules(**values)
        except RulesError:
            continue
        if rules.open_endgame:
            return rules


def test_endings_of_random_rules_pay_what_minimax_finds() -> None:
    source, checked, kinds = random.Random(7), 0, set()
    for number in range(150):
        rules = random_rules(source)
        player = EndgamePlayer(rules)
        kinds.add((rules.pay, rules.race is not None, rules.contract, player.perfect))
        for seed in range(3):
            game = Game(rules, seed=1000 * number + seed)
            values = plain_values(game)
            while not game.over:
                if game.view().open:
                    checked += check_ending(game, player, values)
                game.play(source.choice(game.legal()))
    assert checked > 1000
    assert {kind[:2] for kind in kinds if kind[3]} == {
        (pay, race) for pay in ("win", "margin", "over_book") for race in (False, True)
    }
    assert any(not perfect and not race for _, race, _, perfect in kinds)


SLAM: dict[str, Any] = {
    "name": "dear slam",
    "suits": 2,
    "ranks": 4,
    "hand": 3,
    "stock": 2,
    "pay": "over_book",
    "book": 0,
    "slam_pay": 1,
}


def test_rules_in_which_a_slam_pays_little_have_no_exact_endings() -> None:
    rules = Rules(**SLAM)
    assert "pay less for all counting tricks than for one fewer" in inexact_reason(rules)
    for changes in ({"slam_pay": 2}, {"book": 1}, {"slam_pay": None}, {"race": 3}):
        other = Rules(**SLAM | changes)
        assert "pay less" not in inexact_reason(other)
        assert other.more_tricks_pay


@pytest.mark.parametrize("name", ["flat-mc:50", "ismcts:50", "counting", "random-exact"])
def test_agents_play_rules_in_which_a_slam_pays_little(name: str) -> None:
    agent = load_agent(name, Rules(**SLAM))
    assert not agent.perfect_endgame
    for seed in range(20):
        game = Game(agent.rules, seed)
        while not game.over:
            game.play(agent.act(View(agent.rules, np.array(game.view().array)), seed))
