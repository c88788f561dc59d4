# pyright: reportArgumentType=false, reportReturnType=false
# Numba has one integer where annotations see `int` and `np.int64`.
"""Compiled kernels of the arena: many games between two agents, stepped and counted together.

Agent one and agent two are the pairing; their seats differ from game to game. Every counter
is an integer from agent one's point of view, so sums do not depend on their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..agents.base import decision_stream
from ..common.jit.compiler import allocates, jit
from ..common.typing import Array
from ..engine.bitset import NO_CARDS, ONE, bit, popcount, suit_set
from ..engine.cards import N_ACTIONS
from ..engine.dtypes import GAME, LEAD, MAX_TRICKS, NO_TRUMP, OVER, VIEW
from ..engine.endgame import Ending, Scratch, Tablebase, solve, solve_moves
from ..engine.play import (
    Record,
    deal_numbered,
    end_hand,
    match_over,
    new_match,
    payoff,
    play,
    row,
    set_up,
)
from ..engine.rng import random_below, siphash
from ..engine.view import blank_tricks, legal_in_view, write_position, write_tricks

# Counters over hands. A score is in half wins: 2 for a win, 1 for a tie.
SUMS = 11
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
) = range(SUMS)

# Counters by trick: tricks played, tricks that agent one won, and agent one's surplus of trumps
# and of high cards (queens and better) as the trick began.
PLAYED, WON, TRUMPS, HIGH_CARDS = 0, 1, 2, 3
COURSE_ROWS = 4
COURSE_TRICKS = MAX_TRICKS + 1

# Totals of each game, or match: its score, and sums over its hands; then agent one's luck in
# three of them with variance reduction, in `aivat.LUCK_UNITS`.
RESULT, GAME_HANDS, GAME_SCORE, GAME_MARGIN, GAME_POINTS = 0, 1, 2, 3, 4
SCORE_LUCK, MARGIN_LUCK, POINTS_LUCK = 5, 6, 7
TOTALS = 8

# In a match each hand has a deal number of its own, and no match has as many hands.
MATCH_DEALS = np.uint64(1 << 16)
# Under rules that never pay, a match would not end: it is drawn after so many hands.
MAX_MATCH_HANDS = 60_000

# Hashed with the key of a run and a number (agents' decisions use numbers below 256): to shuffle
# the halves of a chunk, and to draw the seats of their first game.
_SHUFFLES = np.uint64(1 << 8)
_FIRST_SEATS = np.uint64(1 << 9)

_HIGH = np.uint64(sum(7 << (13 * suit + 10) for suit in range(4)))


class Games(NamedTuple):
    """Arrays over the games of one half of a chunk; `rules` is a record of the rules."""

    rules: np.ndarray
    games: np.ndarray
    seats: np.ndarray
    """The seat of agent one."""
    pairs: np.ndarray
    """The pair of each game, counted from the chunk's first."""
    counted: np.ndarray
    """Whether the hand is over and counted."""
    forfeits: np.ndarray
    """1 where agent one forfeited the hand, 2 where agent two did."""
    totals: np.ndarray
    """`(games, TOTALS)`."""


class Deals(NamedTuple):
    """The deals of pairs from `start` on, `stride` deal numbers for each pair."""

    seed: np.uint64
    key: np.ndarray
    start: np.uint64
    stride: np.uint64


# A decision in one call of an agent, beside its view: its game, random stream and legal actions.
DECISION = np.dtype([("game", np.int64), ("rng", np.uint64), ("legal", np.uint64)])


class Decisions(NamedTuple):
    """Buffers of the decisions in one call of an agent."""

    views: np.ndarray
    choices: np.ndarray
    """Records of `DECISION`."""


class Endings(NamedTuple):
    """Valuation of endings, with the solver's tablebases and buffers."""

    solvable: bool
    exact: bool
    """Endings are not played: their exact value takes their place."""
    trusted: np.ndarray
    """Agents whose endings count as perfect."""
    high: Tablebase
    low: Tablebase
    """The tablebase of low contracts, where fewer tricks are better."""
    scratch: Scratch
    move_values: np.ndarray
    """`(52,)`: tricks for the player to move after each card."""
    hands: np.ndarray
    thrown: np.ndarray
    """`(2,)`, by seat: tricks lost against perfect play."""


class Counters(NamedTuple):
    """Counters over hands, and over tricks by their number."""

    sums: np.ndarray
    course: np.ndarray


def new_games(rules: Array, count: int) -> Games:
    """Games before their deal."""
    return Games(
        rules,
        games=np.zeros(count, GAME),
        seats=np.zeros(count, np.uint8),
        pairs=np.zeros(count, np.int64),
        counted=np.zeros(count, np.bool_),
        forfeits=np.zeros(count, np.int8),
        totals=np.zeros((count, TOTALS), np.int64),
    )


