"""A trained network as a player: a compiled forward pass from its safetensors, without torch.

What is played does not depend on how many views come at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..engine.bits import NO_CARDS, ONE
from ..engine.compiled import jit, warm_up
from ..engine.layout import (
    LONGEST_OBSERVATION,
    encode,
    keep_suits,
    real_action,
    relabelled,
    trump_first,
)
from ..engine.play import Record, row
from ..engine.rules import Match
from ..engine.streams import fraction
from ..engine.view import legal_in_view
from .base import Agent, Array, CannotPlay, no_rng, no_views
from .checkpoint import Checkpoint, checkpoint_for, model_file, read_checkpoint
from .closing import close_ranks, closed_actions, keep_ranks
from .endgame import EndgamePlayer, is_open
from .layers import Layers, forward, new_hidden, new_layers
from .policies import endgame_word, read_words
from .tabular import TablePolicy

# -- the network


@jit
def ones_of(observation: np.ndarray, inputs: np.ndarray, places: np.ndarray) -> int:
    """Which of the network's inputs are one in an observation; returns how many."""
    count = 0
    for k in range(len(inputs)):
        if observation[inputs[k]]:
            places[count] = k
            count += 1
    return count


@jit
def most_likely(logits: np.ndarray, legal: np.uint64) -> int:
    """The legal action with the greatest logit."""
    best = -1
    for action in range(len(logits)):
        if (legal >> np.uint64(action)) & ONE and (best < 0 or logits[action] > logits[best]):
            best = action
    return best


@jit
def sampled(logits: np.ndarray, legal: np.uint64, stream: np.ndarray) -> int:
    """A legal action with the probability that the logits give it."""
    top = logits[most_likely(logits, legal)]
    total = 0.0
    for action in range(len(logits)):
        if (legal >> np.uint64(action)) & ONE:
            total += np.exp(np.float64(logits[action] - top))
    left = fraction(stream) * total
    chosen = -1
    for action in range(len(logits)):
        if (legal >> np.uint64(action)) & ONE:
            chosen = action
            left -= np.exp(np.float64(logits[action] - top))
            if left < 0:
                break
    return chosen


@jit
def look(
    rules: Record,
    view: Record,
    trumps_first: bool,
    closed: bool,
    order: np.ndarray,
    shown: np.ndarray,
    observation: np.ndarray,
) -> np.uint64:
    """Write what the network sees of a view; returns the legal actions as they are placed there.

    The action in place `p` is `real_action(shown[p], order)`.
    """
    if trumps_first:
        trump_first(rules, view, order)
    else:
        keep_suits(order)
    encode(rules, view, order, observation)
    legal = relabelled(legal_in_view(rules, view), order)
    if not closed:
        keep_ranks(shown)
        return legal
    close_ranks(observation, shown)
    return closed_actions(legal, shown)


@jit
def network_actions(
    rules: np.ndarray,
    views: np.ndarray,
    trumps_first: bool,
    closed: bool,
    inputs: np.ndarray,
    layers: Layers,
    sample: bool,
    skip_open: bool,
    rng: np.ndarray,
    actions: np.ndarray,
) -> None:
    """What the network plays in each view; open endings may be left to others."""
    order = np.empty(4, np.uint8)
    shown = np.empty(layers.sizes[-1], np.int64)
    observation = np.zeros(LONGEST_OBSERVATION, np.int8)
    places = np.empty(len(inputs), np.int64)
    hidden = new_hidden(layers.sizes)
    logits = np.empty(layers.sizes[-1], np.float32)
    for index in range(len(views)):
        view = row(views, index)
        if skip_open and is_open(row(rules, 0), view):
            actions[index] = -1
            continue
        legal = look(row(rules, 0), view, trumps_first, closed, order, shown, observation)
        if legal == NO_CARDS:
            actions[index] = -1
            continue
        ones = places[: ones_of(observation, inputs, places)]
        forward(layers, ones, hidden, logits)
        if sample:
            place = sampled(logits, legal, rng[index : index + 1])
        else:
            place = most_likely(logits, legal)
        actions[index] = real_action(shown[place], order)


@jit
def network_logits(
    rules: np.ndarray,
    views: np.ndarray,
    trumps_first: bool,
    closed: bool,
    inputs: np.ndarray,
    layers: Layers,
    out: np.ndarray,
) -> None:
    """The logits of all real actions in each view; minus infinity where not legal."""
    order = np.empty(4, np.uint8)
    shown = np.empty(layers.sizes[-1], np.int64)
    observation = np.zeros(LONGEST_OBSERVATION, np.int8)
    places = np.empty(len(inputs), np.int64)
    hidden = new_hidden(layers.sizes)
    logits = np.empty(layers.sizes[-1], np.float32)
    for index in range(len(views)):
        view = row(views, index)
        legal = look(row(rules, 0), view, trumps_first, closed, order, shown, observation)
        ones = places[: ones_of(observation, inputs, places)]
        forward(layers, ones, hidden, logits)
        out[index] = -np.inf
        for place in range(len(logits)):
            if (legal >> np.uint64(place)) & ONE:
                out[index, real_action(shown[place], order)] = logits[place]


