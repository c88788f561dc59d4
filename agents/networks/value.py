# pyright: reportArgumentType=false, reportReturnType=false
"""Value network: the distribution of endgame tricks of the player on lead, both hands in view.

Searches query it at the leaves of sampled determinizations, so its input holds what no player may
see: both hands, which cards of each the opponent has seen, the upcard, and the set of cards left
in the stock. Suits come trumps first, then by the leader's cards, with relative ranks: each card
in play stands as high as its suit lets it. The output is a distribution over numbers of tricks
instead of an expected payoff, so that one network serves every rule set's payoff.

The value of a view (`view_values`) is the network's mean over sampled hands of the opponent. A view
in the middle of a trick is first played on by the agent's own action; endings count exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...common.jit.compiler import allocates, jit
from ...engine.bitset import NO_CARDS, ONE, suit_part
from ...engine.cards import N_CARDS
from ...engine.dtypes import OVER
from ...engine.endgame.game_values import best_tricks, inexact_reason
from ...engine.observation.spec import ObservationSpec
from ...engine.play import Record, payoff_of_tricks, play, row, stock_left
from ...engine.rules import Rules
from ...engine.sampling.determinizations import sample_determinizations
from ...engine.view import View
from ..base import Array, CannotPlay
from .mlp import MLPBatch, MLPWeights, forward_rows, new_mlp_batch
from .search_networks import read_search_network

MAX_TRICKS = 13
"""Most tricks of the foreplay."""
VALUE_SPEC = ObservationSpec(
    1,
    [
        ("leader_hand", N_CARDS, "cards of the player on lead"),
        ("other_hand", N_CARDS, "cards of the other player"),
        ("upcard", N_CARDS, "the stock card that lies face up"),
        ("stock", N_CARDS, "the stock cards below it"),
        ("leader_seen", N_CARDS, "cards of the player on lead that the other has seen"),
        ("other_seen", N_CARDS, "cards of the other player that the one on lead has seen"),
        ("trick", MAX_TRICKS, "how many tricks of the foreplay are over, one-hot"),
    ],
)
"""Index table of the value network's input."""
INPUTS = VALUE_SPEC.size
# Each card in play is one place, those that were seen (at most all 26 in hands) another.
MAX_VALUE_INPUTS = N_CARDS + 26 + 1
N_OUTCOMES = 14
"""Zero to thirteen tricks of the ending."""
SAMPLES = 64
"""Hands of the opponent in the value of a view."""

_LEADER_HAND, _OTHER_HAND, _UPCARD, _STOCK, _LEADER_SEEN, _OTHER_SEEN, _TRICK = (
    group.start for group in VALUE_SPEC.groups
)


@jit
def write_value_inputs(rules: Record, game: Record, places: np.ndarray) -> int:
    """Write the active inputs of a game before a trick of the foreplay; returns their number."""
    leader = np.int64(game.leader)
    leader_hand, other_hand = game.hand[leader], game.hand[1 - leader]
    seen = game.known_cards[0] | game.known_cards[1]
    base = 2 * np.int64(rules.hand) + np.int64(game.drawn)
    upcard = ONE << np.uint64(game.deal[base])
    stock = NO_CARDS
    for place in range(1, stock_left(rules, game)):
        stock |= ONE << np.uint64(game.deal[base + place])
    first, a, b, c = _order(leader_hand, other_hand, np.int64(game.trump))
    count = 0
    for suit_index in range(4):
        suit = first if suit_index == 0 else a if suit_index == 1 else b if suit_index == 2 else c
        own, other = suit_part(leader_hand, suit), suit_part(other_hand, suit)
        faced, hidden = suit_part(upcard, suit), suit_part(stock, suit)
        exposed = suit_part(seen, suit)
        in_play = own | other | faced | hidden
        place = 13 * suit_index + 12
        rank = ONE << np.uint64(12)
        while in_play:
            if in_play & rank:
                in_play ^= rank
                if own & rank:
                    places[count] = _LEADER_HAND + place
                    count += 1
                    if exposed & rank:
                        places[count] = _LEADER_SEEN + place
                        count += 1
                elif other & rank:
                    places[count] = _OTHER_HAND + place
                    count += 1
                    if exposed & rank:
                        places[count] = _OTHER_SEEN + place
                        count += 1
                else:
                    places[count] = (_UPCARD if faced & rank else _STOCK) + place
                    count += 1
                place -= 1
            rank >>= ONE
    places[count] = _TRICK + np.int64(game.trick)
    return count + 1


@jit
def _order(leader_hand: np.uint64, other_hand: np.uint64, trump: int) -> tuple[int, int, int, int]:
    """Trumps first, then the suits by the leader's cards in them."""
    a = 0 if trump != 0 else 1
    b = 1 if trump > 1 else 2
    c = 2 if trump == 3 else 3
    if _goes_before(leader_hand, other_hand, b, a):
        a, b = b, a
    if _goes_before(leader_hand, other_hand, c, b):
        b, c = c, b
        if _goes_before(leader_hand, other_hand, b, a):
            a, b = b, a
    return trump, a, b, c


