"""The rules of play, compiled once: dealing, legality, tricks, draws, choices, end and score.

Every part of the project plays through these functions: the single game, a
batch of a hundred thousand, and search inside the agents. They read a `RULES`
record and change a `GAME` record; what they are given is taken to be legal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.jit.bitset import NO_CARDS, bit, suit_set
from ..common.jit.compiler import COMPILED, called, jit
from .cards import CARDS_IN_ALL, KEEP, TAKE_BLIND, TAKE_HIDDEN
from .dtypes import (
    AFTER_FIRST,
    CHOOSE,
    COLOUR,
    EVERY,
    EXCHANGE,
    FOLLOW,
    KEPT,
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
from .rng import below, keyed

# A record of a structure: `numpy.record` when interpreted, a pointer when compiled.
Record = Any

_SUIT_OF = np.array([card // 13 for card in range(CARDS_IN_ALL)], np.int64)
_HIDDEN_ACTION = np.uint64(1) << np.uint64(TAKE_HIDDEN)
_EXCHANGES = np.uint64(1 << KEEP | 1 << TAKE_BLIND)

if COMPILED:

    @jit
    def row(records: np.ndarray, index: int) -> Record:
        """One record of an array, to read and to change in place."""
        return records[index]

else:

    def row(records: np.ndarray, index: int) -> Record:
        """One record of an array, to read and to change in place."""
        return records.view(np.recarray)[index]


@jit
def suit_of(card: int) -> int:
    """The suit of a card id."""
    return _SUIT_OF[card]


# -- the deal


@jit
def shuffle(rules: Record, stream: np.ndarray, deal: np.ndarray) -> int:
    """Write the deck into `deal` in a random order; returns its size."""
    size = 0
    for card in range(CARDS_IN_ALL):
        if rules.deck & bit(card):
            deal[size] = card
            size += 1
    for last in range(size - 1, 0, -1):
        other = below(stream, last + 1)
        deal[last], deal[other] = deal[other], deal[last]
    return size


@jit
def set_up(rules: Record, game: Record, dealer: int) -> None:
    """Begin a hand with the cards in `game.deal`; the match so far stays."""
    # Cards go out in turn to two hands, or to four: a blind one before each player's.
    count = 4 if rules.exchange == 1 else 2
    hands = count * np.int64(rules.hand)
    first, second = NO_CARDS, NO_CARDS
    for place in range(0, hands, count):
        first |= bit(np.int64(game.deal[place + count // 2 - 1]))
        second |= bit(np.int64(game.deal[place + count - 1]))
    turned = hands
    leader = 1 - dealer
    game.hand[leader] = first
    game.hand[dealer] = second
    for seat in range(2):
        game.known[seat] = NO_CARDS
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
        turned = hands - 1
        game.phase = EXCHANGE
        for seat in range(2):
            game.exchanged[seat] = UNDECIDED
        if rules.faced == EVERY:
            game.known[dealer] = bit(np.int64(game.deal[turned]))
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
    """Begin a hand with deal `number` of a seed, its dealer drawn with it."""
    stream[0] = keyed(seed, number)
    dealer = below(stream, 2)
    shuffle(rules, stream, game.deal)
    game.number = number
    set_up(rules, game, dealer)


@jit
def new_match(game: Record) -> None:
    """Wipe the score of the match."""
    game.hands = 0
    for seat in range(2):
        game.points[seat] = 0
        game.hands_won[seat] = 0


@jit
def deal_next(
    rules: Record, game: Record, seed: np.uint64, number: np.uint64, stream: np.ndarray
) -> None:
    """Deal the next hand: the deal alternates in a match, and is drawn anew between matches."""
    dealer = 1 - np.int64(game.dealer)
    goes_on = in_match(rules) and not match_over(rules, game)
    deal_numbered(rules, game, seed, number, stream)
    if goes_on:
        set_up(rules, game, dealer)
    else:
        new_match(game)


# -- what may be played


@jit
def stock_left(rules: Record, game: Record) -> int:
    """Cards in the stock, face up or down."""
    return np.int64(rules.stock) - np.int64(game.drawn)


@jit
def faced_count(rules: Record, trick: int, left: int) -> int:
    """How many stock cards lie face up at a trick, with so many in the stock."""
    if left == 0 or not (rules.faced == EVERY or (rules.faced == AFTER_FIRST and trick > 0)):
        return 0
    return np.int64(rules.face_up)


@jit
def stock_card(rules: Record, game: Record, place: int) -> int:
    """The stock card that lies `place` cards below the top of what is left."""
    return np.int64(game.deal[2 * np.int64(rules.hand) + np.int64(game.drawn) + place])


@jit
def faced_cards(rules: Record, game: Record) -> np.uint64:
    """The stock cards that lie face up, as a set."""
    count = faced_count(rules, np.int64(game.drawn) // 2, stock_left(rules, game))
    cards = NO_CARDS
    for place in range(count):
        cards |= bit(stock_card(rules, game, place))
    return cards


@jit
def legal_actions(
    rules: Record, phase: int, hand: np.uint64, led: int, faced: np.uint64
) -> np.uint64:
    """The actions open to the player to move, as a set of ids."""
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
    """The actions open to the player to move in a game."""
    if game.phase == LEAD:
        return game.hand[game.turn]
    led = np.int64(game.led_cards[game.trick]) if game.phase == FOLLOW else 0
    faced = faced_cards(rules, game) if game.phase == CHOOSE else NO_CARDS
    return legal_actions(rules, game.phase, game.hand[game.turn], led, faced)


# -- playing


@jit
def beats(card: int, led: int, trump: int) -> bool:
    """Whether the second card of a trick wins it."""
    suit, led_suit = suit_of(card), suit_of(led)
    if suit == led_suit:
        return card > led
    return suit == trump


@jit
def play(rules: Record, game: Record, action: int) -> None:
    """Carry out a legal action of the player to move."""
    seat = np.int64(game.turn)
    trick = np.int64(game.trick)
    if game.phase >= CHOOSE:
        # No card is played. One comparison for both, as cards are played far more often.
        if game.phase == EXCHANGE:
            exchange(rules, game, action)
        else:
            draw(rules, game, 0 if action == stock_card(rules, game, 0) else 1)
        return
    card = bit(action)
    game.hand[seat] &= ~card
    game.known[seat] &= ~card
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
    """One of the four hands dealt for an exchange."""
    cards = NO_CARDS
    for place in range(which, 4 * np.int64(rules.hand), 4):
        cards |= bit(np.int64(game.deal[place]))
    return cards


@jit
def turned_card(rules: Record, game: Record) -> int:
    """The dealer's last card, turned up before the exchange; NO_CARD where none was."""
    if rules.exchange == 0 or rules.faced != EVERY:
        return NO_CARD
    return np.int64(game.deal[4 * np.int64(rules.hand) - 1])


