# pyright: reportArgumentType=false, reportReturnType=false
"""Rules of play, compiled: deal, legal actions, tricks, draws, choices, scoring.

Single games, batches, kernels on a GPU and searches all use these functions. They read a `RULES`
record and modify a `GAME` record, and do not check their arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.jit.compiler import COMPILED, jit, noinline
from .bitset import NO_CARDS, bit, suit_set
from .cards import KEEP, N_CARDS, TAKE_BLIND, TAKE_HIDDEN
from .dtypes import (
    AFTER_FIRST,
    CHOOSE,
    COLOUR,
    EVERY,
    EXCHANGE,
    FOLLOW,
    KEPT_HAND,
    LEAD,
    LOW,
    MARGIN,
    NO_CARD,
    NO_TRUMP,
    OVER,
    TOOK_BLIND,
    UNDECIDED,
    WIN,
)
from .rng import random_below, stream_state

# One record of a structured array: `numpy.record` when interpreted, a pointer when compiled.
Record = Any

_SUIT_OF = np.array([card // 13 for card in range(N_CARDS)], np.int64)
_HIDDEN_ACTION = np.uint64(1) << np.uint64(TAKE_HIDDEN)
_EXCHANGES = np.uint64(1 << KEEP | 1 << TAKE_BLIND)

if COMPILED:

    @jit
    def row(records: np.ndarray, index: int) -> Record:
        """Reference to one record of a structured array."""
        return records[index]

else:

    def row(records: np.ndarray, index: int) -> Record:
        """Reference to one record of a structured array."""
        return records.view(np.recarray)[index]


@jit
def suit_of(card: int) -> int:
    return _SUIT_OF[card]


# -- the deal


@jit
def shuffle(rules: Record, stream: np.ndarray, deal: np.ndarray) -> int:
    """Write the shuffled deck into `deal`; returns its size."""
    size = 0
    for card in range(N_CARDS):
        if rules.deck & bit(card):
            deal[size] = card
            size += 1
    for last in range(size - 1, 0, -1):
        other = random_below(stream, last + 1)
        deal[last], deal[other] = deal[other], deal[last]
    return size


@jit
def set_up(rules: Record, game: Record, dealer: int) -> None:
    """Start a hand with the cards in `game.deal`; the score of the match is kept."""
    # Cards are dealt in turn to two hands, or to four: a blind one before each player's.
    n_hands = 4 if rules.exchange == 1 else 2
    dealt = n_hands * np.int64(rules.hand)
    leader_hand, dealer_hand = NO_CARDS, NO_CARDS
    for place in range(0, dealt, n_hands):
        leader_hand |= bit(np.int64(game.deal[place + n_hands // 2 - 1]))
        dealer_hand |= bit(np.int64(game.deal[place + n_hands - 1]))
    turned = dealt
    leader = 1 - dealer
    game.hand[leader] = leader_hand
    game.hand[dealer] = dealer_hand
    for seat in range(2):
        game.known_cards[seat] = NO_CARDS
        game.played[seat] = NO_CARDS
        game.unseen_draws[seat] = 0
        game.tricks[seat] = 0
        for suit in range(4):
            game.failed_at[seat][suit] = -1
    game.dealer = dealer
    game.leader = leader
    game.turn = leader
    game.phase = LEAD
    game.trick = 0
    game.drawn = 0
    if rules.exchange == 1:
        turned = dealt - 1
        game.phase = EXCHANGE
        for seat in range(2):
            game.exchanged[seat] = UNDECIDED
        if rules.faced == EVERY:
            game.known_cards[dealer] = bit(np.int64(game.deal[turned]))
    game.trump = NO_TRUMP
    if rules.trumps == 1:
        game.trump = suit_of(np.int64(game.deal[turned]))
    game.low = 0
    if rules.contract == LOW:
        game.low = 1
    elif rules.contract == COLOUR:
        suit = suit_of(np.int64(game.deal[turned]))
        game.low = 1 if suit == 0 or suit == 3 else 0


@jit
def deal_numbered(
    rules: Record, game: Record, seed: np.uint64, number: np.uint64, stream: np.ndarray
) -> None:
    """Start a hand with deal `number` of a seed; the dealer is random too."""
    stream[0] = stream_state(seed, number)
    dealer = random_below(stream, 2)
    shuffle(rules, stream, game.deal)
    game.number = number
    set_up(rules, game, dealer)


@jit
def new_match(game: Record) -> None:
    game.hands = 0
    for seat in range(2):
        game.points[seat] = 0
        game.hands_won[seat] = 0


@jit
def deal_next(
    rules: Record, game: Record, seed: np.uint64, number: np.uint64, stream: np.ndarray
) -> None:
    """Deal the next hand: dealers alternate in a match, and are random between matches."""
    dealer = 1 - np.int64(game.dealer)
    continues = in_match(rules) and not match_over(rules, game)
    deal_numbered(rules, game, seed, number, stream)
    if continues:
        set_up(rules, game, dealer)
    else:
        new_match(game)


# -- legal actions


@jit
def stock_left(rules: Record, game: Record) -> int:
    return np.int64(rules.stock) - np.int64(game.drawn)


@jit
def n_faced(rules: Record, trick: int, left: int) -> int:
    """Number of face-up stock cards at a trick, with `left` cards in the stock."""
    if left == 0 or not (rules.faced == EVERY or (rules.faced == AFTER_FIRST and trick > 0)):
        return 0
    return np.int64(rules.face_up)


@jit
def stock_card(rules: Record, game: Record, place: int) -> int:
    """The stock card `place` positions below the top."""
    return np.int64(game.deal[2 * np.int64(rules.hand) + np.int64(game.drawn) + place])


@jit
def faced_cards(rules: Record, game: Record) -> np.uint64:
    count = n_faced(rules, np.int64(game.drawn) // 2, stock_left(rules, game))
    cards = NO_CARDS
    for place in range(count):
        cards |= bit(stock_card(rules, game, place))
    return cards


@jit
def legal_actions(
    rules: Record, phase: int, hand: np.uint64, led: int, faced: np.uint64
) -> np.uint64:
    """Set of legal actions of the player to move."""
    if phase == LEAD:
        return hand
    if phase == FOLLOW:
        same = hand & suit_set(suit_of(led))
        return same if same != NO_CARDS else hand
    if phase == CHOOSE:
        return faced | _HIDDEN_ACTION if rules.face_up == 1 else faced
    return _EXCHANGES if phase == EXCHANGE else NO_CARDS


@jit
def legal(rules: Record, game: Record) -> np.uint64:
    if game.phase == LEAD:
        return game.hand[game.turn]
    led = np.int64(game.led_cards[game.trick]) if game.phase == FOLLOW else 0
    faced = faced_cards(rules, game) if game.phase == CHOOSE else NO_CARDS
    return legal_actions(rules, game.phase, game.hand[game.turn], led, faced)


# -- transition


@jit
def beats(card: int, led: int, trump: int) -> bool:
    """Whether the second card of a trick wins it."""
    suit, led_suit = suit_of(card), suit_of(led)
    if suit == led_suit:
        return card > led
    return suit == trump


@jit
def play(rules: Record, game: Record, action: int) -> None:
    """Play a legal action, with all that follows up to the next decision or the end of the hand."""
    seat = np.int64(game.turn)
    trick = np.int64(game.trick)
    if game.phase >= CHOOSE:
        # One comparison for both choices, as cards are played far more often.
        if game.phase == EXCHANGE:
            exchange(rules, game, action)
        else:
            draw(rules, game, 0 if action == stock_card(rules, game, 0) else 1)
        return
    card = bit(action)
    game.hand[seat] &= ~card
    game.known_cards[seat] &= ~card
    game.played[seat] |= card
    if game.phase == LEAD:
        game.led_cards[trick] = action
        game.leaders[trick] = seat
        game.phase = FOLLOW
        game.turn = 1 - seat
        return
    game.followed_cards[trick] = action
    led = np.int64(game.led_cards[trick])
    if suit_of(action) != suit_of(led):
        game.failed_at[seat][suit_of(led)] = game.unseen_draws[seat]
    winner = seat if beats(action, led, game.trump) else 1 - seat
    end_trick(rules, game, winner)


# -- the exchange

FIRST_BLIND, OF_NON_DEALER, SECOND_BLIND, OF_DEALER = 0, 1, 2, 3


@jit
def dealt_hand(rules: Record, game: Record, which: int) -> np.uint64:
    cards = NO_CARDS
    for place in range(which, 4 * np.int64(rules.hand), 4):
        cards |= bit(np.int64(game.deal[place]))
    return cards


@jit
def turned_card(rules: Record, game: Record) -> int:
    """The dealer's last card, turned up before the exchange; NO_CARD if none was."""
    if rules.exchange == 0 or rules.faced != EVERY:
        return NO_CARD
    return np.int64(game.deal[4 * np.int64(rules.hand) - 1])


