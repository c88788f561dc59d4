# pyright: reportArgumentType=false
"""Root selection of the thinker: cards to search, determinizations, and the card to play.

Perfect-information Monte Carlo (Ginsberg 2001) of depth one: all cards meet the same
determinizations, a policy replies, a value network evaluates, and the card with the best
mean is played. The tree is not searched deeper, because with open cards later moves would depend on
hidden cards (strategy fusion: Long and others 2010); replies come from a policy that gets a view.
Expert iteration trains the policy towards the results of such a search (Anthony, Tian and Barber,
"Thinking Fast and Slow with Deep Learning and Tree Search", 2017).
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import inline_ir, jit
from ...engine.bitset import NO_CARDS, ONE, bit, lowest, popcount, suit_set
from ...engine.dtypes import FOLLOW, NO_CARD
from ...engine.play import Record, legal, play, row, suit_of
from ...engine.sampling.determinizations import draw_determinization, split_weight
from ...engine.view import legal_in_view
from ..base import ViewBatch
from ..networks.policy import compute_logits
from ..sampling import masked_argmax, masked_softmax
from .base import (
    PRUNE_BY_BOUNDS,
    PRUNE_BY_RACING,
    PRUNE_NOTHING,
    UNLIKELY_FOR_TARGETS,
    UNLIKELY_IN_PLAY,
    searchable_actions,
)
from .leaf_values import ending_value_for_seat
from .simulation import (
    ROUND_SIZE,
    ThinkerSearch,
    draw_believed_determinization,
    evaluate_leaves,
    place_cards,
    play_ahead,
    query_policy,
    real_card,
    weigh_hands,
)

DROP_MARGIN = 2.5
"""Cards this many standard errors behind the best are dropped."""
BOUND_MARGIN = 1e-6
"""Part of the payoff by which a bound has to be worse: far more than sums are rounded by."""
LEAVES_AT_ONCE = 2
"""Determinizations of a card between two looks at the bounds: the network takes rows in pairs."""
MIN_REPLY_PROBABILITY = 0.02
"""Replies of smaller probability are ignored in an expectation over replies."""


@jit
def thinker_actions(
    search: ThinkerSearch, batch: ViewBatch, samples: int, accumulate: bool
) -> None:
    """Write the action for each view of the tablebase's contract, except in open endings.

    With `accumulate` the samples are added to those of the last call, which had the same one view.
    """
    rules = row(search.rules, 0)
    for index in range(len(batch.views)):
        view = row(batch.views, index)
        if searchable_actions(rules, search.tablebase, view, index, batch.actions) == NO_CARDS:
            continue
        stream = batch.rng[index : index + 1]
        if not accumulate:
            _start_search(search, view, stream)
        _search_determinizations(search, view, samples, stream)
        batch.actions[index] = search.cards[_best(search)]


@inline_ir
def _start_search(search: ThinkerSearch, view: Record, stream: np.ndarray) -> None:
    rules = row(search.rules, 0)
    compute_logits(rules, view, search.networks.policy, search.policy_buffers)
    cards = legal_in_view(rules, view)
    search.totals[:] = 0
    search.products[:] = 0
    progress = row(search.progress, 0)
    progress.cards = 0
    progress.samples = 0
    progress.active = 0
    unlikely = UNLIKELY_IN_PLAY if progress.pruning >= PRUNE_BY_RACING else UNLIKELY_FOR_TARGETS
    logits = search.policy_buffers.logits
    top = logits[masked_argmax(logits, cards)]
    log_total = np.log(masked_softmax(logits, cards, search.policy_buffers.weights))
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        index = progress.cards
        search.cards[index] = card
        below_top = np.float64(logits[card] - top)
        search.log_priors[index] = below_top - log_total
        if progress.pruning == PRUNE_NOTHING or view.stock_left == 2 or below_top > unlikely:
            progress.active |= 1 << index
        progress.cards = index + 1
    if progress.active & (progress.active - 1) == 0:
        return
    weigh_hands(search, view)
    draw_determinization(rules, view, row(search.plans, 0), stream, row(search.games, 0))
    if progress.pruning != PRUNE_NOTHING and view.stock_left > 2:
        _drop_equivalent_cards(view, row(search.games, 0).known_cards[np.int64(view.seat)], search)


@inline_ir
def _drop_equivalent_cards(view: Record, known: np.uint64, search: ThinkerSearch) -> None:
    """Of cards that win alike and are equally known keep the one of highest prior."""
    progress = row(search.progress, 0)
    cards_out = view.opponent_known | view.unseen | view.faced
    if view.led != NO_CARD:
        cards_out |= bit(np.int64(view.led))
    representative = 0
    for index in range(1, progress.cards):
        high, low = search.cards[index], search.cards[representative]
        between = bit(high) - bit(low)
        equal = suit_of(high) == suit_of(low) and cards_out & between == NO_CARDS
        if not equal or ((known >> np.uint64(high)) ^ (known >> np.uint64(low))) & ONE:
            representative = index
        elif search.log_priors[index] > search.log_priors[representative]:
            progress.active &= ~(1 << representative)
            representative = index
        else:
            progress.active &= ~(1 << index)


@inline_ir
def _search_determinizations(
    search: ThinkerSearch, view: Record, samples: int, stream: np.ndarray
) -> None:
    """Search the active cards in so many determinizations, or until one card is left.

    With one trick left for the stock every card is searched in every determinization.
    """
    progress = row(search.progress, 0)
    while samples > 0:
        if view.stock_left == 2:
            count = _list_determinizations(search, view, samples)
            samples = 0
        else:
            if progress.samples and progress.pruning >= PRUNE_BY_RACING:
                _drop_losing_cards(search)
            if progress.active & (progress.active - 1) == 0:
                break
            count = min(ROUND_SIZE, samples)
            for sample in range(count):
                draw_believed_determinization(search, view, stream)
                search.determinizations[sample] = search.games[0]
                search.sample_weights[sample] = 1.0
            samples -= ROUND_SIZE
            progress.samples += count
        # Compiled in one place: it is most of the search.
        if count:
            _evaluate_round(search, view, count, samples <= 0)


@inline_ir
def _evaluate_round(search: ThinkerSearch, view: Record, count: int, last: bool) -> None:
    """Play the active cards in the determinizations of a round, and add up their values."""
    progress, seat = row(search.progress, 0), np.int64(view.seat)
    bounded = last and progress.pruning == PRUNE_BY_BOUNDS
    search.met[:] = 0
    unplayed = True
    while unplayed:
        leaves = _play_highest_bound(search, count) if bounded else _play_cards(search, count)
        if leaves == 0:
            break
        if view.stock_left == 2:
            _evaluate_replies(search, seat, leaves, search.values)
        else:
            play_ahead(search, leaves)
            evaluate_leaves(search, seat, leaves, search.values)
        for leaf in range(leaves):
            index, sample = search.leaf_cards[leaf], search.leaf_samples[leaf]
            search.round_values[index, sample] = search.values[leaf]
        unplayed = bounded
    for sample in range(count):
        _add_values(search, sample)


@inline_ir
def _play_card(search: ThinkerSearch, index: int, sample: int, leaf: int) -> None:
    """Write the game after a card in a determinization of the round."""
    search.leaf_cards[leaf] = index
    search.leaf_samples[leaf] = sample
    search.met[index] |= 1 << sample
    search.leaves[leaf] = search.determinizations[sample]
    play(row(search.rules, 0), row(search.leaves, leaf), search.cards[index])


@inline_ir
def _play_cards(search: ThinkerSearch, count: int) -> int:
    """Play each active card in each determinization; returns the number of leaves."""
    progress, leaf = row(search.progress, 0), 0
    for sample in range(count):
        for index in range(progress.cards):
            if (progress.active >> index) & 1:
                _play_card(search, index, sample, leaf)
                leaf += 1
    return leaf


@inline_ir
def _play_highest_bound(search: ThinkerSearch, count: int) -> int:
    """Play the card of the highest bound where it may fall; returns the number of leaves.

    A card's bound is its score if it wins in each determinization that it has not met. When no
    bound reaches the best score, there are no leaves, and cards without a score are dropped.
    """
    progress = row(search.progress, 0)
    best = highest_bound = -np.inf
    chosen, incomplete = -1, 0
    for index in range(progress.cards):
        if not (progress.active >> index) & 1:
            continue
        total = search.totals[search.cards[index]]
        for sample in range(count):
            value = search.networks.max_payoff
            if (search.met[index] >> sample) & 1:
                value = search.round_values[index, sample]
            total += search.sample_weights[sample] * value
        bound = _score(search, index, total)
        if search.met[index] == (1 << count) - 1:
            best = max(best, bound)
            continue
        incomplete |= 1 << index
        if chosen < 0 or bound > highest_bound:
            chosen, highest_bound = index, bound
    if chosen < 0 or highest_bound < best - BOUND_MARGIN * (search.networks.max_payoff + abs(best)):
        progress.active &= ~incomplete
        return 0
    leaves = 0
    while leaves < LEAVES_AT_ONCE:
        sample = _hardest_sample(search, chosen, count)
        if sample < 0:
            break
        _play_card(search, chosen, sample, leaves)
        leaves += 1
    return leaves


@inline_ir
def _hardest_sample(search: ThinkerSearch, index: int, count: int) -> int:
    """The determinization that a card has not met where others lost most, or -1."""
    hardest, most = -1, -np.inf
    for sample in range(count):
        if (search.met[index] >> sample) & 1:
            continue
        sum_, met = 0.0, 0
        for other in range(row(search.progress, 0).cards):
            if (search.met[other] >> sample) & 1:
                sum_ += search.round_values[other, sample]
                met += 1
        mean = sum_ / met if met else 0.0
        loss = search.sample_weights[sample] * (search.networks.max_payoff - mean)
        if loss > most:
            hardest, most = sample, loss
    return hardest


@inline_ir
def _add_values(search: ThinkerSearch, sample: int) -> None:
    """Add the active cards' values in a determinization to the sums."""
    progress, values = row(search.progress, 0), search.round_values
    for index in range(progress.cards):
        if (progress.active >> index) & 1:
            value = values[index, sample]
            search.totals[search.cards[index]] += search.sample_weights[sample] * value
            for other in range(index + 1):
                if (progress.active >> other) & 1:
                    search.products[index, other] += value * values[other, sample]


