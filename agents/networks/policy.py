"""Policy network agent: a compiled forward pass from safetensors, without torch.

Its play does not depend on the batch size.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ...common.jit.compiler import jit
from ...common.suggestions import not_installed
from ...engine.batch.config import options_from
from ...engine.bitset import NO_CARDS, ONE
from ...engine.dtypes import VIEW
from ...engine.endgame import value_of
from ...engine.observation.spec import MAX_OBSERVATION_SIZE, encode_view
from ...engine.observation.suit_order import real_action
from ...engine.play import Record, payoff_of_tricks, row
from ...engine.rng import random_fraction, sample_index
from ...engine.rules import Match, Rules, RulesLike
from ...engine.view import View
from ..base import Agent, Array, CannotPlay, ViewBatch, compile_act
from ..checkpoints import (
    Checkpoint,
    find_checkpoint,
    is_checkpoint,
    model_file,
    parse_rules,
    read_card,
    read_checkpoint,
    specialize_checkpoint,
)
from ..checkpoints.schema import CheckpointCard
from ..options import NetworkOptions, endgame_option, parse_options, trained_on_endgame
from ..perfect_endgame import EndgamePlayer, is_open
from ..sampling import masked_argmax, masked_softmax
from .mlp import (
    ForwardBuffers,
    MLPBatch,
    MLPWeights,
    forward,
    forward_rows,
    mlp_weights,
    new_forward_buffers,
    new_mlp_batch,
)
from .relative_ranks import identity_action_map, to_relative_actions, to_relative_ranks
from .table_policy import TablePolicy

if TYPE_CHECKING:
    from .custom_network import ModulePolicy

AnyPolicy: TypeAlias = "PolicyNet | TablePolicy | ModulePolicy"

# -- the network


class PolicyNet(NamedTuple):
    """Policy network for compiled code."""

    trumps_first: bool
    relative_ranks: bool
    inputs: np.ndarray
    layers: MLPWeights


def policy_net(checkpoint: Checkpoint) -> PolicyNet:
    """Policy network of a checkpoint that has no rule features."""
    network = checkpoint.card.network
    if network.kind != "mlp":
        raise CannotPlay(
            f"{checkpoint.path}: is a {network.kind}; a network of the kind 'mlp' is needed here"
        )
    return _net(checkpoint, checkpoint.policy_layers)


def critic_net(checkpoint: Checkpoint) -> PolicyNet:
    """Critic of a checkpoint that reads what the policy reads: a network with one output."""
    return _net(checkpoint, checkpoint.critic_layers)


def _net(checkpoint: Checkpoint, layers: list[tuple[Array, Array]]) -> PolicyNet:
    card, network = checkpoint.card, checkpoint.card.network
    return PolicyNet(
        card.suit_order == "trump-first",
        network.card_ranks == "relative",
        network.places,
        mlp_weights(layers),
    )


@jit
def encode_policy_input(
    rules: Record,
    view: Record,
    net: PolicyNet,
    order: np.ndarray,
    action_map: np.ndarray,
    observation: np.ndarray,
) -> np.uint64:
    """Encode a view for the network; returns the legal actions in the encoding.

    Action `a` of the encoding is the real action `real_action(action_map[a], order)`.
    """
    legal = encode_view(rules, view, net.trumps_first, order, observation)
    if not net.relative_ranks:
        identity_action_map(action_map)
        return legal
    to_relative_ranks(observation, action_map)
    return to_relative_actions(legal, action_map)


@jit
def write_active_inputs(
    observation: np.ndarray, inputs: np.ndarray, active_inputs: np.ndarray
) -> int:
    """Write the indices of the network's active inputs; returns their number."""
    count = 0
    for k in range(len(inputs)):
        if observation[inputs[k]]:
            active_inputs[count] = k
            count += 1
    return count


class PolicyBuffers(NamedTuple):
    """One thread's buffers for policy queries."""

    views: np.ndarray
    order: np.ndarray
    action_map: np.ndarray
    observation: np.ndarray
    active_inputs: np.ndarray
    forward: ForwardBuffers
    shown_logits: np.ndarray
    """Logits of the actions in the encoding."""
    logits: np.ndarray
    """Logits of the real actions, minus infinity where illegal."""
    weights: np.ndarray
    """Unnormalized probability of each action."""


