# pyright: reportArgumentType=false
"""Exact leaf values of searches: the value of a full deal after its stock is gone.

Where a hand only has to be won, one zero-window query to the solver is enough; where it pays by
the trick, the number of tricks is solved; a race is solved as a race. Optimal play for the number
of tricks is optimal for every payoff that does not fall with more tricks (low contracts: fewer).

Hands of more than thirteen cards have to be played down first, and so do races that may last more
than `LONG_RACE` further tricks: searching them in every determinization would take too long. Where
a slam pays less than one trick fewer, hands are played to their end.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import inline_ir, jit
from ...engine.bitset import NO_CARDS, ONE, bit, highest, lowest, popcount, suit_set
from ...engine.dtypes import FOLLOW, LEAD, MARGIN, WIN
from ...engine.endgame import Ending, Race, Scratch, Tablebase, solve_race
from ...engine.endgame.index import MAX_CARDS, index_hands
from ...engine.endgame.search import Node, leader_points, reaches, tablebase_points
from ...engine.play import (
    Record,
    legal,
    more_tricks_pay,
    payoff_of_tricks,
    play,
    race_pay,
    row,
    stock_card,
    stock_left,
    suit_of,
)

LONG_RACE = 5


@jit
def has_exact_value(rules: Record, game: Record) -> bool:
    """Whether a game stands before a trick from which its exact value can be computed."""
    if game.phase != LEAD or stock_left(rules, game) > 0:
        return False
    cards = popcount(game.hand[0])
    if cards > MAX_CARDS or not more_tricks_pay(rules) or (rules.race > 0 and game.low == 1):
        return False
    taken = np.int64(game.tricks[0]) + np.int64(game.tricks[1])
    return rules.race == 0 or not LONG_RACE < 2 * np.int64(rules.race) - taken - 1 < cards


@inline_ir
def ending_value(rules: Record, tablebase: Tablebase, scratch: Scratch, game: Record) -> int:
    """Payoff of the player on lead under best play by both, by the contract's tablebase."""
    if rules.race > 0:
        leader = np.int64(game.leader)
        target = np.int64(rules.race)
        needed, other_needed = target - game.tricks[leader], target - game.tricks[1 - leader]
        ending = Ending(game.hand[leader], game.hand[1 - leader], np.int64(game.trump), -1)
        race = Race(needed, other_needed, rules.pay == MARGIN)
        return race_pay(rules) * solve_race(tablebase, scratch, ending, race)
    return ending_value_by_tricks(rules, tablebase, scratch, game)


@inline_ir
def ending_value_by_tricks(
    rules: Record, tablebase: Tablebase, scratch: Scratch, game: Record
) -> int:
    """`ending_value` of rules that are no race."""
    leader = np.int64(game.leader)
    hand, other_hand, trump = game.hand[leader], game.hand[1 - leader], np.int64(game.trump)
    own_tricks, opponent_tricks = np.int64(game.tricks[leader]), np.int64(game.tricks[1 - leader])
    n = popcount(hand)
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
    """`ending_value_by_tricks` for a seat.

    The solver of races is a fifteenth of what the thinker would compile, which plays none.
    """
    value = 1.0 * ending_value_by_tricks(rules, tablebase, scratch, game)
    return value if game.leader == seat else -value


@inline_ir
def _distinct(cards: np.uint64, others: np.uint64) -> np.uint64:
    """The lowest of neighboring cards: no card of `others` lies between them."""
    distinct, below = NO_CARDS, -1
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        between = bit(card) - bit(max(below, 0))
        if below < 0 or suit_of(card) != suit_of(below) or others & between:
            distinct |= bit(card)
        below = card
    return distinct


@inline_ir
def _end_of(cards: np.uint64, top: bool) -> np.uint64:
    """The highest or the lowest card, as a set; no card of none."""
    if cards == NO_CARDS:
        return cards
    return bit(highest(cards)) if top else bit(lowest(cards))


@inline_ir
def _extreme_replies(
    led: int, cards: np.uint64, low: int, others: np.uint64, top: bool
) -> np.uint64:
    """Replies to the last trick for the stock, one of which is best; with `top`, worst.

    In high contracts a higher card is never worse in the ending, so of the cards of a suit that win
    the trick, or lose it, the lowest is the best to play.
    """
    if low:
        return _distinct(cards, others)
    if cards & suit_set(suit_of(led)):
        losing = cards & (bit(led) - ONE)
        return _end_of(losing, top) | _end_of(cards ^ losing, top)
    replies = NO_CARDS
    for suit in range(4):
        replies |= _end_of(cards & suit_set(suit), top)
    return replies


@inline_ir
def _open_cards(rules: Record, game: Record, seat: int) -> np.uint64:
    """The cards in play that a seat does not hold: the other hand, the card led, the next draws."""
    cards = game.hand[1 - seat] | bit(stock_card(rules, game, 0)) | bit(stock_card(rules, game, 1))
    return cards | bit(np.int64(game.led_cards[game.trick])) if game.phase == FOLLOW else cards


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
    leads = _distinct(game.hand[seat], _open_cards(rules, game, seat))
    while leads and best < max_payoff:
        card = highest(leads)
        leads ^= bit(card)
        trials[0] = games[0]
        led = row(trials, 0)
        play(rules, led, card)
        others = _open_cards(rules, led, 1 - seat)
        replies = _extreme_replies(card, legal(rules, led), tablebase.low, others, False)
        worst = 2 * max_payoff
        while replies and worst > max(best, -max_payoff):
            reply = highest(replies)
            replies ^= bit(reply)
            trials[1] = trials[0]
            after = row(trials, 1)
            play(rules, after, reply)
            worst = min(worst, ending_value_for_seat(rules, tablebase, scratch, after, seat))
        best = max(best, worst)
    return best


@jit
def indifferent_reply(
    rules: Record, tablebase: Tablebase, scratch: Scratch, games: np.ndarray, trials: np.ndarray
) -> int:
    """A reply in one of the last two tricks for the stock where all have one value, else -1.

    In the last trick but one: if all replies are neighbors. In the last one: if the hand is won,
    or lost, after each; `trials` has space for a game.
    """
    game = row(games, 0)
    cards, seat, led = legal(rules, game), np.int64(game.turn), np.int64(game.led_cards[game.trick])
    others = _open_cards(rules, game, seat)
    if stock_left(rules, game) > 2:
        others |= bit(stock_card(rules, game, 2)) | bit(stock_card(rules, game, 3))
        distinct = _distinct(cards, others)
        return lowest(cards) if distinct & (distinct - ONE) == NO_CARDS else -1
    least, most = 1.0, -1.0
    for top in (False, True):
        replies = _extreme_replies(led, cards, tablebase.low, others, top)
        while replies and rules.pay == WIN:
            trials[0] = games[0]
            after = row(trials, 0)
            play(rules, after, lowest(replies))
            value = ending_value_for_seat(rules, tablebase, scratch, after, seat)
            least, most = min(least, value), max(most, value)
            replies &= replies - ONE
        if least < most or most == -1.0:
            break
    return lowest(cards) if least == most else -1
