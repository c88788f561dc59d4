"""Fixed players as compiled code knows them: how likely each plays a card, and what it plays.

A search that answers one player (`responder`) asks this in imagined worlds, with no more than
that player's seat may know. Of rule players and networks that play their likeliest card the
answer is one card; a small share, the slip, is spread over all cards, so that a world is never
ruled out for good. A search that is to be answered has no probabilities of its own: it is
taken for something near, as `MODELS` says, or for any network that was taught to imitate it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...common.jit.bitset import ONE, lowest, nth_lowest, popcount
from ...common.jit.compiler import jit, noinline
from ...common.suggestions import suggest
from ...engine.play import Record
from ...engine.rng import random_below
from ...engine.rules import Rules
from ...engine.view import legal_in_view
from ..base import CannotPlay
from ..checkpoints.bundled import FIRST_WEIGHTS, champion_for
from ..checkpoints.checkpoint import checkpoint_for, find_checkpoint, is_checkpoint, read_checkpoint
from ..heuristic.counting import counting_action
from ..heuristic.threshold import threshold_action
from ..networks.mlp import NO_LAYERS
from ..networks.policy import Desk, PolicyNet, ask, policy_net
from ..networks.policy import chosen as chosen_by_logits
from ..sampling import masked_argmax, masked_softmax

EVEN, THUMB, COUNTING, LIKELIEST, SHARES = range(5)
"""Any card alike, by a rule, a network's likeliest card, or each as likely as a network says."""

_SURE, _NEARLY, _ROUGHLY = 0.002, 0.02, 0.2
"""Slips: of what plays just so, of what plays otherwise now and then, of what is only near."""


class Model(NamedTuple):
    """A player as compiled code asks it."""

    kind: int
    slip: float
    net: PolicyNet


MODELS = {
    "random": (EVEN, 0.0),
    "random-exact": (EVEN, 0.0),
    "threshold": (THUMB, _SURE),
    "counting": (COUNTING, _SURE),
    "flat-mc": (COUNTING, _ROUGHLY),
    "champion-1": (LIKELIEST, _SURE),
    "champion": (LIKELIEST, _NEARLY),
    "thinker": (SHARES, _NEARLY),
}
"""What each player is taken for: `champion` for its network alone, `thinker` for the same
network's probabilities, `flat-mc` for `counting`, whose weights were fitted to it."""

_NO_NET = PolicyNet(False, False, np.zeros(1, np.int64), NO_LAYERS)


def model_of(text: str, rules: Rules) -> Model:
    """What a player is taken for, by its name or a checkpoint's path."""
    kind, slip = MODELS.get(text.partition(":")[0], (LIKELIEST, _SURE))
    kind = SHARES if text == "champion:sample" else kind
    path = weights_of_model(text, rules)
    if path is None:
        return Model(kind, slip, _NO_NET)
    return Model(kind, slip, policy_net(checkpoint_for(read_checkpoint(path), rules)))


def weights_of_model(text: str, rules: Rules) -> Path | None:
    """The weights by which a player is imagined; None for a player that follows rules."""
    name = text.partition(":")[0]
    if name in MODELS:
        if MODELS[name][0] < LIKELIEST:
            return None
        return FIRST_WEIGHTS if name == "champion-1" else champion_for(rules)
    if is_checkpoint(text):
        return find_checkpoint(text)
    raise CannotPlay(
        f"{text!r} cannot be imagined"
        + suggest(name, MODELS, more="and the path of a checkpoint that plays like it")
    )


@jit
def chosen(rules: Record, view: Record, model: Model, desk: Desk) -> int:
    """The card of a model that always plays the same in a view."""
    if model.kind == THUMB:
        return threshold_action(rules, view)
    if model.kind == COUNTING:
        return counting_action(rules, view)
    ask(rules, view, model.net, desk)
    return masked_argmax(desk.logits, legal_in_view(rules, view))


@noinline
def chance_of(rules: Record, view: Record, model: Model, desk: Desk, card: int) -> float:
    """How likely a model plays a card in a view; nothing if it may not."""
    cards = legal_in_view(rules, view)
    if not (cards >> np.uint64(card)) & ONE:
        return 0.0
    count = popcount(cards)
    if count == 1 or model.kind == EVEN:
        return 1.0 / count
    share = model.slip / count
    if model.kind != SHARES:
        return share + (1.0 - model.slip if chosen(rules, view, model, desk) == card else 0.0)
    ask(rules, view, model.net, desk)
    total = masked_softmax(desk.logits, cards, desk.weights)
    return share + (1.0 - model.slip) * desk.weights[card] / total


@noinline
def played(rules: Record, view: Record, model: Model, desk: Desk, stream: np.ndarray) -> int:
    """What a model plays in a view, without its slips."""
    cards = legal_in_view(rules, view)
    if cards & (cards - ONE) == np.uint64(0):
        return lowest(cards)
    if model.kind == EVEN:
        return nth_lowest(cards, random_below(stream, popcount(cards)))
    if model.kind != SHARES:
        return chosen(rules, view, model, desk)
    ask(rules, view, model.net, desk)
    return chosen_by_logits(desk.logits, cards, True, desk.weights, stream)