def new_policy_buffers(net: PolicyNet) -> PolicyBuffers:
    actions = net.layers.sizes[-1]
    return PolicyBuffers(
        views=np.zeros(1, VIEW),
        order=np.zeros(4, np.uint8),
        action_map=np.zeros(actions, np.int64),
        observation=np.zeros(MAX_OBSERVATION_SIZE, np.int8),
        active_inputs=np.zeros(len(net.inputs), np.int64),
        forward=new_forward_buffers(net.layers.sizes),
        shown_logits=np.zeros(actions, np.float32),
        logits=np.zeros(actions, np.float32),
        weights=np.zeros(actions),
    )


@jit
def _compute_shown_logits(
    rules: Record, view: Record, net: PolicyNet, buffers: PolicyBuffers
) -> np.uint64:
    legal = encode_policy_input(
        rules=rules,
        view=view,
        net=net,
        order=buffers.order,
        action_map=buffers.action_map,
        observation=buffers.observation,
    )
    count = write_active_inputs(buffers.observation, net.inputs, buffers.active_inputs)
    forward(net.layers, buffers.active_inputs[:count], buffers.forward, buffers.shown_logits)
    return legal


@jit
def compute_logits(rules: Record, view: Record, net: PolicyNet, buffers: PolicyBuffers) -> None:
    """Fill `buffers.logits` for the player of this view."""
    legal = _compute_shown_logits(rules, view, net, buffers)
    buffers.logits[:] = -np.inf
    for shown_action in range(len(buffers.shown_logits)):
        if (legal >> np.uint64(shown_action)) & ONE:
            buffers.logits[real_action(buffers.action_map[shown_action], buffers.order)] = (
                buffers.shown_logits[shown_action]
            )


@jit
def choose_action(
    logits: np.ndarray, legal: np.uint64, stochastic: bool, weights: np.ndarray, stream: np.ndarray
) -> int:
    """Sample a legal action from the softmax of the logits, or take their argmax."""
    if not stochastic:
        return masked_argmax(logits, legal)
    total = masked_softmax(logits, legal, weights)
    return sample_index(weights, random_fraction(stream) * total)


@jit
def network_actions(
    rules: np.ndarray,
    batch: ViewBatch,
    net: PolicyNet,
    buffers: PolicyBuffers,
    stochastic: bool,
    skip_open: bool,
) -> None:
    """Write the network's action for each view; `skip_open` leaves open endings at -1."""
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        batch.actions[index] = -1
        if skip_open and is_open(row(rules, 0), view):
            continue
        legal = _compute_shown_logits(row(rules, 0), view, net, buffers)
        if legal != NO_CARDS:
            stream = batch.rng[index : index + 1]
            shown_action = choose_action(
                buffers.shown_logits, legal, stochastic, buffers.weights, stream
            )
            batch.actions[index] = real_action(buffers.action_map[shown_action], buffers.order)


class QueryBatch(NamedTuple):
    """Buffers of views that a network is asked in together."""

    legal: np.ndarray
    """Legal actions in the encoding of each view."""
    orders: np.ndarray
    action_maps: np.ndarray
    observation: np.ndarray
    weights: np.ndarray
    rows: MLPBatch


_QUERIES = 64


def new_query_batch(net: PolicyNet, actions: int) -> QueryBatch:
    return QueryBatch(
        legal=np.zeros(_QUERIES, np.uint64),
        orders=np.zeros((_QUERIES, 4), np.uint8),
        action_maps=np.zeros((_QUERIES, actions), np.int64),
        observation=np.zeros(MAX_OBSERVATION_SIZE, np.int8),
        weights=np.zeros(actions),
        rows=new_mlp_batch(net.layers, _QUERIES, len(net.inputs)),
    )


@jit
def _query_network(rules: np.ndarray, views: np.ndarray, net: PolicyNet, batch: QueryBatch) -> None:
    """Write the network's outputs in these views, of which there is room for, to `batch.rows`."""
    for k in range(len(views)):
        batch.legal[k] = encode_policy_input(
            rules=row(rules, 0),
            view=row(views, k),
            net=net,
            order=batch.orders[k],
            action_map=batch.action_maps[k],
            observation=batch.observation,
        )
        batch.rows.n_active[k] = write_active_inputs(
            batch.observation, net.inputs, batch.rows.active_inputs[k]
        )
    forward_rows(net.layers, batch.rows, len(views))


