# pyright: reportArgumentType=false, reportReturnType=false
"""Determinizations: full deals sampled consistently with a view, as used by PIMC and IS-MCTS.

`plain` samples uniformly from the placements of the unseen cards. `voids` also conditions on
failures to follow suit: a placement is weighted by the number of full deals in which every play so
far was legal. Each determinization is a complete `GAME` record, history included, that plays on
with the same compiled functions.

The opponent's cards of unknown origin were dealt to it or drawn unseen, one at each of its unseen
draws (`slots`, in order). A card cannot have come after it was played (its `latest` slot), nor,
when the opponent failed to follow its suit while not having played it yet, before that failure (its
`earliest` slot; NEVER if it may have been dealt). Going through the slots from the last to the
first, the cards still without a slot are counted by their earliest slot; `ways` counts the
completions, and so weights and samples deals exactly.

With an exchange, both players' decisions are fixed: one's own hand laid away and the turned card
stay in place, and a hand that the opponent laid away, unused blind hands and cards left over share
the cards that are in no hand, all ways equally likely. Both decisions are legal with any hand, so
both methods sample the same exchanges, and failures to follow suit concern the hand that is played.
"""

from __future__ import annotations

from math import comb

import numpy as np

from ...common.jit.compiler import jit, noinline, warm_up
from ...common.typing import Array
from ..bitset import NO_CARDS, ONE, bit, lowest, nth_lowest, popcount, suit_set
from ..cards import KEEP, N_CARDS, TAKE_BLIND
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
from ..rng import mul64, random_below, random_fraction
from ..rules import Match
from ..view import View, first_hand, i_won

METHODS = ("plain", "voids")

# Cards without an earliest slot: they may have been dealt.
_NEVER = -1
_CACHE_SIZE = 4096
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# Ways to split the largest hand among four suits, if suits were long enough.
_MAX_SPLITS = comb(MAX_TRICKS + 3, 3)

SAMPLING_PLAN = np.dtype(
    [
        ("total", "f8"),  # weight of all placements
        # Scratch space, so that sampling allocates nothing.
        ("states", "u8", (MAX_TRICKS + 1,)),  # search stack over the slots
        ("free_counts", "i8", (MAX_TRICKS + 1,)),
        ("choices", "i8", (MAX_TRICKS + 1,)),
        ("totals", "f8", (MAX_TRICKS + 1,)),
        ("earliest", "i8", (2 * MAX_TRICKS,)),  # of the cards to be given slots
        ("hands", "u8", (4,)),
        ("cumulative", "f8", (_MAX_SPLITS,)),
        ("cache_keys", "u8", (_CACHE_SIZE,)),
        ("cache_values", "f8", (_CACHE_SIZE,)),
        ("n_cached", "i8"),
        ("n_splits", "i8"),  # number of splits of the unknown hand among the suits
        ("splits", "u1", (_MAX_SPLITS, 4)),
        ("radix", "u8"),  # of the digits of a state: the size of a hand plus one
        ("n_rest", "i8"),  # cards in `rest`
        ("slots", "i8"),
        ("hidden", "i8"),  # unknown cards in the opponent's hand
        ("weighted", "i8"),  # 1: failures to follow restrict where cards came from
        ("n_past", "i8"),
        ("past_cards", "u1", (MAX_TRICKS,)),  # cards of unknown origin that were played
        ("past_latest", "i1", (MAX_TRICKS,)),
        ("past_earliest", "i1", (MAX_TRICKS,)),
        ("suit_earliest", "i1", (4,)),  # for the cards still in hand
        ("slot_tricks", "u1", (MAX_TRICKS,)),
        ("cards", "u1", (2 * MAX_TRICKS,)),
        ("rest", "u1", (N_CARDS,)),
        ("slot_cards", "u1", (MAX_TRICKS,)),
        ("spare", "u1", (2,)),
    ]
)


# -- reading the view


@noinline
def plan_determinizations(rules: Record, view: Record, voids: bool, plan: Record) -> None:
    """Prepare the sampling plan of a view, once for any number of determinizations."""
    plan.radix = np.int64(rules.hand) + 1
    plan.hidden = np.int64(view.opponent_hand_size) - popcount(view.opponent_known)
    count = 0
    for trick in range(len(view.opponent_draws)):
        if view.opponent_draws[trick] == UNSEEN_CARD:
            plan.slot_tricks[count] = trick
            count += 1
    plan.slots = count
    _list_played(view, plan)
    plan.weighted = 0
    for suit in range(4):
        plan.suit_earliest[suit] = _NEVER
    if voids:
        _apply_voids(view, plan)
    if plan.weighted == 1:
        _weigh_splits(view, plan)


@jit
def _slots_before(plan: Record, trick: int) -> int:
    count = 0
    for slot in range(plan.slots):
        if plan.slot_tricks[slot] < trick:
            count += 1
    return count


@jit
def _played_by_other(view: Record, trick: int) -> int:
    if view.i_led[trick] == 1:
        return np.int64(view.followed_cards[trick])
    return np.int64(view.led_cards[trick])


