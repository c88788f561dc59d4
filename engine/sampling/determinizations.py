"""Worlds that a player must reckon with: full deals drawn at random in keeping with a view.

`plain` puts every unseen card in every open place with equal chance. `voids`
also heeds what failures to follow suit have shown: a placement weighs as many
times as there are full deals in which every play so far was legal. Each world
is a complete `GAME` record, its past included, that plays on with the same
compiled functions.

The opponent's cards of unknown origin were dealt to it or drawn unseen, one at
each of its unseen draws (`slots`, in order). A card cannot have come after it
was played (its `latest` slot), nor, when the opponent failed to follow its suit
while not having played it yet, before that failure (its `earliest` slot; NEVER
if it may have been dealt). Going through the slots from the last to the first,
the cards still to be given a slot are counted by their earliest slot; `ways`
counts how often that can be completed, and so weighs and draws deals exactly.

Where hands are exchanged, what each player did is kept in every world: one's own hand laid
away and the turned card stay where they are, and a hand that the opponent laid away, the blind
hands that nobody took and what is left over share the cards that are in no hand, every way
equally likely. Keeping and taking are legal with any hand, so both methods draw the same
exchanges, and failures to follow tell of the hand that is played, whichever it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, bit, lowest, nth_lowest, popcount, suit_set
from ...common.jit.compiler import called, jit, warm_up
from ..cards import CARDS_IN_ALL, KEEP, TAKE_BLIND
from ..dtypes import (
    CHOOSE,
    GAME,
    MOST_TRICKS,
    NO_CARD,
    TOOK_BLIND,
    UNDECIDED,
    UNSEEN_CARD,
    VIEW,
)
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
from ..rng import below, fraction, product
from ..rules import Match, Rules
from ..seeding import checked_count
from ..view import View, first_hand, i_won

METHODS = ("plain", "voids")

# Cards without an earliest slot: they may have been dealt.
_NEVER = -1
_MEMO_SIZE = 4096
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
# The most ways to share a hand of up to 26 cards among four suits.
_MOST_VECTORS = 3654

PLAN = np.dtype(
    [
        ("total", "f8"),  # the weight of all placements together
        # Scratch space, so that drawing a world allocates nothing.
        ("states", "u8", (MOST_TRICKS + 1,)),  # a walk through the slots
        ("frees", "i8", (MOST_TRICKS + 1,)),
        ("choices", "i8", (MOST_TRICKS + 1,)),
        ("totals", "f8", (MOST_TRICKS + 1,)),
        ("earliest", "i8", (2 * MOST_TRICKS,)),  # of the cards to be given slots
        ("hands", "u8", (4,)),
        ("cumulative", "f8", (_MOST_VECTORS,)),
        ("memo_keys", "u8", (_MEMO_SIZE,)),
        ("memo_values", "f8", (_MEMO_SIZE,)),
        ("memo_used", "i8"),
        ("vectors", "i8"),  # how many ways to share the unknown hand among the suits
        ("shares", "u1", (_MOST_VECTORS, 4)),  # and which
        ("slots", "i8"),
        ("hidden", "i8"),  # unknown cards in the opponent's hand
        ("weighted", "i8"),  # 1: failures to follow restrict where cards came from
        ("past_count", "i8"),
        ("past_cards", "u1", (MOST_TRICKS,)),  # cards of unknown origin that were played
        ("past_latest", "i1", (MOST_TRICKS,)),
        ("past_earliest", "i1", (MOST_TRICKS,)),
        ("suit_earliest", "i1", (4,)),  # for the cards still in hand
        ("slot_tricks", "u1", (MOST_TRICKS,)),
        ("cards", "u1", (2 * MOST_TRICKS,)),
        ("rest", "u1", (CARDS_IN_ALL,)),
        ("slot_cards", "u1", (MOST_TRICKS,)),
        ("spare", "u1", (2,)),
    ]
)


# -- reading the view


@called
def plan_worlds(rules: Record, view: Record, voids: bool, plan: Record) -> None:
    """Gather from a view what drawing worlds needs; done once for any number of worlds."""
    plan.hidden = np.int64(view.other_cards) - popcount(view.known)
    _list_slots(view, plan)
    _list_past(view, plan)
    plan.weighted = 0
    for suit in range(4):
        plan.suit_earliest[suit] = _NEVER
    if voids:
        _note_failures(view, plan)
    if plan.weighted == 1:
        _weigh_shares(rules, view, plan)


@jit
def _list_slots(view: Record, plan: Record) -> None:
    count = 0
    for trick in range(len(view.other_draws)):
        if view.other_draws[trick] == UNSEEN_CARD:
            plan.slot_tricks[count] = trick
            count += 1
    plan.slots = count


@jit
def _slots_before(plan: Record, trick: int) -> int:
    """How many unseen draws came before the play of a trick."""
    count = 0
    for slot in range(plan.slots):
        if plan.slot_tricks[slot] < trick:
            count += 1
    return count


@jit
def _played_by_other(view: Record, trick: int) -> int:
    """The opponent's card to a trick, or NO_CARD."""
    if view.i_led[trick] == 1:
        return np.int64(view.followed_cards[trick])
    return np.int64(view.led_cards[trick])