@jit
def write_network_probabilities(
    rules: np.ndarray, views: np.ndarray, net: PolicyNet, batch: QueryBatch, probs: np.ndarray
) -> None:
    """Write the network's probability of each action, of which `probs` holds zeros."""
    rows, size = batch.rows, len(batch.legal)
    for start in range(0, len(views), size):
        count = min(size, len(views) - start)
        _query_network(rules, views[start : start + count], net, batch)
        for k in range(count):
            total = masked_softmax(rows.out[k], batch.legal[k], batch.weights)
            for shown_action in range(len(batch.weights)):
                if batch.weights[shown_action] > 0:
                    action = real_action(batch.action_maps[k, shown_action], batch.orders[k])
                    probs[start + k, action] = batch.weights[shown_action] / total


@jit
def write_network_values(
    rules: np.ndarray, views: np.ndarray, net: PolicyNet, batch: QueryBatch, values: np.ndarray
) -> None:
    """Write the output of a critic in each view."""
    size = len(batch.legal)
    for start in range(0, len(views), size):
        count = min(size, len(views) - start)
        _query_network(rules, views[start : start + count], net, batch)
        for k in range(count):
            values[start + k] = batch.rows.out[k, 0]


@jit
def _draw_all(probabilities: np.ndarray, rng: np.ndarray, actions: np.ndarray) -> None:
    for index in range(len(actions)):
        actions[index] = sample_index(probabilities[index], random_fraction(rng[index : index + 1]))


def _policy_of(checkpoint: Checkpoint, match: Match | None) -> AnyPolicy:
    """What answers in views: compiled layers, a table, or a torch module of one's own."""
    kind = checkpoint.card.network.kind
    if kind == "table":
        return TablePolicy(checkpoint)
    if kind == "module":
        try:
            from .custom_network import ModulePolicy
        except ImportError as error:
            purpose = f"{checkpoint.path}, a custom network,"
            raise CannotPlay(not_installed(purpose, error.name, "train")) from None
        return ModulePolicy(checkpoint, match)
    return policy_net(checkpoint)


# -- the critic


def why_no_value(card: CheckpointCard) -> str:
    """Why a checkpoint has no critic that reads what the player knows; empty if it has one."""
    if card.network.kind == "table":
        return "a table holds probabilities of actions, and nothing else"
    remedy = (
        "train ppo or mmd with critic=shared or critic=separate; champion and thinker have one in "
        "classic"
    )
    if card.network.critic == "oracle":
        return f"its critic (critic=oracle) reads hidden cards, which no player sees: {remedy}"
    if card.network.critic is None:
        return f"there is no critic in its checkpoint: {remedy}"
    return ""


def _network_values(rules: Rules, net: PolicyNet, views: Array) -> Array:
    values = np.zeros(len(views))
    batch = new_query_batch(net, rules.actions)
    write_network_values(rules.array(), views, net, batch, values)
    return values


class ViewCritic:
    """Critic of a checkpoint that reads what the player to move knows."""

    def __init__(self, checkpoint: Checkpoint, rules: Rules, policy: AnyPolicy) -> None:
        card = checkpoint.card
        self._options = options_from(rules, reward=card.reward, horizon=card.horizon)
        # The training divided rewards by this number.
        self._scale = card.settings.get("reward_scale") or max(1.0, 0.4 * self._options.max_loss)
        self._rules = rules
        if isinstance(policy, (PolicyNet, TablePolicy)):
            self._returns = partial(_network_values, rules, critic_net(checkpoint))
        else:
            self._returns = policy.values

    def values(self, views: Array) -> Array:
        for seat in views["seat"][views["to_move"] == 0].tolist():
            raise ValueError(
                f"seat {seat} is not to move in this view, and the critic knows the value of "
                "decisions alone: ask with the view of the player to move"
            )
        values = self._returns(views) * self._scale
        if self._options.horizon == "foreplay":
            for index in np.flatnonzero(views["stock_left"] == 0):
                values[index] = self._exact_return(View(self._rules, views[index : index + 1]))
        return values

    def _exact_return(self, view: View) -> float:
        """The return of perfect play in an open ending."""
        gained, left = value_of(view), max(len(view.hand), view.opponent_hand_size)
        if self._options.reward == "tricks":
            margin = 2 * gained - left
            return float(-margin if view.low else margin)
        own, other = view.counting_tricks
        rules = row(self._options.config_array()["reward_rules"], 0)
        return float(payoff_of_tricks(rules, int(view.low), own + gained, other + left - gained))


# -- the agent


