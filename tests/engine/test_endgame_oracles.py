"""Truths about endings that were found apart from this project, and published mathematics."""

import random
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from plain_endgame import card_set

from german_whist.engine.endgame import new_scratch, solve, tablebase_in_memory
from german_whist.engine.endgame.generator import Classes, check_classes
from german_whist.engine.endgame.index import index_scheme, layer_bytes, layer_size
from german_whist.engine.endgame.search import Node, tablebase_points

NONE = 4
RANKS = "23456789TJQKA"

# cards: endings, the leaders' tricks, endings with more than half of them
LAYERS = {
    1: (8, 5, 5),
    2: (66, 74, 25),
    3: (460, 749, 257),
    4: (2_870, 6_055, 1_092),
    5: (16_884, 43_945, 8_990),
    6: (94_248, 291_490, 35_987),
    7: (497_640, 1_785_511, 260_893),
}
ENDINGS_ABOVE = {
    8: 2_483_910,
    9: 11_717_420,
    10: 52_655_460,
    11: 227_149_104,
    12: 938_342_132,
    13: 3_702_613_600,
}
ONE_SUIT_TRICKS = (1, 5, 28, 128, 594, 2603, 11444)
ONE_SUIT_COSTLY_LEADS = (0, 2, 4, 24, 72, 338, 1136, 4936)


@pytest.fixture(scope="module")
def trumps():
    return tablebase_in_memory(7)


@pytest.fixture(scope="module")
def no_trumps():
    return tablebase_in_memory(7, trumps=False)


def layer_of(tablebase, n):
    start = int(tablebase.starts[n]) // 2
    return tablebase.base[start : start + layer_bytes(tablebase.scheme, n)]


def counted(tablebase, n):
    first, last = tablebase.scheme.first_class[n : n + 2]
    return check_classes(tablebase.scheme, Classes(n, first, last), layer_of(tablebase, n))


@pytest.mark.parametrize("n", LAYERS)
def test_layer_sums_are_the_independent_ones(trumps, n):
    endings, total, majorities = LAYERS[n]
    assert layer_size(trumps.scheme, n) == endings
    assert counted(trumps, n)[:2] == (total, majorities)


def test_there_are_as_many_endings_as_counted_elsewhere():
    sizes = {n: layer_size(index_scheme(True), n) for n in range(1, 14)}
    assert {n: sizes[n] for n in ENDINGS_ABOVE} == ENDINGS_ABOVE
    assert sum(sizes.values()) == 4_935_573_802


def test_the_higher_card_is_never_worse_in_high_contracts(trumps, no_trumps):
    for tablebase in (trumps, no_trumps):
        assert [counted(tablebase, n)[2] for n in range(1, 8)] == [0] * 7


def one_suit(tablebase, n):
    c = int(tablebase.scheme.class_ids[0, 0, 0, 2 * n])
    patterns = [p for p in range(1 << 2 * n) if p.bit_count() == n]
    return {p: int(tablebase_points(tablebase, Node(n, c, np.uint64(p)))) for p in patterns}


@cache
def plain_one_suit(owners):
    leader_cards = [place for place, leader in enumerate(owners) if leader]
    n, best = len(leader_cards), 0
    for led in leader_cards:
        lead_value = n
        for reply in (place for place, leader in enumerate(owners) if not leader):
            left = [o for place, o in enumerate(owners) if place not in (led, reply)]
            if led > reply:
                lead_value = min(lead_value, 1 + plain_one_suit(tuple(left)))
            else:
                lead_value = min(lead_value, n - 1 - plain_one_suit(tuple(1 - o for o in left)))
        best = max(best, lead_value)
    return best


@pytest.mark.parametrize("n", range(1, 8))
def test_one_suit_alone(no_trumps, n):
    plain = {}
    for places in combinations(range(2 * n), n):
        owners = tuple(int(place in places) for place in range(2 * n))
        plain[sum(1 << place for place in places)] = plain_one_suit(owners)
    assert sum(plain.values()) == ONE_SUIT_TRICKS[n - 1]
    if n == 7:  # fourteen cards are no suit
        return
    values = one_suit(no_trumps, n)
    assert values == plain
    full = (1 << 2 * n) - 1
    costs = [n - values[full ^ p] - values[p] for p in values]
    assert min(costs) == 0
    assert max(costs, default=0) <= 1
    assert costs.count(1) == ONE_SUIT_COSTLY_LEADS[n - 1]
    for p, value in values.items():
        for low in range(2 * n - 3):
            if p >> low & 15 == 0b0110:
                assert values[p ^ 15 << low] >= value
                other = full ^ p
                assert values[other ^ 15 << low] <= values[other]


# Two-person symmetric whist: (first hand leads, second hand leads), one suit and two copies.
SYMMETRIC = {
    ("KJ", "AQ"): ((0, 1), (1, 1)),
    ("QJ9", "AKT"): ((1, 1), (1, 2)),
    ("KQ9", "AJT"): ((1, 1), (2, 3)),
    ("AQ", "KJ"): ((1, 2), (3, 3)),
    ("AKT", "QJ9"): ((2, 2), (4, 5)),
}


def tricks_of_first(tablebase, suits):
    hands = [0, 0]
    for suit, pair in enumerate(suits):
        for seat, ranks in enumerate(pair):
            hands[seat] |= sum(1 << 13 * suit + RANKS.index(rank) for rank in ranks)
    first, second = (np.uint64(hand) for hand in hands)
    scratch = new_scratch()
    follows = hands[0].bit_count() - solve(tablebase, scratch, second, first, NONE)
    return solve(tablebase, scratch, first, second, NONE), follows


@pytest.mark.parametrize("pair", SYMMETRIC)
def test_symmetric_whist(no_trumps, pair):
    one, two = SYMMETRIC[pair]
    assert tricks_of_first(no_trumps, [pair]) == one
    assert tricks_of_first(no_trumps, [pair, pair]) == two
    tenaces = [("KJ", "AQ")] * 2
    for suits, tricks in (([pair], one), ([pair, pair], two)):
        expected = tuple(count + 1 for count in tricks)
        assert tricks_of_first(no_trumps, suits + tenaces) == expected


def random_hands(source, n):
    cards = source.sample(range(52), 2 * n)
    return cards[:n], cards[n:]


def test_suits_and_gaps_do_not_matter(trumps):
    source = random.Random(5)
    scratch = new_scratch()
    for _ in range(300):
        n = source.randint(8, 13)
        hand, other_hand = random_hands(source, n)
        trump = source.randrange(4)
        value = solve(trumps, scratch, card_set(hand), card_set(other_hand), trump)
        names = list(range(4))
        source.shuffle(names)
        ranks = {}
        for suit in range(4):
            suit_ranks = sorted(card % 13 for card in hand + other_hand if card // 13 == suit)
            spread = sorted(source.sample(range(13), len(suit_ranks)))
            for before, after in zip(suit_ranks, spread, strict=True):
                ranks[13 * suit + before] = 13 * names[suit] + after
        moved = [card_set([ranks[card] for card in cards]) for cards in (hand, other_hand)]
        assert solve(trumps, scratch, *moved, names[trump]) == value


def test_random_full_endings_on_average(trumps):
    source = random.Random(7)
    scratch = new_scratch(16)
    hands = [map(card_set, random_hands(source, 13)) for _ in range(4_000)]
    tricks = np.array([solve(trumps, scratch, *each, 0) for each in hands])
    assert tricks.mean() == pytest.approx(6.59, abs=0.07)
    assert tricks.std() == pytest.approx(2.0, abs=0.06)
    assert (tricks > 6).mean() == pytest.approx(0.515, abs=0.02)
