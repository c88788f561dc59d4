# pyright: reportArgumentType=false, reportReturnType=false
"""Orders of suits in an observation, and cards and actions relabeled by them.

`trump-first` shows trumps first, then the other suits by the player's cards, so that situations
that differ only by the names of suits look the same. The network's action is translated back.
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from ...common.jit.compiler import jit
from ..bitset import NO_CARDS, ONE, bit, suit_part
from ..cards import TAKE_HIDDEN
from ..dtypes import NO_CARD
from ..options import SuitOrder
from ..play import Record, suit_of

SUIT_ORDERS = get_args(SuitOrder)


@jit
def identity_order(order: np.ndarray) -> None:
    for place in range(4):
        order[place] = place


@jit
def _comes_before(rules: Record, view: Record, a: int, b: int) -> bool:
    """Whether suit `a` is shown before suit `b`."""
    led = bit(view.led) if view.led != NO_CARD else NO_CARDS
    turned = bit(view.turned) if view.turned != NO_CARD else NO_CARDS
    for cards in (
        rules.deck,
        view.hand,
        view.played[0],
        view.played[1],
        view.opponent_known,
        view.faced,
        led,
        turned,
        view.laid_away,
    ):
        part_a, part_b = suit_part(cards, a), suit_part(cards, b)
        if part_a != part_b:
            return part_a > part_b
    return view.void_draws[a] > view.void_draws[b]


@jit
def trump_first_order(rules: Record, view: Record, order: np.ndarray) -> None:
    """Write the order of suits: trumps first, then by the player's own cards.

    `order[place]` is the suit shown in that place. Suits that are equivalent for the player keep
    their order, which then reveals nothing.
    """
    identity_order(order)
    trump = np.int64(view.trump)
    for place in range(1, 4):
        suit = np.int64(order[place])
        at = place
        while at > 0:
            before = np.int64(order[at - 1])
            if before == trump:
                break
            if suit != trump and not _comes_before(rules, view, suit, before):
                break
            order[at] = before
            at -= 1
        order[at] = suit


# All actions that are not cards.
_OTHER_ACTIONS = ~((ONE << np.uint64(TAKE_HIDDEN)) - ONE)


@jit
def relabel(cards: np.uint64, order: np.ndarray) -> np.uint64:
    """A set of cards (and other actions) with its suits in another order."""
    result = cards & _OTHER_ACTIONS
    for place in range(4):
        result |= suit_part(cards, np.int64(order[place])) << np.uint64(13 * place)
    return result


@jit
def real_action(action: int, order: np.ndarray) -> int:
    """Action for one chosen among relabeled suits."""
    if not 0 <= action < TAKE_HIDDEN:
        return action
    place = suit_of(action)
    return action + 13 * (np.int64(order[place]) - place)


@jit
def relabelled_action(action: int, order: np.ndarray) -> int:
    if action >= TAKE_HIDDEN:
        return action
    suit = suit_of(action)
    shown = action
    for place in range(4):
        if order[place] == suit:
            shown = action + 13 * (place - suit)
    return shown
