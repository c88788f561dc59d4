"""What every card would have come to: advice for a policy, from hands of its own.

At each decision of a hand every legal card is tried in the deal as it is: the other replies by
the policy, and what follows is judged by a network of worth, or exactly where the ending is
near. A single deal tells little, but a policy that learns from many is told what a card is
worth on average over all that it can not see. Where a search plays the hands, its estimates are
the advice: means over many worlds, which scatter less.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...agents.networks.mlp import Layers
from ...agents.networks.policy import Desk, PolicyNet, new_desk
from ...agents.networks.value import INPUTS, MOST_PLACES, pays_of, write_game_places
from ...agents.search.base import SearchAgent
from ...agents.search.leaf_values import ending_worth, open_last_trick
from ...common.jit.bitset import NO_CARDS, ONE, lowest
from ...common.jit.compiler import jit
from ...common.typing import Array
from ...engine.cards import CARDS_IN_ALL
from ...engine.dtypes import FOLLOW, GAME, VIEW
from ...engine.endgame import Scratch, Tables
from ...engine.endgame.index import MOST_CARDS
from ...engine.observation.layout import real_action
from ...engine.play import legal, play, row, set_up, stock_left
from ...engine.rng import keyed
from ...engine.rules import Rules
from ...engine.view import write_views
from .self_play import (
    ADVISED,
    BF16_ONE,
    MOST_PLAYS,
    BatchLayers,
    Lockstep,
    Players,
    Seen,
    likeliest,
    new_seen,
    sees,
)

_LEAST = np.float32(-6.5)
"""A card is tried unless its logit lies so far below the best one's."""


@jit
def spread(
    rules: np.ndarray, games: np.ndarray, logits: np.ndarray, seen: Seen, leaves: np.ndarray,
    owners: np.ndarray, columns: np.ndarray,
) -> int:  # fmt: skip
    """Play every card that is worth a thought in every game; returns how many leaves."""
    count = 0
    likely = np.empty(CARDS_IN_ALL, np.float32)
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
                leaves[count] = games[index]
                play(row(rules, 0), row(leaves, count), card)
                owners[count] = index
                columns[count] = column
                count += 1
            column += 1
        if count == first + 1:
            count = first
    return count


@jit
def show_replies(
    rules: np.ndarray, leaves: np.ndarray, net: PolicyNet, desk: Desk, seen: Seen,
    asked: np.ndarray,
) -> int:  # fmt: skip
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
        sees(row(rules, 0), game, net, desk, seen, count)
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
def judge_exactly(
    rules: np.ndarray, known: Tables, scratch: Scratch, games: np.ndarray, owners: np.ndarray,
    leaves: np.ndarray, trials: np.ndarray, most: float, worths: np.ndarray, asked: np.ndarray,
    seen: np.ndarray, places: np.ndarray,
) -> int:  # fmt: skip
    """What each leaf is worth to whoever played; where only a network can tell, what it sees."""
    count = 0
    for leaf in range(len(leaves)):
        game = row(leaves, leaf)
        seat = games[owners[leaf]].turn
        sign = 1.0 if game.leader == seat else -1.0
        left = stock_left(row(rules, 0), game)
        if left == 0:
            worths[leaf] = sign * ending_worth(row(rules, 0), known, scratch, game)
        elif left == 2:
            worths[leaf] = sign * open_last_trick(
                row(rules, 0), known, scratch, leaves[leaf : leaf + 1], trials, most
            )
        else:
            worths[leaf] = sign
            seen[count] = 0
            for k in range(write_game_places(row(rules, 0), game, places)):
                seen[count, places[k]] = BF16_ONE
            asked[count] = leaf
            count += 1
    return count


@jit
def apart(streams: np.ndarray, number: int, out: np.ndarray) -> None:
    """Streams of their own for one of the decisions."""
    for index in range(len(streams)):
        out[index] = keyed(streams[index], np.uint64(number))


