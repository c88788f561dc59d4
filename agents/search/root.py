"""Root selection of the thinker: which cards are tried, in how many worlds, and which is played.

Perfect-information Monte Carlo (Ginsberg 2001) one card deep: all cards meet the same sampled
worlds, a policy replies, a value network evaluates, and the card with the best mean is played. The
tree is not searched deeper, because a search that treats each world as open would let later moves
depend on hidden cards (strategy fusion: Long and others 2010); replies come from a policy that
is shown only what its seat may know. What such a search plays is what expert iteration
trains the policy towards (Anthony, Tian and Barber, "Thinking Fast and Slow with Deep Learning
and Tree Search", 2017).
"""

from __future__ import annotations

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, bit, lowest, popcount, suit_set
from ...common.jit.compiler import forceinline, inline_ir, jit
from ...engine.dtypes import FOLLOW, NO_CARD
from ...engine.play import Record, legal, play, row, suit_of
from ...engine.sampling.determinizations import draw_determinization, split_weight
from ...engine.view import legal_in_view
from ..base import ViewBatch
from ..networks.policy import ask
from ..sampling import masked_argmax, masked_softmax
from .base import PRIOR, UNLIKELY, to_search
from .leaf_values import paid_at_ending
from .simulation import (
    DROPS,
    ROUND,
    TRIES_ALL,
    ThinkerSearch,
    evaluate_leaves,
    place_cards,
    play_on,
    query_policy,
    real_card,
    sample_world,
    weigh_hands,
)

CLEARLY = 2.5
"""A card is dropped that lies so many standard errors behind the best."""
LIKELY = 0.02
"""Replies that are less likely are not looked at where every reply is weighed."""


@jit
def thinker_actions(search: ThinkerSearch, batch: ViewBatch, worlds: int, go_on: bool) -> None:
    """The search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the worlds are added to those of the last call, which had the same one view.
    """
    rules = row(search.rules, 0)
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        if to_search(rules, search.tables, view, index, batch.actions) == NO_CARDS:
            continue
        stream = batch.rng[index : index + 1]
        if not go_on:
            _begin(search, view, stream)
        if view.stock_left == 2:
            _try_every_world(search, view, worlds)
        else:
            _sample_worlds(search, view, worlds, stream)
        batch.actions[index] = search.cards[_best(search)]


@inline_ir
def _begin(search: ThinkerSearch, view: Record, stream: np.ndarray) -> None:
    """The cards to try, the policy's prior of each, and a first world."""
    rules = row(search.rules, 0)
    ask(rules, view, search.networks.policy, search.desk)
    cards = legal_in_view(rules, view)
    search.totals[:] = 0
    search.products[:] = 0
    progress = row(search.progress, 0)
    progress.cards = 0
    progress.worlds = 0
    progress.active = 0
    logits = search.desk.logits
    top = logits[masked_argmax(logits, cards)]
    log_total = np.log(masked_softmax(logits, cards, search.desk.weights))
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        at = progress.cards
        search.cards[at] = card
        below_top = np.float64(logits[card] - top)
        search.priors[at] = below_top - log_total
        if progress.pruning == TRIES_ALL or view.stock_left == 2 or below_top > UNLIKELY:
            progress.active |= 1 << at
        progress.cards = at + 1
    weigh_hands(search, view)
    draw_determinization(rules, view, row(search.plans, 0), stream, row(search.games, 0))
    if progress.pruning == DROPS and view.stock_left > 2:
        _keep_one_of_equals(view, row(search.games, 0).known_cards[np.int64(view.seat)], search)


@inline_ir
def _keep_one_of_equals(view: Record, known: np.uint64, search: ThinkerSearch) -> None:
    """Of cards that take the same cards, and are as well known, only the likeliest is tried."""
    progress = row(search.progress, 0)
    others = view.opponent_known | view.unseen | view.faced
    if view.led != NO_CARD:
        others |= bit(np.int64(view.led))
    kept = 0
    for at in range(1, progress.cards):
        high, low = search.cards[at], search.cards[kept]
        between = bit(high) - bit(low)
        equal = suit_of(high) == suit_of(low) and others & between == NO_CARDS
        if not equal or ((known >> np.uint64(high)) ^ (known >> np.uint64(low))) & ONE:
            kept = at
        elif search.priors[at] > search.priors[kept]:
            progress.active &= ~(1 << kept)
            kept = at
        else:
            progress.active &= ~(1 << at)


@inline_ir
def _sample_worlds(search: ThinkerSearch, view: Record, worlds: int, stream: np.ndarray) -> None:
    """Try the active cards in so many worlds, or until one is left."""
    progress = row(search.progress, 0)
    while worlds > 0:
        if progress.worlds and progress.pruning == DROPS:
            _drop(search)
        if progress.active & (progress.active - 1) == 0:
            break
        _sample_round(search, view, min(ROUND, worlds), stream)
        worlds -= ROUND


@inline_ir
def _sample_round(search: ThinkerSearch, view: Record, worlds: int, stream: np.ndarray) -> None:
    """Try the active cards in some more worlds; the networks are queried once for all of them."""
    leaves = 0
    for _ in range(worlds):
        sample_world(search, view, stream)
        leaves = _play_cards(search, leaves)
    play_on(search, leaves)
    values = np.empty(leaves)
    evaluate_leaves(search, np.int64(view.seat), leaves, values)
    each = leaves // worlds
    for world in range(worlds):
        _add_values(search, values[world * each : (world + 1) * each], 1.0)
    row(search.progress, 0).worlds += worlds


