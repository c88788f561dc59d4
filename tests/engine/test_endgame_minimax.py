"""The solver agrees, card by card, with minimax that knows no tricks of the trade."""

import random

import numpy as np
import pytest
from plain_endgame import PlainEnding, PlainRace, card_set, random_ending, without

from german_whist.engine.endgame import (
    Ending,
    Race,
    best_card_compiled,
    empty_tablebase,
    new_scratch,
    solve,
    solve_moves,
    solve_race,
    solve_race_moves,
    tablebase_in_memory,
)
from german_whist.engine.endgame.race import NOT_LEGAL

NONE = 4
KINDS = [(True, False), (True, True), (False, False), (False, True)]


def humblest(cards, trump):
    return min(cards, key=lambda card: (card // 13 == trump, card % 13, card // 13))


@pytest.fixture(scope="module")
def tablebases():
    by_size = {}
    for trumps, low in KINDS:
        five = tablebase_in_memory(5, trumps, low)
        by_size[trumps, low] = [empty_tablebase(trumps, low), five._replace(cards=2), five]
    return by_size


@pytest.mark.parametrize(("trumps", "low"), KINDS)
def test_every_card_has_the_value_of_plain_minimax(tablebases, trumps, low):
    source = random.Random(f"{trumps} {low}")
    scratch = new_scratch(8)
    tricks = np.zeros(52, np.int64)
    best = min if low else max

    def check(tablebase, mine, theirs, trump, led, expected):
        hands = card_set(mine), card_set(theirs)
        most = best(expected.values())
        assert solve_moves(tablebase, scratch, Ending(*hands, trump, led), tricks) == most
        assert {int(c): int(tricks[c]) for c in np.flatnonzero(tricks >= 0)} == expected
        chosen = best_card_compiled(tablebase, scratch, Ending(*hands, trump, led))
        assert chosen == humblest([c for c in expected if expected[c] == most], trump)

    for count in range(500):
        trump = source.randrange(4) if trumps else NONE
        me, other = random_ending(source, 5 if count % 10 else 6, source.choice((4, 6, 13)))
        plain = PlainEnding(trump, low)
        tablebase = source.choice(tablebases[trumps, low])
        leads = plain.leads(me, other)
        value = solve(tablebase, scratch, card_set(me), card_set(other), trump)
        assert value == best(leads.values()), (me, other, trump)
        check(tablebase, me, other, trump, -1, leads)
        for led in me[:3]:
            left = without(me, led)
            replies = plain.replies(led, left, other)
            expected = {card: len(me) - tricks for card, tricks in replies.items()}
            check(tablebase, other, left, trump, led, expected)


def test_races_end_as_plain_minimax_says(tablebases):
    source = random.Random(9)
    scratch = new_scratch(8)
    ends = np.zeros(52, np.int64)

    def ends_of(tablebase, hand, other_hand, trump, led, race):
        ending = Ending(card_set(hand), card_set(other_hand), trump, led)
        best = solve_race_moves(tablebase, scratch, ending, race, ends)
        outcomes = {int(c): int(ends[c]) for c in np.flatnonzero(ends != NOT_LEGAL)}
        assert best == max(outcomes.values())
        return outcomes

    for _ in range(200):
        trump = source.choice((0, 1, 2, 3, NONE))
        me, other = random_ending(source, 5, 6)
        own_needs, other_needs = source.randint(1, 4), source.randint(1, 4)
        tablebase = source.choice(tablebases[trump != NONE, False])
        race = PlainRace(trump)
        hands = card_set(me), card_set(other)
        both_need = own_needs, other_needs
        needs = Race(*both_need)
        outcome = solve_race(tablebase, scratch, Ending(*hands, trump, -1), needs)
        assert outcome == race.value(me, other, *both_need)
        assert ends_of(tablebase, me, other, trump, -1, needs) == race.leads(me, other, *both_need)
        left = without(me, me[0])
        replies = race.replies(me[0], left, other, *both_need)
        expected = {card: -end for card, end in replies.items()}
        assert (
            ends_of(tablebase, other, left, trump, me[0], Race(other_needs, own_needs)) == expected
        )


def test_a_led_card_parts_its_follower_s_neighbours(tablebases):
    hearts = 26
    two, queen, king, ace = hearts, hearts + 10, hearts + 11, hearts + 12
    tricks = np.zeros(52, np.int64)
    for tablebase in tablebases[False, False]:
        scratch = new_scratch(4)
        hands = card_set([queen, ace]), card_set([two])
        solve_moves(tablebase, scratch, Ending(*hands, NONE, king), tricks)
        assert (tricks[ace], tricks[queen]) == (2, 1)


def test_one_scratch_serves_all_kinds_of_tables(tablebases):
    source = random.Random(4)
    scratch = new_scratch(6)
    for _ in range(100):
        trumps, low = source.choice(KINDS)
        trump = source.randrange(4) if trumps else NONE
        me, other = random_ending(source, 6)
        nothing = tablebases[trumps, low][0]
        value = solve(nothing, scratch, card_set(me), card_set(other), trump)
        fresh = solve(nothing, new_scratch(12), card_set(me), card_set(other), trump)
        assert value == fresh