@jit
def logits_actions(logits: np.ndarray, sample: bool, rng: np.ndarray, actions: np.ndarray) -> None:
    """What is played by the logits of real actions, minus infinity where not legal."""
    for index in range(len(logits)):
        legal = NO_CARDS
        for action in range(logits.shape[1]):
            if logits[index, action] > -np.inf:
                legal |= ONE << np.uint64(action)
        if legal == NO_CARDS:
            actions[index] = -1
        elif sample:
            actions[index] = sampled(logits[index], legal, rng[index : index + 1])
        else:
            actions[index] = most_likely(logits[index], legal)


class PolicyNet(NamedTuple):
    """A policy's numbers, as compiled code reads them."""

    trumps_first: bool
    closed: bool
    inputs: np.ndarray
    layers: Layers


def policy_net(checkpoint: Checkpoint) -> PolicyNet:
    """The numbers of a policy that reads one observation."""
    card, network = checkpoint.card, checkpoint.card.network
    if network.kind != "mlp":
        raise CannotPlay(
            f"{checkpoint.path}: is a {network.kind}; a network of the kind 'mlp' is needed here"
        )
    names = [*(f"hidden.{k}" for k in range(len(network.layers))), "policy"]
    parts = [
        checkpoint.weights[f"{name}.{part}"].astype(np.float32).T.ravel()
        for name in names
        for part in ("weight", "bias")
    ]
    return PolicyNet(
        card.layout == "trump-first",
        network.ranks == "closed",
        np.array(network.inputs, np.int64),
        new_layers(
            np.array([len(network.inputs), *network.layers, card.actions], np.int64),
            np.concatenate(parts),
        ),
    )


class NetworkAgent(Agent):
    """Plays what a trained network finds most likely, or samples from it; endings exactly.

    A table, which is an average of many strategies, is sampled from unless it is to be greedy.
    """

    def __init__(
        self,
        rules: Any = "classic",
        source: str | Path | Checkpoint = "",
        *words: str,
        match: Match | None = None,
        name: str | None = None,
    ) -> None:
        """`words` are `greedy` or `sample`, and `endgame=exact` or `endgame=network`."""
        super().__init__(rules, match=match)
        if source == "":
            raise ValueError("network is the player of a checkpoint: write network:PATH")
        self.name = name or str(source.path if isinstance(source, Checkpoint) else source)
        checkpoint = source if isinstance(source, Checkpoint) else read_checkpoint(source)
        checkpoint = checkpoint_for(checkpoint, self.rules, self.name)
        self.card = checkpoint.card
        kind = checkpoint.card.network.kind
        usual = ("sample",) if kind == "table" else ()
        told = read_words((*usual, *words), "a network")
        self.sample, exact = told["sample"], told["exact"]
        table = kind == "table"
        self.policy = TablePolicy(checkpoint) if table else policy_net(checkpoint)
        self.reads_tricks, self.reads_draws = table, not table
        endgame = EndgamePlayer(self.rules)
        if not exact and endgame.perfect and checkpoint.card.horizon == "foreplay":
            raise CannotPlay(
                f"{checkpoint.path}: endgame is 'network', but it was trained with the horizon "
                "'foreplay' and never saw an ending: use endgame=exact, or train with horizon=hand"
            )
        self._endgame = endgame if exact else None
        foreplay_only = checkpoint.card.horizon == "foreplay"
        self.endgame_switch = "" if foreplay_only else endgame_word(self.rules, exact)
        if checkpoint.card.weights is not None:
            self.checkpoints = (model_file(checkpoint.path),)
        warm_up(f"network player ({kind})", "agents",
                lambda: NetworkAgent.act(self, no_views(), no_rng()))  # fmt: skip

    def act(self, views: Array, rng: Array) -> Array:
        """An action for each view."""
        actions, streams = np.empty(len(views), np.int64), rng.copy()
        if isinstance(self.policy, PolicyNet):
            skip = self.perfect_endgame
            network_actions(self.record, views, *self.policy, self.sample, skip, streams, actions)
        else:
            logits_actions(self.policy.logits(self.record, views), self.sample, streams, actions)
        if self._endgame is not None:
            self._endgame.improve(views, actions)
        return actions

    def probabilities(self, views: Array) -> Array:
        """`(n, actions)`: with what probability it plays each action."""
        found = np.zeros((len(views), self.rules.actions))
        fixed = np.full(len(views), -1)
        if not self.sample:
            fixed = self.act(views, np.zeros(len(views), np.uint64))
        elif self._endgame is not None:
            self._endgame.improve(views, fixed)
        drawn, sure = np.flatnonzero(fixed < 0), np.flatnonzero(fixed >= 0)
        if len(drawn):
            found[drawn] = self.likelihoods(views[drawn])
        found[sure, fixed[sure]] = 1
        return found

    def likelihoods(self, views: Array) -> Array:
        """`(n, actions)`: what the network alone makes of each legal action, 1 in all."""
        if isinstance(self.policy, PolicyNet):
            logits = np.empty((len(views), self.rules.actions), np.float32)
            network_logits(self.record, views, *self.policy, logits)
        else:
            logits = self.policy.logits(self.record, views)
        shares = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)
