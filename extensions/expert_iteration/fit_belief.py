# pyright: reportArgumentType=false
"""Fit of a belief network to self-play hands: which unseen cards does the opponent hold?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from german_whist.agents.networks.belief import INPUTS, MAX_BELIEF_INPUTS, write_belief_inputs
from german_whist.common.jit.compiler import allocates, jit
from german_whist.common.typing import Array
from german_whist.engine.bitset import ONE
from german_whist.engine.cards import N_CARDS
from german_whist.engine.dtypes import GAME, VIEW
from german_whist.engine.play import play, row
from german_whist.engine.rules import Rules
from german_whist.engine.view import write_view

from .self_play import BF16_ONE, bfloat16_inputs, deal_again, evaluate_network, without_targets


class PositionBuffers(NamedTuple):
    """A game, a view, and indices of the inputs of one decision that are 1."""

    games: np.ndarray
    views: np.ndarray
    active: np.ndarray


class BeliefSamples(NamedTuple):
    """Decisions of some hands, each array of the shape `(hands, decisions, ...)`."""

    inputs: np.ndarray
    """Inputs for the player to move."""
    labels: np.ndarray
    """1 for the cards in the opponent's hand."""
    masks: np.ndarray
    """1 for the cards that the player has not seen."""


@jit
@allocates
def write_samples(
    rules: np.ndarray, hands: np.ndarray, buffers: PositionBuffers, out: BeliefSamples
) -> None:
    inputs, labels, masks = out
    active = buffers.active
    game, view = row(buffers.games, 0), row(buffers.views, 0)
    suit_order, suit_places = np.zeros(4, np.uint8), np.zeros(4, np.int64)
    for index in range(len(hands)):
        hand = row(hands, index)
        deal_again(row(rules, 0), game, hand)
        for decision in range(inputs.shape[1]):
            seat = np.int64(game.turn)
            write_view(row(rules, 0), game, seat, view)
            count = write_belief_inputs(row(rules, 0), view, suit_order, suit_places, active)
            for k in range(count):
                inputs[index, decision, active[k]] = BF16_ONE
            _write_cards(view.unseen, suit_order, masks[index, decision])
            _write_cards(game.hand[1 - seat], suit_order, labels[index, decision])
            play(row(rules, 0), game, np.int64(hand.plays[decision]))


@jit
def _write_cards(cards: np.uint64, suit_order: np.ndarray, out: np.ndarray) -> None:
    for place in range(N_CARDS):
        card = 13 * np.int64(suit_order[place // 13]) + place % 13
        out[place] = np.float32((cards >> np.uint64(card)) & ONE)


class BeliefTask:
    """Binary cross entropy of a belief network."""

    kind = "belief"
    inputs = INPUTS
    outputs = N_CARDS

    def __init__(self, rules: Rules) -> None:
        self.rules = rules.array()
        self.decisions = rules.stock_cards
        self.active = np.zeros(MAX_BELIEF_INPUTS, np.int16)

    def read(self, hands: Array) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs, labels and masks of the decisions of some hands."""
        hands = without_targets(hands)
        shape = len(hands), self.decisions
        inputs = np.zeros((*shape, INPUTS), np.int16)
        labels, masks = np.zeros((2, *shape, N_CARDS), np.float32)
        buffers = PositionBuffers(np.zeros(1, GAME), np.zeros(1, VIEW), self.active)
        write_samples(self.rules, hands, buffers, BeliefSamples(inputs, labels, masks))
        return (
            bfloat16_inputs(inputs),
            torch.from_numpy(labels),
            torch.from_numpy(masks),
        )

    def loss(self, net: nn.Module, hands: Array) -> Tensor:
        return self._losses(net, hands).mean()

    @torch.no_grad()
    def metrics(self, net: nn.Module, hands: Array) -> dict[str, list[float]]:
        """Cross entropy in nats at each decision."""
        return {"cross_entropy": self._losses(net, hands).mean(0).tolist()}

    def _losses(self, net: nn.Module, hands: Array) -> Tensor:
        inputs, labels, masks = self.read(hands)
        logits = evaluate_network(net, inputs)
        losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        return (losses * masks).sum(-1)
