# pyright: reportArgumentType=false
"""Hands with search targets, and the policy's loss on them: the expert of expert iteration.

In one-trick lookahead every likely card of every decision is tried in the true deal: the opponent
replies by the policy, and the value network, or the exact solver near the endgame, values the
position after the trick. The value in a single deal is noisy; averaged over many hands, the policy
learns a card's expectation over the hidden cards. With determinizations a search plays the hands,
and its estimates, which are means over them, are less noisy targets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from german_whist.agents.networks.mlp import MLPWeights
from german_whist.agents.networks.policy import PolicyNet, new_policy_buffers
from german_whist.agents.networks.value import (
    INPUTS,
    MAX_VALUE_INPUTS,
    outcome_payoffs,
    write_value_inputs,
)
from german_whist.agents.search.base import UNLIKELY_FOR_TARGETS, SearchAgent
from german_whist.agents.search.leaf_values import ending_value, solve_last_trick
from german_whist.common.jit.compiler import allocates, jit
from german_whist.common.typing import Array
from german_whist.engine.bitset import NO_CARDS, ONE, lowest
from german_whist.engine.cards import N_CARDS
from german_whist.engine.dtypes import FOLLOW, GAME, VIEW
from german_whist.engine.endgame import Scratch, Tablebase
from german_whist.engine.endgame.index import MAX_CARDS
from german_whist.engine.observation.suit_order import real_action
from german_whist.engine.play import legal, play, row, stock_left
from german_whist.engine.rng import stream_state
from german_whist.engine.rules import Rules
from german_whist.engine.view import write_views

from .self_play import (
    BF16_ONE,
    MAX_PLAYS,
    SEARCHED_HAND,
    BatchedPolicy,
    Lockstep,
    PolicyInputs,
    PolicyPlayers,
    bfloat16_inputs,
    deal_again,
    evaluate_network,
    greedy_cards,
    new_policy_inputs,
    torch_mlp,
    write_query,
)

MIN_WEIGHT = 0.02
"""Least weight in the policy's gradient of a card that is better than the policy."""


class LeafGames(NamedTuple):
    """Games after one card, a row each."""

    games: np.ndarray
    roots: np.ndarray
    """Index of the game before the card."""
    columns: np.ndarray
    """Index of the card among the legal ones."""
    values: np.ndarray
    """Values for the player of the card."""


class EndgameSolver(NamedTuple):
    """Tables and buffers to value endgames exactly."""

    tablebase: Tablebase
    scratch: Scratch
    trial_games: np.ndarray
    max_payoff: float


class ValueQueries(NamedTuple):
    """Batch of the value network's inputs."""

    leaves: np.ndarray
    """Index of the leaf of each row."""
    inputs: np.ndarray
    active: np.ndarray
    """Scratch: indices of the inputs of one position that are 1."""


@jit
@allocates
def expand(
    rules: np.ndarray, games: np.ndarray, logits: np.ndarray, batch: PolicyInputs, leaves: LeafGames
) -> int:
    """Play every card that the policy does not rule out in every game; returns the leaf count."""
    count = 0
    logit_of = np.empty(N_CARDS, np.float32)
    for index in range(len(games)):
        cards = legal(row(rules, 0), row(games, index))
        largest = np.float32(-np.inf)
        for output in range(logits.shape[1]):
            if (batch.masks[index] >> np.uint64(output)) & ONE:
                largest = max(largest, logits[index, output])
                card = real_action(batch.actions[index, output], batch.suit_orders[index])
                logit_of[card] = logits[index, output]
        first, column = count, 0
        while cards:
            card = lowest(cards)
            cards &= cards - ONE
            if logit_of[card] - largest > UNLIKELY_FOR_TARGETS:
                leaves.games[count] = games[index]
                play(row(rules, 0), row(leaves.games, count), card)
                leaves.roots[count] = index
                leaves.columns[count] = column
                count += 1
            column += 1
        # A single card has nothing to be compared with.
        if count == first + 1:
            count = first
    return count


