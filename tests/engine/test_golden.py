"""Deal number i of seed s is the same deal for good, and every deal is equally likely.

Whoever changes the games below breaks every seed that somebody has noted down, and has to give the
environments another version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from german_whist.engine.cards import text_of
from german_whist.engine.game import Game
from german_whist.engine.rng import random_below, random_fraction, stream_key
from support import dealt

# Rules, seed, number, dealer, the deal, then counting tricks and pays of a fixed way of play.
GOLDEN = [
    ("classic", 0, 0, 0,
        "KD 9S 7D 2S AD 9C KH 3D 9H 5S 4C QD 5H 2H 7C JC TC AC QS AS 4D 8S 5C 6C 6H KS "
        "JH 2D 3C JD TH QC 6S 9D 3S AH 3H 7S TS 8H 4H 8D 6D QH KC 2C 5D 8C 4S JS 7H TD",
        (6, 7), (-1, 1)),
    ("classic", 1, 0, 0,
        "TC TS 3D 5S KD 6D 7H 2D JH 9D 9C 8D 4H 7S 5D KH AS JC JD AD 7C 4D 3H QS 2C 6S "
        "3C 5C QD TD 6H 3S QC 2S 4C 9S 8S KS 8H AH 7D 5H 8C JS 4S TH QH 2H 9H KC AC 6C",
        (2, 11), (-1, 1)),
    ("classic", 1, 1, 0,
        "KH 6C 2H QS 8C AD 9D QD 8S 3C 8H 6H 6D 9C JH 2S 7H JC 7D 2C JS TH 4H KD 9H 7C "
        "AH 5H JD 4D 5D AC 5C KC 3S 3D KS TS TD 8D 5S 9S QC AS TC 4S QH 4C 2D 7S 3H 6S",
        (1, 12), (-1, 1)),
    ("classic", 18446744073709551615, 18446744073709551615, 0,
        "6S 2D TS 7S AC 9D 3S 6D 8H 8C JH JD 6C 2C KD 9C QS JC 5C KH 7D KC KS QC TD 3C "
        "7H AS AH 4D 9H 6H AD 2S 4H 8S QD 3H 4S 5H 5D 9S TH 8D JS 5S 2H QH 4C 3D 7C TC",
        (11, 2), (1, -1)),
    ("small-last", 3, 7, 1,
        "QC 9S AH KS AS JC TS JD 9H 8D KC 9C TC AC KH AD QH KD 8C JS 8H QD JH TH 8S TD 9D QS",
        (3, 4), (-1, 1)),
    ("draft", 42, 1000, 1,
        "2H 8S 7S AS 6H JC 3S JS 5H 4H 3C KS 7C TD 2S JH 9D 9S 3D 4C 4D 5D 2D QH 8H 9C "
        "2C AC TS 5S 8D 9H QD AD TC KC AH JD 3H TH 7D 6C 6D KD QC KH 6S 8C QS 7H 5C 4S",
        (5, 8), (-1, 1)),
    ("quick", 12345678901234567890, 6, 0,
        "8S JS KS 9D AH 7S AS 7D JD QD AC 7H KC 7C TC 9S TD AD JH QS JC TS 8D 9H QC KD "
        "QH 8H KH TH 9C 8C",
        (5, 5), (0, 0)),
    ("humbug", 6, 3, 1,
        "7D TS QD 7H 9H 4C 6D 9C 3C JH 8H 5D 3D 2D TH 7S 2S 6C 2C JC 8S KD 8D 3H 8C 2H "
        "JD JS TC 4D 9S 4S 3S 7C QS QC AC 6H KH 5S AS AD 4H QH AH KS KC 5C 6S 5H 9D TD",
        (5, 8), (-2, 2)),
]  # fmt: skip


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda row: f"{row[0]} {row[1]} {row[2]}")
def test_golden_games_stay_as_they_are(golden: Any) -> None:
    name, seed, number, dealer, deal, tricks, pays = golden
    game = Game(name, seed, number)
    assert (text_of(game.cards_dealt), game.dealer) == (deal, dealer)
    again = Game(name)
    again.deal_cards(deal, dealer)
    turn = 0
    while not game.over:
        legal = game.legal()
        action = legal[(7 * turn + 3) % len(legal)]
        game.play(action)
        again.play(action)
        turn += 1
    assert (game.counting_tricks, game.pays) == (tricks, pays)
    assert (again.counting_tricks, again.pays) == (tricks, pays)
    if number <= 10:  # and in a batch
        record = dealt(name, number + 1, seed, threads=2).batch.records[number]
        assert text_of(record["deal"][: len(deal.split())].tolist()) == deal
        assert record["dealer"] == dealer


_WORD = 2**64 - 1
_STEP, _A, _B = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed_by_hand(x: int) -> int:
    x = ((x ^ (x >> 30)) * _A) & _WORD
    x = ((x ^ (x >> 27)) * _B) & _WORD
    return x ^ (x >> 31)


def unmixed(x: int) -> int:
    """Inverse of SplitMix64's finalizer."""
    for shift, factor in ((31, _B), (27, _A), (30, 1)):
        whole = x
        for _ in range(64 // shift):
            whole = x ^ (whole >> shift)
        x = (whole * pow(factor, -1, 2**64)) & _WORD
    return x


def below_by_hand(state: list[int], n: int) -> int:
    """Lemire's method in plain integers."""
    while True:
        state[0] = (state[0] + _STEP) & _WORD
        product = (mixed_by_hand(state[0]) >> 32) * n
        if product & 0xFFFFFFFF >= 2**32 % n:
            return product >> 32


@pytest.mark.parametrize(("seed", "number"), [(0, 0), (3, 99), (2**64 - 1, 2**64 - 1)])
def test_deals_follow_the_recipe(seed: int, number: int) -> None:
    key = mixed_by_hand((seed + _STEP) & _WORD) ^ (((number + 1) * _B) & _WORD)
    state = [mixed_by_hand(key)]
    dealer = below_by_hand(state, 2)
    deal = list(range(52))
    for last in range(51, 0, -1):
        other = below_by_hand(state, last + 1)
        deal[last], deal[other] = deal[other], deal[last]
    game = Game("classic", seed, number)
    assert game.cards_dealt == deal
    assert game.dealer == dealer


@pytest.mark.parametrize("n", [3, 5, 7, 48, 52, 1000, 3_000_000_000, 2**32 - 1])
def test_below_draws_again_exactly_what_would_make_shares_uneven(n: int) -> None:
    left_over = 2**32 % n

    def drawn_from(high_half: int) -> tuple[int, bool]:
        start = (unmixed(high_half << 32) - _STEP) & _WORD
        stream = np.array([start], np.uint64)
        result = int(random_below(stream, n))
        assert 0 <= result < n
        state = [start]
        assert below_by_hand(state, n) == result
        assert int(stream[0]) == state[0]
        return result, state[0] != (start + _STEP) & _WORD

    # The first numbers of a share are where those left over lie.
    for share in (0, 1, 2, n // 2, n - 1):
        first = -(-share * 2**32 // n)
        for high_half in (first, min(first + 1, 2**32 - 1)):
            result, again = drawn_from(high_half)
            assert again == (high_half * n % 2**32 < left_over)
            assert again or result == high_half * n // 2**32


def test_fractions_fill_the_unit_interval_evenly() -> None:
    stream = np.array([stream_key(np.uint64(6), np.uint64(0))], np.uint64)
    draws = np.array([float(random_fraction(stream)) for _ in range(20_000)])
    assert draws.min() >= 0
    assert draws.max() < 1
    assert chisquare(np.histogram(draws, 50, (0, 1))[0]).pvalue > 0.001


@pytest.mark.parametrize(("name", "places"), [("classic", 52), ("small-last", 28)])
def test_every_card_comes_equally_often_to_every_place(name: str, places: int) -> None:
    records = dealt(name, 60_000, 21).batch.records
    deals = records["deal"][:, :places]
    deck = [int(card) for card in Game(name).rules.deck]
    assert (np.sort(deals, axis=1) == deck).all()
    p_values = [
        chisquare(np.bincount(deals[:, place], minlength=52)[deck]).pvalue
        for place in range(places)
    ]
    assert min(p_values) > 0.001 / places
    # The first upcard and the dealer have nothing to do with each other.
    for dealer in (0, 1):
        dealt_by = records["dealer"] == dealer
        upcards = records["deal"][dealt_by, 2 * int(records["hand"][0, 0]).bit_count()]
        assert chisquare(np.bincount(upcards, minlength=52)[deck]).pvalue > 0.001


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_either_seat_deals_equally_often(seed: int) -> None:
    dealers = dealt("small-last", 40_000, seed).batch.records["dealer"].astype(int)
    assert chisquare(np.bincount(dealers, minlength=2)).pvalue > 0.001
    # From deal to deal too, and from seed to seed.
    changes = dealers[1:] != dealers[:-1]
    assert chisquare([changes.sum(), (~changes).sum()]).pvalue > 0.001
    first = [Game("small-last", seed + other).dealer for other in range(2000)]
    assert chisquare(np.bincount(first, minlength=2)).pvalue > 0.001
