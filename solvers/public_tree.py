"""Public tree of a small deck: public states, and the cells of their decisions.

Deck indices 0, 1, ... number the cards suit by suit, beginning with the suit of the first upcard:
decks that differ by the names of their suits have the same tree. A *trick* of the tree is a
public state before a lead. Its decisions (the lead, then the replies to each lead, in order)
have one block of cells, one for each action and hand that allows it. Its successors are tricks of
the next level, numbered by lead, reply and next upcard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, factorial
from typing import NamedTuple

import numpy as np

from ..common.jit.compiler import forceinline, jit
from ..engine.bitset import NO_CARDS, ONE, lowest, popcount
from ..engine.endgame.game_values import inexact_reason
from ..engine.play import beats
from ..engine.rules import Rules

MAX_CARDS = 20
"""Subsets of larger decks do not fit a number of 16 bits."""
MAX_CELLS = 1_000_000_000
_MAX_TRICKS = 50_000_000


class DeckTables(NamedTuple):
    """Tables of a rule set for compiled traversals of the tree."""

    hand: int
    tricks: int
    suits: np.ndarray
    """For each card, the set of all cards of its suit."""
    wins: np.ndarray
    """`wins[led, card]`: whether the second card of a trick wins it."""
    choose: np.ndarray
    """`choose[m, u]`: the binomial coefficient of `m` over `u`."""


TRICK = np.dtype(
    [
        ("unseen", "u8"),
        ("known", "u8", (2,)),  # of each hand, as everybody knows
        ("upcard", "i4"),
        ("leader", "i4"),
    ]
)


@dataclass(frozen=True)
class PublicTree:
    """Public tree of a rule set."""

    rules: Rules
    deck: DeckTables
    cells: list[np.ndarray]
    """For each level, the start of each trick's block, and the end of the last one."""
    children: list[np.ndarray]
    """For each level but the last, the first successor of each trick."""
    n_info_sets: int
    """Number of information sets: decisions for the stock, with each hand."""

    @property
    def cards(self) -> int:
        return len(self.deck.suits)

    @property
    def n_roots(self) -> int:
        """First upcards in suit 0, one root each."""
        return len(self.cells[0]) - 1

    @property
    def size(self) -> int:
        return int(self.cells[-1][-1])

    @property
    def n_deals(self) -> int:
        rules = self.rules
        remaining = self.cards - 1
        hands = comb(remaining, rules.hand) * comb(remaining - rules.hand, rules.hand)
        return hands * factorial(rules.stock_cards - 1)


def why_no_public_tree(rules: Rules) -> str | None:
    """Reason why a rule set has no public tree of this kind, or None."""
    if rules.stock_cards == 0:
        return "have no stock, so nothing is hidden for long"
    if rules.faced != "every" or rules.face_up != 1 or rules.choice:
        return "do not turn up one card for each trick and give it to the winner"
    if why := inexact_reason(rules):
        return why
    if rules.contract == "colour":
        return "are played high or low as the upcard has it"
    return None