class NetworkAgent(Agent):
    """Policy network, greedy or sampled.

    It plays endgames itself if it was trained on them, and leaves them to the exact solver
    otherwise. A table is an average strategy, so its default is to sample.
    """

    def __init__(
        self,
        rules: RulesLike = "classic",
        source: str | Path | Checkpoint = "",
        *option_words: str,
        match: Match | None = None,
        name: str | None = None,
    ) -> None:
        """`option_words` are `greedy` or `sample`, and `endgame=exact` or `endgame=network`."""
        super().__init__(rules, match=match)
        if source == "":
            raise ValueError("network is the agent of a checkpoint: write network:PATH")
        self.name = name or str(source.path if isinstance(source, Checkpoint) else source)
        checkpoint = source if isinstance(source, Checkpoint) else read_checkpoint(source)
        checkpoint = specialize_checkpoint(checkpoint, self.rules, self.name)
        self.path, self.card = checkpoint.path, checkpoint.card
        kind = checkpoint.card.network.kind
        table, foreplay_only = kind == "table", checkpoint.card.horizon == "foreplay"
        by_history = checkpoint.card.network.observation == "history"
        options = parse_options(option_words, NetworkOptions, "a network")
        self.sample = options.sample or (table and not options.greedy)
        exact = options.exact(trained_on_endgame(checkpoint.card.horizon, self.rules))
        self.greedy = not self.sample
        self.policy = _policy_of(checkpoint, self.match)
        self._critic = (
            None if why_no_value(self.card) else ViewCritic(checkpoint, self.rules, self.policy)
        )
        self.reads_tricks, self.reads_draws = table or by_history, not table
        endgame = EndgamePlayer(self.rules)
        if not exact and endgame.perfect and foreplay_only:
            raise CannotPlay(
                f"{checkpoint.path}: endgame is 'network', but it was trained with the horizon "
                "'foreplay' and never saw an ending: use endgame=exact, or train with horizon=hand"
            )
        self._endgame = endgame if exact else None
        self.endgame_switch = "" if foreplay_only else endgame_option(self.rules, exact)
        if checkpoint.card.sha256:
            self.checkpoints = (model_file(checkpoint.path),)
        compile_act(self, f"network agent ({kind})", NetworkAgent.act)

    def act(self, views: Array, rng: Array) -> Array:
        actions, streams = np.empty(len(views), np.int64), rng.copy()
        if isinstance(self.policy, PolicyNet):
            skip = self.perfect_endgame
            batch = ViewBatch(views, streams, actions)
            network_actions(
                rules=self.rules_array,
                batch=batch,
                net=self.policy,
                buffers=new_policy_buffers(self.policy),
                stochastic=self.sample,
                skip_open=skip,
            )
        elif self.sample:
            _draw_all(self.policy.probabilities(self.rules_array, views), streams, actions)
        else:
            actions = self.policy.probabilities(self.rules_array, views).argmax(axis=1)
        if self._endgame is not None:
            self._endgame.improve(views, actions)
        return actions

    def probabilities(self, views: Array) -> Array:
        """`(n, actions)`: the network's probability of each action, exact endings included."""
        probs = self.network_probabilities(views)
        if self._endgame is not None:
            self._endgame.replace_probabilities(views, probs)
        return probs

    def value(self, views: Array) -> Array:
        """`(n,)`: the return of the training that the checkpoint's critic expects.

        From the view's decision to the end of the training's horizon, in the units of its reward:
        with the reward `points` the payoff of the hand. With the horizon `foreplay`, open endings
        have the exact return of perfect play. Raises `ValueError` without such a critic.
        """
        if self._critic is None:
            raise ValueError(f"{self.name} has no value: {why_no_value(self.card)}")
        return self._critic.values(views)

    @classmethod
    def rules_played(cls, *parameters: str) -> tuple[Rules, ...] | None:
        if not parameters or not is_checkpoint(parameters[0]):
            return None
        path = find_checkpoint(parameters[0])
        return parse_rules(read_card(path).rules, path)

    def network_probabilities(self, views: Array) -> Array:
        """`(n, actions)`: the network's probability of each action, in endings too."""
        if not isinstance(self.policy, PolicyNet):
            return self.policy.probabilities(self.rules_array, views)
        probs = np.zeros((len(views), self.rules.actions))
        batch = new_query_batch(self.policy, self.rules.actions)
        write_network_probabilities(self.rules_array, views, self.policy, batch, probs)
        return probs