@jit
def write_reply_queries(
    rules: np.ndarray, leaves: np.ndarray, queries: BatchedPolicy, leaf_indices: np.ndarray
) -> int:
    """Write the opponent's inputs where it has a choice of replies; plays forced replies."""
    count = 0
    for leaf in range(len(leaves)):
        game = row(leaves, leaf)
        if game.phase != FOLLOW:
            continue
        cards = legal(row(rules, 0), game)
        if cards & (cards - ONE) == NO_CARDS:
            play(row(rules, 0), game, lowest(cards))
            continue
        write_query(row(rules, 0), game, queries, count)
        leaf_indices[count] = leaf
        count += 1
    return count


@jit
@allocates
def play_replies(
    rules: np.ndarray,
    leaves: np.ndarray,
    leaf_indices: np.ndarray,
    logits: np.ndarray,
    batch: PolicyInputs,
) -> None:
    """Play the greedy reply in each leaf of the queries."""
    cards = np.empty(len(logits), np.int64)
    greedy_cards(logits, batch, cards)
    for index in range(len(cards)):
        play(row(rules, 0), row(leaves, leaf_indices[index]), cards[index])


@jit
def evaluate_exactly(
    rules: np.ndarray,
    games: np.ndarray,
    leaves: LeafGames,
    solver: EndgameSolver,
    queries: ValueQueries,
) -> int:
    """Write exact values near the endgame, elsewhere queries and the sign of their values."""
    tablebase, scratch, active = solver.tablebase, solver.scratch, queries.active
    count = 0
    for leaf in range(len(leaves.games)):
        game = row(leaves.games, leaf)
        seat = row(games, leaves.roots[leaf]).turn
        sign = 1.0 if game.leader == seat else -1.0
        left = stock_left(row(rules, 0), game)
        if left == 0:
            leaves.values[leaf] = sign * ending_value(row(rules, 0), tablebase, scratch, game)
        elif left == 2:
            leaves.values[leaf] = sign * solve_last_trick(
                row(rules, 0),
                tablebase,
                scratch,
                leaves.games[leaf : leaf + 1],
                trials=solver.trial_games,
                max_payoff=solver.max_payoff,
            )
        else:
            leaves.values[leaf] = sign
            queries.inputs[count] = 0
            for k in range(write_value_inputs(row(rules, 0), game, active)):
                queries.inputs[count, active[k]] = BF16_ONE
            queries.leaves[count] = leaf
            count += 1
    return count


@jit
def split_streams(streams: np.ndarray, ply: int, out: np.ndarray) -> None:
    """Derive the random streams of one decision."""
    for index in range(len(streams)):
        out[index] = stream_state(streams[index], np.uint64(ply))


class LookaheadPlayers(PolicyPlayers):
    """A policy in both seats, with targets by one-trick lookahead in the true deal."""

    def __init__(self, rules: Rules, policy: PolicyNet, value_net: MLPWeights, count: int) -> None:
        super().__init__(rules, policy, count)
        self.targets = np.zeros((count, MAX_PLAYS, MAX_CARDS), np.float32)
        self.value_net = torch_mlp(value_net)
        self.payoffs = torch.from_numpy(outcome_payoffs(rules))
        rows = count * MAX_CARDS
        self.leaves = LeafGames(
            np.zeros(rows, GAME),
            np.zeros(rows, np.int64),
            np.zeros(rows, np.int64),
            np.zeros(rows),
        )
        self.reply_queries = BatchedPolicy(
            policy, self.queries.buffers, new_policy_inputs(policy, rows)
        )
        self.solver = EndgameSolver(
            self.tablebase, self.scratch, np.zeros(2, GAME), float(rules.max_payoff)
        )
        self.value_queries = ValueQueries(
            np.zeros(rows, np.int64),
            np.zeros((rows, INPUTS), np.int16),
            np.zeros(MAX_VALUE_INPUTS, np.int16),
        )

    def choose(self, ply: int) -> Array:
        cards = super().choose(ply)
        leaves = self._evaluate_cards()
        self.targets[leaves.roots, ply, leaves.columns] = leaves.values
        return cards

    def _evaluate_cards(self) -> LeafGames:
        count = expand(self.rules, self.games, self.logits, self.queries.batch, self.leaves)
        leaves = LeafGames(*(rows[:count] for rows in self.leaves))
        indices, batch = self.value_queries.leaves, self.reply_queries.batch
        if n := write_reply_queries(self.rules, leaves.games, self.reply_queries, indices):
            logits = evaluate_network(self.policy, bfloat16_inputs(batch.inputs[:n]))
            play_replies(self.rules, leaves.games, indices, logits.numpy(), batch)
        if n := evaluate_exactly(self.rules, self.games, leaves, self.solver, self.value_queries):
            inputs = bfloat16_inputs(self.value_queries.inputs[:n])
            outputs = evaluate_network(self.value_net, inputs)
            leaves.values[indices[:n]] *= (outputs.softmax(-1) @ self.payoffs).numpy()
        return leaves


