# pyright: reportArgumentType=false, reportReturnType=false
"""From a view to its cells (indices of its information set), along its public path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..common.jit.compiler import forceinline, jit
from ..engine.bitset import NO_CARDS, ONE, bit, lowest, popcount
from ..engine.dtypes import FOLLOW, LEAD
from ..engine.play import Record, row, suit_of
from ..engine.view import i_won
from .public_tree import (
    DeckTables,
    PublicTree,
    action_cells,
    decision_cells,
    lead_actions,
    legal_replies,
    lowest_bit,
    n_hidden_cards,
)

NO_CELL = -1


class PathTables(NamedTuple):
    """Arrays of a public tree, for compiled code that follows a hand."""

    deck: DeckTables
    ranks: int
    level_at: np.ndarray
    cells: np.ndarray
    children: np.ndarray


def path_tables(tree: PublicTree) -> PathTables:
    level_at = np.cumsum([0, *map(len, tree.cells)])[:-1]
    last = np.zeros(len(tree.cells[-1]), np.int64)
    children = np.concatenate([*tree.children, last])
    return PathTables(tree.deck, tree.rules.ranks, level_at, np.concatenate(tree.cells), children)


@forceinline
def place_of(paths: PathTables, card: int, first_suit: int) -> int:
    """Deck index of a card, with the suits reordered so that `first_suit` is suit 0."""
    suit = suit_of(card)
    place = 0 if suit == first_suit else suit + 1 if suit < first_suit else suit
    return place * paths.ranks + card % 13 - (13 - paths.ranks)


@forceinline
def places_of(paths: PathTables, cards: np.uint64, first: int) -> np.uint64:
    """Deck indices of a set of cards, as a set."""
    bits = NO_CARDS
    while cards:
        bits |= bit(place_of(paths, lowest(cards), first))
        cards &= cards - ONE
    return bits


@forceinline
def rank_subset(choose: np.ndarray, cards: np.uint64, superset: np.uint64) -> int:
    """Index of a subset among all subsets of its size (combinatorial number system)."""
    rank, size = 0, 0
    while cards:
        card = lowest_bit(cards)
        cards ^= card
        size += 1
        rank += choose[popcount(superset & (card - ONE)), size]
    return rank


@forceinline
def upcard_of_trick(view: Record, trick: int) -> int:
    """The stock card that a trick was played for."""
    if trick == view.trick:
        return np.int64(view.upcards[0])
    return np.int64(view.my_draws[trick] if i_won(view, trick) else view.opponent_draws[trick])


@jit
def cells_of_view(paths: PathTables, view: Record, cells: np.ndarray) -> None:
    """Write the cell of each card in a decision for the stock, `NO_CELL` where it has none.

    All are `NO_CELL` in views of other decisions.
    """
    deck, choose = paths.deck, paths.deck.choose
    for card in range(len(cells)):
        cells[card] = NO_CELL
    if view.stock_left == 0 or (view.phase != LEAD and view.phase != FOLLOW):
        return
    first_suit = suit_of(upcard_of_trick(view, 0))
    upcard = place_of(paths, upcard_of_trick(view, 0), first_suit)
    node = upcard
    unseen = (ONE << np.uint64(len(deck.suits))) - ONE - bit(upcard)
    own_known, opponent_known = NO_CARDS, NO_CARDS  # known cards of each hand
    trick = np.int64(view.trick)
    for level in range(trick):
        i_led = view.i_led[level] == 1
        led = place_of(paths, np.int64(view.led_cards[level]), first_suit)
        followed = place_of(paths, np.int64(view.followed_cards[level]), first_suit)
        child = paths.children[paths.level_at[level] + node]
        leader_known, follower_known = (
            (own_known, opponent_known) if i_led else (opponent_known, own_known)
        )
        leads = lead_actions(unseen, leader_known, n_hidden_cards(deck, leader_known)) & (
            bit(led + 1) - ONE
        )
        while leads:
            card = lowest_bit(leads)
            leads ^= card
            after = unseen & ~card
            replies = legal_replies(
                after,
                follower_known,
                n_hidden_cards(deck, follower_known),
                deck.suits[lowest(card)],
            )
            if card == bit(led):
                replies &= bit(followed) - ONE
            while replies:
                child += popcount(after & ~lowest_bit(replies))
                replies &= replies - ONE
        played = bit(led) | bit(followed)
        unseen &= ~played
        won = i_won(view, level)
        own_known = (own_known & ~played) | (bit(upcard) if won else NO_CARDS)
        opponent_known = (opponent_known & ~played) | (NO_CARDS if won else bit(upcard))
        upcard = place_of(paths, upcard_of_trick(view, level + 1), first_suit)
        node = child + popcount(unseen & (bit(upcard) - ONE))
        unseen &= ~bit(upcard)
    first_cell = paths.cells[paths.level_at[trick] + node]
    suit, actions = ~NO_CARDS, lead_actions(unseen, own_known, n_hidden_cards(deck, own_known))
    if view.phase == FOLLOW:
        led = bit(place_of(paths, np.int64(view.led), first_suit))
        hidden = n_hidden_cards(deck, opponent_known)
        leads = lead_actions(unseen, opponent_known, hidden)
        first_cell += decision_cells(choose, unseen, hidden, leads, suit)
        leads &= led - ONE
        while leads:
            card = lowest_bit(leads)
            leads ^= card
            after, followed_suit = unseen & ~card, deck.suits[lowest(card)]
            replies = legal_replies(
                after, own_known, n_hidden_cards(deck, own_known), followed_suit
            )
            first_cell += decision_cells(
                choose, after, n_hidden_cards(deck, own_known), replies, followed_suit
            )
        unseen &= ~led
        suit = deck.suits[lowest(led)]
        actions = legal_replies(unseen, own_known, n_hidden_cards(deck, own_known), suit)
    _write_cells(
        paths,
        view,
        PublicDecision(
            first_suit=first_suit,
            unseen=unseen,
            known=own_known,
            actions=actions,
            suit=suit,
            first_cell=first_cell,
        ),
        cells,
    )


class PublicDecision(NamedTuple):
    """Public information of a decision, as sets of deck indices."""

    first_suit: int
    unseen: np.uint64
    known: np.uint64
    actions: np.uint64
    suit: np.uint64
    """The suit to follow; all cards for a lead."""
    first_cell: int


@forceinline
def _write_cells(
    paths: PathTables, view: Record, decision: PublicDecision, cells: np.ndarray
) -> None:
    first_suit, unseen, suit = decision.first_suit, decision.unseen, decision.suit
    known, actions = decision.known, decision.actions
    choose, hidden = paths.deck.choose, n_hidden_cards(paths.deck, known)
    hand = places_of(paths, view.hand, first_suit)
    void = hand & suit == NO_CARDS
    remaining = view.hand
    while remaining:
        card = lowest(remaining)
        remaining &= remaining - ONE
        place = bit(place_of(paths, card, first_suit))
        if not (void or place & suit):
            continue
        cell = decision.first_cell
        before = actions & (place - ONE)
        while before:
            cell += action_cells(choose, unseen, hidden, lowest_bit(before), suit)
            before &= before - ONE
        among = unseen & ~place
        if place & suit == NO_CARDS:
            among &= ~suit
        cells[card] = cell + rank_subset(choose, hand & ~known & ~place, among)


@jit
def write_cells(paths: PathTables, views: np.ndarray, cells: np.ndarray) -> None:
    for index in range(len(views)):
        cells_of_view(paths, row(views, index), cells[index])
