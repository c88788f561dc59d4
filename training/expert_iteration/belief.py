"""Fitting a network of beliefs to hands of self-play: which unseen cards does the other hold?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...agents.networks.belief import INPUTS, MOST_KNOWN, write_known
from ...common.jit.bitset import ONE
from ...common.jit.compiler import jit
from ...common.typing import Array
from ...engine.cards import N_CARDS
from ...engine.dtypes import GAME, VIEW
from ...engine.play import play, row, set_up
from ...engine.rules import Rules
from ...engine.view import write_view
from .self_play import BF16_ONE, without_targets


class Scratch(NamedTuple):
    """A game, a view, and the inputs of one decision that are ones."""

    games: np.ndarray
    views: np.ndarray
    places: np.ndarray


class Guesses(NamedTuple):
    """Decisions of some hands."""

    inputs: np.ndarray
    """`(hands, decisions, inputs)`: what the player to move knows."""
    held: np.ndarray
    """`(hands, decisions, 52)`: the cards that the other holds."""
    unseen: np.ndarray
    """`(hands, decisions, 52)`: the cards that the player has not seen."""


@jit
def write_guesses(rules: np.ndarray, hands: np.ndarray, scratch: Scratch, out: Guesses) -> None:
    """Write what is known and what is true at each decision of some hands."""
    seen, held, asked = out
    places = scratch.places
    game, view = row(scratch.games, 0), row(scratch.views, 0)
    order, at = np.zeros(4, np.uint8), np.zeros(4, np.int64)
    for index in range(len(hands)):
        hand = row(hands, index)
        game.deal[:] = hand.deal
        set_up(row(rules, 0), game, np.int64(hand.dealer))
        for decision in range(seen.shape[1]):
            seat = np.int64(game.turn)
            write_view(row(rules, 0), game, seat, view)
            count = write_known(row(rules, 0), view, order, at, places)
            for k in range(count):
                seen[index, decision, places[k]] = BF16_ONE
            _write_cards(view.unseen, order, asked[index, decision])
            _write_cards(game.hand[1 - seat], order, held[index, decision])
            play(row(rules, 0), game, np.int64(hand.plays[decision]))


@jit
def _write_cards(cards: np.uint64, order: np.ndarray, out: np.ndarray) -> None:
    for place in range(N_CARDS):
        card = 13 * np.int64(order[place // 13]) + place % 13
        out[place] = np.float32((cards >> np.uint64(card)) & ONE)


class BeliefTask:
    """A network of beliefs, and the hands that it learns from."""

    kind = "belief"
    inputs = INPUTS
    outputs = N_CARDS

    def __init__(self, rules: Rules) -> None:
        self.rules = rules.record()
        self.decisions = rules.stock_cards
        self.places = np.zeros(MOST_KNOWN, np.int16)

    def read(self, hands: Array) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs, cards held by the other, and cards unseen."""
        hands = without_targets(hands)
        shape = len(hands), self.decisions
        seen = np.zeros((*shape, INPUTS), np.int16)
        held, asked = np.zeros((2, *shape, N_CARDS), np.float32)
        scratch = Scratch(np.zeros(1, GAME), np.zeros(1, VIEW), self.places)
        write_guesses(self.rules, hands, scratch, Guesses(seen, held, asked))
        held, asked = map(torch.from_numpy, (held, asked))
        return torch.from_numpy(seen).view(torch.bfloat16), held, asked

    def loss(self, net: nn.Module, hands: Array) -> Tensor:
        """How badly the guesses fit, in nats for each decision."""
        return self._each(net, hands).mean()

    @torch.no_grad()
    def errors(self, net: nn.Module, hands: Array) -> list[float]:
        """The same at each decision."""
        return self._each(net, hands).mean(0).tolist()

    def _each(self, net: nn.Module, hands: Array) -> Tensor:
        seen, held, asked = self.read(hands)
        with torch.autocast("cpu", torch.bfloat16):
            logits = net(seen).float()
        each = functional.binary_cross_entropy_with_logits(logits, held, reduction="none")
        return (each * asked).sum(-1)
