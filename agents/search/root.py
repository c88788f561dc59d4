"""How a thinker decides: which cards are tried, in how many worlds, and which is the best."""

from __future__ import annotations

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, bit, lowest, popcount, suit_set
from ...common.jit.compiler import jit, pasted
from ...engine.dtypes import FOLLOW, NO_CARD
from ...engine.endgame import Tables
from ...engine.play import Record, legal, play, row, suit_of
from ...engine.sampling.determinizations import draw_world, share_ways
from ...engine.view import legal_in_view
from ..networks.policy import ask
from ..sampling import masked_argmax, masked_softmax
from .base import PRIOR, UNLIKELY, to_search
from .leaf_values import paid_at_ending
from .simulation import (
    ACTIVE,
    COUNT,
    DROPS,
    ROUND,
    THOROUGH,
    TRIES_ALL,
    WORLDS,
    Minds,
    Thoughts,
    ask_in,
    guess,
    imagine,
    judge,
    lay_out,
    play_out,
    real_card,
)

CLEARLY = 2.5
"""A card is dropped that lies so many standard errors behind the best."""
LIKELY = 0.02
"""Replies that are less likely are not looked at where every reply is weighed."""


@jit
def thinker_actions(
    rules: np.ndarray, known: Tables, views: np.ndarray, rng: np.ndarray, worlds: int,
    go_on: bool, minds: Minds, room: Thoughts, actions: np.ndarray,
) -> None:  # fmt: skip
    """The search's action for each view of the tables' contract, open endgames left out.

    With `go_on` the worlds are added to those of the last call, which had the same one view.
    """
    first = row(rules, 0)
    for index in range(len(views)):
        view = row(views, index)
        if to_search(first, known, view, index, actions) == NO_CARDS:
            continue
        stream = rng[index : index + 1]
        if not go_on:
            _begin(first, view, minds, room, stream)
        if view.stock_left == 2:
            _every_world(first, known, view, minds, room, worlds)
        else:
            _search(first, known, view, minds, room, worlds, stream)
        actions[index] = room.cards[_best(room)]


@pasted
def _begin(rules: Record, view: Record, minds: Minds, room: Thoughts, stream: np.ndarray) -> None:
    """The cards in question, what the policy thinks of them, and a first world."""
    ask(rules, view, minds.policy, room.desk)
    cards = legal_in_view(rules, view)
    room.totals[:] = 0
    room.products[:] = 0
    room.state[COUNT] = 0
    room.state[WORLDS] = 0
    room.state[ACTIVE] = 0
    logits = room.desk.logits
    top = logits[masked_argmax(logits, cards)]
    log_total = np.log(masked_softmax(logits, cards, room.desk.weights))
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        at = room.state[COUNT]
        room.cards[at] = card
        below_top = np.float64(logits[card] - top)
        room.priors[at] = below_top - log_total
        if room.state[THOROUGH] == TRIES_ALL or view.stock_left == 2 or below_top > UNLIKELY:
            room.state[ACTIVE] |= 1 << at
        room.state[COUNT] = at + 1
    guess(rules, view, minds, room)
    draw_world(rules, view, row(room.plans, 0), stream, row(room.games, 0))
    if room.state[THOROUGH] == DROPS and view.stock_left > 2:
        _leave_one_of_equals(view, row(room.games, 0).known[np.int64(view.seat)], room)


@pasted
def _leave_one_of_equals(view: Record, known: np.uint64, room: Thoughts) -> None:
    """Of cards that take the same cards, and are as well known, only the likeliest is tried."""
    others = view.known | view.unseen | view.faced
    if view.led != NO_CARD:
        others |= bit(np.int64(view.led))
    kept = 0
    for at in range(1, room.state[COUNT]):
        high, low = room.cards[at], room.cards[kept]
        between = bit(high) - bit(low)
        equal = suit_of(high) == suit_of(low) and others & between == NO_CARDS
        if not equal or ((known >> np.uint64(high)) ^ (known >> np.uint64(low))) & ONE:
            kept = at
        elif room.priors[at] > room.priors[kept]:
            room.state[ACTIVE] &= ~(1 << kept)
            kept = at
        else:
            room.state[ACTIVE] &= ~(1 << at)


@pasted
def _search(
    rules: Record, known: Tables, view: Record, minds: Minds, room: Thoughts, worlds: int,
    stream: np.ndarray,
) -> None:  # fmt: skip
    """Try the cards in question in so many worlds, or until one is left."""
    while worlds > 0:
        if room.state[WORLDS] and room.state[THOROUGH] == DROPS:
            _drop(room)
        if _is_clear(room):
            break
        _round(rules, known, view, minds, room, min(ROUND, worlds), stream)
        worlds -= ROUND


@jit
def _is_clear(room: Thoughts) -> bool:
    return room.state[ACTIVE] & (room.state[ACTIVE] - 1) == 0


@pasted
def _round(
    rules: Record, known: Tables, view: Record, minds: Minds, room: Thoughts, worlds: int,
    stream: np.ndarray,
) -> None:  # fmt: skip
    """Try the cards in question in some more worlds."""
    seat = np.int64(view.seat)
    leaves = 0
    for _ in range(worlds):
        imagine(rules, view, minds, room, stream, row(room.games, 0))
        leaves = _play_cards(rules, room, leaves)
    play_out(rules, minds, room, leaves)
    worths = np.empty(leaves)
    judge(rules, known, minds, room, seat, leaves, worths)
    each = leaves // worlds
    for world in range(worlds):
        _note(room, worths[world * each : (world + 1) * each], 1.0)
    room.state[WORLDS] += worlds


