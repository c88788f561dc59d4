# pyright: reportArgumentType=false, reportReturnType=false
# Numba has one integer where annotations see `int` and `np.int64`.
"""Variance reduction by the luck of the stock: AIVAT's corrections at chance nodes.

Burch, Schmid, Moravčík, Morrill and Bowling 2018, arXiv:1612.06915. After a trick of the foreplay
its loser draws an unseen card, and another one is turned up: every pair of unseen cards is
equally likely. A value estimate that sees both hands is evaluated for the actual pair and for all
others; the actual value less the mean is the winner's luck. Its expectation is zero for any
agents and any estimate, so a result less its luck is unbiased, with a smaller variance. The luck
of the deal itself cancels, since every deal is played twice with exchanged seats.

The estimate is that of the value network; in the last tricks of the foreplay it looks one trick
ahead, and behind the last one it is the exact value of the ending. In that lookahead both agents
choose among all legal cards, with probabilities that grow with the value of each card.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..agents.checkpoints.bundled import VALUE_WEIGHTS
from ..agents.networks.mlp import MLPBatch, MLPWeights, forward_rows, new_mlp_batch
from ..agents.networks.value import (
    MAX_VALUE_INPUTS,
    N_OUTCOMES,
    outcome_payoffs,
    read_value_network,
    write_value_inputs,
)
from ..common.jit.compiler import jit
from ..engine.bitset import NO_CARDS, ONE, bit, highest, lowest, nth_lowest
from ..engine.dtypes import GAME, LEAD
from ..engine.endgame import Scratch, Tablebase, solve
from ..engine.play import Record, legal, play, row, stock_left
from ..engine.rules import Match, Rules
from .kernels import Games

METRICS = 3
"""Metrics with luck: the score in half wins, the margin, and the points."""
_SCORE, _MARGIN = 0, 1
LUCK_UNITS = 1 << 14
"""Luck is rounded to integer multiples of 1 / LUCK_UNITS, whose sums do not depend on order."""

_ORIGINAL = 3
_LOOKAHEAD_CARDS = 6
"""With so many cards in the stock, or fewer, the estimate looks one trick ahead."""
_RATIONALITY = 1.25
"""Inverse temperature of the softmax over cards, whose logits are tricks of the ending plus wins
over two; fitted on 4,000 hands of the champion against flat search and the thinker."""


class ValueEstimator(NamedTuple):
    """The value network and the tablebase, with their buffers."""

    network: MLPWeights
    rows: MLPBatch
    tablebase: Tablebase
    scratch: Scratch
    payoffs: np.ndarray
    """`(N_OUTCOMES, METRICS)`: the metrics for each number of tricks in the ending."""
    games: np.ndarray
    """A position, after a lead, and after the trick; and the original game."""
    sums: np.ndarray
    """`(4, METRICS + 1)`: value of the position, of a lead, of a reply and of one order of the
    stock; the last column is the sum of weights."""
    totals: np.ndarray
    """`(2, METRICS)`: the actual value, and the sum over all pairs of cards."""


def value_network_for(rules: Rules) -> MLPWeights:
    """The bundled value network; rules that it does not cover raise `ValueError`."""
    return read_value_network(VALUE_WEIGHTS, rules)


def check_luck(rules: Rules, match: Match | None) -> None:
    """Refuse matches, and rules that the value network does not cover."""
    if match is not None:
        raise ValueError(f"reduce_variance applies to single hands, not to {match}: leave one out")
    try:
        value_network_for(rules)
    except ValueError as error:
        raise ValueError(
            f"reduce_variance: there is no value network for {rules.name} ({error}): "
            "leave it out, or play classic"
        ) from None


def new_value_estimator(rules: Rules, tablebase: Tablebase, scratch: Scratch) -> ValueEstimator:
    network, tricks = value_network_for(rules), rules.hand
    payoffs = np.zeros((N_OUTCOMES, METRICS))
    for taken, payoff in enumerate(outcome_payoffs(rules)[: tricks + 1]):
        payoffs[taken] = np.sign(payoff), 2 * taken - tricks, payoff
    return ValueEstimator(
        network,
        rows=new_mlp_batch(network, 1, MAX_VALUE_INPUTS),
        tablebase=tablebase,
        scratch=scratch,
        payoffs=payoffs,
        games=np.zeros(_ORIGINAL + 1, GAME),
        sums=np.zeros((4, METRICS + 1)),
        totals=np.zeros((2, METRICS)),
    )


# -- value estimates


@jit
def _add_value(
    rules: Record, game: Record, seat: int, estimator: ValueEstimator, sums: np.ndarray
) -> None:
    """Add the value for a seat before a trick: exact in an ending, else by the network."""
    leader = np.int64(game.leader)
    sign = 1.0 if leader == seat else -1.0
    if stock_left(rules, game) == 0:
        taken = solve(
            estimator.tablebase,
            estimator.scratch,
            game.hand[leader],
            game.hand[1 - leader],
            np.int64(game.trump),
        )
        for metric in range(METRICS):
            sums[metric] += sign * estimator.payoffs[taken, metric]
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
        for metric in range(METRICS):
            sums[metric] += prob * estimator.payoffs[tricks, metric]


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
    """Add a seat's luck with the two cards of the stock in the original game."""
    game, alternative = row(estimator.games, _ORIGINAL), row(estimator.games, 0)
    loser, left = 1 - np.int64(game.leader), stock_left(rules, game)
    base = 2 * np.int64(rules.hand) + np.int64(game.drawn)
    drawn, upcard = bit(np.int64(game.deal[base - 1])), bit(np.int64(game.deal[base]))
    unseen = drawn
    for place in range(left):
        unseen |= bit(np.int64(game.deal[base + place]))
    value, actual, total = estimator.sums[0], estimator.totals[0], estimator.totals[1]
    total[:] = 0.0
    count = (left + 1) * left
    for number in range(count):
        first_card = bit(nth_lowest(unseen, number // left))
        second_card = bit(nth_lowest(unseen ^ first_card, number % left))
        estimator.games[0] = estimator.games[_ORIGINAL]
        alternative.hand[loser] = (game.hand[loser] ^ drawn) | first_card
        alternative.deal[base] = lowest(second_card)
        rest = unseen ^ first_card ^ second_card
        for place in range(1, left):
            alternative.deal[base + place] = lowest(rest)
            rest &= rest - ONE
        if left <= _LOOKAHEAD_CARDS:
            _add_lookahead(rules, seat, estimator)
        else:
            value[:] = 0.0
            _add_value(rules, alternative, seat, estimator, value)
        for metric in range(METRICS):
            total[metric] += value[metric]
            if first_card == drawn and second_card == upcard:
                actual[metric] = value[metric]
    for metric in range(METRICS):
        luck[metric] += actual[metric] - total[metric] / count


@jit
def add_luck(
    batch: Games, indices: np.ndarray, estimator: ValueEstimator, luck: np.ndarray
) -> None:
    """Add agent one's luck in those of the given games that are before a new trick."""
    rules = row(batch.rules, 0)
    for index in indices:
        game = row(batch.games, index)
        if game.phase == LEAD and stock_left(rules, game) > 0:
            estimator.games[_ORIGINAL] = batch.games[index]
            _add_luck(rules, np.int64(batch.seats[index]), estimator, luck[index])
