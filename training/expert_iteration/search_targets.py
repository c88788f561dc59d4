"""What every card would have come to: advice for a policy, from hands of its own.

At each decision of a hand every legal card is tried in the deal as it is: the other replies by
the policy, and what follows is judged by a value network, or exactly where the ending is
near. A single deal tells little, but a policy that learns from many is told what a card is
worth on average over all that it cannot see. Where a search plays the hands, its estimates are
the advice: means over many worlds, which scatter less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...agents.networks.mlp import Layers
from ...agents.networks.policy import PolicyNet, new_desk
from ...agents.networks.value import INPUTS, MOST_PLACES, pays_of, write_game_places
from ...agents.search.base import SearchAgent
from ...agents.search.leaf_values import ending_worth, open_last_trick
from ...common.jit.bitset import NO_CARDS, ONE, lowest
from ...common.jit.compiler import jit
from ...common.typing import Array
from ...engine.cards import N_CARDS
from ...engine.dtypes import FOLLOW, GAME, VIEW
from ...engine.endgame import Scratch, Tables
from ...engine.endgame.index import MAX_CARDS
from ...engine.observation.layout import real_action
from ...engine.play import legal, play, row, set_up, stock_left
from ...engine.rng import stream_key
from ...engine.rules import Rules
from ...engine.view import write_views
from .self_play import (
    ADVISED,
    BF16_ONE,
    MOST_PLAYS,
    BatchLayers,
    Lockstep,
    PolicyPlayers,
    Queries,
    Seen,
    likeliest,
    new_seen,
    write_query,
)

_LEAST = np.float32(-6.5)
"""A card is tried unless its logit lies so far below the best one's."""


class Leaves(NamedTuple):
    """Games after one card, a row each."""

    games: np.ndarray
    roots: np.ndarray
    """The game that each came from."""
    columns: np.ndarray
    """The place of the card among the legal ones."""
    values: np.ndarray
    """For whoever played the card."""


class Endings(NamedTuple):
    """What endings are solved with."""

    tables: Tables
    scratch: Scratch
    trials: np.ndarray
    most: float
    """The most that a hand pays."""


class Positions(NamedTuple):
    """Queries of the value network."""

    leaves: np.ndarray
    """The leaf of each."""
    inputs: np.ndarray
    places: np.ndarray
    """Scratch: the inputs of one position that are ones."""


@jit
def expand_all(
    rules: np.ndarray, games: np.ndarray, logits: np.ndarray, seen: Seen, leaves: Leaves
) -> int:
    """Play every card that the policy finds at all likely in every game; returns the leaves."""
    count = 0
    likely = np.empty(N_CARDS, np.float32)
    for index in range(len(games)):
        cards = legal(row(rules, 0), row(games, index))
        top = np.float32(-np.inf)
        for place in range(logits.shape[1]):
            if (seen.placed[index] >> np.uint64(place)) & ONE:
                top = max(top, logits[index, place])
                card = real_action(seen.shown[index, place], seen.orders[index])
                likely[card] = logits[index, place]
        first, column = count, 0
        while cards:
            card = lowest(cards)
            cards &= cards - ONE
            if likely[card] >= top + _LEAST:
                leaves.games[count] = games[index]
                play(row(rules, 0), row(leaves.games, count), card)
                leaves.roots[count] = index
                leaves.columns[count] = column
                count += 1
            column += 1
        if count == first + 1:
            count = first
    return count


@jit
def write_replies(
    rules: np.ndarray, leaves: np.ndarray, queries: Queries, asked: np.ndarray
) -> int:
    """What the other sees where it has to reply and has a choice; a card without one is played."""
    count = 0
    for leaf in range(len(leaves)):
        game = row(leaves, leaf)
        if game.phase != FOLLOW:
            continue
        cards = legal(row(rules, 0), game)
        if cards & (cards - ONE) == NO_CARDS:
            play(row(rules, 0), game, lowest(cards))
            continue
        write_query(row(rules, 0), game, queries, count)
        asked[count] = leaf
        count += 1
    return count


@jit
def reply_all(
    rules: np.ndarray, leaves: np.ndarray, asked: np.ndarray, logits: np.ndarray, seen: Seen
) -> None:
    """The likeliest reply in each leaf that was asked about."""
    cards = np.empty(len(logits), np.int64)
    likeliest(logits, seen, cards)
    for index in range(len(cards)):
        play(row(rules, 0), row(leaves, asked[index]), cards[index])


