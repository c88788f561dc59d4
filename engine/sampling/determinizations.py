# pyright: reportArgumentType=false, reportReturnType=false
"""Determinizations: full deals sampled consistently with a view, as used by PIMC and IS-MCTS.

`uniform` samples uniformly from the placements of the unseen cards. `voids` also conditions on
failures to follow suit: a placement is weighted by the number of full deals in which every play so
far was legal. Each determinization is a complete `GAME` record, history included, that plays on
with the same compiled functions.

The opponent's cards of unknown origin were dealt to it or drawn unseen. Trick by trick, `ways` has
the number of ways in which a hand of these cards can have come about: it had one card more before
the opponent played, no card of a suit that the opponent failed to follow, and one card less before
an unseen draw. Only the suits that the opponent failed to follow differ in this, so a hand is told
by its number of cards of each of them and of all others. Read backwards, these numbers weigh and
sample deals exactly.

With an exchange, both players' decisions are fixed: one's own hand laid away and the turned card
stay in place, and a hand that the opponent laid away, unused blind hands and cards left over share
the cards that are in no hand, all ways equally likely. Both decisions are legal with any hand, so
both methods sample the same exchanges, and failures to follow suit concern the hand that is played.
"""

from __future__ import annotations

from math import comb

import numpy as np

from ...common.jit.compiler import allocates, jit, noinline, warm_up
from ...common.typing import Array
from ..bitset import NO_CARDS, ONE, bit, lowest, nth_lowest, popcount, suit_set
from ..cards import KEEP, N_CARDS, RANKS, TAKE_BLIND
from ..checks import checked_count
from ..dtypes import CHOOSE, GAME, MAX_TRICKS, NO_CARD, TOOK_BLIND, UNDECIDED, UNSEEN_CARD
from ..play import (
    FIRST_BLIND,
    OF_DEALER,
    OF_NON_DEALER,
    SECOND_BLIND,
    Record,
    draw,
    play,
    row,
    set_up,
    suit_of,
)
from ..rng import random_below, random_fraction
from ..rules import Match
from ..view import View, first_hand, i_won

METHODS = ("uniform", "voids")

_OTHER_SUITS, _NO_GROUP = 3, 4
"""Group of the suits that were always followed; the suits that were not have groups 0 to 2."""
_CARDS_OF_SUIT = len(RANKS)
# Ways to split the largest hand among four suits, if suits were long enough.
_MAX_SPLITS = comb(MAX_TRICKS + 3, 3)

SAMPLING_PLAN = np.dtype(
    [
        ("total", "f8"),  # weight of all placements
        # Before each trick, and now: ways to a hand by its number of cards of groups 0 to 2. With
        # the card that was played there may be more of them than a suit has: these places stay 0.
        ("ways", "f8", (MAX_TRICKS + 1, *[_CARDS_OF_SUIT + 2] * _OTHER_SUITS)),
        # Scratch space, so that sampling allocates nothing.
        ("held", "i8", (4,)),  # number of cards of each group
        ("weights", "f8", (4,)),  # of a card of each group
        ("hands", "u8", (4,)),
        ("cumulative", "f8", (_MAX_SPLITS,)),
        ("n_splits", "i8"),  # number of splits of the unknown hand among the suits
        ("splits", "u1", (_MAX_SPLITS, 4)),
        ("n_rest", "i8"),  # cards in `rest`
        ("hidden", "i8"),  # unknown cards in the opponent's hand
        ("weighted", "i8"),  # 1: failures to follow restrict where cards came from
        ("n_tricks", "i8"),
        ("played", "u1", (MAX_TRICKS,)),  # the opponent's card of a trick if its origin is unknown
        ("failed", "u1", (MAX_TRICKS,)),  # group of the suit that it failed to follow
        ("groups", "u1", (4,)),  # of suits
        ("n_failed", "i8"),  # number of groups beside the other suits
        ("cards", "u1", (2 * MAX_TRICKS,)),
        ("rest", "u1", (N_CARDS,)),
        ("slot_cards", "u1", (MAX_TRICKS,)),  # of its unseen draws, in order
        ("spare", "u1", (2,)),
    ]
)