def deck_of(rules: Rules) -> DeckTables:
    cards = len(rules.deck)
    suits = np.array(
        [((1 << rules.ranks) - 1) << p // rules.ranks * rules.ranks for p in range(cards)],
        np.uint64,
    )
    trump = 0 if rules.trumps == "upcard" else 4
    wins = np.array(
        [[beats(int(card), int(led), trump) for card in rules.deck] for led in rules.deck], np.bool_
    )
    choose = np.array([[comb(m, u) for u in range(cards + 1)] for m in range(cards + 1)], np.int64)
    return DeckTables(rules.hand, rules.foreplay_tricks, suits, wins, choose)


# -- actions


@forceinline
def lead_actions(unseen: np.uint64, known: np.uint64, hidden: int) -> np.uint64:
    """Cards that may be led by a hand with `hidden` unknown cards and the known ones."""
    return (unseen if hidden > 0 else NO_CARDS) | known


@forceinline
def legal_replies(unseen: np.uint64, known: np.uint64, hidden: int, suit: np.uint64) -> np.uint64:
    """Cards that may follow a lead of a suit."""
    follow = (lead_actions(unseen, known, hidden)) & suit
    if known & suit:
        return follow
    off_suit = unseen & ~suit
    if popcount(off_suit) < hidden:
        return follow
    return follow | lead_actions(off_suit, known, hidden)


@forceinline
def action_cells(
    choose: np.ndarray, unseen: np.uint64, hidden: int, card: np.uint64, suit: np.uint64
) -> int:
    """Number of hands that allow a card; `suit` is the suit led, or all cards."""
    off_suit = unseen if card & suit else unseen & ~suit
    if card & unseen:
        return choose[popcount(off_suit) - 1, hidden - 1]
    return choose[popcount(off_suit), hidden]


@forceinline
def n_hidden_cards(deck: DeckTables, known: np.uint64) -> int:
    """Number of a hand's cards that are not public, before it plays to a trick."""
    return deck.hand - popcount(known)


@forceinline
def lowest_bit(cards: np.uint64) -> np.uint64:
    return cards & (~cards + ONE)


@forceinline
def decision_cells(
    choose: np.ndarray, unseen: np.uint64, hidden: int, actions: np.uint64, suit: np.uint64
) -> int:
    total = 0
    remaining = actions
    while remaining:
        card = lowest_bit(remaining)
        remaining ^= card
        total += action_cells(choose, unseen, hidden, card, suit)
    return total


@jit
def _count(deck: DeckTables, tricks: np.ndarray, cells: np.ndarray, children: np.ndarray) -> int:
    """Write the cells and successors of each trick; returns the number of information sets."""
    hands = 0
    for index in range(len(tricks)):
        trick = tricks[index]
        unseen, choose = trick["unseen"], deck.choose
        leader = trick["leader"]
        leader_known, follower_known = trick["known"][leader], trick["known"][1 - leader]
        leader_hidden = n_hidden_cards(deck, leader_known)
        follower_hidden = n_hidden_cards(deck, follower_known)
        leads = lead_actions(unseen, leader_known, leader_hidden)
        size = decision_cells(choose, unseen, leader_hidden, leads, ~NO_CARDS)
        hands += choose[popcount(unseen), leader_hidden]
        follows = 0
        while leads:
            card = lowest_bit(leads)
            leads ^= card
            after = unseen & ~card
            suit = deck.suits[lowest(card)]
            replies = legal_replies(after, follower_known, follower_hidden, suit)
            size += decision_cells(choose, after, follower_hidden, replies, suit)
            hands += choose[popcount(after), follower_hidden]
            while replies:
                reply = lowest_bit(replies)
                replies ^= reply
                follows += popcount(after & ~reply)
        cells[index] = size
        children[index] = follows
    return hands


@jit
def _expand(deck: DeckTables, tricks: np.ndarray, first: np.ndarray, after: np.ndarray) -> None:
    for index in range(len(tricks)):
        trick = tricks[index]
        child_index = first[index]
        leader = trick["leader"]
        leads = lead_actions(
            trick["unseen"], trick["known"][leader], n_hidden_cards(deck, trick["known"][leader])
        )
        while leads:
            card = lowest_bit(leads)
            leads ^= card
            led = lowest(card)
            unseen = trick["unseen"] & ~card
            follower_known = trick["known"][1 - leader]
            replies = legal_replies(
                unseen, follower_known, n_hidden_cards(deck, follower_known), deck.suits[led]
            )
            while replies:
                reply = lowest_bit(replies)
                replies ^= reply
                winner = 1 - leader if deck.wins[led, lowest(reply)] else leader
                hidden = unseen & ~reply
                upcards = hidden
                while upcards:
                    upcard = lowest_bit(upcards)
                    upcards ^= upcard
                    child = after[child_index]
                    child["unseen"] = hidden & ~upcard
                    child["known"][leader] = trick["known"][leader] & ~card
                    child["known"][1 - leader] = follower_known & ~reply
                    child["known"][winner] |= ONE << np.uint64(trick["upcard"])
                    child["upcard"] = lowest(upcard)
                    child["leader"] = winner
                    child_index += 1


def public_tree(rules: Rules) -> PublicTree:
    """The public tree of a rule set, refused if it has none or is too large."""
    if reason := why_no_public_tree(rules):
        raise ValueError(f"the rules {rules.name} {reason}, so they have no public tree")
    if len(rules.deck) > MAX_CARDS:
        raise _too_large(rules, f"their deck has {len(rules.deck)} cards")
    deck = deck_of(rules)
    tricks = np.zeros(rules.ranks, TRICK)
    all_cards = (1 << len(rules.deck)) - 1
    tricks["upcard"] = np.arange(rules.ranks)
    tricks["unseen"] = [all_cards & ~(1 << place) for place in range(rules.ranks)]
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
            if total > MAX_CELLS or first[-1] > _MAX_TRICKS:
                raise _too_large(rules, "too much can be played for the stock")
            children.append(first)
            after = np.zeros(int(first[-1]), TRICK)
            _expand(deck, tricks, first, after)
            tricks = after
    if total > MAX_CELLS:
        raise _too_large(rules, f"{total:,} numbers would have to be learned")
    return PublicTree(rules, deck, blocks, children, sets)


@cache
def count_info_sets(rules: Rules) -> int:
    """Number of information sets; refuses rules without a public tree, or with one too large."""
    return public_tree(rules).n_info_sets


def _too_large(rules: Rules, reason: str) -> ValueError:
    return ValueError(
        f"the rules {rules.name} are too large to traverse, as {reason}: `german-whist rules` "
        "lists small decks, 2x8-h6 the largest"
    )
