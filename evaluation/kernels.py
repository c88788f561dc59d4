# pyright: reportArgumentType=false, reportReturnType=false
# Numba has one integer where annotations see `int` and `np.int64`.
"""The compiled half of the arena: many games between two players, stepped and counted together.

Player one and player two stand for the pair that is measured; who of them sits
where differs from game to game. Every count is a whole number seen from player
one, so adding them up gives the same result in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..agents.base import decision_stream
from ..common.jit.bitset import NO_CARDS, ONE, bit, popcount, suit_set
from ..common.jit.compiler import jit
from ..common.typing import Array
from ..engine.cards import N_ACTIONS
from ..engine.dtypes import GAME, LEAD, MAX_TRICKS, NO_CARD, NO_TRUMP, OVER, VIEW
from ..engine.endgame import Ending, Scratch, Tables, solve, solve_moves
from ..engine.play import (
    Record,
    deal_numbered,
    end_hand,
    match_over,
    new_match,
    pay,
    play,
    row,
    set_up,
)
from ..engine.rng import random_below, siphash
from ..engine.view import legal_in_view, write_position, write_tricks

# What is counted over hands. A score is in halves: 2 for a win, 1 for a tie.
(
    HANDS,
    SCORE,
    LED_HANDS,
    LED_SCORE,
    STAGED,
    UPCARDS_ONE,
    UPCARDS_TWO,
    ENDINGS,
    ENDING_MARGIN,
    THROWN_ONE,
    THROWN_TWO,
) = range(11)
SUMS = 11

# What is counted trick by trick: tricks played, tricks that player one won, and, in all other
# rows, what player one held when the trick began: how many more trumps, and high cards (queens
# and better).
PLAYED, WON, TRUMPS, HIGH_CARDS = 0, 1, 2, 3
COURSE_ROWS = 4
COURSE_TRICKS = MAX_TRICKS + 1

# What each game, or match, came to: its score, and sums over its hands; then how lucky player one
# was in three of them, where that is told, in the parts that `luck` counts in.
RESULT, GAME_HANDS, GAME_SCORE, GAME_MARGIN, GAME_POINTS = 0, 1, 2, 3, 4
SCORE_LUCK, MARGIN_LUCK, POINTS_LUCK = 5, 6, 7
TOTALS = 8

# In a match each hand has a deal number of its own, and no match has as many hands.
MATCH_DEALS = np.uint64(1 << 16)
# Rules that never pay anybody would make a match without an end: it is drawn after so many.
MOST_MATCH_HANDS = 60_000

# What the key of a run is hashed with beside a number, apart from the decisions of agents (below
# 256): to shuffle the halves of a chunk, and to draw who sits where first.
_SHUFFLES = np.uint64(1 << 8)
_FIRST_SEATS = np.uint64(1 << 9)

_HIGH = np.uint64(sum(7 << (13 * suit + 10) for suit in range(4)))


class Games(NamedTuple):
    """Games of one half of a chunk, each array by game; `rules` is a record of the rules."""

    rules: np.ndarray
    games: np.ndarray
    seats: np.ndarray
    """The seat of player one."""
    pairs: np.ndarray
    """The pair that each game belongs to, counted from the chunk's first."""
    counted: np.ndarray
    """Whether the hand is over and counted."""
    forfeits: np.ndarray
    """1 where player one forfeited the hand, 2 where player two did."""
    totals: np.ndarray
    """`(games, TOTALS)`."""


class Deals(NamedTuple):
    """Which deals are played: those of pairs from `start` on, `stride` numbers for each pair."""

    seed: np.uint64
    key: np.ndarray
    start: np.uint64
    stride: np.uint64


class Decisions(NamedTuple):
    """Buffers of the decisions that a player is asked for in one call."""

    game_index: np.ndarray
    """The game of each decision."""
    views: np.ndarray
    rng: np.ndarray
    legal: np.ndarray


class Endings(NamedTuple):
    """How endings are valued, with the solver's tables and buffers."""

    solvable: bool
    exact: bool
    """Endings were not played: their value took their place."""
    trusted: np.ndarray
    """Which players are taken to throw nothing away."""
    high: Tables
    low: Tables
    """Tables of low contracts, where fewer tricks are better."""
    scratch: Scratch
    worth: np.ndarray
    """`(52,)`: tricks that each card takes."""
    hands: np.ndarray
    thrown: np.ndarray
    """`(2,)`, by seat: tricks thrown away."""


