# pyright: reportArgumentType=false
"""Fit of a value network to self-play hands, with λ-returns as targets.

The returns are distributions over the outcomes (Sutton and Barto 2018, 12.1, of a distribution in
place of an expectation): the endgame tricks, mixed with the network's own predictions on the way.
A random card cuts the return off: what follows it is not the policy's doing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from german_whist.agents.networks.value import (
    INPUTS,
    MAX_VALUE_INPUTS,
    N_OUTCOMES,
    write_value_inputs,
)
from german_whist.common.jit.compiler import jit
from german_whist.common.typing import Array
from german_whist.engine.dtypes import GAME
from german_whist.engine.play import play, row
from german_whist.engine.rules import Rules

from .self_play import BF16_ONE, bfloat16_inputs, deal_again, evaluate_network, without_targets


class TrickPositions(NamedTuple):
    """Positions before each trick of the foreplay."""

    inputs: np.ndarray
    """`(hands, tricks, inputs)`."""
    leaders: np.ndarray
    """`(hands, tricks + 1)`."""


@jit
def write_positions(
    rules: np.ndarray, hands: np.ndarray, games: np.ndarray, active: np.ndarray, out: TrickPositions
) -> None:
    """Write the positions of some hands; `games` and `active` are scratch."""
    inputs, leaders = out
    game = row(games, 0)
    inputs[:] = 0
    for index in range(len(hands)):
        hand = row(hands, index)
        deal_again(row(rules, 0), game, hand)
        for trick in range(inputs.shape[1]):
            leaders[index, trick] = game.leader
            count = write_value_inputs(row(rules, 0), game, active)
            for k in range(count):
                inputs[index, trick, active[k]] = BF16_ONE
            for ply in range(2 * trick, 2 * trick + 2):
                play(row(rules, 0), game, np.int64(hand.plays[ply]))
        leaders[index, inputs.shape[1]] = game.leader


def lambda_returns(
    probs: Tensor,
    leaders: Tensor,
    tricks: Tensor,
    random_tricks: Tensor,
    *,
    td_lambda: float,
    endgame_tricks: int,
) -> tuple[Tensor, Tensor]:
    """λ-returns of each position, and a mask of the positions without a random card in the trick.

    A return is that of the leader of its trick: the other player's tricks are what is left of
    `endgame_tricks`. `probs` are the network's predictions, `(hands, tricks, outcomes)`, `leaders`
    is `(hands, tricks + 1)`, `tricks` are the endgame tricks of seat 0.
    """
    hands, count, _ = probs.shape
    of_other_player = torch.arange(N_OUTCOMES)
    of_other_player[: endgame_tricks + 1] = torch.arange(endgame_tricks, -1, -1)
    leader_tricks = torch.where(leaders[:, -1] == 0, tricks, endgame_tricks - tricks)
    following = functional.one_hot(leader_tricks, N_OUTCOMES).to(probs.dtype)
    returns = torch.empty_like(probs)
    mask = torch.ones(hands, count, dtype=torch.bool)
    for trick in range(count - 1, -1, -1):
        changed_leader = (leaders[:, trick] != leaders[:, trick + 1])[:, None]
        following = torch.where(changed_leader, following[:, of_other_player], following)
        returns[:, trick] = following
        is_random = (random_tricks >> trick & 1).bool()
        mask[:, trick] = ~is_random
        mixed = (1 - td_lambda) * probs[:, trick] + td_lambda * following
        following = torch.where(is_random[:, None], probs[:, trick], mixed)
    return returns, mask


class ValueTask:
    """Cross entropy of a value network with λ-returns."""

    kind = "value"
    inputs = INPUTS
    outputs = N_OUTCOMES

    def __init__(self, rules: Rules, td_lambda: float) -> None:
        self.rules, self.td_lambda = rules.array(), td_lambda
        self.tricks, self.endgame_tricks = rules.foreplay_tricks, rules.hand
        self.payoffs = torch.sign(2 * torch.arange(N_OUTCOMES) - rules.hand).float()
        self.games = np.zeros(1, GAME)
        self.active = np.zeros(MAX_VALUE_INPUTS, np.int16)
        self._inputs = np.zeros((0, self.tricks, INPUTS), np.int16)

    def read(self, hands: Array) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Inputs, which the next call overwrites, leaders, tricks of seat 0 and random tricks."""
        hands = without_targets(hands)
        if len(self._inputs) != len(hands):
            self._inputs = np.zeros((len(hands), self.tricks, INPUTS), np.int16)
        leaders = np.zeros((len(hands), self.tricks + 1), np.int64)
        out = TrickPositions(self._inputs, leaders)
        write_positions(self.rules, hands, self.games, self.active, out)
        return (
            bfloat16_inputs(self._inputs),
            torch.from_numpy(leaders),
            torch.from_numpy(hands["tricks"].astype(np.int64)),
            torch.from_numpy(hands["random_tricks"].astype(np.int64)),
        )

    def loss(self, net: nn.Module, hands: Array) -> Tensor:
        inputs, *outcomes = self.read(hands)
        log_probs = functional.log_softmax(evaluate_network(net, inputs), -1)
        probs = log_probs.detach().exp()
        targets, mask = lambda_returns(
            probs, *outcomes, td_lambda=self.td_lambda, endgame_tricks=self.endgame_tricks
        )
        return -((targets * log_probs).sum(-1) * mask).sum() / mask.sum().clamp(min=1)

    @torch.no_grad()
    def metrics(self, net: nn.Module, hands: Array) -> dict[str, list[float]]:
        """Squared error of the expected win, ±1, at each trick where no random card follows."""
        inputs, leaders, tricks, random_tricks = self.read(hands)
        probs = evaluate_network(net, inputs).softmax(-1)
        outcomes, _ = lambda_returns(
            probs,
            leaders,
            tricks,
            random_tricks,
            td_lambda=1.0,
            endgame_tricks=self.endgame_tricks,
        )
        on_policy = (random_tricks[:, None] >> torch.arange(self.tricks)) == 0
        errors = ((probs - outcomes) @ self.payoffs) ** 2
        by_trick = torch.where(on_policy, errors, torch.nan).nanmean(0)
        return {"squared_error": by_trick.tolist()}