def new_decisions(count: int) -> Decisions:
    """Buffers for decisions in so many games."""
    views = np.zeros(count, VIEW)
    blank_tricks(views)  # `collect` leaves them so for agents that do not read the tricks
    return Decisions(views, np.zeros(count, DECISION))


@jit
@allocates
def deal_half(batch: Games, deals: Deals, half: int) -> None:
    """Deal one half of some duplicate deals, in an order and with seats that follow from the key.

    The other half has the same deals with exchanged seats.
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


# What every round calls takes its arrays one by one: to unpack tuples took Python longer.


@jit
def collect(
    rules_array: np.ndarray,
    games: np.ndarray,
    seats: np.ndarray,
    side: int,
    with_tricks: bool,
    key: np.ndarray,
    views: np.ndarray,
    choices: np.ndarray,
) -> int:
    """Write the views of the games in which an agent (0 or 1) is to move; returns their number."""
    rules = row(rules_array, 0)
    count = 0
    for index in range(len(games)):
        game = row(games, index)
        seat = np.int64(game.turn)
        if game.phase == OVER or (seat ^ np.int64(seats[index])) != side:
            continue
        view, choice = row(views, count), row(choices, count)
        write_position(rules, game, seat, view)
        if with_tricks:
            write_tricks(rules, game, seat, view)
        choice.rng = decision_stream(key, game.number, seat, view)
        choice.legal = legal_in_view(rules, view)
        choice.game = index
        count += 1
    return count


@jit
def _count_holdings(game: Record, seat: int, course: np.ndarray) -> None:
    trick = np.int64(game.trick)
    hand, opponent_hand = game.hand[seat], game.hand[1 - seat]
    course[HIGH_CARDS, trick] += popcount(hand & _HIGH) - popcount(opponent_hand & _HIGH)
    if game.trump != NO_TRUMP:
        trumps = suit_set(np.int64(game.trump))
        course[TRUMPS, trick] += popcount(hand & trumps) - popcount(opponent_hand & trumps)


@jit
def apply_legal_actions(
    rules_array: np.ndarray,
    games: np.ndarray,
    seats: np.ndarray,
    choices: np.ndarray,
    actions: np.ndarray,
    course: np.ndarray,
    illegal: np.ndarray,
) -> int:
    """Play the legal actions; returns the number of illegal ones, listed in `illegal`."""
    rules = row(rules_array, 0)
    n_illegal = 0
    for decision in range(len(actions)):
        action, choice = actions[decision], row(choices, decision)
        if action < 0 or action >= N_ACTIONS or not (choice.legal >> np.uint64(action)) & ONE:
            illegal[n_illegal] = decision
            n_illegal += 1
            continue
        game = row(games, choice.game)
        play(rules, game, action)
        if game.phase == LEAD:
            _count_holdings(game, np.int64(seats[choice.game]), course)
    return n_illegal


@jit
def forfeit(batch: Games, index: int, loser: int) -> None:
    """End a hand by forfeit: the loser loses every counting trick."""
    rules, game = row(batch.rules, 0), row(batch.games, index)
    takes_all = loser if game.low == 1 else 1 - loser
    game.tricks[takes_all] = np.int64(rules.counting)
    game.tricks[1 - takes_all] = 0
    end_hand(rules, game)


@jit
def end_exactly(batch: Games, endings: Endings) -> None:
    """End every hand whose stock is empty with the tricks of perfect play."""
    rules = row(batch.rules, 0)
    foreplay = np.int64(rules.stock) // 2
    for index in range(len(batch.games)):
        game = row(batch.games, index)
        if game.phase != LEAD or np.int64(game.trick) != foreplay:
            continue
        leader = np.int64(game.leader)
        leader_hand, follower_hand = game.hand[leader], game.hand[1 - leader]
        tablebase = endings.low if game.low == 1 else endings.high
        taken = solve(tablebase, endings.scratch, leader_hand, follower_hand, np.int64(game.trump))
        game.tricks[leader] += taken
        game.tricks[1 - leader] += popcount(leader_hand) - taken
        end_hand(rules, game)


@jit
def _winner(game: Record, trick: int) -> int:
    if trick + 1 < np.int64(game.trick):
        return np.int64(game.leaders[trick + 1])
    return np.int64(game.leader)


@jit
def _reconstruct_ending(game: Record, foreplay: int, hands: np.ndarray) -> int:
    """Write both hands at the start of the endgame, from the cards played; returns its tricks."""
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
    """Count tricks lost card by card; `value` is the exact value for the endgame's first leader."""
    tablebase = endings.low if game.low == 1 else endings.high
    hands, move_values, thrown = endings.hands, endings.move_values, endings.thrown
    for trick in range(foreplay, np.int64(game.trick)):
        leader = np.int64(game.leaders[trick])
        led = np.int64(game.led_cards[trick])
        reply = np.int64(game.followed_cards[trick])
        n_tricks = popcount(hands[leader])
        hands[leader] &= ~bit(led)
        ending = Ending(hands[1 - leader], hands[leader], np.int64(game.trump), led)
        best = solve_moves(tablebase, endings.scratch, ending, move_values)
        thrown[leader] += abs(value - (n_tricks - best))
        thrown[1 - leader] += abs(best - move_values[reply])
        hands[1 - leader] &= ~bit(reply)
        # The follower, with `move_values`, and the leader share the tricks that are left.
        if _winner(game, trick) == leader:
            value = n_tricks - move_values[reply] - 1
        else:
            value = move_values[reply] - 1