@inline_ir
def _drop_losing_cards(search: ThinkerSearch) -> None:
    """Drop the cards that are clearly behind the best.

    A race (Maron and Moore, "Hoeffding Races", 1994): samples saved on a bad card go to the good
    ones. The test is on paired differences of two cards, whose variance is far smaller than that of
    either card's values, because both met the same deals.
    """
    progress = row(search.progress, 0)
    best, samples = _best(search), progress.samples
    for index in range(progress.cards):
        if index == best or not (progress.active >> index) & 1:
            continue
        difference = (
            search.totals[search.cards[best]] - search.totals[search.cards[index]]
        ) / samples
        square = search.products[index, index] + search.products[best, best]
        square -= 2 * search.products[max(index, best), min(index, best)]
        spread = np.sqrt(max(square / samples - difference * difference, 0.0) / samples)
        best_score = _score(search, best, search.totals[search.cards[best]])
        score = _score(search, index, search.totals[search.cards[index]])
        if best_score - score > DROP_MARGIN * spread + 0.01:
            progress.active &= ~(1 << index)


@inline_ir
def _best(search: ThinkerSearch) -> int:
    progress = row(search.progress, 0)
    best, best_score = -1, 0.0
    for index in range(progress.cards):
        if (progress.active >> index) & 1:
            score = _score(search, index, search.totals[search.cards[index]])
            if best < 0 or score > best_score:
                best, best_score = index, score
    return best