class Counters(NamedTuple):
    """Counters over hands, and over tricks by their number."""

    sums: np.ndarray
    course: np.ndarray


def new_games(rules: Array, count: int) -> Games:
    """Games that are not dealt yet."""
    return Games(
        rules, np.zeros(count, GAME), np.zeros(count, np.uint8), np.zeros(count, np.int64),
        np.zeros(count, np.bool_), np.zeros(count, np.int8), np.zeros((count, TOTALS), np.int64),
    )  # fmt: skip


def new_decisions(count: int) -> Decisions:
    """Buffers for decisions in so many games."""
    views = np.zeros(count, VIEW)
    # Nothing is written here for players that do not look at the tricks.
    for name in ("led_cards", "followed_cards", "my_draws", "opponent_draws"):
        views[name] = NO_CARD
    return Decisions(
        np.zeros(count, np.int64), views, np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    )


@jit
def deal_half(batch: Games, deals: Deals, half: int) -> None:
    """Deal one half of some pairs, which the key shuffles anew in each half.

    The key also draws in which half player one has which seat.
    """
    games, pairs = batch.games, batch.pairs
    stream = np.zeros(1, np.uint64)
    stream[0] = siphash(deals.key, deals.start, _SHUFFLES + np.uint64(half))
    for index in range(len(games)):
        pairs[index] = index
    for index in range(len(games) - 1, 0, -1):
        other = random_below(stream, index + 1)
        pairs[index], pairs[other] = pairs[other], pairs[index]
    for index in range(len(games)):
        pair = deals.start + np.uint64(pairs[index])
        game = row(games, index)
        new_match(game)
        deal_numbered(row(batch.rules, 0), game, deals.seed, pair * deals.stride, stream)
        batch.seats[index] = (siphash(deals.key, pair, _FIRST_SEATS) ^ np.uint64(half)) & ONE


@jit
def collect(
    batch: Games, player: int, with_tricks: bool, key: np.ndarray, decisions: Decisions
) -> int:
    """Write the views of the games in which a player (0 or 1) is to move; returns how many."""
    first = row(batch.rules, 0)
    count = 0
    for index in range(len(batch.games)):
        game = row(batch.games, index)
        seat = np.int64(game.turn)
        if game.phase == OVER or (seat ^ np.int64(batch.seats[index])) != player:
            continue
        view = row(decisions.views, count)
        write_position(first, game, seat, view)
        if with_tricks:
            write_tricks(first, game, seat, view)
        decisions.rng[count] = decision_stream(key, game.number, view)
        decisions.legal[count] = legal_in_view(first, view)
        decisions.game_index[count] = index
        count += 1
    return count


@jit
def _note_trick(game: Record, seat: int, course: np.ndarray) -> None:
    """Count what the players hold as a trick begins."""
    trick = np.int64(game.trick)
    mine, theirs = game.hand[seat], game.hand[1 - seat]
    course[HIGH_CARDS, trick] += popcount(mine & _HIGH) - popcount(theirs & _HIGH)
    if game.trump != NO_TRUMP:
        trumps = suit_set(np.int64(game.trump))
        course[TRUMPS, trick] += popcount(mine & trumps) - popcount(theirs & trumps)


@jit
def play_all(
    batch: Games, decisions: Decisions, actions: np.ndarray, course: np.ndarray,
    illegal: np.ndarray,
) -> int:  # fmt: skip
    """Play the actions that are legal; returns how many are not, their places in `illegal`."""
    first = row(batch.rules, 0)
    wrong = 0
    for place in range(len(actions)):
        action, legal = actions[place], decisions.legal[place]
        if action < 0 or action >= N_ACTIONS or not (legal >> np.uint64(action)) & ONE:
            illegal[wrong] = place
            wrong += 1
            continue
        index = decisions.game_index[place]
        game = row(batch.games, index)
        play(first, game, action)
        if game.phase == LEAD:
            _note_trick(game, np.int64(batch.seats[index]), course)
    return wrong


