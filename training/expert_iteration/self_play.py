"""Hands of self-play, kept so that any network can be fitted to them later.

One player has both seats, many hands in lockstep; now and then a card is played at random, so
that positions come up which it would not have sought. What is kept is the deal, the cards of the
foreplay, in which tricks chance had its way, and how the ending comes out with best play by both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ...agents.networks.mlp import Layers
from ...agents.networks.policy import Desk, PolicyNet, look, new_desk
from ...agents.sampling import masked_argmax
from ...common.jit.bitset import ONE, nth_lowest, popcount
from ...common.jit.compiler import jit
from ...common.typing import Array
from ...engine.cards import N_CARDS
from ...engine.dtypes import GAME
from ...engine.endgame import Scratch, Tables, new_scratch, solve, tables
from ...engine.endgame.index import MAX_CARDS
from ...engine.observation.layout import real_action
from ...engine.play import Record, deal_numbered, legal, play, row
from ...engine.rng import random_below, random_fraction, stream_key
from ...engine.rules import Rules
from ...engine.view import write_position

MOST_PLAYS = 26
BF16_ONE = np.int16(0x3F80)
"""The bits of one in bfloat16, which NumPy does not have."""

HAND = np.dtype(
    [
        ("strayed", "u4"),  # the tricks in which a card was played at random, as a set
        ("deal", "u1", (N_CARDS,)),
        ("dealer", "u1"),
        ("tricks", "i1"),  # what seat 0 takes of the ending
        ("plays", "u1", (MOST_PLAYS,)),  # of the foreplay, as they fell
    ]
)

ADVISED = np.dtype([("hand", HAND), ("worths", "f4", (MOST_PLAYS, MAX_CARDS))])
"""A hand, and at each decision what each legal card came to, the lowest first; nan for none."""

_STRAYS = np.uint64(0x5712A7)


def without_targets(hands: Array) -> Array:
    """Hands, whether there is advice beside them or not."""
    return np.ascontiguousarray(hands["hand"]) if hands.dtype == ADVISED else hands


class BatchLayers:
    """A network asked many things at once, by torch in bfloat16."""

    def __init__(self, net: Layers) -> None:
        at = 0
        self.layers: list[tuple[Tensor, Tensor]] = []
        for n, m in pairwise(net.sizes.tolist()):
            weight = torch.from_numpy(net.weights[at : at + n * m].reshape(n, m).T.copy())
            bias = torch.from_numpy(net.weights[at + n * m : at + n * m + m].copy())
            self.layers.append((weight.bfloat16(), bias.bfloat16()))
            at += (n + 1) * m

    @torch.no_grad()
    def answers(self, seen: Array) -> Tensor:
        """The last layer's values for rows of places, ones in bfloat16."""
        x = torch.from_numpy(seen).view(torch.bfloat16)
        for weight, bias in self.layers[:-1]:
            x = functional.relu(functional.linear(x, weight, bias))
        return functional.linear(x, *self.layers[-1]).float()


class Lanes(NamedTuple):
    """Hands in lockstep, a row each."""

    games: np.ndarray
    hands: np.ndarray
    """What is kept of them."""
    streams: np.ndarray
    """Random streams."""


@jit
def deal_all(rules: np.ndarray, lanes: Lanes, seed: np.uint64, first: int) -> None:
    """Deal the hands `first` and on of a seed, with a random stream for each."""
    streams = lanes.streams
    for index in range(len(lanes.hands)):
        game, hand = row(lanes.games, index), row(lanes.hands, index)
        number = np.uint64(first + index)
        deal_numbered(row(rules, 0), game, seed, number, streams[index : index + 1])
        hand.deal[:] = game.deal
        hand.dealer = game.dealer
        hand.strayed = 0
        streams[index] = stream_key(stream_key(seed, _STRAYS), number)


class Seen(NamedTuple):
    """What a policy sees of games, a row each, and where its answers stand."""

    ones: np.ndarray
    """Its inputs, ones in bfloat16."""
    placed: np.ndarray
    """Which places of its answer hold actions."""
    shown: np.ndarray
    """By place: the action as the policy is shown it."""
    orders: np.ndarray
    """The order of suits in which it is shown cards."""


