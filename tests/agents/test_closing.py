"""Closed ranks: every card in play stands by its rank among the cards left of its suit."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist.agents.networks.relative_ranks import (
    SETS_IN_PLAY,
    close_ranks,
    closed_actions,
    keep_ranks,
)
from german_whist.engine.observation.layout import LAYOUT, OBSERVATION_SIZE
from german_whist.engine.rules import named_rules
from support import dealt

NAMES = sorted(named_rules())


def plainly_closed(observation: np.ndarray) -> tuple[np.ndarray, dict[int, int]]:
    """The same with lists: the closed observation, and for each place the card that is there."""
    sets = {name: set(np.flatnonzero(observation[LAYOUT.slice(name)])) for name in SETS_IN_PLAY}
    in_play = set().union(*sets.values())
    closed = observation.copy()
    for name in SETS_IN_PLAY:
        closed[LAYOUT.slice(name)] = 0
    behind: dict[int, int] = {}
    for suit in range(4):
        left = sorted((card for card in in_play if card // 13 == suit), reverse=True)
        for above, card in enumerate(left):
            place = 13 * suit + 12 - above
            behind[place] = int(card)
            for name, cards in sets.items():
                if card in cards:
                    closed[LAYOUT.group(name).start + place] = 1
    return closed, behind


@pytest.mark.parametrize("name", NAMES)
def test_closing_ranks_agrees_with_lists(name: str) -> None:
    games = dealt(name, 40, seed=3, layout="trump-first")
    step = games.observe()
    actions = games.rules.actions
    chance = np.random.default_rng(4)
    for _ in range(2 * games.rules.tricks):
        for observation, mask in zip(step.observations, step.masks, strict=True):
            closed, behind = plainly_closed(observation)
            found, shown = observation.copy(), np.zeros(actions, np.int64)
            close_ranks(found, shown)
            assert (found == closed).all()
            wanted = [behind.get(place, -1) for place in range(52)] + list(range(52, actions))
            assert shown.tolist() == wanted
            legal = sum(1 << int(action) for action in np.flatnonzero(mask))
            places = int(closed_actions(np.uint64(legal), shown))
            assert [shown[place] for place in range(actions) if places >> place & 1] == sorted(
                np.flatnonzero(mask)
            )
        step = games.step((step.masks * chance.random(step.masks.shape)).argmax(axis=1))


def test_situations_that_differ_by_cards_that_are_gone_look_the_same() -> None:
    high, low = np.zeros((2, OBSERVATION_SIZE), np.int8)
    shown = np.zeros(52, np.int64)
    for observation, ranks in ((high, (12, 11, 5)), (low, (9, 4, 2))):
        for name, rank in zip(("own_hand", "unseen", "opponent_known"), ranks, strict=True):
            observation[LAYOUT.group(name).start + 26 + rank] = 1
        close_ranks(observation, shown)
        assert shown[[38, 37, 36]].tolist() == [26 + rank for rank in ranks]
    assert (high == low).all()


def test_real_ranks_stay() -> None:
    shown = np.zeros(53, np.int64)
    keep_ranks(shown)
    assert shown.tolist() == list(range(53))