class SearchPlayers(Lockstep):
    """A search in both seats, whose estimates of the cards are the targets."""

    def __init__(self, rules: Rules, search: SearchAgent, count: int) -> None:
        super().__init__(rules, count)
        self.targets = np.zeros((count, MAX_PLAYS, MAX_CARDS), np.float32)
        self._search = search
        self._views, self._search_streams = np.zeros(count, VIEW), np.zeros(count, np.uint64)

    def choose(self, ply: int) -> Array:
        write_views(self.rules, self.games, self.games["turn"].astype(np.uint8), self._views)
        split_streams(self.streams, ply, self._search_streams)
        cards, self.targets[:, ply] = self._search.act_with_values(
            self._views, self._search_streams
        )
        return cards


def play_with_targets(
    players: LookaheadPlayers | SearchPlayers, seed: int, first: int, epsilon: float
) -> Array:
    """Play hands of a seed from number `first`, with search targets."""
    hands = np.zeros(len(players.games), SEARCHED_HAND)
    players.targets[:] = np.nan
    hands["hand"] = players.play(seed, first, epsilon)
    hands["targets"] = players.targets
    return hands


# -- the policy's loss


@jit
def write_decisions(
    rules: np.ndarray,
    hands: np.ndarray,
    queries: BatchedPolicy,
    games: np.ndarray,
    targets: np.ndarray,
) -> int:
    """Write inputs and targets of all decisions that have targets; returns their number.

    Targets are written by output of the policy, nan for cards without one.
    """
    game, batch = row(games, 0), queries.batch
    count = 0
    for index in range(len(hands)):
        searched = row(hands, index)
        deal_again(row(rules, 0), game, searched.hand)
        for ply in range(np.int64(rules[0].stock)):
            has_targets = False
            for column in range(MAX_CARDS):
                has_targets |= not np.isnan(searched.targets[ply][column])
            if has_targets:
                write_query(row(rules, 0), game, queries, count)
                _place_targets(
                    legal(row(rules, 0), game),
                    searched.targets[ply],
                    batch.suit_orders[count],
                    batch.actions[count],
                    targets[count],
                )
                count += 1
            play(row(rules, 0), game, np.int64(searched.hand.plays[ply]))
    return count


@jit
@allocates
def _place_targets(
    cards: np.uint64,
    by_column: np.ndarray,
    suit_order: np.ndarray,
    actions: np.ndarray,
    out: np.ndarray,
) -> None:
    column = 0
    by_card = np.full(N_CARDS, np.float32(np.nan))
    while cards:
        by_card[lowest(cards)] = by_column[column]
        column += 1
        cards &= cards - ONE
    for output in range(len(out)):
        out[output] = np.nan
        if actions[output] >= 0:
            out[output] = by_card[real_action(actions[output], suit_order)]


