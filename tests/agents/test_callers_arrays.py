"""Agents leave the caller's arrays as they were, and advice by the clock is advice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from german_whist.agents.base import agent_key, decision_streams
from german_whist.agents.checkpoints.bundled import FIRST_WEIGHTS
from german_whist.agents.registry import make_agent
from german_whist.envs import SelfPlayEnv

NAMES = [
    *("random", "random-exact", "threshold", "value:13", "counting", "easy", "medium"),
    *("flat-mc:4", "champion-1", f"network:{FIRST_WEIGHTS},sample"),
]


def some_views(rules: str = "classic", count: int = 16) -> tuple[Any, Any]:
    env = SelfPlayEnv(count, rules)
    now = env.reset(seed=3)
    for _ in range(3):
        now = env.step(now.masks.argmax(axis=1))
    views = env.views()
    numbers = np.arange(count).astype(np.uint64)
    return views, decision_streams(agent_key(5), numbers, views)


@pytest.mark.parametrize("name", [*NAMES, "nash"])
def test_no_agent_changes_the_arrays_of_its_caller(name: str) -> None:
    rules = "2x4-h2" if name == "nash" else "classic"
    agent = make_agent(name, rules)
    views, rng = some_views(rules)
    before = views.copy(), rng.copy()
    first = agent.act(views, rng)
    assert np.array_equal(rng, before[1])
    assert np.array_equal(views, before[0])
    assert np.array_equal(agent.act(views, rng), first)


def test_advice_by_the_clock_tells_what_each_action_came_to() -> None:
    views, rng = some_views()
    actions, worths = make_agent("flat-mc:20ms").advise(views, rng)  # type: ignore[attr-defined]
    wanted, usual = make_agent("flat-mc:64").advise(views, rng)  # type: ignore[attr-defined]
    assert np.array_equal(np.isnan(worths), np.isnan(usual))
    known = ~np.isnan(worths)
    assert known.any()
    # Means of pays of -1, 0 and 1, over some worlds each.
    assert (np.abs(worths[known]) <= 1).all()
    assert np.abs(worths[known] - usual[known]).mean() < 0.4
    assert ((views["hand"] >> actions.astype(np.uint64)) & np.uint64(1) == 1).all()
    assert len(wanted) == len(actions)
