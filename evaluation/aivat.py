# pyright: reportArgumentType=false, reportReturnType=false
# Numba has one integer where annotations see `int` and `np.int64`.
"""Variance reduction by the luck of the stock: AIVAT's corrections at chance nodes.

Burch, Schmid, Moravčík, Morrill and Bowling 2018, arXiv:1612.06915. After a trick of the foreplay
its loser draws an unseen card, and another one is turned up: every pair of unseen cards is
equally likely. A value estimate that sees both hands is evaluated for the actual pair and for all
others; the actual value less the mean is the winner's luck. Its expectation is zero for any
agents and any estimate, so a result less its luck is unbiased, with a smaller variance. The luck
of the deal itself cancels, since every deal is played twice with exchanged seats.

The estimate is that of the value network, in games of its kind: the full pack, hands of thirteen,
trumps, and no low contract. In the last tricks of the foreplay it looks one trick ahead, and behind
the last one it is the exact value of the ending. In that lookahead both agents choose among all
legal cards, with probabilities that grow with the value of each card. Elsewhere only the luck of
the last trick but one is taken out, by exact values one trick later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..agents.checkpoints.bundled import VALUE_WEIGHTS
from ..agents.networks.mlp import NO_MLP, MLPBatch, MLPWeights, forward_rows, new_mlp_batch
from ..agents.networks.value import (
    MAX_TRICKS,
    MAX_VALUE_INPUTS,
    N_OUTCOMES,
    read_value_network,
    write_value_inputs,
)
from ..common.jit.compiler import jit
from ..engine.bitset import NO_CARDS, ONE, bit, highest, lowest, nth_lowest
from ..engine.cards import N_CARDS
from ..engine.dtypes import GAME, LEAD
from ..engine.endgame import Scratch, Tablebase, solve
from ..engine.endgame.game_values import inexact_reason
from ..engine.play import Record, legal, payoff_of_tricks, play, row, stock_left
from ..engine.rules import Match, Rules, load_rules
from .kernels import Games

METRICS = 3
"""Metrics with luck: the score in half wins, the margin, and the points."""
_SCORE, _MARGIN, _POINTS = 0, 1, 2
LUCK_UNITS = 1 << 14
"""Luck is rounded to integer multiples of 1 / LUCK_UNITS, whose sums do not depend on order."""

_ORIGINAL = 3
_LOOKAHEAD_CARDS = 6
"""With so many cards in the stock, or fewer, the estimate looks one trick ahead."""
_RATIONALITY = 1.25
"""Inverse temperature of the softmax over cards, whose logits are tricks of the ending plus wins
over two; fitted on 4,000 hands of the champion against flat search and the thinker."""


class ValueEstimator(NamedTuple):
    """The value network and the tablebases, with their buffers."""

    has_network: bool
    """Whether the network estimates positions with a stock, in games of high contracts."""
    network: MLPWeights
    rows: MLPBatch
    high: Tablebase
    low: Tablebase
    """The tablebase of low contracts."""
    scratch: Scratch
    games: np.ndarray
    """A position, after a lead, and after the trick; and the original game."""
    sums: np.ndarray
    """`(4, METRICS + 1)`: value of the position, of a lead, of a reply and of one order of the
    stock; the last column is the sum of weights."""
    totals: np.ndarray
    """`(2, METRICS)`: the actual value, and the sum over all pairs of cards."""


def value_network_for(rules: Rules) -> MLPWeights | None:
    """The bundled value network, for games of the full pack with hands of 13 and trumps."""
    if rules.trumps != "upcard" or len(rules.deck) != N_CARDS or rules.hand != MAX_TRICKS:
        return None
    return read_value_network(VALUE_WEIGHTS, load_rules("classic"))


def check_luck(rules: Rules, match: Match | None) -> None:
    """Refuse matches, and rules whose endings have no exact value."""
    if match is not None:
        raise ValueError(f"reduce_variance applies to single hands, not to {match}: leave one out")
    if reason := inexact_reason(rules):
        raise ValueError(
            f"reduce_variance: nothing estimates positions of {rules.name}, whose rules {reason}: "
            "leave it out, or play other rules"
        )


def new_value_estimator(
    rules: Rules, high: Tablebase, low: Tablebase, scratch: Scratch
) -> ValueEstimator:
    network = value_network_for(rules)
    return ValueEstimator(
        has_network=network is not None,
        network=network or NO_MLP,
        rows=new_mlp_batch(network or NO_MLP, 1, MAX_VALUE_INPUTS),
        high=high,
        low=low,
        scratch=scratch,
        games=np.zeros(_ORIGINAL + 1, GAME),
        sums=np.zeros((4, METRICS + 1)),
        totals=np.zeros((2, METRICS)),
    )


# -- value estimates


@jit
def _add_metrics(rules: Record, game: Record, taken: int, weight: float, sums: np.ndarray) -> None:
    """Add the leader's metrics, times a weight, if it takes so many tricks of the ending."""
    leader, low = np.int64(game.leader), np.int64(game.low)
    # Of the tricks for the stock that are left each player gets about half.
    shared = stock_left(rules, game) // 4 if rules.counts_all == 1 else 0
    own_tricks = np.int64(game.tricks[leader]) + shared + taken
    other_tricks = np.int64(game.tricks[1 - leader]) + shared + np.int64(rules.hand) - taken
    points = payoff_of_tricks(rules, low, own_tricks, other_tricks)
    margin = other_tricks - own_tricks if low == 1 else own_tricks - other_tricks
    sums[_SCORE] += weight * (1.0 if points > 0 else -1.0 if points < 0 else 0.0)
    sums[_MARGIN] += weight * margin
    sums[_POINTS] += weight * points