@inline_ir
def _score(search: ThinkerSearch, index: int, total: float) -> float:
    """Mean value of a card, from the sum of its values, plus its weighted log prior.

    Means of few samples lie close together; the policy, which learned from many more, decides
    between cards that the search cannot separate. A larger weight keeps the search closer to the
    policy: the best card is the mode of policy * exp(mean / prior), the optimum under a penalty
    prior * KL(new policy || policy), as in piKL (Jacob and others, "Modeling Strong and Human-Like
    Gameplay with KL-Regularized Search", 2022).
    """
    samples = max(1, row(search.progress, 0).samples)
    return total / samples + search.networks.prior * search.log_priors[index]


@inline_ir
def _list_determinizations(search: ThinkerSearch, view: Record, samples: int) -> int:
    """List all determinizations with one trick left for the stock; returns their number.

    They differ by one card then, so they are enumerated instead of sampled, and weighted by the
    probability of the opponent's hand. The result counts as `samples` of them.
    """
    count, total = 0, 0.0
    remaining = view.unseen
    stock = search.stock[:1]
    while remaining:
        card = lowest(remaining)
        remaining &= remaining - ONE
        weight = _hand_weight(search, view.unseen & ~bit(card))
        if weight == 0.0:
            continue
        stock[0] = card
        place_cards(search, view, view.unseen & ~bit(card), stock)
        search.determinizations[count] = search.games[0]
        search.sample_weights[count] = weight
        total += weight
        count += 1
    for sample in range(count):
        search.sample_weights[sample] = samples * (search.sample_weights[sample] / total)
    if count:
        row(search.progress, 0).samples += samples
    return count


