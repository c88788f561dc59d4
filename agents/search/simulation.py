"""Simulation for the thinker: determinizations by beliefs, a policy's replies, leaf values."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, lowest
from ...common.jit.compiler import forceinline, inline_ir, jit
from ...engine.cards import N_ACTIONS, N_CARDS
from ...engine.dtypes import FOLLOW, GAME, LEAD
from ...engine.endgame import Scratch, Tables
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
from ..checkpoints.checkpoint import checkpoint_for, read_checkpoint
from ..networks.belief import (
    MOST_HIDDEN,
    MOST_KNOWN,
    draw_planned,
    odds_of,
    plan_any_hands,
    read_belief_network,
    write_known,
)
from ..networks.mlp import NO_LAYERS, Layers, Rows, new_rows, pass_rows
from ..networks.policy import Desk, PolicyNet, look, new_desk, ones_of, policy_net
from ..networks.value import (
    MOST_PLACES,
    paid_on_average,
    pays_of,
    read_value_network,
    write_game_places,
)
from ..sampling import masked_argmax
from .leaf_values import open_last_trick, paid_at_ending

VOIDS = "voids"
"""In the place of a network of beliefs: nothing is believed but what failures to follow show."""
ROUND = 16
"""Worlds between two looks at which cards have fallen behind."""


class SearchNetworks(NamedTuple):
    """The networks that a search queries, and how far it looks."""

    policy: PolicyNet
    value: Layers
    belief: Layers
    uses_belief: bool
    """Whether worlds are drawn by the belief network, or by failures to follow alone."""
    pays: np.ndarray
    """What each number of tricks in the ending pays, for the value network."""
    most: float
    """The most that a hand pays."""
    ahead: int
    """How many further tricks the policy plays out before a leaf is evaluated."""


def search_networks(
    rules: Rules, policy: Path, value: Path | None, belief: str | Path, ahead: int
) -> SearchNetworks:
    """Networks by their paths, refused where they were not made for these rules."""
    net = policy_net(checkpoint_for(read_checkpoint(policy), rules))
    uses_belief = str(belief) != VOIDS
    return SearchNetworks(
        net,
        NO_LAYERS if value is None else read_value_network(value, rules),
        read_belief_network(belief, rules) if uses_belief else NO_LAYERS,
        uses_belief,
        pays_of(rules),
        float(rules.max_pay),
        ahead,
    )


DROPS, KEEPS, TRIES_ALL = 0, 1, 2
"""What becomes of cards that do not look good. They are dropped, and so are all but one of equals;
they are kept, but for those that the policy rules out; all are tried."""

PROGRESS = np.dtype(
    [
        ("cards", np.int64),  # how many cards may be played
        ("worlds", np.int64),  # how many worlds they met so far
        ("active", np.int64),  # which of them are still tried, as a set of their numbers
        ("pruning", np.int64),  # DROPS, KEEPS or TRIES_ALL
    ]
)


class ThinkerSearch(NamedTuple):
    """A search in games of one contract: rules, exact endings, networks, and a thread's buffers.

    The buffers are fields of their own, since compiled code that takes a named tuple of arrays out
    of another counts a reference to each of its arrays, every time.
    """

    rules: np.ndarray
    tables: Tables
    networks: SearchNetworks
    scratch: Scratch
    plans: np.ndarray
    desk: Desk
    games: np.ndarray
    """The world at hand, and three games to try cards in."""
    leaves: np.ndarray
    """What each card has led to in each world of a round."""
    asked: np.ndarray
    """Which leaves wait for the output of a network."""
    legal: np.ndarray
    orders: np.ndarray
    shown: np.ndarray
    replies: Rows
    """Of the policy network, a row for each leaf that waits."""
    values: Rows
    """Of the value network."""
    beliefs: Rows
    odds: np.ndarray
    """The odds of each unseen card to be in the opponent's hand."""
    ways: np.ndarray
    """How the hands that can be drawn weigh."""
    totals: np.ndarray
    """What each action came to in all worlds."""
    products: np.ndarray
    """Sums of products of the values of two cards, by their place among the legal ones."""
    cards: np.ndarray
    priors: np.ndarray
    weights: np.ndarray
    progress: np.ndarray
    """One `PROGRESS` record."""


def new_search(
    rules: np.ndarray, tables: Tables, networks: SearchNetworks, pruning: int = DROPS
) -> ThinkerSearch:
    """A search by these networks, with buffers of its own."""
    rows = ROUND * MAX_CARDS
    return ThinkerSearch(
        rules,
        tables,
        networks,
        thread_scratch(),
        np.zeros(1, SAMPLING_PLAN),
        new_desk(networks.policy),
        np.zeros(4, GAME),
        np.zeros(rows, GAME),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.uint64),
        np.zeros((rows, 4), np.uint8),
        np.zeros((rows, networks.policy.layers.sizes[-1]), np.int64),
        new_rows(networks.policy.layers, rows, len(networks.policy.inputs)),
        new_rows(networks.value, rows, MOST_PLACES),
        new_rows(networks.belief, 1, MOST_KNOWN),
        np.zeros(N_CARDS),
        np.zeros((N_ACTIONS, MOST_HIDDEN + 1)),
        np.zeros(N_CARDS),
        np.zeros((MAX_CARDS, MAX_CARDS)),
        np.zeros(MAX_CARDS, np.int64),
        np.zeros(MAX_CARDS),
        np.zeros(ROUND),
        np.array([(0, 0, 0, pruning)], PROGRESS),
    )


# -- worlds