@jit
def laid_away(rules: Record, game: Record, seat: int) -> np.uint64:
    """The dealt hand of a seat that took a blind one; else no cards."""
    if game.exchanged[seat] != TOOK_BLIND:
        return NO_CARDS
    return dealt_hand(rules, game, OF_DEALER if seat == game.dealer else OF_NON_DEALER)


@noinline
def exchange(rules: Record, game: Record, action: int) -> None:
    """Keep the hand or take the blind one; the dealer decides second."""
    seat = np.int64(game.turn)
    deals = seat == game.dealer
    game.exchanged[seat] = KEPT_HAND
    if action == TAKE_BLIND:
        game.exchanged[seat] = TOOK_BLIND
        game.hand[seat] = dealt_hand(rules, game, SECOND_BLIND if deals else FIRST_BLIND)
        game.known_cards[seat] = NO_CARDS
    if deals:
        game.phase = LEAD
    game.turn = 1 - seat


@jit
def end_trick(rules: Record, game: Record, winner: int) -> None:
    """Score the trick and continue: end of a race, a choice, a draw, or the next lead."""
    game.leader = winner
    game.turn = winner
    left = stock_left(rules, game)
    if rules.counts_all == 1 or left == 0:
        game.tricks[winner] += 1
    if rules.race > 0 and game.tricks[winner] >= rules.race:
        game.trick += 1
        end_hand(rules, game)
    elif left == 0:
        next_trick(rules, game)
    elif rules.choice == 1 and n_faced(rules, np.int64(game.trick), left) > 0:
        game.phase = CHOOSE
    else:
        draw(rules, game, 0)


