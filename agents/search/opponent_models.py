"""Models of fixed agents in compiled code: their card probabilities and their cards.

A best response (`responder`) queries them in determinizations, with a view of the opponent's seat
alone. Rule-based agents and greedy networks give one card; an error rate is spread over all legal
cards, so that no determinization has probability 0. A search has no probabilities of its own: it
is modeled by a similar agent, as `OPPONENT_MODELS` says, or by a network trained to imitate it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import jit, noinline
from ...common.suggestions import suggest
from ...engine.bitset import ONE, lowest, nth_lowest, popcount
from ...engine.play import Record
from ...engine.rng import random_below
from ...engine.rules import Rules
from ...engine.view import legal_in_view
from ..base import CannotPlay
from ..checkpoints import (
    find_checkpoint,
    is_checkpoint,
    read_checkpoint,
    specialize_checkpoint,
)
from ..checkpoints.bundled import EARLIER_CHAMPIONS, champion_for
from ..heuristic.counting import counting_action
from ..heuristic.threshold import threshold_action
from ..networks.mlp import NO_MLP
from ..networks.policy import PolicyBuffers, PolicyNet, choose_action, compute_logits, policy_net
from ..sampling import masked_argmax, masked_softmax

UNIFORM, RULE_OF_THUMB, COUNTING, ARGMAX, SOFTMAX = range(5)
"""Kinds of models: uniform, rule-based, argmax of a network, softmax of a network."""


class OpponentModel(NamedTuple):
    """Kind, error rate and network of a model."""

    kind: int
    error_rate: float
    net: PolicyNet


# The second number is the error rate: 0.002 where the model plays as the agent does, so that an
# action of another version is unlikely and not impossible; 0.02 where a search changes a few of the
# network's cards; 0.2 where the model only resembles the agent.
OPPONENT_MODELS = {
    "random": (UNIFORM, 0.0),
    "random-exact": (UNIFORM, 0.0),
    "threshold": (RULE_OF_THUMB, 0.002),
    "counting": (COUNTING, 0.002),
    "flat-mc": (COUNTING, 0.2),
    "champion-1": (ARGMAX, 0.002),
    "champion-2": (ARGMAX, 0.02),
    "champion": (ARGMAX, 0.02),
    "thinker": (SOFTMAX, 0.02),
}
"""Model of each agent: `champion` by its network alone, `thinker` by that network's
probabilities, `flat-mc` by `counting`, whose weights were fitted to it.
"""

_NO_NET = PolicyNet(False, False, np.zeros(1, np.int64), NO_MLP)


def opponent_model(text: str, rules: Rules) -> OpponentModel:
    """Model of an agent by its name or a checkpoint's path."""
    kind, error_rate = OPPONENT_MODELS.get(text.partition(":")[0], (ARGMAX, 0.002))
    kind = SOFTMAX if text in ("champion:sample", "champion-2:sample") else kind
    path = opponent_weights(text, rules)
    if path is None:
        return OpponentModel(kind, error_rate, _NO_NET)
    return OpponentModel(
        kind, error_rate, policy_net(specialize_checkpoint(read_checkpoint(path), rules))
    )


def opponent_weights(text: str, rules: Rules) -> Path | None:
    """Weights file of an agent's model; None for a rule-based agent."""
    name = text.partition(":")[0]
    if name in OPPONENT_MODELS:
        if OPPONENT_MODELS[name][0] < ARGMAX:
            return None
        return EARLIER_CHAMPIONS.get(name) or champion_for(rules)
    if is_checkpoint(text):
        return find_checkpoint(text)
    raise CannotPlay(
        f"{text!r} has no opponent model"
        + suggest(name, OPPONENT_MODELS, more="and the path of a checkpoint that plays like it")
    )


@jit
def choose_card(rules: Record, view: Record, model: OpponentModel, buffers: PolicyBuffers) -> int:
    if model.kind == RULE_OF_THUMB:
        return threshold_action(rules, view)
    if model.kind == COUNTING:
        return counting_action(rules, view)
    compute_logits(rules, view, model.net, buffers)
    return masked_argmax(buffers.logits, legal_in_view(rules, view))


@noinline
def card_probability(
    rules: Record, view: Record, model: OpponentModel, buffers: PolicyBuffers, card: int
) -> float:
    """Probability of a card under a model; 0 if illegal."""
    cards = legal_in_view(rules, view)
    if not (cards >> np.uint64(card)) & ONE:
        return 0.0
    count = popcount(cards)
    if count == 1 or model.kind == UNIFORM:
        return 1.0 / count
    base = model.error_rate / count
    if model.kind != SOFTMAX:
        return base + (
            1.0 - model.error_rate if choose_card(rules, view, model, buffers) == card else 0.0
        )
    compute_logits(rules, view, model.net, buffers)
    total = masked_softmax(buffers.logits, cards, buffers.weights)
    return base + (1.0 - model.error_rate) * buffers.weights[card] / total


@noinline
def sample_card(
    rules: Record, view: Record, model: OpponentModel, buffers: PolicyBuffers, stream: np.ndarray
) -> int:
    """Sample a card of a model, without its error rate."""
    cards = legal_in_view(rules, view)
    if cards & (cards - ONE) == np.uint64(0):
        return lowest(cards)
    if model.kind == UNIFORM:
        return nth_lowest(cards, random_below(stream, popcount(cards)))
    if model.kind != SOFTMAX:
        return choose_card(rules, view, model, buffers)
    compute_logits(rules, view, model.net, buffers)
    return choose_action(buffers.logits, cards, True, buffers.weights, stream)
