"""Exact leaf values of searches: the value of a full deal after its stock is gone.

Where a hand only has to be won, one zero-window query to the solver is enough; where it pays by
the trick, the number of tricks is solved; a race is solved as a race. Optimal play for the number
of tricks is optimal for every payoff, as no payoff falls with more tricks (low contracts: fewer).

Hands of more than thirteen cards have to be played down first, and so do races that may last more
than `LONG_RACE` further tricks: searching them in every determinization would take too long.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import inline_ir, jit
from ...engine.bitset import ONE, lowest, popcount
from ...engine.dtypes import LEAD, WIN
from ...engine.endgame import Ending, Race, Scratch, Tablebase, solve_race
from ...engine.endgame.index import MAX_CARDS, index_hands
from ...engine.endgame.search import Node, leader_points, reaches, tablebase_points
from ...engine.play import Record, legal, payoff_of_tricks, play, row, stock_left

LONG_RACE = 5


@jit
def has_exact_value(rules: Record, game: Record) -> bool:
    """Whether a game stands before a trick from which its exact value can be computed."""
    if game.phase != LEAD or stock_left(rules, game) > 0:
        return False
    cards = popcount(game.hand[0])
    if cards > MAX_CARDS or (rules.race > 0 and game.low == 1):
        return False
    taken = np.int64(game.tricks[0]) + np.int64(game.tricks[1])
    return rules.race == 0 or not LONG_RACE < 2 * np.int64(rules.race) - taken - 1 < cards


@inline_ir
def ending_value(rules: Record, tablebase: Tablebase, scratch: Scratch, game: Record) -> int:
    """Payoff of the player on lead under best play by both, by the contract's tablebase."""
    leader = np.int64(game.leader)
    hand, other_hand, trump = game.hand[leader], game.hand[1 - leader], np.int64(game.trump)
    own_tricks, opponent_tricks = np.int64(game.tricks[leader]), np.int64(game.tricks[1 - leader])
    n = popcount(hand)
    if rules.race > 0:
        race, ending = np.int64(rules.race), Ending(hand, other_hand, trump, -1)
        return solve_race(
            tablebase, scratch, ending, Race(race - own_tricks, race - opponent_tricks)
        )
    class_id, pattern = index_hands(tablebase.scheme, hand, other_hand, trump, scratch.cards)
    node = Node(n, class_id, pattern)
    # In points (in a low contract: tricks left to the other) the leader has to be ahead.
    behind = own_tricks - opponent_tricks if tablebase.low else opponent_tricks - own_tricks
    need = (n + behind) // 2 + 1
    if n > tablebase.cards and rules.pay == WIN:
        if reaches(tablebase, scratch, node, need):
            return 1
        if (n + behind) % 2 == 0 and reaches(tablebase, scratch, node, need - 1):
            return 0
        return -1
    reached = (
        tablebase_points(tablebase, node)
        if n <= tablebase.cards
        else leader_points(tablebase, scratch, node)
    )
    if rules.pay == WIN:
        return np.int64(reached >= need) - np.int64(2 * reached < n + behind)
    taken = n - reached if tablebase.low else reached
    return payoff_of_tricks(
        rules, np.int64(game.low), own_tricks + taken, opponent_tricks + n - taken
    )


@jit
def ending_value_for_seat(
    rules: Record, tablebase: Tablebase, scratch: Scratch, game: Record, seat: int
) -> float:
    value = 1.0 * ending_value(rules, tablebase, scratch, game)
    return value if game.leader == seat else -value


@jit
def solve_last_trick(
    rules: Record,
    tablebase: Tablebase,
    scratch: Scratch,
    games: np.ndarray,
    trials: np.ndarray,
    max_payoff: float,
) -> float:
    """Payoff of the leader of `games[0]` with the last trick for the stock solved with open cards.

    `trials` has space for two games; `max_payoff` bounds the payoff of a hand.
    """
    game = row(games, 0)
    seat = np.int64(game.leader)
    best = -2 * max_payoff
    leads = game.hand[seat]
    while leads and best < max_payoff:
        card = lowest(leads)
        leads &= leads - ONE
        trials[0] = games[0]
        led = row(trials, 0)
        play(rules, led, card)
        replies = legal(rules, led)
        worst = 2 * max_payoff
        while replies and worst > best:
            reply = lowest(replies)
            replies &= replies - ONE
            trials[1] = trials[0]
            after = row(trials, 1)
            play(rules, after, reply)
            worst = min(worst, ending_value_for_seat(rules, tablebase, scratch, after, seat))
        best = max(best, worst)
    return best