@jit
def evaluate_exactly(
    rules: np.ndarray, games: np.ndarray, leaves: Leaves, endings: Endings, positions: Positions
) -> int:
    """Values of leaves; where only the network can tell, its inputs, and the sign of its answer."""
    tables, scratch, places = endings.tables, endings.scratch, positions.places
    count = 0
    for leaf in range(len(leaves.games)):
        game = row(leaves.games, leaf)
        seat = games[leaves.roots[leaf]].turn
        sign = 1.0 if game.leader == seat else -1.0
        left = stock_left(row(rules, 0), game)
        if left == 0:
            leaves.values[leaf] = sign * ending_worth(row(rules, 0), tables, scratch, game)
        elif left == 2:
            leaves.values[leaf] = sign * open_last_trick(
                row(rules, 0), tables, scratch, leaves.games[leaf : leaf + 1], endings.trials,
                endings.most,
            )  # fmt: skip
        else:
            leaves.values[leaf] = sign
            positions.inputs[count] = 0
            for k in range(write_game_places(row(rules, 0), game, places)):
                positions.inputs[count, places[k]] = BF16_ONE
            positions.leaves[count] = leaf
            count += 1
    return count


@jit
def apart(streams: np.ndarray, number: int, out: np.ndarray) -> None:
    """Streams of their own for one of the decisions."""
    for index in range(len(streams)):
        out[index] = stream_key(streams[index], np.uint64(number))


class LookaheadPlayers(PolicyPlayers):
    """Two seats of one policy; every card is tried in the deal as it is."""

    def __init__(self, rules: Rules, policy: PolicyNet, worth: Layers, count: int) -> None:
        super().__init__(rules, policy, count)
        self.worths = np.zeros((count, MOST_PLAYS, MAX_CARDS), np.float32)
        self.worth = BatchLayers(worth)
        self.pays = torch.from_numpy(pays_of(rules))
        rows = count * MAX_CARDS
        self.leaves = Leaves(
            np.zeros(rows, GAME), np.zeros(rows, np.int64), np.zeros(rows, np.int64),
            np.zeros(rows),
        )  # fmt: skip
        self.replies = Queries(policy, self.queries.desk, new_seen(policy, rows))
        self.endings = Endings(self.known, self.scratch, np.zeros(2, GAME), float(rules.max_pay))
        self.positions = Positions(
            np.zeros(rows, np.int64), np.zeros((rows, INPUTS), np.int16),
            np.zeros(MOST_PLACES, np.int16),
        )  # fmt: skip

    def choose(self, at: int) -> Array:
        """The policy's likeliest cards."""
        cards = super().choose(at)
        leaves = self._tried()
        self.worths[leaves.roots, at, leaves.columns] = leaves.values
        return cards

    def _tried(self) -> Leaves:
        """Leaves of all cards that are tried, with their values."""
        count = expand_all(self.rules, self.games, self.logits, self.queries.seen, self.leaves)
        leaves = Leaves(*(rows[:count] for rows in self.leaves))
        asked, seen = self.positions.leaves, self.replies.seen
        if n_replies := write_replies(self.rules, leaves.games, self.replies, asked):
            logits = self.policy.answers(seen.ones[:n_replies]).numpy()
            reply_all(self.rules, leaves.games, asked, logits, seen)
        if n := evaluate_exactly(self.rules, self.games, leaves, self.endings, self.positions):
            values = self.worth.answers(self.positions.inputs[:n]).softmax(-1) @ self.pays
            leaves.values[asked[:n]] *= values.numpy()
        return leaves


class SearchPlayers(Lockstep):
    """Two seats of one search, which tells what it found every card to be worth."""

    def __init__(self, rules: Rules, search: SearchAgent, count: int) -> None:
        super().__init__(rules, count)
        self.worths = np.zeros((count, MOST_PLAYS, MAX_CARDS), np.float32)
        self._search = search
        self._views, self._chances = np.zeros(count, VIEW), np.zeros(count, np.uint64)

    def choose(self, at: int) -> Array:
        """The search's cards."""
        write_views(self.rules, self.games, self.games["turn"].astype(np.uint8), self._views)
        apart(self.streams, at, self._chances)
        cards, self.worths[:, at] = self._search.advise(self._views, self._chances)
        return cards