@jit
def _list_past(view: Record, plan: Record) -> None:
    """The cards that the opponent played and was not seen to take."""
    taken = NO_CARDS
    for trick in range(len(view.other_draws)):
        if view.other_draws[trick] < CARDS_IN_ALL:
            taken |= bit(view.other_draws[trick])
    count = 0
    for trick in range(len(view.led_cards)):
        card = _played_by_other(view, trick)
        if card == NO_CARD or taken & bit(card):
            continue
        plan.past_cards[count] = card
        plan.past_latest[count] = _slots_before(plan, trick) - 1
        plan.past_earliest[count] = _NEVER
        count += 1
    plan.past_count = count


@jit
def _note_failures(view: Record, plan: Record) -> None:
    """Where the opponent failed to follow, its later cards of that suit came afterwards."""
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
        for index in range(plan.past_count):
            card = np.int64(plan.past_cards[index])
            if suit_of(card) == suit and not _was_played_before(view, card, trick):
                plan.past_earliest[index] = earliest


@jit
def _was_played_before(view: Record, card: int, trick: int) -> bool:
    for earlier in range(trick):
        if _played_by_other(view, earlier) == card:
            return True
    return False


# -- counting the deals behind a placement
#
# A state is a number whose digits, to the base of the hand's size plus one, count
# the unplaced cards by their earliest slot; `free` counts those that have none.


@jit
def _radix_power(base: np.uint64, exponent: int) -> np.uint64:
    power = ONE
    for _ in range(exponent):
        power *= base
    return power


@jit
def _arrivals(plan: Record, base: np.uint64, slot: int) -> tuple[np.uint64, int]:
    """The played cards whose latest slot this is, as a state and the free ones."""
    state = NO_CARDS
    free = 0
    for index in range(plan.past_count):
        if plan.past_latest[index] == slot:
            if plan.past_earliest[index] == _NEVER:
                free += 1
            else:
                state += _radix_power(base, np.int64(plan.past_earliest[index]))
    return state, free


@jit
def _remembered(plan: Record, slot: int, state: np.uint64) -> float:
    """The ways already counted for a state, or -1."""
    key = state * np.uint64(32) + np.uint64(slot + 1)
    place = np.int64(product(key, _SPREAD) >> np.uint64(52))
    while plan.memo_keys[place] != NO_CARDS:
        if plan.memo_keys[place] == key:
            return plan.memo_values[place]
        place = (place + 1) % _MEMO_SIZE
    return -1.0


@jit
def _remember(plan: Record, slot: int, state: np.uint64, value: float) -> None:
    # A full memory only costs time: what is not remembered is counted again.
    if plan.memo_used >= _MEMO_SIZE * 3 // 4:
        return
    key = state * np.uint64(32) + np.uint64(slot + 1)
    place = np.int64(product(key, _SPREAD) >> np.uint64(52))
    while plan.memo_keys[place] != NO_CARDS:
        place = (place + 1) % _MEMO_SIZE
    plan.memo_keys[place] = key
    plan.memo_values[place] = value
    plan.memo_used += 1