@jit
def _goes_before(leader_hand: np.uint64, other_hand: np.uint64, a: int, b: int) -> bool:
    first, second = suit_part(leader_hand, a), suit_part(leader_hand, b)
    if first != second:
        return first > second
    return suit_part(other_hand, a) > suit_part(other_hand, b)


@jit
def expected_payoff(out: np.ndarray, payoffs: np.ndarray) -> float:
    """Mean payoff of the leader, by the network's logits and the payoff of each outcome."""
    # A softmax of its own, in float32 and without an array of weights: it runs at every leaf of a
    # search, and `masked_softmax`, in float64 over legal actions, would give other last digits.
    top = out[0]
    for k in range(1, len(payoffs)):
        top = max(top, out[k])
    total, sum_ = np.float32(0), np.float32(0)
    for k in range(len(payoffs)):
        weight = np.exp(out[k] - top)
        total += weight
        sum_ += weight * payoffs[k]
    return sum_ / total


def check_value_rules(rules: Rules) -> None:
    """Refuse rules that the network's inputs cannot express."""
    regular = rules.trumps == "upcard" and rules.faced == "every" and not rules.choice
    exact = not inexact_reason(rules)
    short = rules.foreplay_tricks <= MAX_TRICKS
    if not (regular and exact and short and rules.counts == "last" and rules.contract == "high"):
        raise CannotPlay(
            f"a value network does not cover {rules.name}: it knows games with one upcard and at "
            f"most {MAX_TRICKS} tricks for the stock, in which the tricks of an open endgame are "
            "wanted and alone count"
        )


def outcome_payoffs(rules: Rules) -> Array:
    """Payoff of each number of tricks in the ending."""
    record, tricks = row(rules.array(), 0), rules.hand
    return np.array(
        [
            payoff_of_tricks(record, 0, k, tricks - k) if k <= tricks else 0
            for k in range(N_OUTCOMES)
        ],
        np.float32,
    )


def read_value_network(source: str | Path, rules: Rules) -> MLPWeights:
    check_value_rules(rules)
    return read_search_network(source, "value", INPUTS, N_OUTCOMES, rules)


@jit
@allocates
def _leader_values(
    rules: np.ndarray, games: np.ndarray, net: MLPWeights, rows: MLPBatch, payoffs: np.ndarray
) -> np.ndarray:
    """The network's value for the player on lead, NaN for endings."""
    values = np.full(len(games), np.nan)
    for index in range(len(games)):
        game = row(games, index)
        if stock_left(row(rules, 0), game) > 0:
            rows.n_active[0] = write_value_inputs(row(rules, 0), game, rows.active_inputs[0])
            forward_rows(net, rows, 1)
            values[index] = expected_payoff(rows.out[0], payoffs)
    return values


@jit
def _apply_to_all(rules: np.ndarray, games: np.ndarray, action: int) -> None:
    for index in range(len(games)):
        play(row(rules, 0), row(games, index), action)


def view_values(
    rules: Rules, views: Array, actions: Array, net: MLPWeights, samples: int = SAMPLES
) -> Array:
    """Expected payoff of the hand for the player of each view, who plays `actions`."""
    return sampled_values(rules, views, actions, net, samples).mean(axis=1)


def sampled_values(
    rules: Rules, views: Array, actions: Array, net: MLPWeights, samples: int = SAMPLES
) -> Array:
    """`(n, samples)`: the expected payoff in each sampled hand of the opponent."""
    record = rules.array()
    rows, payoffs = new_mlp_batch(net, 1, MAX_VALUE_INPUTS), outcome_payoffs(rules)
    sampled = np.empty((len(views), samples))
    for index, action in enumerate(actions.tolist()):
        view = View(rules, views[index : index + 1])
        games = sample_determinizations(view, samples, method="voids")
        if view.led is not None:
            _apply_to_all(record, games, action)
        values = _leader_values(record, games, net, rows, payoffs)
        signs = np.where(games["leader"] == view.seat, 1.0, -1.0)
        solved = np.flatnonzero(np.isnan(values))
        if len(solved):
            values[solved] = _ending_values(record, games[solved])
        sampled[index] = signs * values
    return sampled


def _ending_values(record: Array, games: Array) -> Array:
    """Payoff of the player on lead with perfect play by both, of finished hands their result."""
    taken = np.zeros(len(games), np.int64)
    unfinished = games["phase"] != OVER
    taken[unfinished] = best_tricks(games[unfinished])
    rows, leaders = np.arange(len(games)), games["leader"].astype(np.int64)
    left = np.where(unfinished, np.bitwise_count(games["hand"][:, 0]), 0)
    own = games["tricks"][rows, leaders] + taken
    other = games["tricks"][rows, 1 - leaders] + left - taken
    rules = row(record, 0)
    return np.array(
        [
            float(payoff_of_tricks(rules, 0, int(first), int(second)))
            for first, second in zip(own, other, strict=True)
        ]
    )
