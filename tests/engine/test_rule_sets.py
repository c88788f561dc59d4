"""Rule sets of any parameters: what is accepted can be played to its end, and what is said holds.

Hands are rigged so that one player takes every trick, with the other's help: if that
pays nothing, no hand does.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_parameters import parameters, results

from german_whist.engine.cards import KEEP, TAKE_HIDDEN
from german_whist.engine.game import Game
from german_whist.engine.play import payoff_of_tricks, row
from german_whist.engine.reference import ReferenceGame, ReferenceRules, lead_wins, legal_cards
from german_whist.engine.rules import Match, Rules, RulesError
from support import EVERY_SET, engine_rules


def one_sided_deal(rules: Rules) -> list[int]:
    """A deal in which the first player can win every trick."""
    pairs, left = [], []
    for suit in range(rules.suits):
        cards = [card for card in rules.deck if card.suit == suit][::-1]
        pairs += list(zip(cards[0::2], cards[1::2], strict=False))
        left += cards[2 * (len(cards) // 2) :]
    # Odd cards of two suits: the first suit is trumps, so nothing of the other beats it.
    pairs += list(zip(left[0::2], left[1::2], strict=False))
    hands, stock = pairs[: rules.hand], pairs[rules.hand : rules.tricks]
    if stock:
        # Clubs are turned up first, so that they are trumps where there are any.
        clubs = next(pair for pair in pairs[: rules.tricks] if pair[0].suit == 0)
        hands = [pair for pair in pairs[: rules.tricks] if pair != clubs]
        hands, stock = hands[: rules.hand], [clubs, *hands[rules.hand :]]
    if rules.exchange:  # beside each card of a hand lies one of the blind hands
        hands.sort(key=lambda pair: -pair[0].suit)
        blind = iter(card for card in rules.deck if all(card not in pair for pair in hands))
        hands = [(next(blind), one, next(blind), other) for one, other in hands]
    return [int(card) for pair in (*hands, *stock) for card in pair]


def helped(game: Game) -> int:
    seat = game.turn or 0
    if game.phase == "choose":
        return game.stock[0] if game.stock[0] in game.legal() else TAKE_HIDDEN
    if game.phase == "exchange":
        return KEEP
    if game.phase == "follow":
        assert game.led is not None
        losing = [card for card in game.legal() if lead_wins(int(game.led), card, game.trump)]
        return max(losing, key=lambda card: card % 13)
    hand, other_hand = (list(map(int, cards)) for cards in (game.hands[seat], game.hands[1 - seat]))
    return next(
        card
        for card in sorted(hand, key=lambda card: -(card % 13))
        if any(lead_wins(card, reply, game.trump) for reply in legal_cards(other_hand, card))
    )


def plays_out_one_sided(rules: Rules, match: Match | None = None) -> Game:
    game = Game(rules, match=match)
    game.deal_cards(one_sided_deal(rules), 1)
    while not game.over:
        game.play(helped(game))
    assert game.counting_tricks == (rules.max_tricks, 0)
    return game


@settings(max_examples=150)
@given(values=parameters())
def test_accepted_rules_have_hands_that_pay(values: dict[str, Any]) -> None:
    try:
        rules = Rules(**values)
    except RulesError as error:
        if "no hand would ever pay" in str(error):
            assert not any(max(payoffs) for *_, payoffs in results(ReferenceRules(**values)))
        return
    game = plays_out_one_sided(rules)
    assert 0 < max(game.payoffs) <= rules.max_payoff
    assert rules.max_payoff == max(
        max(payoffs) for *_, payoffs in results(ReferenceRules(**values))
    )


@pytest.mark.parametrize("name", EVERY_SET)
def test_every_set_of_the_tests_has_a_match_that_ends(name: str) -> None:
    rules = engine_rules(name)
    game = plays_out_one_sided(rules, Match(best_of=1))
    assert game.match_over
    assert max(game.points) == max(game.payoffs)


@settings(max_examples=100)
@given(values=parameters(), seed=st.integers(0, 2**32))
def test_where_the_winner_chooses_a_choice_does_come_up(values: dict[str, Any], seed: int) -> None:
    values["choice"] = True
    try:
        rules = Rules(**values)
    except RulesError as error:
        if str(error).startswith("choice is true"):
            plain, rng = ReferenceRules(**values), random.Random(seed)
            deals = [rng.sample(plain.deck, len(plain.deck)) for _ in range(5)]
            assert not any(chooses(ReferenceGame(plain, deal, 0), seed) for deal in deals)
        return
    assert any(chooses(Game(rules, seed, number), number) for number in range(60))


def chooses(game: Game | ReferenceGame, seed: int) -> bool:
    rng = random.Random(seed)
    while game.phase not in ("over", "choose"):
        game.play(rng.choice(game.legal()))
    return game.phase == "choose"


@pytest.mark.parametrize("book", range(13))
@pytest.mark.parametrize("counts", ["last", "all"])
def test_decided_hands_pay_where_every_majority_does(counts: str, book: int) -> None:
    rules = Rules(pay="over_book", book=book, counts=counts, slam_pay=9)
    record, tricks = row(rules.array(), 0), rules.counting_tricks
    majorities = range(tricks // 2 + 1, tricks + 1)
    all_pay = all(payoff_of_tricks(record, 0, count, tricks - count) > 0 for count in majorities)
    assert rules.decided_hands_pay == all_pay