# -- reading the view


@noinline
def plan_determinizations(view: Record, voids: bool, plan: Record) -> None:
    """Prepare the sampling plan of a view, once for any number of determinizations."""
    plan.hidden = np.int64(view.opponent_hand_size) - popcount(view.opponent_known)
    plan.n_failed = 0
    for suit in range(4):
        plan.groups[suit] = _OTHER_SUITS
    taken, trick = NO_CARDS, 0
    while trick < MAX_TRICKS and view.led_cards[trick] != NO_CARD:
        led, followed = np.int64(view.led_cards[trick]), np.int64(view.followed_cards[trick])
        i_led = view.i_led[trick] == 1
        card = followed if i_led else led
        unknown = card != NO_CARD and not taken & bit(card)
        plan.played[trick] = card if unknown else NO_CARD
        failed = voids and i_led and followed != NO_CARD and suit_of(followed) != suit_of(led)
        plan.failed[trick] = _group_without(plan, suit_of(led)) if failed else _NO_GROUP
        if view.opponent_draws[trick] < N_CARDS:
            taken |= bit(view.opponent_draws[trick])
        trick += 1
    plan.n_tricks = trick
    plan.weighted = 1 if plan.n_failed > 0 else 0
    if plan.weighted == 1:
        _count_ways(view, plan)
        _weigh_splits(view, plan)


@jit
def _group_without(plan: Record, suit: int) -> int:
    """Group of a suit that the opponent failed to follow: a new one, unless it has one.

    After three such suits the group of the others holds the fourth alone.
    """
    if plan.groups[suit] == _OTHER_SUITS and plan.n_failed < _OTHER_SUITS:
        plan.groups[suit] = plan.n_failed
        plan.n_failed += 1
    return plan.groups[suit]


# -- counting the deals of a placement


@jit
def _count_ways(view: Record, plan: Record) -> None:
    """Fill in `ways` for every hand of the size that the opponent's hand had."""
    held, size = plan.held, np.int64(plan.hidden)
    for trick in range(plan.n_tricks):
        size += 1 if plan.played[trick] != NO_CARD else 0
        size -= 1 if view.opponent_draws[trick] == UNSEEN_CARD else 0
    for trick in range(plan.n_tricks):
        size -= 1 if plan.played[trick] != NO_CARD else 0
        drew = view.opponent_draws[trick] == UNSEEN_CARD
        size += 1 if drew else 0
        for first in range(_most_held(plan, 0, size) + 1):
            for second in range(_most_held(plan, 1, size - first) + 1):
                for third in range(_most_held(plan, 2, size - first - second) + 1):
                    held[0], held[1], held[2] = first, second, third
                    held[_OTHER_SUITS] = size - first - second - third
                    count = _weigh_draw(plan, trick) if drew else _ways_before_draw(plan, trick)
                    plan.ways[trick + 1, first, second, third] = count


@jit
def _most_held(plan: Record, group: int, size: int) -> int:
    """Largest number of cards of a group among so many cards."""
    return min(size, _CARDS_OF_SUIT) if group < plan.n_failed else 0


@jit
def _weigh_draw(plan: Record, trick: int) -> float:
    """Weigh each group by the ways to `held` if one of its cards was drawn last.

    Returns the number of ways with any of the cards drawn.
    """
    held, total = plan.held, 0.0
    for group in range(4):
        if held[group] > 0:
            held[group] -= 1
            plan.weights[group] = _ways_before_draw(plan, trick)
            held[group] += 1
            total += held[group] * plan.weights[group]
    return total


@jit
def _ways_before_draw(plan: Record, trick: int) -> float:
    """Number of ways to `held` between the opponent's card of a trick and its draw."""
    held = plan.held
    failed = np.int64(plan.failed[trick])
    if failed != _NO_GROUP and held[failed] > 0:
        return 0.0
    if trick == 0:
        return 1.0
    if plan.played[trick] == NO_CARD:
        return plan.ways[trick, held[0], held[1], held[2]]
    group = np.int64(plan.groups[suit_of(np.int64(plan.played[trick]))])
    held[group] += 1
    count = plan.ways[trick, held[0], held[1], held[2]]
    held[group] -= 1
    return count