@jit
def _uses_network(estimator: ValueEstimator, game: Record) -> bool:
    return estimator.has_network and game.low == 0


@jit
def _add_value(
    rules: Record, game: Record, seat: int, estimator: ValueEstimator, sums: np.ndarray
) -> None:
    """Add the value for a seat before a trick: exact in an ending, else an estimate."""
    leader = np.int64(game.leader)
    sign = 1.0 if leader == seat else -1.0
    if stock_left(rules, game) == 0 or not _uses_network(estimator, game):
        taken = solve(
            estimator.low if game.low == 1 else estimator.high,
            estimator.scratch,
            game.hand[leader],
            game.hand[1 - leader],
            np.int64(game.trump),
        )
        _add_metrics(rules, game, taken, sign, sums)
        return
    estimator.rows.n_active[0] = write_value_inputs(rules, game, estimator.rows.active_inputs[0])
    forward_rows(estimator.network, estimator.rows, 1)
    logits = estimator.rows.out[0]
    max_logit, total = np.float64(logits[0]), 0.0
    for tricks in range(1, N_OUTCOMES):
        max_logit = max(max_logit, np.float64(logits[tricks]))
    for tricks in range(N_OUTCOMES):
        total += np.exp(logits[tricks] - max_logit)
    for tricks in range(N_OUTCOMES):
        prob = sign * np.exp(logits[tricks] - max_logit) / total
        _add_metrics(rules, game, tricks, prob, sums)


_BOUNDS = np.uint64(sum(1 << (13 * suit) for suit in range(5)))
"""The lowest card of each suit, and of a fifth one."""


@jit
def _representatives(cards: np.uint64, others: np.uint64) -> np.uint64:
    """The highest card of each run of cards with no other card in play between them."""
    representatives, above = NO_CARDS, ONE << np.uint64(52)
    while cards:
        card = bit(highest(cards))
        cards ^= card
        if ((above - card) << ONE) & (others | _BOUNDS):
            representatives |= card
        above = card
    return representatives


@jit
def _add_weighted(value: np.ndarray, count: float, rationality: float, sums: np.ndarray) -> None:
    """Add `count` values of a card, weighted by the softmax of its player's gain."""
    gain = (value[_SCORE] + value[_MARGIN] / 2) / count
    weight = np.exp(rationality * gain) / count
    for metric in range(METRICS):
        sums[metric] += weight * value[metric]
    sums[METRICS] += count * weight


