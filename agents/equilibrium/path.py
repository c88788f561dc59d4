"""From a view to the cells of its decision: the public tree, walked as the hand was played."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, bit, lowest, popcount
from ...common.jit.compiler import forceinline, jit
from ...engine.dtypes import FOLLOW, LEAD
from ...engine.play import Record, row, suit_of
from ...engine.view import i_won
from .public_tree import (
    Deck,
    Tree,
    all_cells,
    answers,
    cells_of,
    first_bit,
    lead_actions,
    own_cards,
)

NO_CELL = -1


class Paths(NamedTuple):
    """A tree, fit for compiled code that follows a hand through it."""

    deck: Deck
    ranks: int
    level_at: np.ndarray
    """Where each level begins in `cells` and `children`."""
    cells: np.ndarray
    children: np.ndarray


def paths_of(tree: Tree) -> Paths:
    """The arrays of a tree in one place."""
    level_at = np.cumsum([0, *map(len, tree.cells)])[:-1]
    last = np.zeros(len(tree.cells[-1]), np.int64)
    children = np.concatenate([*tree.children, last])
    return Paths(tree.deck, tree.rules.ranks, level_at, np.concatenate(tree.cells), children)


@forceinline
def place_of(paths: Any, card: int, first: int) -> int:
    """The place of a card, where `first` is the suit that is named first."""
    suit = suit_of(card)
    place = 0 if suit == first else suit + 1 if suit < first else suit
    return place * paths.ranks + card % 13 - (13 - paths.ranks)


@forceinline
def places_of(paths: Any, cards: np.uint64, first: int) -> np.uint64:
    """The places of a set of cards."""
    found = NO_CARDS
    while cards:
        found |= bit(place_of(paths, lowest(cards), first))
        cards &= cards - ONE
    return found


@forceinline
def number_of(choose: np.ndarray, cards: np.uint64, among: np.uint64) -> int:
    """The number of a set of cards, a subset of those among which it was chosen."""
    found, size = 0, 0
    while cards:
        card = first_bit(cards)
        cards ^= card
        size += 1
        found += choose[popcount(among & (card - ONE)), size]
    return found


@forceinline
def turned_up(view: Record, trick: int) -> int:
    """The stock card that was played for at a trick, as the view tells it."""
    if trick == view.trick:
        return np.int64(view.upcards[0])
    return np.int64(view.my_draws[trick] if i_won(view, trick) else view.opponent_draws[trick])


@jit
def cells_of_view(paths: Any, view: Record, cells: np.ndarray) -> None:
    """The cell of each card in a decision for the stock, by card id; `NO_CELL` where it has none.

    Views of any other kind have none at all.
    """
    deck, choose = paths.deck, paths.deck.choose
    for card in range(len(cells)):
        cells[card] = NO_CELL
    if view.stock_left == 0 or (view.phase != LEAD and view.phase != FOLLOW):
        return
    first = suit_of(turned_up(view, 0))
    upcard = place_of(paths, turned_up(view, 0), first)
    node = upcard
    unseen = (ONE << np.uint64(len(deck.suits))) - ONE - bit(upcard)
    mine, theirs = NO_CARDS, NO_CARDS  # known cards of each hand
    trick = np.int64(view.trick)
    for level in range(trick):
        i_led = view.i_led[level] == 1
        led = place_of(paths, np.int64(view.led_cards[level]), first)
        followed = place_of(paths, np.int64(view.followed_cards[level]), first)
        child = paths.children[paths.level_at[level] + node]
        leaders, others = (mine, theirs) if i_led else (theirs, mine)
        left = lead_actions(unseen, leaders, own_cards(deck, leaders)) & (bit(led + 1) - ONE)
        while left:
            card = first_bit(left)
            left ^= card
            after = unseen & ~card
            replies = answers(after, others, own_cards(deck, others), deck.suits[lowest(card)])
            if card == bit(led):
                replies &= bit(followed) - ONE
            while replies:
                child += popcount(after & ~first_bit(replies))
                replies &= replies - ONE
        played = bit(led) | bit(followed)
        unseen &= ~played
        won = i_won(view, level)
        mine = (mine & ~played) | (bit(upcard) if won else NO_CARDS)
        theirs = (theirs & ~played) | (NO_CARDS if won else bit(upcard))
        upcard = place_of(paths, turned_up(view, level + 1), first)
        node = child + popcount(unseen & (bit(upcard) - ONE))
        unseen &= ~bit(upcard)
    at = paths.cells[paths.level_at[trick] + node]
    suit, actions = ~NO_CARDS, lead_actions(unseen, mine, own_cards(deck, mine))
    if view.phase == FOLLOW:
        led = bit(place_of(paths, np.int64(view.led), first))
        own = own_cards(deck, theirs)
        leads = lead_actions(unseen, theirs, own)
        at += all_cells(choose, unseen, own, leads, suit)
        leads &= led - ONE
        while leads:
            card = first_bit(leads)
            leads ^= card
            after, followed_suit = unseen & ~card, deck.suits[lowest(card)]
            replies = answers(after, mine, own_cards(deck, mine), followed_suit)
            at += all_cells(choose, after, own_cards(deck, mine), replies, followed_suit)
        unseen &= ~led
        suit = deck.suits[lowest(led)]
        actions = answers(unseen, mine, own_cards(deck, mine), suit)
    _write_cells(paths, view, PublicDecision(first, unseen, mine, actions, suit, at), cells)


class PublicDecision(NamedTuple):
    """A decision as everybody sees it, in sets of places."""

    first_suit: int
    """The suit that is named first."""
    unseen: np.uint64
    known: np.uint64
    """Known cards of the player to move."""
    actions: np.uint64
    suit: np.uint64
    """The suit that has to be followed; everything for a lead."""
    first_cell: int


@forceinline
def _write_cells(paths: Any, view: Record, decision: PublicDecision, cells: np.ndarray) -> None:
    """The cells of one decision, for the hand of the view."""
    first, unseen, suit = decision.first_suit, decision.unseen, decision.suit
    known, actions = decision.known, decision.actions
    choose, own = paths.deck.choose, own_cards(paths.deck, known)
    hand = places_of(paths, view.hand, first)
    void = hand & suit == NO_CARDS
    held = view.hand
    while held:
        card = lowest(held)
        held &= held - ONE
        place = bit(place_of(paths, card, first))
        if not (void or place & suit):
            continue
        entry = decision.first_cell
        before = actions & (place - ONE)
        while before:
            entry += cells_of(choose, unseen, own, first_bit(before), suit)
            before &= before - ONE
        among = unseen & ~place
        if place & suit == NO_CARDS:
            among &= ~suit
        cells[card] = entry + number_of(choose, hand & ~known & ~place, among)


@jit
def write_cells(paths: Any, views: np.ndarray, cells: np.ndarray) -> None:
    """`cells_of_view` for each view of an array."""
    for index in range(len(views)):
        cells_of_view(paths, row(views, index), cells[index])