class Trying(Players):
    """Two seats of one policy; every card is tried in the deal as it is."""

    def __init__(self, rules: Rules, policy: PolicyNet, worth: Layers, count: int) -> None:
        super().__init__(rules, policy, count)
        self.worths = np.zeros((count, MOST_PLAYS, MOST_CARDS), np.float32)
        self.worth = BatchLayers(worth)
        self.pays = torch.from_numpy(pays_of(rules))
        self.most = float(rules.most_pay)
        rows = count * MOST_CARDS
        self.leaves = np.zeros(rows, GAME)
        self.owners, self.columns = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        self.asked = np.zeros(rows, np.int64)
        self.replying = new_seen(policy, rows)
        self.positions = np.zeros((rows, INPUTS), np.int16)
        self.trials = np.zeros(2, GAME)
        self.places = np.zeros(MOST_PLACES, np.int16)

    def choose(self, at: int) -> Array:
        """The policy's likeliest cards."""
        cards = super().choose(at)
        worths = self._tried()
        count = len(worths)
        self.worths[self.owners[:count], at, self.columns[:count]] = worths
        return cards

    def _tried(self) -> Array:
        count = spread(
            self.rules, self.games, self.logits, self.seen, self.leaves, self.owners, self.columns
        )
        leaves, replying = self.leaves[:count], self.replying
        asked = show_replies(self.rules, leaves, self.net, self.desk, replying, self.asked)
        if asked:
            replies = self.policy.answers(replying.ones[:asked]).numpy()
            reply_all(self.rules, leaves, self.asked, replies, replying)
        worths = np.zeros(count)
        asked = judge_exactly(
            self.rules, self.known, self.scratch, self.games, self.owners, leaves, self.trials,
            self.most, worths, self.asked, self.positions, self.places,
        )  # fmt: skip
        if asked:
            judged = self.worth.answers(self.positions[:asked]).softmax(-1) @ self.pays
            worths[self.asked[:asked]] *= judged.numpy()
        return worths


class Searching(Lockstep):
    """Two seats of one search, which tells what it found every card to be worth."""

    def __init__(self, rules: Rules, search: SearchAgent, count: int) -> None:
        super().__init__(rules, count)
        self.worths = np.zeros((count, MOST_PLAYS, MOST_CARDS), np.float32)
        self._search = search
        self._views, self._chances = np.zeros(count, VIEW), np.zeros(count, np.uint64)

    def choose(self, at: int) -> Array:
        """The search's cards."""
        write_views(self.rules, self.games, self.games["turn"].astype(np.uint8), self._views)
        apart(self.streams, at, self._chances)
        cards, self.worths[:, at] = self._search.advise(self._views, self._chances)
        return cards


def with_advice(players: Trying | Searching, seed: int, first: int, astray: float) -> Array:
    """Hands of a seed from number `first` on, with advice."""
    advised = np.zeros(len(players.games), ADVISED)
    players.worths[:] = np.nan
    advised["hand"] = players.play(seed, first, astray)
    advised["worths"] = players.worths
    return advised


# -- learning from it


@jit
def write_decisions(
    rules: np.ndarray, advised: np.ndarray, net: PolicyNet, desk: Desk, games: np.ndarray,
    seen: Seen, worths: np.ndarray,
) -> int:  # fmt: skip
    """The decisions of some hands where there was a choice, as the policy sees them.

    `worths` are placed as its answers are, nan where no card can be played; returns how many.
    """
    game = row(games, 0)
    count = 0
    for index in range(len(advised)):
        each = row(advised, index)
        game.deal[:] = each.hand.deal
        set_up(row(rules, 0), game, np.int64(each.hand.dealer))
        for at in range(np.int64(rules[0].stock)):
            tried = False
            for column in range(MOST_CARDS):
                tried |= not np.isnan(each.worths[at][column])
            if tried:
                sees(row(rules, 0), game, net, desk, seen, count)
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
    by_card = np.full(CARDS_IN_ALL, np.float32(np.nan))
    while cards:
        by_card[lowest(cards)] = given[column]
        column += 1
        cards &= cards - ONE
    for place in range(len(out)):
        out[place] = np.nan
        if shown[place] >= 0:
            out[place] = by_card[real_action(shown[place], order)]


class PolicyStudy:
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
        room = self.net, self.desk, np.zeros(1, GAME)
        count = write_decisions(self.rules, advised, *room, seen, worths)
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