@jit
def _count_ending(
    rules: Record, game: Record, seat: int, endings: Endings, sums: np.ndarray
) -> None:
    """Count the exact value of an endgame, and the tricks that untrusted agents lost in it."""
    foreplay = np.int64(rules.stock) // 2
    sign = -1 if game.low == 1 else 1
    if endings.exact:
        # The counting tricks contain the ending's value; those of the foreplay are subtracted.
        taken = np.int64(game.tricks[seat]) - np.int64(game.tricks[1 - seat])
        if rules.counts_all == 1:
            for trick in range(foreplay):
                taken -= 1 if _winner(game, trick) == seat else -1
        sums[ENDINGS] += 1
        sums[ENDING_MARGIN] += sign * taken
        return
    tablebase, hands, thrown = (
        endings.low if game.low == 1 else endings.high,
        endings.hands,
        endings.thrown,
    )
    size = _reconstruct_ending(game, foreplay, hands)
    leader = np.int64(game.leaders[foreplay])
    value = solve(
        tablebase, endings.scratch, hands[leader], hands[1 - leader], np.int64(game.trump)
    )
    own_value = value if leader == seat else size - value
    sums[ENDINGS] += 1
    sums[ENDING_MARGIN] += sign * (2 * own_value - size)
    thrown[0] = 0
    thrown[1] = 0
    trusts_one, trusts_two = endings.trusted[0], endings.trusted[1]
    if trusts_one and trusts_two:
        return
    if trusts_one or trusts_two:
        # Against a perfect agent, every trick short of the value is the other's error.
        won = 0
        for trick in range(foreplay, np.int64(game.trick)):
            won += 1 if _winner(game, trick) == seat else 0
        thrown[seat if trusts_two else 1 - seat] = abs(own_value - won)
    else:
        _count_thrown(game, foreplay, value, endings)
    sums[THROWN_ONE] += thrown[seat]
    sums[THROWN_TWO] += thrown[1 - seat]


@jit
def _count_stages(rules: Record, game: Record, seat: int, counters: Counters) -> None:
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
def count_hands(batch: Games, endings: Endings, counters: Counters, ended: np.ndarray) -> int:
    """Count the hands that have newly ended; returns their number, listed in `ended`."""
    rules, sums, totals = row(batch.rules, 0), counters.sums, batch.totals
    count = 0
    for index in range(len(batch.games)):
        game = row(batch.games, index)
        if game.phase != OVER or batch.counted[index]:
            continue
        batch.counted[index] = True
        ended[count] = index
        count += 1
        seat = np.int64(batch.seats[index])
        points = payoff(rules, game, seat)
        score = 1 + (1 if points > 0 else 0) - (1 if points < 0 else 0)
        if batch.forfeits[index]:
            score = 0 if batch.forfeits[index] == 1 else 2
        else:
            _count_stages(rules, game, seat, counters)
            if endings.solvable:
                _count_ending(rules, game, seat, endings, sums)
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
@allocates
def deal_on(batch: Games, seed: np.uint64, ended: np.ndarray, dealt: np.ndarray) -> int:
    """Deal the next hand of unfinished matches; returns their number, listed in `dealt`."""
    rules = row(batch.rules, 0)
    stream = np.zeros(1, np.uint64)
    count = 0
    for index in ended:
        game = row(batch.games, index)
        if match_over(rules, game) or game.hands >= MAX_MATCH_HANDS:
            continue
        dealer = 1 - np.int64(game.dealer)
        deal_numbered(rules, game, seed, game.number + ONE, stream)
        set_up(rules, game, dealer)
        batch.counted[index] = False
        batch.forfeits[index] = 0
        dealt[count] = index
        count += 1
    return count


@jit
def score_matches(batch: Games) -> None:
    """Set the result of each match: the agent with more points, or hands, wins."""
    by_points = row(batch.rules, 0).match_target > 0
    for index in range(len(batch.games)):
        game = row(batch.games, index)
        seat = np.int64(batch.seats[index])
        if by_points:
            lead = np.int64(game.points[seat]) - np.int64(game.points[1 - seat])
        else:
            lead = np.int64(game.hands_won[seat]) - np.int64(game.hands_won[1 - seat])
        batch.totals[index, RESULT] = 1 + (1 if lead > 0 else 0) - (1 if lead < 0 else 0)
