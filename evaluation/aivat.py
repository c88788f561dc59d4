# pyright: reportArgumentType=false, reportReturnType=false
# Numba has one integer where annotations see `int` and `np.int64`.
"""How lucky a player was with the stock, so that it can be taken out of what a hand came to.

After a trick for the stock its loser draws a card that nobody has seen, and another is turned
up; any two of those that are left are as likely. What sees both hands says what the position is
worth with these two, and with every other two in their place. The mean less what came is how
unlucky the winner was: nothing on average, whoever plays and however wrong that word is. A
result with it added has the mean that it had, and a smaller spread: the corrections for chance
of AIVAT (Burch, Schmid, Moravčík, Morrill and Bowling 2018, arXiv:1612.06915). The luck of the
deal itself is gone already, since every deal is played twice.

The word is that of the value network; at the last tricks for the stock what it says after
another trick, and before the last one what exact endings do. In that trick both may play any
card, and the likelier one the more it wins with all cards in view.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..agents.checkpoints.bundled import VALUE_WEIGHTS
from ..agents.networks.mlp import Layers, Rows, new_rows, pass_rows
from ..agents.networks.value import MOST_PLACES, OUTCOMES, read_value_network, write_game_places
from ..common.jit.bitset import NO_CARDS, ONE, bit, highest, lowest, nth_lowest
from ..common.jit.compiler import jit
from ..engine.dtypes import GAME, LEAD
from ..engine.endgame import Scratch, Tables, solve
from ..engine.play import Record, legal, pay_for, play, row, stock_left
from ..engine.rules import Match, Rules
from .kernels import Games

FIGURES = 3
"""What luck is told of: the score in halves of a win, the margin, and the points."""
_SCORE, _MARGIN = 0, 1
PARTS = 1 << 14
"""Luck is counted in whole parts of so much, as sums of them do not depend on their order."""

_ORIGINAL = 3
_LATE = 6
"""With so many cards in the stock, or fewer, another trick is played."""
_KEEN = 1.25
"""What a card brings, a trick of the ending and half a win one each, times this is the logarithm of
how likely it is; found on 4,000 hands of the champion against flat search and the thinker."""


class Judge(NamedTuple):
    """Who says what a position is worth, and room for it."""

    worth: Layers
    rows: Rows
    known: Tables
    scratch: Scratch
    pays: np.ndarray
    """`(OUTCOMES, FIGURES)`: what each number of tricks in the ending comes to."""
    games: np.ndarray
    """A position that is looked at, after a lead, and after the trick; and the original game."""
    sums: np.ndarray
    """`(4, FIGURES + 1)`: what it is worth, what it is after a lead, after a reply and in one order
    of the stock; and by what that was weighed."""
    totals: np.ndarray
    """`(2, FIGURES)`: of what came, and the sum of all."""


def network_for(rules: Rules) -> Layers:
    """The value network, where it knows these rules."""
    return read_value_network(VALUE_WEIGHTS, rules)


def check_luck(rules: Rules, match: Match | None) -> None:
    """Refuse what nobody here can tell the luck of."""
    if match is not None:
        raise ValueError(
            f"reduce_variance: luck is told of single hands, and not of {match}: leave one out"
        )
    try:
        network_for(rules)
    except ValueError as error:
        raise ValueError(
            f"reduce_variance: nothing says what a position of {rules.name} is worth ({error}): "
            "leave it out, or play classic"
        ) from None


def new_judge(rules: Rules, known: Tables, scratch: Scratch) -> Judge:
    """A judge of the games of a rule set, with its tables of endings."""
    worth, record, tricks = network_for(rules), rules.record()[0], rules.hand
    pays = np.zeros((OUTCOMES, FIGURES))
    for taken in range(tricks + 1):
        paid = pay_for(record, 0, taken, tricks - taken)
        pays[taken] = np.sign(paid), 2 * taken - tricks, paid
    return Judge(
        worth, new_rows(worth, 1, MOST_PLACES), known, scratch, pays,
        np.zeros(_ORIGINAL + 1, GAME), np.zeros((4, FIGURES + 1)), np.zeros((2, FIGURES)),
    )  # fmt: skip


# -- what a position is worth


@jit
def _add_worth(rules: Record, game: Record, seat: int, judge: Judge, sums: np.ndarray) -> None:
    """Add what a seat gets from before a trick on: exactly in an ending, else by the network."""
    leader = np.int64(game.leader)
    sign = 1.0 if leader == seat else -1.0
    if stock_left(rules, game) == 0:
        taken = solve(
            judge.known, judge.scratch, game.hand[leader], game.hand[1 - leader],
            np.int64(game.trump),
        )  # fmt: skip
        for figure in range(FIGURES):
            sums[figure] += sign * judge.pays[taken, figure]
        return
    judge.rows.counts[0] = write_game_places(rules, game, judge.rows.places[0])
    pass_rows(judge.worth, judge.rows, 1)
    out = judge.rows.out[0]
    top, total = np.float64(out[0]), 0.0
    for tricks in range(1, OUTCOMES):
        top = max(top, np.float64(out[tricks]))
    for tricks in range(OUTCOMES):
        total += np.exp(out[tricks] - top)
    for tricks in range(OUTCOMES):
        share = sign * np.exp(out[tricks] - top) / total
        for figure in range(FIGURES):
            sums[figure] += share * judge.pays[tricks, figure]


_BOUNDS = np.uint64(sum(1 << (13 * suit) for suit in range(5)))
"""The lowest card of each suit, and what would be the next suit's."""


