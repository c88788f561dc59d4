# pyright: reportArgumentType=false
"""Simulation for the thinker: determinizations by beliefs, policy replies, leaf values."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...common.jit.compiler import inline_ir, jit
from ...engine.bitset import NO_CARDS, ONE, lowest
from ...engine.cards import N_ACTIONS, N_CARDS
from ...engine.dtypes import FOLLOW, GAME, LEAD
from ...engine.endgame import Scratch, Tablebase
from ...engine.endgame.index import MAX_CARDS
from ...engine.endgame.solver import thread_scratch
from ...engine.play import Record, legal, play, row, stock_left
from ...engine.rules import Rules
from ...engine.sampling.determinizations import (
    SAMPLING_PLAN,
    draw_hand,
    plan_determinizations,
    shuffle_cards,
)
from ...engine.view import write_position
from ..checkpoints import read_checkpoint, specialize_checkpoint
from ..networks.belief import (
    MAX_BELIEF_INPUTS,
    MAX_HIDDEN_CARDS,
    draw_weighted_hand,
    read_belief_network,
    sum_hand_weights,
    write_belief_inputs,
    write_odds,
)
from ..networks.mlp import NO_MLP, MLPBatch, MLPWeights, forward_rows, new_mlp_batch
from ..networks.policy import (
    PolicyBuffers,
    PolicyNet,
    encode_policy_input,
    new_policy_buffers,
    policy_net,
    write_active_inputs,
)
from ..networks.value import (
    MAX_VALUE_INPUTS,
    expected_payoff,
    outcome_payoffs,
    read_value_network,
    write_value_inputs,
)
from ..sampling import masked_argmax
from .base import PRUNE_BY_RACING
from .leaf_values import ending_value_for_seat, indifferent_reply, solve_last_trick

VOIDS = "voids"
"""Instead of a belief network: determinizations consistent with the voids shown."""
ROUND_SIZE = 16
"""Determinizations between two checks for cards to drop."""


class SearchNetworks(NamedTuple):
    """Networks of a search, its depth, and how it chooses."""

    policy: PolicyNet
    value: MLPWeights
    belief: MLPWeights
    uses_belief: bool
    """Whether hands are sampled by the belief network, or by voids alone."""
    payoffs: np.ndarray
    """Payoff of each number of tricks in the ending."""
    max_payoff: float
    ahead: int
    """Further tricks that the policy plays before a leaf is evaluated."""
    prior: float
    """Weight of a card's log prior that is added to its mean value."""


def search_networks(
    rules: Rules,
    *,
    policy: Path,
    value: Path | None,
    belief: str | Path,
    ahead: int,
    prior: float,
) -> SearchNetworks:
    """Load networks by their paths, refused for other rules."""
    net = policy_net(specialize_checkpoint(read_checkpoint(policy), rules))
    uses_belief = str(belief) != VOIDS
    return SearchNetworks(
        policy=net,
        value=NO_MLP if value is None else read_value_network(value, rules),
        belief=read_belief_network(belief, rules) if uses_belief else NO_MLP,
        uses_belief=uses_belief,
        payoffs=outcome_payoffs(rules),
        max_payoff=float(rules.max_payoff),
        ahead=ahead,
        prior=prior,
    )


PROGRESS = np.dtype(
    [
        ("cards", np.int64),  # number of legal cards
        ("samples", np.int64),  # number of determinizations so far
        ("active", np.int64),  # bit set of the cards still searched, by index
        ("pruning", np.int64),  # one of PRUNE_*
    ]
)


class ThinkerSearch(NamedTuple):
    """A search in games of one contract: rules, exact endings, networks, and a thread's buffers.

    Compiled functions that allocate nothing count no references either: so all that they fill is
    here.
    """

    rules: np.ndarray
    tablebase: Tablebase
    networks: SearchNetworks
    scratch: Scratch
    plans: np.ndarray
    policy_buffers: PolicyBuffers
    games: np.ndarray
    """The determinization, and three scratch games."""
    determinizations: np.ndarray
    """Those of a round."""
    leaves: np.ndarray
    """Game after each card in each determinization of a round."""
    leaf_cards: np.ndarray
    """Index in `cards` of each leaf's card."""
    leaf_samples: np.ndarray
    """Index of each leaf's determinization."""
    queried_leaves: np.ndarray
    """Leaf index of each network query."""
    legal_sets: np.ndarray
    suit_orders: np.ndarray
    action_maps: np.ndarray
    policy_rows: MLPBatch
    value_rows: MLPBatch
    belief_rows: MLPBatch
    odds: np.ndarray
    """Odds of each unseen card to be in the opponent's hand."""
    hand_weights: np.ndarray
    """Sums of hand weights, see `sum_hand_weights`."""
    totals: np.ndarray
    products: np.ndarray
    """Sums of products of two cards' values, by their indices in `cards`."""
    cards: np.ndarray
    log_priors: np.ndarray
    """Log probabilities of the cards by the policy."""
    sample_weights: np.ndarray
    values: np.ndarray
    """Of each leaf."""
    round_values: np.ndarray
    """Of each card, by its index in `cards`, in each determinization of a round that it met."""
    met: np.ndarray
    """Bit set of the determinizations that each card met."""
    stock: np.ndarray
    suit_positions: np.ndarray
    suit_counts: np.ndarray
    progress: np.ndarray


