"""The public tree: what both players see of a hand, and where each of its decisions is kept.

Places 0, 1, ... stand for the cards of the deck, suit by suit, the suit of the first upcard
first: decks that differ only by the names of their suits have one tree. A *trick* of the tree
is a public state before a lead. Its decisions (the lead, then the answers to each lead, in
order) are kept in one block of cells, a cell for each action that a hand allows; what becomes
of it are tricks of the next level, numbered in order of lead, answer and next upcard.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np

from ...common.jit.bitset import NO_CARDS, ONE, lowest, popcount
from ...common.jit.compiler import forceinline, jit
from ...engine.endgame.game_values import inexact_reason
from ...engine.play import beats
from ...engine.rules import Rules

MOST_CARDS = 20
"""Larger decks have too many subsets to number in sixteen bits."""
MOST_CELLS = 1_000_000_000
_MOST_TRICKS = 50_000_000


class Deck(NamedTuple):
    """What the walks need to know of a rule set, fit for compiled code."""

    hand: int
    tricks: int
    """Tricks for the stock, two cards each."""
    suits: np.ndarray
    """By place: all places of the same suit."""
    wins: np.ndarray
    """`wins[led, card]`: whether the second card of a trick wins it."""
    choose: np.ndarray
    """`choose[m, u]`: how many subsets of `u` of `m` cards there are."""


TRICK = np.dtype(
    [
        ("unseen", "u8"),
        ("known", "u8", (2,)),  # of each hand, as everybody knows
        ("upcard", "i4"),
        ("leader", "i4"),
    ]
)


@dataclass(frozen=True)
class Tree:
    """The public tree of a rule set."""

    rules: Rules
    deck: Deck
    cells: list[np.ndarray]
    """For each level, where the block of each trick begins; one more entry tells where it ends."""
    children: list[np.ndarray]
    """For each level but the last, the first trick of the next level that follows from each."""
    sets: int
    """How many information sets there are: decisions for the stock, with each hand."""

    @property
    def cards(self) -> int:
        """Cards in the deck."""
        return len(self.deck.suits)

    @property
    def roots(self) -> int:
        """How many first upcards there are, in the suit that is named first."""
        return len(self.cells[0]) - 1

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(self.cells[-1][-1])

    @property
    def deals(self) -> int:
        """How many deals there are with each first upcard."""
        rules = self.rules
        left = self.cards - 1
        hands = comb(left, rules.hand) * comb(left - rules.hand, rules.hand)
        return hands * factorial(rules.stock_cards - 1)


def why_not(rules: Rules) -> str | None:
    """Why a rule set has no public tree of this kind, if so."""
    if rules.stock_cards == 0:
        return "have no stock, so nothing is hidden for long"
    if rules.faced != "every" or rules.face_up != 1 or rules.choice:
        return "do not turn up one card for each trick and give it to the winner"
    if why := inexact_reason(rules):
        return why
    if rules.contract == "colour":
        return "are played high or low as the upcard has it"
    return None


def deck_of(rules: Rules) -> Deck:
    """What the walks need to know of a rule set."""
    cards = len(rules.deck)
    suits = np.array([((1 << rules.ranks) - 1) << p // rules.ranks * rules.ranks
                      for p in range(cards)], np.uint64)  # fmt: skip
    trump = 0 if rules.trumps == "upcard" else 4
    wins = np.array([[beats(int(two), int(one), trump) for two in rules.deck]
                     for one in rules.deck], np.bool_)  # fmt: skip
    choose = np.array([[comb(m, u) for u in range(cards + 1)] for m in range(cards + 1)], np.int64)
    return Deck(rules.hand, rules.foreplay_tricks, suits, wins, choose)


# -- actions


@forceinline
def lead_actions(unseen: np.uint64, known: np.uint64, own: int) -> np.uint64:
    """The cards that may be led from a hand with `own` unseen cards and the known ones."""
    return (unseen if own > 0 else NO_CARDS) | known


@forceinline
def answers(unseen: np.uint64, known: np.uint64, own: int, suit: np.uint64) -> np.uint64:
    """The cards that may answer a lead of a suit, from some hand."""
    follow = (lead_actions(unseen, known, own)) & suit
    if known & suit:
        return follow
    others = unseen & ~suit
    if popcount(others) < own:
        return follow
    return follow | lead_actions(others, known, own)


@forceinline
def cells_of(
    choose: np.ndarray, unseen: np.uint64, own: int, card: np.uint64, suit: np.uint64
) -> int:
    """How many hands allow a card; `suit` is the suit led, all cards if none was."""
    others = unseen if card & suit else unseen & ~suit
    if card & unseen:
        return choose[popcount(others) - 1, own - 1]
    return choose[popcount(others), own]


@forceinline
def own_cards(deck: Any, known: np.uint64) -> int:
    """How many of a hand's cards are not known, before it plays to a trick."""
    return deck.hand - popcount(known)