@jit
def _binomial(n: int, k: int) -> float:
    result = 1.0
    for step in range(k):
        result = result * (n - step) / (step + 1)
    return result


@jit
def split_weight(plan: Record, split: np.ndarray) -> float:
    """Number of ways to explain a hand with `split[suit]` unknown cards of each suit."""
    held = plan.held
    for group in range(4):
        held[group] = 0
    for suit in range(4):
        held[plan.groups[suit]] += np.int64(split[suit])
    return plan.ways[plan.n_tricks, held[0], held[1], held[2]]


@jit
@allocates
def _weigh_splits(view: Record, plan: Record) -> None:
    unseen = np.zeros(4, np.int64)
    for suit in range(4):
        unseen[suit] = popcount(view.unseen & suit_set(suit))
    hidden = np.int64(plan.hidden)
    split = np.zeros(4, np.uint8)
    count = 0
    total = 0.0
    for first in range(min(hidden, unseen[0]) + 1):
        for second in range(min(hidden - first, unseen[1]) + 1):
            for third in range(min(hidden - first - second, unseen[2]) + 1):
                fourth = hidden - first - second - third
                if fourth > unseen[3]:
                    continue
                split[0], split[1], split[2], split[3] = first, second, third, fourth
                weight = split_weight(plan, split)
                if weight == 0.0:
                    continue
                for suit in range(4):
                    weight *= _binomial(unseen[suit], np.int64(split[suit]))
                total += weight
                # One by one: assigning a row takes seconds to compile.
                for suit in range(4):
                    plan.splits[count, suit] = split[suit]
                plan.cumulative[count] = total
                count += 1
    plan.n_splits = count
    plan.total = total


# -- sampling


@noinline
def draw_determinization(
    rules: Record, view: Record, plan: Record, stream: np.ndarray, game: Record
) -> None:
    """Sample one determinization into `game`: a full deal with the same visible history."""
    hidden_hand = draw_hand(view, plan, stream)
    plan.n_rest = shuffle_cards(view.unseen & ~hidden_hand, stream, plan.rest)
    dealt = _fill_slots(view, plan, hidden_hand, stream)
    if rules.exchange == 1:
        _write_four_hands(rules, view, plan, dealt | view.opponent_known, game)
    else:
        _write_deal(rules, view, plan, dealt, game)
    _replay_view(rules, view, game)


@jit
def shuffle_cards(cards: np.uint64, stream: np.ndarray, out: np.ndarray) -> int:
    """Write the cards of a set into `out` in random order; returns their number."""
    count = 0
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        other = random_below(stream, count + 1)
        out[count] = out[other]
        out[other] = card
        count += 1
    return count


@jit
def _sample_subset(cards: np.uint64, count: int, stream: np.ndarray) -> np.uint64:
    left = popcount(cards)
    chosen = NO_CARDS
    for _ in range(count):
        card = bit(nth_lowest(cards & ~chosen, random_below(stream, left)))
        chosen |= card
        left -= 1
    return chosen


@jit
def draw_hand(view: Record, plan: Record, stream: np.ndarray) -> np.uint64:
    """Sample the unknown part of the opponent's hand."""
    if plan.weighted == 0:
        return _sample_subset(view.unseen, np.int64(plan.hidden), stream)
    threshold = random_fraction(stream) * plan.total
    low, high = 0, np.int64(plan.n_splits) - 1
    while low < high:
        middle = (low + high) // 2
        if plan.cumulative[middle] > threshold:
            high = middle
        else:
            low = middle + 1
    hidden_hand = NO_CARDS
    for suit in range(4):
        hidden_hand |= _sample_subset(
            view.unseen & suit_set(suit), np.int64(plan.splits[low][suit]), stream
        )
    return hidden_hand