def new_search(
    rules: np.ndarray,
    tablebase: Tablebase,
    networks: SearchNetworks,
    pruning: int = PRUNE_BY_RACING,
) -> ThinkerSearch:
    rows = ROUND_SIZE * MAX_CARDS
    return ThinkerSearch(
        rules=rules,
        tablebase=tablebase,
        networks=networks,
        scratch=thread_scratch(),
        plans=np.zeros(1, SAMPLING_PLAN),
        policy_buffers=new_policy_buffers(networks.policy),
        games=np.zeros(4, GAME),
        determinizations=np.zeros(ROUND_SIZE, GAME),
        leaves=np.zeros(rows, GAME),
        leaf_cards=np.zeros(rows, np.int64),
        leaf_samples=np.zeros(rows, np.int64),
        queried_leaves=np.zeros(rows, np.int64),
        legal_sets=np.zeros(rows, np.uint64),
        suit_orders=np.zeros((rows, 4), np.uint8),
        action_maps=np.zeros((rows, networks.policy.layers.sizes[-1]), np.int64),
        policy_rows=new_mlp_batch(networks.policy.layers, rows, len(networks.policy.inputs)),
        value_rows=new_mlp_batch(networks.value, rows, MAX_VALUE_INPUTS),
        belief_rows=new_mlp_batch(networks.belief, 1, MAX_BELIEF_INPUTS),
        odds=np.zeros(N_CARDS),
        hand_weights=np.zeros((N_ACTIONS, MAX_HIDDEN_CARDS + 1)),
        totals=np.zeros(N_CARDS),
        products=np.zeros((MAX_CARDS, MAX_CARDS)),
        cards=np.zeros(MAX_CARDS, np.int64),
        log_priors=np.zeros(MAX_CARDS),
        sample_weights=np.zeros(ROUND_SIZE),
        values=np.zeros(rows),
        round_values=np.zeros((MAX_CARDS, ROUND_SIZE)),
        met=np.zeros(MAX_CARDS, np.int64),
        stock=np.zeros(N_CARDS, np.uint8),
        suit_positions=np.zeros(4, np.int64),
        suit_counts=np.zeros(4, np.uint8),
        progress=np.array([(0, 0, 0, pruning)], PROGRESS),
    )


# -- determinizations


@inline_ir
def weigh_hands(search: ThinkerSearch, view: Record) -> None:
    """Prepare a view's determinizations: weights of hidden hands by the belief network, if any."""
    rules, networks = row(search.rules, 0), search.networks
    plan = row(search.plans, 0)
    plan_determinizations(view, not networks.uses_belief, plan)
    if not networks.uses_belief:
        return
    rows, positions = search.belief_rows, search.suit_positions
    rows.n_active[0] = write_belief_inputs(
        rules, view, search.policy_buffers.order, positions, rows.active_inputs[0]
    )
    forward_rows(networks.belief, rows, 1)
    write_odds(view, positions, rows.out[0], search.odds)
    sum_hand_weights(view.unseen, np.int64(plan.hidden), search.odds, search.hand_weights)


@inline_ir
def draw_believed_determinization(search: ThinkerSearch, view: Record, stream: np.ndarray) -> None:
    """Draw a full deal that agrees with the view: by the belief network, or uniformly."""
    plan = row(search.plans, 0)
    if search.networks.uses_belief:
        # Whole hands at once: cards drawn one by one from the network's odds would not have the
        # right number, and rejecting those that do not would bias the rest.
        hidden = np.int64(plan.hidden)
        hidden_hand = draw_weighted_hand(
            view.unseen, hidden, search.odds, search.hand_weights, stream
        )
    else:
        hidden_hand = draw_hand(view, plan, stream)
    count = shuffle_cards(view.unseen & ~hidden_hand, stream, search.stock)
    place_cards(search, view, hidden_hand, search.stock[:count])


@inline_ir
def place_cards(
    search: ThinkerSearch, view: Record, hidden_hand: np.uint64, stock: np.ndarray
) -> None:
    rules, game = row(search.rules, 0), row(search.games, 0)
    game.hand[1 - np.int64(view.seat)] = view.opponent_known | hidden_hand
    first_index = 2 * np.int64(rules.hand) + np.int64(rules.stock) - len(stock)
    for index in range(len(stock)):
        game.deal[first_index + index] = stock[index]