@forceinline
def first_bit(cards: np.uint64) -> np.uint64:
    """The set of the lowest card alone."""
    return cards & (~cards + ONE)


@forceinline
def all_cells(
    choose: np.ndarray, unseen: np.uint64, own: int, actions: np.uint64, suit: np.uint64
) -> int:
    """How many cells a decision has."""
    total = 0
    left = actions
    while left:
        card = first_bit(left)
        left ^= card
        total += cells_of(choose, unseen, own, card, suit)
    return total


@jit
def _count(deck: Any, tricks: np.ndarray, cells: np.ndarray, children: np.ndarray) -> int:
    """How many cells each trick has, and how many tricks follow; in all, how many hands decide."""
    hands = 0
    for index in range(len(tricks)):
        trick = tricks[index]
        unseen, choose = trick["unseen"], deck.choose
        leader = trick["leader"]
        known, theirs = trick["known"][leader], trick["known"][1 - leader]
        own, other = own_cards(deck, known), own_cards(deck, theirs)
        leads = lead_actions(unseen, known, own)
        size = all_cells(choose, unseen, own, leads, ~NO_CARDS)
        hands += choose[popcount(unseen), own]
        follows = 0
        while leads:
            card = first_bit(leads)
            leads ^= card
            after = unseen & ~card
            suit = deck.suits[lowest(card)]
            replies = answers(after, theirs, other, suit)
            size += all_cells(choose, after, other, replies, suit)
            hands += choose[popcount(after), other]
            while replies:
                reply = first_bit(replies)
                replies ^= reply
                follows += popcount(after & ~reply)
        cells[index] = size
        children[index] = follows
    return hands


@jit
def _expand(deck: Any, tricks: np.ndarray, first: np.ndarray, after: np.ndarray) -> None:
    """Write the tricks that follow from those of a level."""
    for index in range(len(tricks)):
        trick = tricks[index]
        place = first[index]
        leader = trick["leader"]
        leads = lead_actions(
            trick["unseen"], trick["known"][leader], own_cards(deck, trick["known"][leader])
        )
        while leads:
            card = first_bit(leads)
            leads ^= card
            led = lowest(card)
            unseen = trick["unseen"] & ~card
            theirs = trick["known"][1 - leader]
            replies = answers(unseen, theirs, own_cards(deck, theirs), deck.suits[led])
            while replies:
                reply = first_bit(replies)
                replies ^= reply
                winner = 1 - leader if deck.wins[led, lowest(reply)] else leader
                hidden = unseen & ~reply
                turned = hidden
                while turned:
                    upcard = first_bit(turned)
                    turned ^= upcard
                    next_one = after[place]
                    next_one["unseen"] = hidden & ~upcard
                    next_one["known"][leader] = trick["known"][leader] & ~card
                    next_one["known"][1 - leader] = theirs & ~reply
                    next_one["known"][winner] |= ONE << np.uint64(trick["upcard"])
                    next_one["upcard"] = lowest(upcard)
                    next_one["leader"] = winner
                    place += 1


def public_tree(rules: Rules) -> Tree:
    """The public tree of a rule set; refused where it has none or is too large."""
    if why := why_not(rules):
        raise ValueError(f"the rules {rules.name} {why}, so they have no public tree to walk")
    if len(rules.deck) > MOST_CARDS:
        raise _too_large(rules, f"their deck has {len(rules.deck)} cards")
    deck = deck_of(rules)
    tricks = np.zeros(rules.ranks, TRICK)
    every = (1 << len(rules.deck)) - 1
    tricks["upcard"] = np.arange(rules.ranks)
    tricks["unseen"] = [every & ~(1 << place) for place in range(rules.ranks)]
    blocks: list[np.ndarray] = []
    children: list[np.ndarray] = []
    total = sets = 0
    for level in range(rules.foreplay_tricks):
        sizes, follows = np.zeros(len(tricks), np.int64), np.zeros(len(tricks), np.int64)
        sets += int(_count(deck, tricks, sizes, follows))
        blocks.append(total + np.concatenate([[0], np.cumsum(sizes)]))
        total = int(blocks[-1][-1])
        if level < rules.foreplay_tricks - 1:
            first = np.concatenate([[0], np.cumsum(follows)])
            if total > MOST_CELLS or first[-1] > _MOST_TRICKS:
                raise _too_large(rules, "too much can be played for the stock")
            children.append(first)
            after = np.zeros(int(first[-1]), TRICK)
            _expand(deck, tricks, first, after)
            tricks = after
    if total > MOST_CELLS:
        raise _too_large(rules, f"{total:,} numbers would have to be learnt")
    return Tree(rules, deck, blocks, children, sets)


def _too_large(rules: Rules, why: str) -> ValueError:
    return ValueError(
        f"the rules {rules.name} are too large to walk, as {why}: `german-whist rules` lists small "
        "decks, 2x8-h6 the largest"
    )
