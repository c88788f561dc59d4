"""Views of self-play under way, and the actions of agents in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from german_whist.agents.base import agent_key, decision_streams
from german_whist.envs import SelfPlayEnv


def selfplay_views(
    rules: str = "classic", count: int = 64, steps: int = 9, **options: Any
) -> tuple[Any, Any, SelfPlayEnv]:
    """The views after some random steps, the last step's arrays, and the environment."""
    env = SelfPlayEnv(count, rules, **options)
    step = env.reset(seed=3)
    rng = np.random.default_rng(1)
    for _ in range(steps):
        step = env.step((step.masks * rng.random(step.masks.shape)).argmax(1))
    return env.views(), step, env


def streams_of(views: Any) -> Any:
    return decision_streams(agent_key(5), np.arange(len(views)).astype(np.uint64), views)


def act_on(agent: Any, views: Any) -> Any:
    return agent.act(views, streams_of(views))
