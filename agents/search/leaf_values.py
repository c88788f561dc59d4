"""What a whole deal is worth once its stock is gone: the exact leaves of the searches.

Where a hand only has to be won, one question to the solver ("does the leader reach so
much?") answers; where it pays by the trick, the number of tricks is asked for; a race is
asked for as a race. Best play for the number of tricks is best for every pay, since no pay
falls with more tricks (in a low contract, with fewer).

Hands of more than thirteen cards have to be played down first, and so have races that may
still last more than `LONG_RACE` tricks: searching them in every world would take too long.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.bitset import ONE, lowest, popcount
from ...common.jit.compiler import inline_ir, jit
from ...engine.dtypes import LEAD, WIN
from ...engine.endgame import Ending, Race, Scratch, Tables, solve_race
from ...engine.endgame.index import MAX_CARDS, index_hands
from ...engine.endgame.search import Node, leader_points, reaches, table_points
from ...engine.play import Record, legal, pay_for, play, row, stock_left

LONG_RACE = 5


@jit
def race_is_long(rules: Record, cards: int, mine: int, others: int) -> bool:
    """Whether a race may last too many tricks to be searched."""
    if rules.race == 0:
        return False
    most = 2 * np.int64(rules.race) - mine - others - 1
    return LONG_RACE < most < cards


@jit
def is_ending(rules: Record, game: Record) -> bool:
    """Whether a game stands before a trick from which on its exact worth can be had."""
    if game.phase != LEAD or stock_left(rules, game) > 0:
        return False
    cards = popcount(game.hand[0])
    if cards > MAX_CARDS or (rules.race > 0 and game.low == 1):
        return False
    return not race_is_long(rules, cards, np.int64(game.tricks[0]), np.int64(game.tricks[1]))


@inline_ir
def _in_points(
    rules: Record, known: Tables, scratch: Scratch, game: Record, n: int, mine: int, others: int
) -> int:
    """What the hand will pay the leader, with tables for its contract and tricks so far."""
    leader = np.int64(game.leader)
    hands = game.hand
    c, pattern = index_hands(
        known.endgame_index, hands[leader], hands[1 - leader], np.int64(game.trump), scratch.cards
    )
    node = Node(n, c, pattern)
    # In points (in a low contract: tricks left to the other) the leader has to be ahead.
    behind = mine - others if known.low else others - mine
    need = (n + behind) // 2 + 1
    if n > known.cards and rules.pay == WIN:
        if reaches(known, scratch, node, need):
            return 1
        if (n + behind) % 2 == 0 and reaches(known, scratch, node, need - 1):
            return 0
        return -1
    reached = table_points(known, node) if n <= known.cards else leader_points(known, scratch, node)
    if rules.pay == WIN:
        return np.int64(reached >= need) - np.int64(2 * reached < n + behind)
    more = n - reached if known.low else reached
    return pay_for(rules, np.int64(game.low), mine + more, others + n - more)


@inline_ir
def ending_worth(rules: Record, known: Tables, scratch: Scratch, game: Record) -> int:
    """What the hand will pay the player on lead, with best play by both.

    `known` has to be the tables for the game's contract.
    """
    leader = np.int64(game.leader)
    taken, by_other = np.int64(game.tricks[leader]), np.int64(game.tricks[1 - leader])
    n = popcount(game.hand[leader])
    if rules.race > 0:
        trump, race = np.int64(game.trump), np.int64(rules.race)
        ending = Ending(game.hand[leader], game.hand[1 - leader], trump, -1)
        return solve_race(known, scratch, ending, Race(race - taken, race - by_other))
    return _in_points(rules, known, scratch, game, n, taken, by_other)


@jit
def paid_at_ending(
    rules: Record, known: Tables, scratch: Scratch, game: Record, seat: int
) -> float:
    """The same, for one of the seats."""
    worth = 1.0 * ending_worth(rules, known, scratch, game)
    return worth if game.leader == seat else -worth


@jit
def open_last_trick(
    rules: Record, known: Tables, scratch: Scratch, games: np.ndarray, trials: np.ndarray,
    most: float,
) -> float:  # fmt: skip
    """What the leader of `games[0]` is paid when the last trick for the stock is played open.

    `trials` is room for two games, `most` the most that a hand pays.
    """
    game = row(games, 0)
    seat = np.int64(game.leader)
    best = -2 * most
    leads = game.hand[seat]
    while leads and best < most:
        card = lowest(leads)
        leads &= leads - ONE
        trials[0] = games[0]
        led = row(trials, 0)
        play(rules, led, card)
        replies = legal(rules, led)
        worst = 2 * most
        while replies and worst > best:
            reply = lowest(replies)
            replies &= replies - ONE
            trials[1] = trials[0]
            after = row(trials, 1)
            play(rules, after, reply)
            worst = min(worst, paid_at_ending(rules, known, scratch, after, seat))
        best = max(best, worst)
    return best