class PolicyTask:
    """Policy improvement on search targets: maximize E[target] - kl_coef · KL(new ‖ old policy).

    In the gradient a searched card that is better than the policy weighs `MIN_WEIGHT` at least.
    """

    kind = "mlp"

    def __init__(self, rules: Rules, policy: PolicyNet, kl_coef: float) -> None:
        self.rules, self.kl_coef = rules.array(), kl_coef
        self.net = policy
        self.old_policy = torch_mlp(policy.layers)
        self.inputs, self.outputs = len(policy.inputs), int(policy.layers.sizes[-1])
        self.buffers = new_policy_buffers(policy)

    def read(self, hands: Array) -> tuple[Array, Tensor, Tensor]:
        """Inputs of the decisions, and by output of the policy their targets and legality."""
        most = len(hands) * int(self.rules["stock"][0])
        batch = new_policy_inputs(self.net, most)
        targets = np.zeros((most, self.outputs), np.float32)
        queries = BatchedPolicy(self.net, self.buffers, batch)
        count = write_decisions(self.rules, hands, queries, np.zeros(1, GAME), targets)
        outputs = np.arange(self.outputs, dtype=np.uint64)
        legal_outputs = (batch.masks[:count, None] >> outputs) & ONE != 0
        return (
            batch.inputs[:count],
            torch.from_numpy(targets[:count]),
            torch.from_numpy(legal_outputs),
        )

    def loss(self, net: nn.Module, hands: Array) -> Tensor:
        targets, old, new = self._targets_and_log_probs(net, hands)
        advantages = _advantages(targets, old)
        gain, kl = _gain_and_kl(advantages, old, new)
        extra = _min_weight_term(targets, advantages, new, self.kl_coef * (new - old))
        # The last term has a gradient, and the value 0.
        return -gain.mean() + self.kl_coef * kl.mean() - (extra - extra.detach()).mean()

    @torch.no_grad()
    def metrics(self, net: nn.Module, hands: Array) -> dict[str, list[float]]:
        """Gain on the old policy, KL divergence from it, and the gain of greedy play."""
        targets, old, new = self._targets_and_log_probs(net, hands)
        gain, kl = _gain_and_kl(_advantages(targets, old), old, new)
        rows = torch.arange(len(targets))
        greedy_gain = (targets[rows, new.argmax(-1)] - targets[rows, old.argmax(-1)]).nan_to_num()
        named = {"gain": gain, "kl": kl, "greedy_gain": greedy_gain}
        return {name: [float(values.mean())] for name, values in named.items()}

    def _targets_and_log_probs(self, net: nn.Module, hands: Array) -> tuple[Tensor, Tensor, Tensor]:
        """Targets, and log probabilities of the old and the new policy."""
        inputs, targets, legal_outputs = self.read(hands)
        old, new = (
            functional.log_softmax(
                evaluate_network(network, bfloat16_inputs(inputs)).masked_fill(
                    ~legal_outputs, -1e9
                ),
                -1,
            )
            for network in (self.old_policy, net)
        )
        return targets, old, new


def _advantages(targets: Tensor, old: Tensor) -> Tensor:
    """Targets less the old policy's mean.

    Cards without a target, unlikely ones or equals of another card, count as that mean. They are
    part of the divergence: otherwise nothing would hold their probabilities down.
    """
    searched_probs = old.exp() * ~targets.isnan()
    baseline = (searched_probs * targets.nan_to_num()).sum(-1, keepdim=True)
    baseline = baseline / searched_probs.sum(-1, keepdim=True)
    return (targets - baseline).nan_to_num()


def _gain_and_kl(advantages: Tensor, old: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    """Expected gain of the new policy on the old one, and KL(new ‖ old), by decision."""
    return (new.exp() * advantages).sum(-1), (new.exp() * (new - old)).sum(-1)


def _min_weight_term(targets: Tensor, advantages: Tensor, new: Tensor, penalty: Tensor) -> Tensor:
    """Weighted log-probabilities of cards that are better than the policy, by decision.

    In the gradient of the expected target a card weighs its probability, so a policy that is sure
    and wrong would not learn. NeuRD (Hennes and others, "Neural Replicator Dynamics", 2020) leaves
    the weight out; this adds what is missing to `MIN_WEIGHT`. Cards that are worse stay below about
    `MIN_WEIGHT`, and at 0 without noise. `penalty` is each card's part of the divergence.
    """
    with torch.no_grad():
        probs = new.exp()
        improvements = advantages - penalty
        improvements = improvements - (probs * improvements).sum(-1, keepdim=True)
        weights = (MIN_WEIGHT - probs).clamp(min=0) * ~targets.isnan()
        coefficients = weights * improvements.clamp(min=0)
    return (coefficients * new).sum(-1)
