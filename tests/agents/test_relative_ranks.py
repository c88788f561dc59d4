"""Relative ranks: every card in play stands by its rank among the cards left of its suit."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist.agents.networks.relative_ranks import (
    SETS_IN_PLAY,
    to_relative_actions,
    to_relative_ranks,
)
from german_whist.engine.observation.spec import OBSERVATION_SPEC
from german_whist.engine.rules import named_rules
from support import dealt

NAMES = sorted(named_rules())


def plain_relative_ranks(observation: np.ndarray) -> tuple[np.ndarray, dict[int, int]]:
    """The relative observation and the card at each index, with lists."""
    sets = {
        name: set(np.flatnonzero(observation[OBSERVATION_SPEC.slice(name)]))
        for name in SETS_IN_PLAY
    }
    in_play = set().union(*sets.values())
    relative = observation.copy()
    for name in SETS_IN_PLAY:
        relative[OBSERVATION_SPEC.slice(name)] = 0
    action_at: dict[int, int] = {}
    for suit in range(4):
        ranks_in_play = sorted((card for card in in_play if card // 13 == suit), reverse=True)
        for above, card in enumerate(ranks_in_play):
            index = 13 * suit + 12 - above
            action_at[index] = int(card)
            for name, cards in sets.items():
                if card in cards:
                    relative[OBSERVATION_SPEC.group(name).start + index] = 1
    return relative, action_at


@pytest.mark.parametrize("name", NAMES)
def test_relative_ranks_agree_with_lists(name: str) -> None:
    games = dealt(name, 12, seed=3, suit_order="trump-first")
    step = games.observe()
    actions = games.rules.actions
    rng = np.random.default_rng(4)
    for _ in range(2 * games.rules.tricks):
        for observation, mask in zip(step.observations, step.masks, strict=True):
            relative, action_at = plain_relative_ranks(observation)
            moved, action_map = observation.copy(), np.zeros(actions, np.int64)
            to_relative_ranks(moved, action_map)
            assert (moved == relative).all()
            expected_map = [action_at.get(index, -1) for index in range(52)]
            assert action_map.tolist() == [*expected_map, *range(52, actions)]
            legal = np.flatnonzero(mask).tolist()
            bits = np.uint64(sum(1 << action for action in legal))
            places = int(to_relative_actions(bits, action_map))
            assert [action_map[place] for place in range(actions) if places >> place & 1] == legal
        step = games.step((step.masks * rng.random(step.masks.shape)).argmax(axis=1))