def new_seen(net: PolicyNet, count: int) -> Seen:
    """Room for so many games."""
    return Seen(
        np.zeros((count, len(net.inputs)), np.int16), np.zeros(count, np.uint64),
        np.zeros((count, net.layers.sizes[-1]), np.int64), np.zeros((count, 4), np.uint8),
    )  # fmt: skip


class Queries(NamedTuple):
    """A policy, the buffers that it works in, and what it is asked."""

    net: PolicyNet
    desk: Desk
    seen: Seen


@jit
def write_query(rules: Record, game: Record, queries: Queries, index: int) -> None:
    """Write what the policy sees of a game."""
    net, desk, seen = queries.net, queries.desk, queries.seen
    view = row(desk.views, 0)
    write_position(rules, game, np.int64(game.turn), view)
    seen.placed[index] = look(
        rules, view, net, seen.orders[index], seen.shown[index], desk.observation
    )
    for k in range(len(net.inputs)):
        seen.ones[index, k] = BF16_ONE if desk.observation[net.inputs[k]] else 0


@jit
def write_queries(rules: np.ndarray, games: np.ndarray, queries: Queries) -> None:
    """Write what the policy sees in each game."""
    for index in range(len(games)):
        write_query(row(rules, 0), row(games, index), queries, index)


@jit
def likeliest(logits: np.ndarray, seen: Seen, cards: np.ndarray) -> None:
    """The card that the policy finds likeliest in each game."""
    for index in range(len(cards)):
        best = masked_argmax(logits[index], seen.placed[index])
        cards[index] = real_action(seen.shown[index, best], seen.orders[index])


@jit
def play_all(rules: np.ndarray, lanes: Lanes, at: int, cards: np.ndarray, astray: float) -> None:
    """Play the card that was chosen in each game, or one at random."""
    hands = lanes.hands
    for index in range(len(hands)):
        game, card = row(lanes.games, index), cards[index]
        stream = lanes.streams[index : index + 1]
        there = legal(row(rules, 0), game)
        if there & (there - ONE) and random_fraction(stream) < astray:
            card = nth_lowest(there, random_below(stream, popcount(there)))
            hands[index].strayed |= np.uint32(1) << np.uint32(game.trick)
        hands[index].plays[at] = card
        play(row(rules, 0), game, card)


@jit
def end_all(known: Tables, scratch: Scratch, lanes: Lanes) -> None:
    """Write the value of every ending."""
    hands = lanes.hands
    for index in range(len(hands)):
        game = row(lanes.games, index)
        mine, theirs = game.hand[0], game.hand[1]
        trump = np.int64(game.trump)
        if game.leader == 0:
            hands[index].tricks = solve(known, scratch, mine, theirs, trump)
        else:
            hands[index].tricks = popcount(mine) - solve(known, scratch, theirs, mine, trump)


class Lockstep(ABC):
    """Many hands, played in lockstep."""

    def __init__(self, rules: Rules, count: int) -> None:
        self.rules, self.games = rules.record(), np.zeros(count, GAME)
        self.streams = np.zeros(count, np.uint64)
        self.known, self.scratch = tables(), new_scratch()

    def play(self, seed: int, first: int, astray: float) -> Array:
        """The hands `first` and on of a seed."""
        hands = np.zeros(len(self.games), HAND)
        lanes = Lanes(self.games, hands, self.streams)
        deal_all(self.rules, lanes, np.uint64(seed), first)
        for at in range(int(self.rules["stock"][0])):
            play_all(self.rules, lanes, at, self.choose(at), astray)
        end_all(self.known, self.scratch, lanes)
        return hands

    @abstractmethod
    def choose(self, at: int) -> Array:
        """The next card of each hand, of which `at` have been played."""


class PolicyPlayers(Lockstep):
    """Two seats of one policy."""

    def __init__(self, rules: Rules, policy: PolicyNet, count: int) -> None:
        super().__init__(rules, count)
        self.policy = BatchLayers(policy.layers)
        self.queries = Queries(policy, new_desk(policy), new_seen(policy, count))
        self.cards = np.zeros(count, np.int64)
        self.logits = np.zeros((count, policy.layers.sizes[-1]), np.float32)

    def choose(self, at: int) -> Array:
        """The policy's likeliest cards."""
        seen = self.queries.seen
        write_queries(self.rules, self.games, self.queries)
        self.logits = self.policy.answers(seen.ones).numpy()
        likeliest(self.logits, seen, self.cards)
        return self.cards