def with_targets(
    players: LookaheadPlayers | SearchPlayers, seed: int, first: int, astray: float
) -> Array:
    """Hands of a seed from number `first` on, with advice."""
    advised = np.zeros(len(players.games), ADVISED)
    players.worths[:] = np.nan
    advised["hand"] = players.play(seed, first, astray)
    advised["worths"] = players.worths
    return advised


# -- learning from it


@jit
def write_decisions(
    rules: np.ndarray, advised: np.ndarray, queries: Queries, games: np.ndarray, worths: np.ndarray
) -> int:
    """The decisions of some hands where there was a choice, as the policy sees them.

    `worths` are placed as its answers are, nan where no card can be played; returns how many.
    """
    game, seen = row(games, 0), queries.seen
    count = 0
    for index in range(len(advised)):
        each = row(advised, index)
        game.deal[:] = each.hand.deal
        set_up(row(rules, 0), game, np.int64(each.hand.dealer))
        for at in range(np.int64(rules[0].stock)):
            tried = False
            for column in range(MAX_CARDS):
                tried |= not np.isnan(each.worths[at][column])
            if tried:
                write_query(row(rules, 0), game, queries, count)
                _place_worths(legal(row(rules, 0), game), each.worths[at], seen.orders[count],
                              seen.shown[count], worths[count])  # fmt: skip
                count += 1
            play(row(rules, 0), game, np.int64(each.hand.plays[at]))
    return count


@jit
def _place_worths(
    cards: np.uint64, given: np.ndarray, order: np.ndarray, shown: np.ndarray, out: np.ndarray
) -> None:  # fmt: skip
    column = 0
    by_card = np.full(N_CARDS, np.float32(np.nan))
    while cards:
        by_card[lowest(cards)] = given[column]
        column += 1
        cards &= cards - ONE
    for place in range(len(out)):
        out[place] = np.nan
        if shown[place] >= 0:
            out[place] = by_card[real_action(shown[place], order)]


class PolicyTask:
    """A policy that leans towards what was worth more, and does not go far from the old one."""

    kind = "mlp"

    def __init__(self, rules: Rules, policy: PolicyNet, pull: float) -> None:
        """`pull` is what a unit of relative entropy to the old policy costs, in pay."""
        self.rules, self.pull = rules.record(), pull
        self.net = policy
        self.old = BatchLayers(self.net.layers)
        self.inputs, self.outputs = len(self.net.inputs), int(self.net.layers.sizes[-1])
        self.desk = new_desk(self.net)

    def read(self, advised: Array) -> tuple[Array, Tensor]:
        """Inputs, and worths by place."""
        most = len(advised) * int(self.rules["stock"][0])
        seen = new_seen(self.net, most)
        worths = np.zeros((most, self.outputs), np.float32)
        queries = Queries(self.net, self.desk, seen)
        count = write_decisions(self.rules, advised, queries, np.zeros(1, GAME), worths)
        return seen.ones[:count], torch.from_numpy(worths[:count])

    def loss(self, net: nn.Module, advised: Array) -> Tensor:
        """What the policy loses on average, and how far it has gone."""
        gain, away = _gained(*self._compared(net, advised))
        return -gain.mean() + self.pull * away.mean()

    @torch.no_grad()
    def errors(self, net: nn.Module, advised: Array) -> list[float]:
        """What it gains on the old policy, how far it has gone, and what its best cards gain."""
        worths, old, new = self._compared(net, advised)
        gain, away = _gained(worths, old, new)
        rows = torch.arange(len(worths))
        best = worths[rows, new.argmax(-1)] - worths[rows, old.argmax(-1)]
        return [float(each.mean()) for each in (gain, away, best)]

    def _compared(self, net: nn.Module, advised: Array) -> tuple[Tensor, Tensor, Tensor]:
        """Worths by place, and the logarithms of what the old policy and the new one would play."""
        seen, worths = self.read(advised)
        with torch.autocast("cpu", torch.bfloat16):
            logits = net(torch.from_numpy(seen).view(torch.bfloat16)).float()
        old, new = (
            functional.log_softmax(each.masked_fill(worths.isnan(), -1e9), -1)
            for each in (self.old.answers(seen), logits)
        )
        return worths, old, new


def _gained(worths: Tensor, old: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    """What the new policy gains on the old one, and how far it has gone from it."""
    before = (old.exp() * worths.nan_to_num()).sum(-1, keepdim=True)
    gain = (new.exp() * (worths - before).nan_to_num()).sum(-1)
    return gain, (new.exp() * (new - old) * ~worths.isnan()).sum(-1)