@pasted
def _play_cards(rules: Record, room: Thoughts, first: int) -> int:
    """Play each card in question in the world at hand, in leaves `first` and on."""
    leaf = first
    for at in range(room.state[COUNT]):
        if (room.state[ACTIVE] >> at) & 1:
            room.leaves[leaf] = room.games[0]
            play(rules, row(room.leaves, leaf), room.cards[at])
            leaf += 1
    return leaf


@pasted
def _note(room: Thoughts, worths: np.ndarray, weight: float) -> None:
    """Enter what the cards in question came to in one world."""
    k = 0
    for at in range(room.state[COUNT]):
        if (room.state[ACTIVE] >> at) & 1:
            room.totals[room.cards[at]] += weight * worths[k]
            j = 0
            for other in range(at + 1):
                if (room.state[ACTIVE] >> other) & 1:
                    room.products[at, other] += worths[k] * worths[j]
                    j += 1
            k += 1


@pasted
def _drop(room: Thoughts) -> None:
    """Forget the cards that have clearly fallen behind."""
    best, worlds = _best(room), room.state[WORLDS]
    for at in range(room.state[COUNT]):
        if at == best or not (room.state[ACTIVE] >> at) & 1:
            continue
        apart = (room.totals[room.cards[best]] - room.totals[room.cards[at]]) / worlds
        square = room.products[at, at] + room.products[best, best]
        square -= 2 * room.products[max(at, best), min(at, best)]
        spread = np.sqrt(max(square / worlds - apart * apart, 0.0) / worlds)
        if _score(room, best) - _score(room, at) > CLEARLY * spread + 0.01:
            room.state[ACTIVE] &= ~(1 << at)


@jit
def _best(room: Thoughts) -> int:
    """The place of the best card in question."""
    best, most = -1, 0.0
    for at in range(room.state[COUNT]):
        if (room.state[ACTIVE] >> at) & 1:
            score = _score(room, at)
            if best < 0 or score > most:
                best, most = at, score
    return best


@jit
def _score(room: Thoughts, at: int) -> float:
    return room.totals[room.cards[at]] / max(1, room.state[WORLDS]) + PRIOR * room.priors[at]


@pasted
def _every_world(
    rules: Record, known: Tables, view: Record, minds: Minds, room: Thoughts, counted: int
) -> None:  # fmt: skip
    """Before the last trick for the stock: every card that may lie there, every reply.

    What comes out counts as so many worlds.
    """
    seat = np.int64(view.seat)
    worlds, leaves, total = 0, 0, 0.0
    left = view.unseen
    rest = np.zeros(1, np.uint8)
    while left:
        card = lowest(left)
        left &= left - ONE
        weight = _weight(rules, minds, room, view.unseen & ~bit(card))
        if weight == 0.0:
            continue
        rest[0] = card
        lay_out(rules, view, view.unseen & ~bit(card), rest, 1, row(room.games, 0))
        leaves = _play_cards(rules, room, leaves)
        room.weights[worlds] = weight
        total += weight
        worlds += 1
    if worlds == 0:
        return
    worths = np.empty(leaves)
    _weigh_replies(rules, known, minds, room, seat, leaves, worths)
    each = leaves // worlds
    for world in range(worlds):
        share = room.weights[world] / total
        _note(room, worths[world * each : (world + 1) * each], counted * share)
    room.state[WORLDS] += counted


@pasted
def _weight(rules: Record, minds: Minds, room: Thoughts, held: np.uint64) -> float:
    """How likely this hidden hand is, against others."""
    weight = 1.0
    if minds.guesses:
        while held:
            weight *= room.odds[lowest(held)]
            held &= held - ONE
        return weight
    plan = row(room.plans, 0)
    if plan.weighted == 0:
        return weight
    share = np.zeros(4, np.uint8)
    for suit in range(4):
        share[suit] = popcount(held & suit_set(suit))
    return share_ways(plan, np.uint64(rules.hand + 1), share)


@pasted
def _weigh_replies(
    rules: Record, known: Tables, minds: Minds, room: Thoughts, seat: int, leaves: int,
    worths: np.ndarray,
) -> None:  # fmt: skip
    """What `seat` is paid on average over the policy's replies, in leaves of the last trick."""
    asked = ask_in(rules, minds, room, leaves, FOLLOW)
    waiting = 0
    for leaf in range(leaves):
        game = row(room.leaves, leaf)
        if waiting < asked and room.asked[waiting] == leaf:
            worths[leaf] = _over_replies(rules, known, room, waiting, leaf, seat)
            waiting += 1
            continue
        if game.phase == FOLLOW:
            play(rules, game, lowest(legal(rules, game)))
        worths[leaf] = paid_at_ending(rules, known, room.scratch, game, seat)


@pasted
def _over_replies(
    rules: Record, known: Tables, room: Thoughts, index: int, leaf: int, seat: int
) -> float:
    weights = room.desk.weights
    masked_softmax(room.replies.out[index], room.legal[index], weights)
    total, sum_ = 0.0, 0.0
    for place in range(len(weights)):
        if weights[place] < LIKELY:
            continue
        room.games[1] = room.leaves[leaf]
        after = row(room.games, 1)
        play(rules, after, real_card(room, index, place))
        total += weights[place]
        sum_ += weights[place] * paid_at_ending(rules, known, room.scratch, after, seat)
    return sum_ / total