@jit
def _fill_slots(
    view: Record, plan: Record, hidden_hand: np.uint64, stream: np.ndarray
) -> np.uint64:
    """Assign a card to each unseen draw; returns the hand that was dealt.

    Draws are gone through from the last to the first, each card in proportion to its ways.
    """
    cards, slot_cards = plan.cards, plan.slot_cards
    count, slot, end = 0, 0, np.int64(plan.n_tricks)
    while hidden_hand:
        cards[count] = lowest(hidden_hand)
        hidden_hand &= hidden_hand - ONE
        count += 1
    for trick in range(end):
        slot += 1 if view.opponent_draws[trick] == UNSEEN_CARD else 0
    for trick in range(end - 1, -1, -1):
        if view.opponent_draws[trick] == UNSEEN_CARD:
            slot -= 1
            # What it has played since was in its hand.
            count = _append_played(plan, trick + 1, end, count)
            end = trick + 1
            chosen = random_below(stream, count)
            if plan.weighted == 1:
                chosen = _weighted_choice(plan, trick, count, random_fraction(stream))
            slot_cards[slot] = cards[chosen]
            count -= 1
            cards[chosen] = cards[count]
    count = _append_played(plan, 0, end, count)
    dealt = NO_CARDS
    for index in range(count):
        dealt |= bit(cards[index])
    return dealt


@jit
def _append_played(plan: Record, start: int, end: int, count: int) -> int:
    """Add the cards of unknown origin of some tricks to `cards`; returns their number then."""
    for trick in range(start, end):
        if plan.played[trick] != NO_CARD:
            plan.cards[count] = plan.played[trick]
            count += 1
    return count


@jit
def _weighted_choice(plan: Record, trick: int, count: int, fraction: float) -> int:
    """One of the first `cards`, in proportion to the ways to the others."""
    held = plan.held
    for group in range(4):
        held[group] = 0
    for index in range(count):
        held[_group_of(plan, index)] += 1
    threshold, last = fraction * _weigh_draw(plan, trick), 0
    for index in range(count):
        weight = plan.weights[_group_of(plan, index)]
        if weight > 0.0:
            last = index
            threshold -= weight
            if threshold < 0.0:
                break
    return last


@jit
def _group_of(plan: Record, index: int) -> int:
    """Group of one of `cards`."""
    return np.int64(plan.groups[suit_of(np.int64(plan.cards[index]))])


@jit
def _write_deal(rules: Record, view: Record, plan: Record, dealt: np.uint64, game: Record) -> None:
    own_hand = first_hand(view)
    first, second = (dealt, own_hand) if view.i_deal == 1 else (own_hand, dealt)
    place = 0
    for _ in range(np.int64(rules.hand)):
        game.deal[place] = lowest(first)
        first &= first - ONE
        game.deal[place + 1] = lowest(second)
        second &= second - ONE
        place += 2
    slot = 0
    for trick in range(len(view.my_draws)):
        if view.my_draws[trick] == NO_CARD:
            break
        other = np.int64(view.opponent_draws[trick])
        if other == UNSEEN_CARD:
            other = np.int64(plan.slot_cards[slot])
            slot += 1
        upper_is_mine = i_won(view, trick) != (view.took_second[trick] == 1)
        game.deal[place] = view.my_draws[trick] if upper_is_mine else other
        game.deal[place + 1] = other if upper_is_mine else view.my_draws[trick]
        place += 2
    for index in range(2):
        if view.upcards[index] != NO_CARD:
            game.deal[place] = view.upcards[index]
            place += 1
    for index in range(plan.n_rest):
        game.deal[place + index] = plan.rest[index]


