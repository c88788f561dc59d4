"""Fitting a value network to hands of self-play.

Its targets are lambda-returns of whole distributions: the tricks of the ending that a position
led to, mixed with what the network itself says of the positions on the way. A card played at
random ends the way there: what lies behind it says nothing of what lay before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...agents.networks.value import INPUTS, MOST_PLACES, OUTCOMES, write_game_places
from ...common.jit.compiler import jit
from ...common.typing import Array
from ...engine.dtypes import GAME
from ...engine.play import play, row, set_up
from ...engine.rules import Rules
from .self_play import BF16_ONE, without_targets


class Positions(NamedTuple):
    """Positions before each trick of the foreplay."""

    inputs: np.ndarray
    """`(hands, tricks, inputs)`."""
    leaders: np.ndarray
    """`(hands, tricks + 1)`."""


@jit
def write_positions(
    rules: np.ndarray, hands: np.ndarray, games: np.ndarray, places: np.ndarray, out: Positions
) -> None:
    """Write the positions of some hands; `games` and `places` are scratch."""
    seen, leaders = out
    game = row(games, 0)
    seen[:] = 0
    for index in range(len(hands)):
        hand = row(hands, index)
        game.deal[:] = hand.deal
        set_up(row(rules, 0), game, np.int64(hand.dealer))
        for trick in range(seen.shape[1]):
            leaders[index, trick] = game.leader
            count = write_game_places(row(rules, 0), game, places)
            for k in range(count):
                seen[index, trick, places[k]] = BF16_ONE
            for each in range(2):
                play(row(rules, 0), game, np.int64(hand.plays[2 * trick + each]))
        leaders[index, seen.shape[1]] = game.leader


def targets(shares: Tensor, leaders: Tensor, tricks: Tensor, strayed: Tensor, trace: float
            ) -> tuple[Tensor, Tensor]:  # fmt: skip
    """What each position led to, as shares of the outcomes, and which positions tell.

    `shares` is `(hands, tricks, outcomes)`, the network's own word for whoever leads;
    `leaders` `(hands, tricks + 1)`; `tricks` what seat 0 takes of the ending.
    """
    hands, count, _ = shares.shape
    taken = torch.where(leaders[:, -1] == 0, tricks, OUTCOMES - 1 - tricks)
    later = functional.one_hot(taken, OUTCOMES).to(shares.dtype)
    found = torch.empty_like(shares)
    tells = torch.ones(hands, count, dtype=torch.bool)
    for trick in range(count - 1, -1, -1):
        other = (leaders[:, trick] != leaders[:, trick + 1])[:, None]
        later = torch.where(other, later.flip(1), later)
        found[:, trick] = later
        away = (strayed >> trick & 1).bool()
        tells[:, trick] = ~away
        mixed = (1 - trace) * shares[:, trick] + trace * later
        later = torch.where(away[:, None], shares[:, trick], mixed)
    return found, tells


class ValueTask:
    """A value network, and the hands that it learns from."""

    kind = "value"
    inputs = INPUTS
    outputs = OUTCOMES

    def __init__(self, rules: Rules, trace: float) -> None:
        """`trace` is how far what a hand came to reaches back past the network's own word."""
        self.rules, self.trace = rules.record(), trace
        self.tricks = rules.foreplay_tricks
        self.games = np.zeros(1, GAME)
        self.places = np.zeros(MOST_PLACES, np.int16)
        self._room = np.zeros((0, self.tricks, INPUTS), np.int16)

    def read(self, hands: Array) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Positions, leaders, tricks of seat 0 and strayed tricks; good until the next call."""
        hands = without_targets(hands)
        if len(self._room) != len(hands):
            self._room = np.zeros((len(hands), self.tricks, INPUTS), np.int16)
        leaders = np.zeros((len(hands), self.tricks + 1), np.int64)
        out = Positions(self._room, leaders)
        write_positions(self.rules, hands, self.games, self.places, out)
        return (
            torch.from_numpy(self._room).view(torch.bfloat16),
            torch.from_numpy(leaders),
            torch.from_numpy(hands["tricks"].astype(np.int64)),
            torch.from_numpy(hands["strayed"].astype(np.int64)),
        )

    def loss(self, net: nn.Module, hands: Array) -> Tensor:
        """The cross entropy of the network's word and what it should have been."""
        seen, leaders, tricks, strayed = self.read(hands)
        with torch.autocast("cpu", torch.bfloat16):
            logits = net(seen).float()
        logs = functional.log_softmax(logits, -1)
        wanted, tells = targets(logs.detach().exp(), leaders, tricks, strayed, self.trace)
        return -((wanted * logs).sum(-1) * tells).sum() / tells.sum()

    @torch.no_grad()
    def errors(self, net: nn.Module, hands: Array) -> list[float]:
        """The squared error of wins and losses at each trick, where no stray card follows."""
        seen, leaders, tricks, strayed = self.read(hands)
        with torch.autocast("cpu", torch.bfloat16):
            shares = net(seen).float().softmax(-1)
        wanted, _ = targets(shares, leaders, tricks, strayed, 1.0)
        pays = torch.where(torch.arange(OUTCOMES) * 2 > OUTCOMES - 1, 1.0, -1.0)
        straight = (strayed[:, None] >> torch.arange(self.tricks)) == 0
        apart = ((shares - wanted) @ pays) ** 2
        return torch.where(straight, apart, torch.nan).nanmean(0).tolist()
