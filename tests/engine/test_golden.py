"""Deal number i of seed s is the same deal for good, and every deal is equally likely.

Whoever changes the games below breaks every seed that somebody has noted down, and has to give the
environments another version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from german_whist.engine.cards import text_of
from german_whist.engine.game import Game
from german_whist.engine.rng import random_below, random_fraction, stream_state
from support import chi_square_p, dealt

pytestmark = pytest.mark.usefixtures("small_parts")

FIRST = (
    "KD 9S 7D 2S AD 9C KH 3D 9H 5S 4C QD 5H 2H 7C JC TC AC QS AS 4D 8S 5C 6C 6H KS "
    "JH 2D 3C JD TH QC 6S 9D 3S AH 3H 7S TS 8H 4H 8D 6D QH KC 2C 5D 8C 4S JS 7H TD"
)
# Rules, seed, number, dealer, then counting tricks and pays of a fixed way of play.
GOLDEN = [
    ("classic", 0, 0, 0, (6, 7), (-1, 1)),
    ("classic", 1, 0, 0, (2, 11), (-1, 1)),
    ("classic", 1, 1, 0, (1, 12), (-1, 1)),
    ("classic", 2**64 - 1, 2**64 - 1, 0, (11, 2), (1, -1)),
    ("small-last", 3, 7, 1, (3, 4), (-1, 1)),
    ("draft", 42, 1000, 1, (5, 8), (-1, 1)),
    ("quick", 12345678901234567890, 6, 0, (5, 5), (0, 0)),
    ("humbug", 6, 3, 1, (5, 8), (-2, 2)),
]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda row: f"{row[0]} {row[1]} {row[2]}")
def test_golden_games_stay_as_they_are(golden: Any) -> None:
    name, seed, number, dealer, tricks, payoffs = golden
    game, again = Game(name, seed, number), Game(name)
    deal = [*map(int, game.rules.deck)]
    assert dealt_by_hand(deal, seed, number) == dealer == game.dealer
    assert game.cards_dealt == deal
    assert (text_of(deal) == FIRST) == (golden is GOLDEN[0])
    again.deal_cards(deal, dealer)
    turn = 0
    while not game.over:
        legal = game.legal()
        action = legal[(7 * turn + 3) % len(legal)]
        game.play(action)
        again.play(action)
        turn += 1
    assert (game.counting_tricks, game.payoffs) == (tricks, payoffs)
    assert (again.counting_tricks, again.payoffs) == (tricks, payoffs)
    if number <= 10:  # and in a batch
        record = dealt(name, number + 1, seed, threads=2).batch.games[number]
        assert record["deal"][: len(deal)].tolist() == deal
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


def dealt_by_hand(deal: list[int], seed: int, number: int) -> int:
    """Shuffle a deck into a deal of a seed in plain integers, and return who deals it."""
    key = mixed_by_hand((seed + _STEP) & _WORD) ^ (((number + 1) * _B) & _WORD)
    state = [mixed_by_hand(key)]
    dealer = below_by_hand(state, 2)
    for last in range(len(deal) - 1, 0, -1):
        other = below_by_hand(state, last + 1)
        deal[last], deal[other] = deal[other], deal[last]
    return dealer


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
    stream = np.array([stream_state(np.uint64(6), np.uint64(0))], np.uint64)
    draws = np.array([float(random_fraction(stream)) for _ in range(20_000)])
    assert draws.min() >= 0
    assert draws.max() < 1
    assert chi_square_p(np.histogram(draws, 50, (0, 1))[0]) > 0.001


@pytest.mark.parametrize(("name", "places"), [("classic", 52), ("small-last", 28)])
def test_every_card_comes_equally_often_to_every_place(name: str, places: int) -> None:
    records = dealt(name, 60_000, 21).batch.games
    deals = records["deal"][:, :places]
    deck = [int(card) for card in Game(name).rules.deck]
    assert (np.sort(deals, axis=1) == deck).all()
    p_values = [
        chi_square_p(np.bincount(deals[:, place], minlength=52)[deck]) for place in range(places)
    ]
    assert min(p_values) > 0.001 / places
    # The first upcard and the dealer have nothing to do with each other.
    for dealer in (0, 1):
        dealt_by = records["dealer"] == dealer
        upcards = records["deal"][dealt_by, 2 * int(records["hand"][0, 0]).bit_count()]
        assert chi_square_p(np.bincount(upcards, minlength=52)[deck]) > 0.001


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_either_seat_deals_equally_often(seed: int) -> None:
    dealers = dealt("small-last", 40_000, seed).batch.games["dealer"].astype(int)
    assert chi_square_p(np.bincount(dealers, minlength=2)) > 0.001
    # From deal to deal too, and from seed to seed.
    changes = dealers[1:] != dealers[:-1]
    assert chi_square_p([changes.sum(), (~changes).sum()]) > 0.001
    first = [Game("small-last", seed + other).dealer for other in range(2000)]
    assert chi_square_p(np.bincount(first, minlength=2)) > 0.001