@jit
def _different(cards: np.uint64, others: np.uint64) -> np.uint64:
    """The highest of each run of cards that no other card in play stands between."""
    found, above = NO_CARDS, ONE << np.uint64(52)
    while cards:
        card = bit(highest(cards))
        cards ^= card
        if ((above - card) << ONE) & (others | _BOUNDS):
            found |= card
        above = card
    return found


@jit
def _weigh(value: np.ndarray, count: float, keenness: float, sums: np.ndarray) -> None:
    """Add what a card came to `count` times, the more of it the more its player wants it."""
    wanted = (value[_SCORE] + value[_MARGIN] / 2) / count
    weight = np.exp(keenness * wanted) / count
    for figure in range(FIGURES):
        sums[figure] += weight * value[figure]
    sums[FIGURES] += count * weight


@jit
def _play_on(rules: Record, seat: int, judge: Judge) -> None:
    """What the judge's game is worth to a seat after another trick, added to `sums[0]`."""
    games = judge.games
    first, led, after = row(games, 0), row(games, 1), row(games, 2)
    found, of_lead, of_reply = judge.sums[0], judge.sums[1], judge.sums[2]
    left, base = stock_left(rules, first), 2 * np.int64(rules.hand) + np.int64(first.drawn)
    leader = np.int64(first.leader)
    keenness = _KEEN if leader == seat else -_KEEN
    there = first.hand[0] | first.hand[1]
    for place in range(left):
        there |= bit(np.int64(first.deal[base + place]))
    found[:] = 0.0
    leads = _different(legal(rules, first), there & ~first.hand[leader])
    while leads:
        games[1] = games[0]
        play(rules, led, lowest(leads))
        leads &= leads - ONE
        of_lead[:] = 0.0
        replies = _different(legal(rules, led), there & ~led.hand[1 - leader])
        while replies:
            of_reply[:] = 0.0
            # Every card below the upcard is drawn once, with one of the others behind it.
            for turn in range(left - 1):
                games[2] = games[1]
                for place in range(left - 1):
                    after.deal[base + 1 + (place + turn) % (left - 1)] = led.deal[base + 1 + place]
                play(rules, after, lowest(replies))
                _add_worth(rules, after, seat, judge, of_reply)
            replies &= replies - ONE
            _weigh(of_reply, left - 1.0, -keenness, of_lead)
        _weigh(of_lead, of_lead[FIGURES], keenness, found)
    for figure in range(FIGURES):
        found[figure] /= found[FIGURES]


# -- luck


@jit
def _add_luck(rules: Record, seat: int, judge: Judge, luck: np.ndarray) -> None:
    """Add how lucky a seat was in the original game with the two cards that came from the stock."""
    game, other = row(judge.games, _ORIGINAL), row(judge.games, 0)
    loser, left = 1 - np.int64(game.leader), stock_left(rules, game)
    base = 2 * np.int64(rules.hand) + np.int64(game.drawn)
    drawn, up = bit(np.int64(game.deal[base - 1])), bit(np.int64(game.deal[base]))
    unseen = drawn
    for place in range(left):
        unseen |= bit(np.int64(game.deal[base + place]))
    found, came, total = judge.sums[0], judge.totals[0], judge.totals[1]
    total[:] = 0.0
    count = (left + 1) * left
    for number in range(count):
        first = bit(nth_lowest(unseen, number // left))
        second = bit(nth_lowest(unseen ^ first, number % left))
        judge.games[0] = judge.games[_ORIGINAL]
        other.hand[loser] = (game.hand[loser] ^ drawn) | first
        other.deal[base] = lowest(second)
        rest = unseen ^ first ^ second
        for place in range(1, left):
            other.deal[base + place] = lowest(rest)
            rest &= rest - ONE
        if left <= _LATE:
            _play_on(rules, seat, judge)
        else:
            found[:] = 0.0
            _add_worth(rules, other, seat, judge, found)
        for figure in range(FIGURES):
            total[figure] += found[figure]
            if first == drawn and second == up:
                came[figure] = found[figure]
    for figure in range(FIGURES):
        luck[figure] += came[figure] - total[figure] / count


@jit
def add_luck(batch: Games, places: np.ndarray, judge: Judge, luck: np.ndarray) -> None:
    """Add player one's luck in those of the games at `places` that stand before a new trick."""
    first = row(batch.rules, 0)
    for index in places:
        game = row(batch.games, index)
        if game.phase == LEAD and stock_left(first, game) > 0:
            judge.games[_ORIGINAL] = batch.games[index]
            _add_luck(first, np.int64(batch.seats[index]), judge, luck[index])