@inline_ir
def weigh_hands(search: ThinkerSearch, view: Record) -> None:
    """Weigh the hands that the opponent may hold."""
    rules, networks = row(search.rules, 0), search.networks
    plan = row(search.plans, 0)
    plan_determinizations(rules, view, not networks.uses_belief, plan)
    if not networks.uses_belief:
        return
    rows, at = search.beliefs, np.zeros(4, np.int64)
    rows.counts[0] = write_known(rules, view, search.desk.order, at, rows.places[0])
    pass_rows(networks.belief, rows, 1)
    odds_of(view, at, rows.out[0], search.odds)
    plan_any_hands(view.unseen, np.int64(plan.hidden), search.odds, search.ways)


@inline_ir
def sample_world(search: ThinkerSearch, view: Record, stream: np.ndarray) -> None:
    """Give the world at hand another hidden hand and another stock."""
    plan = row(search.plans, 0)
    if search.networks.uses_belief:
        # Whole hands at once: cards drawn one by one from the network's odds would not have the
        # right number, and rejecting those that do not would bias the rest.
        hidden = np.int64(plan.hidden)
        held = draw_planned(view.unseen, hidden, search.odds, search.ways, stream)
    else:
        held = draw_hand(view, plan, stream)
    stock = np.zeros(N_CARDS, np.uint8)
    count = shuffle_cards(view.unseen & ~held, stream, stock)
    place_cards(search, view, held, stock[:count])


@forceinline
def place_cards(search: ThinkerSearch, view: Record, held: np.uint64, stock: np.ndarray) -> None:
    """Give the world at hand this hidden hand, and these cards for the rest of its stock."""
    rules, game = row(search.rules, 0), row(search.games, 0)
    game.hand[1 - np.int64(view.seat)] = view.opponent_known | held
    hidden = 2 * np.int64(rules.hand) + np.int64(rules.stock) - len(stock)
    for place in range(len(stock)):
        game.deal[hidden + place] = stock[place]


# -- replies


@jit
def query_policy(search: ThinkerSearch, count: int, phase: int) -> int:
    """Query the policy in the leaves of a phase that have a choice; returns in how many.

    All leaves of a round go through the network as one batch, each row's first layer computed
    from that of the row before: leaves of one world differ in few inputs.
    """
    rules, net = row(search.rules, 0), search.networks.policy
    asked = 0
    view = row(search.desk.views, 0)
    for leaf in range(count):
        game = row(search.leaves, leaf)
        if game.phase != phase or not _goes_on(rules, game):
            continue
        cards = legal(rules, game)
        if cards & (cards - ONE) == NO_CARDS:
            continue
        # The policy is shown what its seat may know, not the world: it replies as it would play.
        write_position(rules, game, np.int64(game.turn), view)
        observation = search.desk.observation
        search.legal[asked] = look(
            rules, view, net, search.orders[asked], search.shown[asked], observation
        )
        search.replies.counts[asked] = ones_of(
            observation, net.inputs, search.replies.places[asked]
        )
        search.asked[asked] = leaf
        asked += 1
    pass_rows(net.layers, search.replies, asked)
    return asked


@jit
def _goes_on(rules: Record, game: Record) -> bool:
    """Whether a leaf is played on: a trick is ended, but no last one for the stock begun."""
    return game.phase == FOLLOW or stock_left(rules, game) > 2


@forceinline
def real_card(search: ThinkerSearch, asked: int, place: int) -> int:
    """The card that stands in this place of what the policy was shown."""
    card = search.shown[asked, place]
    return card + 13 * (np.int64(search.orders[asked, card // 13]) - card // 13)


@inline_ir
def _play_likeliest(search: ThinkerSearch, count: int, phase: int) -> None:
    """The policy's likeliest card in every leaf of a phase."""
    rules = row(search.rules, 0)
    asked = query_policy(search, count, phase)
    for index in range(asked):
        best = masked_argmax(search.replies.out[index], search.legal[index])
        play(rules, row(search.leaves, search.asked[index]), real_card(search, index, best))
    if phase != FOLLOW:
        return
    for leaf in range(count):
        game = row(search.leaves, leaf)
        if game.phase == FOLLOW:
            play(rules, game, lowest(legal(rules, game)))


@jit
def play_on(search: ThinkerSearch, count: int) -> None:
    """The policy's reply to a card that was led, and what it plays in the tricks after."""
    for ply in range(1 + 2 * search.networks.ahead):
        _play_likeliest(search, count, LEAD if ply % 2 else FOLLOW)


# -- what leaves are worth


@inline_ir
def evaluate_leaves(search: ThinkerSearch, seat: int, count: int, values: np.ndarray) -> None:
    """What `seat` is paid for each leaf, which all stand before a trick."""
    rules, networks = row(search.rules, 0), search.networks
    tables, scratch = search.tables, search.scratch
    asked = 0
    for leaf in range(count):
        game = row(search.leaves, leaf)
        left = stock_left(rules, game)
        sign = 1.0 if game.leader == seat else -1.0
        if left == 0:
            values[leaf] = paid_at_ending(rules, tables, scratch, game, seat)
        elif left == 2:
            # The last trick for the stock is searched by minimax with open cards, down to exact
            # endings: these are few positions, and the network was fitted to such values.
            values[leaf] = sign * open_last_trick(
                rules, tables, scratch, search.leaves[leaf : leaf + 1], search.games[2:4],
                networks.most,
            )  # fmt: skip
        else:
            rows = search.values
            rows.counts[asked] = write_game_places(rules, game, rows.places[asked])
            search.asked[asked] = leaf
            asked += 1
    pass_rows(networks.value, search.values, asked)
    for index in range(asked):
        leaf = search.asked[index]
        value = paid_on_average(search.values.out[index], networks.pays)
        values[leaf] = value if row(search.leaves, leaf).leader == seat else -value
