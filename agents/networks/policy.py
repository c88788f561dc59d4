"""A trained network as a player: a compiled forward pass from its safetensors, without torch.

What is played does not depend on how many views come at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE
from ...common.jit.compiler import jit, warm_up
from ...engine.dtypes import VIEW
from ...engine.observation.layout import MAX_OBSERVATION_SIZE, encode_view, real_action
from ...engine.play import Record, row
from ...engine.rng import random_fraction
from ...engine.rules import Match
from ..base import Agent, Array, CannotPlay, ViewBatch, no_rng, no_views
from ..checkpoints.checkpoint import Checkpoint, checkpoint_for, model_file, read_checkpoint
from ..equilibrium.tabular import TablePolicy
from ..name_options import endgame_word, read_words
from ..perfect_endgame import EndgamePlayer, is_open
from ..sampling import masked_argmax, masked_softmax, sample
from .mlp import Hidden, Layers, forward, layers_of, new_hidden
from .relative_ranks import close_ranks, closed_actions, keep_ranks

# -- the network


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
    return PolicyNet(
        card.layout == "trump-first",
        network.card_ranks == "relative",
        network.places,
        layers_of(checkpoint.policy_layers),
    )


@jit
def look(
    rules: Record, view: Record, net: PolicyNet, order: np.ndarray, shown: np.ndarray,
    observation: np.ndarray,
) -> np.uint64:  # fmt: skip
    """Write what the network sees of a view; returns the legal actions as they are placed there.

    The action in place `p` is `real_action(shown[p], order)`.
    """
    legal = encode_view(rules, view, net.trumps_first, order, observation)
    if not net.closed:
        keep_ranks(shown)
        return legal
    close_ranks(observation, shown)
    return closed_actions(legal, shown)


@jit
def ones_of(observation: np.ndarray, inputs: np.ndarray, places: np.ndarray) -> int:
    """Which of the network's inputs are one in an observation; returns how many."""
    count = 0
    for k in range(len(inputs)):
        if observation[inputs[k]]:
            places[count] = k
            count += 1
    return count


class Desk(NamedTuple):
    """What one thread needs to ask a policy."""

    views: np.ndarray
    order: np.ndarray
    shown: np.ndarray
    observation: np.ndarray
    places: np.ndarray
    hidden: Hidden
    placed: np.ndarray
    """Logits as the network places them."""
    logits: np.ndarray
    """Logits of the real actions, minus infinity where not legal."""
    weights: np.ndarray
    """Room for the weight of each action."""


def new_desk(net: PolicyNet) -> Desk:
    """Room to ask a policy in."""
    actions = net.layers.sizes[-1]
    return Desk(
        np.zeros(1, VIEW),
        np.zeros(4, np.uint8),
        np.zeros(actions, np.int64),
        np.zeros(MAX_OBSERVATION_SIZE, np.int8),
        np.zeros(len(net.inputs), np.int64),
        new_hidden(net.layers.sizes),
        np.zeros(actions, np.float32),
        np.zeros(actions, np.float32),
        np.zeros(actions),
    )


@jit
def _ask_placed(rules: Record, view: Record, net: PolicyNet, desk: Desk) -> np.uint64:
    """Fill `desk.placed`; returns the legal actions as they are placed."""
    legal = look(rules, view, net, desk.order, desk.shown, desk.observation)
    ones = desk.places[: ones_of(desk.observation, net.inputs, desk.places)]
    forward(net.layers, ones, desk.hidden, desk.placed)
    return legal


@jit
def ask(rules: Record, view: Record, net: PolicyNet, desk: Desk) -> None:
    """Fill `desk.logits` for the player whose view this is, who knows no more than that."""
    legal = _ask_placed(rules, view, net, desk)
    desk.logits[:] = -np.inf
    for place in range(len(desk.placed)):
        if (legal >> np.uint64(place)) & ONE:
            desk.logits[real_action(desk.shown[place], desk.order)] = desk.placed[place]


@jit
def chosen(
    logits: np.ndarray, legal: np.uint64, draws: bool, weights: np.ndarray, stream: np.ndarray
) -> int:
    """A legal action with the probability that the logits give it, or the most likely one."""
    if not draws:
        return masked_argmax(logits, legal)
    total = masked_softmax(logits, legal, weights)
    return sample(weights, random_fraction(stream) * total)


@jit
def network_actions(
    rules: np.ndarray, batch: ViewBatch, net: PolicyNet, desk: Desk, draws: bool, skip_open: bool
) -> None:
    """What the network plays in each view; open endings may be left to others."""
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        batch.actions[index] = -1
        if skip_open and is_open(row(rules, 0), view):
            continue
        legal = _ask_placed(row(rules, 0), view, net, desk)
        if legal != NO_CARDS:
            stream = batch.rng[index : index + 1]
            place = chosen(desk.placed, legal, draws, desk.weights, stream)
            batch.actions[index] = real_action(desk.shown[place], desk.order)


@jit
def network_logits(
    rules: np.ndarray, views: np.ndarray, net: PolicyNet, desk: Desk, out: np.ndarray
) -> None:
    """The logits of all real actions in each view; minus infinity where not legal."""
    for index in range(len(views)):
        ask(row(rules, 0), row(views, index), net, desk)
        out[index] = desk.logits


@jit
def logits_actions(logits: np.ndarray, draws: bool, rng: np.ndarray, actions: np.ndarray) -> None:
    """What is played by the logits of real actions, minus infinity where not legal."""
    weights = np.empty(logits.shape[1])
    for index in range(len(logits)):
        legal = NO_CARDS
        for action in range(logits.shape[1]):
            if logits[index, action] > -np.inf:
                legal |= ONE << np.uint64(action)
        actions[index] = chosen(logits[index], legal, draws, weights, rng[index : index + 1])


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
            batch = ViewBatch(views, streams, actions)
            network_actions(
                self.record, batch, self.policy, new_desk(self.policy), self.sample, skip
            )
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
            network_logits(self.record, views, self.policy, new_desk(self.policy), logits)
        else:
            logits = self.policy.logits(self.record, views)
        # In NumPy instead of `masked_softmax`: whole arrays of rows at once, whose logits are minus
        # infinity where an action is not legal, and no random draw depends on the last digit.
        shares = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)