@jit
def _list_played(view: Record, plan: Record) -> None:
    """List the cards that the opponent played and did not openly take."""
    taken = NO_CARDS
    for trick in range(len(view.opponent_draws)):
        if view.opponent_draws[trick] < N_CARDS:
            taken |= bit(view.opponent_draws[trick])
    count = 0
    for trick in range(len(view.led_cards)):
        card = _played_by_other(view, trick)
        if card == NO_CARD or taken & bit(card):
            continue
        plan.past_cards[count] = card
        plan.past_latest[count] = _slots_before(plan, trick) - 1
        plan.past_earliest[count] = _NEVER
        count += 1
    plan.n_past = count


@jit
def _apply_voids(view: Record, plan: Record) -> None:
    for trick in range(len(view.led_cards)):
        followed = np.int64(view.followed_cards[trick])
        if view.i_led[trick] == 0 or followed == NO_CARD:
            continue
        suit = suit_of(view.led_cards[trick])
        if suit_of(followed) == suit:
            continue
        earliest = _slots_before(plan, trick)
        plan.weighted = 1
        plan.suit_earliest[suit] = earliest
        for index in range(plan.n_past):
            card = np.int64(plan.past_cards[index])
            if suit_of(card) == suit and not _was_played_before(view, card, trick):
                plan.past_earliest[index] = earliest


@jit
def _was_played_before(view: Record, card: int, trick: int) -> bool:
    for earlier in range(trick):
        if _played_by_other(view, earlier) == card:
            return True
    return False


# -- counting the deals of a placement
#
# A state is a number whose digits, to the base of the hand's size plus one, count
# the unplaced cards by their earliest slot; `free` counts those that have none.


@jit
def _radix_power(plan: Record, exponent: int) -> np.uint64:
    power = ONE
    for _ in range(exponent):
        power *= plan.radix
    return power


@jit
def _played_at(plan: Record, slot: int) -> tuple[np.uint64, int]:
    state = NO_CARDS
    free = 0
    for index in range(plan.n_past):
        if plan.past_latest[index] == slot:
            if plan.past_earliest[index] == _NEVER:
                free += 1
            else:
                state += _radix_power(plan, np.int64(plan.past_earliest[index]))
    return state, free


@jit
def _cache_place(plan: Record, slot: int, state: np.uint64) -> tuple[int, np.uint64]:
    """Place of a state in the cache, or the empty one where it belongs, and its key."""
    key = state * np.uint64(32) + np.uint64(slot + 1)
    place = np.int64(mul64(key, _HASH_FACTOR) >> np.uint64(52))
    while plan.cache_keys[place] != NO_CARDS and plan.cache_keys[place] != key:
        place = (place + 1) % _CACHE_SIZE
    return place, key


@jit
def _cached_ways(plan: Record, slot: int, state: np.uint64) -> float:
    place, key = _cache_place(plan, slot, state)
    return plan.cache_values[place] if plan.cache_keys[place] == key else -1.0


@jit
def _cache_ways(plan: Record, slot: int, state: np.uint64, value: float) -> None:
    # A full cache only costs time.
    if plan.n_cached < _CACHE_SIZE * 3 // 4:
        place, key = _cache_place(plan, slot, state)
        plan.cache_keys[place] = key
        plan.cache_values[place] = value
        plan.n_cached += 1


