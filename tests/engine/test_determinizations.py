"""Determinizations: never against the view, and distributed as every deal listed out says."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import fields
from math import comb, perm

import numpy as np
import pytest

from german_whist import Game, Rules, named_rules
from german_whist.engine.dtypes import VIEW
from german_whist.engine.reference import ReferenceGame, ReferenceRules
from german_whist.engine.sampling.determinizations import METHODS, sample_determinizations
from german_whist.engine.view import write_views
from plain_deals import count_full_deals
from support import chi_square_p

TINY = {
    "two suits": {"suits": 2, "ranks": 4, "hand": 2},
    "longer hand": {"suits": 2, "ranks": 5, "hand": 3, "stock": 4},
    "three suits": {"suits": 3, "ranks": 3, "hand": 2, "stock": 4},
    "set aside": {"suits": 2, "ranks": 5, "hand": 2, "stock": 4},
    "a draft": {"suits": 2, "ranks": 4, "hand": 2, "choice": True},
    **{
        name: {"suits": 3, "ranks": 3, "hand": 2, "stock": 4, "trumps": "none", "faced": faced}
        for name, faced in (("no trumps", "after-first"), ("nothing faced", "never"))
    },
    "one card": {"suits": 3, "ranks": 3, "hand": 1, "stock": 6},
    "an exchange": {"suits": 2, "ranks": 4, "hand": 2, "exchange": True},
    "an exchange, one left over": {"suits": 3, "ranks": 3, "hand": 2, "exchange": True},
    "an exchange, nothing shown": {"suits": 2, "ranks": 4, "hand": 2, "exchange": True}
    | {"trumps": "none", "faced": "never"},
}
DRAWN = 6000


def plain(rules: Rules) -> ReferenceRules:
    return ReferenceRules(
        **{each.name: getattr(rules, each.name) for each in fields(ReferenceRules)}
    )


def positions(rules: Rules, count: int, failures: bool) -> list[tuple[Game, ReferenceGame, int]]:
    chance = random.Random(str(rules))
    result: list[tuple[Game, ReferenceGame, int]] = []
    number = 0
    while len(result) < count:
        game = Game(rules, seed=11, number=number)
        other = ReferenceGame(plain(rules), [int(card) for card in game.cards_dealt], game.dealer)
        number += 1
        for _ in range(chance.randrange(1, 2 * rules.tricks + 2 * rules.exchange)):
            action = int(chance.choice(game.legal()))
            game.play(action)
            other.play(action)
            if game.over:
                break
        seat = chance.randrange(2)
        view = game.view(seat)
        hidden = view.opponent_hand_size - len(view.opponent_known)
        if hidden and len(view.unseen) > 1 and bool(view.void_draws) == failures:
            result.append((game, other, seat))
    return result


@pytest.mark.parametrize("name", named_rules())
def test_determinizations_have_the_view_they_come_from(name: str) -> None:
    chance = random.Random(name)
    for number in range(4):
        game = Game(name, seed=2, number=number)
        while not game.over:
            if chance.random() < 0.3:
                for seat in range(2):
                    check_worlds(game, seat, chance.randrange(2**40))
            game.play(chance.choice(game.legal()))


def check_worlds(game: Game, seat: int, seed: int) -> None:
    view = game.view(seat)
    for method in METHODS:
        games = sample_determinizations(view, 3, seed, method)
        shown = np.zeros(len(games), VIEW)
        write_views(game.rules.array(), games, np.full(len(games), seat, np.uint8), shown)
        for index, determinization in enumerate(games):
            assert shown[index].tobytes() == view.array.tobytes()
            if method == "voids":
                replay_legally(game, determinization)


def replay_legally(game: Game, determinization: np.void) -> None:
    again = Game(game.rules)
    again.deal_cards(determinization["deal"][: len(game.rules.deck)].tolist(), game.dealer)
    for action in game.actions:
        again.play(action)
    for name in ("hand", "known_cards", "played", "phase", "turn", "tricks", "failed_at", "leader"):
        assert (again.array[name][0] == determinization[name]).all(), name


Places = tuple[frozenset[int], tuple[int, ...], frozenset[int]]


def places(game: Game, seat: int, games: np.ndarray) -> Counter[Places]:
    rules = game.rules
    start, every = rules.hands_dealt * rules.hand, len(rules.deck)
    first_unknown = start + int(game.array["drawn"][0]) + len(game.view(seat).upcards)
    end = start + rules.stock_cards
    beside = [hand_beside(game, player) for player in (seat, 1 - seat)] if rules.exchange else []
    drawn: Counter[Places] = Counter()
    hands = games["hand"][:, 1 - seat].tolist()
    for cards, deal in zip(hands, games["deal"].tolist(), strict=True):
        hand_cards = frozenset(card for card in rules.deck if cards >> card & 1)
        stock = deal[first_unknown:end]
        for player in beside:
            stock += sorted(deal[player])
        drawn[hand_cards, tuple(stock), frozenset(deal[end:every])] += 1
    return drawn


def hand_beside(game: Game, seat: int) -> slice:
    which = (1 if game.exchanged[seat] else 0) + (2 if seat == game.dealer else 0)
    return slice(which, 4 * game.rules.hand, 4)


def placements(game: Game, seat: int) -> int:
    view, rules = game.view(seat), game.rules
    unseen, hidden = len(view.unseen), view.opponent_hand_size - len(view.opponent_known)
    ways = comb(unseen, hidden)
    if not rules.exchange:
        return ways * perm(unseen - hidden, view.stock_left - len(view.upcards))
    own_exchanged, other_exchanged = view.exchanged
    own = 0 if own_exchanged else rules.hand
    n_known = 1 if other_exchanged and view.turned is not None and not view.i_deal else 0
    left = unseen - hidden - own
    return ways * comb(unseen - hidden, own) * comb(left, rules.hand - n_known)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("failures", [False, True])
def test_voids_weighs_places_by_the_legal_deals_behind_them(name: str, failures: bool) -> None:
    rules = Rules(name=name, **TINY[name])
    for game, other, seat in positions(rules, 4, failures):
        events = other.view(seat)["events"]
        actions = [int(action) for action in game.actions]
        deals = count_full_deals(plain(rules), game.dealer, actions, seat, events)
        drawn = places(game, seat, sample_determinizations(game.view(seat), DRAWN, 3, "voids"))
        assert set(drawn) <= set(deals)
        agrees(drawn, {place: count / sum(deals.values()) for place, count in deals.items()})


@pytest.mark.parametrize(
    "name", ["two suits", "longer hand", "three suits", "a draft", "one card", "an exchange"]
)
def test_voids_draws_every_legal_deal_equally_often(name: str) -> None:
    rules = Rules(name=name, **TINY[name])
    for game, other, seat in positions(rules, 3, True):
        actions = [int(action) for action in game.actions]
        events = other.view(seat)["events"]
        number = sum(count_full_deals(plain(rules), game.dealer, actions, seat, events).values())
        drawn: Counter[object] = Counter()
        start, step = rules.hands_dealt * rules.hand, rules.hands_dealt
        determinizations = sample_determinizations(game.view(seat), 8 * number, 5, "voids")
        for deal in determinizations["deal"].tolist():
            first_hands = [frozenset(deal[which:start:step]) for which in range(step)]
            drawn[(*first_hands, tuple(deal[start : start + rules.stock_cards]))] += 1
        assert len(drawn) <= number
        agrees(drawn, dict.fromkeys(drawn, 1 / number), missing=number - len(drawn))


@pytest.mark.parametrize("name", TINY)
def test_plain_puts_unseen_cards_anywhere_equally_often(name: str) -> None:
    rules = Rules(name=name, **TINY[name])
    for game, _, seat in positions(rules, 3, False) + positions(rules, 3, True):
        view = game.view(seat)
        number = placements(game, seat)
        drawn = places(game, seat, sample_determinizations(view, 8 * number, 7, "uniform"))
        assert all(hand_cards >= set(view.opponent_known) for hand_cards, _, _ in drawn)
        assert len(drawn) <= number
        agrees(drawn, dict.fromkeys(drawn, 1 / number), missing=number - len(drawn))


def agrees(drawn: Counter, chances: dict, missing: int = 0) -> None:
    """Chi-square test over the outcomes, with rare ones pooled."""
    total = sum(drawn.values())
    groups = [(drawn.get(key, 0), chance * total) for key, chance in chances.items()]
    if missing:
        groups += [(0, next(iter(chances.values())) * total)] * missing
    common = [pair for pair in groups if pair[1] >= 5]
    rare = [pair for pair in groups if pair[1] < 5]
    if rare:
        common.append((sum(pair[0] for pair in rare), sum(pair[1] for pair in rare)))
    if len(common) > 1:
        observed, expected = zip(*common, strict=True)
        assert abs(sum(observed) - sum(expected)) < 1e-6 * total
        scaled = np.array(expected) * (sum(observed) / sum(expected))
        assert chi_square_p(observed, scaled) > 1e-5


def test_same_seed_draws_the_same_determinizations() -> None:
    view = Game("classic", seed=4).view(1)
    one, same, other = (sample_determinizations(view, 5, seed, "voids") for seed in (8, 8, 9))
    assert one.tobytes() == same.tobytes()
    assert one.tobytes() != other.tobytes()
    with pytest.raises(ValueError, match="method is 'all'"):
        sample_determinizations(view, 3, method="all")
    with pytest.raises(ValueError, match="n is 0"):
        sample_determinizations(view, 0)


def test_long_hands_with_many_failures_stay_exact() -> None:
    rules = Rules(name="failing", hand=13)
    deepest = 0
    for number in range(40):
        game = Game(rules, seed=6, number=number)
        while not game.over:
            legal = game.legal()
            view = game.view(game.turn or 0)
            if game.stock and len(view.void_draws) > 1:
                deepest = max(deepest, len(view.void_draws))
                check_worlds(game, game.turn or 0, number)
            led = game.led
            # Leading from the shortest suit and throwing off long ones makes voids.
            legal.sort(key=lambda card: sum(int(c) // 13 == card // 13 for c in view.hand))
            game.play(legal[0] if led is None else legal[-1])
    assert deepest >= 2