@jit
def _add_lookahead(rules: Record, seat: int, estimator: ValueEstimator) -> None:
    """Add the value for a seat after another trick to `sums[0]`."""
    games = estimator.games
    before, after_lead, after_trick = row(games, 0), row(games, 1), row(games, 2)
    position_value, lead_value, reply_value = (
        estimator.sums[0],
        estimator.sums[1],
        estimator.sums[2],
    )
    left, base = stock_left(rules, before), 2 * np.int64(rules.hand) + np.int64(before.drawn)
    leader = np.int64(before.leader)
    rationality = _RATIONALITY if leader == seat else -_RATIONALITY
    in_play = before.hand[0] | before.hand[1]
    for place in range(left):
        in_play |= bit(np.int64(before.deal[base + place]))
    position_value[:] = 0.0
    leads = _representatives(legal(rules, before), in_play & ~before.hand[leader])
    while leads:
        games[1] = games[0]
        play(rules, after_lead, lowest(leads))
        leads &= leads - ONE
        lead_value[:] = 0.0
        replies = _representatives(legal(rules, after_lead), in_play & ~after_lead.hand[1 - leader])
        while replies:
            reply_value[:] = 0.0
            # Every card below the upcard is drawn once, with one of the others behind it.
            for turn in range(left - 1):
                games[2] = games[1]
                for place in range(left - 1):
                    after_trick.deal[base + 1 + (place + turn) % (left - 1)] = after_lead.deal[
                        base + 1 + place
                    ]
                play(rules, after_trick, lowest(replies))
                _add_value(rules, after_trick, seat, estimator, reply_value)
            replies &= replies - ONE
            _add_weighted(reply_value, left - 1.0, -rationality, lead_value)
        _add_weighted(lead_value, lead_value[METRICS], rationality, position_value)
    for metric in range(METRICS):
        position_value[metric] /= position_value[METRICS]


# -- luck: the actual value less its expectation


@jit
def _add_luck(rules: Record, seat: int, estimator: ValueEstimator, luck: np.ndarray) -> None:
    """Add a seat's luck with the two cards of the stock in the original game.

    They are the card that was drawn unseen and the new upcard, or two new upcards where two lie
    face up.
    """
    game, alternative = row(estimator.games, _ORIGINAL), row(estimator.games, 0)
    left = stock_left(rules, game)
    first_place = 2 * np.int64(rules.hand) + np.int64(game.drawn)
    count = left
    drawer = 1 - np.int64(game.leader)
    if rules.face_up == 1:
        first_place -= 1
        count += 1
        if game.took_second[np.int64(game.trick) - 1] == 1:
            drawer = 1 - drawer
    first_card = bit(np.int64(game.deal[first_place]))
    second_card = bit(np.int64(game.deal[first_place + 1]))
    unseen = NO_CARDS
    for place in range(count):
        unseen |= bit(np.int64(game.deal[first_place + place]))
    # The winner's choice between stock cards is no card of the lookahead.
    lookahead = 0 if rules.choice == 1 else _LOOKAHEAD_CARDS
    value, actual, total = estimator.sums[0], estimator.totals[0], estimator.totals[1]
    total[:] = 0.0
    # The actual pair is one of all pairs. Without it luck would still be zero on average, but
    # n / (n - 1) times what the draw was worth, so that results less luck would vary more.
    for number in range(count * (count - 1)):
        first = bit(nth_lowest(unseen, number // (count - 1)))
        second = bit(nth_lowest(unseen ^ first, number % (count - 1)))
        estimator.games[0] = estimator.games[_ORIGINAL]
        if rules.face_up == 1:
            alternative.hand[drawer] = (game.hand[drawer] ^ first_card) | first
        alternative.deal[first_place] = lowest(first)
        alternative.deal[first_place + 1] = lowest(second)
        rest = unseen ^ first ^ second
        for place in range(2, count):
            alternative.deal[first_place + place] = lowest(rest)
            rest &= rest - ONE
        if left <= lookahead:
            _add_lookahead(rules, seat, estimator)
        else:
            value[:] = 0.0
            _add_value(rules, alternative, seat, estimator, value)
        for metric in range(METRICS):
            total[metric] += value[metric]
            if first == first_card and second == second_card:
                actual[metric] = value[metric]
    for metric in range(METRICS):
        luck[metric] += actual[metric] - total[metric] / (count * (count - 1))


@jit
def add_luck(
    batch: Games, indices: np.ndarray, estimator: ValueEstimator, luck: np.ndarray
) -> None:
    """Add agent one's luck in those of the given games that are before a new trick."""
    rules = row(batch.rules, 0)
    for index in indices:
        game = row(batch.games, index)
        left = stock_left(rules, game)
        if game.phase != LEAD or left == 0:
            continue
        if left <= 2 or _uses_network(estimator, game):
            estimator.games[_ORIGINAL] = batch.games[index]
            _add_luck(rules, np.int64(batch.seats[index]), estimator, luck[index])
