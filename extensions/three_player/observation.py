"""Observation of the three-player game: one flat int8 vector of zeros and ones.

`THREE_SPEC` is its index table by name, as `OBSERVATION_SPEC` is for two players.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from german_whist.engine.cards import N_CARDS
from german_whist.engine.observation.spec import ObservationSpec

from .game import DRAW_TRICKS, HAND, PLAYERS, ThreeView

_NAMES = {
    "me": "the player",
    "left": "the next player, clockwise",
    "right": "the player after that",
    "dummy": "the dummy",
}
_OWNERS = tuple(_NAMES)
_OTHERS = ("left", "right")
_VOIDS = DRAW_TRICKS + 1


def _groups(
    name: str, owners: Iterable[str], size: int, about: str
) -> Iterator[tuple[str, int, str]]:
    return ((f"{name}_{owner}", size, about.format(_NAMES[owner])) for owner in owners)


THREE_SPEC = ObservationSpec(
    1,
    [
        ("own_hand", N_CARDS, "cards in the player's own hand, by card id"),
        ("upcard", N_CARDS, "the stock card that lies face up"),
        *_groups("trick", _OWNERS, N_CARDS, "in the current trick, the card of {}"),
        *_groups("played_by", _OWNERS, N_CARDS, "cards played from the hand of {}"),
        *_groups("known", _OTHERS, N_CARDS, "cards that {} was seen to take and still holds"),
        ("dummy", N_CARDS, "cards of the dummy, once it lies open"),
        ("unseen", N_CARDS, "cards whose place the player cannot know"),
        ("trumps", 4, "the trump suit, one-hot"),
        *_groups(
            "void",
            _OTHERS,
            4 * _VOIDS,
            "for each suit, one-hot: how many unseen cards {} has drawn since it last failed to "
            f"follow that suit, 0 to {DRAW_TRICKS}; all zero if it never did",
        ),
        ("seat", PLAYERS, "the player's own seat; the dummy's is after the third"),
        ("stage", 2, "foreplay, endgame"),
        ("decision", 3, "lead, follow, over"),
        ("to_move", 1, "the player is to move, be it for the dummy"),
        ("turn", 4, "whose card is to be played: me, left, right, dummy"),
        ("leads", 4, "who leads, or led, the current trick"),
        ("declarer", PLAYERS, "who plays the dummy, once it lies open"),
        ("dealer", PLAYERS, "who dealt"),
        ("draws_left", DRAW_TRICKS, "n tricks for the stock are left: the first n places are 1"),
        *_groups("tricks", _OWNERS, HAND, "the first n places are 1 for n scoring tricks of {}"),
    ],
)


def _values(view: ThreeView) -> tuple[int, ...]:
    """Bits of each group, in order, the first one lowest."""
    decision = 2 if view.turn is None else 1 if any(view.trick) else 0
    return (
        view.hand,
        view.upcard,
        *view.trick,
        *view.played,
        *view.known,
        view.dummy,
        view.unseen,
        1 << view.trump,
        *map(_voids, view.void_draws),
        1 << view.seat,
        2 if view.declarer is not None else 1,
        1 << decision,
        1 if view.legal else 0,
        _one_of(view.turn),
        1 << view.leader,
        _one_of(view.declarer),
        1 << view.dealer,
        (1 << view.draws_left) - 1,
        *((1 << count) - 1 for count in view.tricks_won),
    )


def _one_of(place: int | None) -> int:
    return 0 if place is None else 1 << place


def _voids(draws: tuple[int, ...]) -> int:
    return sum(1 << suit * _VOIDS + since for suit, since in enumerate(draws) if since >= 0)


def observation_for_three(view: ThreeView) -> npt.NDArray[np.int8]:
    bits = 0
    for group, value in zip(THREE_SPEC.groups, _values(view), strict=True):
        bits |= value << group.start
    return _ones_of(bits, THREE_SPEC.size)


def mask_for_three(view: ThreeView) -> npt.NDArray[np.int8]:
    return _ones_of(view.legal, N_CARDS)


def _ones_of(bits: int, size: int) -> npt.NDArray[np.int8]:
    packed = np.frombuffer(bits.to_bytes((size + 7) // 8, "little"), np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").view(np.int8)


def three_space() -> spaces.Dict:
    return spaces.Dict(
        {
            "observation": spaces.Box(0, 1, (THREE_SPEC.size,), np.int8),
            "action_mask": spaces.Box(0, 1, (N_CARDS,), np.int8),
        }
    )