@jit
def laid_away(rules: Record, game: Record, seat: int) -> np.uint64:
    """The hand that a seat has laid away, if it took a blind one."""
    if game.exchanged[seat] != TOOK_BLIND:
        return NO_CARDS
    return dealt_hand(rules, game, OF_DEALER if seat == game.dealer else OF_NON_DEALER)


@called
def exchange(rules: Record, game: Record, action: int) -> None:
    """Keep the hand or take the blind one; then the dealer is asked, then the hand begins."""
    seat = np.int64(game.turn)
    deals = seat == game.dealer
    game.exchanged[seat] = KEPT
    if action == TAKE_BLIND:
        game.exchanged[seat] = TOOK_BLIND
        game.hand[seat] = dealt_hand(rules, game, SECOND_BLIND if deals else FIRST_BLIND)
        game.known[seat] = NO_CARDS
    if deals:
        game.phase = LEAD
    game.turn = 1 - seat


@jit
def end_trick(rules: Record, game: Record, winner: int) -> None:
    """Count the trick and go on: the race won, a choice, a draw, or the next lead."""
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
    elif rules.choice == 1 and faced_count(rules, np.int64(game.trick), left) > 0:
        game.phase = CHOOSE
    else:
        draw(rules, game, 0)


@jit
def draw(rules: Record, game: Record, second: int) -> None:
    """Both draw from the stock, the winner the upper card or, if `second`, the lower."""
    faced = faced_cards(rules, game)
    winner = np.int64(game.leader)
    for place in range(2):
        drawn = stock_card(rules, game, place)
        seat = winner if place == second else 1 - winner
        card = bit(drawn)
        game.hand[seat] |= card
        if faced & card:
            game.known[seat] |= card
        else:
            game.unseen_draws[seat] += 1
    game.took_second[game.trick] = second
    game.drawn += 2
    next_trick(rules, game)


@jit
def next_trick(rules: Record, game: Record) -> None:
    """The winner leads again, or the hands are empty and the hand is over."""
    game.trick += 1
    game.turn = game.leader
    if game.hand[0] | game.hand[1]:
        game.phase = LEAD
    else:
        end_hand(rules, game)


# -- the end


@jit
def end_hand(rules: Record, game: Record) -> None:
    """Close the hand and enter its result into the match."""
    game.phase = OVER
    if not in_match(rules):
        return
    game.hands += 1
    for seat in range(2):
        paid = pay(rules, game, seat)
        if paid > 0:
            game.points[seat] += paid
            game.hands_won[seat] += 1


@jit
def pay_for(rules: Record, low: int, mine: int, others: int) -> int:
    """What a hand pays to a player with so many counting tricks against so many."""
    most, least = (mine, others) if mine > others else (others, mine)
    if mine == others or (rules.race > 0 and most < rules.race):
        return 0
    if rules.pay == WIN:
        amount = 1
    elif rules.pay == MARGIN:
        amount = most - least
    elif rules.slam_pay > 0 and most == rules.counting:
        amount = np.int64(rules.slam_pay)
    else:
        amount = most - np.int64(rules.book) if most > rules.book else 0
    more_is_mine = 1 if mine > others else 0
    return amount if more_is_mine != low else -amount


@jit
def pay(rules: Record, game: Record, seat: int) -> int:
    """What the hand pays to a seat; the other gets the negative."""
    mine, others = np.int64(game.tricks[seat]), np.int64(game.tricks[1 - seat])
    return pay_for(rules, np.int64(game.low), mine, others)


@jit
def in_match(rules: Record) -> bool:
    """Whether hands are played towards a match."""
    return rules.match_target > 0 or rules.match_best_of > 0


@jit
def match_over(rules: Record, game: Record) -> bool:
    """Whether the score ends the match."""
    if rules.match_target > 0:
        first, second = game.points[0], game.points[1]
        most = first if first > second else second
        return most >= rules.match_target and first != second
    won, lost = np.int64(game.hands_won[0]), np.int64(game.hands_won[1])
    return 2 * (won if won > lost else lost) > rules.match_best_of