@jit
def _times_chosen(base: np.uint64, slot: int, state: np.uint64, free: int, choice: int) -> int:
    """How many cards can fill a slot by one choice: an earliest slot, or NEVER for free cards.

    A card that can come no earlier than this slot has to be the one, and if
    there are two of them nothing fits.
    """
    due = state // _radix_power(base, slot)
    if due > NO_CARDS:
        return 1 if due == ONE and choice == slot else 0
    if choice == _NEVER:
        return free
    return np.int64((state // _radix_power(base, choice)) % base)


@jit
def _below(
    plan: Record, base: np.uint64, slot: int, state: np.uint64, free: int, choice: int
) -> tuple[np.uint64, int]:
    """What is still to be placed at the next slot down, after a choice for this one."""
    more, more_free = _arrivals(plan, base, slot - 1)
    if choice == _NEVER:
        return state + more, free - 1 + more_free
    return state - _radix_power(base, choice) + more, free + more_free


@jit
def ways(plan: Record, base: np.uint64, slot: int, state: np.uint64, free: int) -> float:
    """In how many ways the slots up to this one can be given cards, and the rest dealt.

    A walk through the choices slot by slot, on a stack of its own: numba cannot
    keep compiled recursion on disk.
    """
    if slot < 0:
        return 1.0 if state == NO_CARDS else 0.0
    known = _remembered(plan, slot, state)
    if known >= 0.0:
        return known
    states, frees, choices, totals = plan.states, plan.frees, plan.choices, plan.totals
    at = slot
    states[at], frees[at] = state, free
    choices[at], totals[at] = _NEVER - 1, 0.0
    while True:
        choices[at] += 1
        choice = choices[at]
        if choice > at:
            _remember(plan, at, states[at], totals[at])
            if at == slot:
                return totals[at]
            done = totals[at]
            at += 1
            totals[at] += done * _times_chosen(base, at, states[at], frees[at], choices[at])
            continue
        times = _times_chosen(base, at, states[at], frees[at], choice)
        if times == 0:
            continue
        next_state, next_free = _below(plan, base, at, states[at], frees[at], choice)
        if at == 0:
            # What is left over was dealt, which no card with an earliest slot can have been.
            totals[at] += times if next_state == _arrivals(plan, base, -1)[0] else 0
            continue
        known = _remembered(plan, at - 1, next_state)
        if known >= 0.0:
            totals[at] += times * known
            continue
        at -= 1
        states[at], frees[at] = next_state, next_free
        choices[at], totals[at] = _NEVER - 1, 0.0


@jit
def _choose(n: int, k: int) -> float:
    result = 1.0
    for step in range(k):
        result = result * (n - step) / (step + 1)
    return result


@jit
def share_ways(plan: Record, base: np.uint64, share: np.ndarray) -> float:
    """The ways to explain a hand with so many unknown cards of each suit."""
    last = np.int64(plan.slots) - 1
    state, free = _arrivals(plan, base, last)
    for suit in range(4):
        earliest = np.int64(plan.suit_earliest[suit])
        if earliest == _NEVER:
            free += np.int64(share[suit])
        elif earliest > last and share[suit] > 0:
            return 0.0
        elif share[suit] > 0:
            state += np.uint64(share[suit]) * _radix_power(base, earliest)
    return ways(plan, base, last, state, free)


@jit
def _weigh_shares(rules: Record, view: Record, plan: Record) -> None:
    """List the ways to share the unknown hand among the suits, with their weights."""
    base = np.uint64(rules.hand + 1)
    plan.memo_used = 0
    plan.memo_keys[:] = 0
    unseen = np.zeros(4, np.int64)
    for suit in range(4):
        unseen[suit] = popcount(view.unseen & suit_set(suit))
    hidden = np.int64(plan.hidden)
    share = np.zeros(4, np.uint8)
    count = 0
    total = 0.0
    for first in range(min(hidden, unseen[0]) + 1):
        for second in range(min(hidden - first, unseen[1]) + 1):
            for third in range(min(hidden - first - second, unseen[2]) + 1):
                fourth = hidden - first - second - third
                if fourth > unseen[3]:
                    continue
                share[0], share[1], share[2], share[3] = first, second, third, fourth
                weight = share_ways(plan, base, share)
                if weight == 0.0:
                    continue
                for suit in range(4):
                    weight *= _choose(unseen[suit], np.int64(share[suit]))
                total += weight
                # One by one: what assigns a whole row takes seconds to compile.
                for suit in range(4):
                    plan.shares[count, suit] = share[suit]
                plan.cumulative[count] = total
                count += 1
    plan.vectors = count
    plan.total = total


# -- drawing a world


@called
def draw_world(rules: Record, view: Record, plan: Record, stream: np.ndarray, game: Record) -> None:
    """Draw one world from a plan: `game` becomes a whole deal with the same past in view."""
    held = draw_hand(view, plan, stream)
    rest = plan.rest
    count = shuffled(view.unseen & ~held, stream, rest)
    dealt = _draw_past(rules, plan, held, stream)
    if rules.exchange == 1:
        _write_four_hands(rules, view, dealt | view.known, rest, plan.hands, game)
    else:
        _write_deal(rules, view, dealt, plan.slot_cards, rest, count, game)
    _play_past(rules, view, game)


@jit
def shuffled(cards: np.uint64, stream: np.ndarray, out: np.ndarray) -> int:
    """Write the cards of a set into `out` in a random order; returns how many."""
    count = 0
    while cards:
        card = lowest(cards)
        cards &= cards - ONE
        other = below(stream, count + 1)
        out[count] = out[other]
        out[other] = card
        count += 1
    return count


@jit
def _some_of(cards: np.uint64, count: int, stream: np.ndarray) -> np.uint64:
    """So many cards of a set, every choice equally likely."""
    left = popcount(cards)
    chosen = NO_CARDS
    for _ in range(count):
        card = bit(nth_lowest(cards & ~chosen, below(stream, left)))
        chosen |= card
        left -= 1
    return chosen


@jit
def draw_hand(view: Record, plan: Record, stream: np.ndarray) -> np.uint64:
    """The unknown part of the opponent's hand."""
    if plan.weighted == 0:
        return _some_of(view.unseen, np.int64(plan.hidden), stream)
    wanted = fraction(stream) * plan.total
    low, high = 0, np.int64(plan.vectors) - 1
    while low < high:
        middle = (low + high) // 2
        if plan.cumulative[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    held = NO_CARDS
    for suit in range(4):
        held |= _some_of(view.unseen & suit_set(suit), np.int64(plan.shares[low][suit]), stream)
    return held


@jit
def _draw_past(rules: Record, plan: Record, held: np.uint64, stream: np.ndarray) -> np.uint64:
    """Say which card came at which unseen draw; returns the hand that was dealt.

    Cards are taken from the last slot to the first, each in proportion to the
    ways that are left after it.
    """
    base = np.uint64(rules.hand + 1)
    cards, earliest, slot_cards = plan.cards, plan.earliest, plan.slot_cards
    count = 0
    while held:
        cards[count] = lowest(held)
        earliest[count] = plan.suit_earliest[suit_of(cards[count])]
        held &= held - ONE
        count += 1
    state = NO_CARDS
    free = 0
    for index in range(count):
        if earliest[index] == _NEVER:
            free += 1
        else:
            state += _radix_power(base, earliest[index])
    for slot in range(np.int64(plan.slots) - 1, -1, -1):
        more, more_free = _arrivals(plan, base, slot)
        state += more
        free += more_free
        for index in range(plan.past_count):
            if plan.past_latest[index] == slot:
                cards[count] = plan.past_cards[index]
                earliest[count] = plan.past_earliest[index]
                count += 1
        chosen = below(stream, count)
        if plan.weighted == 1:
            chosen = _weighted_choice(plan, base, slot, state, free, earliest, count, stream)
        slot_cards[slot] = cards[chosen]
        if earliest[chosen] == _NEVER:
            free -= 1
        else:
            state -= _radix_power(base, earliest[chosen])
        count -= 1
        cards[chosen] = cards[count]
        earliest[chosen] = earliest[count]
    dealt = NO_CARDS
    for index in range(count):
        dealt |= bit(cards[index])
    for index in range(plan.past_count):
        if plan.past_latest[index] < 0:
            dealt |= bit(plan.past_cards[index])
    return dealt


@jit
def _weighted_choice(
    plan: Record,
    base: np.uint64,
    slot: int,
    state: np.uint64,
    free: int,
    earliest: np.ndarray,
    count: int,
    stream: np.ndarray,
) -> int:
    wanted = fraction(stream) * ways(plan, base, slot, state, free)
    last = 0
    for index in range(count):
        choice = earliest[index]
        if _times_chosen(base, slot, state, free, choice) == 0:
            continue
        left, left_free = _below(plan, base, slot, state, free, choice)
        weight = ways(plan, base, slot - 1, left, left_free)
        if weight == 0.0:
            continue
        last = index
        wanted -= weight
        if wanted < 0.0:
            break
    return last


@jit
def _write_deal(
    rules: Record,
    view: Record,
    dealt: np.uint64,
    slot_cards: np.ndarray,
    rest: np.ndarray,
    rest_count: int,
    game: Record,
) -> None:
    """The deal in dealing order: both first hands, the stock as it went, the unseen rest."""
    mine = first_hand(view)
    first, second = (dealt, mine) if view.i_deal == 1 else (mine, dealt)
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
        other = np.int64(view.other_draws[trick])
        if other == UNSEEN_CARD:
            other = np.int64(slot_cards[slot])
            slot += 1
        upper_is_mine = i_won(view, trick) != (view.took_second[trick] == 1)
        game.deal[place] = view.my_draws[trick] if upper_is_mine else other
        game.deal[place + 1] = other if upper_is_mine else view.my_draws[trick]
        place += 2
    for index in range(2):
        if view.upcards[index] != NO_CARD:
            game.deal[place] = view.upcards[index]
            place += 1
    for index in range(rest_count):
        game.deal[place + index] = rest[index]


@jit
def _write_every_fourth(game: Record, which: int, cards: np.uint64) -> None:
    """One of the four hands of a deal."""
    place = which
    while cards:
        game.deal[place] = lowest(cards)
        cards &= cards - ONE
        place += 4


@called
def _write_four_hands(
    rules: Record, view: Record, others: np.uint64, rest: np.ndarray, hands: np.ndarray,
    game: Record,
) -> None:  # fmt: skip
    """The deal of an exchange; `others` is the hand that the opponent plays or decides on.

    What neither player is known to have held comes from `rest`, which is in a random order:
    a hand that the opponent laid away, blind hands that nobody took, cards left over.
    """
    size = np.int64(rules.hand)
    for which in range(4):
        hands[which] = NO_CARDS
    dealer = 0 if view.i_deal == 1 else 1
    used = 0
    for player in range(2):
        playing = others if player == 1 else view.hand | view.played[0]
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
        _write_every_fourth(game, which, hands[which])
    if view.turned != NO_CARD:
        _put_last(game, 4 * size - 1, np.int64(view.turned))
    for place in range(4 * size, popcount(rules.deck)):
        game.deal[place] = rest[used]
        used += 1


@jit
def _put_last(game: Record, last: int, card: int) -> None:
    """Let the dealer's last card be this one of its own."""
    for place in range(OF_DEALER, last, 4):
        if game.deal[place] == card:
            game.deal[place] = game.deal[last]
            game.deal[last] = card


@jit
def _play_past(rules: Record, view: Record, game: Record) -> None:
    """Play the tricks of the view in the new deal, so that every field follows from it."""
    seat = np.int64(view.seat)
    set_up(rules, game, seat if view.i_deal == 1 else 1 - seat)
    for turn in range(2 if rules.exchange == 1 else 0):
        did = view.exchanged[0 if view.i_deal == turn else 1]
        if did != UNDECIDED:
            play(rules, game, TAKE_BLIND if did == TOOK_BLIND else KEEP)
    for trick in range(len(view.led_cards)):
        if view.led_cards[trick] == NO_CARD:
            break
        play(rules, game, np.int64(view.led_cards[trick]))
        if view.followed_cards[trick] == NO_CARD:
            break
        play(rules, game, np.int64(view.followed_cards[trick]))
        if game.phase == CHOOSE and view.my_draws[trick] != NO_CARD:
            draw(rules, game, np.int64(view.took_second[trick]))
    # A hand that is over has been entered into the match: the view's score is the right one.
    game.hands = view.hands
    for index in range(2):
        owner = seat if index == 0 else 1 - seat
        game.points[owner] = view.points[index]
        game.hands_won[owner] = view.hands_won[index]


@jit
def _draw_worlds(
    rules: np.ndarray,
    view: np.ndarray,
    voids: bool,
    plans: np.ndarray,
    stream: np.ndarray,
    games: np.ndarray,
) -> None:
    first, plan = row(rules, 0), row(plans, 0)
    plan_worlds(first, row(view, 0), voids, plan)
    for index in range(len(games)):
        draw_world(first, row(view, 0), plan, stream, row(games, index))


def _compile_all() -> None:
    from ..game import Game

    game = Game("classic")
    for voids in (False, True):
        arrays = np.zeros(1, PLAN), np.zeros(1, np.uint64), np.zeros(1, GAME)
        _draw_worlds(game.rules.record(), game.view(0).record.copy(), voids, *arrays)


def worlds(
    view: View, n: int, seed: int = 0, method: str = "plain", *, match: Match | None = None
) -> np.ndarray[Any, Any]:
    """`n` worlds in keeping with a view, as an array of `GAME` records."""
    if method not in METHODS:
        raise ValueError(f"method is {method!r}: it has to be one of {', '.join(METHODS)}")
    games = np.zeros(checked_count(n, "n"), GAME)
    warm_up("sampling of worlds", "engine", _compile_all)
    rules: Rules = view.rules
    stream = np.array([seed], np.uint64)
    record = view.record.copy()
    assert record.dtype == VIEW
    plans = np.zeros(1, PLAN)
    _draw_worlds(rules.record(match), record, method == "voids", plans, stream, games)
    return games