@jit
def draw(rules: Record, game: Record, second: int) -> None:
    """Draw two stock cards; the winner gets the first or, if `second` is 1, the second."""
    faced = faced_cards(rules, game)
    winner = np.int64(game.leader)
    for place in range(2):
        drawn = stock_card(rules, game, place)
        seat = winner if place == second else 1 - winner
        card = bit(drawn)
        game.hand[seat] |= card
        if faced & card:
            game.known_cards[seat] |= card
        else:
            game.unseen_draws[seat] += 1
    game.took_second[game.trick] = second
    game.drawn += 2
    next_trick(rules, game)


@jit
def next_trick(rules: Record, game: Record) -> None:
    """Give the lead to the winner; without cards in hand the hand is over."""
    game.trick += 1
    game.turn = game.leader
    if game.hand[0] | game.hand[1]:
        game.phase = LEAD
    else:
        end_hand(rules, game)


# -- scoring


@jit
def end_hand(rules: Record, game: Record) -> None:
    game.phase = OVER
    if not in_match(rules):
        return
    game.hands += 1
    for seat in range(2):
        gain = payoff(rules, game, seat)
        if gain > 0:
            game.points[seat] += gain
            game.hands_won[seat] += 1


@jit
def payoff_of_tricks(rules: Record, low: int, own_tricks: int, other_tricks: int) -> int:
    """Payoff of a player for a result in counting tricks."""
    most, least = own_tricks, other_tricks
    if other_tricks > own_tricks:
        most, least = other_tricks, own_tricks
    if own_tricks == other_tricks or (rules.race > 0 and most < rules.race):
        return 0
    if rules.pay == WIN:
        amount = 1
    elif rules.pay == MARGIN:
        amount = most - least
    elif rules.slam_pay > 0 and most == rules.counting:
        amount = np.int64(rules.slam_pay)
    else:
        amount = most - np.int64(rules.book) if most > rules.book else 0
    own_more = 1 if own_tricks > other_tricks else 0
    return amount if own_more != low else -amount


@jit
def race_pay(rules: Record) -> int:
    """What the winner of a race is paid, or with `margin` for each trick of the margin."""
    race = np.int64(rules.race)
    return payoff_of_tricks(rules, 0, race, race - 1)


@jit
def more_tricks_pay(rules: Record) -> bool:
    """Whether more counting tricks never pay less, as they do if a slam pays little."""
    slam, book = np.int64(rules.slam_pay), np.int64(rules.book)
    return rules.race > 0 or slam == 0 or slam >= np.int64(rules.counting) - 1 - book


@jit
def payoff(rules: Record, game: Record, seat: int) -> int:
    """Payoff of a seat; the opponent's is its negative."""
    own_tricks, other_tricks = np.int64(game.tricks[seat]), np.int64(game.tricks[1 - seat])
    return payoff_of_tricks(rules, np.int64(game.low), own_tricks, other_tricks)


@jit
def in_match(rules: Record) -> bool:
    return rules.match_target > 0 or rules.match_best_of > 0


@jit
def match_over(rules: Record, game: Record) -> bool:
    if rules.match_target > 0:
        first, second = game.points[0], game.points[1]
        most = first if first > second else second
        return most >= rules.match_target and first != second
    won, lost = np.int64(game.hands_won[0]), np.int64(game.hands_won[1])
    return 2 * (won if won > lost else lost) > rules.match_best_of