@jit
def forfeit(batch: Games, index: int, loser: int) -> None:
    """End a hand that a seat loses by every counting trick."""
    first, game = row(batch.rules, 0), row(batch.games, index)
    takes_all = loser if game.low == 1 else 1 - loser
    game.tricks[takes_all] = np.int64(first.counting)
    game.tricks[1 - takes_all] = 0
    end_hand(first, game)


@jit
def end_exactly(batch: Games, endings: Endings) -> None:
    """Where the stock is gone, let both take the tricks that perfect play gives them."""
    first = row(batch.rules, 0)
    foreplay = np.int64(first.stock) // 2
    for index in range(len(batch.games)):
        game = row(batch.games, index)
        if game.phase != LEAD or np.int64(game.trick) != foreplay:
            continue
        leader = np.int64(game.leader)
        mine, theirs = game.hand[leader], game.hand[1 - leader]
        tables = endings.low if game.low == 1 else endings.high
        taken = solve(tables, endings.scratch, mine, theirs, np.int64(game.trump))
        game.tricks[leader] += taken
        game.tricks[1 - leader] += popcount(mine) - taken
        end_hand(first, game)


@jit
def _winner(game: Record, trick: int) -> int:
    """Who won a trick that is over."""
    if trick + 1 < np.int64(game.trick):
        return np.int64(game.leaders[trick + 1])
    return np.int64(game.leader)


@jit
def _ending(game: Record, foreplay: int, hands: np.ndarray) -> int:
    """Both hands as the endgame began, from the cards played since; returns its tricks."""
    hands[0] = NO_CARDS
    hands[1] = NO_CARDS
    last = np.int64(game.trick)
    for trick in range(foreplay, last):
        leader = np.int64(game.leaders[trick])
        hands[leader] |= bit(game.led_cards[trick])
        hands[1 - leader] |= bit(game.followed_cards[trick])
    return last - foreplay


@jit
def _count_thrown(game: Record, foreplay: int, value: int, endings: Endings) -> None:
    """Follow an endgame card by card; `value` is what its first leader could take."""
    tables = endings.low if game.low == 1 else endings.high
    hands, worth, thrown = endings.hands, endings.worth, endings.thrown
    for trick in range(foreplay, np.int64(game.trick)):
        leader = np.int64(game.leaders[trick])
        led = np.int64(game.led_cards[trick])
        answer = np.int64(game.followed_cards[trick])
        left = popcount(hands[leader])
        hands[leader] &= ~bit(led)
        ending = Ending(hands[1 - leader], hands[leader], np.int64(game.trump), led)
        best = solve_moves(tables, endings.scratch, ending, worth)
        thrown[leader] += abs(value - (left - best))
        thrown[1 - leader] += abs(best - worth[answer])
        hands[1 - leader] &= ~bit(answer)
        # The follower, with `worth`, and the leader share the tricks that are left.
        if _winner(game, trick) == leader:
            value = left - worth[answer] - 1
        else:
            value = worth[answer] - 1


@jit
def _count_ending(
    rules: Record, game: Record, seat: int, endings: Endings, sums: np.ndarray
) -> None:
    """Count what the endgame was worth as it began, and what was thrown away in it.

    A trusted player has thrown nothing away.
    """
    foreplay = np.int64(rules.stock) // 2
    sign = -1 if game.low == 1 else 1
    if endings.exact:
        # The counting tricks hold the ending's value; those of the foreplay are taken off.
        taken = np.int64(game.tricks[seat]) - np.int64(game.tricks[1 - seat])
        if rules.counts_all == 1:
            for trick in range(foreplay):
                taken -= 1 if _winner(game, trick) == seat else -1
        sums[ENDINGS] += 1
        sums[ENDING_MARGIN] += sign * taken
        return
    tables, hands, thrown = (
        endings.low if game.low == 1 else endings.high, endings.hands, endings.thrown
    )  # fmt: skip
    size = _ending(game, foreplay, hands)
    leader = np.int64(game.leaders[foreplay])
    value = solve(tables, endings.scratch, hands[leader], hands[1 - leader], np.int64(game.trump))
    mine = value if leader == seat else size - value
    sums[ENDINGS] += 1
    sums[ENDING_MARGIN] += sign * (2 * mine - size)
    thrown[0] = 0
    thrown[1] = 0
    one, two = endings.trusted[0], endings.trusted[1]
    if one and two:
        return
    if one or two:
        # Against perfect play every trick short of the value was thrown away by the other.
        won = 0
        for trick in range(foreplay, np.int64(game.trick)):
            won += 1 if _winner(game, trick) == seat else 0
        thrown[seat if two else 1 - seat] = abs(mine - won)
    else:
        _count_thrown(game, foreplay, value, endings)
    sums[THROWN_ONE] += thrown[seat]
    sums[THROWN_TWO] += thrown[1 - seat]