@noinline
def _write_four_hands(
    rules: Record, view: Record, plan: Record, other_hand: np.uint64, game: Record
) -> None:
    """Write the deal of an exchange; `other_hand` is the opponent's current hand.

    Cards that neither player is known to have held come from `plan.rest`, in random order: a hand
    that the opponent laid away, unused blind hands, cards left over.
    """
    size, hands, rest = np.int64(rules.hand), plan.hands, plan.rest
    for which in range(4):
        hands[which] = NO_CARDS
    dealer = 0 if view.i_deal == 1 else 1
    used = 0
    for player in range(2):
        playing = other_hand if player == 1 else view.hand | view.played[0]
        deals = player == dealer
        dealt_at, blind_at = (OF_DEALER, SECOND_BLIND) if deals else (OF_NON_DEALER, FIRST_BLIND)
        if view.exchanged[player] == TOOK_BLIND:
            hands[blind_at] = playing
            hands[dealt_at] = first_hand(view) if player == 0 else NO_CARDS
            if deals and view.turned != NO_CARD:
                hands[dealt_at] |= bit(view.turned)
        else:
            hands[dealt_at] = playing
    for which in range(4):
        for _ in range(size - popcount(hands[which])):
            hands[which] |= bit(rest[used])
            used += 1
        cards, place = hands[which], which
        while cards:
            game.deal[place] = lowest(cards)
            cards &= cards - ONE
            place += 4
    last = 4 * size - 1
    for place in range(OF_DEALER, last, 4):
        if game.deal[place] == view.turned:
            game.deal[place] = game.deal[last]
            game.deal[last] = view.turned
    for place in range(4 * size, popcount(rules.deck)):
        game.deal[place] = rest[used]
        used += 1


@jit
def _replay_view(rules: Record, view: Record, game: Record) -> None:
    seat = np.int64(view.seat)
    set_up(rules, game, seat if view.i_deal == 1 else 1 - seat)
    for turn in range(2 if rules.exchange == 1 else 0):
        decision = view.exchanged[0 if view.i_deal == turn else 1]
        if decision != UNDECIDED:
            play(rules, game, TAKE_BLIND if decision == TOOK_BLIND else KEEP)
    for trick in range(len(view.led_cards)):
        if view.led_cards[trick] == NO_CARD:
            break
        play(rules, game, np.int64(view.led_cards[trick]))
        if view.followed_cards[trick] == NO_CARD:
            break
        play(rules, game, np.int64(view.followed_cards[trick]))
        if game.phase == CHOOSE and view.my_draws[trick] != NO_CARD:
            draw(rules, game, np.int64(view.took_second[trick]))
    # A finished hand has been added to the score, which the view has already.
    game.hands = view.hands
    for index in range(2):
        owner = seat if index == 0 else 1 - seat
        game.points[owner] = view.points[index]
        game.hands_won[owner] = view.hands_won[index]


@jit
def _sample_all(
    given: tuple[np.ndarray, np.ndarray],
    voids: bool,
    plans: np.ndarray,
    stream: np.ndarray,
    games: np.ndarray,
) -> None:
    rules, view, plan = row(given[0], 0), row(given[1], 0), row(plans, 0)
    plan_determinizations(view, voids, plan)
    for index in range(len(games)):
        draw_determinization(rules, view, plan, stream, row(games, index))


def _compile_all() -> None:
    from ..game import Game

    game = Game("classic")
    for voids in (False, True):
        _sample(game.rules.array(), game.view(0), voids, 0, np.zeros(1, GAME))


def _sample(rules: np.ndarray, view: View, voids: bool, seed: int, games: np.ndarray) -> None:
    plans, stream = np.zeros(1, SAMPLING_PLAN), np.array([seed], np.uint64)
    _sample_all((rules, view.array.copy()), voids, plans, stream, games)


def sample_determinizations(
    view: View, n: int, seed: int = 0, method: str = "uniform", *, match: Match | int | None = None
) -> Array:
    """Sample `n` determinizations of a view, as an array of `GAME` records."""
    if method not in METHODS:
        raise ValueError(f"method is {method!r}: it has to be one of {', '.join(METHODS)}")
    games = np.zeros(checked_count(n, "n"), GAME)
    warm_up("sampling of determinizations", "engine", _compile_all)
    _sample(view.rules.array(match), view, method == "voids", seed, games)
    return games