@jit
def _n_candidates(plan: Record, slot: int, state: np.uint64, free: int, choice: int) -> int:
    """Number of cards that can fill a slot, by earliest slot, or NEVER for free cards.

    A card that can come no earlier than this slot has to be the one; with two of them nothing fits.
    """
    due = state // _radix_power(plan, slot)
    if due > NO_CARDS:
        return 1 if due == ONE and choice == slot else 0
    if choice == _NEVER:
        return free
    return np.int64((state // _radix_power(plan, choice)) % plan.radix)


@jit
def _after_choice(
    plan: Record, slot: int, state: np.uint64, free: int, choice: int
) -> tuple[np.uint64, int]:
    """Unplaced cards at the next slot down, after a choice for this one."""
    more, more_free = _played_at(plan, slot - 1)
    if choice == _NEVER:
        return state + more, free - 1 + more_free
    return state - _radix_power(plan, choice) + more, free + more_free


@jit
def count_ways(plan: Record, slot: int, state: np.uint64, free: int) -> float:
    """Number of ways to fill the slots up to this one, with the rest dealt.

    Depth-first over the choices slot by slot, on an explicit stack: numba cannot cache recursive
    functions.
    """
    if slot < 0:
        return 1.0 if state == NO_CARDS else 0.0
    cached = _cached_ways(plan, slot, state)
    if cached >= 0.0:
        return cached
    states, free_counts, choices, totals = plan.states, plan.free_counts, plan.choices, plan.totals
    depth = slot
    states[depth], free_counts[depth] = state, free
    choices[depth], totals[depth] = _NEVER - 1, 0.0
    while True:
        choices[depth] += 1
        choice = choices[depth]
        if choice > depth:
            _cache_ways(plan, depth, states[depth], totals[depth])
            if depth == slot:
                return totals[depth]
            done = totals[depth]
            depth += 1
            totals[depth] += done * _n_candidates(
                plan, depth, states[depth], free_counts[depth], choices[depth]
            )
            continue
        times = _n_candidates(plan, depth, states[depth], free_counts[depth], choice)
        if times == 0:
            continue
        next_state, next_free = _after_choice(
            plan, depth, states[depth], free_counts[depth], choice
        )
        if depth == 0:
            # The remaining cards were dealt, so none of them may have an earliest slot.
            totals[depth] += times if next_state == _played_at(plan, -1)[0] else 0
            continue
        cached = _cached_ways(plan, depth - 1, next_state)
        if cached >= 0.0:
            totals[depth] += times * cached
            continue
        depth -= 1
        states[depth], free_counts[depth] = next_state, next_free
        choices[depth], totals[depth] = _NEVER - 1, 0.0


@jit
def _binomial(n: int, k: int) -> float:
    result = 1.0
    for step in range(k):
        result = result * (n - step) / (step + 1)
    return result


@jit
def split_weight(plan: Record, split: np.ndarray) -> float:
    """Number of ways to explain a hand with `split[suit]` unknown cards of each suit."""
    last = np.int64(plan.slots) - 1
    state, free = _played_at(plan, last)
    for suit in range(4):
        earliest = np.int64(plan.suit_earliest[suit])
        if earliest == _NEVER:
            free += np.int64(split[suit])
        elif earliest > last and split[suit] > 0:
            return 0.0
        elif split[suit] > 0:
            state += np.uint64(split[suit]) * _radix_power(plan, earliest)
    return count_ways(plan, last, state, free)


@jit
def _weigh_splits(view: Record, plan: Record) -> None:
    plan.n_cached = 0
    plan.cache_keys[:] = 0
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
    dealt = _fill_slots(plan, hidden_hand, stream)
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
def _fill_slots(plan: Record, hidden_hand: np.uint64, stream: np.ndarray) -> np.uint64:
    """Assign a card to each unseen draw; returns the hand that was dealt.

    Slots are filled from the last to the first, each card in proportion to its completions.
    """
    cards, earliest, slot_cards = plan.cards, plan.earliest, plan.slot_cards
    count = 0
    while hidden_hand:
        cards[count] = lowest(hidden_hand)
        earliest[count] = plan.suit_earliest[suit_of(cards[count])]
        hidden_hand &= hidden_hand - ONE
        count += 1
    state = NO_CARDS
    free = 0
    for index in range(count):
        if earliest[index] == _NEVER:
            free += 1
        else:
            state += _radix_power(plan, earliest[index])
    for slot in range(np.int64(plan.slots) - 1, -1, -1):
        more, more_free = _played_at(plan, slot)
        state += more
        free += more_free
        for index in range(plan.n_past):
            if plan.past_latest[index] == slot:
                cards[count] = plan.past_cards[index]
                earliest[count] = plan.past_earliest[index]
                count += 1
        chosen = random_below(stream, count)
        if plan.weighted == 1:
            threshold = random_fraction(stream) * count_ways(plan, slot, state, free)
            chosen = _weighted_choice(plan, slot, (state, free), count, threshold)
        slot_cards[slot] = cards[chosen]
        if earliest[chosen] == _NEVER:
            free -= 1
        else:
            state -= _radix_power(plan, earliest[chosen])
        count -= 1
        cards[chosen] = cards[count]
        earliest[chosen] = earliest[count]
    dealt = NO_CARDS
    for index in range(count):
        dealt |= bit(cards[index])
    for index in range(plan.n_past):
        if plan.past_latest[index] < 0:
            dealt |= bit(plan.past_cards[index])
    return dealt


@jit
def _weighted_choice(
    plan: Record, slot: int, unplaced: tuple[np.uint64, int], count: int, threshold: float
) -> int:
    state, free = unplaced
    last = 0
    for index in range(count):
        choice = plan.earliest[index]
        if _n_candidates(plan, slot, state, free, choice) == 0:
            continue
        left, left_free = _after_choice(plan, slot, state, free, choice)
        weight = count_ways(plan, slot - 1, left, left_free)
        if weight == 0.0:
            continue
        last = index
        threshold -= weight
        if threshold < 0.0:
            break
    return last


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
    plan_determinizations(rules, view, voids, plan)
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
    view: View, n: int, seed: int = 0, method: str = "plain", *, match: Match | int | None = None
) -> Array:
    """Sample `n` determinizations of a view, as an array of `GAME` records."""
    if method not in METHODS:
        raise ValueError(f"method is {method!r}: it has to be one of {', '.join(METHODS)}")
    games = np.zeros(checked_count(n, "n"), GAME)
    warm_up("sampling of determinizations", "engine", _compile_all)
    _sample(view.rules.array(match), view, method == "voids", seed, games)
    return games