@inline_ir
def _play_cards(search: ThinkerSearch, first: int) -> int:
    """Play each active card in the world at hand, in leaves `first` and on."""
    rules = row(search.rules, 0)
    progress = row(search.progress, 0)
    leaf = first
    for at in range(progress.cards):
        if (progress.active >> at) & 1:
            search.leaves[leaf] = search.games[0]
            play(rules, row(search.leaves, leaf), search.cards[at])
            leaf += 1
    return leaf


@inline_ir
def _add_values(search: ThinkerSearch, values: np.ndarray, weight: float) -> None:
    """Add what the active cards came to in one world."""
    progress = row(search.progress, 0)
    k = 0
    for at in range(progress.cards):
        if (progress.active >> at) & 1:
            search.totals[search.cards[at]] += weight * values[k]
            j = 0
            for other in range(at + 1):
                if (progress.active >> other) & 1:
                    search.products[at, other] += values[k] * values[j]
                    j += 1
            k += 1


@inline_ir
def _drop(search: ThinkerSearch) -> None:
    """Drop the cards that have clearly fallen behind the best.

    A race (Maron and Moore, "Hoeffding Races", 1994): worlds saved on a bad card go to the good
    ones. The test is on the differences of two cards, world by world, whose spread is far
    smaller than that of either card's values, because both met the same deals.
    """
    progress = row(search.progress, 0)
    best, worlds = _best(search), progress.worlds
    for at in range(progress.cards):
        if at == best or not (progress.active >> at) & 1:
            continue
        apart = (search.totals[search.cards[best]] - search.totals[search.cards[at]]) / worlds
        square = search.products[at, at] + search.products[best, best]
        square -= 2 * search.products[max(at, best), min(at, best)]
        spread = np.sqrt(max(square / worlds - apart * apart, 0.0) / worlds)
        if _score(search, best) - _score(search, at) > CLEARLY * spread + 0.01:
            progress.active &= ~(1 << at)


@jit
def _best(search: ThinkerSearch) -> int:
    """The place of the best active card."""
    progress = row(search.progress, 0)
    best, most = -1, 0.0
    for at in range(progress.cards):
        if (progress.active >> at) & 1:
            score = _score(search, at)
            if best < 0 or score > most:
                best, most = at, score
    return best


@forceinline
def _score(search: ThinkerSearch, at: int) -> float:
    """A card's mean, and a little for its prior.

    Means of few worlds lie close together; among cards that the search cannot tell apart the
    policy, which learnt from many more, decides.
    """
    worlds = max(1, row(search.progress, 0).worlds)
    return search.totals[search.cards[at]] / worlds + PRIOR * search.priors[at]


@inline_ir
def _try_every_world(search: ThinkerSearch, view: Record, counted: int) -> None:
    """Before the last trick for the stock: every card that may lie there, every reply.

    Worlds differ by one card then, so they are enumerated instead of sampled, each weighed by how
    likely the rest is the opponent's hand. What comes out counts as so many worlds.
    """
    worlds, leaves, total = 0, 0, 0.0
    left = view.unseen
    stock = np.zeros(1, np.uint8)
    while left:
        card = lowest(left)
        left &= left - ONE
        weight = _weight(search, view.unseen & ~bit(card))
        if weight == 0.0:
            continue
        stock[0] = card
        place_cards(search, view, view.unseen & ~bit(card), stock)
        leaves = _play_cards(search, leaves)
        search.weights[worlds] = weight
        total += weight
        worlds += 1
    if worlds == 0:
        return
    values = np.empty(leaves)
    _weigh_replies(search, np.int64(view.seat), leaves, values)
    each = leaves // worlds
    for world in range(worlds):
        share = search.weights[world] / total
        _add_values(search, values[world * each : (world + 1) * each], counted * share)
    row(search.progress, 0).worlds += counted


@inline_ir
def _weight(search: ThinkerSearch, held: np.uint64) -> float:
    """How likely this hidden hand is, against others."""
    weight = 1.0
    if search.networks.uses_belief:
        while held:
            weight *= search.odds[lowest(held)]
            held &= held - ONE
        return weight
    plan = row(search.plans, 0)
    if plan.weighted == 0:
        return weight
    share = np.zeros(4, np.uint8)
    for suit in range(4):
        share[suit] = popcount(held & suit_set(suit))
    return split_weight(plan, np.uint64(row(search.rules, 0).hand + 1), share)


@inline_ir
def _weigh_replies(search: ThinkerSearch, seat: int, leaves: int, values: np.ndarray) -> None:
    """What `seat` is paid on average over the policy's replies, in leaves of the last trick."""
    rules, tables, scratch = row(search.rules, 0), search.tables, search.scratch
    asked = query_policy(search, leaves, FOLLOW)
    waiting = 0
    for leaf in range(leaves):
        game = row(search.leaves, leaf)
        if waiting < asked and search.asked[waiting] == leaf:
            values[leaf] = _over_replies(search, waiting, leaf, seat)
            waiting += 1
            continue
        if game.phase == FOLLOW:
            play(rules, game, lowest(legal(rules, game)))
        values[leaf] = paid_at_ending(rules, tables, scratch, game, seat)


@inline_ir
def _over_replies(search: ThinkerSearch, index: int, leaf: int, seat: int) -> float:
    rules = row(search.rules, 0)
    weights, tables, scratch = search.desk.weights, search.tables, search.scratch
    masked_softmax(search.replies.out[index], search.legal[index], weights)
    total, sum_ = 0.0, 0.0
    for place in range(len(weights)):
        if weights[place] < LIKELY:
            continue
        search.games[1] = search.leaves[leaf]
        after = row(search.games, 1)
        play(rules, after, real_card(search, index, place))
        paid = paid_at_ending(rules, tables, scratch, after, seat)
        total += weights[place]
        sum_ += weights[place] * paid
    return sum_ / total