@jit
def _count_stages(rules: Record, game: Record, seat: int, counters: Counters) -> None:
    """Count the tricks of a hand that nobody forfeited."""
    sums, course = counters.sums, counters.course
    sums[STAGED] += 1
    foreplay = np.int64(rules.stock) // 2
    for trick in range(np.int64(game.trick)):
        won = 1 if _winner(game, trick) == seat else 0
        course[PLAYED, trick] += 1
        course[WON, trick] += won
        if trick < foreplay:
            sums[UPCARDS_ONE] += won
            sums[UPCARDS_TWO] += 1 - won


@jit
def count_hands(batch: Games, endings: Endings, counters: Counters, over: np.ndarray) -> int:
    """Count the hands that are over and were not counted; returns how many, listed in `over`."""
    first, sums, totals = row(batch.rules, 0), counters.sums, batch.totals
    count = 0
    for index in range(len(batch.games)):
        game = row(batch.games, index)
        if game.phase != OVER or batch.counted[index]:
            continue
        batch.counted[index] = True
        over[count] = index
        count += 1
        seat = np.int64(batch.seats[index])
        points = pay(first, game, seat)
        score = 1 + (1 if points > 0 else 0) - (1 if points < 0 else 0)
        if batch.forfeits[index]:
            score = 0 if batch.forfeits[index] == 1 else 2
        else:
            _count_stages(first, game, seat, counters)
            if endings.solvable:
                _count_ending(first, game, seat, endings, sums)
        margin = np.int64(game.tricks[seat]) - np.int64(game.tricks[1 - seat])
        if game.low == 1:
            margin = -margin
        sums[HANDS] += 1
        sums[SCORE] += score
        if np.int64(game.dealer) != seat:
            sums[LED_HANDS] += 1
            sums[LED_SCORE] += score
        totals[index, RESULT] = score
        totals[index, GAME_HANDS] += 1
        totals[index, GAME_SCORE] += score
        totals[index, GAME_MARGIN] += margin
        totals[index, GAME_POINTS] += points
    return count


@jit
def deal_on(batch: Games, seed: np.uint64, over: np.ndarray, dealt: np.ndarray) -> int:
    """Deal the next hand of the matches that go on; returns how many, listed in `dealt`."""
    first = row(batch.rules, 0)
    stream = np.zeros(1, np.uint64)
    count = 0
    for index in over:
        game = row(batch.games, index)
        if match_over(first, game) or game.hands >= MOST_MATCH_HANDS:
            continue
        dealer = 1 - np.int64(game.dealer)
        deal_numbered(first, game, seed, game.number + ONE, stream)
        set_up(first, game, dealer)
        batch.counted[index] = False
        batch.forfeits[index] = 0
        dealt[count] = index
        count += 1
    return count


@jit
def score_matches(batch: Games) -> None:
    """Set the result of each match that is over: to the one with more points, or hands."""
    by_points = row(batch.rules, 0).match_target > 0
    for index in range(len(batch.games)):
        game = row(batch.games, index)
        seat = np.int64(batch.seats[index])
        if by_points:
            lead = np.int64(game.points[seat]) - np.int64(game.points[1 - seat])
        else:
            lead = np.int64(game.hands_won[seat]) - np.int64(game.hands_won[1 - seat])
        batch.totals[index, RESULT] = 1 + (1 if lead > 0 else 0) - (1 if lead < 0 else 0)