@inline_ir
def _hand_weight(search: ThinkerSearch, hidden_hand: np.uint64) -> float:
    weight = 1.0
    if search.networks.uses_belief:
        while hidden_hand:
            weight *= search.odds[lowest(hidden_hand)]
            hidden_hand &= hidden_hand - ONE
        return weight
    plan = row(search.plans, 0)
    if plan.weighted == 0:
        return weight
    counts = search.suit_counts
    for suit in range(4):
        counts[suit] = popcount(hidden_hand & suit_set(suit))
    return split_weight(plan, counts)


@inline_ir
def _evaluate_replies(search: ThinkerSearch, seat: int, leaves: int, values: np.ndarray) -> None:
    rules, tablebase, scratch = row(search.rules, 0), search.tablebase, search.scratch
    n_queries = query_policy(search, leaves, FOLLOW)
    query = 0
    for leaf in range(leaves):
        game = row(search.leaves, leaf)
        if query < n_queries and search.queried_leaves[query] == leaf:
            values[leaf] = _expected_reply_value(search, query, leaf, seat)
            query += 1
            continue
        if game.phase == FOLLOW:
            play(rules, game, lowest(legal(rules, game)))
        values[leaf] = ending_value_for_seat(rules, tablebase, scratch, game, seat)


@inline_ir
def _expected_reply_value(search: ThinkerSearch, query: int, leaf: int, seat: int) -> float:
    rules = row(search.rules, 0)
    weights, tablebase, scratch = search.policy_buffers.weights, search.tablebase, search.scratch
    masked_softmax(search.policy_rows.out[query], search.legal_sets[query], weights)
    total, sum_ = 0.0, 0.0
    for shown_action in range(len(weights)):
        if weights[shown_action] < MIN_REPLY_PROBABILITY:
            continue
        search.games[1] = search.leaves[leaf]
        after = row(search.games, 1)
        play(rules, after, real_card(search, query, shown_action))
        payoff = ending_value_for_seat(rules, tablebase, scratch, after, seat)
        total += weights[shown_action]
        sum_ += weights[shown_action] * payoff
    return sum_ / total