# -- replies


@jit
def query_policy(search: ThinkerSearch, count: int, phase: int) -> int:
    """Query the policy in all leaves of a phase that have a choice; returns their number.

    All leaves of a round go through the network as one batch, each row's first layer computed
    from that of the row before: leaves of one determinization differ in few inputs.
    """
    rules, net = row(search.rules, 0), search.networks.policy
    n_queries = 0
    view = row(search.policy_buffers.views, 0)
    for leaf in range(count):
        game = row(search.leaves, leaf)
        # The last trick for the stock is not played on, but searched.
        if game.phase != phase or (phase == LEAD and stock_left(rules, game) <= 2):
            continue
        cards = legal(rules, game)
        if cards & (cards - ONE) == NO_CARDS:
            continue
        if phase == FOLLOW and stock_left(rules, game) <= 4:
            reply = indifferent_reply(
                rules,
                search.tablebase,
                search.scratch,
                games=search.leaves[leaf : leaf + 1],
                trials=search.games[1:2],
            )
            if reply >= 0:
                play(rules, game, reply)
                continue
        # The policy is shown what its seat may know, not the determinization: it replies as it
        # would play.
        write_position(rules, game, np.int64(game.turn), view)
        observation = search.policy_buffers.observation
        order, action_map = search.suit_orders[n_queries], search.action_maps[n_queries]
        search.legal_sets[n_queries] = encode_policy_input(
            rules=rules,
            view=view,
            net=net,
            order=order,
            action_map=action_map,
            observation=observation,
        )
        search.policy_rows.n_active[n_queries] = write_active_inputs(
            observation, net.inputs, search.policy_rows.active_inputs[n_queries]
        )
        search.queried_leaves[n_queries] = leaf
        n_queries += 1
    forward_rows(net.layers, search.policy_rows, n_queries)
    return n_queries


@inline_ir
def real_card(search: ThinkerSearch, query: int, shown_action: int) -> int:
    """Real card of an action in a query's encoding."""
    card = search.action_maps[query, shown_action]
    return card + 13 * (np.int64(search.suit_orders[query, card // 13]) - card // 13)


@inline_ir
def _play_likeliest(search: ThinkerSearch, count: int, phase: int) -> None:
    rules = row(search.rules, 0)
    n_queries = query_policy(search, count, phase)
    for query in range(n_queries):
        best = masked_argmax(search.policy_rows.out[query], search.legal_sets[query])
        play(
            rules, row(search.leaves, search.queried_leaves[query]), real_card(search, query, best)
        )
    if phase != FOLLOW:
        return
    for leaf in range(count):
        game = row(search.leaves, leaf)
        if game.phase == FOLLOW:
            play(rules, game, lowest(legal(rules, game)))


@inline_ir
def play_ahead(search: ThinkerSearch, count: int) -> None:
    """Play the policy's reply to a lead, and the next `ahead` tricks."""
    for ply in range(1 + 2 * search.networks.ahead):
        _play_likeliest(search, count, LEAD if ply % 2 else FOLLOW)


# -- leaf values


@inline_ir
def evaluate_leaves(search: ThinkerSearch, seat: int, count: int, values: np.ndarray) -> None:
    """Write the payoff of `seat` for each leaf, all before a trick."""
    rules, networks = row(search.rules, 0), search.networks
    tablebase, scratch = search.tablebase, search.scratch
    n_queries = 0
    for leaf in range(count):
        game = row(search.leaves, leaf)
        remaining = stock_left(rules, game)
        sign = 1.0 if game.leader == seat else -1.0
        if remaining == 0:
            values[leaf] = ending_value_for_seat(rules, tablebase, scratch, game, seat)
        elif remaining == 2:
            # The last trick for the stock is searched by minimax with open cards, down to exact
            # endings: these are few positions, and the network was fitted to such values.
            values[leaf] = sign * solve_last_trick(
                rules=rules,
                tablebase=tablebase,
                scratch=scratch,
                games=search.leaves[leaf : leaf + 1],
                trials=search.games[2:4],
                max_payoff=networks.max_payoff,
            )
        else:
            rows = search.value_rows
            rows.n_active[n_queries] = write_value_inputs(
                rules, game, rows.active_inputs[n_queries]
            )
            search.queried_leaves[n_queries] = leaf
            n_queries += 1
    forward_rows(networks.value, search.value_rows, n_queries)
    for query in range(n_queries):
        leaf = search.queried_leaves[query]
        value = expected_payoff(search.value_rows.out[query], networks.payoffs)
        values[leaf] = value if row(search.leaves, leaf).leader == seat else -value
